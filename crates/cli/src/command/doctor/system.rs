//! Checks the machine: its clock, its limit on open files, its disks.

use std::path::Path;

use entreat::UnixTime;
use entreat::core::readable_size;

use super::finding::Finding;
use crate::open_files::{MIN_FILES, REMEDY};
use crate::output;

/// The first of January 2026: Entreat is younger.
const OLDEST: UnixTime = UnixTime::from_millis(1_767_225_600_000);
/// The file's timestamp may come from another machine's clock.
const TOLERANCE_MS: u64 = 10_000;
/// For 10,000 waiting people with two connections each.
const ENOUGH_FILES: u64 = 20_000;
const MIB: u64 = 1 << 20;
const LOW_SPACE: u64 = 1024 * MIB;
const NO_SPACE: u64 = 100 * MIB;

/// Compares the clock with the store's last modification.
///
/// Not with its newest question: that would require opening the store, which only the service may.
pub(super) fn clock(now: UnixTime, written: Option<UnixTime>) -> Finding {
    let shown = output::time(now);
    if now < OLDEST {
        return Finding::warning(
            "clock",
            format!("the clock says {shown}, which is in the past: deadlines would be wrong"),
            "set the clock, for example with `timedatectl set-ntp true`",
        );
    }
    match written {
        Some(written) if written.as_millis() > now.as_millis().saturating_add(TOLERANCE_MS) => {
            let written = output::time(written);
            Finding::warning(
                "clock",
                format!("the clock says {shown}, but the store was last written at {written}"),
                "set the clock before you start the service: deadlines in the store are too far \
                 off",
            )
        }
        _ => Finding::ok("clock", format!("the clock says {shown}")),
    }
}

/// The limit on open files.
#[derive(Clone, Copy, Debug)]
pub(super) enum FileLimit {
    /// No limit, or a system without one.
    Unlimited,
    #[cfg_attr(
        not(unix),
        expect(dead_code, reason = "other systems have no such limit")
    )]
    At(u64),
}

/// Returns the hard limit, which a service raises its soft limit to.
#[cfg(unix)]
pub(super) fn file_limit() -> FileLimit {
    use rustix::process::{Resource, getrlimit};

    let limit = getrlimit(Resource::Nofile).maximum;
    limit.map_or(FileLimit::Unlimited, FileLimit::At)
}

#[cfg(not(unix))]
pub(super) fn file_limit() -> FileLimit {
    FileLimit::Unlimited
}

pub(super) fn open_files(limit: FileLimit) -> Finding {
    match limit {
        FileLimit::Unlimited => Finding::ok("open files", "there is no limit"),
        FileLimit::At(limit) if limit < MIN_FILES as u64 => Finding::problem(
            "open files",
            format!("the limit is {limit} open files, but the service needs {MIN_FILES} to start"),
            REMEDY,
        ),
        FileLimit::At(limit) if limit < ENOUGH_FILES => Finding::warning(
            "open files",
            format!("the limit is {limit} open files, and each connection needs one"),
            REMEDY,
        ),
        FileLimit::At(limit) => {
            Finding::ok("open files", format!("the limit is {limit} open files"))
        }
    }
}

/// Checks the free space of the store's disk; `None` if it is unknown.
pub(super) fn space(folder: &Path, free: Option<u64>) -> Option<Finding> {
    let free = free?;
    let what = format!(
        "{} are free in {}",
        readable_size(free),
        output::sanitize_path(folder)
    );
    let remedy = "free up space, or set a store on another disk with --store";
    Some(match free {
        free if free < NO_SPACE => Finding::problem("disk", what, remedy),
        free if free < LOW_SPACE => Finding::warning("disk", what, remedy),
        _ => Finding::ok("disk", what),
    })
}

/// The kind of the store's file system.
#[cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "other systems do not tell it by a number")
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileSystem {
    Memory,
    Network,
    /// A disk, or unknown.
    Other,
}

pub(super) fn file_system(folder: &Path, kind: FileSystem) -> Option<Finding> {
    let folder = output::sanitize_path(folder);
    match kind {
        FileSystem::Memory => Some(Finding::warning(
            "disk",
            format!("{folder} is in memory: questions are lost when the machine restarts"),
            "set a store on a disk with --store",
        )),
        FileSystem::Network => Some(Finding::warning(
            "disk",
            format!(
                "{folder} is on a network file system, where locking and crash recovery are \
                     not safe"
            ),
            "set a store on a local disk with --store",
        )),
        FileSystem::Other => None,
    }
}

/// Returns the free bytes for this user.
#[cfg(unix)]
pub(super) fn free_space(folder: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(folder).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

#[cfg(not(unix))]
pub(super) fn free_space(_: &Path) -> Option<u64> {
    None
}

#[cfg(target_os = "linux")]
pub(super) fn file_system_of(folder: &Path) -> FileSystem {
    let Ok(found) = rustix::fs::statfs(folder) else {
        return FileSystem::Other;
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the number has 32 bits, and its type differs between platforms"
    )]
    of_number(found.f_type as u32)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn file_system_of(_: &Path) -> FileSystem {
    FileSystem::Other
}

/// Maps the magic numbers of `statfs(2)`.
#[cfg(target_os = "linux")]
fn of_number(number: u32) -> FileSystem {
    match number {
        // tmpfs, ramfs
        0x0102_1994 | 0x8584_58f6 => FileSystem::Memory,
        // NFS, SMB in three versions, AFS, Ceph, 9P, Coda
        0x6969 | 0x517b | 0xff53_4d42 | 0xfe53_4d42 | 0x5346_414f | 0x00c3_6400 | 0x0102_1997
        | 0x7375_7245 => FileSystem::Network,
        _ => FileSystem::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::{Level, levels};
    use super::*;

    #[test]
    fn a_clock_before_2026_or_before_the_last_write_is_warned_of() {
        let at = UnixTime::from_millis;
        let now = OLDEST.as_millis() + 86_400_000;
        let level = |now, written: Option<u64>| clock(at(now), written.map(at)).level;
        assert_eq!(level(now, None), Level::Ok);
        assert_eq!(level(now, Some(now - 1)), Level::Ok);
        assert_eq!(level(now, Some(now + TOLERANCE_MS)), Level::Ok);
        assert_eq!(level(now, Some(now + TOLERANCE_MS + 1)), Level::Warning);
        assert_eq!(level(OLDEST.as_millis() - 1, None), Level::Warning);
        assert_eq!(level(OLDEST.as_millis(), None), Level::Ok);
        assert_eq!(output::time(OLDEST), "2026-01-01T00:00:00Z");
    }

    #[test]
    fn few_open_files_are_warned_of() {
        let level = |limit| open_files(limit).level;
        assert_eq!(level(FileLimit::Unlimited), Level::Ok);
        assert_eq!(level(FileLimit::At(20_000)), Level::Ok);
        assert_eq!(level(FileLimit::At(19_999)), Level::Warning);
        assert_eq!(level(FileLimit::At(256)), Level::Warning);
        assert_eq!(level(FileLimit::At(255)), Level::Problem);
    }

    #[test]
    fn a_disk_is_low_below_a_gibibyte_and_full_below_a_tenth_of_it() {
        let found = |free| levels(&space(Path::new("/data"), free));
        assert_eq!(found(None), []);
        assert_eq!(found(Some(LOW_SPACE)), [Level::Ok]);
        assert_eq!(found(Some(LOW_SPACE - 1)), [Level::Warning]);
        assert_eq!(found(Some(NO_SPACE)), [Level::Warning]);
        assert_eq!(found(Some(NO_SPACE - 1)), [Level::Problem]);
    }

    #[test]
    fn a_store_in_memory_or_on_another_machine_is_warned_of() {
        let found = |kind| levels(&file_system(Path::new("/data"), kind));
        assert_eq!(found(FileSystem::Other), []);
        assert_eq!(found(FileSystem::Memory), [Level::Warning]);
        assert_eq!(found(FileSystem::Network), [Level::Warning]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn file_systems_are_known_by_their_numbers() {
        assert_eq!(of_number(0x0102_1994), FileSystem::Memory);
        assert_eq!(of_number(0x6969), FileSystem::Network);
        assert_eq!(of_number(0xef53), FileSystem::Other);
        assert!(free_space(Path::new("/")).is_some());
        assert_eq!(file_system_of(Path::new("/proc")), FileSystem::Other);
    }
}

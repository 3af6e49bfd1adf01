//! Checks of folders, stores and keys, without real files.

use super::super::files::Permissions;
use super::super::finding::Level;
use super::*;

fn entry(path: &str, found: Found) -> Entry {
    Entry {
        path: path.into(),
        found,
    }
}

fn permissions(mode: u32) -> Permissions {
    Permissions {
        mode,
        is_accessible: true,
    }
}

fn file(path: &str, mode: u32) -> Entry {
    entry(path, Found::File(permissions(mode)))
}

const NOT_OURS: Permissions = Permissions {
    mode: 0o700,
    is_accessible: false,
};

#[test]
fn a_folder_is_there_or_can_be_made() {
    let level = |is_default, found: Found, existing_folder: Found| {
        folder(
            is_default,
            &entry("/d/e", found),
            &entry("/d", existing_folder),
        )
        .level
    };
    let ours = || Found::Folder(permissions(0o700));
    let theirs = || Found::Folder(NOT_OURS);
    assert_eq!(level(false, ours(), ours()), Level::Ok);
    assert_eq!(level(true, Found::Missing, ours()), Level::Ok);
    assert_eq!(level(true, Found::Missing, theirs()), Level::Problem);
    assert_eq!(level(false, Found::Missing, ours()), Level::Problem);
    assert_eq!(level(false, theirs(), ours()), Level::Problem);
    assert_eq!(level(false, Found::Other, ours()), Level::Problem);
    let hidden = Found::Inaccessible("no".to_owned());
    assert_eq!(level(false, hidden, ours()), Level::Problem);
}

#[test]
fn a_folder_that_everybody_writes_to_needs_the_sticky_bit() {
    let found = |mode| {
        let folder_entry = entry("/d", Found::Folder(permissions(mode)));
        folder(false, &folder_entry, &folder_entry)
    };
    assert_eq!(found(0o1777).level, Level::Ok);
    assert_eq!(found(0o755).level, Level::Ok);
    let open = found(0o777);
    assert_eq!(open.level, Level::Problem);
    assert_eq!(open.remedy.as_deref(), Some("run `chmod o-w /d`"));
}

#[test]
fn a_store_is_for_its_owner_alone_and_so_is_what_lies_beside_it() {
    let check = |mode, wal| {
        let side_files = [file("/d/q.db-wal", wal)];
        store(
            &file("/d/q.db", mode),
            &side_files,
            FileKind::Store,
            true,
            true,
        )
    };
    assert_eq!(check(0o600, 0o600).level, Level::Ok);
    let open = check(0o644, 0o600);
    assert_eq!(open.level, Level::Problem);
    assert_eq!(open.remedy.as_deref(), Some("run `chmod 600 /d/q.db`"));
    let open = check(0o640, 0o640);
    let expected = "run `chmod 600 /d/q.db /d/q.db-wal`";
    assert_eq!(open.remedy.as_deref(), Some(expected));
}

#[test]
fn what_is_no_store_or_cannot_be_written_is_a_problem() {
    let level = |found, kind| store(&entry("/d/q.db", found), &[], kind, true, false).level;
    assert_eq!(level(Found::Missing, FileKind::Store), Level::Ok);
    let ours = || Found::File(permissions(0o600));
    assert_eq!(level(ours(), FileKind::Foreign), Level::Problem);
    assert_eq!(
        level(Found::File(NOT_OURS), FileKind::Store),
        Level::Problem
    );
    let is_folder = Found::Folder(permissions(0o700));
    assert_eq!(level(is_folder, FileKind::Store), Level::Problem);
    let missing = entry("/d/q.db", Found::Missing);
    assert_eq!(
        store(&missing, &[], FileKind::Store, false, false).level,
        Level::Problem
    );
    assert_eq!(level(ours(), FileKind::Linked), Level::Problem);
}

#[test]
fn keys_whose_store_is_gone_or_empty_tell_that_it_was_lost() {
    let missing = entry("/d/q.db", Found::Missing);
    let check = |entry: &Entry, kind, has_keys| store(entry, &[], kind, true, has_keys);
    let there = file("/d/q.db", 0o600);
    for (entry, kind) in [(&missing, FileKind::Store), (&there, FileKind::Empty)] {
        assert_eq!(check(entry, kind, false).level, Level::Ok);
        let lost = check(entry, kind, true);
        assert_eq!(lost.level, Level::Problem);
        assert!(
            lost.remedy
                .is_some_and(|remedy| remedy.contains("--new-store"))
        );
    }
    assert_eq!(check(&there, FileKind::Store, true).level, Level::Ok);
}

#[test]
fn a_store_that_is_in_use_is_fine() {
    let there = file("q.db", 0o600);
    let missing = entry("q.db", Found::Missing);
    let level = |finding: Option<Finding>| finding.map(|finding| finding.level);
    assert_eq!(level(lock(&there, Holder::Somebody)), Some(Level::Ok));
    assert_eq!(level(lock(&there, Holder::Nobody)), Some(Level::Ok));
    assert_eq!(level(lock(&missing, Holder::Nobody)), None);
}

#[test]
fn keys_belong_to_a_store_and_to_nobody_else() {
    let ours = entry("/d", Found::Folder(permissions(0o700)));
    let away = entry("/d", Found::Missing);
    let there = file("/d/q.db", 0o600);
    let missing = entry("/d/q.db", Found::Missing);
    let keys_error = entry("/d/q.keys", Found::Missing);
    let level = |finding: Finding| finding.level;
    assert_eq!(
        level(keys(&keys_error, &ours, &missing, None, false)),
        Level::Ok
    );
    assert_eq!(
        level(keys(&keys_error, &away, &missing, None, true)),
        Level::Ok
    );
    let lost = keys(&keys_error, &away, &missing, None, false);
    assert_eq!(lost.level, Level::Problem);
    assert_eq!(
        level(keys(&keys_error, &ours, &there, None, false)),
        Level::Problem
    );

    let private = file("/d/q.keys", 0o600);
    assert_eq!(level(keys(&private, &ours, &there, None, false)), Level::Ok);
    let keys_error = keys(&private, &ours, &there, Some("no keys"), false);
    assert_eq!(keys_error.level, Level::Problem);
    for mode in [0o640, 0o604, 0o602] {
        let open = keys(&file("/d/q.keys", mode), &ours, &there, None, false);
        assert_eq!(open.level, Level::Problem);
        assert_eq!(open.remedy.as_deref(), Some("run `chmod 600 /d/q.keys`"));
    }
}

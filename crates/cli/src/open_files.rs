//! The limit of open files: each connection is one, and the service needs some itself.

use anyhow::ensure;

/// Files that are no connections: the store, the log, uploads, callbacks, look-ups. Without them
/// nothing that comes over a connection could be answered.
const RESERVED: usize = 192;
/// With fewer files a service would shut people out as soon as a few have come.
pub(crate) const FEWEST: usize = 256;
/// So many connections are enough for anybody who did not ask for more; `entreat doctor` speaks up
/// earlier.
const PLENTY: usize = 4096;
/// What to do about a limit that is too low.
pub(crate) const REMEDY: &str =
    "raise the limit: LimitNOFILE=65536 in a systemd unit, `ulimit -n 65536` in a shell";

/// How many of the connections that were wanted can be had under a limit, and what there is to say
/// about it. Fails if a service would be of no use.
pub(crate) fn connections(
    wanted: usize,
    limit: Option<usize>,
) -> anyhow::Result<(usize, Option<String>)> {
    let Some(limit) = limit else {
        return Ok((wanted, None));
    };
    ensure!(
        limit >= FEWEST,
        "at most {limit} files can be open, and the service needs {FEWEST}: {REMEDY}"
    );
    let most = limit - RESERVED;
    if wanted.min(PLENTY) <= most {
        return Ok((wanted.min(most), None));
    }
    let words = format!(
        "at most {limit} files can be open, so that {most} connections can be served at once \
         instead of {wanted}: {REMEDY}, or lower `http.connections`"
    );
    Ok((most, Some(words)))
}

/// Lets this process open as many files as the system allows it: the usual limit is 1024. Returns
/// how many may be open, if there is a limit.
#[cfg(unix)]
pub(crate) fn raise_limit() -> Option<usize> {
    use rustix::process::{Resource, getrlimit, setrlimit};

    let mut limit = getrlimit(Resource::Nofile);
    let before = limit.current;
    limit.current = limit.maximum;
    let allowed = match setrlimit(Resource::Nofile, limit) {
        Ok(()) => limit.current,
        Err(error) => {
            tracing::warn!(%error, "the limit of open files stays as it is");
            before
        }
    };
    usize::try_from(allowed?).ok()
}

#[cfg(not(unix))]
pub(crate) fn raise_limit() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_files_are_kept_for_the_service_itself() {
        assert_eq!(connections(1000, None).unwrap(), (1000, None));
        assert_eq!(connections(1000, Some(1192)).unwrap(), (1000, None));
        let (most, words) = connections(32_768, Some(20_000)).unwrap();
        assert_eq!((most, words), (19_808, None));
        let (most, words) = connections(1000, Some(1191)).unwrap();
        assert_eq!(most, 999);
        let words = words.unwrap();
        assert!(words.contains("at most 1191 files can be open"), "{words}");
        assert!(words.contains("ulimit -n"), "{words}");
        assert_eq!(connections(1000, Some(FEWEST)).unwrap().0, 64);
        let refused = connections(1, Some(FEWEST - 1)).unwrap_err().to_string();
        assert!(refused.contains("needs 256"), "{refused}");
    }
}

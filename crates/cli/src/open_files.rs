//! The limit on open files: each connection takes one, and the service needs some itself.

use anyhow::ensure;

/// Files reserved for the store, the log, uploads, callbacks and DNS. Without them no request could
/// be served.
const RESERVED: usize = 192;
/// With fewer files the service would refuse connections almost at once.
pub(crate) const MIN_FILES: usize = 256;
/// Enough connections unless more are configured; `entreat doctor` warns earlier.
const ENOUGH_CONNECTIONS: usize = 4096;
/// The remedy for a limit that is too low.
pub(crate) const REMEDY: &str =
    "raise the limit: LimitNOFILE=65536 in a systemd unit, `ulimit -n 65536` in a shell";

/// Returns how many of the wanted connections fit the limit, with a warning if that is too few.
/// Fails if the limit is too low to run a service.
pub(crate) fn connections(
    wanted: usize,
    limit: Option<usize>,
) -> anyhow::Result<(usize, Option<String>)> {
    let Some(limit) = limit else {
        return Ok((wanted, None));
    };
    ensure!(
        limit >= MIN_FILES,
        "the limit is {limit} open files, but the service needs {MIN_FILES}: {REMEDY}"
    );
    let max = limit - RESERVED;
    if wanted.min(ENOUGH_CONNECTIONS) <= max {
        return Ok((wanted.min(max), None));
    }
    let warning = format!(
        "the limit is {limit} open files, so the service accepts {max} connections instead of \
         {wanted}: {REMEDY}, or lower `http.connections`"
    );
    Ok((max, Some(warning)))
}

/// Raises the soft limit (usually 1024) to the hard limit. Returns the resulting limit, if there is
/// one.
#[cfg(unix)]
pub(crate) fn raise_limit() -> Option<usize> {
    use rustix::process::{Resource, getrlimit, setrlimit};

    let mut limit = getrlimit(Resource::Nofile);
    let before = limit.current;
    limit.current = limit.maximum;
    let allowed = match setrlimit(Resource::Nofile, limit) {
        Ok(()) => limit.current,
        Err(error) => {
            tracing::warn!(%error, "cannot raise the limit of open files");
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
        let (max, warning) = connections(32_768, Some(20_000)).unwrap();
        assert_eq!((max, warning), (19_808, None));
        let (max, warning) = connections(1000, Some(1191)).unwrap();
        assert_eq!(max, 999);
        let warning = warning.unwrap();
        assert!(
            warning.contains("the limit is 1191 open files"),
            "{warning}"
        );
        assert!(warning.contains("ulimit -n"), "{warning}");
        assert_eq!(connections(1000, Some(MIN_FILES)).unwrap().0, 64);
        let refused = connections(1, Some(MIN_FILES - 1)).unwrap_err().to_string();
        assert!(refused.contains("needs 256"), "{refused}");
    }
}

//! Checks pages: the certificate, identity, and the folder of uploads.

use std::path::Path;

use anyhow::Context as _;
use entreat::UnixTime;
use entreat::service::Exposure;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use super::certificate::Validity;
use super::files::{Entry, Found, GROUP_AND_OTHERS, Permissions, quoted};
use super::finding::Finding;
use crate::config::{Config, IdentityKind, NOBODY_ANSWERS, NOBODY_ANSWERS_REMEDY};

/// A certificate that expires sooner is reported.
const SOON_IN_DAYS: i64 = 14;
const DAY: i64 = 24 * 3600;

/// Loads the certificate as the service does, and reads its validity.
pub(super) fn inspect_tls(config: &Config) -> Option<Result<Validity, String>> {
    let certificate = config.pages.certificate.as_deref()?;
    let loaded = config.pages.tls().and_then(|_| read_validity(certificate));
    Some(loaded.map_err(|error| format!("{error:#}")))
}

fn read_validity(path: &Path) -> anyhow::Result<Validity> {
    let first = CertificateDer::pem_file_iter(path)?.next();
    let first = first.context("it contains no certificate")??;
    Validity::of(&first).context("the certificate cannot be read")
}

pub(super) fn tls(now: UnixTime, inspected: Option<&Result<Validity, String>>) -> Option<Finding> {
    let now = i64::try_from(now.as_millis() / 1000).unwrap_or(i64::MAX);
    Some(match inspected? {
        Err(error) => Finding::problem(
            "tls",
            error,
            "correct `tls.certificate` and `tls.key`; otherwise the service doesn't start",
        ),
        Ok(validity) if validity.begins > now => Finding::problem(
            "tls",
            "the certificate is not valid yet",
            "check this machine's clock, or wait",
        ),
        Ok(validity) if validity.ends <= now => Finding::problem(
            "tls",
            "the certificate has expired",
            "renew it, then restart the service",
        ),
        Ok(validity) => {
            let days = (validity.ends - now) / DAY;
            let what = format!("the certificate expires in {days} days");
            if days < SOON_IN_DAYS {
                let remedy = "renew it, then restart the service";
                Finding::warning("tls", what, remedy)
            } else {
                Finding::ok("tls", what)
            }
        }
    })
}

/// Checks who may answer.
pub(super) fn identity(kind: IdentityKind, reach: Exposure<'_>, trusts_everybody: bool) -> Finding {
    let is_local = reach.listen.ip().to_canonical().is_loopback();
    match (reach.names_people, trusts_everybody) {
        (true, true) => Finding::problem(
            "identity",
            "`identity.proxies` includes every address: anyone who can reach the service can \
             answer as anyone",
            "list only the addresses of the proxy",
        ),
        (true, false) => Finding::ok(
            "identity",
            match kind {
                IdentityKind::Oidc => "people sign in at an OpenID provider",
                IdentityKind::Assertion => "a proxy names the users, by signed tokens",
                IdentityKind::Header | IdentityKind::Local => "a proxy names the users",
            },
        ),
        (false, _) if reach.rejects_everyone() => {
            Finding::warning("identity", NOBODY_ANSWERS, NOBODY_ANSWERS_REMEDY)
        }
        (false, _) if is_local => Finding::ok("identity", "people answer on this machine"),
        (false, _) => Finding::note(
            "identity",
            "people can answer only on this machine, although others can reach the service",
            "to let others answer, have them sign in at an OpenID provider (`identity.kind` = oidc) \
             or at a proxy (`identity.kind` = header or assertion)",
        ),
    }
}

/// Checks the folder of uploads, which the service creates if it is missing.
pub(super) fn uploads(folder: &Entry) -> Finding {
    let (name, path) = (folder.display_path(), quoted(&folder.path));
    let is_open = |permissions: &Permissions| permissions.mode & GROUP_AND_OTHERS != 0;
    match &folder.found {
        Found::Missing => Finding::ok("uploads", format!("{name} will be created")),
        Found::Folder(permissions) if !permissions.is_accessible => Finding::problem(
            "uploads",
            format!("this user cannot write to {name}"),
            format!("make the service's user its owner: `chown USER {path}`"),
        ),
        Found::Folder(permissions) if is_open(permissions) => Finding::warning(
            "uploads",
            format!("others can list {name}; its files are encrypted, but their number is visible"),
            format!("run `chmod 700 {path}`"),
        ),
        Found::Folder(_) => Finding::ok("uploads", name),
        Found::File(_) | Found::Other => Finding::problem(
            "uploads",
            format!("{name} is not a folder"),
            "set another folder with `uploads.folder`",
        ),
        Found::Inaccessible(error) => Finding::problem(
            "uploads",
            format!("cannot access {name}: {error}"),
            "set another folder with `uploads.folder`, or give this user access",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::*;

    #[test]
    fn a_certificate_is_renewed_before_it_ends() {
        let now = UnixTime::from_millis(1_800_000_000_000);
        let level = |begins: i64, ends: i64| {
            let validity = Validity {
                begins: 1_800_000_000 + begins * DAY,
                ends: 1_800_000_000 + ends * DAY,
            };
            tls(now, Some(&Ok(validity))).unwrap().level
        };
        assert_eq!(level(-1, 90), Level::Ok);
        assert_eq!(level(-80, 13), Level::Warning);
        assert_eq!(level(-90, 0), Level::Problem);
        assert_eq!(level(1, 90), Level::Problem);
        assert_eq!(tls(now, None), None);
    }

    #[test]
    fn nobody_is_let_in_by_the_word_of_everybody() {
        let reach = |ip: [u8; 4], names_people| Exposure {
            listen: (ip, 7171).into(),
            public_url: None,
            speaks_tls: false,
            names_people,
        };
        let (here, everywhere) = ([127, 0, 0, 1], [0, 0, 0, 0]);
        assert_eq!(
            identity(IdentityKind::Header, reach(here, true), true).level,
            Level::Problem
        );
        assert_eq!(
            identity(IdentityKind::Header, reach(everywhere, true), false).level,
            Level::Ok
        );
        assert_eq!(
            identity(IdentityKind::Header, reach(here, false), false).remedy,
            None
        );
        assert!(
            identity(IdentityKind::Header, reach(everywhere, false), false)
                .remedy
                .is_some()
        );
    }

    #[test]
    fn a_proxy_that_names_nobody_is_warned_of() {
        let level = |url, names_people| {
            let reach = Exposure {
                listen: ([127, 0, 0, 1], 7171).into(),
                public_url: Some(url),
                speaks_tls: false,
                names_people,
            };
            identity(IdentityKind::Header, reach, false).level
        };
        assert_eq!(level("https://ask.example.com", false), Level::Warning);
        assert_eq!(level("https://ask.example.com", true), Level::Ok);
        assert_eq!(level("http://localhost:80", false), Level::Ok);
    }

    #[test]
    fn the_folder_of_uploads_is_for_the_service_alone() {
        let judge = |found| {
            let path = "up".into();
            uploads(&Entry { path, found }).level
        };
        let folder = |mode, is_accessible| {
            Found::Folder(Permissions {
                mode,
                is_accessible,
            })
        };
        assert_eq!(judge(Found::Missing), Level::Ok);
        assert_eq!(judge(folder(0o700, true)), Level::Ok);
        assert_eq!(judge(folder(0o755, true)), Level::Warning);
        assert_eq!(judge(folder(0o700, false)), Level::Problem);
        assert_eq!(judge(Found::Other), Level::Problem);
    }
}

//! Rejects text that only works on one machine or behind one mirror: paths and package registries.

use super::{OWN_PATTERNS, Violation};

/// Folders that typically contain checkouts or personal files.
const MACHINE: &[&str] = &["/work/", "/root/", "/home/"];

/// The index in lock files for every published crate, whichever mirror served it.
const CANONICAL: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Hosts of package registries. The package manager's settings choose one.
const HOSTS: &[&str] = &[
    "deb.debian.org",
    "files.pythonhosted.org",
    "index.crates.io",
    "proxy.golang.org",
    "pypi.org/simple",
    "registry.npmjs.org",
    "registry.yarnpkg.com",
    "static.crates.io",
];

/// Settings that would choose a registry for every checkout.
const SETTINGS: &[&str] = &[
    "replace-with",
    "index-url",
    "registry=http",
    "--registry http",
];

/// Checks a text file of any language.
pub(super) fn check(path: &str, text: &str) -> Vec<Violation> {
    if path.starts_with(OWN_PATTERNS) {
        return Vec::new();
    }
    let mut violations = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut report = |rule: &'static str, remedy: String| {
            violations.push(Violation {
                path: path.to_owned(),
                line: index + 1,
                rule,
                remedy,
            });
        };
        for folder in MACHINE.iter().filter(|folder| names_folder(line, folder)) {
            let remedy = format!("replace the path under `{folder}`: others have no such folder");
            report("machine-path", remedy);
        }
        for pattern in HOSTS
            .iter()
            .chain(SETTINGS)
            .filter(|pattern| line.contains(**pattern))
        {
            let remedy = format!("remove `{pattern}`: the package manager's own settings decide");
            report("registry", remedy);
        }
        if line.starts_with("source = \"registry+") && !line.contains(CANONICAL) {
            let remedy = "lock the crate from crates.io, not from a mirror".to_owned();
            report("registry", remedy);
        }
    }
    violations
}

/// Whether the folder starts a path: `see /home/me`, but not `example.org/home/me`.
fn names_folder(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(start, _)| {
        let before = &line[..start];
        match before.chars().next_back() {
            None => true,
            // `file:///home/me` is a path; in `https://home/me` it is the host.
            Some('/') => before.ends_with("://"),
            Some(last) => !(last.is_alphanumeric() || "._-~$*)]}>".contains(last)),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(line: &str) -> Vec<&'static str> {
        check("docs/start.md", line)
            .into_iter()
            .map(|violation| violation.rule)
            .collect()
    }

    #[test]
    fn a_path_of_one_machine_is_refused() {
        for line in [
            "cd /work/main",
            "\"/root/.cargo\"",
            "`/home/me/x`",
            "file:///home/me",
        ] {
            assert_eq!(rules(line), ["machine-path"], "{line}");
        }
    }

    #[test]
    fn a_relative_path_or_an_address_is_not_a_path_of_one_machine() {
        for line in [
            "docs/work/plan.md",
            "https://example.org/home/",
            "https://work/x",
            "./root/a",
        ] {
            assert_eq!(rules(line), [""; 0], "{line}");
        }
    }

    #[test]
    fn a_registry_host_or_setting_is_refused() {
        assert_eq!(
            rules("\"resolved\": \"https://registry.npmjs.org/a/-/a-1.tgz\""),
            ["registry"]
        );
        assert_eq!(rules("replace-with = \"mirror\""), ["registry"]);
        assert_eq!(rules("See https://crates.io/crates/jiff."), [""; 0]);
    }

    #[test]
    fn a_lock_file_names_crates_io_and_no_mirror() {
        assert_eq!(rules(&format!("source = \"{CANONICAL}\"")), [""; 0]);
        assert_eq!(
            rules("source = \"registry+https://mirror.example/index\""),
            ["registry"]
        );
    }
}

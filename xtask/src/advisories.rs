//! `cargo xtask advisories`: known vulnerabilities in dependencies.
//!
//! Needs a copy of the Rust advisory database (rustsec), which changes daily. So it is not part of
//! `cargo xtask test`, whose outcome depends on the checkout alone.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rustsec::advisory::Informational;
use rustsec::{Database, Lockfile, Report, report};

use crate::shell::say;

/// The lock files to check.
const LOCK_FILES: [&str; 2] = ["Cargo.lock", "fuzz/Cargo.lock"];

/// Arguments of the command.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A checkout of the Rust advisory database (rustsec)
    #[arg(long, value_name = "PATH")]
    db: PathBuf,
}

/// Prints every finding, and fails if there is one: a vulnerability, or a crate that is unsound or
/// unmaintained.
pub(crate) fn run(args: &Args, root: &Path) -> Result<()> {
    let shown = args.db.display();
    let database = Database::open(&args.db);
    let database = database.with_context(|| format!("cannot read the database at {shown}"))?;
    if database.iter().next().is_none() {
        bail!("there is no advisory in {shown}: name a checkout of the database");
    }
    let mut found = Vec::new();
    for name in LOCK_FILES {
        let lock_file = Lockfile::load(root.join(name));
        let lock_file = lock_file.with_context(|| format!("cannot read {name}"))?;
        found.extend(findings(&database, &lock_file, name));
    }
    for line in &found {
        say(line);
    }
    match found.len() {
        0 => {
            let count = database.iter().count();
            say(&format!("none of {count} advisories is about a crate here"));
            Ok(())
        }
        many => bail!("{many} findings"),
    }
}

fn findings(database: &Database, lock_file: &Lockfile, name: &str) -> Vec<String> {
    let settings = report::Settings {
        informational_warnings: vec![
            Informational::Notice,
            Informational::Unmaintained,
            Informational::Unsound,
        ],
        ..report::Settings::default()
    };
    let report = Report::generate(database, lock_file, &settings);
    let vulnerable = report.vulnerabilities.list.into_iter().map(|found| {
        let patched = found.versions.patched();
        let patched: Vec<String> = patched.iter().map(ToString::to_string).collect();
        let remedy = match &*patched.join(", ") {
            "" => "no version is safe".to_owned(),
            versions => format!("safe are {versions}"),
        };
        (found.package, found.advisory, remedy)
    });
    let warned = report.warnings.into_values().flatten().filter_map(|found| {
        let kind = found.kind.as_str().to_owned();
        Some((found.package, found.advisory?, kind))
    });
    let line = |(package, advisory, remedy): (
        rustsec::package::Package,
        rustsec::advisory::Metadata,
        String,
    )| {
        format!(
            "{name}: {} {}: {} {}; {remedy}",
            package.name, package.version, advisory.id, advisory.title
        )
    };
    vulnerable.chain(warned).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const VULNERABLE: &str = r#"```toml
[advisory]
id = "RUSTSEC-2026-0001"
package = "leaky"
date = "2026-01-01"

[versions]
patched = [">= 1.2.3"]
```

# Leaky tells secrets

It does.
"#;
    const UNMAINTAINED: &str = r#"```toml
[advisory]
id = "RUSTSEC-2026-0002"
package = "lonely"
date = "2026-01-01"
informational = "unmaintained"

[versions]
patched = []
```

# Nobody looks after lonely

Really.
"#;

    fn lock_file(name: &str, version: &str) -> Lockfile {
        let text = format!(
            "version = 4\n[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n\
             source = \"registry+https://github.com/rust-lang/crates.io-index\"\n"
        );
        text.parse().unwrap()
    }

    fn database() -> Database {
        let folder = tempfile::tempdir().unwrap();
        for (name, id, text) in [
            ("leaky", "RUSTSEC-2026-0001", VULNERABLE),
            ("lonely", "RUSTSEC-2026-0002", UNMAINTAINED),
        ] {
            let advisories = folder.path().join("crates").join(name);
            std::fs::create_dir_all(&advisories).unwrap();
            std::fs::write(advisories.join(format!("{id}.md")), text).unwrap();
        }
        Database::open(folder.path()).unwrap()
    }

    #[test]
    fn a_vulnerable_version_is_named_with_the_safe_ones() {
        let found = |version| findings(&database(), &lock_file("leaky", version), "Cargo.lock");
        assert_eq!(
            found("1.2.2"),
            ["Cargo.lock: leaky 1.2.2: RUSTSEC-2026-0001 Leaky tells secrets; safe are >=1.2.3"]
        );
        assert_eq!(found("1.2.3"), [""; 0]);
    }

    #[test]
    fn a_crate_that_nobody_maintains_is_named() {
        let found = findings(&database(), &lock_file("lonely", "1.0.0"), "Cargo.lock");
        let line =
            "Cargo.lock: lonely 1.0.0: RUSTSEC-2026-0002 Nobody looks after lonely; unmaintained";
        assert_eq!(found, [line]);
    }
}

//! `cargo xtask supply`: checks the dependency graph against a policy.
//!
//! Compares licences, sources and duplicate versions with `xtask/supply.toml`. Known
//! vulnerabilities are a separate command ([`crate::advisories`]), since they need a database that
//! changes daily.
//!
//! Not cargo-deny, which does this and more: it takes minutes to compile on every fresh machine,
//! and these are three queries on `cargo metadata`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, bail};
use cargo_metadata::{Metadata, MetadataCommand};
use serde::Deserialize;
use spdx::{Expression, ParseMode};

use crate::shell::say;

const POLICY: &str = "xtask/supply.toml";

/// The policy for the dependency graph.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Policy {
    licences: BTreeSet<String>,
    sources: BTreeSet<String>,
    #[serde(default, rename = "duplicate")]
    duplicates: Vec<Duplicate>,
}

/// A crate that may occur in several versions.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Duplicate {
    #[serde(rename = "crate")]
    name: String,
    because: String,
}

/// A third-party crate.
struct Package {
    name: String,
    version: String,
    licence: Option<String>,
    source: String,
}

/// Prints every crate that violates the policy, and fails if there are any.
pub(crate) fn run(root: &Path) -> Result<()> {
    let text = std::fs::read_to_string(root.join(POLICY));
    let text = text.with_context(|| format!("cannot read {POLICY}"))?;
    let policy: Policy = toml::from_str(&text).with_context(|| format!("cannot use {POLICY}"))?;
    let workspace = packages(root, "Cargo.toml")?;
    let mut violations = check(&policy, &workspace);
    // The fuzz targets are a separate graph, in which duplicates do not matter.
    let fuzz = packages(root, "fuzz/Cargo.toml")?;
    violations.extend(
        fuzz.iter()
            .flat_map(|package| check_package(&policy, package)),
    );
    violations.sort();
    violations.dedup();
    for line in &violations {
        say(line);
    }
    match violations.len() {
        0 => Ok(()),
        many => bail!("{many} crates are not as {POLICY} wants them"),
    }
}

fn packages(root: &Path, manifest: &str) -> Result<Vec<Package>> {
    let metadata: Metadata = MetadataCommand::new()
        .manifest_path(root.join(manifest))
        .features(cargo_metadata::CargoOpt::AllFeatures)
        .other_options(["--locked".to_owned()])
        .exec()?;
    let external = metadata.packages.into_iter().filter_map(|package| {
        Some(Package {
            source: package.source?.repr,
            name: package.name.to_string(),
            version: package.version.to_string(),
            licence: package.license,
        })
    });
    Ok(external.collect())
}

fn check(policy: &Policy, packages: &[Package]) -> Vec<String> {
    let by_package = packages
        .iter()
        .flat_map(|package| check_package(policy, package));
    by_package.chain(duplicates(policy, packages)).collect()
}

/// Returns the violations of one crate.
fn check_package(policy: &Policy, package: &Package) -> Vec<String> {
    let Package { name, version, .. } = package;
    let mut violations = Vec::new();
    if !policy.sources.contains(&package.source) {
        let source = &package.source;
        violations.push(format!("{name} {version} comes from {source}"));
    }
    // Some crates still use the old slash syntax for `OR`.
    let parsed = package.licence.as_deref().map(|text| {
        let expression = Expression::parse_mode(text, ParseMode::LAX);
        expression.map(|it| it.evaluate(|needed| policy.licences.contains(&needed.to_string())))
    });
    match (parsed, &package.licence) {
        (Some(Ok(true)), _) => {}
        (Some(Ok(false)), Some(licence)) => violations.push(format!(
            "{name} {version} is under {licence}, which is not among the licences that may be used"
        )),
        (_, licence) => violations.push(format!(
            "{name} {version} does not say its licence in SPDX's words: {}",
            licence.as_deref().unwrap_or("it names none")
        )),
    }
    violations
}

/// Returns duplicate versions without a reason, and reasons without a duplicate.
fn duplicates(policy: &Policy, packages: &[Package]) -> Vec<String> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in packages {
        versions
            .entry(&package.name)
            .or_default()
            .push(&package.version);
    }
    versions.retain(|_, versions| versions.len() > 1);
    let mut violations = Vec::new();
    for Duplicate { name, because } in &policy.duplicates {
        if versions.remove(&**name).is_none() {
            violations.push(format!(
                "{name} is there once: take it out of the duplicates"
            ));
        } else if because.trim().is_empty() {
            violations.push(format!("{name} is there more than once: say why"));
        }
    }
    violations.extend(versions.into_iter().map(|(name, versions)| {
        let versions = versions.join(", ");
        format!("{name} is there in versions {versions}: let go of one, or say why both are needed")
    }));
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(duplicates: &[(&str, &str)]) -> Policy {
        let duplicate = |(name, because): &(&str, &str)| Duplicate {
            name: (*name).to_owned(),
            because: (*because).to_owned(),
        };
        Policy {
            licences: ["MIT", "Apache-2.0", "ISC"].map(str::to_owned).into(),
            sources: ["registry+ours".to_owned()].into(),
            duplicates: duplicates.iter().map(duplicate).collect(),
        }
    }

    fn package(name: &str, version: &str, licence: Option<&str>) -> Package {
        Package {
            name: name.to_owned(),
            version: version.to_owned(),
            licence: licence.map(str::to_owned),
            source: "registry+ours".to_owned(),
        }
    }

    #[test]
    fn a_choice_needs_one_licence_and_a_sum_all_of_them() {
        for fine in [
            "MIT",
            "MIT/Apache-2.0",
            "GPL-3.0-only OR MIT",
            "Apache-2.0 AND ISC",
        ] {
            let found = check(&policy(&[]), &[package("a", "1.0.0", Some(fine))]);
            assert_eq!(found, [""; 0], "{fine}");
        }
        for bad in ["GPL-3.0-only", "MIT AND GPL-3.0-only", "BSL-1.0"] {
            let found = check(&policy(&[]), &[package("a", "1.0.0", Some(bad))]);
            assert!(
                found[0].starts_with(&format!("a 1.0.0 is under {bad}")),
                "{found:?}"
            );
        }
    }

    #[test]
    fn a_crate_that_names_no_licence_is_refused() {
        for licence in [None, Some("whatever you like")] {
            let found = check(&policy(&[]), &[package("a", "1.0.0", licence)]);
            assert!(found[0].contains("does not say its licence"), "{found:?}");
        }
    }

    #[test]
    fn a_crate_from_elsewhere_is_refused() {
        let mut package = package("a", "1.0.0", Some("MIT"));
        package.source = "git+https://example.com/a".to_owned();
        let found = check(&policy(&[]), &[package]);
        assert_eq!(found, ["a 1.0.0 comes from git+https://example.com/a"]);
    }

    #[test]
    fn two_versions_need_a_reason_and_a_reason_two_versions() {
        let both = [
            package("a", "1.0.0", Some("MIT")),
            package("a", "2.0.0", Some("MIT")),
        ];
        let found = check(&policy(&[]), &both);
        assert!(
            found[0].starts_with("a is there in versions 1.0.0, 2.0.0"),
            "{found:?}"
        );
        assert_eq!(check(&policy(&[("a", "b has 1")]), &both), [""; 0]);
        assert_eq!(check(&policy(&[("a", " ")]), &both).len(), 1);
        let found = check(&policy(&[("a", "b has 1")]), &both[..1]);
        assert_eq!(found, ["a is there once: take it out of the duplicates"]);
    }
}

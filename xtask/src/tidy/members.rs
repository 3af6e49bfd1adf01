//! The crates of the checkout and their dependencies.

use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::{DependencyKind, MetadataCommand};

/// All crates whose manifests are checked.
#[derive(Debug, Default)]
pub(super) struct Members {
    /// The crates of the workspace.
    pub(super) workspace: Vec<Member>,
    /// The fuzz targets: a separate workspace that may use any crate.
    pub(super) fuzz: Vec<Member>,
}

/// One crate.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: String,
    /// The path of its manifest from the root of the checkout.
    pub(super) manifest: String,
    pub(super) dependencies: Vec<Dependency>,
}

/// A dependency in a manifest.
#[derive(Debug)]
pub(super) struct Dependency {
    pub(super) name: String,
    pub(super) purpose: Purpose,
    /// Whether it is a path in this checkout.
    pub(super) local: bool,
    pub(super) line: usize,
}

/// The purpose of a dependency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The crate itself or its build script: inherited by dependents.
    Product,
    /// Tests, examples and benchmarks only.
    Test,
}

/// Reads the manifests through `cargo metadata`; resolves and downloads nothing.
pub(super) fn read(root: &Path) -> Result<Members> {
    let fuzz = if root.join("fuzz/Cargo.toml").exists() {
        workspace(root, "fuzz/")?
    } else {
        Vec::new()
    };
    Ok(Members {
        workspace: workspace(root, "")?,
        fuzz,
    })
}

/// Returns the members of the workspace in `prefix`, which is empty or ends with a slash.
fn workspace(root: &Path, prefix: &str) -> Result<Vec<Member>> {
    let manifest = root.join(prefix).join("Cargo.toml");
    let metadata = MetadataCommand::new()
        .manifest_path(manifest)
        .no_deps()
        .exec()?;
    let mut members = Vec::new();
    for package in metadata.packages {
        let text = std::fs::read_to_string(&package.manifest_path)
            .with_context(|| format!("cannot read {}", package.manifest_path))?;
        let inside = package
            .manifest_path
            .strip_prefix(&metadata.workspace_root)
            .unwrap_or(&package.manifest_path);
        let dependencies = package.dependencies.iter().map(|dependency| {
            let (section, purpose) = match dependency.kind {
                DependencyKind::Development => ("dev-dependencies", Purpose::Test),
                DependencyKind::Build => ("build-dependencies", Purpose::Product),
                // Cargo has three kinds; treat a new one strictly.
                _ => ("dependencies", Purpose::Product),
            };
            let key = dependency.rename.as_ref().unwrap_or(&dependency.name);
            Dependency {
                name: dependency.name.clone(),
                purpose,
                local: dependency.path.is_some(),
                line: line_of(&text, section, key),
            }
        });
        members.push(Member {
            name: package.name.to_string(),
            manifest: format!("{prefix}{inside}"),
            dependencies: dependencies.collect(),
        });
    }
    Ok(members)
}

/// Returns the line of a dependency in a manifest; 1 if it cannot be found.
fn line_of(manifest: &str, section: &str, key: &str) -> usize {
    let own_heading = format!("{section}.{key}");
    let mut inside = false;
    for (index, line) in manifest.lines().enumerate() {
        let line = line.trim();
        let found = if let Some(heading) = line.strip_prefix('[') {
            let heading = heading.trim_end_matches(']');
            inside = heading.rsplit('.').next() == Some(section);
            heading == own_heading
        } else {
            let rest = line.strip_prefix(key).map(str::trim_start);
            inside && rest.is_some_and(|rest| rest.starts_with(['.', '=']))
        };
        if found {
            return index + 1;
        }
    }
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_is_found_in_its_own_section() {
        let manifest = "[package]\nname = \"x\"\n\n[dependencies]\nserde_json = \"1\"\nserde = \"1\"\n\n\
                        [dev-dependencies]\nserde.workspace = true\n\n[dependencies.url]\nversion = \"2\"\n";
        assert_eq!(line_of(manifest, "dependencies", "serde"), 6);
        assert_eq!(line_of(manifest, "dev-dependencies", "serde"), 9);
        assert_eq!(line_of(manifest, "dependencies", "url"), 11);
        assert_eq!(line_of(manifest, "dependencies", "absent"), 1);
    }

    #[test]
    fn a_dependency_of_one_platform_is_found() {
        let manifest = "[target.'cfg(unix)'.dependencies]\nlibc = \"0.2\"\n";
        assert_eq!(line_of(manifest, "dependencies", "libc"), 2);
    }
}

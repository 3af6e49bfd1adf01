//! `cargo xtask fuzz`: runs libFuzzer on the targets in `fuzz/`.
//!
//! Runs on the stable toolchain, without a sanitizer. Memory sanitizers need nightly and have
//! little to find: the workspace forbids unsafe code. Without one, targets run several times as
//! fast; panics, overflows, time-outs and excessive memory use are still caught.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use cargo_metadata::MetadataCommand;

use crate::shell::{self, cargo, say};

/// Limits on time, memory and input size, as libFuzzer flags.
const LIMITS: [&str; 3] = ["-timeout=1", "-rss_limit_mb=512", "-max_len=65536"];

/// Arguments of the command.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The target to run; all of them if none is named
    target: Option<String>,
    /// How long to run each target
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
}

impl Args {
    /// One target, for so many seconds.
    pub(crate) fn of(target: &str, seconds: u32) -> Self {
        Self {
            target: Some(target.to_owned()),
            seconds,
        }
    }
}

/// Runs the chosen targets one after another, and stops at the first finding.
pub(crate) fn run(args: &Args, root: &Path) -> Result<()> {
    let chosen = choose(targets(&root.join("fuzz"))?, args.target.as_deref())?;
    shell::ensure_subcommand(root, "fuzz")?;
    for target in &chosen {
        let corpus = root.join("fuzz/corpus").join(target);
        std::fs::create_dir_all(&corpus)
            .with_context(|| format!("cannot create {}", corpus.display()))?;
        shell::run(&mut fuzz(root, target, args.seconds))
            .with_context(|| format!("fuzz target `{target}` found something, or did not build"))?;
    }
    say(&format!(
        "nothing found in {} s each by: {}",
        args.seconds,
        chosen.join(", ")
    ));
    Ok(())
}

/// Returns the targets: the binaries of the manifest, as for cargo-fuzz.
fn targets(folder: &Path) -> Result<Vec<String>> {
    let manifest = folder.join("Cargo.toml");
    if !manifest.exists() {
        bail!(
            "there are no fuzz targets: {} does not exist",
            manifest.display()
        );
    }
    let metadata = MetadataCommand::new()
        .manifest_path(manifest)
        .no_deps()
        .exec()?;
    let binaries = metadata
        .packages
        .iter()
        .flat_map(|package| &package.targets)
        .filter(|target| target.is_bin())
        .map(|target| target.name.clone());
    Ok(binaries.collect())
}

fn choose(targets: Vec<String>, wanted: Option<&str>) -> Result<Vec<String>> {
    let Some(wanted) = wanted else {
        return Ok(targets);
    };
    if !targets.iter().any(|target| target == wanted) {
        bail!(
            "there is no fuzz target `{wanted}`; there are: {}",
            targets.join(", ")
        );
    }
    Ok(vec![wanted.to_owned()])
}

fn fuzz(root: &Path, target: &str, seconds: u32) -> Command {
    let mut command = cargo(root, &["fuzz", "run", "--sanitizer", "none", target]);
    // New inputs go to the first folder; the second is checked in.
    command
        .arg(format!("fuzz/corpus/{target}"))
        .arg(format!("fuzz/seeds/{target}"))
        .arg("--")
        .arg(format!("-dict=fuzz/dictionaries/{target}.dict"))
        .args(LIMITS)
        .arg(format!("-max_total_time={seconds}"));
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_runs_under_limits() {
        assert_eq!(
            shell::shown(&fuzz(Path::new("."), "parse", 5)),
            "cargo fuzz run --sanitizer none parse fuzz/corpus/parse fuzz/seeds/parse -- \
             -dict=fuzz/dictionaries/parse.dict -timeout=1 -rss_limit_mb=512 -max_len=65536 -max_total_time=5"
        );
    }

    #[test]
    fn an_unknown_target_is_refused_with_the_known_ones() {
        let known = vec!["check".to_owned(), "parse".to_owned()];
        let error = choose(known, Some("prase")).unwrap_err().to_string();
        assert_eq!(
            error,
            "there is no fuzz target `prase`; there are: check, parse"
        );
    }
}

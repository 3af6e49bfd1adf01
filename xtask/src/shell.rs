//! Runs other programs, says what it runs, and finds the root of the checkout.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use cargo_metadata::MetadataCommand;

/// Writes one line to stderr; stdout is for what a command was asked to print.
pub(crate) fn say(line: &str) {
    // Nobody is left to tell when stderr is closed.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Says what it runs, runs it with our stdin, stdout and stderr, and fails if it fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = shown(command);
    say(&format!("$ {line}"));
    let status = command
        .status()
        .with_context(|| format!("cannot start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` ended with {status}");
    }
    Ok(())
}

/// Whether a command starts and succeeds; shows nothing of it.
pub(crate) fn works(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// A cargo command that runs in `folder`.
pub(crate) fn cargo(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.args(arguments).current_dir(folder);
    command
}

/// Installs a cargo subcommand from its published source unless it is there already.
pub(crate) fn ensure_subcommand(folder: &Path, name: &str) -> Result<()> {
    if works(&mut cargo(folder, &[name, "--version"])) {
        return Ok(());
    }
    let package = format!("cargo-{name}");
    say(&format!(
        "{package} is missing; installing it (some minutes, once)"
    ));
    run(&mut cargo(folder, &["install", &package, "--locked"]))
}

/// The root of the checkout that holds the current folder.
///
/// Asks git, not cargo: inside `fuzz/` cargo would answer with the workspace of its own there.
pub(crate) fn root() -> Result<PathBuf> {
    let answer = git(Path::new("."), &["rev-parse", "--show-toplevel"])?;
    Ok(PathBuf::from(answer.trim_end()))
}

/// Builds every program and example as the tests build them, so that they are there already; where
/// they are then.
///
/// With the tests, although those are not wanted: without them, cargo leaves out features that only
/// tests ask for, and compiles a hundred crates once more.
pub(crate) fn build(root: &Path) -> Result<PathBuf> {
    let all = ["build", "--workspace", "--all-features"];
    run(cargo(root, &all).args(["--bins", "--examples", "--tests"]))?;
    built(root)
}

/// Where cargo puts the programs that it builds without `--release`.
pub(crate) fn built(root: &Path) -> Result<PathBuf> {
    let mut command = MetadataCommand::new();
    let metadata = command.current_dir(root).no_deps().exec()?;
    Ok(metadata.target_directory.join("debug").into())
}

/// What git prints when run in `folder`.
pub(crate) fn git(folder: &Path, arguments: &[&str]) -> Result<String> {
    // Containers often mount a checkout that belongs to another user, and git then refuses to
    // read it. Whoever runs this already runs the checkout's own code.
    let output = Command::new("git")
        .args(["-c", "safe.directory=*"])
        .args(arguments)
        .current_dir(folder)
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start git")?;
    if !output.status.success() {
        bail!("`git {}` ended with {}", arguments.join(" "), output.status);
    }
    String::from_utf8(output.stdout).context("git printed something that is not UTF-8")
}

/// The command as a person would type it at the root of the checkout.
pub(crate) fn shown(command: &Command) -> String {
    let settings = command.get_envs().filter_map(|(name, value)| {
        Some(format!(
            "{}={}",
            name.display(),
            quoted(&value?.to_string_lossy())
        ))
    });
    let words = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| quoted(&word.to_string_lossy()));
    settings.chain(words).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    if word.is_empty() || word.contains(|c: char| c.is_whitespace() || "'\"$*;&|<>".contains(c)) {
        format!("'{}'", word.replace('\'', r"'\''"))
    } else {
        word.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_it_would_be_typed() {
        let mut command = cargo(Path::new("."), &["doc", "--workspace"]);
        command.env("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(
            shown(&command),
            "RUSTDOCFLAGS='-D warnings' cargo doc --workspace"
        );
    }

    #[test]
    fn a_command_that_fails_is_an_error_that_names_it() {
        let error = run(Command::new("sh").args(["-c", "exit 3"])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`sh -c 'exit 3'` ended with exit status: 3"
        );
    }

    #[test]
    fn a_program_that_does_not_exist_does_not_work() {
        assert!(!works(&mut Command::new("entreat-no-such-program")));
    }
}

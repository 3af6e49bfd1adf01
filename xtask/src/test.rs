//! `cargo xtask test`: the one command that proves everything.
//!
//! Cheap steps come first, so that a slip shows early. A new proof is a new row of [`STEPS`].

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::shell::{self, cargo, say};
use crate::{conformance, everything, features, gateway, peers, servers, spelling, supply, tidy};

/// All that is proven, in order.
const STEPS: &[Step] = &[
    Step {
        name: "tools",
        work: Work::Here(tools, "cargo xtask test"),
    },
    Step {
        name: "format",
        work: Work::Cargo(&["fmt", "--all", "--check"], &[]),
    },
    Step {
        name: "tidy",
        work: Work::Here(tidy::run, "cargo xtask tidy"),
    },
    Step {
        name: "spelling",
        work: Work::Here(spelling::run, "cargo xtask spelling"),
    },
    Step {
        name: "supply chain",
        work: Work::Here(supply::run, "cargo xtask supply"),
    },
    Step {
        name: "lint",
        work: Work::Cargo(
            &[
                "clippy",
                "--workspace",
                "--all-targets",
                "--all-features",
                "--",
                "-D",
                "warnings",
            ],
            &[],
        ),
    },
    Step {
        name: "documentation",
        work: Work::Cargo(
            &[
                "doc",
                "--workspace",
                // With the features and targets of the lints, or every dependency would be checked
                // once more.
                "--all-features",
                "--lib",
                "--bins",
                "--examples",
                "--no-deps",
                "--document-private-items",
            ],
            &[("RUSTDOCFLAGS", "-D warnings")],
        ),
    },
    Step {
        name: "features",
        work: Work::Here(features::run, "cargo xtask features"),
    },
    Step {
        name: "tests",
        work: Work::Chosen(tests),
    },
    Step {
        name: "peers",
        work: Work::Here(peers::run, "cargo xtask peers"),
    },
    Step {
        name: "conformance",
        work: Work::Here(conformance::run_all, "cargo xtask conformance"),
    },
    Step {
        name: "clients",
        work: Work::Here(everything::run, "cargo xtask clients"),
    },
    Step {
        name: "servers",
        work: Work::Here(servers::run, "cargo xtask servers"),
    },
    Step {
        name: "gateway",
        work: Work::Here(gateway::run_some, "cargo xtask gateway"),
    },
    Step {
        name: "examples in docs",
        // With the features of the tests, or everything would be built once more.
        work: Work::Cargo(&["test", "--doc", "--workspace", "--all-features"], &[]),
    },
];

/// One thing to prove.
struct Step {
    name: &'static str,
    work: Work,
}

/// How a step is done.
enum Work {
    /// By a function of ours; the text is the command that repeats it.
    Here(fn(&Path) -> Result<()>, &'static str),
    /// By cargo with these arguments and environment variables.
    Cargo(
        &'static [&'static str],
        &'static [(&'static str, &'static str)],
    ),
    /// By a command that depends on what is installed.
    Chosen(fn(&Path) -> Command),
}

impl Work {
    /// Does the work; returns how it went and the command that repeats it alone.
    fn perform(&self, root: &Path) -> (Result<()>, String) {
        match self {
            Self::Here(function, again) => (function(root), (*again).to_owned()),
            Self::Cargo(arguments, environment) => {
                let mut command = cargo(root, arguments);
                command.envs(environment.iter().copied());
                (shell::run(&mut command), shell::shown(&command))
            }
            Self::Chosen(choose) => {
                let mut command = choose(root);
                (shell::run(&mut command), shell::shown(&command))
            }
        }
    }
}

/// Runs every step, and stops at the first that fails.
pub(crate) fn run(root: &Path) -> Result<()> {
    perform(STEPS, root)
}

fn perform(steps: &[Step], root: &Path) -> Result<()> {
    let mut times = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        say(&format!("\n[{}/{}] {}", index + 1, steps.len(), step.name));
        let started = now();
        let (done, again) = step.work.perform(root);
        let took = started.elapsed();
        if let Err(error) = done {
            let (name, took) = (step.name, seconds(took));
            bail!("step `{name}` failed after {took}: {error:#}\nrepeat it alone with: {again}");
        }
        say(&format!(
            "[{}/{}] {}: passed in {}",
            index + 1,
            steps.len(),
            step.name,
            seconds(took)
        ));
        times.push((step.name, took));
    }
    say(&summary(&times));
    Ok(())
}

/// One line per step, then the final line.
fn summary(times: &[(&str, Duration)]) -> String {
    let line = |(name, took): &(&str, Duration)| format!("\n  {name:<18}{:>9}", seconds(*took));
    let lines: String = times.iter().map(line).collect();
    let total = times.iter().map(|(_, took)| *took).sum();
    format!(
        "{lines}\nall {} steps passed in {}",
        times.len(),
        seconds(total)
    )
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the shell: it tells a person how long steps take and decides nothing by it"
)]
fn now() -> Instant {
    Instant::now()
}

/// Sees to it that what later steps call is installed.
fn tools(root: &Path) -> Result<()> {
    for (subcommand, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        if !shell::works(&mut cargo(root, &[subcommand, "--version"])) {
            say(&format!(
                "{component} is missing; adding it to the toolchain"
            ));
            shell::run(Command::new("rustup").args(["component", "add", component]))?;
        }
    }
    if let Err(error) = shell::ensure_subcommand(root, "nextest") {
        say(&format!(
            "{error:#}; tests run with plain `cargo test` instead"
        ));
    }
    // The tests of the pages drive a browser.
    peers::prepare(root)?;
    Ok(())
}

/// nextest if it can be had: it runs tests side by side and names the slow ones.
fn tests(root: &Path) -> Command {
    if shell::works(&mut cargo(root, &["nextest", "--version"])) {
        cargo(root, &["nextest", "run", "--workspace", "--all-features"])
    } else {
        // `--all-targets` would run the benchmarks too.
        cargo(
            root,
            &[
                "test",
                "--workspace",
                "--all-features",
                "--lib",
                "--bins",
                "--tests",
            ],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fail(_: &Path) -> Result<()> {
        bail!("two files are untidy")
    }

    fn never(_: &Path) -> Result<()> {
        panic!("a step ran after one that failed")
    }

    #[test]
    fn the_first_failing_step_ends_the_run_and_names_the_command_to_repeat() {
        let steps = [
            Step {
                name: "first",
                work: Work::Here(|_| Ok(()), "one"),
            },
            Step {
                name: "second",
                work: Work::Here(fail, "cargo xtask tidy"),
            },
            Step {
                name: "third",
                work: Work::Here(never, "three"),
            },
        ];
        let error = format!("{:#}", perform(&steps, Path::new(".")).unwrap_err());
        assert!(error.starts_with("step `second` failed after "), "{error}");
        let end = ": two files are untidy\nrepeat it alone with: cargo xtask tidy";
        assert!(error.ends_with(end), "{error}");
    }

    #[test]
    fn the_summary_has_a_line_per_step_and_a_final_line() {
        let times = [
            ("tidy", Duration::from_millis(260)),
            ("lint", Duration::from_secs(12)),
        ];
        let expected = "\n  tidy                  0.3 s\n  lint                 12.0 s\nall 2 steps passed in 12.3 s";
        assert_eq!(summary(&times), expected);
    }
}

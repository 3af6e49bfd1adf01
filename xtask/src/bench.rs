//! `cargo xtask bench`: measures, on one core where the machine allows it.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use clap::builder::PossibleValuesParser;

use crate::shell::{self, cargo, say};

/// All that can be measured; what has one name is run together.
const FAMILIES: &[Family] = &[
    Family {
        name: "forms",
        package: "entreat-testkit",
        bench: "forms",
        pinned: true,
    },
    Family {
        name: "engine",
        package: "entreat-engine",
        bench: "engine",
        // It says itself how many cores it uses.
        pinned: false,
    },
    Family {
        name: "engine",
        package: "entreat-stores",
        bench: "embedded",
        // Callers and the writer work side by side; on one core each would wait for the other.
        pinned: false,
    },
    Family {
        name: "engine",
        package: "entreat-stores",
        bench: "crowds",
        pinned: false,
    },
    Family {
        name: "service",
        package: "entreat",
        bench: "service",
        // It puts the server and the clients on a core each.
        pinned: false,
    },
    Family {
        name: "page",
        package: "entreat",
        bench: "page",
        pinned: false,
    },
];

/// A benchmark, and the family that it is read with.
struct Family {
    name: &'static str,
    package: &'static str,
    bench: &'static str,
    /// It has one thread, which is to stay on one core.
    pinned: bool,
}

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The family to run; all of them if none is named
    #[arg(value_parser = PossibleValuesParser::new(names()))]
    name: Option<String>,
    /// Passed on to the benchmark
    #[arg(last = true)]
    pass: Vec<OsString>,
}

fn names() -> Vec<&'static str> {
    let mut names: Vec<_> = FAMILIES.iter().map(|family| family.name).collect();
    names.dedup();
    names
}

/// Runs the chosen families, one after the other.
pub(crate) fn run(args: &Args, root: &Path) -> Result<()> {
    let pin = shell::works(Command::new("taskset").args(["-c", "0", "true"]));
    if !pin {
        say("taskset is missing: the figures include moves between cores");
    }
    for family in FAMILIES {
        if args.name.as_ref().is_none_or(|name| name == family.name) {
            // Built first, so that the pin holds back only what is measured.
            shell::run(&mut build(family, root))?;
            shell::run(&mut measure(family, root, pin && family.pinned, &args.pass))?;
        }
    }
    Ok(())
}

fn build(family: &Family, root: &Path) -> Command {
    cargo(
        root,
        &[
            "bench",
            "-p",
            family.package,
            "--bench",
            family.bench,
            "--no-run",
        ],
    )
}

fn measure(family: &Family, root: &Path, pin: bool, pass: &[OsString]) -> Command {
    let arguments = ["bench", "-p", family.package, "--bench", family.bench, "--"];
    let mut command = if pin {
        let mut command = Command::new("taskset");
        command
            .args(["-c", "0", "cargo"])
            .args(arguments)
            .current_dir(root);
        command
    } else {
        cargo(root, &arguments)
    };
    command.args(pass);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bench_is_pinned_and_receives_what_was_passed() {
        let pass = [OsString::from("--quick")];
        let command = measure(&FAMILIES[0], Path::new("."), true, &pass);
        assert_eq!(
            shell::shown(&command),
            "taskset -c 0 cargo bench -p entreat-testkit --bench forms -- --quick"
        );
    }

    #[test]
    fn a_bench_runs_unpinned_where_there_is_no_taskset() {
        let command = measure(&FAMILIES[0], Path::new("."), false, &[]);
        assert_eq!(
            shell::shown(&command),
            "cargo bench -p entreat-testkit --bench forms --"
        );
    }
}

//! `cargo xtask bench`: runs benchmarks, pinned to one core where possible.

use std::env::consts::EXE_EXTENSION;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use clap::builder::PossibleValuesParser;

use crate::peers;
use crate::shell::{self, cargo, say};

/// The families that are also compared with other implementations.
const MCP: &str = "mcp";
const GATEWAY: &str = "gateway";

/// The version of the crate `mcp-proxy` that the gateway is compared with.
const MCP_PROXY: &str = "=0.6.0";

/// All benchmarks; those with the same name run together.
const FAMILIES: &[Family] = &[
    Family {
        name: "forms",
        package: "entreat-testkit",
        bench: "forms",
        features: &[],
        pinned: true,
    },
    Family {
        name: "engine",
        package: "entreat-engine",
        bench: "engine",
        features: &[],
        // It chooses its number of cores itself.
        pinned: false,
    },
    Family {
        name: "engine",
        package: "entreat-stores",
        bench: "embedded",
        features: &[],
        // Callers and the writer run in parallel; on one core they would block each other.
        pinned: false,
    },
    Family {
        name: "engine",
        package: "entreat-stores",
        bench: "crowds",
        features: &[],
        pinned: false,
    },
    Family {
        name: "service",
        package: "entreat",
        bench: "service",
        features: &["--features", "full"],
        // It pins the server and the clients to one core each.
        pinned: false,
    },
    Family {
        name: "page",
        package: "entreat",
        bench: "page",
        features: &["--features", "full"],
        pinned: false,
    },
    Family {
        name: "identity",
        package: "entreat-wire",
        bench: "identity",
        features: &["--features", "issuer"],
        pinned: true,
    },
    Family {
        name: MCP,
        package: "entreat-mcp",
        bench: "mcp",
        features: &[],
        // Its servers share the core, like those of the rivals.
        pinned: true,
    },
    Family {
        name: GATEWAY,
        package: "entreat-cli",
        bench: "gateway",
        features: &[],
        // Client, relay and server share the core.
        pinned: true,
    },
];

/// A benchmark and its family.
struct Family {
    name: &'static str,
    package: &'static str,
    bench: &'static str,
    /// The arguments for features that its package does not have by default.
    features: &'static [&'static str],
    /// Whether to pin it to one core.
    pinned: bool,
}

/// Arguments of the command.
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

/// Runs the chosen families one after another.
pub(crate) fn run(args: &Args, root: &Path) -> Result<()> {
    let pin = shell::works(Command::new("taskset").args(["-c", "0", "true"]));
    if !pin {
        say("taskset is missing: the figures include moves between cores");
    }
    for family in FAMILIES {
        if args.name.as_ref().is_none_or(|name| name == family.name) {
            // Built first, since the build should use all cores.
            shell::run(&mut build(family, root))?;
            let mut pass = args.pass.clone();
            if family.name == GATEWAY {
                pass.extend(relays(root)?);
            }
            shell::run(&mut measure(family, root, pin && family.pinned, &pass))?;
        }
    }
    if args.name.as_ref().is_none_or(|name| name == MCP) {
        rivals(root, pin)?;
    }
    Ok(())
}

/// Measures the same tool in other languages' implementations: one line of JSON per transport and
/// era. Client and server share a core, like ours.
fn rivals(root: &Path, pin: bool) -> Result<()> {
    let peers = peers::prepare(root)?;
    for (mut command, script) in [
        (peers.node(), "bench/typescript.mjs"),
        (peers.python(), "bench/fastmcp_rival.py"),
    ] {
        command.arg(script);
        shell::run(&mut if pin { pinned(&command) } else { command })?;
    }
    Ok(())
}

/// Installs the relays of others; the arguments that tell the benchmark where they are.
fn relays(root: &Path) -> Result<[OsString; 2]> {
    let python = peers::prepare(root)?.python();
    let script = root.join("target/peers/bench/fastmcp_proxy.py");
    let mut fastmcp = OsString::from("--fastmcp=");
    for part in [python.get_program(), ",".as_ref(), script.as_ref()] {
        fastmcp.push(part);
    }
    let mut mcp_proxy = OsString::from("--mcp-proxy=");
    mcp_proxy.push(mcp_proxy_program(root)?);
    Ok([fastmcp, mcp_proxy])
}

/// Installs the relay of the crate `mcp-proxy`, unless it is there already.
///
/// Without its optional features: what they add to a call would count against it.
fn mcp_proxy_program(root: &Path) -> Result<PathBuf> {
    let folder = root.join("target/relays");
    let program = folder
        .join("bin")
        .join("mcp-proxy")
        .with_extension(EXE_EXTENSION);
    if !program.exists() {
        say("the crate mcp-proxy is missing; installing it (several minutes, once)");
        let mut install = cargo(root, &["install", "mcp-proxy", "--version", MCP_PROXY]);
        install.args(["--locked", "--no-default-features", "--root"]);
        shell::run(install.arg(&folder))?;
    }
    Ok(program)
}

/// Pins a command and its children to one core.
fn pinned(command: &Command) -> Command {
    let mut pinned = Command::new("taskset");
    pinned
        .args(["-c", "0"])
        .arg(command.get_program())
        .args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        pinned.current_dir(folder);
    }
    pinned
}

fn build(family: &Family, root: &Path) -> Command {
    let mut command = cargo(root, &["bench", "-p", family.package]);
    command.args(family.features);
    command.args(["--bench", family.bench, "--no-run"]);
    command
}

fn measure(family: &Family, root: &Path, pin: bool, pass: &[OsString]) -> Command {
    let mut command = cargo(root, &["bench", "-p", family.package]);
    command.args(family.features);
    command.args(["--bench", family.bench, "--"]);
    let mut command = if pin { pinned(&command) } else { command };
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

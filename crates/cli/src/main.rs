//! The `entreat` command: reads the command line and the environment, runs one command, and
//! turns what came of it into an exit code.
//!
//! Decides nothing about forms or URLs: that is the core's. Data goes to stdout, talk to
//! stderr, and whoever closes stdout early has what they wanted.

mod browser;
mod command;
mod config;
mod context;
mod duration;
mod environment;
mod input;
mod keys;
mod log;
mod look;
mod measure;
mod open_files;
mod output;
mod questions;
mod remote;
mod runtime;
mod service;
mod signals;
mod store;
mod telemetry;

use std::io::{self, BufWriter, ErrorKind, Write};
use std::process::ExitCode;

use clap::Parser;

use crate::command::Cli;
use crate::context::{Context, Exit};
use crate::environment::Environment;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return explain(&error),
    };
    let mut context = Context::new(Environment::read(), io::stdin(), io::stderr());
    // Not locked: a command that talks with a program on stdout writes from other threads.
    let mut out = BufWriter::new(io::stdout());
    let result = cli.run(&mut context, &mut out);
    // What was found out before an error is data all the same.
    let flushed = out.flush().map_err(anyhow::Error::from);
    let exit = match result.and_then(|exit| flushed.map(|()| exit)) {
        Ok(exit) => exit,
        Err(error) if is_broken_pipe(&error) => Exit::Clean,
        Err(error) => {
            // It may name what somebody else wrote.
            let words = output::plain_lines(&format!("{error:#}"));
            context.say(format_args!("entreat: {words}"));
            Exit::Trouble
        }
    };
    exit.into()
}

/// Prints help, the version, or what is wrong with the command line.
fn explain(error: &clap::Error) -> ExitCode {
    let exit = if error.exit_code() == 0 {
        Exit::Clean
    } else {
        Exit::Trouble
    };
    match error.print() {
        Err(failure) if failure.kind() != ErrorKind::BrokenPipe => Exit::Trouble.into(),
        _ => exit.into(),
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
    })
}

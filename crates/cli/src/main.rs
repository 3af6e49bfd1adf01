//! The `entreat` command: reads the command line and the environment, runs one command, and
//! turns its result into an exit code.
//!
//! Contains no rules about forms or URLs: those are the core's. Data goes to stdout, messages to
//! stderr, and a broken pipe on stdout is success.

mod agent;
mod browser;
mod command;
mod config;
mod context;
mod duration;
mod environment;
mod input;
mod keys;
mod language;
mod log;
mod metrics;
mod open_files;
mod output;
mod questions;
mod remote;
mod runtime;
mod server_label;
mod service;
mod sign_in;
mod signals;
mod store;
mod telemetry;
mod terminal_style;
mod texts;
mod trace_file;

use std::io::{self, BufWriter, ErrorKind, Write};
use std::process::ExitCode;

use clap::Parser;

use crate::command::{Cli, launch};
use crate::context::{Context, Exit};
use crate::environment::Environment;

fn main() -> ExitCode {
    if let Some(error) = launch::become_server(std::env::args_os()) {
        let context = Context::new(Environment::default(), io::stdin(), io::stderr());
        return failed(context, &error).into();
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return explain(&error),
    };
    let mut context = Context::new(Environment::read(), io::stdin(), io::stderr());
    // Not locked: a command that serves a program on stdout writes from other threads.
    let mut out = BufWriter::new(io::stdout());
    let result = cli.run(&mut context, &mut out);
    // Output from before an error is still data.
    let flushed = out.flush().map_err(anyhow::Error::from);
    let exit = match result.and_then(|exit| flushed.map(|()| exit)) {
        Ok(exit) => exit,
        Err(error) if is_broken_pipe(&error) => Exit::Success,
        Err(error) => failed(context, &error),
    };
    exit.into()
}

fn failed(mut context: Context, error: &anyhow::Error) -> Exit {
    // The message may contain untrusted text.
    let text = output::sanitize_lines(&format!("{error:#}"));
    context.say(format_args!("entreat: {text}"));
    Exit::Error
}

/// Prints help, the version, or a usage error.
fn explain(error: &clap::Error) -> ExitCode {
    let exit = if error.exit_code() == 0 {
        Exit::Success
    } else {
        Exit::Error
    };
    match error.print() {
        Err(failure) if failure.kind() != ErrorKind::BrokenPipe => Exit::Error.into(),
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

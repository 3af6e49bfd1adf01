//! The command line: one file per command, joined here.

use std::io::Write;

use clap::{Parser, Subcommand};

use crate::context::{Context, Exit};

mod ask;
mod attach;
mod backup;
mod call;
mod cancel;
mod completions;
mod config;
mod demo;
mod doctor;
mod form;
mod list;
mod mcp;
mod rpc;
mod serve;
mod status;
mod url_check;

/// Ask people questions and get valid answers
///
/// Entreat lets any MCP server ask a person a question and get a valid answer. `demo` shows it.
/// `serve` and `rpc` answer programs of any language. The other commands work without a service: they ask the
/// person at this terminal, look after the questions that a store keeps, and check forms and
/// URLs. They tell by their exit code how it went.
#[derive(Parser)]
#[command(
    name = "entreat",
    version,
    arg_required_else_help = true,
    subcommand_required = true,
    after_help = AFTER_HELP
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
A form says what is asked. The smallest one, in a file greeting.json:

  {\"id\": \"greeting\", \"title\": \"Who are you?\",
   \"fields\": [{\"id\": \"name\", \"type\": \"text\", \"label\": \"Your name\", \"required\": true}]}

First steps:

  entreat demo                                        a question on a page, and its answer
  entreat ask greeting.json                           ask it here, print the answers
  entreat form lint greeting.json                     is the form valid?
  echo '{\"name\": \"Ada\"}' | entreat form validate greeting.json -
  entreat form schema greeting.json                   the form as JSON Schema
  entreat url check https://example.com/              may this URL be used?
  entreat serve                                       let programs ask, on this machine
  entreat doctor                                      is anything wrong with its set-up?

Forms are JSON, YAML or TOML; `-` in place of a file is stdin. Data goes to stdout, remarks go
to stderr.

Environment:
  ENTREAT_STORE  the store of serve, rpc, list, status, cancel, backup and ask --keep
  ENTREAT_KEYS   the file with its keys
  Every setting of the service has a variable: `entreat config` lists the settings.

Exit codes:
  0  answered, valid or allowed; a service that ended as it was told to
  1  an invalid answer, problems in a form or set-up, a blocked URL, no such elicitation
  2  wrong usage, a file or store that cannot be opened, a broken form where a valid one is needed
  3  declined
  4  cancelled
  5  out of time
  130 and other codes above 128: a signal ended it, 130 is Ctrl-C";

#[derive(Subcommand)]
enum Command {
    Demo(demo::Args),
    Serve(serve::Args),
    Rpc(rpc::Args),
    Mcp(mcp::Args),
    Config(config::Args),
    Doctor(doctor::Args),
    Ask(ask::Args),
    Attach(attach::Args),
    Call(call::Args),
    List(list::Args),
    Status(status::Args),
    Cancel(cancel::Args),
    Backup(backup::Args),
    #[command(subcommand)]
    Form(form::Command),
    #[command(subcommand)]
    Url(UrlCommand),
    Completions(completions::Args),
}

/// Judge URLs before they are used or opened
#[derive(Subcommand)]
enum UrlCommand {
    Check(url_check::Args),
}

impl Cli {
    /// Runs the chosen command.
    pub(crate) fn run(self, context: &mut Context, out: &mut dyn Write) -> anyhow::Result<Exit> {
        match self.command {
            Command::Demo(args) => demo::run(&args, context, out),
            Command::Serve(args) => serve::run(&args, context),
            Command::Rpc(args) => rpc::run(&args, context),
            Command::Mcp(args) => mcp::run(&args, context),
            Command::Config(args) => config::run(&args, context, out),
            Command::Doctor(args) => doctor::run(&args, context, out),
            Command::Ask(args) => ask::run(&args, context, out),
            Command::Attach(args) => attach::run(&args, context),
            Command::Call(args) => call::run(&args, context, out),
            Command::List(args) => list::run(&args, context, out),
            Command::Status(args) => status::run(&args, context, out),
            Command::Cancel(args) => cancel::run(&args, context, out),
            Command::Backup(args) => backup::run(&args, context, out),
            Command::Form(command) => command.run(context, out),
            Command::Url(UrlCommand::Check(args)) => url_check::run(args, context, out),
            Command::Completions(args) => completions::run(&args, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}

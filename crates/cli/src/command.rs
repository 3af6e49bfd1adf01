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
mod gateway;
mod inbox;
pub(crate) mod launch;
mod list;
mod mcp;
mod reassign;
mod restore;
mod rpc;
mod serve;
mod setup;
mod status;
mod url_check;
mod wrap;

/// Ask people questions and get valid answers
///
/// Entreat lets any MCP server ask a person a question and get a valid answer. To try it, run
/// `entreat demo`. `serve` and `rpc` let programs in any language ask. The other commands work
/// without a service: they ask in this terminal, manage stored questions, and check forms and URLs.
/// The exit code reports the result.
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
A form defines what to ask. The smallest one, in a file greeting.json:

  {\"id\": \"greeting\", \"title\": \"Who are you?\",
   \"fields\": [{\"id\": \"name\", \"type\": \"text\", \"label\": \"Your name\", \"required\": true}]}

First steps:

  entreat demo                                        ask a sample question on a page
  entreat setup claude-code                           let an agent ask you
  entreat ask greeting.json                           ask it in this terminal, print the answers
  entreat form lint greeting.json                     check the form
  echo '{\"name\": \"Ada\"}' | entreat form validate greeting.json -
  entreat form schema greeting.json                   print the form as JSON Schema
  entreat url check https://example.com/              check a URL
  entreat serve                                       let programs on this machine ask
  entreat doctor                                      check the setup of the service

Forms are JSON, YAML or TOML; use `-` to read from stdin. Data goes to stdout, messages go to
stderr.

Environment:
  ENTREAT_STORE  the store of serve, rpc, list, status, cancel, reassign, backup, restore, inbox and
                 ask --keep
  ENTREAT_KEYS   the store's key file
  Every setting of the service has a variable; run `entreat config` to list the settings.

Exit codes:
  0  answered, valid or allowed; the service shut down normally
  1  an invalid answer, problems in a form or in the setup, a blocked URL, no such question
  2  wrong usage, a file or store that cannot be opened, an invalid form
  3  declined
  4  cancelled
  5  timed out
  above 128: ended by a signal; 130 is Ctrl-C";

#[derive(Subcommand)]
enum Command {
    Demo(demo::Args),
    Serve(serve::Args),
    Rpc(rpc::Args),
    Mcp(mcp::Args),
    Wrap(wrap::Args),
    Gateway(gateway::Args),
    Setup(setup::Args),
    Config(config::Args),
    Doctor(doctor::Args),
    Ask(ask::Args),
    Attach(attach::Args),
    Call(call::Args),
    List(list::Args),
    Status(status::Args),
    Cancel(cancel::Args),
    Reassign(reassign::Args),
    Backup(backup::Args),
    Restore(restore::Args),
    Inbox(inbox::Args),
    #[command(subcommand)]
    Form(form::Command),
    #[command(subcommand)]
    Url(UrlCommand),
    Completions(completions::Args),
}

/// Check URLs before using or opening them
#[derive(Subcommand)]
enum UrlCommand {
    Check(url_check::Args),
}

impl Cli {
    /// Whether the command is `entreat mcp` for the program that starts it.
    fn serves_mcp_on_stdio(&self) -> bool {
        matches!(&self.command, Command::Mcp(args) if args.serves_stdio())
    }

    /// Runs the chosen command.
    pub(crate) fn run(self, context: &mut Context, out: &mut dyn Write) -> anyhow::Result<Exit> {
        match self.command {
            Command::Demo(args) => demo::run(&args, context, out),
            Command::Serve(args) => serve::run(&args, context),
            Command::Rpc(args) => rpc::run(&args, context),
            Command::Mcp(args) => mcp::run(&args, context),
            Command::Wrap(args) => wrap::run(&args, context),
            Command::Gateway(args) => gateway::run(&args, context, out),
            Command::Setup(args) => setup::run(&args, context, out),
            Command::Config(args) => config::run(&args, context, out),
            Command::Doctor(args) => doctor::run(&args, context, out),
            Command::Ask(args) => ask::run(&args, context, out),
            Command::Attach(args) => attach::run(&args, context),
            Command::Call(args) => call::run(&args, context, out),
            Command::List(args) => list::run(&args, context, out),
            Command::Status(args) => status::run(&args, context, out),
            Command::Cancel(args) => cancel::run(&args, context, out),
            Command::Reassign(args) => reassign::run(&args, context, out),
            Command::Backup(args) => backup::run(&args, context, out),
            Command::Restore(args) => restore::run(&args, context, out),
            Command::Inbox(args) => inbox::run(&args, context, out),
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

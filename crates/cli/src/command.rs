//! The command line: one file for each command, and here the tree that joins them.

use std::io::Write;

use clap::{Parser, Subcommand};

use crate::context::{Context, Exit};

mod completions;
mod form;
mod url_check;

/// Ask people questions and get valid answers
///
/// Entreat lets any MCP server ask a person a question and get a valid answer. The commands
/// here work on forms and URLs without a service: they read files, print what they find, and
/// tell by their exit code how it went.
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

  entreat form lint greeting.json                     is the form sound?
  echo '{\"name\": \"Ada\"}' | entreat form validate greeting.json -
  entreat form schema greeting.json                   the form as JSON Schema
  entreat url check https://example.com/              may this URL be used?

Forms are JSON, YAML or TOML; `-` in place of a file is stdin. Data goes to stdout, remarks go
to stderr.

Exit codes:
  0  valid, sound or allowed
  1  an invalid answer, problems in a form, a blocked URL
  2  wrong usage, a file that cannot be read, a broken form where a sound one is needed";

#[derive(Subcommand)]
enum Command {
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
    /// Runs the command that was asked for. Fails when it could not do its work.
    pub(crate) fn run(self, context: &mut Context, out: &mut dyn Write) -> anyhow::Result<Exit> {
        match self.command {
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

//! `entreat completions`: scripts that let a shell complete the command line.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::command::Cli;
use crate::context::Exit;

/// Print a shell completion script
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The shell to generate the script for
    shell: Shell,
}

const AFTER_HELP: &str = "\
Examples:
  entreat completions bash > ~/.local/share/bash-completion/completions/entreat
  entreat completions zsh > ~/.zfunc/_entreat
  entreat completions fish > ~/.config/fish/completions/entreat.fish";

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<Exit> {
    // Into memory first: the generator panics when it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "entreat", &mut script);
    out.write_all(&script)?;
    Ok(Exit::Success)
}

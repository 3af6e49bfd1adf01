//! Developer commands of Entreat: the same for a person and for CI.
//!
//! A command here orders other tools about and reports what they said. What it decides
//! itself are the house rules in [`tidy`], and those are pure functions.

mod advisories;
mod attack;
mod bench;
mod book;
mod churn;
mod conformance;
mod crash;
mod dist;
mod everything;
mod features;
mod fuzz;
mod gateway;
mod identity;
mod peers;
mod platforms;
mod running;
mod screenshots;
mod servers;
mod shell;
mod spelling;
mod supply;
mod test;
mod tidy;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Developer commands of Entreat.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Prove everything: format, house rules, lints, documentation, tests
    Test,
    /// Check the house rules that the compiler does not
    Tidy,
    /// Find misspelt words
    Spelling,
    /// Compile each feature by itself, with the oldest Rust that is supported
    Features,
    /// Check licences, sources and duplicates of all dependencies
    Supply,
    /// Look for known vulnerabilities in the lock files
    Advisories(advisories::Args),
    /// Attack the real programs as strangers would, and look for what does not hold
    Attack(attack::Args),
    /// Run a family of benchmarks, or all of them
    Bench(bench::Args),
    /// Run the fuzz targets for a while each
    Fuzz(fuzz::Args),
    /// Try the service with other people's programs and in other languages
    Peers,
    /// Run the official MCP conformance suite against the example `everything` and `entreat call`
    Conformance(conformance::Args),
    /// Try the example `everything` with MCP clients of others
    Clients,
    /// Call MCP servers of others with `entreat call`, and answer what they ask
    Servers,
    /// Put the gateway between clients and servers of others
    Gateway(gateway::Args),
    /// Test who may do what, at length: sign-in, tokens, groups, the board
    Identity(identity::Args),
    /// Compile for macOS and Windows
    Platforms,
    /// Make the archives of a release and try them on a bare Debian
    Dist(dist::Args),
    /// Make a book of the documentation, in target/book
    Book,
    /// Draw every page anew, into docs/pages
    Screenshots,
    /// Kill a process that works on the embedded store, and look for what was lost
    Crash(crash::Args),
    /// Let everything come and go on running programs, and watch their memory
    Churn(churn::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = shell::root().and_then(|root| match &cli.command {
        Command::Test => test::run(&root),
        Command::Tidy => tidy::run(&root),
        Command::Spelling => spelling::run(&root),
        Command::Features => features::run(&root),
        Command::Supply => supply::run(&root),
        Command::Advisories(args) => advisories::run(args, &root),
        Command::Attack(args) => attack::run(args, &root),
        Command::Bench(args) => bench::run(args, &root),
        Command::Fuzz(args) => fuzz::run(args, &root),
        Command::Peers => peers::run(&root),
        Command::Conformance(args) => conformance::run(args, &root),
        Command::Clients => everything::run(&root),
        Command::Servers => servers::run(&root),
        Command::Gateway(args) => gateway::run(args, &root),
        Command::Identity(args) => identity::run(args, &root),
        Command::Platforms => platforms::run(&root),
        Command::Dist(args) => dist::run(args, &root),
        Command::Book => book::run(&root),
        Command::Screenshots => screenshots::run(&root),
        Command::Crash(args) => crash::run(args, &root),
        Command::Churn(args) => churn::run(args, &root),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            shell::say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

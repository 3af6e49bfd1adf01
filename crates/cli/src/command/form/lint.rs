//! `entreat form lint`: reports all problems of form definitions.

use std::io::Write;

use entreat_core::{Problem, Problems};
use serde::Serialize;

use super::{FormArgs, Located};
use crate::context::{Context, Exit};
use crate::input::{self, Source};
use crate::output;

/// Report all problems in forms
///
/// Prints one problem per line to stdout: the file, a JSON pointer, a message, and a code for
/// programs. A valid form prints nothing to stdout.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Form definitions; `-` is stdin
    #[arg(value_name = "FILE", required = true, value_hint = clap::ValueHint::FilePath)]
    files: Vec<Source>,
    /// Print one JSON array with an object for each file
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    form: FormArgs,
}

const AFTER_HELP: &str = "\
Examples:
  entreat form lint greeting.json
  entreat form lint forms/*.yaml --json
  entreat form lint --validator no_admin signup.json

Exit codes: 0 all valid, 1 problems found, 2 wrong usage or an unreadable file.";

/// The output of `--json` for one file.
#[derive(Serialize)]
struct Report {
    file: String,
    valid: bool,
    problems: Vec<Problem>,
    /// Why the file could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

pub(crate) fn run(args: &Args, context: &mut Context, out: &mut dyn Write) -> anyhow::Result<Exit> {
    input::refuse_stdin_twice(&args.files)?;
    let mut exit = Exit::Success;
    let mut reports = Vec::new();
    for file in &args.files {
        let mut report = Report {
            file: file.argument(),
            valid: false,
            problems: Vec::new(),
            error: None,
        };
        match args.form.read(file, context) {
            Ok(Ok(_)) => {
                report.valid = true;
                context.say(format_args!("{file}: no problems found"));
            }
            Ok(Err(problems)) => {
                exit = exit.max(Exit::Findings);
                if !args.json {
                    print(file, &problems, out)?;
                }
                report.problems = problems.iter().cloned().collect();
            }
            // Check the other files anyway.
            Err(error) => {
                exit = Exit::Error;
                context.say(format_args!("entreat: {error:#}"));
                report.error = Some(format!("{error:#}"));
            }
        }
        reports.push(report);
    }
    if args.json {
        output::document(out, &reports)?;
    }
    Ok(exit)
}

fn print(file: &Source, problems: &Problems, out: &mut dyn Write) -> std::io::Result<()> {
    problems
        .iter()
        .try_for_each(|problem| writeln!(out, "{}", Located(file, problem)))
}

//! `entreat form sample`: generates valid and specifically invalid answers.

use std::io::Write;

use clap::builder::PossibleValuesParser;
use entreat_core::Constraint;
use entreat_generate::{Generator, Scenario};

use super::FormArgs;
use crate::context::{Context, Exit};
use crate::input::Source;
use crate::output;

/// Print a valid answer, or one that breaks exactly one rule
///
/// Prints one JSON answer per line. The same form, seed and count give the same answers.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The form; `-` is stdin
    #[arg(value_name = "FORM", value_hint = clap::ValueHint::FilePath)]
    file: Source,
    /// Break exactly this rule, named by its key or by the mistake
    #[arg(
        long,
        value_name = "RULE",
        value_parser = PossibleValuesParser::new(rules())
    )]
    invalid: Option<String>,
    /// The seed; choose another for different answers
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// How many answers to print
    #[arg(long, value_name = "N", default_value_t = 1)]
    count: u64,
    #[command(flatten)]
    form: FormArgs,
}

const AFTER_HELP: &str = "\
Examples:
  entreat form sample greeting.json
  entreat form sample greeting.json --invalid required
  entreat form sample greeting.json --count 100 | entreat form validate greeting.json --lines

Exit codes: 0 success, 1 the form has no such answer, 2 wrong usage, an unreadable file, or an
invalid form.";

/// Returns the names of all breakable rules: constraint keys, then scenarios.
fn rules() -> impl Iterator<Item = &'static str> {
    let scenarios = Scenario::ALL.iter().map(|scenario| scenario.name());
    Constraint::KEYS.iter().copied().chain(scenarios)
}

pub(crate) fn run(args: &Args, context: &mut Context, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let form = args.form.load(&args.file, context)?;
    let mut generator = Generator::new(&form, args.seed);
    for _ in 0..args.count {
        let answer = match &args.invalid {
            Some(rule) => generator.breaking(rule),
            None => generator.valid(),
        };
        let Some(answer) = answer else {
            explain(args, &mut generator, context);
            return Ok(Exit::Findings);
        };
        output::line(out, &answer)?;
    }
    Ok(Exit::Success)
}

/// Explains why there is no such answer, and which rules can be broken.
fn explain(args: &Args, generator: &mut Generator, context: &mut Context) {
    let file = &args.file;
    let Some(rule) = &args.invalid else {
        context.say(format_args!("{file}: no valid answer was found"));
        return;
    };
    let breakable = generator.breakable();
    if breakable.is_empty() {
        context.say(format_args!(
            "{file}: no rule of this form can be broken alone"
        ));
    } else {
        let breakable = breakable.join(", ");
        context.say(format_args!(
            "{file}: no answer breaks `{rule}` alone; these rules can be broken: {breakable}"
        ));
    }
}

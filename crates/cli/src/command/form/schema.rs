//! `entreat form schema`: a form as JSON Schema, in full or as the MCP subset.

use std::io::Write;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use entreat_core::schema::{self, Era, Loss};

use super::FormArgs;
use crate::context::{Context, Exit};
use crate::input::Source;
use crate::output;

/// Print a form as JSON Schema
///
/// Prints JSON Schema 2020-12. With `--mcp`, prints the flat `requestedSchema` of that MCP protocol
/// version, and lists the rules it cannot express on stderr. Entreat still enforces those rules
/// when the answer comes back.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The form; `-` is stdin
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    file: Source,
    /// Print the `requestedSchema` of this MCP protocol version
    #[arg(long, value_name = "ERA", value_parser = eras())]
    mcp: Option<Era>,
    /// With --mcp: print {"requestedSchema", "losses", "needsUrl"} on stdout
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    form: FormArgs,
}

const AFTER_HELP: &str = "\
Examples:
  entreat form schema deploy.yaml
  entreat form schema deploy.yaml --mcp 2025-11-25
  entreat form schema deploy.yaml --mcp 2025-11-25 --json

Exit codes: 0 success, 2 wrong usage, an unreadable file, or an invalid form.";

fn eras() -> impl TypedValueParser<Value = Era> {
    PossibleValuesParser::new(Era::ALL.map(Era::version)).try_map(|version| version.parse::<Era>())
}

pub(crate) fn run(args: &Args, context: &mut Context, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let form = args.form.load(&args.file, context)?;
    let Some(era) = args.mcp else {
        output::document(out, &schema::json_schema(&form))?;
        return Ok(Exit::Success);
    };
    let projection = schema::project(&form, era);
    if args.json {
        output::document(out, &projection)?;
        return Ok(Exit::Success);
    }
    output::document(out, &projection.requested_schema)?;
    for loss in &projection.losses {
        say_loss(&args.file, loss, context);
    }
    if projection.needs_url {
        context.say(format_args!(
            "{}: a form-mode request cannot ask all of this; a URL can",
            args.file
        ));
    }
    Ok(Exit::Success)
}

fn say_loss(file: &Source, loss: &Loss, context: &mut Context) {
    let (message, rule) = (
        output::sanitize(&loss.message),
        output::sanitize(&loss.rule),
    );
    match &loss.field {
        Some(field) => {
            let field = output::sanitize(field);
            context.say(format_args!("{file}: {field}: {message} [{rule}]"));
        }
        None => context.say(format_args!("{file}: {message} [{rule}]")),
    }
}

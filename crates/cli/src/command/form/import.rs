//! `entreat form import`: a form for the `requestedSchema` of any MCP server.

use std::io::Write;

use anyhow::bail;
use clap::builder::NonEmptyStringValueParser;
use entreat_core::schema;
use serde_json::Value;

use super::{InvalidDocument, NotationArg};
use crate::context::{Context, Exit};
use crate::input::Source;
use crate::output;

/// Print a form for the `requestedSchema` of an MCP server
///
/// Takes the schema alone, or the params of an `elicitation/create` request, whose message becomes
/// the form's title. Notices about what the form shows differently or doesn't enforce go to stderr.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The schema; `-` is stdin
    #[arg(value_name = "SCHEMA", value_hint = clap::ValueHint::FilePath)]
    schema: Source,
    /// The form's id
    #[arg(
        long,
        value_name = "ID",
        default_value = "imported",
        value_parser = NonEmptyStringValueParser::new()
    )]
    id: String,
    /// The form's title [default: the request's message, or the schema's title]
    #[arg(long, value_name = "TITLE", value_parser = NonEmptyStringValueParser::new())]
    title: Option<String>,
    #[command(flatten)]
    notation: NotationArg,
}

const AFTER_HELP: &str = "\
Examples:
  entreat form import requested-schema.json > form.json
  entreat form import --id profile --title 'Your profile' params.json
  echo '{\"type\": \"object\", \"properties\": {\"name\": {\"type\": \"string\"}}}' | entreat form import -

Exit codes: 0 success, 2 wrong usage, an unreadable file, or no schema in it.";

/// The title if neither the request nor the schema has one.
const UNTITLED: &str = "Question";

pub(crate) fn run(args: &Args, context: &mut Context, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let source = &args.schema;
    let document = args
        .notation
        .read(source, context)?
        .map_err(|problems| InvalidDocument::new("a schema", source, &problems))?;
    let (schema, message) = match document.get("requestedSchema") {
        Some(schema) => (schema, document.get("message").and_then(Value::as_str)),
        None => (&document, None),
    };
    if !schema.is_object() {
        bail!("{source} is not a schema: expected an object with `type` and `properties`");
    }
    let message = message.filter(|message| !message.trim().is_empty());
    let title = args.title.as_deref().or(message);
    let mut schema = schema.clone();
    if let Some(title) = title {
        // A title that is named here overrides the schema's.
        schema["title"] = title.into();
    }
    let import =
        schema::import_as(&schema, &args.id, title.unwrap_or(UNTITLED)).map_err(|problems| {
            InvalidDocument::new("a schema that can be imported", source, &problems)
        })?;
    output::document(out, import.form.definition())?;
    for notice in &import.notices {
        let location = match notice.pointer.as_str() {
            "" => "(whole schema)".into(),
            pointer => output::sanitize(pointer),
        };
        let message = output::sanitize(&notice.message);
        context.say(format_args!("{source}: {location}: {message}"));
    }
    Ok(Exit::Success)
}

//! `entreat form`: commands on forms without a service, and how they load forms.

use std::fmt;
use std::io::Write;

use clap::{Subcommand, ValueEnum};
use entreat_core::document::{self, MAX_DOCUMENT_BYTES};
use entreat_core::{Form, Problem, Problems, Validators};
use serde_json::Value;

use crate::context::{Context, Exit};
use crate::input::{self, Source};
use crate::output;

mod import;
mod lint;
mod sample;
mod schema;
mod validate;

/// Check forms and answers, and convert between forms and schemas
#[derive(Subcommand)]
#[command(after_help = AFTER_HELP)]
pub(crate) enum Command {
    Lint(lint::Args),
    Validate(validate::Args),
    Schema(schema::Args),
    Import(import::Args),
    Sample(sample::Args),
}

const AFTER_HELP: &str = "\
A form has an id, a title and fields, in JSON, YAML or TOML:

  id: deploy
  title: Where should this go?
  fields:
    - {id: host, type: text, label: Host, required: true, validation: {format: hostname}}
    - {id: port, type: number, label: Port, default: 443, validation: {minimum: 1, maximum: 65535}}
    - {id: stage, type: select, label: Stage, options: [test, live]}

Field types: text, number, boolean, date, select, multi_select, url, file.";

impl Command {
    pub(crate) fn run(self, context: &mut Context, out: &mut dyn Write) -> anyhow::Result<Exit> {
        match self {
            Self::Lint(args) => lint::run(&args, context, out),
            Self::Validate(args) => validate::run(&args, context, out),
            Self::Schema(args) => schema::run(&args, context, out),
            Self::Import(args) => import::run(&args, context, out),
            Self::Sample(args) => sample::run(&args, context, out),
        }
    }
}

/// The notation of documents.
#[derive(clap::Args)]
pub(super) struct NotationArg {
    /// The format of the file, if its extension doesn't say (.json, .yaml, .yml, .toml)
    ///
    /// By default, text that starts with `{` or `[` is JSON, any other text is YAML.
    #[arg(long, value_name = "NOTATION", value_enum)]
    notation: Option<Notation>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Notation {
    Json,
    Yaml,
    Toml,
}

impl NotationArg {
    /// Whether the notation was specified.
    pub(super) fn is_given(&self) -> bool {
        self.notation.is_some()
    }

    /// Reads a document. The outer error is about the file, the inner one about its text.
    pub(super) fn read(
        &self,
        source: &Source,
        context: &mut Context,
    ) -> anyhow::Result<Result<Value, Problems>> {
        let text = source.read(MAX_DOCUMENT_BYTES, context)?;
        let notation = match self.notation {
            Some(Notation::Json) => document::Notation::Json,
            Some(Notation::Yaml) => document::Notation::Yaml,
            Some(Notation::Toml) => document::Notation::Toml,
            None => source
                .notation()
                .unwrap_or_else(|| input::guess_notation(&text)),
        };
        Ok(document::read(&text, notation))
    }

    /// Reads a form, which must be valid and use no custom validators.
    pub(super) fn load_form(&self, source: &Source, context: &mut Context) -> anyhow::Result<Form> {
        let form = self.read(source, context)?;
        let form = form.and_then(|definition| Form::from_value(&definition));
        form.map_err(|problems| InvalidDocument::new("a valid form", source, &problems).into())
    }
}

/// Options for reading forms.
#[derive(clap::Args)]
struct FormArgs {
    #[command(flatten)]
    notation: NotationArg,
    /// A custom validator that the host program registers; repeatable
    ///
    /// Without it, a form that uses the validator is invalid. Here, the validator accepts every
    /// answer.
    #[arg(long = "validator", value_name = "NAME")]
    validators: Vec<String>,
}

impl FormArgs {
    /// Reads a form. The outer error is about the file, the inner one about the form.
    fn read(
        &self,
        source: &Source,
        context: &mut Context,
    ) -> anyhow::Result<Result<Form, Problems>> {
        let mut validators = Validators::default();
        for name in &self.validators {
            validators.register(name, |_| Ok(()));
        }
        let definition = self.notation.read(source, context)?;
        Ok(definition.and_then(|definition| Form::with_validators(&definition, &validators)))
    }

    /// Reads a form, which must be valid.
    fn load(&self, source: &Source, context: &mut Context) -> anyhow::Result<Form> {
        let form = self.read(source, context)?;
        form.map_err(|problems| InvalidDocument::new("a valid form", source, &problems).into())
    }
}

/// Formats a problem on one line: `FILE: POINTER: message [code]`.
struct Located<'p>(&'p Source, &'p Problem);

impl fmt::Display for Located<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(source, problem) = self;
        write!(f, "{source}: {}", output::sanitize(&problem.to_string()))
    }
}

/// A document that is not what the command needs, with all its problems.
#[derive(Debug)]
pub(super) struct InvalidDocument(String);

impl InvalidDocument {
    pub(super) fn new(needed: &str, source: &Source, problems: &Problems) -> Self {
        let mut text = format!("{source} is not {needed}");
        for problem in problems {
            text.push('\n');
            text.push_str(&Located(source, problem).to_string());
        }
        Self(text)
    }
}

impl fmt::Display for InvalidDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvalidDocument {}

#[cfg(test)]
mod tests {
    use entreat::core::Kind;

    #[test]
    fn the_help_lists_every_field_type() {
        let types = format!("Field types: {}.", Kind::NAMES.join(", "));
        assert!(super::AFTER_HELP.ends_with(&types), "{types}");
    }
}

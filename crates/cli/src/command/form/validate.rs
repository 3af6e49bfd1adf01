//! `entreat form validate`: checks answers and prints their values.
//!
//! JSON answers are checked and printed as text: a tree in between would round big integers.

use std::io::Write;

use anyhow::Context as _;
use clap::ValueEnum;
use entreat_core::document::{self, Notation};
use entreat_core::{
    Answers, AnswersView, Catalogue, CheckError, CheckSettings, FieldError, Form, Messages,
    ReferenceKind, Unknown, Violations,
};
use serde::Serialize;

use super::{FormArgs, InvalidDocument};
use crate::context::{Context, Exit};
use crate::input::{self, MAX_ANSWER_BYTES, Source};
use crate::output;

/// Check an answer against a form
///
/// Prints {"valid": true, "values": …} with the values as the asker receives them, including
/// secrets, or {"valid": false, "errors": …} with every broken rule. If the form has
/// `allow_partial`, missing required fields are listed in "missing".
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The form; `-` is stdin
    #[arg(value_name = "FORM", value_hint = clap::ValueHint::FilePath)]
    file: Source,
    /// The answer: JSON, or YAML or TOML by file extension; `-` is stdin
    #[arg(
        value_name = "ANSWER",
        required_unless_present = "lines",
        value_hint = clap::ValueHint::FilePath
    )]
    answer: Option<Source>,
    /// Read one JSON answer per line and print one result per line
    ///
    /// Reads stdin if there is no ANSWER. Blank lines are skipped; a line that is not JSON gets the
    /// result {"valid": false, "error": …}.
    #[arg(long)]
    lines: bool,
    /// How to treat unknown fields
    #[arg(long, value_name = "WHAT", value_enum, default_value = "error")]
    unknown: UnknownArg,
    /// Accept references of this kind as uploads; repeatable
    #[arg(long = "allow-reference", value_name = "KIND", value_enum)]
    references: Vec<ReferenceArg>,
    /// Languages for the messages, most preferred first, such as de or pt-BR [default: the
    /// locale's]
    #[arg(long = "language", value_name = "TAG", value_delimiter = ',')]
    languages: Vec<String>,
    #[command(flatten)]
    form: FormArgs,
}

const AFTER_HELP: &str = "\
Examples:
  entreat form validate greeting.json answer.json
  echo '{\"name\": \"Ada\"}' | entreat form validate greeting.json -
  entreat form validate greeting.json --lines < answers.jsonl
  entreat form validate greeting.json answer.json --language de,en

An answer is an object of values by field id, alone or in the envelope
{\"form_id\": …, \"responses\": {…}}.

Exit codes: 0 all valid, 1 an invalid answer, 2 wrong usage, a file that is unreadable or not
JSON, or an invalid form.";

#[derive(Clone, Copy, ValueEnum)]
enum UnknownArg {
    /// Report them as errors
    Error,
    /// Drop them
    Ignore,
}

#[derive(Clone, Copy, ValueEnum)]
enum ReferenceArg {
    Url,
    S3,
    Local,
}

pub(crate) fn run(args: &Args, context: &mut Context, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let answer = args.answer.as_ref().unwrap_or(&Source::Stdin);
    input::refuse_stdin_twice([&args.file, answer])?;
    let checker = Checker {
        form: args.form.load(&args.file, context)?,
        settings: args.settings(),
        messages: args.messages(context),
    };
    if args.lines {
        checker.check_lines(answer, context, out)
    } else {
        checker.check_one(answer, context, out)
    }
}

impl Args {
    fn settings(&self) -> CheckSettings {
        let mut settings = CheckSettings {
            unknown: match self.unknown {
                UnknownArg::Error => Unknown::Error,
                UnknownArg::Ignore => Unknown::Ignore,
            },
            ..CheckSettings::default()
        };
        let kind = |reference: &ReferenceArg| match reference {
            ReferenceArg::Url => ReferenceKind::Url,
            ReferenceArg::S3 => ReferenceKind::S3,
            ReferenceArg::Local => ReferenceKind::Local,
        };
        settings.references = self.references.iter().map(kind).collect();
        settings
    }

    fn messages(&self, context: &Context) -> Messages {
        let wanted = match self.languages.as_slice() {
            [] => context.languages(),
            named => named,
        };
        Catalogue::default().messages(wanted.iter().map(String::as_str))
    }
}

struct Checker {
    form: Form,
    settings: CheckSettings,
    messages: Messages,
}

#[derive(Serialize)]
struct Passed<'s, 'a> {
    valid: bool,
    values: AnswersView<'s, 'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<&'s str>,
}

#[derive(Serialize)]
struct Failed {
    valid: bool,
    errors: Vec<FieldError>,
}

/// A line that could not be checked at all.
#[derive(Serialize)]
struct UnreadableLine {
    valid: bool,
    error: String,
}

impl Checker {
    fn check_one(
        &self,
        answer: &Source,
        context: &mut Context,
        out: &mut dyn Write,
    ) -> anyhow::Result<Exit> {
        let text = answer.read(MAX_ANSWER_BYTES, context)?;
        match answer.notation() {
            Some(notation @ (Notation::Yaml | Notation::Toml)) => {
                let tree = document::read(&text, notation)
                    .map_err(|problems| InvalidDocument::new("an answer", answer, &problems))?;
                match self.form.check_with(&tree, &self.settings) {
                    Ok(answers) => pass(&answers, out),
                    Err(violations) => self.fail(&violations, out),
                }
            }
            Some(Notation::Json) | None => match self.form.check_text_with(&text, &self.settings) {
                Ok(answers) => pass(&answers, out),
                Err(CheckError::Invalid(violations)) => self.fail(&violations, out),
                Err(error) => Err(anyhow::Error::new(error).context(answer.to_string())),
            },
        }
    }

    fn check_lines(
        &self,
        answers: &Source,
        context: &mut Context,
        out: &mut dyn Write,
    ) -> anyhow::Result<Exit> {
        let mut lines = answers.lines(MAX_ANSWER_BYTES, context)?;
        let mut exit = Exit::Success;
        loop {
            let number = lines.number() + 1;
            let line = lines
                .next(out)
                .with_context(|| format!("cannot read {answers}"))?;
            let verdict = match line {
                None => return Ok(exit),
                Some(Ok(text)) if text.trim_ascii().is_empty() => continue,
                Some(Ok(text)) => match self.form.check_text_with(text, &self.settings) {
                    Ok(answers) => pass(&answers, out)?,
                    Err(CheckError::Invalid(violations)) => self.fail(&violations, out)?,
                    Err(CheckError::Unreadable(error)) => {
                        unreadable(&input::at_line(number, &error), out)?
                    }
                    Err(error) => unreadable(&format!("line {number}: {error}"), out)?,
                },
                Some(Err(bad)) => unreadable(&format!("line {number}: {bad}"), out)?,
            };
            exit = exit.max(verdict);
        }
    }

    fn fail(&self, violations: &Violations, out: &mut dyn Write) -> anyhow::Result<Exit> {
        let failed = Failed {
            valid: false,
            errors: violations.errors(&self.messages),
        };
        output::line(out, &failed)?;
        Ok(Exit::Findings)
    }
}

fn pass(answers: &Answers<'_>, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let passed = Passed {
        valid: true,
        values: answers.reveal(),
        missing: answers.missing().map(entreat_core::Field::id).collect(),
    };
    output::line(out, &passed)?;
    Ok(Exit::Success)
}

fn unreadable(error: &str, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let unreadable = UnreadableLine {
        valid: false,
        error: error.to_owned(),
    };
    output::line(out, &unreadable)?;
    Ok(Exit::Findings)
}

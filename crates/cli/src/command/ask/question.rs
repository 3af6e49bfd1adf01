//! A single question from the command line: a line of text, yes or no, or one of several choices.

use anyhow::{anyhow, bail, ensure};
use entreat::{Ask, Form, Problems};
use serde_json::{Map, Value, json};

use super::Args;
use crate::input::Source;
use crate::output;

/// The id of the only field, unless it is a line of text.
pub(super) const ANSWER: &str = "answer";
/// The field id of a line of text.
pub(super) const LINE: &str = "value";

/// The maximum length of titles and labels.
const MAX_LABEL: usize = 256;

/// A question and how it is answered.
pub(super) enum Question {
    /// With a line of text, which is the result.
    Line {
        prompt: String,
        sensitive: bool,
        default: Option<String>,
    },
    /// With yes or no.
    Confirmation(Form),
    /// With one of several choices.
    Choice(Form),
}

impl Question {
    /// Reads the question in the arguments; `None` if they name a form.
    pub(super) fn read(args: &Args) -> anyhow::Result<Option<Self>> {
        let default = args.defaults.first().map(String::as_str);
        let question = match (&args.confirm, args.text()) {
            (Some(prompt), _) => Self::confirmation(prompt, default)?,
            (None, Some(prompt)) if !args.choices.is_empty() => {
                Self::choice(prompt, &args.choices, default)?
            }
            (None, Some(prompt)) => {
                ensure!(
                    !args.sensitive || default.is_none(),
                    "a secret has no --default: other users of this machine can see flags"
                );
                Self::Line {
                    prompt: prompt.to_owned(),
                    sensitive: args.sensitive,
                    default: default.map(str::to_owned),
                }
            }
            (None, None) => {
                ensure!(
                    args.choices.is_empty(),
                    "--choose needs a question: entreat ask --choose a,b,c \"Which one?\""
                );
                ensure!(
                    !args.sensitive,
                    "--sensitive needs a question: entreat ask --sensitive \"Token?\""
                );
                return Ok(None);
            }
        };
        ensure!(
            args.defaults.len() <= 1,
            "a single question has one --default"
        );
        ensure!(
            !args.sensitive || matches!(question, Self::Line { .. }),
            "--sensitive is for a question that is answered with text"
        );
        Ok(Some(question))
    }

    fn confirmation(prompt: &str, default: Option<&str>) -> anyhow::Result<Self> {
        let default = match default.map(str::to_ascii_lowercase).as_deref() {
            None => None,
            Some("yes" | "y" | "true") => Some(Value::Bool(true)),
            Some("no" | "n" | "false") => Some(Value::Bool(false)),
            Some(_) => bail!("--default must be yes or no"),
        };
        form(prompt, json!({"type": "boolean"}), default)
            .map(Self::Confirmation)
            .map_err(|problems| refused("--confirm", &problems))
    }

    fn choice(prompt: &str, choices: &[String], default: Option<&str>) -> anyhow::Result<Self> {
        if let Some(default) = default {
            ensure!(
                choices.iter().any(|choice| choice == default),
                "--default must be one of the choices: {}",
                output::sanitize(&choices.join(", "))
            );
        }
        let field = json!({"type": "select", "options": choices});
        form(prompt, field, default.map(Value::from))
            .map(Self::Choice)
            .map_err(|problems| refused("--choose", &problems))
    }

    /// Creates the request for the engine.
    pub(super) fn ask(&self, on_page: bool) -> anyhow::Result<Ask> {
        let empty = |_| anyhow!("the question is empty");
        match self {
            Self::Line {
                prompt,
                sensitive: true,
                ..
            } => Ask::secret(prompt).map_err(empty),
            Self::Line { prompt, .. } => Ask::inline(prompt).map_err(empty),
            Self::Confirmation(form) | Self::Choice(form) if on_page => Ok(Ask::form(form.clone())),
            Self::Confirmation(form) | Self::Choice(form) => Ok(Ask::terminal(form.clone())),
        }
    }

    /// Returns the answers that the person starts with.
    pub(super) fn draft(&self) -> Map<String, Value> {
        let mut draft = Map::new();
        if let Self::Line {
            default: Some(default),
            ..
        } = self
        {
            draft.insert(LINE.to_owned(), default.as_str().into());
        }
        draft
    }

    /// Returns the form, unless the answer is a line of text.
    pub(super) fn form(&self) -> Option<&Form> {
        match self {
            Self::Line { .. } => None,
            Self::Confirmation(form) | Self::Choice(form) => Some(form),
        }
    }
}

impl Args {
    /// Returns the text of a question that is answered with text or a choice.
    ///
    /// A word that is no file and has no form's ending is a question too: a form that is missing
    /// should be reported as such.
    fn text(&self) -> Option<&str> {
        if self.prompt.is_some() {
            return self.prompt.as_deref();
        }
        let Some(Source::File(path)) = &self.form else {
            return None;
        };
        let source = self.form.as_ref()?;
        let is_form = source.notation().is_some() || self.notation.is_given() || path.exists();
        let text = path.to_str()?;
        (!is_form || !self.choices.is_empty()).then_some(text)
    }
}

/// A form with one required field, whose label is the question.
fn form(prompt: &str, mut field: Value, default: Option<Value>) -> Result<Form, Problems> {
    let mut label = prompt.to_owned();
    if prompt.chars().count() > MAX_LABEL {
        label = prompt.chars().take(MAX_LABEL - 1).collect();
        label.push('…');
        field["description"] = prompt.into();
    }
    field["id"] = ANSWER.into();
    field["label"] = label.as_str().into();
    field["required"] = true.into();
    if let Some(default) = default {
        field["default"] = default;
    }
    Form::from_value(&json!({"id": "question", "title": label, "fields": [field]}))
}

fn refused(flag: &str, problems: &Problems) -> anyhow::Error {
    let problems: Vec<String> = problems.iter().map(|p| p.message.clone()).collect();
    anyhow!(
        "{flag} is not possible: {}",
        output::sanitize(&problems.join(" "))
    )
}

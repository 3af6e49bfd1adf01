//! The subject of a question: a form from a file or a folder, a script, or a single question.

use anyhow::{Context as _, anyhow, bail, ensure};
use entreat::core::{Field, Kind, Script, closest};
use entreat::service::TemplateFolder;
use entreat::service::rpc::Templates;
use entreat::terminal::TerminalQuestion;
use entreat::{Ask, Form, Messages};
use serde_json::Value;

use super::Args;
use super::question::Question;
use crate::command::form::InvalidDocument;
use crate::context::Context;
use crate::{output, runtime};

/// The subject of a question.
pub(super) enum Subject {
    Form(Form),
    Script(Script),
    Question(Question),
}

impl Subject {
    pub(super) fn read(args: &Args, context: &mut Context) -> anyhow::Result<Self> {
        if let Some(question) = Question::read(args)? {
            return Ok(Self::Question(question));
        }
        if let Some(source) = &args.script {
            let script = args.notation.read(source, context)?;
            let script = script.and_then(|definition| Script::from_value(&definition));
            let script = script
                .map_err(|problems| InvalidDocument::new("a valid script", source, &problems));
            return Ok(Self::Script(script?));
        }
        let form = match (&args.template, &args.form) {
            (Some(name), _) => template(name, args, context)?,
            (None, Some(source)) => args.notation.load_form(source, context)?,
            (None, None) => bail!("specify a question, a form, --template or --script"),
        };
        with_defaults(&form, &args.defaults).map(Self::Form)
    }

    /// Creates the request for the engine. Fails if a question is empty.
    pub(super) fn ask(&self, on_page: bool) -> anyhow::Result<Ask> {
        Ok(match self {
            Self::Form(form) if on_page => Ask::form(form.clone()),
            Self::Form(form) => Ask::terminal(form.clone()),
            Self::Script(script) => Ask::script(script),
            Self::Question(question) => question.ask(on_page)?,
        })
    }

    /// Creates the question for the terminal; `form` is the engine's.
    pub(super) fn question(&self, form: Form, messages: Messages) -> TerminalQuestion {
        match self {
            Self::Script(script) => TerminalQuestion::of_script(script, messages),
            Self::Form(_) => TerminalQuestion::new(form, messages),
            Self::Question(question) => {
                TerminalQuestion::new(form, messages).draft(question.draft())
            }
        }
    }

    /// Returns the form whose answers are printed.
    pub(super) fn form(&self) -> Option<&Form> {
        match self {
            Self::Form(form) => Some(form),
            Self::Script(script) => Some(script.form()),
            Self::Question(question) => question.form(),
        }
    }
}

/// Loads a form by name from the folder of forms.
fn template(name: &str, args: &Args, context: &Context) -> anyhow::Result<Form> {
    let from_environment = || context.environment().variable("ENTREAT_FORMS");
    let folder = args.forms.as_deref().map(std::path::Path::as_os_str);
    let folder = folder.or_else(from_environment);
    let folder = folder.context("--template needs a folder of forms: set it with --forms")?;
    let templates = Templates::default();
    runtime::block_on(async {
        let watch = TemplateFolder::watch(folder, templates.clone()).await?;
        watch.close().await;
        Ok(())
    })?;
    let Some(template) = templates.get(name) else {
        let names = templates.names();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let suggestion = closest(name, &names).map(|name| format!("; did you mean `{name}`?"));
        bail!(
            "there is no form `{}` in {}{}",
            output::sanitize(name),
            output::sanitize_path(folder),
            output::sanitize(&suggestion.unwrap_or_default())
        );
    };
    if let Some(problems) = template.problems {
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let problems = problems.join("; ");
        bail!(
            "the form `{name}` is not valid: {}",
            output::sanitize(&problems)
        );
    }
    template
        .form
        .with_context(|| format!("the form `{name}` is not valid"))
}

/// Replaces defaults in a form, which checks them itself.
fn with_defaults(form: &Form, defaults: &[String]) -> anyhow::Result<Form> {
    if defaults.is_empty() {
        return Ok(form.clone());
    }
    let mut definition = form.definition().clone();
    for given in defaults {
        let (id, text) = given.split_once('=').with_context(|| {
            format!(
                "--default must be ID=VALUE, not {}",
                output::sanitize(given)
            )
        })?;
        let ids: Vec<&str> = form.fields().iter().map(Field::id).collect();
        let Some(index) = ids.iter().position(|other| *other == id) else {
            let suggestion = closest(id, &ids).map(|id| format!("; did you mean `{id}`?"));
            bail!(
                "--default: the form has no field `{}`{}",
                output::sanitize(id),
                suggestion.unwrap_or_default()
            );
        };
        let field = &form.fields()[index];
        ensure!(
            !matches!(field.kind(), Kind::File(_)),
            "--default: `{id}` is a file field, which has no default"
        );
        definition["fields"][index]["default"] = value(field, text);
    }
    Form::from_value(&definition).map_err(|problems| {
        let problems: Vec<String> = problems.iter().map(|p| p.message.clone()).collect();
        anyhow!(
            "--default is invalid: {}",
            output::sanitize(&problems.join("; "))
        )
    })
}

/// Parses a text as a value of the field's type; invalid text is left for the form to reject.
fn value(field: &Field, text: &str) -> Value {
    match field.kind() {
        Kind::Number(_) | Kind::Boolean => {
            serde_json::from_str(text).unwrap_or_else(|_| text.into())
        }
        Kind::MultiSelect(_) => match serde_json::from_str(text) {
            Ok(list @ Value::Array(_)) => list,
            _ => text.split(',').map(str::trim).map(Value::from).collect(),
        },
        Kind::Text(_) | Kind::Date(_) | Kind::Select(_) | Kind::Url(_) | Kind::File(_) => {
            text.into()
        }
    }
}

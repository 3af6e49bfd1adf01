//! Methods about forms: templates and validation.

use entreat_core::document::{self, Notation};
use entreat_core::{Form, Problems, closest};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::Rpc;
use super::answer::{Work, to_text};
use super::error::RpcError;
use super::method::Call;
use super::params::Param;
use super::shape::Shape;
use super::templates::Template;

pub(super) const LIST: &[Param] = &[];

pub(super) fn list(call: &Call<'_>) -> Result<Work, RpcError> {
    call.session.asker().charge()?;
    let all = call.rpc.templates.all();
    let templates: Vec<Value> = all
        .iter()
        .map(|(name, template)| summary(name, template))
        .collect();
    Ok(Work::done(to_text(&json!({"templates": templates}))))
}

fn summary(name: &str, template: &Template) -> Value {
    let mut summary = json!({"template": name});
    if let Some(form) = &template.form {
        summary["id"] = form.id().into();
        summary["title"] = form.title().into();
        if let Some(description) = form.description() {
            summary["description"] = description.into();
        }
    }
    if let Some(problems) = &template.problems {
        summary["problems"] = json!(problems);
    }
    summary
}

pub(super) const GET: &[Param] = &[Param::required(
    "template",
    Shape::Text(256),
    "The name of a template.",
)];

pub(super) fn get(call: &Call<'_>) -> Result<Work, RpcError> {
    let name = call.params.text("template").unwrap_or_default();
    let form = valid_template(call.rpc, &name)?;
    call.session.asker().charge()?;
    Ok(Work::done(to_text(form.definition())))
}

pub(super) const VALIDATE: &[Param] = &[Param::required(
    "formDefinition",
    Shape::Any,
    "The definition to validate.",
)];

pub(super) fn validate(call: &Call<'_>) -> Result<Work, RpcError> {
    call.session.asker().charge()?;
    let Some(raw) = call.params.raw("formDefinition") else {
        return Err(RpcError::params(
            "missing_param",
            "`formDefinition` is required.",
        ));
    };
    Ok(Work::done(to_text(&match load(call.rpc, raw) {
        Ok(_) => json!({"valid": true, "problems": []}),
        Err(problems) => json!({"valid": false, "problems": problems}),
    })))
}

/// Larger definitions are compiled each time, to bound the memory of the cache.
const MAX_CACHED_BYTES: usize = 16 * 1024;

/// Compiles a definition, or finds it in the cache.
pub(super) fn load(rpc: &Rpc, definition: &RawValue) -> Result<Form, Problems> {
    let text = definition.get();
    if text.len() <= MAX_CACHED_BYTES {
        return rpc.forms.load_with(text, Notation::Json, &rpc.validators);
    }
    Form::with_validators(&document::read(text, Notation::Json)?, &rpc.validators)
}

/// Returns the last valid form of a template.
pub(super) fn valid_template(rpc: &Rpc, name: &str) -> Result<Form, RpcError> {
    match rpc.templates.get(name) {
        Some(Template {
            form: Some(form), ..
        }) => Ok(form),
        Some(Template {
            problems: Some(problems),
            ..
        }) => Err(RpcError::problems("template", &problems)),
        Some(_) | None => {
            let all = rpc.templates.all();
            let names: Vec<&str> = all.keys().map(|name| &**name).collect();
            Err(RpcError::unknown_template(name, closest(name, &names)))
        }
    }
}

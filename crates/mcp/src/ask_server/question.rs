//! What a call of `ask_user` asks.

use std::time::Duration;

use entreat_core::schema::import_as;
use entreat_core::{Form, Problems, Timeout, closest};
use serde_json::{Value, json};

use super::arguments::{Arguments, Refusal, list};
use crate::malformed::shortened;
use crate::workspace::SecretTarget;

/// The id of the only field of a single question.
pub(super) const ANSWER: &str = "answer";

/// The arguments of which a call may give one.
const KINDS: &[&str] = &[
    "choices",
    "confirm",
    "form",
    "schema",
    "template",
    "secret_to",
];

/// The maximum length of titles and labels.
const MAX_NAME: usize = 256;

/// What is asked, and how.
pub(super) struct Question {
    pub(super) kind: QuestionKind,
    /// The question in one sentence.
    pub(super) text: Option<String>,
    pub(super) context: Option<String>,
    pub(super) timeout: Timeout,
    pub(super) wait: bool,
}

pub(super) enum QuestionKind {
    /// A form that the call describes.
    Form(Form),
    /// The name of a template.
    Template(String),
    /// A secret, and where it is saved.
    Secret(SecretTarget),
}

impl Question {
    /// Reads the arguments of a call.
    pub(super) fn read(arguments: &Arguments, seconds: (u64, u64)) -> Result<Self, Refusal> {
        let question = arguments.text("question")?;
        let kind = kind_of(arguments, question)?;
        let initial = arguments.count("timeout_seconds", seconds)?;
        let timeout = initial.map(|seconds| Timeout::of(Duration::from_secs(seconds)));
        Ok(Self {
            kind,
            text: question.map(str::to_owned),
            context: arguments.text("context")?.map(str::to_owned),
            timeout: timeout.unwrap_or_default(),
            wait: arguments.flag("wait").unwrap_or(true),
        })
    }

    /// The message that goes with a form: all that the person should read before answering.
    ///
    /// Clients show nothing else; pages and terminals leave out what they show themselves.
    pub(super) fn message(&self, form: &Form) -> String {
        let question = self.text.as_deref().unwrap_or(form.title());
        // The start of a long question is the title.
        let is_start = |title: &str| question.starts_with(title.trim_end_matches('…'));
        let title = Some(form.title()).filter(|title| !is_start(title) && *title != UNTITLED);
        let parts = [
            Some(question),
            self.context.as_deref(),
            title,
            form.description(),
        ];
        let parts: Vec<&str> = parts.into_iter().flatten().collect();
        parts.join("\n\n")
    }
}

/// The maximum number of characters of a message, which is that of the control API.
const MAX_MESSAGE: usize = 16 * 1024;

/// Refuses a message that another service would refuse, in the words of the tool.
pub(super) fn refuse_too_long(message: &str) -> Result<(), Refusal> {
    let length = message.chars().count();
    if length <= MAX_MESSAGE {
        return Ok(());
    }
    Err(format!(
        "`question` and `context`, with the title and description of a form, may have {MAX_MESSAGE} \
         characters together; these have {length}. Shorten `context`."
    ))
}

/// The title of a schema without one.
const UNTITLED: &str = "Question";

fn kind_of(arguments: &Arguments, question: Option<&str>) -> Result<QuestionKind, Refusal> {
    let is_given = |name: &&&str| {
        let value = arguments.get(name);
        value.is_some_and(|value| **name != "confirm" || *value == Value::Bool(true))
    };
    let given: Vec<&str> = KINDS.iter().filter(is_given).copied().collect();
    if given.len() > 1 {
        return Err(format!(
            "{} exclude each other: give one of them.",
            list(&given)
        ));
    }
    let kind = given.first().copied();
    refuse_misplaced(arguments, kind)?;
    let question = match (kind, question) {
        (Some("form" | "schema" | "template"), _) => question.unwrap_or(UNTITLED),
        (_, Some(question)) => question,
        (_, None) => {
            let message = "`question` is required: what do you want to ask your user?";
            return Err(message.to_owned());
        }
    };
    let default = arguments.get("default").map(as_text);
    let default = default.as_ref();
    let field = match kind {
        Some("form") => return form_in(arguments).map(QuestionKind::Form),
        Some("schema") => return schema_in(arguments, question).map(QuestionKind::Form),
        Some("template") => {
            let name = arguments.text("template")?.unwrap_or_default();
            return Ok(QuestionKind::Template(name.to_owned()));
        }
        Some("secret_to") => return secret_in(arguments).map(QuestionKind::Secret),
        Some("choices") => {
            let field = choice_field(arguments)?;
            if let Some(default) = default {
                refuse_no_choice(&field, default)?;
            }
            field
        }
        Some("confirm") => json!({"type": "boolean"}),
        _ => json!({"type": "text"}),
    };
    single(question, field, default).map(QuestionKind::Form)
}

/// Refuses arguments that mean nothing for this kind of question.
fn refuse_misplaced(arguments: &Arguments, kind: Option<&str>) -> Result<(), Refusal> {
    if arguments.flag("multiple") == Some(true) && kind != Some("choices") {
        return Err("`multiple` needs `choices`.".to_owned());
    }
    if arguments.get("default").is_some() && !matches!(kind, None | Some("choices")) {
        return Err(match kind {
            Some("form" | "schema" | "template") => {
                "`default` is for a single question; a form's fields have their own `default`."
            }
            Some("confirm") => {
                "`confirm` has no `default`: a confirmation must not be given by accident."
            }
            _ => "a secret has no `default`.",
        }
        .to_owned());
    }
    Ok(())
}

/// A form with one field. The question is its title, and the label of a field without one, which
/// pages then show once.
pub(super) fn single(
    question: &str,
    mut field: Value,
    default: Option<&Value>,
) -> Result<Form, Refusal> {
    field["id"] = ANSWER.into();
    field["required"] = true.into();
    if let Some(default) = default {
        field["default"] = default.clone();
    }
    let title = title_of(question);
    if field.get("label").is_none() {
        field["label"] = title.as_str().into();
    }
    let form = Form::from_value(&json!({"id": "question", "title": title, "fields": [field]}));
    form.map_err(|problems| {
        let told: Vec<String> = problems
            .iter()
            .map(|problem| problem.message.clone())
            .collect();
        format!("This question cannot be asked. {}", told.join(" "))
    })
}

/// The first line of a question, as long as a title may be.
fn title_of(question: &str) -> String {
    let line = question.trim().lines().next().unwrap_or_default();
    if line.chars().count() <= MAX_NAME {
        return line.to_owned();
    }
    let start: String = line.chars().take(MAX_NAME - 1).collect();
    format!("{start}…")
}

fn choice_field(arguments: &Arguments) -> Result<Value, Refusal> {
    let choices = arguments.get("choices").and_then(Value::as_array);
    let choices = choices.map_or(&[][..], Vec::as_slice);
    if choices.is_empty() {
        return Err("`choices` needs at least one choice.".to_owned());
    }
    let has_titles = choices.iter().any(|choice| choice.get("title").is_some());
    let mut descriptions = Vec::new();
    let mut options = Vec::with_capacity(choices.len());
    for (place, choice) in choices.iter().enumerate() {
        let (value, title, description) =
            read_choice(choice).map_err(|problem| format!("`choices[{place}]` {problem}"))?;
        let title = title.unwrap_or(&value);
        if let Some(description) = description {
            descriptions.push(format!("- {title}: {description}"));
        }
        options.push(if has_titles {
            json!({"value": value, "title": title})
        } else {
            json!(value)
        });
    }
    let is_multiple = arguments.flag("multiple") == Some(true);
    let kind = if is_multiple {
        "multi_select"
    } else {
        "select"
    };
    let mut field = json!({"type": kind, "options": options});
    if !descriptions.is_empty() {
        field["description"] = descriptions.join("\n").into();
    }
    Ok(field)
}

/// How many choices an error lists.
const SHOWN: usize = 10;

/// A default as text, or a list of texts: as with choices, models write versions and counts as
/// numbers.
fn as_text(default: &Value) -> Value {
    match default {
        Value::Number(number) => number.to_string().into(),
        Value::Array(items) => items.iter().map(as_text).collect(),
        other => other.clone(),
    }
}

/// Refuses a default that is not one of the choices.
fn refuse_no_choice(field: &Value, default: &Value) -> Result<(), Refusal> {
    let options = field["options"].as_array().into_iter().flatten();
    let values: Vec<&str> = options
        .filter_map(|option| option.get("value").unwrap_or(option).as_str())
        .collect();
    let is_choice = |value: &Value| value.as_str().is_some_and(|text| values.contains(&text));
    let (is_valid, wanted) = if field["type"] == "multi_select" {
        let chosen = default.as_array();
        (
            chosen.is_some_and(|chosen| chosen.iter().all(is_choice)),
            "a list of values of `choices`",
        )
    } else {
        (is_choice(default), "the value of one of the `choices`")
    };
    if is_valid {
        return Ok(());
    }
    let mut shown: Vec<String> = values.iter().take(SHOWN).map(|v| shortened(v)).collect();
    if values.len() > SHOWN {
        shown.push("…".to_owned());
    }
    Err(format!("`default` must be {wanted}: {}.", shown.join(", ")))
}

/// The value, title and description of a choice.
fn read_choice(choice: &Value) -> Result<(String, Option<&str>, Option<&str>), Refusal> {
    match choice {
        Value::String(text) => Ok((text.clone(), None, None)),
        // Models write versions and counts as numbers.
        Value::Number(number) => Ok((number.to_string(), None, None)),
        Value::Object(members) => {
            const KEYS: &[&str] = &["value", "title", "description"];
            if let Some(unknown) = members.keys().find(|key| !KEYS.contains(&key.as_str())) {
                let meant = match unknown.as_str() {
                    "id" | "key" | "const" => Some("value"),
                    "label" | "name" | "text" => Some("title"),
                    "detail" | "details" | "hint" => Some("description"),
                    other => closest(other, KEYS),
                };
                let meant = meant.map(|meant| format!("; did you mean `{meant}`?"));
                return Err(format!(
                    "has the key `{}`{} A choice has {}.",
                    shortened(unknown),
                    meant.as_deref().unwrap_or("."),
                    list(KEYS)
                ));
            }
            let text = |key: &str| members.get(key).and_then(Value::as_str);
            let value = match members.get("value") {
                Some(Value::Number(number)) => Some(number.to_string()),
                _ => text("value").or(text("title")).map(str::to_owned),
            };
            let value = value.ok_or("needs a `value`, which is a string.")?;
            Ok((value, text("title"), text("description")))
        }
        _ => Err("must be a string, or an object with a `value`.".to_owned()),
    }
}

fn form_in(arguments: &Arguments) -> Result<Form, Refusal> {
    let mut definition = arguments.get("form").cloned().unwrap_or_default();
    if let Some(members) = definition.as_object_mut() {
        // Nobody sees these; a model should not have to think of them.
        members.entry("id").or_insert_with(|| "form".into());
        members
            .entry("title")
            .or_insert_with(|| match arguments.get("question") {
                Some(Value::String(question)) => title_of(question).into(),
                _ => UNTITLED.into(),
            });
    }
    Form::from_value(&definition).map_err(|problems| form_refusal("form", &problems))
}

fn schema_in(arguments: &Arguments, question: &str) -> Result<Form, Refusal> {
    let schema = arguments.get("schema").cloned().unwrap_or_default();
    let properties = schema["properties"].as_object();
    let Some(properties) = properties.filter(|properties| !properties.is_empty()) else {
        let message = "`schema` needs `properties` with at least one property, as in {\"type\": \
            \"object\", \"properties\": {\"name\": {\"type\": \"string\"}}}.";
        return Err(message.to_owned());
    };
    if let Some((name, _)) = properties.iter().find(|(_, property)| is_nested(property)) {
        return Err(format!(
            "`schema` must be flat, so that clients can show it, but `{}` contains other values. \
             Give each value a property of its own.",
            shortened(name)
        ));
    }
    let import = import_as(&schema, "schema", &title_of(question));
    let import = import.map_err(|problems| form_refusal("schema", &problems))?;
    Ok(import.form)
}

/// Whether a property is an object, a list of anything but choices, or defined elsewhere.
fn is_nested(property: &Value) -> bool {
    let has = |schema: &Value, keys: &[&str]| keys.iter().any(|key| schema.get(key).is_some());
    match property["type"].as_str() {
        Some("array") => !has(&property["items"], &["enum", "oneOf", "anyOf"]),
        Some("object") => true,
        _ => has(property, &["properties", "$ref"]),
    }
}

fn form_refusal(name: &str, problems: &Problems) -> Refusal {
    format!("`{name}` has problems. Correct them and call again:\n{problems}")
}

fn secret_in(arguments: &Arguments) -> Result<SecretTarget, Refusal> {
    const KEYS: &[&str] = &["file", "name"];
    let example = "`secret_to` must be like {\"file\": \".env\", \"name\": \"API_KEY\"}";
    let members = arguments.get("secret_to").and_then(Value::as_object);
    let members = members.ok_or_else(|| format!("{example}."))?;
    if let Some(unknown) = members.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(format!("{example}; it has no `{}`.", shortened(unknown)));
    }
    let text = |key: &str| {
        let text = members.get(key).and_then(Value::as_str);
        text.ok_or_else(|| format!("{example}; `{key}` is missing."))
    };
    SecretTarget::new(text("file")?, text("name")?)
        .map_err(|error| format!("`secret_to`: {error}."))
}

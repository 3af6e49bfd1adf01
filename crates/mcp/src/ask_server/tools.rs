//! The definitions of the tools, as a model reads them.

use std::borrow::Cow;
use std::sync::Arc;

use entreat_core::Kind;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::arguments::list;

pub(super) const ASK_USER: &str = "ask_user";
pub(super) const ASK_STATUS: &str = "ask_status";
pub(super) const ASK_CANCEL: &str = "ask_cancel";

/// How long `ask_status` may wait: below the usual timeout of clients, a minute.
pub(super) const MAX_STATUS_WAIT: u64 = 50;

/// What the tools offer on this server.
pub(super) struct Offer {
    /// The names of the templates.
    pub(super) templates: Vec<String>,
    /// The minimum and maximum of `timeout_seconds`.
    pub(super) timeout_seconds: (u64, u64),
    /// Whether secrets can be saved to files.
    pub(super) saves_secrets: bool,
}

impl Offer {
    /// The tool of this name.
    pub(super) fn tool(&self, name: &str) -> Option<Tool> {
        match name {
            ASK_USER => Some(self.ask_user()),
            ASK_STATUS => Some(ask_status()),
            ASK_CANCEL => Some(ask_cancel()),
            _ => None,
        }
    }

    /// All tools.
    pub(super) fn tools(&self) -> Vec<Tool> {
        vec![self.ask_user(), ask_status(), ask_cancel()]
    }

    fn ask_user(&self) -> Tool {
        let mut kinds = vec!["choices", "confirm", "form", "schema"];
        kinds.extend((!self.templates.is_empty()).then_some("template"));
        kinds.extend(self.saves_secrets.then_some("secret_to"));
        let instead = if self.saves_secrets {
            "; use `secret_to`"
        } else {
            ""
        };
        let about = format!(
            "Asks your user a question and waits for the answer. Use it when you need something \
             that only your user knows or may decide. Give `question`, and at most one of {}; with \
             none of them, the user answers with text. The result has a `status`: `completed` \
             (with `answers`), `declined`, `cancelled` or `timeout`. Do not ask for passwords or \
             API keys with a text question: you would receive nothing usable from a sensitive \
             field, and a secret in plain text ends up in the conversation{instead}.",
            list(&kinds)
        );
        let mut properties = json!({
            "question": {
                "type": "string",
                "description": "The question, such as \"Which region should I deploy to?\". The \
                    answer is in `answers.answer`.",
            },
            "context": {
                "type": "string",
                "description": "What the user should know to answer: why you ask, and what \
                    depends on it. Markdown.",
            },
            "choices": {
                "type": "array",
                "description": "The answers to choose from: texts, or objects with a `value`, \
                    which you receive, a `title`, which the user sees, and a `description`.",
                "items": {"anyOf": [{"type": "string"}, choice_schema()]},
                "minItems": 1,
            },
            "multiple": {
                "type": "boolean",
                "description": "With `choices`: whether the user may choose several. The answer \
                    is then a list.",
            },
            "confirm": {
                "type": "boolean",
                "description": "`true` asks for yes or no. The answer is `true` or `false`; a \
                    user who declines has said neither.",
            },
            "default": {
                "description": "With a text question or `choices`: the answer that is filled in.",
            },
            "form": form_schema(),
            "schema": {
                "type": "object",
                "description": "Several questions at once, as a flat JSON Schema: `{\"type\": \
                    \"object\", \"properties\": {…}, \"required\": […]}`.",
            },
            "template": {
                "type": "string",
                "description": "The name of a form that this server offers.",
                "enum": self.templates,
            },
            "secret_to": secret_schema(),
            "timeout_seconds": {
                "type": "integer",
                "description": "How long the user has to answer: by default five minutes, and a \
                    day with `wait: false`.",
                "minimum": self.timeout_seconds.0,
                "maximum": self.timeout_seconds.1,
            },
            "wait": {
                "type": "boolean",
                "description": "`false` returns at once with the link of a page to show to the \
                    user; `ask_status` gets the answer later. Use it when an answer may take \
                    longer than you can wait.",
                "default": true,
            },
        });
        if let Some(properties) = properties.as_object_mut() {
            if self.templates.is_empty() {
                properties.remove("template");
            }
            if !self.saves_secrets {
                properties.remove("secret_to");
            }
        }
        tool(ASK_USER, about, &properties, &[])
    }
}

fn ask_status() -> Tool {
    let about = "Returns the status of a question asked with `wait: false`: `pending` (not opened \
        yet), `active` (opened), `completed` (with `answers`), `declined`, `cancelled` or \
        `timeout`.";
    let properties = json!({
        "question": question_id(),
        "wait_seconds": {
            "type": "integer",
            "description": "How long to wait for the answer.",
            "minimum": 0,
            "maximum": MAX_STATUS_WAIT,
            "default": 0,
        },
    });
    let tool = tool(ASK_STATUS, about, &properties, &["question"]);
    tool.with_annotations(ToolAnnotations::new().read_only(true))
}

fn ask_cancel() -> Tool {
    let about = "Withdraws a question asked with `wait: false`, and returns its status.";
    tool(
        ASK_CANCEL,
        about,
        &json!({"question": question_id()}),
        &["question"],
    )
}

fn question_id() -> Value {
    json!({"type": "string", "description": "The id of the question, from the result of `ask_user`."})
}

fn tool(
    name: &'static str,
    about: impl Into<Cow<'static, str>>,
    properties: &Value,
    required: &[&str],
) -> Tool {
    let schema = json!({"type": "object", "properties": properties, "required": required});
    Tool::new(name, about, Arc::new(object(schema)))
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(members) => members,
        _ => JsonObject::new(),
    }
}

fn choice_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "value": {"type": "string"},
            "title": {"type": "string"},
            "description": {"type": "string"},
        },
        "required": ["value"],
    })
}

fn secret_schema() -> Value {
    json!({
        "type": "object",
        "description": "Asks for a secret and saves it to a dotenv file below the working \
            folder, without showing it to you: `{\"file\": \".env\", \"name\": \"API_KEY\"}`. \
            Other lines of the file stay as they are.",
        "properties": {
            "file": {"type": "string", "description": "The path of the file, relative to the working folder."},
            "name": {"type": "string", "description": "The name of the variable."},
        },
        "required": ["file", "name"],
        "additionalProperties": false,
    })
}

/// The schema of a form definition: what a model needs of the form language.
fn form_schema() -> Value {
    let count = json!({"type": "integer", "minimum": 0});
    json!({
        "type": "object",
        "description": "Several questions at once. The answers are in `answers`, by field id.",
        "properties": {
            "title": {"type": "string"},
            "description": {"type": "string"},
            "fields": {"type": "array", "minItems": 1, "maxItems": 100, "items": {
                "type": "object",
                "properties": {
                    "id": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"},
                    "type": {"type": "string", "enum": Kind::NAMES},
                    "label": {"type": "string"},
                    "description": {"type": "string"},
                    "required": {"type": "boolean", "default": false},
                    "default": {"description": "A value of the type; not for `file`."},
                    "sensitive": {"type": "boolean", "description": "A secret: you do not receive it."},
                    "options": {
                        "type": "array",
                        "description": "For `select` and `multi_select`.",
                        "items": {"anyOf": [{"type": "string"}, {
                            "type": "object",
                            "properties": {"value": {"type": "string"}, "title": {"type": "string"}},
                            "required": ["value", "title"],
                        }]},
                    },
                    "validation": {
                        "type": "object",
                        "description": "Rules of the type.",
                        "properties": {
                            "minLength": count, "maxLength": count,
                            "pattern": {"type": "string", "description": "For `text`: a regular expression."},
                            "format": {"type": "string", "description": "For `text`: email, uri, uuid, \
                                hostname, ipv4, ipv6, date, date-time or time; for `date`: date or date-time."},
                            "minimum": {"type": ["number", "string"], "description": "For `number` and `date`."},
                            "maximum": {"type": ["number", "string"]},
                            "multipleOf": {"type": "number", "description": "1 for whole numbers."},
                            "minItems": count, "maxItems": count,
                            "allowedSchemes": {"type": "array", "items": {"type": "string"},
                                "description": "For `url`; https only by default."},
                            "maxSize": {"type": "integer", "description": "For `file`: bytes."},
                            "allowedMimeTypes": {"type": "array", "items": {"type": "string"},
                                "description": "For `file`, such as `image/*`."},
                        },
                    },
                },
                "required": ["id", "type", "label"],
            }},
        },
        "required": ["title", "fields"],
        "examples": [example_form()],
    })
}

/// A form with a field of each type.
pub(super) fn example_form() -> Value {
    json!({
        "title": "New release",
        "fields": [
            {"id": "version", "type": "text", "label": "Version", "required": true,
                "validation": {"pattern": "^[0-9]+[.][0-9]+[.][0-9]+$"}},
            {"id": "replicas", "type": "number", "label": "Replicas", "default": 2,
                "validation": {"minimum": 1, "maximum": 10, "multipleOf": 1}},
            {"id": "notify", "type": "boolean", "label": "Notify the team"},
            {"id": "day", "type": "date", "label": "Day", "validation": {"minimum": "2026-01-01"}},
            {"id": "region", "type": "select", "label": "Region", "required": true,
                "options": [{"value": "eu", "title": "Europe"}, {"value": "us", "title": "United States"}]},
            {"id": "steps", "type": "multi_select", "label": "Steps", "options": ["build", "test", "deploy"]},
            {"id": "issue", "type": "url", "label": "Issue"},
            {"id": "logo", "type": "file", "label": "Logo",
                "validation": {"allowedMimeTypes": ["image/*"], "maxSize": 1_000_000}},
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_get_an_example_of_every_field_type() {
        let example = example_form();
        let fields = example["fields"].as_array().unwrap();
        let types: Vec<&str> = fields.iter().filter_map(|it| it["type"].as_str()).collect();
        assert_eq!(types, Kind::NAMES);
    }
}

//! The definitions of the tools, as a model reads them.

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::arguments::list;
use super::form_schema::form_schema;

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
    /// The default of `timeout_seconds`, and that of a question that nobody waits for.
    pub(super) default_seconds: (u64, u64),
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
        let timeout = format!(
            "How long the user has to answer: by default {}, and {} with `wait: false`.",
            self.default_seconds.0, self.default_seconds.1
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
                "description": "The answers to choose from: strings, or objects with a `value`, \
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
                "description": timeout,
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
            // In order: errors list the names too.
            properties.retain(|name, _| match name.as_str() {
                "template" => !self.templates.is_empty(),
                "secret_to" => self.saves_secrets,
                _ => true,
            });
        }
        tool(ASK_USER, about, &properties, &[])
    }
}

fn ask_status() -> Tool {
    let about = "Returns the status of a question asked with `wait: false`: `pending` (nobody has \
        begun to answer), `active` (someone is answering), `completed` (with `answers`), \
        `declined`, `cancelled` or `timeout`.";
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

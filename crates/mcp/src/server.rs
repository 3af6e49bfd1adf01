//! Entreat as an MCP server, for agents that need to ask their user.

use std::sync::Arc;
use std::time::Duration;

use entreat_core::{CancelReason, Form, Timeout};
use entreat_engine::Elicitation;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, Implementation, JsonObject, ListPromptsResult,
    ListToolsResult, PaginatedRequestParams, Prompt, PromptMessage, Role, ServerCapabilities,
    ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Map, Value, json};

use crate::ask::{Ask, Outcome};
use crate::error::AskError;
use crate::mcp::{Inner, Mcp};
use crate::wrap::Wrapped;

type Context = RequestContext<RoleServer>;

/// An MCP server with which an agent asks its user: the tools `ask_user`, `ask_status` and
/// `ask_cancel`, and each template as a prompt. Returned by [`Mcp::ask_server`].
///
/// Secrets are collected and stored, but never returned: results contain them sealed.
pub struct AskServer {
    inner: Arc<Inner>,
}

impl Mcp {
    /// Returns Entreat as an MCP server, for agents that need to ask their user.
    pub fn ask_server(&self) -> Wrapped<AskServer> {
        let inner = self.inner.clone();
        self.wrap(AskServer { inner })
    }
}

impl std::fmt::Debug for AskServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AskServer").finish_non_exhaustive()
    }
}

impl ServerHandler for AskServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .build();
        let mut info = ServerConfig::new(capabilities);
        info.server_info = Implementation::new("entreat", env!("CARGO_PKG_VERSION"));
        let help = "Use `ask_user` when you need something that only your user knows or can \
                    decide: a choice, a confirmation, a value.";
        info.instructions = Some(help.to_owned());
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let result = match &*request.name {
            "ask_user" => self.ask_user(&arguments, Ask::of(&context)?).await?,
            "ask_status" => status(question_in(&arguments, &context)?).await?,
            "ask_cancel" => cancel(question_in(&arguments, &context)?).await?,
            name => {
                let message = format!("there is no tool `{name}`");
                return Err(ErrorData::invalid_params(message, None));
            }
        };
        Ok(result.into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        let names = self.inner.template_names().into_iter();
        let prompts = names.filter_map(|name| {
            let form = self.inner.template(&name)?;
            let about = form.description().unwrap_or(form.title()).to_owned();
            Some(Prompt::new(name, Some(about), None))
        });
        Ok(ListPromptsResult::with_all_items(prompts.collect()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let ask = Ask::of(&context)?;
        let Some(form) = self.inner.template(&request.name) else {
            let message = AskError::NoTemplate(request.name).to_string();
            return Err(ErrorData::invalid_params(message, None));
        };
        let answers = ask.form_of("form", form.title(), &form).await?;
        let mut text = format!("{}\n", form.title());
        for (field, answer) in answers.sealed().to_json() {
            let label = form.field(&field).map_or(&*field, |it| it.label());
            let answer = match &answer {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            text.extend(["\n- ", label, ": ", &answer]);
        }
        let message = PromptMessage::new_text(Role::User, text);
        Ok(GetPromptResult::new(vec![message]).into())
    }
}

impl AskServer {
    /// Asks, and waits for the answer; with `wait: false`, returns the question's id instead.
    async fn ask_user(
        &self,
        arguments: &JsonObject,
        ask: Ask,
    ) -> Result<CallToolResult, ErrorData> {
        let (form, message) = self.form_in(arguments)?;
        let mut timeout = Timeout::default();
        if let Some(seconds) = arguments.get("timeout_seconds") {
            let seconds = seconds.as_u64().filter(|seconds| *seconds > 0);
            let seconds = seconds
                .ok_or_else(|| invalid("`timeout_seconds` is not a positive whole number"))?;
            timeout = Timeout::of(Duration::from_secs(seconds));
        }
        if arguments.get("wait") == Some(&Value::Bool(false)) {
            let (id, url) = ask.ask_detached(&form, &message, timeout).await?;
            return Ok(CallToolResult::structured(json!({
                "status": "waiting",
                "question": id,
                "url": url,
                "next": "Ask the person to open the URL, then call `ask_status`.",
            })));
        }
        let question = ask.form_of("question", &message, &form).timeout(timeout);
        Ok(CallToolResult::structured(
            match question.outcome().await? {
                Outcome::Answered(answers) => {
                    json!({"status": "answered", "answers": answers.sealed().to_json()})
                }
                Outcome::Declined { shown } => json!({"status": "declined", "shown": shown}),
                Outcome::Cancelled { reason, shown } => {
                    json!({"status": "cancelled", "reason": reason, "shown": shown})
                }
                Outcome::TimedOut => json!({"status": "timed_out"}),
            },
        ))
    }

    /// Returns the form and the message to ask.
    fn form_in(&self, arguments: &JsonObject) -> Result<(Form, String), ErrorData> {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        let message = text("message");
        match (arguments.get("form"), text("template"), text("prompt")) {
            (Some(definition), None, None) => {
                let form = Form::from_value(definition)
                    .map_err(|problems| invalid(&format!("the form is not valid:\n{problems}")))?;
                let message = message.unwrap_or(form.title()).to_owned();
                Ok((form, message))
            }
            (None, Some(name), None) => {
                let form = self.inner.template(name);
                let missing = || invalid(&AskError::NoTemplate(name.to_owned()).to_string());
                let form = form.ok_or_else(missing)?;
                let message = message.unwrap_or(form.title()).to_owned();
                Ok((form, message))
            }
            (None, None, Some(prompt)) => {
                let field = json!({"id": "answer", "type": "text", "label": "Answer",
                    "required": true});
                let title: String = prompt.chars().take(200).collect();
                let definition = json!({"id": "prompt", "title": title, "fields": [field]});
                let form = Form::from_value(&definition);
                let form = form.map_err(|_| invalid("`prompt` is empty"))?;
                Ok((form, message.unwrap_or(prompt).to_owned()))
            }
            _ => Err(invalid("give one of `prompt`, `form` and `template`")),
        }
    }
}

/// Returns the status of a question asked with `wait: false`.
async fn status(question: Elicitation) -> Result<CallToolResult, ErrorData> {
    let snapshot = question.outcome_within(Duration::ZERO).await;
    let snapshot = snapshot.map_err(AskError::Act)?;
    let mut result = Map::new();
    result.insert("status".into(), json!(snapshot.status()));
    if let Some(Ok(answers)) = snapshot.answers() {
        result.insert("answers".into(), answers.sealed().to_json().into());
    }
    Ok(CallToolResult::structured(result.into()))
}

async fn cancel(question: Elicitation) -> Result<CallToolResult, ErrorData> {
    let cancelled = question.cancel(CancelReason::AskerCancelled).await;
    let snapshot = cancelled.map_err(AskError::Act)?;
    Ok(CallToolResult::structured(
        json!({"status": snapshot.status()}),
    ))
}

/// Returns the named question; questions of other clients do not exist for this one.
fn question_in(arguments: &JsonObject, context: &Context) -> Result<Elicitation, ErrorData> {
    let id = arguments.get("question").and_then(Value::as_str);
    let id = id.and_then(|id| id.parse().ok());
    let id = id.ok_or_else(|| invalid("`question` is not the id of a question"))?;
    Ok(Ask::of(context)?.elicitation(id))
}

fn invalid(message: &str) -> ErrorData {
    ErrorData::invalid_params(message.to_owned(), None)
}

fn tools() -> Vec<Tool> {
    let tool = |name: &'static str, about: &'static str, properties: Value, required: Value| {
        let schema = json!({"type": "object", "properties": properties, "required": required});
        let schema = schema.as_object().cloned().unwrap_or_default();
        Tool::new(name, about, Arc::new(schema))
    };
    let text = |about: &str| json!({"type": "string", "description": about});
    let question = json!({"question": text("The id of the question, from `ask_user`")});
    vec![
        tool(
            "ask_user",
            "Asks your user and waits for the answer. Give one of `prompt`, `form` and `template`.",
            json!({
                "prompt": text("A question that is answered with a line of text"),
                "form": {"type": "object", "description": "A form definition: id, title, fields"},
                "template": text("The name of a form template"),
                "message": text("Why you ask, shown to the user"),
                "timeout_seconds": {"type": "integer", "minimum": 1},
                "wait": {"type": "boolean", "default": true,
                    "description": "false returns a link immediately; get the answer from \
                                    `ask_status`"},
            }),
            json!([]),
        ),
        tool(
            "ask_status",
            "Returns the status of a question asked with `wait: false`, and its answers",
            question.clone(),
            json!(["question"]),
        ),
        tool(
            "ask_cancel",
            "Cancels a question asked with `wait: false`",
            question,
            json!(["question"]),
        ),
    ]
}

//! Entreat itself as an MCP server, for agents that need their human.

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

/// A server with which an agent asks its human: the tools `ask_user`, `ask_status` and
/// `ask_cancel`, and each template as a prompt. Made by [`Mcp::ask_server`].
///
/// Secrets are collected and kept, and never told: in results they are sealed.
pub struct AskServer {
    inner: Arc<Inner>,
}

impl Mcp {
    /// Entreat itself as a server, for agents that need their human.
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
        let help = "Use `ask_user` when you need something that only your human knows or may \
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
        let told = match &*request.name {
            "ask_user" => self.ask_user(&arguments, Ask::of(&context)?).await?,
            "ask_status" => status(question_in(&arguments, &context)?).await?,
            "ask_cancel" => cancel(question_in(&arguments, &context)?).await?,
            name => {
                let message = format!("there is no tool `{name}`");
                return Err(ErrorData::invalid_params(message, None));
            }
        };
        Ok(told.into())
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
    /// Asks, and waits for the answer or returns the name of the question.
    async fn ask_user(&self, given: &JsonObject, ask: Ask) -> Result<CallToolResult, ErrorData> {
        let (form, message) = self.form_in(given)?;
        let mut timeout = Timeout::default();
        if let Some(seconds) = given.get("timeout_seconds") {
            let seconds = seconds.as_u64().filter(|seconds| *seconds > 0);
            let seconds = seconds.ok_or_else(|| wrong("`timeout_seconds` is no whole number"))?;
            timeout = Timeout::of(Duration::from_secs(seconds));
        }
        if given.get("wait") == Some(&Value::Bool(false)) {
            let (id, url) = ask.leave(&form, &message, timeout).await?;
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

    /// What is to be asked, and the words with it.
    fn form_in(&self, given: &JsonObject) -> Result<(Form, String), ErrorData> {
        let text = |name: &str| given.get(name).and_then(Value::as_str);
        let message = text("message");
        match (given.get("form"), text("template"), text("prompt")) {
            (Some(definition), None, None) => {
                let form = Form::from_value(definition)
                    .map_err(|problems| wrong(&format!("the form is not sound:\n{problems}")))?;
                let message = message.unwrap_or(form.title()).to_owned();
                Ok((form, message))
            }
            (None, Some(name), None) => {
                let form = self.inner.template(name);
                let missing = || wrong(&AskError::NoTemplate(name.to_owned()).to_string());
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
                let form = form.map_err(|_| wrong("`prompt` is empty"))?;
                Ok((form, message.unwrap_or(prompt).to_owned()))
            }
            _ => Err(wrong("give one of `prompt`, `form` and `template`")),
        }
    }
}

/// How a question stands that was left to its page.
async fn status(question: Elicitation) -> Result<CallToolResult, ErrorData> {
    let snapshot = question.outcome_within(Duration::ZERO).await;
    let snapshot = snapshot.map_err(AskError::Act)?;
    let mut told = Map::new();
    told.insert("status".into(), json!(snapshot.status()));
    if let Some(Ok(answers)) = snapshot.answers() {
        told.insert("answers".into(), answers.sealed().to_json().into());
    }
    Ok(CallToolResult::structured(told.into()))
}

async fn cancel(question: Elicitation) -> Result<CallToolResult, ErrorData> {
    let cancelled = question.cancel(CancelReason::AskerCancelled).await;
    let snapshot = cancelled.map_err(AskError::Act)?;
    Ok(CallToolResult::structured(
        json!({"status": snapshot.status()}),
    ))
}

/// The question that is named, as the client sees it: that of another is none.
fn question_in(given: &JsonObject, context: &Context) -> Result<Elicitation, ErrorData> {
    let id = given.get("question").and_then(Value::as_str);
    let id = id.and_then(|id| id.parse().ok());
    let id = id.ok_or_else(|| wrong("`question` is not the name of a question"))?;
    Ok(Ask::of(context)?.elicitation(id))
}

fn wrong(message: &str) -> ErrorData {
    ErrorData::invalid_params(message.to_owned(), None)
}

fn tools() -> Vec<Tool> {
    let tool = |name: &'static str, about: &'static str, properties: Value, required: Value| {
        let schema = json!({"type": "object", "properties": properties, "required": required});
        let schema = schema.as_object().cloned().unwrap_or_default();
        Tool::new(name, about, Arc::new(schema))
    };
    let text = |about: &str| json!({"type": "string", "description": about});
    let question = json!({"question": text("The name of the question, from `ask_user`")});
    vec![
        tool(
            "ask_user",
            "Asks your human and waits for the answer. Give one of `prompt`, `form` and `template`.",
            json!({
                "prompt": text("A question that is answered with a line of text"),
                "form": {"type": "object", "description": "A form definition: id, title, fields"},
                "template": text("The name of a form that is kept here"),
                "message": text("Why you ask, in words for the person"),
                "timeout_seconds": {"type": "integer", "minimum": 1},
                "wait": {"type": "boolean", "default": true,
                    "description": "false returns a link at once; `ask_status` has the answer"},
            }),
            json!([]),
        ),
        tool(
            "ask_status",
            "Tells how a question stands that was asked with `wait: false`, and its answers",
            question.clone(),
            json!(["question"]),
        ),
        tool(
            "ask_cancel",
            "Withdraws a question that was asked with `wait: false`",
            question,
            json!(["question"]),
        ),
    ]
}

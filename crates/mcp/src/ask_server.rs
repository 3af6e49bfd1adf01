//! Entreat as an MCP server, for agents that need to ask their user.

mod arguments;
mod detached;
mod form_schema;
mod question;
mod reply;
mod tools;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use entreat_core::{Answer, Answers, CancelReason, Form, Mode, Status};
use entreat_engine::{ActError, Elicitation, Snapshot};
use http::request::Parts;
use parking_lot::Mutex;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, Implementation, JsonObject, ListPromptsResult,
    ListToolsResult, PaginatedRequestParams, Prompt, PromptMessage, Role, ServerCapabilities,
    ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};

use self::arguments::{Arguments, Refusal, list};
pub(crate) use self::detached::Record;
use self::question::{Question, QuestionKind};
use self::reply::Delivered;
use self::tools::Offer;
use crate::ask::{Ask, Outcome};
use crate::call::DAY_MS;
use crate::error::AskError;
use crate::malformed::shortened;
use crate::mcp::{Inner, Mcp};
use crate::parked::RESUME;
use crate::workspace::{SecretPlace, SecretTarget, Workspace, WorkspaceError};
use crate::wrap::Wrapped;

type Context = RequestContext<RoleServer>;

/// Of how many questions it is remembered that their secret was not saved. A secret of which that
/// is forgotten replaces no other.
const MAX_UNSAVED: usize = 10_000;

/// An MCP server with which an agent asks its user: the tools `ask_user`, `ask_status` and
/// `ask_cancel`, and each template as a prompt. Returned by [`Mcp::ask_server`].
///
/// Secrets are collected and stored, but never returned: results contain them sealed.
pub struct AskServer {
    inner: Arc<Inner>,
    workspace: Option<Arc<dyn Workspace>>,
    /// Questions of this process whose secret is not saved yet.
    unsaved: Mutex<HashSet<String>>,
}

impl Mcp {
    /// Returns Entreat as an MCP server, for agents that need to ask their user. Files are passed
    /// on as links, and secrets not at all.
    pub fn ask_server(&self) -> Wrapped<AskServer> {
        self.make_ask_server(None)
    }

    /// Returns Entreat as an MCP server for an agent on this machine: secrets and files are saved
    /// to its workspace if it is connected by stdio.
    pub fn ask_server_in(&self, workspace: impl Workspace + 'static) -> Wrapped<AskServer> {
        self.make_ask_server(Some(Arc::new(workspace)))
    }

    fn make_ask_server(&self, workspace: Option<Arc<dyn Workspace>>) -> Wrapped<AskServer> {
        self.wrap(AskServer {
            inner: self.inner.clone(),
            workspace,
            unsaved: Mutex::default(),
        })
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
        let help = "Use `ask_user` when you need something that only your user knows or may \
                    decide: a choice, a confirmation, a value, a file, a secret.";
        info.instructions = Some(help.to_owned());
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self
            .offer(context.extensions.get::<Parts>().is_some())
            .tools();
        Ok(ListToolsResult::with_all_items(tools))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.offer(false).tool(name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let ask = Ask::of(&context)?;
        let offer = self.offer(ask.is_remote());
        let Some(tool) = offer.tool(&request.name) else {
            let mut names = vec![tools::ASK_USER, tools::ASK_STATUS, tools::ASK_CANCEL];
            if self.inner.links.is_some() {
                names.push(RESUME);
            }
            let name = shortened(&request.name);
            let message = format!("there is no tool `{name}`; there are {}", list(&names));
            return Err(ErrorData::invalid_params(message, None));
        };
        match self
            .call(&tool, request.arguments.unwrap_or_default(), &ask, &offer)
            .await
        {
            Ok(result) => Ok(result.into()),
            Err(Failure::Refused(message)) => Ok(reply::refused(message).into()),
            Err(Failure::Ask(error)) => match error.for_model() {
                Some(message) => Ok(reply::refused(message).into()),
                None => Err(error.into()),
            },
        }
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

/// Why a call has no result.
enum Failure {
    /// The arguments are wrong, in words for the model.
    Refused(Refusal),
    Ask(AskError),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<AskError> for Failure {
    fn from(error: AskError) -> Self {
        Self::Ask(error)
    }
}

impl From<WorkspaceError> for Failure {
    fn from(error: WorkspaceError) -> Self {
        Self::Refused(format!("{error}."))
    }
}

type CallResult = Result<CallToolResult, Failure>;

impl AskServer {
    /// What the tools offer to this client.
    fn offer(&self, is_remote: bool) -> Offer {
        let bounds = self.inner.asker.timeout_config(Mode::Form);
        Offer {
            templates: self.inner.template_names(),
            timeout_seconds: (bounds.min_ms.div_ceil(1000), bounds.max_ms / 1000),
            default_seconds: (bounds.default_ms / 1000, DAY_MS.min(bounds.max_ms) / 1000),
            saves_secrets: self.workspace.is_some() && !is_remote,
        }
    }

    /// The workspace of a client on this machine's stdio. What is saved for a client over HTTP
    /// would be out of its reach.
    fn workspace_for(&self, ask: &Ask) -> Option<&dyn Workspace> {
        let workspace = self.workspace.as_deref();
        workspace.filter(|_| !ask.is_remote())
    }

    async fn call(
        &self,
        tool: &Tool,
        arguments: JsonObject,
        ask: &Ask,
        offer: &Offer,
    ) -> CallResult {
        let arguments = Arguments::read(tool, arguments)?;
        match &*tool.name {
            tools::ASK_USER => self.ask_user(&arguments, ask, offer).await,
            tools::ASK_STATUS => self.status(&arguments, ask).await,
            _ => self.cancel(&arguments, ask).await,
        }
    }

    /// Asks, and waits for the answer; with `wait: false`, returns the question's id instead.
    async fn ask_user(&self, arguments: &Arguments, ask: &Ask, offer: &Offer) -> CallResult {
        let question = Question::read(arguments, offer.timeout_seconds)?;
        let (form, secret) = match &question.kind {
            QuestionKind::Form(form) => (form.clone(), None),
            QuestionKind::Template(name) => (self.template(name, offer)?, None),
            QuestionKind::Secret(target) => {
                let (form, place) = self.secret_form(&question, target, ask).await?;
                (form, Some((target, place)))
            }
        };
        let message = question.message(&form);
        question::refuse_too_long(&message)?;
        if !question.wait {
            let target = secret.as_ref().map(|(target, _)| *target);
            return self.detach(&question, &form, &message, target, ask).await;
        }
        let request = ask.form_of("question", &message, &form);
        let request = request.timeout(question.timeout).in_client_name();
        let result = match request.outcome().await? {
            Outcome::Answered(answers) => match secret {
                None => return self.deliver(&answers, ask).await,
                Some((target, place)) => {
                    self.save_secret(target, &answers, ask).await?;
                    reply::secret_saved(target, &place)
                }
            },
            Outcome::Declined { shown } => reply::declined(shown),
            Outcome::Cancelled { reason, shown } => {
                reply::cancelled(reason, shown, &ask.last_errors())
            }
            Outcome::TimedOut => reply::timed_out(),
        };
        Ok(CallToolResult::structured(result.into()))
    }

    /// Returns the answers. Files are saved once, however often the handler runs.
    async fn deliver(&self, answers: &Answers<'static>, ask: &Ask) -> CallResult {
        let delivered: Result<Delivered, Failure> = ask
            .once("deliver", async || {
                let question = self.inner.new_handle();
                let saver = self.workspace_for(ask).map(|it| (it, &*question));
                Ok(Delivered::of(answers, saver).await)
            })
            .await;
        Ok(delivered?.into_result(reply::status(Status::Completed)))
    }

    fn template(&self, name: &str, offer: &Offer) -> Result<Form, Refusal> {
        self.inner.template(name).ok_or_else(|| {
            let names: Vec<&str> = offer.templates.iter().map(String::as_str).collect();
            let name = shortened(name);
            match names.as_slice() {
                [] => format!("There is no template `{name}`: this server offers none."),
                names => format!("There is no template `{name}`; there are {}.", list(names)),
            }
        })
    }

    /// The form of a secret, which says where it will be saved.
    async fn secret_form(
        &self,
        question: &Question,
        target: &SecretTarget,
        ask: &Ask,
    ) -> Result<(Form, SecretPlace), Failure> {
        let Some(workspace) = self.workspace_for(ask) else {
            let message = "`secret_to` works on stdio only, where this server can write to the \
                working folder.";
            return Err(Failure::Refused(message.to_owned()));
        };
        // Once: the answer of Git may change between two runs, and the question must not.
        let place: Result<(PathBuf, Option<bool>), Failure> = ask
            .once("place", async || {
                let place = workspace.place(target).await?;
                Ok((place.path, place.is_ignored))
            })
            .await;
        let (path, is_ignored) = place?;
        let place = SecretPlace { path, is_ignored };
        // The page says so, in the person's language.
        let mut saved_to = json!({"file": place.path.display().to_string(), "name": target.name()});
        if let Some(is_ignored) = place.is_ignored {
            saved_to["gitIgnored"] = is_ignored.into();
        }
        let field = json!({"type": "text", "label": target.name(), "sensitive": true,
            "rendering": {"savedTo": saved_to}});
        let title = question.text.as_deref().unwrap_or(target.name());
        Ok((question::single(title, field, None)?, place))
    }

    async fn save_secret(
        &self,
        target: &SecretTarget,
        answers: &Answers<'_>,
        ask: &Ask,
    ) -> Result<(), Failure> {
        let secret = answers.get(question::ANSWER).and_then(Answer::as_str);
        let (Some(workspace), Some(secret)) = (self.workspace_for(ask), secret) else {
            return Err(Failure::Refused("There is no secret to save.".to_owned()));
        };
        let save = async || Ok(workspace.save_secret(target, secret, true).await?);
        ask.once("save", save).await
    }

    /// Asks on a page without waiting.
    async fn detach(
        &self,
        question: &Question,
        form: &Form,
        message: &str,
        secret: Option<&SecretTarget>,
        ask: &Ask,
    ) -> CallResult {
        let metadata = detached::metadata(ask.principal(), secret);
        let asked = ask
            .ask_detached(form, message, question.timeout, metadata)
            .await?;
        if secret.is_some() {
            let mut unsaved = self.unsaved.lock();
            if unsaved.len() >= MAX_UNSAVED
                && let Some(other) = unsaved.iter().next().cloned()
            {
                unsaved.remove(&other);
            }
            unsaved.insert(asked.id.clone());
        }
        let mut next = format!("Show the URL to your user. {}", reply::how_to_wait());
        if !asked.is_durable {
            next.push_str(" The question ends when this server stops.");
        }
        Ok(CallToolResult::structured(json!({
            "status": Status::Pending,
            "question": asked.id,
            "url": asked.url,
            "next": next,
        })))
    }

    /// Returns the status of a question asked with `wait: false`, and its answers.
    async fn status(&self, arguments: &Arguments, ask: &Ask) -> CallResult {
        let wait = arguments.count("wait_seconds", (0, tools::MAX_STATUS_WAIT))?;
        let wait = Duration::from_secs(wait.unwrap_or(0));
        let id = question_in(arguments)?;
        let record = match &self.inner.service {
            Some(service) => {
                ask.record_at(&**service, service.status(id, wait).await?)
                    .await?
            }
            None => local(ask, id, async |it| it.outcome_within(wait).await).await?,
        };
        self.report(record.ok_or_else(|| no_question(id))?, ask)
            .await
    }

    /// Withdraws a question asked with `wait: false`.
    async fn cancel(&self, arguments: &Arguments, ask: &Ask) -> CallResult {
        let id = question_in(arguments)?;
        let record = match &self.inner.service {
            Some(service) => {
                // Only its own principal may withdraw it.
                let found = service.status(id, Duration::ZERO).await?;
                let found = ask.record_at(&**service, found).await?;
                found.ok_or_else(|| no_question(id))?;
                ask.record_at(&**service, service.cancel(id).await?).await?
            }
            None => local(ask, id, withdraw).await?,
        };
        let record = record.ok_or_else(|| no_question(id))?;
        let mut result = reply::status(record.status);
        if record.status != Status::Cancelled {
            result.insert("note".into(), "The question had already ended.".into());
        }
        Ok(CallToolResult::structured(result.into()))
    }

    async fn report(&self, record: Record, ask: &Ask) -> CallResult {
        let result = match record.status {
            Status::Pending | Status::Active => reply::open(record.status),
            Status::Completed => return self.collect(record, ask).await,
            Status::Declined => reply::declined(record.shown),
            Status::Cancelled => {
                let reason = record.reason.unwrap_or(CancelReason::AskerCancelled);
                reply::cancelled(reason, record.shown, &record.errors)
            }
            Status::Timeout => reply::timed_out(),
        };
        Ok(CallToolResult::structured(result.into()))
    }

    /// Returns the answers of a question that nobody waited for.
    async fn collect(&self, record: Record, ask: &Ask) -> CallResult {
        let Some(answers) = record.answers else {
            let result = reply::status(Status::Completed);
            return Ok(CallToolResult::structured(result.into()));
        };
        let workspace = self.workspace_for(ask);
        let secret = answers.get(question::ANSWER).and_then(Answer::as_str);
        if let (Some(workspace), Some(target), Some(secret)) = (workspace, record.secret_to, secret)
        {
            // What an earlier run of this program asked may have been saved, and changed since.
            let is_first = self.unsaved.lock().contains(&record.id);
            workspace.save_secret(&target, secret, is_first).await?;
            self.unsaved.lock().remove(&record.id);
            let place = workspace.place(&target).await?;
            let result = reply::secret_saved(&target, &place);
            return Ok(CallToolResult::structured(result.into()));
        }
        let saver = workspace.map(|it| (it, &*record.id));
        let delivered = Delivered::of(&answers, saver).await;
        Ok(delivered.into_result(reply::status(Status::Completed)))
    }
}

/// Acts on a question of this engine; `None` if there is none for this client.
async fn local(
    ask: &Ask,
    id: &str,
    act: impl AsyncFnOnce(&Elicitation) -> Result<Snapshot, ActError>,
) -> Result<Option<Record>, Failure> {
    let Ok(id) = id.parse() else {
        return Ok(None);
    };
    match act(&ask.elicitation(id)).await {
        Ok(snapshot) => {
            let record = Record::of(&snapshot);
            Ok(Some(record.map_err(AskError::Mismatch)?))
        }
        Err(ActError::NotFound) => Ok(None),
        Err(error) => Err(AskError::Act(error).into()),
    }
}

/// Cancels a question; one that has ended stays as it is.
async fn withdraw(question: &Elicitation) -> Result<Snapshot, ActError> {
    match question.cancel(CancelReason::AskerCancelled).await {
        Err(ActError::Settled { .. } | ActError::TimedOut { .. }) => {
            question.outcome_within(Duration::ZERO).await
        }
        done => done,
    }
}

fn question_in(arguments: &Arguments) -> Result<&str, Refusal> {
    Ok(arguments.text("question")?.unwrap_or_default())
}

fn no_question(id: &str) -> Refusal {
    let id = shortened(id);
    format!(
        "There is no question `{id}`. Use the id that `ask_user` returned with `wait: false`; \
         questions are forgotten some time after they end."
    )
}

//! A server whose handlers can ask: a handler that delegates to the one it wraps.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use entreat_wire::digest::Digest;
use entreat_wire::message::{InputRequired, input_request};
use entreat_wire::seal::{Binding, OpenedState};
use rmcp::ErrorData;
use rmcp::RoleServer;
use rmcp::ServerHandler;
#[expect(deprecated, reason = "legacy clients send it, and servers may answer")]
use rmcp::model::SetLevelRequestParams;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CancelledNotificationParam,
    ClientNotification, ClientRequest, CompleteRequestParams, CompleteResult, CustomNotification,
    CustomRequest, CustomResult, DiscoverResult, GetPromptRequestParams, GetPromptResponse,
    GetTaskParams, GetTaskResult, InitializeRequestParams, InitializeResult, JsonObject,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, ServerConfig, ServerResult, SubscribeRequestParams, SubscriptionFilter,
    Tool, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{
    MaybeSendFuture, NotificationContext, RequestContext, RunningService, ServerInitializeError,
    Service, SubscriptionContext, serve_server,
};
use serde_json::{Map, Value};

use crate::ask::Ask;
use crate::call::Call;
use crate::call_outcome::{CallOutcome, Storable};
use crate::client::Client;
use crate::connection::Connect;
use crate::drive::{DriveOutcome, Handler, PendingQuestion, drive};
use crate::error::{reject_state, tool_result};
use crate::malformed;
use crate::mcp::Inner;
use crate::parked::{RESUME, StructuredTools, resume_tool};
use crate::raw::{Slot, to_typed};
use crate::replay::Replay;
use crate::sessions::RequestScope;
use crate::used_states::StateUse;

/// A server whose handlers can ask; returned by [`Mcp::wrap`](crate::Mcp::wrap).
pub struct Wrapped<S> {
    inner: Arc<Inner>,
    server: Arc<S>,
    structured: Arc<StructuredTools>,
}

impl<S> Clone for Wrapped<S> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            server: self.server.clone(),
            structured: self.structured.clone(),
        }
    }
}

impl<S> std::fmt::Debug for Wrapped<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wrapped").finish_non_exhaustive()
    }
}

impl<S: ServerHandler> Wrapped<S> {
    pub(crate) fn new(inner: Arc<Inner>, server: S) -> Self {
        Self {
            inner,
            server: Arc::new(server),
            structured: Arc::default(),
        }
    }

    /// Returns the wrapped server.
    pub fn server(&self) -> &S {
        &self.server
    }

    /// Serves one connection. Shadows rmcp's method of the same name, whose result types lose parts
    /// of input-required results.
    pub async fn serve<T, E, A>(
        self,
        transport: T,
    ) -> Result<RunningService<RoleServer, ConnectionService<S>>, ServerInitializeError>
    where
        T: Connect<E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        serve_server(ConnectionService(self), transport.connect()).await
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }

    /// Whether the results of a tool have a schema.
    fn is_structured(&self, tool: &str) -> bool {
        let known = self.server.get_tool(tool);
        known.is_some_and(|tool| tool.output_schema.is_some()) || self.structured.has(tool)
    }

    fn client(&self, context: &RequestContext<RoleServer>) -> Client {
        Client::of(context, &self.inner.callers)
    }

    /// Runs a handler of one of the three requests that may ask.
    async fn run<R>(
        &self,
        client: Client,
        target: Target<'_>,
        mut context: RequestContext<RoleServer>,
        handler: impl FnOnce(Arc<S>, RequestContext<RoleServer>) -> Handler<Result<R, ErrorData>>,
        park: impl FnOnce(Arc<Call>, Handler<Result<R, ErrorData>>) -> Result<R, ErrorData>,
    ) -> Result<R, ErrorData>
    where
        R: Storable,
    {
        let _place = self.inner.call_place(&client).map_err(|full| {
            let message = format!("too many calls are in flight: {full}; try again later");
            ErrorData::internal_error(message, None)
        })?;
        // Keeps the session from counting as idle during the call.
        let _scope = RequestScope::of_request(&context.extensions);
        let binding = Binding {
            principal: client.principal.to_string(),
            target: format!("{} {}", target.method, target.name),
            arguments: target.arguments,
        };
        let responses = target.responses.unwrap_or_default();
        let (state, replay) = match (client.has_rounds(), target.state) {
            (false, _) => (None, None),
            (true, None) => (None, Some(Replay::new(None, responses))),
            (true, Some(text)) => {
                let opened = self.inner.sealer.open(&text, &binding);
                let opened = opened.map_err(|reason| reject_state(&reason, target.name))?;
                let inputs = Digest::of_members(&responses);
                let OpenedState {
                    id,
                    expires,
                    contents: journal,
                } = opened;
                let replay = Replay::new(Some(journal), responses);
                let used = StateUse {
                    id,
                    inputs,
                    expires,
                };
                (Some(used), Some(replay))
            }
        };
        let slot = Slot::of(&context.extensions);
        let (peer, id, cancelled) = (context.peer.clone(), context.id.clone(), context.ct.clone());
        let call = Arc::new(Call::new(
            self.inner.clone(),
            client,
            (peer, id),
            binding,
            replay,
            target.is_tool,
        ));
        context.extensions.insert(Ask::new(call.clone()));
        let work = handler(self.server.clone(), context);
        let outcome = async {
            let finish = self.finish(&call, work, park);
            match state.filter(|_| self.inner.settings.single_use) {
                Some(used) => {
                    let (inner, client) = (&self.inner, call.client());
                    inner
                        .once_per_state(client, used, target.name, finish)
                        .await
                }
                None => finish.await,
            }
        };
        let outcome = tokio::select! {
            biased;
            outcome = outcome => outcome,
            // The client cancelled; dropping the call cancels its questions.
            () = cancelled.cancelled() => {
                return Err(ErrorData::internal_error("the call was cancelled", None));
            }
        };
        match outcome {
            CallOutcome::Result(result) | CallOutcome::Linked(result) => result,
            CallOutcome::InputRequired(result) => match to_typed(result, slot.as_ref()) {
                Some(result) => Ok(result.into()),
                None => Err(ErrorData::internal_error(
                    "the questions cannot be serialized",
                    None,
                )),
            },
        }
    }

    /// Drives a handler until it returns, asks, or continues behind a link.
    async fn finish<R>(
        &self,
        call: &Arc<Call>,
        work: Handler<Result<R, ErrorData>>,
        park: impl FnOnce(Arc<Call>, Handler<Result<R, ErrorData>>) -> Result<R, ErrorData>,
    ) -> CallOutcome<R> {
        match drive(work, &call.run, self.inner.settings.suspend_grace).await {
            DriveOutcome::Done(result) => CallOutcome::Result(result),
            DriveOutcome::Linked(work) => CallOutcome::Linked(park(call.clone(), work)),
            DriveOutcome::Suspended(pending) => match self.questions(call, pending) {
                Ok(result) => CallOutcome::InputRequired(result),
                Err(error) => CallOutcome::error(error),
            },
        }
    }

    /// Builds the result that asks the client, with the sealed state to send back.
    fn questions(
        &self,
        call: &Call,
        pending: Vec<PendingQuestion>,
    ) -> Result<InputRequired, ErrorData> {
        let Some(replay) = &call.replay else {
            return Err(ErrorData::internal_error("nothing was asked", None));
        };
        let settings = &self.inner.settings;
        if let Some(key) = replay.unasked() {
            let now = pending.first().map_or("", |it| it.key.as_str());
            let message = format!(
                "the handler asked `{key}` in the last round and `{now}` in its place now; with \
                 the same answers, a handler must ask the same questions"
            );
            tracing::error!(key, now, target = call.binding.target, "{message}");
            return Err(ErrorData::internal_error(message, None));
        }
        let journal = replay.journal(&pending);
        if journal.round > settings.rounds {
            let message = format!("the call took more than {} rounds", settings.rounds);
            return Err(ErrorData::internal_error(message, None));
        }
        let now = self.inner.asker.engine().now();
        let deadlines = pending.iter().map(|it| it.open.deadline);
        let latest = deadlines.max().unwrap_or(now).max(now);
        let expires = latest.after(settings.state_lifetime);
        let state = self.inner.sealer.seal(&call.binding, expires, &journal);
        if state.len() > settings.state_limit {
            let message = format!(
                "the state of the call takes {} bytes, more than {}; keep large results \
                 elsewhere and return their names from `once`",
                state.len(),
                settings.state_limit
            );
            tracing::error!(target = call.binding.target, "{message}");
            return Err(ErrorData::internal_error(message, None));
        }
        let mut requests = Map::new();
        for question in pending {
            if let Some((method, params)) = question.request {
                requests.insert(question.key, input_request(method, params));
            }
        }
        Ok(InputRequired::new(requests, &state))
    }
}

/// The target of a call, and the answers and state sent with it.
struct Target<'a> {
    method: &'static str,
    name: &'a str,
    arguments: Digest,
    responses: Option<BTreeMap<String, Value>>,
    state: Option<String>,
    is_tool: bool,
}

/// Delegates methods to the wrapped server.
macro_rules! delegate {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $output:ty;)*) => {
        $(fn $name(
            &self,
            $($argument: $kind),*
        ) -> impl Future<Output = $output> + MaybeSendFuture + '_ {
            self.server.$name($($argument),*)
        })*
    };
}

type Context = RequestContext<RoleServer>;
type NotifyContext = NotificationContext<RoleServer>;

#[expect(
    deprecated,
    reason = "legacy clients send them, and servers may answer"
)]
impl<S: ServerHandler> ServerHandler for Wrapped<S> {
    async fn call_tool(
        &self,
        mut request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let client = self.client(&context);
        if request.name == RESUME && self.inner.links.is_some() {
            let arguments = request.arguments.as_ref();
            return self.inner.resume(&client.principal, arguments).await;
        }
        let is_legacy = !client.has_rounds();
        let name = request.name.clone();
        let target = Target {
            method: "tools/call",
            name: &name,
            arguments: Digest::of_members(request.arguments.iter().flatten()),
            responses: request.input_responses.take(),
            state: request.request_state.take(),
            is_tool: true,
        };
        let handler = |server: Arc<S>, context| -> Handler<_> {
            Box::pin(async move {
                let result = server.call_tool(request, context).await;
                result.or_else(|error| match tool_result(&error, is_legacy) {
                    Some(result) => Ok(result.into()),
                    None => Err(error),
                })
            })
        };
        let park = |call: Arc<Call>, work| match call.run.take_link() {
            Some(link) => {
                let is_structured = self.is_structured(&name);
                self.inner.park(call, work, &link, is_structured)
            }
            None => Err(ErrorData::internal_error(
                "the link was already returned",
                None,
            )),
        };
        self.run(client, target, context, handler, park).await
    }

    async fn get_prompt(
        &self,
        mut request: GetPromptRequestParams,
        context: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let name = request.name.clone();
        let target = Target {
            method: "prompts/get",
            name: &name,
            arguments: Digest::of_members(request.arguments.iter().flatten()),
            responses: request.input_responses.take(),
            state: request.request_state.take(),
            is_tool: false,
        };
        let handler = |server: Arc<S>, context| -> Handler<_> {
            Box::pin(async move { server.get_prompt(request, context).await })
        };
        let client = self.client(&context);
        self.run(client, target, context, handler, no_link).await
    }

    async fn read_resource(
        &self,
        mut request: ReadResourceRequestParams,
        context: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let name = request.uri.clone();
        let target = Target {
            method: "resources/read",
            name: &name,
            arguments: Digest::of_members(&JsonObject::new()),
            responses: request.input_responses.take(),
            state: request.request_state.take(),
            is_tool: false,
        };
        let handler = |server: Arc<S>, context| -> Handler<_> {
            Box::pin(async move { server.read_resource(request, context).await })
        };
        let client = self.client(&context);
        self.run(client, target, context, handler, no_link).await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: Context,
    ) -> Result<CustomResult, ErrorData> {
        let client = self.client(&context);
        if let Some(answer) = self.inner.extension(&client, &request).await {
            return answer;
        }
        match malformed::answer(&request, client.has_rounds()) {
            Some(answer) => answer,
            None => self.server.on_custom_request(request, context).await,
        }
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        let can_resume = self.inner.has_page_for(&self.client(&context));
        let mut listed = self.server.list_tools(request, context).await?;
        self.structured.note(&listed.tools);
        if can_resume && listed.next_cursor.is_none() {
            listed.tools.push(resume_tool());
        }
        Ok(listed)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        match name {
            RESUME if self.inner.links.is_some() => Some(resume_tool()),
            name => self.server.get_tool(name),
        }
    }

    fn get_info(&self) -> ServerConfig {
        ServerHandler::get_info(&self.server)
    }

    fn negotiate_initialize(
        &self,
        request: &InitializeRequestParams,
    ) -> Result<InitializeResult, ErrorData> {
        self.server.negotiate_initialize(request)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        ServerHandler::supported_protocol_versions(&self.server)
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        self.server.accepted_subscription_filter(requested)
    }

    delegate! {
        ping(context: Context) -> Result<(), ErrorData>;
        initialize(request: InitializeRequestParams, context: Context)
            -> Result<InitializeResult, ErrorData>;
        discover(context: Context) -> Result<DiscoverResult, ErrorData>;
        complete(request: CompleteRequestParams, context: Context)
            -> Result<CompleteResult, ErrorData>;
        set_level(request: SetLevelRequestParams, context: Context) -> Result<(), ErrorData>;
        list_prompts(request: Option<PaginatedRequestParams>, context: Context)
            -> Result<ListPromptsResult, ErrorData>;
        list_resources(request: Option<PaginatedRequestParams>, context: Context)
            -> Result<ListResourcesResult, ErrorData>;
        list_resource_templates(request: Option<PaginatedRequestParams>, context: Context)
            -> Result<ListResourceTemplatesResult, ErrorData>;
        listen(context: SubscriptionContext) -> Result<(), ErrorData>;
        subscribe(request: SubscribeRequestParams, context: Context) -> Result<(), ErrorData>;
        unsubscribe(request: UnsubscribeRequestParams, context: Context)
            -> Result<(), ErrorData>;
        get_task(request: GetTaskParams, context: Context) -> Result<GetTaskResult, ErrorData>;
        update_task(request: UpdateTaskParams, context: Context) -> Result<(), ErrorData>;
        cancel_task(request: CancelTaskParams, context: Context) -> Result<(), ErrorData>;
        on_cancelled(notification: CancelledNotificationParam, context: NotifyContext) -> ();
        on_progress(notification: ProgressNotificationParam, context: NotifyContext) -> ();
        on_initialized(context: NotifyContext) -> ();
        on_roots_list_changed(context: NotifyContext) -> ();
        on_custom_notification(notification: CustomNotification, context: NotifyContext) -> ();
    }
}

/// Only tool results can contain a link, so only tools take that route.
fn no_link<R>(_: Arc<Call>, _: Handler<Result<R, ErrorData>>) -> Result<R, ErrorData> {
    Err(ErrorData::internal_error(
        "only a tool can return a link",
        None,
    ))
}

/// Serves a wrapped server on a connection, with complete input-required results.
pub struct ConnectionService<S>(Wrapped<S>);

impl<S> std::fmt::Debug for ConnectionService<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ConnectionService").field(&self.0).finish()
    }
}

impl<S: ServerHandler> Service<RoleServer> for ConnectionService<S> {
    async fn handle_request(
        &self,
        request: ClientRequest,
        mut context: Context,
    ) -> Result<ServerResult, ErrorData> {
        let slot = Slot::default();
        context.extensions.insert(slot.clone());
        // Boxed because rmcp moves the future several times before polling it.
        let result = Box::pin(Service::handle_request(&self.0, request, context)).await?;
        Ok(slot.fill(result))
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotifyContext,
    ) -> Result<(), ErrorData> {
        Service::handle_notification(&self.0, notification, context).await
    }

    fn get_info(&self) -> ServerConfig {
        Service::get_info(&self.0)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Service::supported_protocol_versions(&self.0)
    }
}

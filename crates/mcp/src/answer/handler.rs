//! The rmcp client handler that answers questions.
#![expect(deprecated, reason = "servers still send samples, roots and log lines")]

use std::collections::HashSet;
use std::sync::Arc;

use entreat_wire::message::{Action, COMPLETE, CREATE, ElicitMode, ElicitRequest, ElicitResult};
use entreat_wire::presenter::{Presenter, Progress, UrlCard};
use rmcp::model::{
    CancelledNotificationParam, ClientConfig, CreateMessageRequestParams, CreateMessageResult,
    CustomNotification, CustomRequest, CustomResult, ElicitRequestParams,
    ElicitResult as RmcpResult, ElicitationCapability, FormElicitationCapability, ListRootsResult,
    LoggingMessageNotificationParam, ProgressNotificationParam, ProtocolVersion, RequestId,
    ResourceUpdatedNotificationParam, SubscriptionsAcknowledgedNotificationParams,
    TaskStatusNotificationParams, UrlElicitationCapability,
};
use rmcp::service::{MaybeSendFuture, NotificationContext, Peer, RequestContext};
use rmcp::{ClientHandler, ErrorData, RoleClient};
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::queue::{AnswerSettings, Decision, QuestionQueue};
use super::raw::RAW_CREATE;
use super::visit::UrlVisit;

/// An rmcp client handler that answers questions, and delegates everything else to another handler.
///
/// Create one per connection: its rate limit and state are those of one server.
pub struct Answering<H = ()> {
    pub(super) shared: Arc<Shared>,
    pub(super) other: Arc<H>,
}

/// State shared by clones. Background tasks are cancelled when the last clone is dropped.
pub(super) struct Shared {
    pub(super) queue: Arc<QuestionQueue>,
    /// Requests being answered.
    open: watch::Sender<HashSet<RequestId>>,
    pub(super) tasks: TaskTracker,
    closed: CancellationToken,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.closed.cancel();
    }
}

impl<H> Clone for Answering<H> {
    fn clone(&self) -> Self {
        Self {
            shared: self.shared.clone(),
            other: self.other.clone(),
        }
    }
}

impl<H> std::fmt::Debug for Answering<H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answering").finish_non_exhaustive()
    }
}

impl Answering {
    /// Creates a handler with default settings, for elicitation only.
    pub fn new(presenter: impl Presenter) -> Self {
        Self::with(Arc::new(presenter), AnswerSettings::default(), ())
    }
}

impl<H: ClientHandler> Answering<H> {
    /// Creates a handler that delegates everything but elicitation to `other`.
    pub fn with(presenter: Arc<dyn Presenter>, settings: AnswerSettings, other: H) -> Self {
        let shared = Shared {
            queue: Arc::new(QuestionQueue::new(presenter, settings)),
            open: watch::Sender::default(),
            tasks: TaskTracker::new(),
            closed: CancellationToken::new(),
        };
        Self {
            shared: Arc::new(shared),
            other: Arc::new(other),
        }
    }

    /// Returns the decision on the last question; `None` before the first. A rate-limit refusal is
    /// not overwritten by a later acceptance.
    pub fn last_decision(&self) -> Option<Decision> {
        self.shared.queue.last_decision()
    }

    /// Returns the name of the connected server.
    pub fn server(&self, peer: &Peer<RoleClient>) -> String {
        let info = peer.peer_info();
        let server = info.as_deref().and_then(|info| info.server_info.as_ref());
        let name = server.map(|server| server.title.as_ref().unwrap_or(&server.name));
        let name = name.filter(|name| !name.trim().is_empty());
        name.unwrap_or(&self.shared.queue.settings.server_name)
            .clone()
    }

    /// Answers a question pushed by the server.
    async fn answer_pushed(
        &self,
        params: Value,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        if has_rounds(&context.peer) {
            let message = "with 2026-07-28, questions are part of results";
            return Err(ErrorData::invalid_request(message, None));
        }
        let _open = self.shared.open_request(&context.id).await?;
        let request = ElicitRequest::from_params(params)
            .map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
        let server = self.server(&context.peer);
        let queue = &self.shared.queue;
        let visit = match request.mode() {
            // Registered before the URL is opened, since completion may be reported immediately.
            Ok(ElicitMode::Url { url, id }) => {
                let card = queue.card(&server, request.message(), url);
                Some((card, queue.expect_completion(id)))
            }
            _ => None,
        };
        let answered = tokio::select! {
            () = context.ct.cancelled() => {
                let message = "the server withdrew the question";
                return Err(ErrorData::internal_error(message, None));
            }
            answered = queue.answer(&server, &request) => answered?,
        };
        if let Some((card, visit)) = visit
            && answered.action() == Action::Accept
        {
            self.shared.follow_up(card, visit);
        }
        Ok(answered)
    }
}

impl Shared {
    /// Waits in the background until the person is done with a URL.
    pub(super) fn follow_up(&self, card: UrlCard, visit: UrlVisit) {
        let (queue, closed) = (self.queue.clone(), self.closed.clone());
        // Subscribed here, since the call may end before the task runs.
        let calls_ended = queue.calls_ended.subscribe();
        let waiting = async move { queue.follow_up(card, visit, calls_ended).await };
        self.tasks.spawn(closed.run_until_cancelled_owned(waiting));
    }

    /// Refuses a second request with the same id, since the responses would be indistinguishable.
    /// Waits for the first response before that: rmcp sends one response per id and drops the rest.
    async fn open_request(&self, id: &RequestId) -> Result<OpenRequest<'_>, ErrorData> {
        if self.open.send_if_modified(|open| open.insert(id.clone())) {
            return Ok(OpenRequest {
                shared: self,
                id: id.clone(),
            });
        }
        let mut open = self.open.subscribe();
        // Cannot fail: `self` holds the sender.
        let _ = open.wait_for(|open| !open.contains(id)).await;
        let message = "a request with this id was already being answered";
        Err(ErrorData::invalid_request(message, None))
    }
}

struct OpenRequest<'a> {
    shared: &'a Shared,
    id: RequestId,
}

impl Drop for OpenRequest<'_> {
    fn drop(&mut self) {
        self.shared.open.send_modify(|open| {
            open.remove(&self.id);
        });
    }
}

/// Whether the server asks in results (since 2026-07-28).
pub(super) fn has_rounds(peer: &Peer<RoleClient>) -> bool {
    let info = peer.peer_info();
    info.is_some_and(|info| info.protocol_version >= ProtocolVersion::V_2026_07_28)
}

macro_rules! delegate {
    ($($name:ident($argument:ident: $type:ty));* $(;)?) => {$(
        fn $name(
            &self,
            $argument: $type,
            context: NotificationContext<RoleClient>,
        ) -> impl Future<Output = ()> + MaybeSendFuture + '_ {
            self.other.$name($argument, context)
        }
    )*};
    ($($name:ident());* $(;)?) => {$(
        fn $name(
            &self,
            context: NotificationContext<RoleClient>,
        ) -> impl Future<Output = ()> + MaybeSendFuture + '_ {
            self.other.$name(context)
        }
    )*};
}

impl<H: ClientHandler> ClientHandler for Answering<H> {
    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<RmcpResult, ErrorData> {
        // Limited to what rmcp's types preserve; our own transports deliver a custom request
        // instead.
        let params = serde_json::to_value(request)
            .map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
        let result = self.answer_pushed(params, context).await?;
        serde_json::from_value(result.into_value())
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method != RAW_CREATE && request.method != CREATE {
            return self.other.on_custom_request(request, context).await;
        }
        let params = request.params.unwrap_or_default();
        let result = self.answer_pushed(params, context).await?;
        Ok(CustomResult::new(result.into_value()))
    }

    async fn on_custom_notification(
        &self,
        notification: CustomNotification,
        context: NotificationContext<RoleClient>,
    ) {
        if notification.method != COMPLETE {
            return self
                .other
                .on_custom_notification(notification, context)
                .await;
        }
        let params = notification.params.as_ref();
        let id = params.and_then(|params| params.get("elicitationId")?.as_str());
        if let Some(id) = id {
            self.shared.queue.mark_done(id);
        }
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        context: NotificationContext<RoleClient>,
    ) {
        let progress = Progress {
            done: params.progress,
            total: params.total,
            message: params.message.clone(),
        };
        self.shared.queue.presenter.progress(&progress);
        self.other.on_progress(params, context).await;
    }

    fn get_info(&self) -> ClientConfig {
        let mut info = self.other.get_info();
        let modes = self.shared.queue.presenter.modes();
        let mut elicitation = ElicitationCapability::new();
        if modes.form {
            elicitation = elicitation.with_form(FormElicitationCapability::default());
        }
        if modes.url {
            elicitation = elicitation.with_url(UrlElicitationCapability::default());
        }
        info.capabilities.elicitation = (modes.form || modes.url).then_some(elicitation);
        info
    }

    fn ping(
        &self,
        context: RequestContext<RoleClient>,
    ) -> impl Future<Output = Result<(), ErrorData>> + MaybeSendFuture + '_ {
        self.other.ping(context)
    }

    fn create_message(
        &self,
        params: CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> impl Future<Output = Result<CreateMessageResult, ErrorData>> + MaybeSendFuture + '_ {
        self.other.create_message(params, context)
    }

    fn list_roots(
        &self,
        context: RequestContext<RoleClient>,
    ) -> impl Future<Output = Result<ListRootsResult, ErrorData>> + MaybeSendFuture + '_ {
        self.other.list_roots(context)
    }

    delegate! {
        on_cancelled(params: CancelledNotificationParam);
        on_logging_message(params: LoggingMessageNotificationParam);
        on_resource_updated(params: ResourceUpdatedNotificationParam);
        on_subscriptions_acknowledged(params: SubscriptionsAcknowledgedNotificationParams);
        on_task_status(params: TaskStatusNotificationParams);
    }

    delegate! {
        on_resource_list_changed();
        on_tool_list_changed();
        on_prompt_list_changed();
    }
}

//! The handler that a client of rmcp is given.
#![expect(deprecated, reason = "servers still send samples, roots and log lines")]

use std::collections::HashSet;
use std::sync::Arc;

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

use super::desk::{AnswerSettings, Decision, Desk};
use super::present::{Present, Progress, UrlCard};
use super::raw::RAW_CREATE;
use super::visit::Visit;
use crate::wire::{Action, COMPLETE, CREATE, ElicitRequest, ElicitResult, Wanted};

/// A handler that answers what servers ask, around one of your own for everything else.
///
/// One for each connection: what it counts and remembers is of one server.
pub struct Answering<H = ()> {
    pub(super) shared: Arc<Shared>,
    pub(super) other: Arc<H>,
}

/// Ends what was begun when the last handler goes.
pub(super) struct Shared {
    pub(super) desk: Arc<Desk>,
    /// Requests that are being answered.
    open: watch::Sender<HashSet<RequestId>>,
    pub(super) lingering: TaskTracker,
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
    /// A handler with Entreat's own settings, for elicitation alone.
    pub fn new(present: impl Present) -> Self {
        Self::with(Arc::new(present), AnswerSettings::default(), ())
    }
}

impl<H: ClientHandler> Answering<H> {
    /// A handler around another one, which is asked for everything but elicitation.
    pub fn with(present: Arc<dyn Present>, settings: AnswerSettings, other: H) -> Self {
        let shared = Shared {
            desk: Arc::new(Desk::new(present, settings)),
            open: watch::Sender::default(),
            lingering: TaskTracker::new(),
            closed: CancellationToken::new(),
        };
        Self {
            shared: Arc::new(shared),
            other: Arc::new(other),
        }
    }

    /// What became of the last question; `None` if there was none. That one was refused because
    /// the server asked too often stays, whatever is answered later.
    pub fn last_decision(&self) -> Option<Decision> {
        self.shared.desk.last_decision()
    }

    /// The name of the server at the other end.
    pub(super) fn server(&self, peer: &Peer<RoleClient>) -> String {
        let info = peer.peer_info();
        let server = info.as_deref().and_then(|info| info.server_info.as_ref());
        let name = server.map(|server| server.title.as_ref().unwrap_or(&server.name));
        let name = name.filter(|name| !name.trim().is_empty());
        name.unwrap_or(&self.shared.desk.settings.server_name)
            .clone()
    }

    /// Answers a question that the server pushed.
    async fn pushed(
        &self,
        params: Value,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        if has_rounds(&context.peer) {
            let message = "since 2026-07-28 questions are asked within results";
            return Err(ErrorData::invalid_request(message, None));
        }
        let _open = self.shared.open_request(&context.id).await?;
        let request = ElicitRequest::from_params(params)
            .map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
        let server = self.server(&context.peer);
        let desk = &self.shared.desk;
        let visit = match request.wanted() {
            // Before anything is opened, since the server may be quick to say that it is done.
            Ok(Wanted::Url { url, id }) => {
                let card = desk.card(&server, request.message(), url);
                Some((card, desk.expect(id)))
            }
            _ => None,
        };
        let answered = tokio::select! {
            () = context.ct.cancelled() => {
                let message = "the server withdrew the question";
                return Err(ErrorData::internal_error(message, None));
            }
            answered = desk.answer(&server, &request) => answered?,
        };
        if let Some((card, visit)) = visit
            && answered.action() == Action::Accept
        {
            self.shared.linger(card, visit);
        }
        Ok(answered)
    }
}

impl Shared {
    /// Waits, beside everything else, until the person is done with a URL.
    pub(super) fn linger(&self, card: UrlCard, visit: Visit) {
        let (desk, closed) = (self.desk.clone(), self.closed.clone());
        // From here on: the call may have ended before the task runs.
        let calls_ended = desk.calls_ended.subscribe();
        let lingering = async move { desk.linger(card, visit, calls_ended).await };
        self.lingering
            .spawn(closed.run_until_cancelled_owned(lingering));
    }

    /// Refuses a second request of the same id, whose answers could not be told apart. Not before
    /// the first has its answer: rmcp sends one for each id and forgets the rest.
    async fn open_request(&self, id: &RequestId) -> Result<OpenRequest<'_>, ErrorData> {
        if self.open.send_if_modified(|open| open.insert(id.clone())) {
            return Ok(OpenRequest {
                shared: self,
                id: id.clone(),
            });
        }
        let mut open = self.open.subscribe();
        // The sender is here, so that it cannot be gone.
        let _ = open.wait_for(|open| !open.contains(id)).await;
        let message = "a request of this id was being answered already";
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

/// Whether a server asks within results.
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
        // As far as rmcp's types keep it; our own transports bring it by the custom request.
        let params = serde_json::to_value(request)
            .map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
        let result = self.pushed(params, context).await?;
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
        let result = self.pushed(params, context).await?;
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
            self.shared.desk.completed(id);
        }
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        context: NotificationContext<RoleClient>,
    ) {
        let progress = Progress::new(params.progress, params.total, params.message.clone());
        self.shared.desk.present.progress(&progress);
        self.other.on_progress(params, context).await;
    }

    fn get_info(&self) -> ClientConfig {
        let mut info = self.other.get_info();
        let modes = self.shared.desk.present.modes();
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

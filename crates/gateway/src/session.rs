//! One client in front of one upstream server: what is open between them, and who gets a message.
//!
//! Two loops read, one from each side. What a message needs besides being passed on, such as a
//! person, runs in tasks of the session.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use entreat_core::schema::Era;
use entreat_engine::Engine;
use entreat_engine::rate::{Rate, RateLimiter};
use entreat_wire::values::ValueCounter;
use parking_lot::Mutex;
use tokio::io::AsyncRead;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::approvals::Approvals;
use crate::call::{Call, Method};
use crate::capability::Capabilities;
use crate::envelope::{self, Envelope, Kind, NotAMessage, RawId};
use crate::flow::Flows;
use crate::gateway::Gateway;
use crate::json::{RawObject, quoted};
use crate::lowered::Lowered;
use crate::raised::Raised;
use crate::reply::{Reply, code};
use crate::settings::GatewaySettings;
use crate::side::lines::{Line, LineSource, Outbox, Overlong};
use crate::side::{Closed, UpstreamEvent, UpstreamReceiver, UpstreamSender};

/// The maximum number of requests of a client that are open at once.
const MAX_OPEN: usize = 10_000;
/// How many finished URL visits are remembered until somebody asks for them.
const MAX_COMPLETED: usize = 256;
/// How many progress tokens are remembered for calls that outlive their response.
const MAX_TASK_TOKENS: usize = 1_000;

/// A client in front of an upstream.
pub(crate) struct Session {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) client: Outbox,
    pub(crate) upstream: UpstreamSender,
    pub(crate) upstream_url: Option<String>,
    /// What the upstream is called until it says its name.
    pub(crate) fallback_name: String,
    /// Makes ids of requests to the client unlike those of the upstream.
    prefix: String,
    counter: AtomicU64,
    pub(crate) state: Mutex<State>,
    pub(crate) flows: Flows,
    pub(crate) raised: Raised,
    pub(crate) lowered: Lowered,
    pub(crate) approvals: Approvals,
    rate: Option<RateLimiter>,
    pub(crate) tasks: TaskTracker,
    pub(crate) stop: CancellationToken,
}

/// Which eras the two sides speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Pair {
    /// Nobody has spoken.
    #[default]
    Undecided,
    /// Both speak a version of 2025 or before.
    Legacy,
    /// Both speak 2026-07-28.
    Modern,
    /// A client of 2025 in front of a server of 2026-07-28.
    Raised,
    /// A client of 2026-07-28 in front of a server of 2025.
    Lowered,
}

/// What a client of 2025 said of itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientInfo {
    /// Its version; `None` if that has no elicitation.
    pub(crate) era: Option<Era>,
    pub(crate) version: String,
    pub(crate) capabilities: Capabilities,
    /// Its capabilities, and what it says of itself, as raw JSON.
    pub(crate) raw_capabilities: String,
    pub(crate) raw_info: String,
    pub(crate) name: Option<String>,
}

/// What is known of how a client treats questions.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Trust {
    /// It has answered a question in this session.
    pub(crate) has_answered: bool,
    /// It answers for the person, or shows nothing.
    pub(crate) is_distrusted: bool,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) pair: Pair,
    pub(crate) client: Arc<ClientInfo>,
    pub(crate) upstream_name: Option<String>,
    pub(crate) upstream_era: Option<Era>,
    trust: Trust,
    /// Requests to the upstream that have no response.
    requests: HashMap<RawId, Pending>,
    /// Requests to the client that have no response.
    pub(crate) pushes: HashMap<RawId, Push>,
    /// The upstream's questions that are being asked, by its ids.
    pub(crate) asks: HashMap<RawId, CancellationToken>,
    /// Open calls on which a server may ask, in their order.
    asking: BTreeMap<u64, Arc<Call>>,
    /// Open calls by the client's id, which it may use twice.
    by_client_id: HashMap<RawId, Vec<(u64, Arc<Call>)>>,
    tokens: HashMap<Box<str>, Arc<Call>>,
    /// Tokens of calls that go on as tasks.
    task_tokens: VecDeque<Box<str>>,
    next: u64,
    /// Visits of URLs that were reported before somebody waited for them.
    completed: VecDeque<String>,
    visits: HashMap<String, oneshot::Sender<()>>,
    /// Whether the client of 2026-07-28 declared that it shows every question.
    pub(crate) shows_everything: bool,
    /// The name of the tool that resumes calls, once it was offered.
    pub(crate) resume: Option<&'static str>,
    /// Calls behind links, by handle and in their order.
    pub(crate) links: BTreeMap<u64, (String, Arc<Call>)>,
}

/// Whose request is open at the upstream.
enum Pending {
    Client(Arc<Call>, u64),
    Own(oneshot::Sender<Reply>),
}

/// Whose request is open at the client.
pub(crate) enum Push {
    Upstream(RawId),
    Own(oneshot::Sender<Reply>),
}

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The client closed its side.
    ByClient,
    /// The upstream is gone.
    ByUpstream(Closed),
}

impl Session {
    pub(crate) fn new(
        gateway: Arc<Gateway>,
        client: Outbox,
        upstream: UpstreamSender,
        name: &str,
        url: Option<String>,
    ) -> Arc<Self> {
        let mut random = [0; 8];
        gateway.desk.asker.engine().fill_random(&mut random);
        let digits: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let rate = NonZeroU32::new(gateway.settings.questions_per_minute);
        Arc::new(Self {
            client,
            upstream,
            upstream_url: url,
            fallback_name: name.to_owned(),
            prefix: format!("e-{digits}-"),
            counter: AtomicU64::new(0),
            state: Mutex::default(),
            flows: Flows::new(&gateway.settings),
            raised: Raised::default(),
            lowered: Lowered::default(),
            approvals: Approvals::default(),
            rate: rate.map(|count| RateLimiter::new(Rate::per_minute(count))),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            gateway,
        })
    }

    /// Passes messages until one side ends.
    pub(crate) async fn run<R: AsyncRead + Send + Unpin>(
        self: &Arc<Self>,
        mut source: LineSource<R>,
        receiver: &mut UpstreamReceiver,
    ) -> Ended {
        let client = async {
            loop {
                match source.next().await {
                    Ok(Some(Line::Message(text))) => self.from_client(text).await,
                    Ok(Some(Line::TooLong { head, tail })) => {
                        self.refuse_long(&Overlong::read(&head, &tail)).await;
                    }
                    Ok(None) => return Ended::ByClient,
                    Err(error) => {
                        tracing::warn!(%error, "reading from the client failed");
                        return Ended::ByClient;
                    }
                }
            }
        };
        let upstream = async {
            loop {
                match receiver.next().await {
                    UpstreamEvent::Message { text, via } => self.from_upstream(text, via).await,
                    UpstreamEvent::Failed { id, failure } => {
                        tracing::warn!(%failure, "a request got no response");
                        self.upstream_replied(&id, failure.into()).await;
                    }
                    UpstreamEvent::Renewed => self.upstream_renewed().await,
                    UpstreamEvent::Closed(closed) => return Ended::ByUpstream(closed),
                }
            }
        };
        tokio::select! {
            ended = client => ended,
            ended = upstream => ended,
        }
    }

    /// Ends what is open: requests get errors, questions are withdrawn.
    pub(crate) async fn end(&self) {
        let requests = std::mem::take(&mut self.state.lock().requests);
        let gone = Reply::may_have_run("the server has exited", "upstream_exited");
        for pending in requests.into_values() {
            match pending {
                Pending::Client(call, _) => {
                    let message = gone.to_message(&call.id).into();
                    self.respond(&call, message);
                }
                Pending::Own(waiting) => drop(waiting.send(gone.clone())),
            }
        }
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    pub(crate) fn settings(&self) -> &GatewaySettings {
        &self.gateway.settings
    }

    pub(crate) fn engine(&self) -> &Engine {
        self.gateway.desk.asker.engine()
    }

    pub(crate) async fn sleep(&self, time: Duration) {
        self.engine().sleep(time).await;
    }

    pub(crate) fn client_info(&self) -> Arc<ClientInfo> {
        self.state.lock().client.clone()
    }

    pub(crate) fn upstream_era(&self) -> Option<Era> {
        self.state.lock().upstream_era
    }

    /// The upstream's name, as it says it itself.
    pub(crate) fn server_name(&self) -> String {
        let name = self.state.lock().upstream_name.clone();
        name.unwrap_or_else(|| self.fallback_name.clone())
    }

    pub(crate) fn trust(&self) -> Trust {
        self.state.lock().trust
    }

    pub(crate) fn set_trust(&self, change: impl FnOnce(&mut Trust)) {
        change(&mut self.state.lock().trust);
    }

    pub(crate) fn new_id(&self) -> String {
        let number = self.counter.fetch_add(1, Ordering::Relaxed);
        format!("{}{number}", self.prefix)
    }

    /// Runs work that ends with the session.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            stop.run_until_cancelled(work).await;
        });
    }

    /// Counts a question towards the upstream's rate; returns what it gets beyond that.
    pub(crate) fn admit_question(&self) -> Option<Reply> {
        let limit = self.rate.as_ref()?;
        limit.check(self.engine().now()).err().map(|_| {
            let server = self.server_name();
            tracing::warn!(server, "the server asks too often");
            Reply::failed(
                "this server asks too often; try again later",
                "rate_limited",
            )
        })
    }

    // ---- from the client

    async fn from_client(self: &Arc<Self>, text: Bytes) {
        if ValueCounter::check(&text).is_err() {
            let id = Overlong::read(&text, &[]).id;
            let id = id.unwrap_or_else(|| RawId::new("null"));
            let error = Reply::error(code::INVALID_REQUEST, "the message has too many values");
            return self.client.push(error.to_message(&id));
        }
        let envelope = match Envelope::read(&text) {
            Ok(envelope) => envelope,
            Err(NotAMessage::NotJson) => {
                return tracing::debug!("skipped a line of the client that is not JSON");
            }
            Err(NotAMessage::NotRpc) => {
                let error = Reply::error(code::INVALID_REQUEST, "Invalid request");
                return self.client.push(error.to_message(&RawId::new("null")));
            }
        };
        match &envelope.kind {
            // Whose calls nobody would have approved.
            Kind::Batch if self.needs_approval() => {
                let error = Reply::error(code::INVALID_REQUEST, "batches are not accepted");
                self.client.push(error.to_message(&RawId::new("null")));
            }
            Kind::Notification { method, .. }
                if method == Method::CallTool.name() && self.needs_approval() =>
            {
                tracing::warn!("dropped a call without an id, which nobody can approve");
            }
            Kind::Batch => self.upstream.send(text.to_vec()).await,
            Kind::Response { id, result, error } => {
                self.client_replied(&RawId::new(id), &envelope, *result, *error)
                    .await;
            }
            Kind::Notification { method, params } if method == "notifications/cancelled" => {
                self.client_cancelled(*params).await;
            }
            Kind::Notification { method, params } => {
                let pair = self.state.lock().pair;
                match pair {
                    Pair::Undecided | Pair::Legacy | Pair::Modern => {
                        self.upstream.send(text.to_vec()).await;
                    }
                    Pair::Raised => self.raised_notification(method, *params).await,
                    Pair::Lowered => {}
                }
            }
            Kind::Request { id, method, params } => {
                let id = RawId::new(id);
                let params = params.unwrap_or("{}");
                let kind = Method::of(method);
                let pair = self.state.lock().pair;
                match (pair, kind) {
                    (_, Method::Initialize) => self.initialize(&text, &envelope, id, params).await,
                    (Pair::Undecided, _) if crate::meta::is_modern(params) => {
                        self.first_modern(&text, id, kind, method, params).await;
                    }
                    (Pair::Undecided | Pair::Legacy, _) => {
                        self.legacy_request(&text, &envelope, id, kind, params)
                            .await;
                    }
                    (Pair::Modern, _) => {
                        self.modern_request(&text, &envelope, id, kind, params)
                            .await;
                    }
                    (Pair::Raised, _) => {
                        self.raised_request(&text, id, kind, method, params).await;
                    }
                    (Pair::Lowered, _) => {
                        self.lowered_request(&text, id, kind, method, params).await;
                    }
                }
            }
        }
    }

    /// Refuses a message of the client that is too long: with an error to whoever waits for it.
    async fn refuse_long(self: &Arc<Self>, found: &Overlong) {
        let Some(id) = &found.id else {
            return;
        };
        let error = Reply::error(code::INVALID_REQUEST, "the message is too long");
        if found.has_method {
            return self.client.push(error.to_message(id));
        }
        let message = error.to_message(id);
        if let Ok(envelope) = Envelope::read(&message)
            && let Kind::Response { error, .. } = envelope.kind
        {
            self.client_replied(id, &envelope, None, error).await;
        }
    }

    async fn client_replied(
        &self,
        id: &RawId,
        envelope: &Envelope<'_>,
        result: Option<&str>,
        error: Option<&str>,
    ) {
        let push = self.state.lock().pushes.remove(id);
        match push {
            Some(Push::Upstream(original)) => {
                self.upstream.send(envelope.with_id(&original)).await;
            }
            Some(Push::Own(waiting)) => {
                let reply = match (result, error) {
                    (Some(result), _) => Reply::Result(result.to_owned()),
                    (None, error) => Reply::Error(error.unwrap_or("{}").to_owned()),
                };
                // Nobody waits if the question was withdrawn at this moment.
                drop(waiting.send(reply));
            }
            None => tracing::debug!(%id, "dropped a response to no request"),
        }
    }

    async fn client_cancelled(self: &Arc<Self>, params: Option<&str>) {
        let Some(params) = params.and_then(RawObject::parse) else {
            return;
        };
        let Some(id) = params.get("requestId").map(RawId::new) else {
            return;
        };
        self.flows.cancel(&id);
        let calls = self.state.lock().by_client_id.remove(&id);
        for (seq, call) in calls.into_iter().flatten() {
            // Withdraws its questions first, then tells the upstream.
            call.cancelled.cancel();
            // A cancelled request gets no response, and late ones are dropped.
            drop(call.finish(Bytes::new()));
            let upstream_id = call.upstream_id.lock().take();
            {
                let mut state = self.state.lock();
                if let Some(upstream_id) = &upstream_id {
                    state.requests.remove(upstream_id);
                }
                state.close(&call, seq);
            }
            if let Some(upstream_id) = upstream_id {
                let mut params = params.clone();
                params.set("requestId", upstream_id.as_str().to_owned());
                self.cancel_upstream(&upstream_id, &params.to_string())
                    .await;
            }
        }
    }

    /// Tells the upstream that a request is cancelled, in the way of its era.
    pub(crate) async fn cancel_upstream(&self, id: &RawId, params: &str) {
        let pair = self.state.lock().pair;
        let is_modern = matches!(pair, Pair::Modern | Pair::Raised);
        if is_modern && self.upstream_url.is_some() {
            self.upstream.abandon(id);
            return;
        }
        let message = envelope::notification("notifications/cancelled", params);
        self.upstream.send(message).await;
    }

    // ---- from the upstream

    async fn from_upstream(self: &Arc<Self>, text: Bytes, via: Option<RawId>) {
        let envelope = match Envelope::read(&text) {
            Ok(envelope) => envelope,
            Err(error) => {
                return tracing::warn!(%error, "skipped a message of the server");
            }
        };
        match &envelope.kind {
            Kind::Batch => self.client.send(text.to_vec()).await,
            Kind::Response { id, result, error } => {
                let id = RawId::new(id);
                let pending = self.state.lock().requests.remove(&id);
                match pending {
                    Some(Pending::Client(call, seq)) => {
                        self.call_replied(&call, seq, &envelope).await;
                    }
                    Some(Pending::Own(waiting)) => {
                        let reply = match (result, error) {
                            (Some(result), _) => Reply::Result((*result).to_owned()),
                            (None, error) => Reply::Error(error.unwrap_or("{}").to_owned()),
                        };
                        drop(waiting.send(reply));
                    }
                    None => tracing::debug!(%id, "dropped a late response"),
                }
            }
            Kind::Request { id, method, params } => {
                let params = params.unwrap_or("{}");
                self.upstream_asked(&envelope, RawId::new(id), method, params, via)
                    .await;
            }
            Kind::Notification { method, params } => {
                let params = params.unwrap_or("{}");
                self.upstream_notified(&text, method, params, via.as_ref())
                    .await;
            }
        }
    }

    /// Takes the end of a request that has no response of the upstream itself.
    async fn upstream_replied(self: &Arc<Self>, id: &RawId, reply: Reply) {
        let pending = self.state.lock().requests.remove(id);
        match pending {
            Some(Pending::Client(call, seq)) => {
                let message = reply.to_message(&call.id);
                if let Ok(envelope) = Envelope::read(&message) {
                    self.call_replied(&call, seq, &envelope).await;
                }
            }
            Some(Pending::Own(waiting)) => drop(waiting.send(reply)),
            None => {}
        }
    }

    async fn call_replied(self: &Arc<Self>, call: &Arc<Call>, seq: u64, reply: &Envelope<'_>) {
        *call.upstream_id.lock() = None;
        let Kind::Response { result, error, .. } = reply.kind else {
            return;
        };
        let pair = self.state.lock().pair;
        let changed = match pair {
            Pair::Undecided | Pair::Legacy => self.legacy_reply(call, result, error),
            Pair::Modern => self.modern_reply(call, result, error),
            Pair::Raised | Pair::Lowered => Change::Pass,
        };
        if matches!(changed, Change::Held) {
            return;
        }
        self.close_call(call, seq);
        let message = match changed {
            Change::Reply(reply) => reply.to_message(&call.id),
            Change::Pass | Change::Held => reply.with_id(&call.id),
        };
        if let Some(message) = call.finish(message.into()) {
            self.client.send(message.into()).await;
        }
    }

    // ---- tables

    /// Registers a request of the client and returns its message for the upstream. Ids pass as they
    /// are, unless one is in flight already or a peer might repeat it in another spelling.
    pub(crate) fn register(
        &self,
        call: &Arc<Call>,
        envelope: &Envelope<'_>,
    ) -> Result<Vec<u8>, Reply> {
        let mut state = self.state.lock();
        let id = state.open(call)?;
        Ok(if id == call.id {
            envelope.text.as_bytes().to_vec()
        } else {
            envelope.with_id(&id)
        })
    }

    /// Notes a call that the gateway answers itself, so that the client can cancel it.
    pub(crate) fn note_call(&self, call: &Arc<Call>) -> Result<u64, Reply> {
        self.state.lock().note(call)
    }

    /// Answers a call, and forgets it.
    pub(crate) fn respond(&self, call: &Arc<Call>, message: Bytes) {
        self.close_call_of(call);
        if let Some(message) = call.finish(message) {
            self.client.push(message.into());
        }
    }

    /// Forgets a call that was answered with a link: its id is free again.
    pub(crate) fn forget_id(&self, call: &Arc<Call>) {
        let mut state = self.state.lock();
        if let Some(calls) = state.by_client_id.get_mut(&call.id) {
            calls.retain(|(_, other)| !Arc::ptr_eq(other, call));
        }
    }

    fn close_call_of(&self, call: &Arc<Call>) {
        let mut state = self.state.lock();
        let calls = state.by_client_id.get(&call.id);
        let mut calls = calls.into_iter().flatten();
        let seq = calls.find(|(_, other)| Arc::ptr_eq(other, call));
        let seq = seq.map(|(seq, _)| *seq);
        if let Some(seq) = seq {
            state.close(call, seq);
        }
    }

    fn close_call(&self, call: &Arc<Call>, seq: u64) {
        self.state.lock().close(call, seq);
    }

    /// The call that a question of the upstream belongs to, and the one whose result can have a
    /// link.
    pub(crate) fn attribute(&self, via: Option<&RawId>) -> (Option<Arc<Call>>, Option<Arc<Call>>) {
        let state = self.state.lock();
        if let Some(Pending::Client(call, _)) = via.and_then(|id| state.requests.get(id)) {
            return (Some(call.clone()), Some(call.clone()));
        }
        // Calls that wait for an approval are not open at the server yet.
        let is_open = |call: &&Arc<Call>| call.upstream_id.lock().is_some();
        let mut calls = state.asking.values().filter(is_open);
        match (calls.next(), calls.next()) {
            (Some(call), None) => (Some(call.clone()), Some(call.clone())),
            (oldest, _) => (None, oldest.cloned()),
        }
    }

    /// The open calls of the client by the token of their progress reports.
    pub(crate) fn call_of_token(&self, token: &str) -> Option<Arc<Call>> {
        self.state.lock().tokens.get(token).cloned()
    }

    /// Sends a request of ours to the upstream and waits for its response. Dropping the future
    /// cancels it.
    pub(crate) async fn request(&self, method: &str, params: &str) -> Reply {
        self.request_noting(method, params, |_| {}).await
    }

    /// Sends a request of ours, as [`request`](Self::request) does, and tells its id before that.
    pub(crate) async fn request_noting(
        &self,
        method: &str,
        params: &str,
        note: impl FnOnce(&RawId) + Send,
    ) -> Reply {
        let (sender, response) = oneshot::channel();
        let id = {
            let mut state = self.state.lock();
            let id = state.mint();
            state.requests.insert(id.clone(), Pending::Own(sender));
            id
        };
        note(&id);
        let mut guard = RequestGuard {
            session: self,
            id: Some(id.clone()),
        };
        self.upstream
            .send(envelope::request(&id, method, params))
            .await;
        let reply = response.await;
        guard.id = None;
        reply.unwrap_or_else(|_| Reply::may_have_run("the server has exited", "upstream_exited"))
    }

    /// Sends a request of ours to the client and waits for its response. Dropping the future
    /// cancels it, so that a dialog closes.
    pub(crate) async fn ask_client(&self, method: &str, params: &str) -> Reply {
        let (sender, response) = oneshot::channel();
        let id = RawId::text(&self.new_id());
        self.state
            .lock()
            .pushes
            .insert(id.clone(), Push::Own(sender));
        let mut guard = PushGuard {
            session: self,
            id: Some(id.clone()),
        };
        self.client
            .push_first(envelope::request(&id, method, params));
        let reply = response.await;
        guard.id = None;
        reply.unwrap_or_else(|_| Reply::failed("the client is gone", "client_gone"))
    }

    /// Notes that a URL was visited, as its server reports. Returns whether somebody here waits
    /// for it.
    pub(crate) fn note_completed(&self, id: &str) -> bool {
        let mut state = self.state.lock();
        if let Some(waiting) = state.visits.remove(id) {
            return waiting.send(()).is_ok();
        }
        if state.completed.len() == MAX_COMPLETED {
            state.completed.pop_front();
        }
        state.completed.push_back(id.to_owned());
        false
    }

    /// Waits for the report that a URL was visited, which may have come before.
    pub(crate) fn visited(&self, id: &str) -> oneshot::Receiver<()> {
        let (sender, visited) = oneshot::channel();
        let mut state = self.state.lock();
        if let Some(index) = state.completed.iter().position(|done| done == id) {
            state.completed.remove(index);
            // The receiver is right here.
            let _ = sender.send(());
        } else {
            state.visits.insert(id.to_owned(), sender);
        }
        visited
    }

    pub(crate) fn notify_complete(&self, id: &str) {
        let params = format!(r#"{{"elicitationId":{}}}"#, quoted(id));
        let message = envelope::notification("notifications/elicitation/complete", &params);
        self.client.push(message);
    }
}

/// What becomes of a response of the upstream.
pub(crate) enum Change {
    /// It passes as it came.
    Pass,
    /// The client gets this instead.
    Reply(Reply),
    /// The call goes on.
    Held,
}

impl State {
    fn mint(&mut self) -> RawId {
        loop {
            self.next += 1;
            let id = RawId::number(self.next);
            if !self.requests.contains_key(&id) {
                return id;
            }
        }
    }

    fn note(&mut self, call: &Arc<Call>) -> Result<u64, Reply> {
        if self.requests.len() >= MAX_OPEN {
            return Err(Reply::failed("too many requests are open", "busy"));
        }
        self.next += 1;
        let seq = self.next;
        let calls = self.by_client_id.entry(call.id.clone()).or_default();
        calls.push((seq, call.clone()));
        if call.method.may_ask() {
            self.asking.insert(seq, call.clone());
        }
        if let Some(token) = call.token() {
            self.tokens.insert(token, call.clone());
        }
        Ok(seq)
    }

    fn open(&mut self, call: &Arc<Call>) -> Result<RawId, Reply> {
        let seq = self.note(call)?;
        let passes = call.id.is_plain() && !self.requests.contains_key(&call.id);
        let id = if passes { call.id.clone() } else { self.mint() };
        *call.upstream_id.lock() = Some(id.clone());
        self.requests
            .insert(id.clone(), Pending::Client(call.clone(), seq));
        Ok(id)
    }

    /// Sends a call to the upstream once more, under a new id.
    pub(crate) fn reopen(&mut self, call: &Arc<Call>) -> RawId {
        let calls = self.by_client_id.get(&call.id);
        let mut calls = calls.into_iter().flatten();
        let seq = calls.find(|(_, other)| Arc::ptr_eq(other, call));
        let seq = seq.map_or(0, |(seq, _)| *seq);
        let id = self.mint();
        *call.upstream_id.lock() = Some(id.clone());
        self.requests
            .insert(id.clone(), Pending::Client(call.clone(), seq));
        id
    }

    /// Forgets a request that was not sent.
    pub(crate) fn forget_request(&mut self, id: &RawId) {
        self.requests.remove(id);
    }

    fn close(&mut self, call: &Arc<Call>, seq: u64) {
        self.asking.remove(&seq);
        if let Some(calls) = self.by_client_id.get_mut(&call.id) {
            calls.retain(|(other, _)| *other != seq);
            if calls.is_empty() {
                self.by_client_id.remove(&call.id);
            }
        }
        let Some(token) = call.token() else {
            return;
        };
        if call.is_task() {
            // A task reports progress after the response to its call.
            if self.task_tokens.len() == MAX_TASK_TOKENS
                && let Some(oldest) = self.task_tokens.pop_front()
            {
                self.tokens.remove(&oldest);
            }
            self.task_tokens.push_back(token);
        } else if self
            .tokens
            .get(&token)
            .is_some_and(|it| Arc::ptr_eq(it, call))
        {
            self.tokens.remove(&token);
        }
    }
}

/// Cancels a request to the upstream when dropped.
struct RequestGuard<'a> {
    session: &'a Session,
    id: Option<RawId>,
}

impl Drop for RequestGuard<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else {
            return;
        };
        if self.session.state.lock().requests.remove(&id).is_none() {
            return;
        }
        let pair = self.session.state.lock().pair;
        let is_modern = matches!(pair, Pair::Modern | Pair::Raised);
        if is_modern && self.session.upstream_url.is_some() {
            self.session.upstream.abandon(&id);
        } else if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let upstream = self.session.upstream.clone();
            runtime.spawn(async move {
                let params = format!(r#"{{"requestId":{id}}}"#);
                let message = envelope::notification("notifications/cancelled", &params);
                upstream.send(message).await;
            });
        }
    }
}

/// Withdraws a request to the client when dropped.
struct PushGuard<'a> {
    session: &'a Session,
    id: Option<RawId>,
}

impl Drop for PushGuard<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else {
            return;
        };
        if self.session.state.lock().pushes.remove(&id).is_some() {
            let params = format!(r#"{{"requestId":{id}}}"#);
            let message = envelope::notification("notifications/cancelled", &params);
            self.session.client.push(message);
        }
    }
}

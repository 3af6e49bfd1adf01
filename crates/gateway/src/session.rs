//! One client in front of one upstream server: what is open between them, and who gets a message.
//!
//! Two loops read, one from each side. What a message needs besides being passed on, such as a
//! person, runs in tasks of the session.

mod open;
mod tools;

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use entreat_core::UnixTime;
use entreat_core::schema::Era;
use entreat_engine::rate::{Rate, RateLimiter};
use entreat_engine::{Engine, LogThrottle};
use entreat_wire::message::SAMPLE;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::io::AsyncRead;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::open::Pending;
pub(crate) use self::open::{MAX_PUSHED, Push, State, params_with_token};
use self::tools::StructuredTools;
use crate::approvals::Approvals;
use crate::call::{Call, Method, token_in};
use crate::cancellation::{CANCELLED, Cancellation};
use crate::capability::Capabilities;
use crate::client::ClientSender;
use crate::envelope::{Envelope, Kind, RawId};
use crate::era::UpstreamEra;
use crate::flow::Flows;
use crate::gateway::{Gateway, Upstream};
use crate::incoming::{self, Incoming};
use crate::log::cut;
use crate::lowered::Lowered;
use crate::memory::{Account, Reservation};
use crate::observe::Observed;
use crate::page_asker::PageAsker;
use crate::param_headers::ToolHeaders;
use crate::policy::Policy;
use crate::raised::Raised;
use crate::random;
use crate::reply::Reply;
use crate::settings::GatewaySettings;
use crate::side::lines::{Line, LineSource};
use crate::side::{Closed, UpstreamEvent, UpstreamReceiver};
use crate::trace::{Side, TracedSender};
use crate::trust::{ClientKey, Trust};

/// How many requests of the upstream are worked on here at once.
const MAX_SERVED: usize = 1_000;
/// How many messages of a client of several upstreams wait for one that does not read.
const MAX_ASIDE: usize = 1_000;
/// The largest question of an upstream, in bytes of its parameters.
pub(crate) const MAX_QUESTION: usize = 1 << 20;
/// The longest id of a request of an upstream, and the longest token for reports on it, in bytes.
pub(crate) const MAX_ID: usize = 1 << 10;
/// The answer of somebody who has no roots.
pub(crate) const NO_ROOTS: &str = r#"{"roots":[]}"#;
/// The longest handshake of either side, in bytes: what it says is kept with the session.
pub(crate) const MAX_HANDSHAKE: usize = 256 << 10;
/// Up to this size, the text of a call is copied: it shares memory with its neighbours, which would
/// stay as long as the call.
const COPIED: usize = 64 << 10;

/// Who is behind a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// Who calls, by key or by being on this machine: everything of a session belongs to it.
    pub principal: String,
    /// Who answers questions, where people have names.
    pub respondent: Option<String>,
    /// Whether the person is at this machine, so that its browser is theirs.
    pub is_here: bool,
}

/// The principal of whoever is at this machine.
pub(crate) const HERE: &str = "local";

impl Person {
    /// The person whose program this is: the client has started it, or runs beside it.
    pub fn here() -> Self {
        Self {
            principal: HERE.to_owned(),
            respondent: None,
            is_here: true,
        }
    }
}

/// A client in front of an upstream.
pub(crate) struct Session {
    pub(crate) gateway: Arc<Gateway>,
    /// Where messages go that belong to no request of the client.
    pub(crate) client: ClientSender,
    pub(crate) upstream: TracedSender,
    pub(crate) upstream_url: Option<String>,
    /// What the upstream is called until it says its name.
    pub(crate) fallback_name: String,
    /// Whether a person has chosen that name.
    is_named: bool,
    /// Who is behind the client.
    pub(crate) person: Person,
    /// Where this person is asked what the client cannot show.
    pub(crate) page_asker: PageAsker,
    /// What the upstream may offer and ask.
    pub(crate) policy: Policy,
    /// Which versions the upstream is spoken to in.
    pub(crate) era: UpstreamEra,
    /// What is known of the upstream, if anybody wants to know.
    pub(crate) observed: Option<Arc<Observed>>,
    /// Whether the last page of a list of tools has gone by.
    has_listed: AtomicBool,
    /// When the upstream was last asked for its tools in vain.
    list_failed: Mutex<Option<UnixTime>>,
    /// Held while it is found out which versions both sides speak.
    negotiating: tokio::sync::Mutex<()>,
    /// Makes ids of requests to the client unlike those of the upstream.
    prefix: String,
    counter: AtomicU64,
    pub(crate) state: Mutex<State>,
    pub(crate) flows: Flows,
    pub(crate) raised: Raised,
    pub(crate) lowered: Lowered,
    pub(crate) approvals: Approvals,
    structured: StructuredTools,
    /// The arguments that clients over HTTP repeat in headers.
    pub(crate) param_headers: ToolHeaders,
    rate: Option<RateLimiter>,
    /// The memory of the principal.
    pub(crate) memory: Account,
    /// Log lines about what the peers do wrong.
    log: LogThrottle<&'static str>,
    /// Places for requests of the upstream that are worked on here.
    serving: Arc<Semaphore>,
    /// Places for messages of a client of several upstreams that wait for this one.
    aside: Arc<Semaphore>,
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

/// What becomes of a response of the upstream.
pub(crate) enum Change {
    /// It passes as it came.
    Pass,
    /// The client gets this instead.
    Reply(Reply),
    /// The call goes on.
    Held,
}

/// A place for a request of the upstream, and the memory of that.
pub(crate) struct ServingSlot {
    _permit: OwnedSemaphorePermit,
    _reservation: Reservation,
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
        client: ClientSender,
        upstream: &Upstream,
        person: Person,
    ) -> Arc<Self> {
        let Upstream {
            sender,
            name,
            is_named,
            url,
            policy,
            era,
            ..
        } = upstream;
        let digits = random::name::<8>(gateway.page_asker.asker.engine());
        let per_minute = policy.questions_per_minute;
        let per_minute = per_minute.unwrap_or(gateway.settings.questions_per_minute);
        let rate = NonZeroU32::new(per_minute);
        let observed = gateway.observer.as_ref().map(|all| all.of(name));
        if let Some(observed) = &observed {
            observed.note_pins(policy.pins.as_ref());
        }
        let memory = gateway.memory.for_client(&client, &person);
        sender.count_memory(&memory);
        Arc::new(Self {
            client,
            upstream: TracedSender::new(sender.clone(), gateway.trace.clone()),
            observed,
            upstream_url: url.clone(),
            fallback_name: name.clone(),
            is_named: *is_named,
            page_asker: gateway.page_asker.for_person(&person),
            person,
            policy: policy.clone().for_session(),
            era: *era,
            has_listed: AtomicBool::new(false),
            list_failed: Mutex::default(),
            negotiating: tokio::sync::Mutex::default(),
            prefix: format!("e-{digits}-"),
            counter: AtomicU64::new(0),
            state: Mutex::default(),
            flows: Flows::new(&gateway.settings),
            raised: Raised::default(),
            lowered: Lowered::default(),
            approvals: Approvals::default(),
            structured: StructuredTools::default(),
            param_headers: ToolHeaders::default(),
            rate: rate.map(|count| RateLimiter::new(Rate::per_minute(count))),
            memory,
            log: LogThrottle::default(),
            serving: Arc::new(Semaphore::new(MAX_SERVED)),
            aside: Arc::new(Semaphore::new(MAX_ASIDE)),
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
                    Ok(Some(line)) => {
                        if let Line::Message(text) = &line {
                            self.upstream.trace_received(Side::Client, text);
                        }
                        let incoming = Incoming::of_line(line, &self.client);
                        self.take(incoming, &self.client).await;
                    }
                    Ok(None) => return Ended::ByClient,
                    Err(error) => {
                        tracing::warn!(%error, "reading from the client failed");
                        return Ended::ByClient;
                    }
                }
            }
        };
        tokio::select! {
            ended = client => ended,
            closed = self.read_upstream(receiver) => Ended::ByUpstream(closed),
        }
    }

    /// Takes what the upstream sends, until it ends.
    pub(crate) async fn read_upstream(self: &Arc<Self>, receiver: &mut UpstreamReceiver) -> Closed {
        loop {
            match receiver.next().await {
                UpstreamEvent::Message { text, via } => {
                    self.upstream.trace_received(Side::Server, &text);
                    self.from_upstream(text, via).await;
                }
                UpstreamEvent::Failed { id, failure } => {
                    self.warn("a request got no response", &failure);
                    if let Some(observed) = &self.observed {
                        observed.note_error(self.engine().now(), failure.to_string());
                    }
                    self.upstream_replied(&id, failure.into()).await;
                }
                UpstreamEvent::Renewed => self.upstream_renewed().await,
                UpstreamEvent::Closed(closed) => return closed,
            }
        }
    }

    /// Ends what is open: requests get errors, questions are withdrawn.
    pub(crate) async fn end(&self) {
        let requests = self.state.lock().end();
        let gone = Reply::upstream_exited_meanwhile();
        for pending in requests.into_values() {
            match pending {
                Pending::Client(call, _) => {
                    self.reply(&call, &gone);
                }
                Pending::Own(waiting) => drop(waiting.send(gone.clone())),
            }
        }
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        // Calls that tasks of the session have answered until now.
        let held = std::mem::take(&mut self.state.lock().by_client_id);
        for (_, call) in held.into_values().flatten() {
            self.reply(&call, &gone);
        }
        if let Some(observed) = &self.observed {
            observed.note_era(self.upstream_era());
        }
    }

    /// Whether anything is open that somebody waits for, or may come back to.
    pub(crate) fn is_busy(&self) -> bool {
        let state = self.state.lock();
        let has_open = !state.requests.is_empty()
            || !state.by_client_id.is_empty()
            || !state.asks.is_empty()
            || state.links.values().any(|(_, call)| !call.is_over());
        has_open || self.flows.has_open()
    }

    /// Writes to the log what a peer does wrong: one line for each reason in some seconds, so that
    /// it does not fill the log.
    pub(crate) fn warn(&self, what: &'static str, detail: impl fmt::Display) {
        if tracing::enabled!(tracing::Level::WARN)
            && let Some(count) = self.count_for_log(what)
        {
            let server = &self.fallback_name;
            let detail = cut(detail);
            tracing::warn!(%server, %detail, count, "{what}");
        }
    }

    /// Counts something for the log. Returns how many times a line has to report; `None` if there
    /// was a line a moment ago.
    pub(crate) fn count_for_log(&self, what: &'static str) -> Option<u64> {
        self.log.count(what, self.engine().now())
    }

    pub(crate) fn settings(&self) -> &GatewaySettings {
        &self.gateway.settings
    }

    pub(crate) fn engine(&self) -> &Engine {
        self.gateway.page_asker.asker.engine()
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

    /// The upstream's name, as it says it itself, behind the one that a person has chosen: any
    /// server can call itself as another does.
    pub(crate) fn server_name(&self) -> String {
        let known = &self.fallback_name;
        match self.state.lock().upstream_name.clone() {
            Some(own) if self.is_named && own != *known => format!("{known}: {own}"),
            Some(own) => own,
            None => known.clone(),
        }
    }

    pub(crate) fn trust(&self, client: &ClientKey) -> Trust {
        self.state.lock().clients.trust(client)
    }

    pub(crate) fn set_trust(&self, client: &ClientKey, change: impl FnOnce(&mut Trust)) {
        self.state.lock().clients.note(client, change);
    }

    pub(crate) fn new_id(&self) -> String {
        let number = self.counter.fetch_add(1, Ordering::Relaxed);
        format!("{}{number}", self.prefix)
    }

    /// Runs work that ends with the session.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        // Boxed: whatever wraps a future has room for it several times.
        let work = Box::pin(work);
        self.tasks.spawn(async move {
            stop.run_until_cancelled(work).await;
        });
    }

    /// Counts a question towards the upstream's rate; returns what it gets beyond that.
    pub(crate) fn admit_question(&self) -> Option<Reply> {
        let limit = self.rate.as_ref()?;
        limit.check(self.engine().now()).err().map(|_| {
            self.warn("the server asks too often", "its question was refused");
            Reply::failed(
                "this server asks too often; try again later",
                "rate_limited",
            )
        })
    }

    /// Takes a place for a request of the upstream that is worked on here. Without one, or if the
    /// request is too large, the upstream gets an error, and nothing more is read from it until it
    /// has taken that.
    pub(crate) async fn serve(
        &self,
        id: &RawId,
        method: &str,
        params: &str,
    ) -> Option<ServingSlot> {
        let refusal = if params.len() > MAX_QUESTION && method != SAMPLE {
            Reply::question_too_large()
        } else {
            let permit = self.serving.clone().try_acquire_owned().ok();
            if let Some(permit) = permit
                && let Some(reservation) = self.memory.reserve(params.len())
            {
                return Some(ServingSlot {
                    _permit: permit,
                    _reservation: reservation,
                });
            }
            Reply::too_many_requests()
        };
        self.reply_upstream(id, &refusal).await;
        None
    }

    /// Answers a request of the upstream.
    pub(crate) async fn reply_upstream(&self, id: &RawId, reply: &Reply) {
        self.upstream.send(reply.to_message(id)).await;
    }

    // ---- from the client

    /// Takes what the client has sent; `via` is where the response to a request goes.
    pub(crate) async fn from_client(self: &Arc<Self>, text: Bytes, via: &ClientSender) {
        self.take(Incoming::read(text, via), via).await;
    }

    /// Whether what the client sends may have to wait for the upstream.
    pub(crate) fn makes_clients_wait(&self) -> bool {
        self.must_list() || self.upstream.is_congested()
    }

    /// Refuses messages of the client that would have to wait: there is no memory for them.
    pub(crate) fn refuse_all(&self, messages: &[Bytes], via: &ClientSender) {
        for text in messages {
            match Envelope::read(text).map(|envelope| envelope.kind) {
                Ok(Kind::Request { id, .. }) => {
                    let busy = Reply::too_many_calls();
                    via.reply(&RawId::new(id), &busy);
                }
                _ => self.warn("dropped a message", "the server does not read"),
            }
        }
    }

    /// Takes what a client of several upstreams has sent. If this one has it wait, that goes on in
    /// a task, so that no other upstream waits too. Returns whether there was room for that.
    pub(crate) async fn take_aside(self: &Arc<Self>, text: Bytes, via: &ClientSender) -> bool {
        if !self.makes_clients_wait() {
            self.from_client(text, via).await;
            return true;
        }
        let place = self.aside.clone().try_acquire_owned().ok();
        let reservation = self.memory.reserve(text.len());
        let (Some(place), Some(reservation)) = (place, reservation) else {
            return false;
        };
        let (session, via) = (self.clone(), via.clone());
        self.spawn(async move {
            session.from_client(text, &via).await;
            drop((place, reservation));
        });
        true
    }

    async fn take(self: &Arc<Self>, incoming: Incoming, via: &ClientSender) {
        match incoming {
            Incoming::One(text) => self.client_sent(text, via).await,
            Incoming::Several { messages, via } => {
                for text in messages {
                    self.client_sent(text, &via).await;
                }
            }
            Incoming::Nothing => {}
        }
    }

    /// Takes a single message of the client.
    async fn client_sent(self: &Arc<Self>, text: Bytes, via: &ClientSender) {
        let Some(envelope) = incoming::message(&text, via) else {
            return;
        };
        let watched = self.watch(&envelope, via);
        let (changed, via) = match &watched {
            Some((changed, via)) => (changed.as_ref(), via),
            None => (None, via),
        };
        let (text, envelope) = match changed.map(|text| (text, Envelope::read(text))) {
            Some((text, Ok(envelope))) => (text, envelope),
            Some((_, Err(_))) | None => (&text, envelope),
        };
        match &envelope.kind {
            // It was refused: messages are taken apart before.
            Kind::Batch => {}
            Kind::Notification { method, .. }
                if method == Method::CallTool.name()
                    && (self.needs_approval() || !self.policy.offers_all()) =>
            {
                self.warn("dropped a call", "it has no id, so nobody can refuse it");
            }
            Kind::Response { id, result, error } => {
                self.client_replied(id, &envelope, *result, *error).await;
            }
            Kind::Notification { method, params } if method == CANCELLED => {
                Box::pin(self.client_cancelled(*params)).await;
            }
            Kind::Notification { method, .. } => {
                let pair = self.state.lock().pair;
                match pair {
                    Pair::Undecided | Pair::Legacy | Pair::Modern => {
                        self.upstream.send(text.to_vec()).await;
                    }
                    Pair::Raised => self.raised_notification(method),
                    Pair::Lowered => {}
                }
            }
            Kind::Request { id, method, params } => {
                let params = params.unwrap_or("{}");
                let token = token_in(params);
                let Some(reservation) = self.memory.reserve(text.len()) else {
                    let busy = Reply::too_many_calls();
                    return via.reply(&RawId::new(id), &busy);
                };
                let kept = if text.len() <= COPIED {
                    Bytes::copy_from_slice(text)
                } else {
                    text.clone()
                };
                let call = Call::new(
                    RawId::new(id),
                    Method::of(method),
                    kept,
                    token.as_deref(),
                    via.clone(),
                    (self.memory.clone(), Some(reservation)),
                );
                self.end_with_its_stream(&call);
                let mut pair = self.pair_of_next();
                let negotiating = if pair == Pair::Undecided {
                    let guard = self.negotiating.lock().await;
                    pair = self.state.lock().pair;
                    Some(guard)
                } else {
                    None
                };
                if call.method == Method::CallTool
                    && let Some(refusal) = self.refuse_call(pair, params).await
                {
                    return call.reply(&refusal);
                }
                match (pair, call.method) {
                    (_, Method::Initialize) => {
                        Box::pin(self.initialize(call, &envelope, params)).await;
                    }
                    (Pair::Undecided, _) if crate::meta::is_modern(params) => {
                        Box::pin(self.first_modern(call, method, params)).await;
                    }
                    (Pair::Undecided | Pair::Legacy, _) => {
                        self.legacy_request(call, &envelope, params).await;
                    }
                    (Pair::Modern, _) => self.modern_request(call, &envelope, params).await,
                    (Pair::Raised, _) => {
                        self.raised_request(&call, &envelope, method, params).await;
                    }
                    (Pair::Lowered, _) => {
                        self.lowered_request(&call, &envelope, method, params).await;
                    }
                }
                drop(negotiating);
            }
        }
    }

    async fn client_replied(
        &self,
        id: &str,
        envelope: &Envelope<'_>,
        result: Option<&str>,
        error: Option<&str>,
    ) {
        let push = self.state.lock().pushes.remove(id);
        match push {
            Some(Push::Upstream(original, _)) => {
                self.upstream.send(envelope.with_id(&original)).await;
            }
            Some(Push::Own(waiting)) => {
                // Nobody waits if the question was withdrawn at this moment.
                drop(waiting.send(Reply::of_response(result, error)));
            }
            None => tracing::debug!(id, "dropped a response to no request"),
        }
    }

    async fn client_cancelled(self: &Arc<Self>, params: Option<&str>) {
        let Some(cancellation) = params.and_then(Cancellation::read) else {
            return;
        };
        self.flows.cancel(&cancellation.id);
        let calls = self.state.lock().by_client_id.remove(&cancellation.id);
        for (seq, call) in calls.into_iter().flatten() {
            self.cancel_call(&call, seq, cancellation.clone()).await;
        }
    }

    /// Cancels a call here and at the upstream, which gets the cancellation with its own id.
    async fn cancel_call(&self, call: &Arc<Call>, seq: u64, cancellation: Cancellation<'_>) {
        // Withdraws its questions first, then tells the upstream.
        call.cancelled.cancel();
        // A cancelled request gets no response, and late ones are dropped.
        if call.finish(Bytes::new()).is_some() {
            call.client.forgo();
        }
        let upstream_id = call.upstream_id.lock().take();
        {
            let mut state = self.state.lock();
            if let Some(upstream_id) = &upstream_id {
                state.requests.remove(upstream_id);
            }
            state.close(call, seq);
        }
        if let Some(upstream_id) = upstream_id {
            self.cancel_upstream(&cancellation.passed_on_as(&upstream_id))
                .await;
        }
    }

    /// Cancels a call when its stream is closed, where that is how calls are cancelled.
    fn end_with_its_stream(self: &Arc<Self>, call: &Arc<Call>) {
        if call.client.cancelling().is_none() {
            return;
        }
        let (session, weak) = (Arc::downgrade(self), Arc::downgrade(call));
        call.client.when_abandoned(move || {
            let runtime = tokio::runtime::Handle::try_current();
            let (Some(session), Some(call), Ok(_)) = (session.upgrade(), weak.upgrade(), runtime)
            else {
                return;
            };
            session.clone().spawn(async move {
                session.flows.let_go(&call);
                let is_open = session.state.lock().is_noted(&call);
                if is_open && let Some(seq) = call.seq() {
                    let cancellation = Cancellation::of(&call.id);
                    session.cancel_call(&call, seq, cancellation).await;
                }
            });
        });
    }

    /// Tells the upstream that a request is cancelled, in the way of its era.
    async fn cancel_upstream(&self, cancellation: &Cancellation<'_>) {
        if self.cancels_by_closing() {
            return self.upstream.abandon(&cancellation.id);
        }
        self.upstream.send(cancellation.to_message()).await;
    }

    /// Whether a request to the upstream is cancelled by closing its stream: over HTTP, since
    /// 2026-07-28.
    fn cancels_by_closing(&self) -> bool {
        let pair = self.state.lock().pair;
        matches!(pair, Pair::Modern | Pair::Raised) && self.upstream_url.is_some()
    }

    // ---- from the upstream

    async fn from_upstream(self: &Arc<Self>, text: Bytes, via: Option<RawId>) {
        let envelope = match Envelope::read(&text) {
            Ok(envelope) => envelope,
            Err(error) => {
                return self.warn("skipped a message of the server", error);
            }
        };
        match &envelope.kind {
            Kind::Batch => {
                let messages: Vec<&RawValue> =
                    serde_json::from_str(envelope.text).unwrap_or_default();
                for message in messages {
                    let message = Bytes::copy_from_slice(message.get().as_bytes());
                    if message.starts_with(b"[") {
                        self.warn("skipped a message of the server", "a batch in a batch");
                        continue;
                    }
                    Box::pin(self.from_upstream(message, via.clone())).await;
                }
            }
            Kind::Response { id, result, error } => {
                let pending = self.state.lock().requests.remove(*id);
                match pending {
                    Some(Pending::Client(call, seq)) => {
                        self.end_answers(call.take_answers());
                        self.call_replied(&call, seq, &envelope).await;
                    }
                    Some(Pending::Own(waiting)) => {
                        drop(waiting.send(Reply::of_response(*result, *error)));
                    }
                    None => tracing::debug!(id, "dropped a late response"),
                }
            }
            Kind::Request { id, method, params } => {
                let params = params.unwrap_or("{}");
                // Boxed, as all that is rarer than responses.
                Box::pin(self.upstream_asked(&envelope, RawId::new(id), method, params, via)).await;
            }
            Kind::Notification { method, params } => {
                let params = params.unwrap_or("{}");
                Box::pin(self.upstream_notified(&text, method, params, via.as_ref())).await;
            }
        }
    }

    /// Takes the end of a request that has no response of the upstream itself.
    async fn upstream_replied(self: &Arc<Self>, id: &RawId, reply: Reply) {
        let pending = self.state.lock().requests.remove(id);
        match pending {
            Some(Pending::Client(call, seq)) => {
                let message = reply.to_message(&call.id);
                self.answers_used(&reply, call.take_answers());
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
        call.client.come_back();
        let Kind::Response { result, error, .. } = reply.kind else {
            return;
        };
        let pair = self.state.lock().pair;
        let explained = error.and_then(|error| self.with_remedy(error));
        let changed = match (explained, pair) {
            (Some(error), _) => Change::Reply(Reply::Error(error)),
            (None, Pair::Undecided | Pair::Legacy) => self.legacy_reply(call, result, error),
            (None, Pair::Modern) => self.modern_reply(call, result, error),
            (None, Pair::Raised) => self.raised_reply(call, result, error),
            (None, Pair::Lowered) => self.lowered_reply(call, result, error),
        };
        if matches!(changed, Change::Held) {
            return call.client.leave();
        }
        self.close_call(call, seq);
        let message = match changed {
            Change::Reply(reply) => reply.to_message(&call.id),
            Change::Pass | Change::Held => reply.with_id(&call.id),
        };
        if let Some(message) = call.finish(message.into()) {
            call.client.send_response(message.into()).await;
        }
    }
}

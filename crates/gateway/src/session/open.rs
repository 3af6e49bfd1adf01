//! What is open in a session: requests of either side, and what is known of each.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use entreat_core::schema::Era;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{ClientInfo, Pair, Session};
use crate::call::Call;
use crate::cancellation::Cancellation;
use crate::client::ClientSender;
use crate::envelope::{self, Envelope, RawId};
use crate::json::{RawObject, quoted};
use crate::lost_answers::DeliveredAnswer;
use crate::reply::Reply;
use crate::trust::Clients;

/// The maximum number of requests of a client that are open at once.
const MAX_OPEN: usize = 10_000;
/// The maximum number of those that have one id.
const MAX_SAME_ID: usize = 100;
/// The longest id of a URL visit, in bytes.
const MAX_VISIT_ID: usize = 1 << 10;
/// How many finished URL visits are remembered until somebody asks for them.
const MAX_COMPLETED: usize = 256;
/// How long a request waits for a client over HTTP that reads no stream.
const UNREAD: Duration = Duration::from_secs(10);
/// The maximum number of tools that a question may be of, if it is not clear which asks.
const MAX_TARGETS: usize = 8;
/// How many progress tokens are remembered for calls that outlive their response.
const MAX_TASK_TOKENS: usize = 1_000;

#[derive(Default)]
pub(crate) struct State {
    pub(crate) pair: Pair,
    pub(crate) client: Arc<ClientInfo>,
    pub(crate) upstream_name: Option<String>,
    pub(crate) upstream_era: Option<Era>,
    pub(super) clients: Clients,
    /// Requests to the upstream that have no response.
    pub(super) requests: HashMap<RawId, Pending>,
    /// Whether the upstream is gone: nobody would end a further request to it.
    has_ended: bool,
    /// Requests to the client that have no response.
    pub(crate) pushes: HashMap<RawId, Push>,
    /// The upstream's questions that are being asked, by its ids.
    pub(crate) asks: HashMap<RawId, CancellationToken>,
    /// Open calls on which a server may ask, in their order.
    pub(super) asking: BTreeMap<u64, Arc<Call>>,
    /// Open calls by the client's id, which it may use twice.
    pub(super) by_client_id: HashMap<RawId, Vec<(u64, Arc<Call>)>>,
    pub(super) tokens: HashMap<Box<str>, Arc<Call>>,
    /// Tokens of calls that go on as tasks.
    pub(super) task_tokens: VecDeque<Box<str>>,
    pub(super) next: u64,
    /// Visits of URLs that were reported before somebody waited for them.
    pub(super) completed: VecDeque<String>,
    pub(super) visits: HashMap<String, oneshot::Sender<()>>,
    /// The name of the tool that resumes calls, once it was offered.
    pub(crate) resume: Option<&'static str>,
    /// Calls behind links, by handle and in their order.
    pub(crate) links: BTreeMap<u64, (String, Arc<Call>)>,
}

/// Whose request is open at the upstream.
pub(super) enum Pending {
    Client(Arc<Call>, u64),
    Own(oneshot::Sender<Reply>),
}

/// How many requests of the upstream may be open at the client.
pub(crate) const MAX_PUSHED: usize = 1_000;

/// A call and its place in the order of calls.
pub(crate) type PlacedCall = (u64, Arc<Call>);

/// Whose request is open at the client.
pub(crate) enum Push {
    /// The upstream's, by its id there, and where the request went.
    Upstream(RawId, ClientSender),
    Own(oneshot::Sender<Reply>),
}

impl Session {
    /// Registers a request of the client and returns its message for the upstream, with other
    /// parameters if there are any. Ids pass as they are, unless one is in flight already or a peer
    /// might repeat it in another spelling.
    pub(crate) fn register(
        &self,
        call: &Arc<Call>,
        envelope: &Envelope<'_>,
        params: Option<&str>,
    ) -> Result<Vec<u8>, Reply> {
        let id = self.state.lock().open(call)?;
        let message = match params {
            Some(params) => {
                let message = envelope.with_params(params);
                let other = (id != call.id).then(|| Envelope::read(&message).ok());
                other.flatten().map(|it| it.with_id(&id)).unwrap_or(message)
            }
            None => envelope.with_id(&id),
        };
        Ok(match call.upstream_token() {
            Some(token) => with_token(&message, &token).unwrap_or(message),
            None => message,
        })
    }

    /// Sends a call under a new id to an upstream that does not have it, or not any more.
    pub(crate) async fn send_again(&self, call: &Arc<Call>) {
        let Ok(envelope) = Envelope::read(&call.message) else {
            return;
        };
        let id = self.state.lock().reopen(call);
        // Cancelled before it was open at the server: then nobody else has closed it.
        if call.cancelled.is_cancelled() {
            return self.state.lock().forget_request(&id);
        }
        let message = envelope.with_id(&id);
        let token = call.upstream_token();
        let message = token
            .and_then(|token| with_token(&message, &token))
            .unwrap_or(message);
        self.upstream.send(message).await;
    }

    /// Takes over the request of a call that is open at the upstream: its response comes here.
    /// `None` if it is not open any more.
    pub(crate) fn take_over(&self, call: &Arc<Call>) -> Option<(RawId, oneshot::Receiver<Reply>)> {
        let (sender, response) = oneshot::channel();
        let mut state = self.state.lock();
        let id = call.upstream_id.lock().take()?;
        match state.requests.get_mut(&id)? {
            pending @ Pending::Client(..) => *pending = Pending::Own(sender),
            Pending::Own(_) => return None,
        }
        Some((id, response))
    }

    /// Waits for the response to a request that is open at the upstream, or is about to be. Dropping
    /// the future cancels the request, also before it was polled.
    pub(crate) fn response(
        &self,
        id: RawId,
        response: oneshot::Receiver<Reply>,
    ) -> impl Future<Output = Reply> + Send {
        let guard = RequestGuard {
            session: self,
            id: Some(id),
        };
        async move {
            let mut guard = guard;
            let reply = response.await;
            guard.id = None;
            reply.unwrap_or_else(|_| Reply::upstream_exited_meanwhile())
        }
    }

    /// Notes a call that the gateway answers itself, so that the client can cancel it.
    pub(crate) fn note_call(&self, call: &Arc<Call>) -> Result<u64, Reply> {
        self.state.lock().note(call)
    }

    /// Answers a call, and forgets it.
    pub(crate) fn reply(&self, call: &Arc<Call>, reply: &Reply) {
        self.respond(call, reply.to_message(&call.id).into());
    }

    /// Passes the response to a call, and forgets the call.
    pub(crate) fn respond(&self, call: &Arc<Call>, message: Bytes) {
        self.close_call_of(call);
        if let Some(message) = call.finish(message) {
            call.client.respond(message.into());
        }
    }

    /// Forgets a call that was answered with a link: its id is free again.
    pub(crate) fn forget_id(&self, call: &Arc<Call>) {
        let mut state = self.state.lock();
        if let Some(calls) = state.by_client_id.get_mut(&call.id) {
            calls.retain(|(_, other)| !Arc::ptr_eq(other, call));
            if calls.is_empty() {
                state.by_client_id.remove(&call.id);
            }
        }
    }

    fn close_call_of(&self, call: &Arc<Call>) {
        let mut state = self.state.lock();
        if let Some(seq) = call.seq() {
            state.close(call, seq);
        }
    }

    pub(super) fn close_call(&self, call: &Arc<Call>, seq: u64) {
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

    /// The call of this request at the upstream on which it may ask, and the first two of all such
    /// calls that are open there, in their order.
    pub(crate) fn open_at_upstream(
        &self,
        via: Option<&RawId>,
    ) -> (Option<Arc<Call>>, Vec<PlacedCall>) {
        let state = self.state.lock();
        if let Some(Pending::Client(call, _)) = via.and_then(|id| state.requests.get(id))
            && call.method.may_ask()
        {
            return (Some(call.clone()), Vec::new());
        }
        let is_open = |(_, call): &(&u64, &Arc<Call>)| call.upstream_id.lock().is_some();
        let open = state.asking.iter().filter(is_open).take(2);
        (None, open.map(|(seq, call)| (*seq, call.clone())).collect())
    }

    /// The open call of the client with this id at the upstream.
    pub(crate) fn call_at_upstream(&self, id: &RawId) -> Option<Arc<Call>> {
        match self.state.lock().requests.get(id)? {
            Pending::Client(call, _) => Some(call.clone()),
            Pending::Own(_) => None,
        }
    }

    /// What the calls are of that are open at the server.
    pub(crate) fn targets(&self) -> Vec<String> {
        let flows = self.lowered.open_calls();
        let flows = flows.iter().map(|flow| flow.target.clone());
        let calls = self.open_calls();
        let calls = calls.iter().map(|call| call.target());
        let mut targets: Vec<String> = flows.chain(calls).collect();
        targets.sort_unstable();
        targets.dedup();
        targets.truncate(MAX_TARGETS);
        if targets.is_empty() {
            targets.push(String::new());
        }
        targets
    }

    /// The calls on which a server may ask that are open there.
    fn open_calls(&self) -> Vec<Arc<Call>> {
        let calls: Vec<_> = self.state.lock().asking.values().cloned().collect();
        let is_open = |call: &Arc<Call>| call.upstream_id.lock().is_some();
        calls.into_iter().filter(is_open).collect()
    }

    /// Notes an answer that the server gets, on all calls that it may belong to.
    pub(crate) fn note_answer(&self, answer: Arc<DeliveredAnswer>) {
        for flow in self.lowered.open_calls() {
            flow.note_answer(answer.clone());
        }
        for call in self.open_calls() {
            call.note_answer(answer.clone());
        }
        // If there are none, nothing else can be lost.
        self.end_answers(vec![answer]);
    }

    /// Notes how a call has ended on which the server got these answers.
    pub(crate) fn answers_used(&self, reply: &Reply, answers: Vec<Arc<DeliveredAnswer>>) {
        if reply.is_lost() {
            for answer in &answers {
                answer.lose();
            }
        }
        self.end_answers(answers);
    }

    /// Notes that a call has ended on which the server got these answers.
    pub(crate) fn end_answers(&self, answers: Vec<Arc<DeliveredAnswer>>) {
        if !answers.is_empty() {
            let lost_answers = self.page_asker.lost_answers.clone();
            self.spawn(async move { lost_answers.ended(answers).await });
        }
    }

    /// Whether a request has no response of the upstream yet.
    pub(crate) fn is_open_at_upstream(&self, id: &RawId) -> bool {
        self.state.lock().requests.contains_key(id)
    }

    /// Reports progress on a call while a person answers; if it is not clear on which, on all on
    /// which the server may be asking.
    pub(crate) fn keep_alive(&self, call: Option<&Arc<Call>>) {
        match call {
            Some(call) => call.keep_alive(),
            None => self.open_calls().iter().for_each(|call| call.keep_alive()),
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
            if state.has_ended {
                return Reply::upstream_exited();
            }
            let id = state.mint();
            state.requests.insert(id.clone(), Pending::Own(sender));
            id
        };
        note(&id);
        let message = envelope::request(&id, method, params);
        let response = self.response(id, response);
        self.upstream.send(message).await;
        response.await
    }

    /// Sends a request of ours to the client and waits for its response. Dropping the future
    /// cancels it, so that a dialog closes.
    ///
    /// Over HTTP it leaves on the stream of the call that it belongs to.
    pub(crate) async fn ask_client(
        &self,
        call: Option<&Arc<Call>>,
        method: &str,
        params: &str,
    ) -> Reply {
        let client = &match call {
            Some(call) => call.client.clone(),
            None => self.general_client(),
        };
        let (sender, response) = oneshot::channel();
        let id = RawId::text(&self.new_id());
        self.state
            .lock()
            .pushes
            .insert(id.clone(), Push::Own(sender));
        let mut guard = PushGuard {
            session: self,
            client,
            id: Some(id.clone()),
        };
        client.push_first(envelope::request(&id, method, params));
        let unread = async {
            tokio::select! {
                biased;
                () = client.begins_to_read() => std::future::pending().await,
                () = self.sleep(UNREAD) => {}
            }
        };
        let reply = tokio::select! {
            biased;
            reply = response => reply,
            () = unread => return Reply::unread(),
        };
        guard.id = None;
        reply.unwrap_or_else(|_| Reply::client_gone())
    }

    /// Notes that a URL was visited, as its server reports. Returns whether somebody here waits
    /// for it.
    pub(crate) fn note_completed(&self, id: &str) -> bool {
        if id.len() > MAX_VISIT_ID {
            return false;
        }
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

    /// Where a message of the upstream goes that came on the stream of a request.
    pub(crate) fn client_of(&self, via: Option<&RawId>) -> ClientSender {
        let state = self.state.lock();
        match via.and_then(|id| state.requests.get(id)) {
            Some(Pending::Client(call, _)) => call.client.clone(),
            Some(Pending::Own(_)) | None => self.client.clone(),
        }
    }

    /// Where a message goes that belongs to no call: over HTTP, a client may read no stream but those
    /// of its calls.
    pub(crate) fn general_client(&self) -> ClientSender {
        if self.client.is_read() {
            return self.client.clone();
        }
        let state = self.state.lock();
        let oldest = state.asking.values().next();
        oldest.map_or_else(|| self.client.clone(), |call| call.client.clone())
    }

    /// Where what belongs to an earlier message goes: the same way, while the client reads there.
    pub(crate) fn still_read(&self, client: ClientSender) -> ClientSender {
        if client.is_read() {
            client
        } else {
            self.general_client()
        }
    }

    /// Waits for the report that a URL was visited, which may have come before.
    pub(crate) fn visited(&self, id: &str) -> oneshot::Receiver<()> {
        let (sender, visited) = oneshot::channel();
        let mut state = self.state.lock();
        if let Some(index) = state.completed.iter().position(|done| done == id) {
            state.completed.remove(index);
            // The receiver is right here.
            let _ = sender.send(());
        } else if id.len() <= MAX_VISIT_ID {
            // Those that nobody waits for any more.
            state.visits.retain(|_, waiting| !waiting.is_closed());
            state.visits.insert(id.to_owned(), sender);
        }
        visited
    }

    /// Where a message of the upstream goes that is not of use later: near the request on whose
    /// stream it came, else where the client reads.
    pub(crate) fn client_near(&self, via: Option<&RawId>) -> ClientSender {
        let state = self.state.lock();
        if let Some(Pending::Client(call, _)) = via.and_then(|id| state.requests.get(id)) {
            return call.client.clone();
        }
        drop(state);
        self.general_client()
    }

    pub(crate) fn notify_complete(&self, id: &str) {
        let params = format!(r#"{{"elicitationId":{}}}"#, quoted(id));
        let message = envelope::notification("notifications/elicitation/complete", &params);
        self.general_client().push(message);
    }
}

/// Returns a request with another token for progress reports.
fn with_token(message: &[u8], token: &str) -> Option<Vec<u8>> {
    let envelope = Envelope::read(message).ok()?;
    Some(envelope.with_params(&params_with_token(envelope.params()?, token)?))
}

/// Returns the parameters of a request with another token for progress reports.
pub(crate) fn params_with_token(params: &str, token: &str) -> Option<String> {
    let mut params = RawObject::parse(params)?;
    let mut meta = params.parsed_object("_meta").unwrap_or_default();
    meta.set("progressToken", token);
    let meta = meta.text();
    params.set("_meta", meta);
    Some(params.text())
}

impl State {
    /// Whether no request is open at the upstream.
    pub(crate) fn is_idle(&self) -> bool {
        self.requests.is_empty()
    }

    /// The next place in the order of calls.
    pub(crate) fn next_place(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Takes what is open at the upstream, and refuses more.
    pub(super) fn end(&mut self) -> HashMap<RawId, Pending> {
        self.has_ended = true;
        std::mem::take(&mut self.requests)
    }

    pub(super) fn mint(&mut self) -> RawId {
        loop {
            self.next += 1;
            let id = RawId::number(self.next);
            if !self.requests.contains_key(&id) {
                return id;
            }
        }
    }

    /// Whether a client waits for a call, or may cancel it.
    pub(super) fn is_noted(&self, call: &Arc<Call>) -> bool {
        let mut calls = self.by_client_id.get(&call.id).into_iter().flatten();
        calls.any(|(_, other)| Arc::ptr_eq(other, call))
    }

    pub(super) fn note(&mut self, call: &Arc<Call>) -> Result<u64, Reply> {
        if self.requests.len() >= MAX_OPEN {
            return Err(Reply::too_many_requests());
        }
        let calls = self.by_client_id.entry(call.id.clone()).or_default();
        if calls.len() >= MAX_SAME_ID {
            return Err(Reply::busy("too many requests have this id"));
        }
        self.next += 1;
        let seq = self.next;
        call.set_seq(seq);
        calls.push((seq, call.clone()));
        if call.method.may_ask() {
            self.asking.insert(seq, call.clone());
        }
        if let Some(token) = call.upstream_token() {
            self.tokens.insert(token, call.clone());
        } else if let Some(token) = call.token() {
            // Several clients of one session may choose the same token.
            let is_free = !self.tokens.contains_key(&token) && call.client.cancelling().is_none();
            let token = if is_free {
                token
            } else {
                let minted: Box<str> = quoted(&format!("e-{seq}")).into();
                call.set_upstream_token(&minted);
                minted
            };
            self.tokens.insert(token, call.clone());
        }
        Ok(seq)
    }

    pub(super) fn open(&mut self, call: &Arc<Call>) -> Result<RawId, Reply> {
        if self.has_ended {
            return Err(Reply::upstream_exited());
        }
        let seq = self.note(call)?;
        let passes = call.id.is_plain() && !self.requests.contains_key(&call.id);
        let id = if passes { call.id.clone() } else { self.mint() };
        *call.upstream_id.lock() = Some(id.clone());
        self.requests
            .insert(id.clone(), Pending::Client(call.clone(), seq));
        Ok(id)
    }

    /// Sends a call to the upstream once more, under a new id.
    fn reopen(&mut self, call: &Arc<Call>) -> RawId {
        let seq = call.seq().unwrap_or(0);
        let id = self.mint();
        *call.upstream_id.lock() = Some(id.clone());
        self.requests
            .insert(id.clone(), Pending::Client(call.clone(), seq));
        id
    }

    /// Forgets a request that was not sent.
    fn forget_request(&mut self, id: &RawId) {
        self.requests.remove(id);
    }

    pub(super) fn close(&mut self, call: &Arc<Call>, seq: u64) {
        self.asking.remove(&seq);
        if let Some(calls) = self.by_client_id.get_mut(&call.id) {
            calls.retain(|(other, _)| *other != seq);
            if calls.is_empty() {
                self.by_client_id.remove(&call.id);
            }
        }
        let Some(token) = call.upstream_token().or_else(|| call.token()) else {
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
        if self.session.cancels_by_closing() {
            self.session.upstream.abandon(&id);
        } else if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let upstream = self.session.upstream.clone();
            runtime.spawn(async move {
                upstream.send(Cancellation::of(&id).to_message()).await;
            });
        }
    }
}

/// Withdraws a request to the client when dropped.
struct PushGuard<'a> {
    session: &'a Session,
    client: &'a ClientSender,
    id: Option<RawId>,
}

impl Drop for PushGuard<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else {
            return;
        };
        if self.session.state.lock().pushes.remove(&id).is_some() {
            self.client.push(Cancellation::of(&id).to_message());
        }
    }
}

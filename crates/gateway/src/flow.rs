//! Calls of a client of 2026-07-28 that take several rounds because of the gateway.
//!
//! The call goes on in a task, and waits in this process between the rounds. What travels through
//! the client is a sealed ticket, which names the call and is bound to it. A ticket is good for one
//! set of answers: the same answers again get the same outcome, others are refused.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use entreat_core::UnixTime;
use entreat_wire::digest::Digest;
use entreat_wire::seal::Binding;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::{Notify, oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::call::{Call, Link, Method, target_in};
use crate::capability::Capabilities;
use crate::envelope::RawId;
use crate::json::{RawObject, quoted};
use crate::links::link_result;
use crate::lost_answers::{DeliveredAnswer, QuestionKey, content_of};
use crate::memory::Reservation;
use crate::observe::GaugeGuard;
use crate::reply::{Reply, tool_text};
use crate::session::Session;
use crate::settings::GatewaySettings;
use crate::trust::ClientKey;

/// What our states begin with: an upstream's own states pass through the same member.
pub(crate) const TICKET: &str = "entreat1.";
/// What the binding of a request begins with that asks how a call behind a link goes on.
pub(crate) const RESUMED: &str = "resume ";
/// How long the outcome of a call is kept for a repetition of its last round.
const OUTCOME_RETENTION: Duration = Duration::from_secs(300);
/// The maximum number of questions of a round whose answers are kept if the call is lost.
const MAX_RECOVERABLE: usize = 16;
/// How long a call is kept whose stream the client has closed.
const ABANDONED: Duration = Duration::from_secs(60);

/// The calls of a session that take several rounds.
pub(crate) struct Flows {
    flows: Mutex<HashMap<String, Arc<Flow>>>,
    limit: usize,
}

/// A call of several rounds.
pub(crate) struct Flow {
    pub(crate) session: Arc<Session>,
    pub(crate) method: Method,
    /// The name of the tool or prompt, or the URI of the resource.
    pub(crate) target: String,
    /// Whose call it is, among the clients of the session.
    pub(crate) client: ClientKey,
    /// Names the call in tickets and links.
    pub(crate) handle: String,
    /// Fires when nobody waits for the call any more.
    pub(crate) cancelled: CancellationToken,
    state: Mutex<FlowState>,
    /// Answers that the server has got on it.
    answers: Mutex<Vec<Arc<DeliveredAnswer>>>,
    /// Notified of changes that a held request may be waiting for.
    changed: Notify,
    /// Its memory.
    _reservation: Reservation,
}

#[derive(Default)]
struct FlowState {
    /// What the client declared in its newest request.
    capabilities: Capabilities,
    /// Questions for the client, in their order.
    asks: Vec<Ask>,
    next_key: u32,
    link: Option<Link>,
    /// How many pages are open in front of the person.
    pages: usize,
    end: Option<Reply>,
    /// The memory of its end, which is kept only with it.
    end_reservation: Option<Reservation>,
    /// The number of the round whose ticket the client has.
    round: u32,
    /// What the newest ticket was used for.
    used: Option<Used>,
    /// The request that is held now.
    held: Option<Arc<Call>>,
    /// The id and the number of the request that is held, or was held last.
    last: Option<(RawId, u64)>,
    /// When the newest request was let go.
    let_go: Option<UnixTime>,
    /// Whether that was because the client closed its stream.
    was_let_go: bool,
    /// Whether the client has a ticket or a link to go on with.
    has_ticket: bool,
    /// Counts the call as parked while no request is held.
    parked: Option<GaugeGuard>,
}

struct Ask {
    key: String,
    method: String,
    params: String,
    /// Which question it is, if its answer is kept should the call be lost.
    question_key: Option<QuestionKey>,
    reply: oneshot::Sender<Reply>,
}

struct Used {
    round: u32,
    inputs: Digest,
    reply: watch::Receiver<Option<Reply>>,
}

/// What a state of ours says.
#[derive(Serialize, Deserialize)]
pub(crate) enum Sealed {
    /// A call goes on here.
    Parked(Ticket),
    /// The call goes on at the upstream, whose own state this is, as raw JSON.
    Relayed(String),
}

/// Which call goes on here.
#[derive(Serialize, Deserialize)]
pub(crate) struct Ticket {
    handle: String,
    round: u32,
    /// The questions of the round: the key in the round, and which question it is.
    asks: Vec<(String, QuestionKey)>,
}

/// Why a request does not go on with a call.
pub(crate) struct Refused {
    pub(crate) reply: Reply,
    /// Answers in it that nobody waits for.
    pub(crate) answers: Vec<(QuestionKey, Map<String, Value>)>,
}

impl From<Reply> for Refused {
    fn from(reply: Reply) -> Self {
        Self {
            reply,
            answers: Vec::new(),
        }
    }
}

/// A request that goes on with a call.
pub(crate) struct Retry {
    flow: Arc<Flow>,
    round: u32,
    inputs: Digest,
    responses: String,
}

impl Flows {
    pub(crate) fn new(settings: &GatewaySettings) -> Self {
        Self {
            flows: Mutex::default(),
            limit: settings.parked,
        }
    }

    pub(crate) fn get(&self, handle: &str) -> Option<Arc<Flow>> {
        self.flows.lock().get(handle).cloned()
    }

    /// Ends the call whose last round had this request id.
    pub(crate) fn cancel(&self, id: &RawId) {
        let mut flows = self.flows.lock();
        flows.retain(|_, flow| {
            let is_it = flow.is_last_request(id);
            if is_it {
                flow.cancelled.cancel();
            }
            !is_it
        });
    }

    /// Whether calls go on.
    pub(crate) fn has_open(&self) -> bool {
        let flows = self.flows.lock();
        flows.values().any(|flow| flow.state.lock().end.is_none())
    }

    /// The stream of a request was closed: without any ticket, nobody can go on with the call; else
    /// somebody may soon.
    pub(crate) fn let_go(&self, call: &Arc<Call>) {
        let mut flows = self.flows.lock();
        let Some(seq) = call.seq() else {
            return;
        };
        let is_it = |flow: &Flow| {
            let state = flow.state.lock();
            let is_last = state.last.as_ref().is_some_and(|(_, last)| *last == seq);
            (is_last && state.end.is_none()).then_some(state.has_ticket)
        };
        let found = flows
            .values()
            .find_map(|flow| Some((flow.clone(), is_it(flow)?)));
        match found {
            Some((flow, false)) => {
                flow.cancelled.cancel();
                flows.remove(&flow.handle);
            }
            Some((flow, true)) => flow.change(|state| state.was_let_go = true),
            None => {}
        }
    }

    fn insert(&self, flow: &Arc<Flow>) -> Result<(), Reply> {
        let mut flows = self.flows.lock();
        if flows.len() >= self.limit {
            // Calls that have ended wait only for a repetition of their last round.
            let ended = flows
                .iter()
                .find(|(_, flow)| flow.state.lock().end.is_some())
                .map(|(handle, _)| handle.clone());
            match ended {
                Some(handle) => {
                    if let Some(flow) = flows.remove(&handle) {
                        flow.cancelled.cancel();
                    }
                }
                None => return Err(Reply::too_many_waiting()),
            }
        }
        flows.insert(flow.handle.clone(), flow.clone());
        Ok(())
    }

    fn remove(&self, handle: &str) {
        self.flows.lock().remove(handle);
    }
}

impl Session {
    /// Begins a call of several rounds.
    pub(crate) fn begin_flow(
        self: &Arc<Self>,
        handle: String,
        method: Method,
        params: &str,
        capabilities: Capabilities,
    ) -> Result<Arc<Flow>, Reply> {
        let Some(reservation) = self.memory.reserve(0) else {
            return Err(Reply::too_many_waiting());
        };
        let flow = Arc::new(Flow {
            session: self.clone(),
            method,
            target: target_in(params),
            client: ClientKey::of(params),
            answers: Mutex::default(),
            handle,
            cancelled: self.stop.child_token(),
            state: Mutex::new(FlowState {
                capabilities,
                ..FlowState::default()
            }),
            changed: Notify::new(),
            _reservation: reservation,
        });
        self.flows.insert(&flow)?;
        let parked = flow.clone();
        self.spawn(async move { parked.expire().await });
        Ok(flow)
    }

    /// What the rounds of a call are bound to.
    pub(crate) fn binding(&self, method: &str, params: &RawObject<'_>) -> Binding {
        let name = params.get("name").or_else(|| params.get("uri"));
        let mut arguments = params.clone();
        arguments.retain(|name| !matches!(name, "_meta" | "inputResponses" | "requestState"));
        let arguments = serde_json::from_str(&arguments.to_string()).unwrap_or_default();
        Binding {
            principal: self.person.principal.clone(),
            target: format!(
                "{} {method} {}",
                self.fallback_name,
                name.unwrap_or_default()
            ),
            arguments: Digest::of(&arguments),
        }
    }

    /// Finds the call that a request goes on with; `None` if it has no ticket of ours.
    pub(crate) fn retry_of(
        &self,
        params: &RawObject<'_>,
        binding: &Binding,
    ) -> Option<Result<Retry, Refused>> {
        let state = params.string("requestState")?;
        let sealed = state.strip_prefix(TICKET)?;
        let refused = Reply::invalid_state();
        let ticket = match self.gateway.sealer.open(sealed, binding) {
            Ok(opened) => match opened.contents {
                Sealed::Parked(ticket) => ticket,
                // The upstream spoke 2026-07-28 when it was sealed, and does not any more.
                Sealed::Relayed(_) => return Some(Err(refused.into())),
            },
            Err(reason) => {
                self.warn("a request state was rejected", reason);
                return Some(Err(refused.into()));
            }
        };
        let responses = params.get("inputResponses").unwrap_or("{}").to_owned();
        let Some(flow) = self.flows.get(&ticket.handle) else {
            return Some(Err(lost(&ticket, &responses)));
        };
        let Ok(inputs) = serde_json::from_str::<Value>(&responses) else {
            return Some(Err(refused.into()));
        };
        Some(Ok(Retry {
            flow,
            round: ticket.round,
            inputs: Digest::of(&inputs),
            responses,
        }))
    }
}

impl Retry {
    /// Takes the answers, and holds the request until the call has something for the client.
    /// `None` if the client cancelled the request.
    pub(crate) async fn run(
        self,
        call: &Arc<Call>,
        capabilities: Capabilities,
        binding: &Binding,
    ) -> Option<Reply> {
        let refused = || Reply::invalid_params("the request state was used already");
        let sender = {
            let mut state = self.flow.state.lock();
            if let Some(used) = &state.used
                && used.round == self.round
            {
                if used.inputs != self.inputs {
                    let session = &self.flow.session;
                    session.warn(
                        "a request state was rejected",
                        "it was used with other answers",
                    );
                    return Some(refused());
                }
                Err(used.reply.clone())
            } else if state.round == self.round {
                let (sender, reply) = watch::channel(None);
                state.used = Some(Used {
                    round: self.round,
                    inputs: self.inputs,
                    reply,
                });
                state.round += 1;
                state.capabilities = capabilities;
                Ok(sender)
            } else {
                return Some(refused());
            }
        };
        let sender = match sender {
            Ok(sender) => sender,
            Err(mut earlier) => {
                let known = earlier.wait_for(Option::is_some).await;
                return known.ok().and_then(|reply| reply.clone());
            }
        };
        self.flow.take(&self.responses);
        let reply = self.flow.attend(call, binding, false).await;
        match &reply {
            Some(reply) => drop(sender.send_replace(Some(reply.clone()))),
            // Nobody got an outcome, so the state is good once more.
            None => self.flow.change(|state| {
                state.used = None;
                state.round = self.round;
            }),
        }
        reply
    }
}

impl Flow {
    pub(crate) fn capabilities(&self) -> Capabilities {
        self.state.lock().capabilities
    }

    /// Notes what the client declares in a request that goes on with the call.
    pub(crate) fn declare(&self, capabilities: Capabilities) {
        self.state.lock().capabilities = capabilities;
    }

    fn is_last_request(&self, id: &RawId) -> bool {
        let state = self.state.lock();
        state.end.is_none() && state.last.as_ref().is_some_and(|(last, _)| last == id)
    }

    /// Whether the client waits for the call, or let its last request go a short while ago. It may
    /// be gone otherwise: clients of 2026-07-28 do not say so.
    pub(crate) fn is_attended(&self) -> bool {
        let state = self.state.lock();
        let now = self.session.engine().now();
        let is_recent = |let_go: UnixTime| now.since(let_go) < ABANDONED;
        state.held.is_some() || state.let_go.is_none_or(is_recent)
    }

    /// The request that is held now.
    pub(crate) fn held(&self) -> Option<Arc<Call>> {
        self.state.lock().held.clone()
    }

    fn change(&self, change: impl FnOnce(&mut FlowState)) {
        change(&mut self.state.lock());
        self.changed.notify_waiters();
    }

    /// Ends the call.
    pub(crate) fn finish(&self, reply: Reply) {
        let (Reply::Result(text) | Reply::Error(text)) = &reply;
        // Its last round keeps it too, for a repetition.
        let reservation = self.session.memory.reserve(2 * text.len());
        self.change(|state| {
            if state.end.is_none() {
                state.end = Some(reply);
                state.end_reservation = reservation;
            }
        });
    }

    /// Gives the client the link to a page in its next result.
    pub(crate) fn offer(&self, link: Link) {
        self.change(|state| state.link = Some(link));
    }

    /// Asks the client in its next result, and waits for the answer.
    /// `question_key` says which question it is, if its answer is kept should the call be lost.
    pub(crate) async fn ask_client(
        &self,
        method: &str,
        params: &str,
        question_key: Option<&QuestionKey>,
    ) -> Reply {
        let (sender, reply) = oneshot::channel();
        let mut key = String::new();
        self.change(|state| {
            state.next_key += 1;
            key = format!("q{}", state.next_key);
            state.asks.push(Ask {
                key: key.clone(),
                method: method.to_owned(),
                params: params.to_owned(),
                question_key: question_key.cloned(),
                reply: sender,
            });
        });
        let _withdrawn = AskGuard { flow: self, key };
        reply.await.unwrap_or_else(|_| Reply::client_gone())
    }

    /// Notes an answer that the server gets.
    pub(crate) fn note_answer(&self, answer: Arc<DeliveredAnswer>) {
        self.answers.lock().push(answer);
    }

    /// Takes the answers that the server has got.
    pub(crate) fn take_answers(&self) -> Vec<Arc<DeliveredAnswer>> {
        std::mem::take(&mut self.answers.lock())
    }

    /// Notes that a page is open in front of the person, until the guard is dropped.
    pub(crate) fn page_opened(self: &Arc<Self>) -> PageGuard {
        self.change(|state| state.pages += 1);
        PageGuard(self.clone())
    }

    /// Takes the answers of a retry. Those that are missing are asked again.
    fn take(&self, responses: &str) {
        let Some(responses) = RawObject::parse(responses) else {
            return;
        };
        self.change(|state| {
            for ask in std::mem::take(&mut state.asks) {
                match responses.get(&ask.key) {
                    // The question may have been withdrawn at this moment.
                    Some(result) => drop(ask.reply.send(Reply::Result(result.to_owned()))),
                    None => state.asks.push(ask),
                }
            }
        });
    }

    /// Holds a request until the call has something for the client: its end, questions, a link, or
    /// after a while nothing but its state. `None` if the client cancelled the request.
    pub(crate) async fn attend(
        self: &Arc<Self>,
        call: &Arc<Call>,
        binding: &Binding,
        is_first: bool,
    ) -> Option<Reply> {
        self.change(|state| {
            state.held = Some(call.clone());
            state.last = call.seq().map(|seq| (call.id.clone(), seq));
            state.was_let_go = false;
            drop(state.parked.take());
        });
        self.session.deliver_reports(self, call);
        call.client.leave();
        let reply = tokio::select! {
            biased;
            () = call.cancelled.cancelled() => None,
            reply = self.next_round(call, binding, is_first) => Some(reply),
        };
        let mut is_done = false;
        self.change(|state| {
            state.held = None;
            state.let_go = Some(self.session.engine().now());
            // Nobody can come back for its end, or it cannot be kept.
            let is_kept = state.has_ticket && state.end_reservation.is_some();
            is_done = reply.is_some() && state.end.is_some() && !is_kept;
            if state.end.is_none() {
                let observed = self.session.observed.clone();
                let parked = observed.map(|it| GaugeGuard::new(it, |metrics| &metrics.parked));
                state.parked = parked;
            }
        });
        call.client.come_back();
        if is_done {
            self.session.flows.remove(&self.handle);
            self.cancelled.cancel();
        }
        reply
    }

    async fn next_round(&self, call: &Arc<Call>, binding: &Binding, is_first: bool) -> Reply {
        let session = &self.session;
        let settings = session.settings();
        let mut gather = None;
        let mut hold = None;
        let mut alive = session.engine().sleep(settings.progress_every);
        loop {
            // Before the state is looked at, so that no change is missed.
            let changed = self.changed.notified();
            let (has_asks, may_end) = {
                let mut state = self.state.lock();
                if let Some(end) = &state.end {
                    return end.clone();
                }
                if let Some(link) = state.link.take() {
                    state.has_ticket = true;
                    let text = session.link_text(&link, &self.handle);
                    // `resume_question` has no schema.
                    let is_structured =
                        !binding.target.starts_with(RESUMED) && session.is_structured(&self.target);
                    return link_result(&text, is_structured, true);
                }
                (!state.asks.is_empty(), state.pages > 0 || !is_first)
            };
            if has_asks && gather.is_none() {
                gather = Some(session.engine().sleep(settings.gather));
            }
            if may_end && hold.is_none() {
                hold = Some(session.engine().sleep(settings.hold));
            }
            tokio::select! {
                biased;
                () = changed => {}
                () = until(&mut gather) => {
                    gather = None;
                    if let Some(reply) = self.questions(binding) {
                        return reply;
                    }
                }
                () = until(&mut hold) => return self.waiting(binding),
                () = &mut alive => {
                    alive = session.engine().sleep(settings.progress_every);
                    if may_end {
                        call.keep_alive();
                    }
                }
            }
        }
    }

    /// A round with the open questions.
    fn questions(&self, binding: &Binding) -> Option<Reply> {
        let mut requests = RawObject::default();
        for ask in &self.state.lock().asks {
            let method = quoted(&ask.method);
            let request = format!(r#"{{"method":{method},"params":{}}}"#, ask.params);
            requests.set(&ask.key, request);
        }
        if requests.is_empty() {
            return None;
        }
        let ticket = quoted(&self.ticket(binding));
        Some(Reply::Result(format!(
            r#"{{"resultType":"input_required","inputRequests":{requests},"requestState":{ticket}}}"#
        )))
    }

    /// A round with nothing but the state: the client asks again.
    fn waiting(&self, binding: &Binding) -> Reply {
        if binding.target.starts_with(RESUMED) {
            let text = format!(
                "The person has not answered yet. Call `{}` again with {{\"question\": \"{}\"}}.",
                self.session.resume_name(),
                self.handle
            );
            return Reply::Result(tool_text(&text, false, true));
        }
        let ticket = quoted(&self.ticket(binding));
        Reply::Result(format!(
            r#"{{"resultType":"input_required","requestState":{ticket}}}"#
        ))
    }

    fn ticket(&self, binding: &Binding) -> String {
        let ticket = {
            let mut state = self.state.lock();
            state.has_ticket = true;
            let asks = state.asks.iter();
            Sealed::Parked(Ticket {
                handle: self.handle.clone(),
                round: state.round,
                asks: asks
                    .filter_map(|ask| Some((ask.key.clone(), ask.question_key.clone()?)))
                    .take(MAX_RECOVERABLE)
                    .collect(),
            })
        };
        let lifetime = self.session.settings().park;
        let expires = self.session.engine().now().after(lifetime);
        let sealed = self.session.gateway.sealer.seal(binding, expires, &ticket);
        format!("{TICKET}{sealed}")
    }

    /// Ends the call when no request was held for the time that calls are parked. What has ended is
    /// kept for a while, since its last round may come again.
    async fn expire(self: Arc<Self>) {
        let began = self.session.engine().now();
        loop {
            let changed = self.changed.notified();
            let due = {
                let state = self.state.lock();
                let settings = self.session.settings();
                let park = match state.end {
                    Some(_) => settings.park.min(OUTCOME_RETENTION),
                    None if state.was_let_go => settings.park.min(ABANDONED),
                    None => settings.park,
                };
                let idle = state.let_go.unwrap_or(began);
                state.held.is_none().then(|| idle.after(park))
            };
            let mut rest = due.map(|due| {
                let rest = due.since(self.session.engine().now());
                self.session.engine().sleep(rest)
            });
            tokio::select! {
                biased;
                // It is not kept any longer.
                () = self.cancelled.cancelled() => {
                    self.session.flows.remove(&self.handle);
                    return;
                }
                () = changed => {}
                () = until(&mut rest) => {
                    self.cancelled.cancel();
                    self.session.flows.remove(&self.handle);
                    return;
                }
            }
        }
    }
}

/// The end of a call that this process knows nothing of. The answers were for questions that may be
/// asked again.
fn lost(ticket: &Ticket, responses: &str) -> Refused {
    let responses = RawObject::parse(responses).unwrap_or_default();
    let answers = ticket.asks.iter();
    let answers: Vec<_> = answers
        .filter_map(|(key, question)| Some((question.clone(), content_of(responses.get(key)?)?)))
        .collect();
    let message = if answers.is_empty() {
        "the call is lost, and may have run: nobody waits for it any more"
    } else {
        "the call is lost, and may have run: nobody waits for its answers any more. If the same \
         question is asked again within an hour, they are filled in"
    };
    Refused {
        reply: Reply::may_have_run(message, "call_lost"),
        answers,
    }
}

/// Waits for a timer, for ever if it is not set.
async fn until(timer: &mut Option<std::pin::Pin<Box<dyn Future<Output = ()> + Send>>>) {
    match timer {
        Some(timer) => timer.await,
        None => std::future::pending().await,
    }
}

/// A page in front of the person.
pub(crate) struct PageGuard(Arc<Flow>);

impl Drop for PageGuard {
    fn drop(&mut self) {
        self.0.change(|state| state.pages -= 1);
    }
}

/// Withdraws a question when dropped.
struct AskGuard<'a> {
    flow: &'a Flow,
    key: String,
}

impl Drop for AskGuard<'_> {
    fn drop(&mut self) {
        let mut state = self.flow.state.lock();
        state.asks.retain(|ask| ask.key != self.key);
    }
}

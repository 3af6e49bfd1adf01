//! A client of 2026-07-28 in front of a server of 2025.
//!
//! The server's calls block while it asks. Most never do: they pass, and cost no more than their
//! translation. One that asks is parked here: the client gets the questions in the results of its
//! rounds, and its answers go to the server one by one.

mod reports;
mod required;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use entreat_core::schema::Era;
use entreat_wire::message::{CREATE, ROOTS, SAMPLE};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use self::reports::Reports;
use crate::approvals::Gate;
use crate::call::{Call, Method};
use crate::cancellation::{CANCELLED, Cancellation};
use crate::capability::{self, Capabilities};
use crate::envelope::{self, Envelope, RawId};
use crate::flow::Flow;
use crate::json::{RawObject, may_name, quoted, with_members};
use crate::meta::{self, ClientMeta, LOG_LEVEL, SUBSCRIPTION_ID};
use crate::modern::declared;
use crate::recipient::{PushedRecipient, Recipient, RoundsRecipient};
use crate::reply::{Reply, code, error_code};
use crate::session::{Change, MAX_HANDSHAKE, NO_ROOTS, Pair, ServingSlot, Session};

/// How many resources a stream of notifications may name.
const MAX_URIS: usize = 1_000;
/// What a session in this pair of eras keeps.
#[derive(Default)]
pub(crate) struct Lowered {
    /// The server's response to the handshake.
    init: OnceLock<String>,
    /// Calls that have asked and are open at the server.
    calls: Mutex<Calls>,
    /// Streams of notifications that clients listen on, by the numbers of their calls: several
    /// clients may use one id.
    listeners: Mutex<HashMap<u64, Listener>>,
    /// How many listeners want each resource.
    subscriptions: Mutex<HashMap<String, usize>>,
    /// The roots that the client listed last.
    roots: Mutex<Option<String>>,
    /// What calls that asked for log messages report between their rounds.
    reports: Mutex<HashMap<String, Reports>>,
    /// The log level that the server was told last.
    level: Mutex<Option<usize>>,
}

#[derive(Default)]
struct Calls {
    /// With their ids at the server, in their order among all calls of the session.
    flows: BTreeMap<u64, (RawId, Arc<Flow>)>,
    by_id: HashMap<RawId, u64>,
}

/// A call that is open at the server.
enum Open {
    /// It has not asked.
    Plain(Arc<Call>),
    Flow(Arc<Flow>),
}

/// How far a parked call is.
enum Stage {
    /// A person has to approve it.
    Held(Box<Gate>),
    /// The server has to know first what to log for it.
    New,
    /// It is open at the server, under this id.
    Open(RawId, oneshot::Receiver<Reply>),
    /// The server has replied.
    Replied(Reply),
}

struct Listener {
    call: Arc<Call>,
    tools: bool,
    prompts: bool,
    resources: bool,
    uris: Vec<String>,
}

impl Session {
    /// Makes the handshake of 2025 with the upstream, for a client that has none.
    pub(crate) async fn lower(self: &Arc<Self>, client_meta: &ClientMeta) -> Result<(), Reply> {
        let mut capabilities = RawObject::parse(&client_meta.capabilities).unwrap_or_default();
        if let Some(roots) = capabilities.object("roots") {
            let mut roots = roots.clone();
            // There is no notification of changed roots any more.
            roots.set("listChanged", "false");
            let roots = roots.to_string();
            capabilities.set("roots", roots);
        } else {
            // The filesystem server and others ask right after the handshake.
            capabilities.set("roots", r#"{"listChanged":false}"#);
        }
        capability::keep_shared_extensions(&mut capabilities);
        let params = format!(
            r#"{{"protocolVersion":{},"capabilities":{capabilities},"clientInfo":{}}}"#,
            quoted(Era::V2025_11_25.version()),
            client_meta.info
        );
        let initialized = tokio::select! {
            biased;
            reply = self.request("initialize", &params) => reply,
            () = self.sleep(self.settings().initialize) => {
                Reply::failed("the server does not respond", "upstream_silent")
            }
        };
        let result = match initialized {
            Reply::Result(result) if result.len() > MAX_HANDSHAKE => {
                let text = "the server's handshake is larger than 256 KiB";
                return Err(Reply::failed(text, "bad_result"));
            }
            Reply::Result(result) => result,
            error @ Reply::Error(_) => return Err(error),
        };
        let object = RawObject::parse(&result).unwrap_or_default();
        let version = object.string("protocolVersion").unwrap_or_default();
        {
            let mut state = self.state.lock();
            state.pair = Pair::Lowered;
            state.upstream_era = version.parse().ok();
            let info = object.object("serverInfo");
            state.upstream_name = info.as_ref().and_then(capability::name_of);
        }
        self.note_up();
        // Only the first handshake counts.
        let _ = self.lowered.init.set(result.clone());
        let message = envelope::notification("notifications/initialized", "{}");
        self.upstream.send(message).await;
        Ok(())
    }

    /// What `server/discover` tells of a server of 2025.
    fn discovered(&self) -> Reply {
        let init = self.lowered.init.get().map_or("{}", String::as_str);
        let init = RawObject::parse(init).unwrap_or_default();
        let mut found = RawObject::default();
        found.set("resultType", r#""complete""#);
        found.set("supportedVersions", format!("[{}]", quoted(meta::VERSION)));
        let mut capabilities = init.object("capabilities").unwrap_or_default();
        capabilities.remove("tasks");
        capability::keep_shared_extensions(&mut capabilities);
        found.set("capabilities", capabilities.to_string());
        if let Some(info) = init.get("serverInfo") {
            found.set("_meta", format!("{{{}:{info}}}", quoted(meta::SERVER_INFO)));
        }
        if let Some(instructions) = init.get("instructions") {
            found.set("instructions", instructions.to_owned());
        }
        found.set("ttlMs", "0");
        found.set("cacheScope", r#""private""#);
        Reply::Result(found.to_string())
    }

    pub(crate) async fn lowered_request(
        self: &Arc<Self>,
        call: &Arc<Call>,
        envelope: &Envelope<'_>,
        method: &str,
        params: &str,
    ) {
        let object = RawObject::parse(params);
        let meta = object.as_ref().and_then(|it| it.parsed_object("_meta"));
        if let Some(refusal) = meta.as_ref().and_then(meta::unsupported_in) {
            return call.reply(&refusal);
        }
        match call.method {
            Method::Discover => {
                return call.reply(&self.discovered());
            }
            Method::Listen => return self.listen(call, params),
            Method::CallTool | Method::GetPrompt | Method::ReadResource => {
                if self.continues_flow(call, params) {
                    return;
                }
                if object
                    .as_ref()
                    .is_some_and(|it| it.get("requestState").is_some())
                {
                    // A server of 2025 has none, and ours is not this: never a fresh start.
                    let refused = Reply::invalid_state();
                    return call.reply(&refused);
                }
                if call.method == Method::CallTool && self.holds_for_approval(call, params) {
                    return;
                }
            }
            _ if is_gone(method) => return call.reply(&Reply::unknown_method()),
            _ => {}
        }
        if call.has_token() {
            // Progress is reported under our own token, since the client's is one of a single round.
            call.set_upstream_token(&quoted(&self.new_handle()));
        }
        if call.method.may_ask()
            && meta
                .as_ref()
                .is_some_and(|meta| meta.get(LOG_LEVEL).is_some())
        {
            return self.begin_and_park(call, Stage::New);
        }
        let lowered = object.map(|object| lowered_params(object, meta));
        self.send_call(call, envelope, lowered.as_deref()).await;
    }

    /// Takes the response of the server to a call that has not asked.
    pub(crate) fn lowered_reply(
        self: &Arc<Self>,
        call: &Arc<Call>,
        result: Option<&str>,
        error: Option<&str>,
    ) -> Change {
        let Some(result) = result else {
            let error = error.unwrap_or("{}");
            if !call.method.may_ask() || !requires_urls(error) {
                return error_of_2026(error).map_or(Change::Pass, Change::Reply);
            }
            return match self.begin_parked(call) {
                Ok(flow) => {
                    let replied = Reply::Error(error.to_owned());
                    self.park(&flow, call, Stage::Replied(replied));
                    Change::Held
                }
                Err(busy) => Change::Reply(busy),
            };
        };
        if call.method != Method::ListTools {
            return Change::Reply(result_of_2026(result, is_cacheable(call)));
        }
        let listed = self.with_resume_tool(declared_by(call), result);
        Change::Reply(result_of_2026(listed.as_deref().unwrap_or(result), true))
    }

    /// Holds a call until it is approved.
    pub(crate) fn hold_lowered(self: &Arc<Self>, call: &Arc<Call>, gate: Gate) {
        if call.has_token() {
            call.set_upstream_token(&quoted(&self.new_handle()));
        }
        self.begin_and_park(call, Stage::Held(Box::new(gate)));
    }

    /// Makes a call that the server does not have yet one of several rounds.
    fn begin_and_park(self: &Arc<Self>, call: &Arc<Call>, stage: Stage) {
        if let Err(busy) = self.note_call(call) {
            return call.reply(&busy);
        }
        match self.begin_parked(call) {
            Ok(flow) => self.park(&flow, call, stage),
            Err(busy) => self.reply(call, &busy),
        }
    }

    /// Makes a call one of several rounds.
    fn begin_parked(self: &Arc<Self>, call: &Arc<Call>) -> Result<Arc<Flow>, Reply> {
        let params = call.params();
        let token = call.upstream_token();
        let handle = token.and_then(|token| serde_json::from_str(&token).ok());
        let handle = handle.unwrap_or_else(|| self.new_handle());
        let flow = self.begin_flow(handle, call.method, params, declared(params))?;
        for answer in call.take_answers() {
            flow.note_answer(answer);
        }
        if let Some(level) = log_level(params) {
            let mut reports = self.lowered.reports.lock();
            reports.insert(flow.handle.clone(), Reports::of(&level));
        }
        Ok(flow)
    }

    /// Lets a call go on by itself, and holds the client's request until it has a result or
    /// questions.
    fn park(self: &Arc<Self>, flow: &Arc<Flow>, call: &Arc<Call>, stage: Stage) {
        let object = RawObject::parse(call.params()).unwrap_or_default();
        let binding = self.binding(call.method.name(), &object);
        if let Stage::Open(id, _) = &stage {
            // Where it was among the others.
            let place = call.seq().unwrap_or_default();
            self.lowered.note(place, id, flow);
        }
        let (session, driven, message) = (self.clone(), flow.clone(), call.message.clone());
        self.spawn(async move {
            let work = session.call_parked(&driven, &message, stage);
            tokio::select! {
                biased;
                reply = work => driven.finish(match reply {
                    Reply::Result(result) => {
                        result_of_2026(&result, driven.method == Method::ReadResource)
                    }
                    Reply::Error(error) => {
                        error_of_2026(&error).unwrap_or(Reply::Error(error))
                    }
                }),
                () = driven.cancelled.cancelled() => {}
            }
            session.lowered.reports.lock().remove(&driven.handle);
        });
        self.attend_noted(flow, call, binding, true);
    }

    /// The call that a server asks on, as one of several rounds; `None` if it has just ended.
    fn flow_of(self: &Arc<Self>, open: Open) -> Result<Option<Arc<Flow>>, Reply> {
        let call = match open {
            Open::Flow(flow) => return Ok(Some(flow)),
            Open::Plain(call) => call,
        };
        let flow = self.begin_parked(&call)?;
        let Some((id, response)) = self.take_over(&call) else {
            flow.cancelled.cancel();
            self.lowered.reports.lock().remove(&flow.handle);
            return Ok(None);
        };
        self.park(&flow, &call, Stage::Open(id, response));
        Ok(Some(flow))
    }

    // ---- requests of the upstream

    pub(crate) async fn lowered_asked(
        self: &Arc<Self>,
        id: RawId,
        method: &str,
        params: &str,
        via: Option<RawId>,
    ) {
        let (exact, oldest) = self.attribute_lowered(via.as_ref());
        match method {
            "ping" => {
                self.reply_upstream(&id, &Reply::empty()).await;
            }
            CREATE => {
                let Some(slot) = self.serve(&id, method, params).await else {
                    return;
                };
                let is_certain = exact.is_some();
                match exact.or(oldest).map(|open| self.flow_of(open)).transpose() {
                    Ok(flow) => self.ask_lowered(id, params, flow.flatten(), is_certain, slot),
                    Err(busy) => self.reply_upstream(&id, &busy).await,
                }
            }
            SAMPLE | ROOTS => {
                let declares = |open: &Open| {
                    let can = open.capabilities();
                    if method == SAMPLE {
                        can.sampling
                    } else {
                        can.roots
                    }
                };
                let open = exact.or(oldest).filter(declares);
                let Some(slot) = self.serve(&id, method, params).await else {
                    return;
                };
                let flow = match open.map(|open| self.flow_of(open)).transpose() {
                    Ok(flow) => flow.flatten(),
                    Err(busy) => return self.reply_upstream(&id, &busy).await,
                };
                let (session, method, params) =
                    (self.clone(), method.to_owned(), params.to_owned());
                self.spawn(async move {
                    let reply = session.client_content(flow, &method, &params).await;
                    session.reply_upstream(&id, &reply).await;
                    drop(slot);
                });
            }
            _ => self.reply_upstream(&id, &Reply::unknown_method()).await,
        }
    }

    /// The call that a message of the server belongs to, if that is certain, and the oldest one.
    fn attribute_lowered(&self, via: Option<&RawId>) -> (Option<Open>, Option<Open>) {
        let (plain, mut open) = self.open_at_upstream(via);
        if let Some(call) = plain {
            return (Some(Open::Plain(call.clone())), Some(Open::Plain(call)));
        }
        let calls = self.lowered.calls.lock();
        let flow = |place: &u64| calls.flows.get(place).map(|(_, flow)| flow.clone());
        if let Some(flow) = via.and_then(|id| calls.by_id.get(id)).and_then(flow) {
            return (Some(Open::Flow(flow.clone())), Some(Open::Flow(flow)));
        }
        // A call whose client does not come back asks nothing any more that anybody would answer.
        let attended = calls
            .flows
            .iter()
            .filter(|(_, (_, flow))| flow.is_attended());
        let parked =
            |(place, (_, flow)): (&u64, &(RawId, Arc<Flow>))| (*place, Open::Flow(flow.clone()));
        let mut all: Vec<(u64, Open)> = attended
            .take(2)
            .map(parked)
            .chain(open.drain(..).map(|(seq, call)| (seq, Open::Plain(call))))
            .collect();
        if all.is_empty() {
            all = calls.flows.iter().take(2).map(parked).collect();
        }
        all.sort_by_key(|(place, _)| *place);
        let is_only = all.len() == 1;
        let oldest = all.into_iter().next().map(|(_, open)| open);
        if is_only {
            (oldest, None)
        } else {
            (None, oldest)
        }
    }

    /// Answers a request for sampling or roots: by the client, if it declares that on the call.
    async fn client_content(
        self: &Arc<Self>,
        flow: Option<Arc<Flow>>,
        method: &str,
        params: &str,
    ) -> Reply {
        let Some(flow) = flow else {
            if method == SAMPLE {
                return Reply::unknown_method();
            }
            // Outside a call, nobody can be asked.
            let known = self.lowered.roots.lock().clone();
            let known = known.as_deref().unwrap_or(NO_ROOTS);
            return Reply::Result(self.with_configured_roots(known));
        };
        let reply = tokio::select! {
            biased;
            reply = flow.ask_client(method, params, None) => reply,
            () = flow.cancelled.cancelled() => Reply::call_cancelled(),
        };
        match reply {
            Reply::Result(result) if method == ROOTS => {
                *self.lowered.roots.lock() = Some(result.clone());
                Reply::Result(self.with_configured_roots(&result))
            }
            reply => reply,
        }
    }

    /// Asks a question of the upstream. If it is not certain that it belongs to the call, it goes to
    /// a page, and the call has its link.
    fn ask_lowered(
        self: &Arc<Self>,
        id: RawId,
        params: &str,
        flow: Option<Arc<Flow>>,
        is_certain: bool,
        slot: ServingSlot,
    ) {
        let cancelled = match &flow {
            Some(flow) if is_certain => flow.cancelled.child_token(),
            Some(_) | None => self.stop.child_token(),
        };
        let recipient = match flow {
            Some(flow) => Recipient::Rounds(RoundsRecipient {
                flow,
                is_certain,
                cancelled,
            }),
            None => Recipient::Pushed(PushedRecipient {
                session: self.clone(),
                call: None,
                linkable: None,
                cancelled,
            }),
        };
        self.ask(id, params, recipient, slot);
    }

    // ---- notifications of the upstream

    pub(crate) async fn lowered_notified(
        self: &Arc<Self>,
        method: &str,
        params: &str,
        via: Option<&RawId>,
    ) {
        match method {
            "notifications/progress" => self.lowered_progress(params).await,
            "notifications/message" => self.lowered_log(params, via).await,
            CANCELLED => {
                let asking =
                    Cancellation::read(params).and_then(|it| self.state.lock().asks.remove(&it.id));
                if let Some(asking) = asking {
                    asking.cancel();
                }
            }
            "notifications/elicitation/complete" => {
                let id = RawObject::parse(params).and_then(|it| it.string("elicitationId"));
                if let Some(id) = id {
                    self.note_completed(&id);
                }
            }
            _ => {
                let listeners = self.lowered.listeners.lock();
                for listener in listeners.values().filter(|it| it.wants(method, params)) {
                    let client = &listener.call.client;
                    client.push(listener.message(method, params));
                }
            }
        }
    }

    // ---- streams of notifications

    /// Opens a stream: the server's notifications are passed to it from now on.
    fn listen(self: &Arc<Self>, call: &Arc<Call>, params: &str) {
        let init = self.lowered.init.get().map_or("{}", String::as_str);
        let listener = Listener::new(call, params, init);
        if listener.uris.len() > MAX_URIS {
            let error = Reply::invalid_params("params: more than 1,000 resources");
            return call.reply(&error);
        }
        let seq = match self.note_call(call) {
            Ok(seq) => seq,
            Err(busy) => return call.reply(&busy),
        };
        call.client.push(listener.message(
            "notifications/subscriptions/acknowledged",
            &listener.acknowledged(),
        ));
        let mut added = Vec::new();
        {
            let mut subscriptions = self.lowered.subscriptions.lock();
            for uri in &listener.uris {
                let count = subscriptions.entry(uri.clone()).or_default();
                *count += 1;
                if *count == 1 {
                    added.push(uri.clone());
                }
            }
        }
        let uris = listener.uris.clone();
        self.lowered.listeners.lock().insert(seq, listener);
        let (session, call) = (self.clone(), call.clone());
        self.spawn(async move {
            for uri in added {
                let params = format!(r#"{{"uri":{}}}"#, quoted(&uri));
                drop(session.request("resources/subscribe", &params).await);
            }
            call.cancelled.cancelled().await;
            session.lowered.listeners.lock().remove(&seq);
            let mut removed = Vec::new();
            {
                let mut subscriptions = session.lowered.subscriptions.lock();
                for uri in uris {
                    if let Some(count) = subscriptions.get_mut(&uri) {
                        *count -= 1;
                        if *count == 0 {
                            subscriptions.remove(&uri);
                            removed.push(uri);
                        }
                    }
                }
            }
            for uri in removed {
                let params = format!(r#"{{"uri":{}}}"#, quoted(&uri));
                drop(session.request("resources/unsubscribe", &params).await);
            }
        });
    }
}

impl Lowered {
    /// The calls that have asked and are open at the server.
    pub(crate) fn open_calls(&self) -> Vec<Arc<Flow>> {
        let calls = self.calls.lock();
        calls.flows.values().map(|(_, flow)| flow.clone()).collect()
    }

    fn note(&self, place: u64, id: &RawId, flow: &Arc<Flow>) {
        let mut calls = self.calls.lock();
        calls.by_id.insert(id.clone(), place);
        calls.flows.insert(place, (id.clone(), flow.clone()));
    }
}

impl Open {
    /// What the client declared on it.
    fn capabilities(&self) -> Capabilities {
        match self {
            Self::Plain(call) => declared_by(call),
            Self::Flow(flow) => flow.capabilities(),
        }
    }
}

/// A call in the table of those that have asked, until dropped.
struct Noted<'a> {
    session: &'a Session,
    id: Option<RawId>,
}

impl Drop for Noted<'_> {
    fn drop(&mut self) {
        let mut calls = self.session.lowered.calls.lock();
        let place = self.id.take().and_then(|id| calls.by_id.remove(&id));
        if let Some(place) = place {
            calls.flows.remove(&place);
        }
    }
}

impl Listener {
    /// Reads a filter, and keeps of it what the server can deliver.
    fn new(call: &Arc<Call>, params: &str, init: &str) -> Self {
        let params: Value = serde_json::from_str(params).unwrap_or_default();
        let init: Value = serde_json::from_str(init).unwrap_or_default();
        let filter = &params["notifications"];
        let can = |list: &str, name: &str| init["capabilities"][list][name] == true;
        let wants = |name: &str| filter[name] == true;
        let uris = filter["resourceSubscriptions"].as_array();
        let uris = uris.into_iter().flatten();
        let uris = uris.filter_map(|uri| Some(uri.as_str()?.to_owned()));
        Self {
            call: call.clone(),
            tools: wants("toolsListChanged") && can("tools", "listChanged"),
            prompts: wants("promptsListChanged") && can("prompts", "listChanged"),
            resources: wants("resourcesListChanged") && can("resources", "listChanged"),
            uris: if can("resources", "subscribe") {
                uris.collect()
            } else {
                Vec::new()
            },
        }
    }

    fn acknowledged(&self) -> String {
        let mut filter = serde_json::Map::new();
        let lists = [
            ("toolsListChanged", self.tools),
            ("promptsListChanged", self.prompts),
            ("resourcesListChanged", self.resources),
        ];
        for (name, has) in lists {
            if has {
                filter.insert(name.to_owned(), true.into());
            }
        }
        if !self.uris.is_empty() {
            filter.insert("resourceSubscriptions".to_owned(), json!(self.uris));
        }
        json!({"notifications": filter}).to_string()
    }

    fn wants(&self, method: &str, params: &str) -> bool {
        match method {
            "notifications/tools/list_changed" => self.tools,
            "notifications/prompts/list_changed" => self.prompts,
            "notifications/resources/list_changed" => self.resources,
            "notifications/resources/updated" => RawObject::parse(params)
                .and_then(|params| params.string("uri"))
                .is_some_and(|uri| self.uris.contains(&uri)),
            _ => false,
        }
    }

    /// A notification on this stream.
    fn message(&self, method: &str, params: &str) -> Vec<u8> {
        let mut params = RawObject::parse(params).unwrap_or_default();
        let old = params.object("_meta").map(|meta| meta.to_string());
        let mut meta = old
            .as_deref()
            .and_then(RawObject::parse)
            .unwrap_or_default();
        meta.set(SUBSCRIPTION_ID, self.call.id.as_str().to_owned());
        let meta = meta.to_string();
        params.set("_meta", meta);
        envelope::notification(method, &params.to_string())
    }
}

/// The parameters of a call for a server of 2025.
fn lowered_params(mut params: RawObject<'_>, meta: Option<RawObject<'_>>) -> String {
    params.retain(|name| !matches!(name, "inputResponses" | "requestState" | "task"));
    if let Some(mut meta) = meta {
        meta.retain(|name| !meta::is_per_hop(name));
        if meta.is_empty() {
            params.remove("_meta");
        } else {
            params.set("_meta", meta.text());
        }
    }
    params.text()
}

/// What the client declared on a call.
fn declared_by(call: &Call) -> Capabilities {
    declared(call.params())
}

/// The level of the log messages that a call asks for.
fn log_level(params: &str) -> Option<String> {
    let params = RawObject::parse(params)?;
    params.parsed_object("_meta")?.string(LOG_LEVEL)
}

/// Whether a call failed because URLs have to be visited first.
fn requires_urls(error: &str) -> bool {
    error_code(error) == Some(i64::from(code::URL_REQUIRED))
}

/// Turns a result of a server of 2025 into one of 2026-07-28.
fn result_of_2026(result: &str, is_cacheable: bool) -> Reply {
    let all = [
        ("resultType", r#""complete""#),
        ("ttlMs", "0"),
        ("cacheScope", r#""private""#),
    ];
    let members = if is_cacheable { &all[..] } else { &all[..1] };
    if result.starts_with('{') && !members.iter().any(|(name, _)| may_name(result, name)) {
        return Reply::Result(with_members(result, members));
    }
    let Some(mut object) = RawObject::parse(result) else {
        return Reply::failed("the server's result is not an object", "bad_result");
    };
    for (name, value) in members {
        object.set(name, *value);
    }
    Reply::Result(object.text())
}

/// Turns an error of a server of 2025 into one of 2026-07-28; `None` if it stays.
fn error_of_2026(error: &str) -> Option<Reply> {
    if error_code(error) != Some(i64::from(code::RESOURCE_NOT_FOUND)) {
        return None;
    }
    let mut object = RawObject::parse(error)?;
    object.set("code", code::INVALID_PARAMS.to_string());
    Some(Reply::Error(object.text()))
}

/// Methods that 2026-07-28 no longer has.
fn is_gone(method: &str) -> bool {
    matches!(
        method,
        "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe"
    )
}

/// Whether results of this request say how long they may be kept.
fn is_cacheable(call: &Call) -> bool {
    match call.method {
        Method::ListTools | Method::ReadResource => true,
        Method::Other => Envelope::read(&call.message)
            .is_ok_and(|it| it.method().is_some_and(|method| method.ends_with("/list"))),
        Method::Initialize
        | Method::Discover
        | Method::CallTool
        | Method::GetPrompt
        | Method::Listen => false,
    }
}

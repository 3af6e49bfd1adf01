//! A client of 2026-07-28 in front of a server of 2025.
//!
//! The server's calls block while it asks. They are parked here: the client gets the questions in
//! the results of its rounds, and its answers go to the server one by one.

mod reports;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use entreat_core::schema::Era;
use entreat_wire::message::{CREATE, ElicitRequest, ROOTS, SAMPLE};
use futures_util::future::join_all;
use parking_lot::Mutex;
use serde_json::{Value, json};

use self::reports::{MAX_LOGS, Reports};
use crate::approvals::Gate;
use crate::ask::{Question, answer};
use crate::call::{Call, Method, ProgressNote};
use crate::capability::{self, Capabilities};
use crate::envelope::{self, RawId};
use crate::face::{Face, PushedFace, RoundsFace};
use crate::flow::Flow;
use crate::json::{RawObject, quoted};
use crate::meta::{self, LOG_LEVEL, SUBSCRIPTION_ID, Stamp};
use crate::modern::{declared, no_method};
use crate::reply::{Reply, code, error_code};
use crate::session::{MAX_HANDSHAKE, Pair, Place, Session};
use crate::visits::required_urls;

/// How many resources a stream of notifications may name.
const MAX_URIS: usize = 1_000;
/// How often a call is sent again after URLs were visited.
const MAX_REPEATS: usize = 3;

/// What a session in this pair of eras keeps.
#[derive(Default)]
pub(crate) struct Lowered {
    /// The server's response to the handshake.
    init: OnceLock<String>,
    /// Calls that are open at the server, by their ids there.
    calls: Mutex<BTreeMap<u64, (RawId, Arc<Flow>)>>,
    /// Streams of notifications that clients listen on, by the numbers of their calls: several
    /// clients may use one id.
    listeners: Mutex<HashMap<u64, Listener>>,
    /// How many listeners want each resource.
    subscriptions: Mutex<HashMap<String, usize>>,
    /// The roots that the client listed last.
    roots: Mutex<Option<String>>,
    /// What calls report between their rounds.
    reports: Mutex<HashMap<String, Reports>>,
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
    pub(crate) async fn lower(self: &Arc<Self>, stamp: &Stamp) -> Result<(), Reply> {
        let mut capabilities = RawObject::parse(&stamp.capabilities).unwrap_or_default();
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
        capabilities.remove("extensions");
        let params = format!(
            r#"{{"protocolVersion":{},"capabilities":{capabilities},"clientInfo":{}}}"#,
            quoted(Era::V2025_11_25.version()),
            stamp.info
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

    pub(crate) fn lowered_request(self: &Arc<Self>, call: &Arc<Call>, method: &str, params: &str) {
        if let Some(refusal) = meta::unsupported(params) {
            return call.client.respond(refusal.to_message(&call.id));
        }
        let declared = declared(params);
        match call.method {
            Method::Discover => {
                let reply = self.discovered().to_message(&call.id);
                call.client.respond(reply);
            }
            Method::Listen => self.listen(call, params),
            Method::CallTool | Method::GetPrompt | Method::ReadResource => {
                if self.continues_flow(call, declared, params) {
                    return;
                }
                if has_state(params) {
                    // A server of 2025 has none, and ours is not this: never a fresh start.
                    let refused =
                        Reply::error(code::INVALID_PARAMS, "the request state is not valid");
                    return call.client.respond(refused.to_message(&call.id));
                }
                if call.method == Method::CallTool && self.holds_for_approval(call, params) {
                    return;
                }
                self.park_call(call, params, None);
            }
            _ if is_gone(method) => call.client.respond(no_method().to_message(&call.id)),
            _ => {
                if let Err(busy) = self.note_call(call) {
                    return call.client.respond(busy.to_message(&call.id));
                }
                let (session, call, method) = (self.clone(), call.clone(), method.to_owned());
                let params = meta::stripped(params);
                call.client.leave();
                self.spawn(async move {
                    let reply = tokio::select! {
                        biased;
                        () = call.cancelled.cancelled() => return,
                        reply = session.request(&method, &params) => reply,
                    };
                    call.client.come_back();
                    let reply = session.modernised(declared, &method, reply);
                    session.respond(&call, reply.to_message(&call.id).into());
                });
            }
        }
    }

    /// Runs a call on the server, and holds the client's request until it has a result or
    /// questions.
    pub(crate) fn park_call(self: &Arc<Self>, call: &Arc<Call>, params: &str, gate: Option<Gate>) {
        let flow = match self.begin_flow(call.method, params, declared(params)) {
            Ok(flow) => flow,
            Err(busy) => return call.client.respond(busy.to_message(&call.id)),
        };
        let object = RawObject::parse(params).unwrap_or_default();
        let binding = self.binding(call.method.name(), &object);
        let wants_logs = object
            .object("_meta")
            .is_some_and(|meta| meta.get(LOG_LEVEL).is_some());
        if wants_logs {
            let reports = Reports::default();
            self.lowered
                .reports
                .lock()
                .insert(flow.handle.clone(), reports);
        }
        let params = lowered_params(params, call, &flow.handle);
        let (session, driven, method) = (self.clone(), flow.clone(), call.method.name());
        self.spawn(async move {
            let work = async {
                if let Some(gate) = gate
                    && let Err(refusal) = gate.pass(&Face::of(&driven)).await
                {
                    return refusal;
                }
                session.call_parked(&driven, method, &params).await
            };
            tokio::select! {
                biased;
                reply = work => {
                    driven.finish(session.modernised(driven.capabilities(), method, reply));
                }
                () = driven.cancelled.cancelled() => {}
            }
            session.lowered.reports.lock().remove(&driven.handle);
        });
        self.attend(&flow, call, binding, true);
    }

    /// Calls the server; repeats the call after URLs that it requires were visited.
    async fn call_parked(self: &Arc<Self>, flow: &Arc<Flow>, method: &str, params: &str) -> Reply {
        let mut repeats = 0;
        loop {
            let noted = NotedCall::new(self, flow);
            let reply = self
                .request_noting(method, params, |id| noted.note(id))
                .await;
            drop(noted);
            self.answers_used(&reply, flow.take_answers());
            let Reply::Error(error) = &reply else {
                return reply;
            };
            let is_required = error_code(error) == Some(i64::from(code::URL_REQUIRED));
            if !is_required || repeats == MAX_REPEATS {
                return reply;
            }
            repeats += 1;
            if !self.visit_modern(flow, error).await {
                // The error of 2025 does not exist any more.
                return Reply::failed(
                    "the person did not visit what the call requires",
                    "declined",
                );
            }
        }
    }

    /// Asks the client to visit the URLs of an error; returns whether all have consent.
    async fn visit_modern(self: &Arc<Self>, flow: &Arc<Flow>, error: &str) -> bool {
        let urls = required_urls(error);
        let face = Face::of(flow);
        let asked = urls.iter().map(|url| {
            let request = ElicitRequest::url(&url.message, &url.url, None);
            let visited = url.elicitation_id.as_deref().map(|id| self.visited(id));
            let question = Question {
                raw: request.clone().into_params().to_string(),
                request,
            };
            let face = &face;
            async move {
                let reply = answer(face, &question).await;
                let Reply::Result(result) = reply else {
                    return false;
                };
                let accepts = RawObject::parse(&result)
                    .and_then(|result| result.string("action"))
                    .is_some_and(|action| action == "accept");
                if accepts && let Some(visited) = visited {
                    // The server says when; if it does not, the call is tried again all the same.
                    tokio::select! {
                        biased;
                        _ = visited => {}
                        () = face.sleep(face.settings().hold) => {}
                    }
                }
                accepts
            }
        });
        !urls.is_empty() && join_all(asked).await.into_iter().all(|accepts| accepts)
    }

    // ---- requests of the upstream

    pub(crate) async fn lowered_asked(
        self: &Arc<Self>,
        id: RawId,
        method: &str,
        params: &str,
        via: Option<RawId>,
    ) {
        let (exact, oldest) = self.lowered.attribute(via.as_ref());
        match method {
            "ping" => {
                let reply = Reply::Result("{}".to_owned()).to_message(&id);
                self.upstream.send(reply).await;
            }
            CREATE => {
                if let Some(place) = self.serve(&id, method, params).await {
                    self.ask_lowered(id, params, exact, oldest, place);
                }
            }
            SAMPLE | ROOTS => {
                let declares = |flow: &Arc<Flow>| {
                    let can = flow.capabilities();
                    if method == SAMPLE {
                        can.sampling
                    } else {
                        can.roots
                    }
                };
                let flow = exact.or(oldest).filter(declares);
                let Some(place) = self.serve(&id, method, params).await else {
                    return;
                };
                let (session, method, params) =
                    (self.clone(), method.to_owned(), params.to_owned());
                self.spawn(async move {
                    let reply = session.client_content(flow, &method, &params).await;
                    session.upstream.send(reply.to_message(&id)).await;
                    drop(place);
                });
            }
            _ => self.upstream.send(no_method().to_message(&id)).await,
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
                return no_method();
            }
            // Outside a call, nobody can be asked.
            let known = self.lowered.roots.lock().clone();
            let known = known.unwrap_or_else(|| r#"{"roots":[]}"#.to_owned());
            return Reply::Result(self.with_configured_roots(&known));
        };
        let reply = tokio::select! {
            biased;
            reply = flow.ask_client(method, params, None) => reply,
            () = flow.cancelled.cancelled() => Reply::failed("the call was cancelled", "cancelled"),
        };
        match reply {
            Reply::Result(result) if method == ROOTS => {
                *self.lowered.roots.lock() = Some(result.clone());
                Reply::Result(self.with_configured_roots(&result))
            }
            reply => reply,
        }
    }

    fn with_configured_roots(&self, result: &str) -> String {
        let mut configured = self.configured_roots().peekable();
        if configured.peek().is_none() {
            return result.to_owned();
        }
        let mut result: Value = serde_json::from_str(result).unwrap_or_else(|_| json!({}));
        let own = result["roots"].as_array().cloned().unwrap_or_default();
        result["roots"] = own.into_iter().chain(configured).collect();
        result.to_string()
    }

    /// Asks a question of the upstream, which belongs to the call `exact` if that is known. If not,
    /// it goes to a page, and the oldest call has its link.
    fn ask_lowered(
        self: &Arc<Self>,
        id: RawId,
        params: &str,
        exact: Option<Arc<Flow>>,
        oldest: Option<Arc<Flow>>,
        place: Place,
    ) {
        let cancelled = match &exact {
            Some(flow) => flow.cancelled.child_token(),
            None => self.stop.child_token(),
        };
        let withdrawn = cancelled.clone();
        self.state.lock().asks.insert(id.clone(), withdrawn.clone());
        let (session, params) = (self.clone(), params.to_owned());
        self.spawn(async move {
            let is_certain = exact.is_some();
            let face = match exact.or(oldest) {
                Some(flow) => Face::Rounds(RoundsFace {
                    flow,
                    is_certain,
                    cancelled,
                }),
                None => Face::Pushed(PushedFace {
                    session: session.clone(),
                    call: None,
                    linkable: None,
                    cancelled,
                }),
            };
            let _waiting = session.keep_server_waiting(&params);
            // To its end also if it is cancelled: an answer may be on its way.
            let reply = match Question::read(&params) {
                Ok(question) => answer(&face, &question).await,
                Err(error) => error,
            };
            let reply = if withdrawn.is_cancelled() && matches!(reply, Reply::Error(_)) {
                Reply::Result(r#"{"action":"cancel"}"#.to_owned())
            } else {
                reply
            };
            // A question that the upstream has cancelled gets no answer.
            let is_open = session.state.lock().asks.remove(&id).is_some();
            if is_open {
                session.upstream.send(reply.to_message(&id)).await;
            }
            drop(place);
        });
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
            "notifications/cancelled" => {
                let id = RawObject::parse(params)
                    .and_then(|params| params.get("requestId").map(RawId::new));
                let asking = id.and_then(|id| self.state.lock().asks.remove(&id));
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

    async fn lowered_progress(&self, params: &str) {
        let Some(mut report) = RawObject::parse(params) else {
            return;
        };
        let Some(handle) = report.string("progressToken") else {
            return;
        };
        let Some(flow) = self.flows.get(&handle) else {
            return;
        };
        let Some(call) = flow.held() else {
            let mut reports = self.lowered.reports.lock();
            if let Some(reports) = reports.get_mut(&handle)
                && let Some(report) = self.kept_report(params)
            {
                reports.progress = Some(report);
            }
            return;
        };
        let Some(token) = call.token() else {
            return;
        };
        let value = report.get("progress").and_then(|it| it.parse().ok());
        match value.map(|value| call.note_progress(value)) {
            Some(ProgressNote::Pass) => {}
            Some(ProgressNote::Raise(value)) => report.set("progress", value.to_string()),
            Some(ProgressNote::Drop) | None => return,
        }
        report.set("progressToken", token.into_string());
        let message = envelope::notification("notifications/progress", &report.to_string());
        call.client.send(message).await;
    }

    /// Delivers a log message to the call that it belongs to, if that asked for it.
    async fn lowered_log(&self, params: &str, via: Option<&RawId>) {
        let (exact, oldest) = self.lowered.attribute(via);
        let Some(flow) = exact.or(oldest) else {
            return;
        };
        let held = {
            let mut reports = self.lowered.reports.lock();
            let Some(reports) = reports.get_mut(&flow.handle) else {
                return;
            };
            let held = flow.held();
            if held.is_none()
                && reports.logs.len() < MAX_LOGS
                && let Some(report) = self.kept_report(params)
            {
                reports.logs.push(report);
            }
            held
        };
        if let Some(call) = held {
            let message = envelope::notification("notifications/message", params);
            call.client.send(message).await;
        }
    }

    // ---- streams of notifications

    /// Opens a stream: the server's notifications are passed to it from now on.
    fn listen(self: &Arc<Self>, call: &Arc<Call>, params: &str) {
        let init = self.lowered.init.get().map_or("{}", String::as_str);
        let listener = Listener::new(call, params, init);
        if listener.uris.len() > MAX_URIS {
            let error = Reply::error(code::INVALID_PARAMS, "params: more than 1,000 resources");
            return call.client.respond(error.to_message(&call.id));
        }
        let seq = match self.note_call(call) {
            Ok(seq) => seq,
            Err(busy) => return call.client.respond(busy.to_message(&call.id)),
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

    /// Turns a reply of a server of 2025 into one of 2026-07-28.
    fn modernised(&self, shows: Capabilities, method: &str, reply: Reply) -> Reply {
        match reply {
            Reply::Result(result) => {
                let result = if method == "tools/list" {
                    self.with_resume_tool(shows, &result).unwrap_or(result)
                } else {
                    result
                };
                let Some(mut object) = RawObject::parse(&result) else {
                    return Reply::failed("the server's result is not an object", "bad_result");
                };
                object.set("resultType", r#""complete""#);
                if is_cacheable(method) {
                    object.set("ttlMs", "0");
                    object.set("cacheScope", r#""private""#);
                }
                Reply::Result(object.to_string())
            }
            Reply::Error(error) => {
                let is_missing = error_code(&error) == Some(i64::from(code::RESOURCE_NOT_FOUND));
                match RawObject::parse(&error) {
                    Some(mut error) if is_missing => {
                        error.set("code", code::INVALID_PARAMS.to_string());
                        Reply::Error(error.to_string())
                    }
                    _ => Reply::Error(error),
                }
            }
        }
    }
}

impl Lowered {
    /// The calls that are open at the server.
    pub(crate) fn open_calls(&self) -> Vec<Arc<Flow>> {
        let calls = self.calls.lock();
        calls.values().map(|(_, flow)| flow.clone()).collect()
    }

    /// The call that a message of the server belongs to, if that is certain, and the oldest one.
    fn attribute(&self, via: Option<&RawId>) -> (Option<Arc<Flow>>, Option<Arc<Flow>>) {
        let calls = self.calls.lock();
        let oldest = calls.values().next().map(|(_, flow)| flow.clone());
        if let Some(via) = via {
            let mut found = calls.values().filter(|(id, _)| id == via);
            if let Some((_, flow)) = found.next() {
                return (Some(flow.clone()), oldest);
            }
        }
        let exact = (calls.len() == 1).then(|| oldest.clone()).flatten();
        (exact, oldest)
    }
}

/// A call in the table of open ones, until dropped.
struct NotedCall<'a> {
    session: &'a Session,
    flow: Arc<Flow>,
    key: Mutex<Option<u64>>,
}

impl<'a> NotedCall<'a> {
    fn new(session: &'a Session, flow: &Arc<Flow>) -> Self {
        Self {
            session,
            flow: flow.clone(),
            key: Mutex::default(),
        }
    }

    fn note(&self, id: &RawId) {
        let mut calls = self.session.lowered.calls.lock();
        let key = calls.last_key_value().map_or(0, |(key, _)| key + 1);
        calls.insert(key, (id.clone(), self.flow.clone()));
        *self.key.lock() = Some(key);
    }
}

impl Drop for NotedCall<'_> {
    fn drop(&mut self) {
        if let Some(key) = *self.key.lock() {
            self.session.lowered.calls.lock().remove(&key);
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

/// The parameters of a call for a server of 2025. Progress is reported under our own token, since
/// the client's is one of a single round.
fn lowered_params(params: &str, call: &Call, handle: &str) -> String {
    let Some(mut object) = RawObject::parse(params) else {
        return params.to_owned();
    };
    meta::strip(&mut object);
    object.retain(|name| !matches!(name, "inputResponses" | "requestState" | "task"));
    if call.has_token() {
        let old = object.object("_meta").map(|meta| meta.to_string());
        let mut meta = old
            .as_deref()
            .and_then(RawObject::parse)
            .unwrap_or_default();
        meta.set("progressToken", quoted(handle));
        let meta = meta.to_string();
        object.set("_meta", meta);
    }
    object.to_string()
}

/// Whether a request claims to go on with a call.
fn has_state(params: &str) -> bool {
    RawObject::parse(params).is_some_and(|params| params.get("requestState").is_some())
}

/// Methods that 2026-07-28 no longer has.
fn is_gone(method: &str) -> bool {
    matches!(
        method,
        "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe"
    )
}

/// Methods whose results say how long they may be kept.
fn is_cacheable(method: &str) -> bool {
    method.ends_with("/list") || method == "resources/read"
}

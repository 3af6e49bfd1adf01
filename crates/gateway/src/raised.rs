//! A client of 2025 in front of a server of 2026-07-28.
//!
//! The gateway has the session that the server no longer has: it answers the handshake, keeps the
//! log level and the subscriptions, and drives calls through their rounds while the client's
//! request stays open.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use entreat_wire::backoff::Backoff;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::approvals::Gate;
use crate::call::{Call, Method};
use crate::cancellation::CANCELLED;
use crate::capability;
use crate::envelope::{self, Envelope, RawId};
use crate::json::{RawObject, quoted};
use crate::meta::{ClientMeta, SERVER_INFO, SUBSCRIPTION_ID, own_info};
use crate::recipient::Recipient;
use crate::reply::{Reply, code, error_code};
use crate::rounds::{Round, drive};
use crate::session::{Change, Pair, Session, params_with_token};
use crate::subscriptions::Subscriptions;
use crate::tasks::AbortOnDrop;

/// The longest log level that is kept, in bytes: the protocol has no longer ones, and each request
/// says it again.
pub(crate) const MAX_LEVEL: usize = 64;
/// The pauses before a stream of notifications is opened again.
const PAUSES: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(30));

/// What a session in this pair of eras keeps.
#[derive(Default)]
pub(crate) struct Raised {
    /// What the server says of itself.
    found: Mutex<String>,
    log_level: Mutex<Option<String>>,
    /// What the server is told of the client, until that changes.
    client_meta: Mutex<Option<Arc<ClientMeta>>>,
    /// The resources that the client subscribes to.
    uris: watch::Sender<Subscriptions>,
    /// The request of the stream whose notifications pass.
    stream: Mutex<Option<RawId>>,
    /// Woken when the newest stream is acknowledged.
    acknowledged: watch::Sender<Option<RawId>>,
}

impl Raised {
    /// Notes that the client says something else of itself.
    pub(crate) fn forget_client_meta(&self) {
        *self.client_meta.lock() = None;
    }
}

impl Session {
    /// The upstream has no handshake: finds out whether it speaks 2026-07-28.
    pub(crate) fn try_raised(self: &Arc<Self>, call: &Arc<Call>, error: &str) -> Change {
        let (session, call, error) = (self.clone(), call.clone(), error.to_owned());
        if self.client_info().era.is_none() {
            self.note_down(&error);
            return Change::Pass;
        }
        self.spawn(async move {
            // Requests go out in its way from now on; if it is none, nothing else was sent.
            session.state.lock().pair = Pair::Raised;
            let reply = if let Some(found) = session.discover(&session.client_meta()).await {
                session.note_modern(&found);
                *session.raised.found.lock() = found;
                session.handshake()
            } else {
                session.state.lock().pair = Pair::Legacy;
                session.note_down(&error);
                Reply::Error(error)
            };
            session.reply(&call, &reply);
        });
        Change::Held
    }

    /// What the upstream is told of the client in each request.
    pub(crate) fn client_meta(&self) -> Arc<ClientMeta> {
        let mut client_meta = self.raised.client_meta.lock();
        client_meta
            .get_or_insert_with(|| Arc::new(self.new_client_meta()))
            .clone()
    }

    fn new_client_meta(&self) -> ClientMeta {
        let client = self.client_info();
        let mut capabilities = RawObject::parse(&client.raw_capabilities).unwrap_or_default();
        // There are no tasks in the core protocol any more, and extensions differ.
        capabilities.retain(|name| !matches!(name, "tasks" | "experimental"));
        capability::keep_shared_extensions(&mut capabilities);
        let mut text = if self.adds_elicitation(client.capabilities) {
            capability::with_elicitation(&capabilities)
        } else {
            capabilities.to_string()
        };
        if self.has_configured_roots()
            && let Some(mut object) = RawObject::parse(&text.clone())
        {
            object.set("roots", "{}");
            text = object.to_string();
        }
        let info = client.raw_info.clone();
        ClientMeta {
            info: if info.is_empty() { own_info() } else { info },
            capabilities: text,
            log_level: self.raised.log_level.lock().clone(),
        }
    }

    /// The response to the handshake of the client.
    fn handshake(&self) -> Reply {
        let found = self.raised.found.lock().clone();
        let found = RawObject::parse(&found).unwrap_or_default();
        let mut result = RawObject::default();
        result.set("protocolVersion", quoted(&self.client_info().version));
        let mut capabilities = found.object("capabilities").unwrap_or_default();
        capability::keep_shared_extensions(&mut capabilities);
        result.set("capabilities", capabilities.to_string());
        let meta = found.object("_meta").unwrap_or_default();
        let info = meta.get(SERVER_INFO).or_else(|| found.get("serverInfo"));
        let unknown = || {
            let name = quoted(&self.server_name());
            format!(r#"{{"name":{name},"version":"0"}}"#)
        };
        result.set("serverInfo", info.map_or_else(unknown, str::to_owned));
        if let Some(instructions) = found.get("instructions") {
            result.set("instructions", instructions.to_owned());
        }
        Reply::Result(result.to_string())
    }

    pub(crate) async fn raised_request(
        self: &Arc<Self>,
        call: &Arc<Call>,
        envelope: &Envelope<'_>,
        method: &str,
        params: &str,
    ) {
        if call.method == Method::Other
            && let Some(reply) = self.answer_here(method, params)
        {
            return call.reply(&reply);
        }
        if call.method == Method::CallTool && self.is_resume(params) {
            return self.resume(call.clone(), params);
        }
        if call.method == Method::CallTool && self.holds_for_approval(call, params) {
            return;
        }
        let params = self.client_meta().applied_to(params);
        self.send_call(call, envelope, Some(&params)).await;
    }

    /// Answers what only a session can: 2026-07-28 has none.
    fn answer_here(self: &Arc<Self>, method: &str, params: &str) -> Option<Reply> {
        let text = |name: &str| RawObject::parse(params)?.string(name);
        match method {
            "ping" => {}
            "logging/setLevel" => {
                let level = text("level");
                if level.as_ref().is_some_and(|it| it.len() > MAX_LEVEL) {
                    let error = Reply::invalid_params("level: there is no such level");
                    return Some(error);
                }
                *self.raised.log_level.lock() = level;
                self.raised.forget_client_meta();
            }
            "resources/subscribe" => {
                let uri = text("uri").unwrap_or_default();
                let mut added = Ok(false);
                self.raised.uris.send_if_modified(|uris| {
                    added = uris.add(uri);
                    added == Ok(true)
                });
                if let Err(refusal) = added {
                    return Some(refusal);
                }
            }
            "resources/unsubscribe" => {
                let uri = text("uri").unwrap_or_default();
                self.raised.uris.send_if_modified(|uris| uris.remove(&uri));
            }
            _ => return None,
        }
        Some(Reply::empty())
    }

    /// Takes the first response of the server to a request. Most calls end with it.
    pub(crate) fn raised_reply(
        self: &Arc<Self>,
        call: &Arc<Call>,
        result: Option<&str>,
        error: Option<&str>,
    ) -> Change {
        if call.method.may_ask()
            && let Some(round) = result.and_then(Round::of)
        {
            self.drive_raised(call, Some(round), None);
            return Change::Held;
        }
        let changed = match (result, error) {
            (Some(result), _) => Some(self.result_of_2025(call.method, result)),
            (None, error) => error_of_2025(call.method, error.unwrap_or("{}")),
        };
        changed.map_or(Change::Pass, Change::Reply)
    }

    /// Holds a call until it is approved.
    pub(crate) fn hold_raised(self: &Arc<Self>, call: &Arc<Call>, gate: Gate) {
        if let Err(busy) = self.note_call(call) {
            return call.reply(&busy);
        }
        call.client.leave();
        self.drive_raised(call, None, Some(gate));
    }

    /// Sends a call through its rounds, from its first result if there is one, while the client
    /// waits.
    fn drive_raised(self: &Arc<Self>, call: &Arc<Call>, first: Option<Round>, gate: Option<Gate>) {
        let (session, call) = (self.clone(), call.clone());
        self.spawn(async move {
            let recipient = Recipient::of_call(&session, &call);
            let work = async {
                if let Some(gate) = gate
                    && let Err(refusal) = gate.pass(&recipient).await
                {
                    return refusal;
                }
                let mut params = session.client_meta().applied_to(call.params());
                if let Some(token) = call.upstream_token() {
                    params = params_with_token(&params, &token).unwrap_or(params);
                }
                drive(&session, &recipient, call.method.name(), &params, first).await
            };
            let reply = tokio::select! {
                biased;
                reply = work => reply,
                () = call.cancelled.cancelled() => return,
            };
            call.client.come_back();
            let reply = match reply {
                Reply::Result(result) => session.result_of_2025(call.method, &result),
                Reply::Error(error) => {
                    error_of_2025(call.method, &error).unwrap_or(Reply::Error(error))
                }
            };
            session.reply(&call, &reply);
        });
    }

    /// Turns a result of a server of 2026-07-28 into one of 2025.
    fn result_of_2025(&self, method: Method, result: &str) -> Reply {
        let Some(mut object) = RawObject::parse(result) else {
            return Reply::Result(result.to_owned());
        };
        let kind = object.string("resultType");
        if kind.is_some_and(|kind| kind != "complete") {
            let message = "the server's result is of a kind that this client has not declared";
            return Reply::may_have_run(message, "unknown_result");
        }
        object.retain(|name| !matches!(name, "resultType" | "ttlMs" | "cacheScope"));
        crate::meta::strip(&mut object);
        let result = object.text();
        let listed = (method == Method::ListTools)
            .then(|| self.with_resume_tool(self.client_info().capabilities, &result));
        Reply::Result(listed.flatten().unwrap_or(result))
    }

    pub(crate) fn raised_notification(self: &Arc<Self>, method: &str) {
        // The others have no counterpart: changed roots are listed anew in each round.
        if method == "notifications/initialized" {
            let session = self.clone();
            self.spawn(async move { session.follow_changes().await });
        }
    }

    pub(crate) async fn raised_notified(
        self: &Arc<Self>,
        text: &Bytes,
        method: &str,
        params: &str,
    ) {
        let object = RawObject::parse(params).unwrap_or_default();
        let meta = object.object("_meta").unwrap_or_default();
        let Some(stream) = meta.get(SUBSCRIPTION_ID).map(RawId::new) else {
            if method == "notifications/progress" {
                return self.pass_progress(text, params).await;
            }
            return self.client.send(text.to_vec()).await;
        };
        if method == "notifications/subscriptions/acknowledged" {
            let before = self.raised.stream.lock().replace(stream.clone());
            self.raised.acknowledged.send_replace(Some(stream));
            // Nobody told of changes between the end of the stream before and this moment.
            if before.is_some_and(|before| !self.is_open_at_upstream(&before)) {
                self.lists_changed().await;
            }
            return;
        }
        // While one stream takes over from another, both deliver.
        let is_current = self.raised.stream.lock().as_ref() == Some(&stream);
        if is_current && method != CANCELLED {
            let params = crate::meta::stripped(params);
            self.client
                .send(envelope::notification(method, &params))
                .await;
        }
    }

    /// Keeps a stream of the server's notifications open. A new filter opens its stream before the
    /// old one is closed, so that nothing is missed.
    async fn follow_changes(self: Arc<Self>) {
        let mut uris = self.raised.uris.subscribe();
        let mut current: Option<AbortOnDrop> = None;
        let mut pauses = PAUSES;
        loop {
            let Some(filter) = self.filter(uris.borrow_and_update().uris()) else {
                if uris.changed().await.is_err() {
                    return;
                }
                continue;
            };
            let (ended, mut end) = watch::channel(false);
            let mut acknowledged = self.raised.acknowledged.subscribe();
            acknowledged.borrow_and_update();
            let session = self.clone();
            let params = self
                .client_meta()
                .applied_to(&json!({"notifications": filter}).to_string());
            let next = AbortOnDrop::spawn(async move {
                drop(session.request("subscriptions/listen", &params).await);
                ended.send_replace(true);
            });
            tokio::select! {
                biased;
                _ = acknowledged.changed() => pauses.reset(),
                () = has_ended(&mut end) => {}
                () = self.sleep(self.settings().discover) => {}
            }
            // Closes the stream before this one.
            drop(current.replace(next));
            tokio::select! {
                biased;
                () = has_ended(&mut end) => {
                    self.sleep(pauses.next_pause()).await;
                }
                changed = uris.changed() => if changed.is_err() {
                    return;
                },
            }
        }
    }

    /// What the server can tell of, and the client wants to hear.
    fn filter(&self, uris: &BTreeSet<String>) -> Option<Value> {
        let found = self.raised.found.lock().clone();
        let found: Value = serde_json::from_str(&found).unwrap_or_default();
        let can = |list: &str, name: &str| found["capabilities"][list][name] == true;
        let mut filter = serde_json::Map::new();
        for list in ["tools", "prompts", "resources"] {
            if can(list, "listChanged") {
                filter.insert(format!("{list}ListChanged"), true.into());
            }
        }
        if !uris.is_empty() {
            filter.insert("resourceSubscriptions".to_owned(), json!(uris));
        }
        (!filter.is_empty()).then(|| filter.into())
    }
}

/// Turns an error of a server of 2026-07-28 into one of 2025; `None` if it stays.
fn error_of_2025(method: Method, error: &str) -> Option<Reply> {
    if method != Method::ReadResource {
        return None;
    }
    let mut object = RawObject::parse(error)?;
    if error_code(error) != Some(i64::from(code::INVALID_PARAMS)) {
        return None;
    }
    object.set("code", code::RESOURCE_NOT_FOUND.to_string());
    Some(Reply::Error(object.text()))
}

/// Waits until a stream has ended.
async fn has_ended(end: &mut watch::Receiver<bool>) {
    // Its task sends before it ends; if it was aborted, it has ended too.
    let _ = end.wait_for(|ended| *ended).await;
}

//! A client and a server of 2025 or before: messages pass, and questions that the client cannot
//! show are asked by Entreat.

use std::sync::Arc;

use bytes::Bytes;
use entreat_core::schema::Era;
use entreat_wire::message::{CREATE, ROOTS};
use memchr::memmem;
use serde_json::{Value, json};

use crate::call::{Call, Method, ProgressNote};
use crate::cancellation::{CANCELLED, Cancellation};
use crate::capability::{self, Capabilities};
use crate::envelope::{self, Envelope, RawId};
use crate::json::{RawObject, quoted};
use crate::links;
use crate::meta::SUBSCRIPTION_ID;
use crate::recipient::{PushedRecipient, Recipient};
use crate::reply::{Reply, code, error_code};
use crate::session::{
    Change, ClientInfo, MAX_HANDSHAKE, MAX_ID, MAX_PUSHED, NO_ROOTS, Pair, Push, ServingSlot,
    Session,
};

impl Session {
    // ---- the handshake

    /// Passes the handshake on. Where Entreat asks, the server is told that every question can be
    /// shown, in the version that has all of them.
    pub(crate) async fn initialize(
        self: &Arc<Self>,
        call: Arc<Call>,
        envelope: &Envelope<'_>,
        params: &str,
    ) {
        if params.len() > MAX_HANDSHAKE {
            let error = Reply::invalid_params("params: larger than 256 KiB");
            return call.reply(&error);
        }
        let Some(mut offered) = RawObject::parse(params) else {
            let error = Reply::not_an_object();
            return call.reply(&error);
        };
        let info = ClientInfo::of(&offered);
        let offer = self.offer(&info);
        let is_changed = offer.version.is_some() || offer.capabilities.is_some();
        if let Some(version) = offer.version {
            offered.set("protocolVersion", quoted(version));
        }
        if let Some(capabilities) = &offer.capabilities {
            offered.set("capabilities", capabilities.clone());
        }
        let message = if is_changed {
            envelope.with_params(&offered.to_string())
        } else {
            call.message.to_vec()
        };
        {
            let mut state = self.state.lock();
            state.pair = Pair::Legacy;
            state.client = Arc::new(info);
        }
        self.raised.forget_client_meta();
        if let Ok(envelope) = Envelope::read(&message) {
            self.send_call(&call, &envelope, None).await;
        }
    }

    /// What the upstream is told instead of what the client said.
    fn offer(&self, client: &ClientInfo) -> Offer {
        let mut offer = Offer::default();
        let Some(era) = client.era else {
            return offer;
        };
        let declared = RawObject::parse(&client.raw_capabilities).unwrap_or_default();
        let asks = self.settings().fulfils
            && self.page_asker.has_pages()
            && !client.capabilities.shows_everything();
        let mut capabilities = asks.then(|| capability::with_elicitation(&declared));
        if self.has_configured_roots() && !client.capabilities.roots {
            let text = capabilities.unwrap_or_else(|| declared.to_string());
            let mut object = RawObject::parse(&text).unwrap_or_default();
            object.set("roots", "{}");
            capabilities = Some(object.to_string());
        }
        if asks && era == Era::V2025_06_18 {
            offer.version = Some(Era::V2025_11_25.version());
        }
        offer.capabilities = capabilities;
        offer
    }

    /// Takes the response to the handshake.
    fn initialized(&self, result: &str) -> Change {
        let Some(mut answer) = RawObject::parse(result) else {
            return Change::Pass;
        };
        let version = answer.string("protocolVersion").unwrap_or_default();
        let client = self.client_info();
        {
            let mut state = self.state.lock();
            state.upstream_era = version.parse().ok();
            let name = answer.object("serverInfo");
            state.upstream_name = name.as_ref().and_then(capability::name_of);
        }
        self.note_up();
        // The version was raised on the client's behalf.
        let was_raised =
            client.era == Some(Era::V2025_06_18) && version == Era::V2025_11_25.version();
        if !was_raised {
            return Change::Pass;
        }
        answer.set("protocolVersion", quoted(&client.version));
        Change::Reply(Reply::Result(answer.to_string()))
    }

    // ---- requests of the client

    pub(crate) async fn legacy_request(
        self: &Arc<Self>,
        call: Arc<Call>,
        envelope: &Envelope<'_>,
        params: &str,
    ) {
        if call.method == Method::CallTool && self.is_resume(params) {
            return self.resume(call, params);
        }
        if call.method == Method::CallTool && self.holds_for_approval(&call, params) {
            return;
        }
        self.send_call(&call, envelope, None).await;
    }

    /// Registers a call and sends it, with other parameters if there are any.
    pub(crate) async fn send_call(
        &self,
        call: &Arc<Call>,
        envelope: &Envelope<'_>,
        params: Option<&str>,
    ) {
        match self.register(call, envelope, params) {
            Ok(message) => {
                call.client.leave();
                self.upstream.send(message).await;
            }
            Err(busy) => call.reply(&busy),
        }
    }

    pub(crate) fn legacy_reply(
        self: &Arc<Self>,
        call: &Arc<Call>,
        result: Option<&str>,
        error: Option<&str>,
    ) -> Change {
        match (call.method, result, error) {
            (Method::Initialize, Some(result), _) => self.initialized(result),
            (Method::Initialize, None, Some(error)) => self.try_raised(call, error),
            (Method::ListTools, Some(result), _) => self
                .with_resume_tool(self.client_info().capabilities, result)
                .map_or(Change::Pass, |result| Change::Reply(Reply::Result(result))),
            (method, None, Some(error)) if method.may_ask() => self.visit_required(call, error),
            _ => Change::Pass,
        }
    }

    /// Handles a call that requires URLs to be visited first, if the client does not show URLs.
    fn visit_required(self: &Arc<Self>, call: &Arc<Call>, error: &str) -> Change {
        let is_required = error_code(error) == Some(i64::from(code::URL_REQUIRED));
        let can_ask = self.settings().fulfils
            && self.page_asker.has_pages()
            && !self.client_info().capabilities.url;
        if !is_required || !can_ask {
            return Change::Pass;
        }
        let (session, call, error) = (self.clone(), call.clone(), error.to_owned());
        self.spawn(async move {
            if let Some(reply) = crate::visits::visit(&session, &call, &error).await {
                return session.reply(&call, &reply);
            }
            session.send_again(&call).await;
        });
        Change::Held
    }

    // ---- requests of the upstream

    pub(crate) async fn upstream_asked(
        self: &Arc<Self>,
        envelope: &Envelope<'_>,
        id: RawId,
        method: &str,
        params: &str,
        via: Option<RawId>,
    ) {
        if id.as_str().len() > MAX_ID {
            // It would be kept until there is a response.
            let error = Reply::invalid_request("id: longer than 1 KiB");
            return self.reply_upstream(&id, &error).await;
        }
        let pair = self.state.lock().pair;
        match (pair, method) {
            (Pair::Lowered, _) => self.lowered_asked(id, method, params, via).await,
            // Servers of 2026-07-28 send no requests.
            (Pair::Modern | Pair::Raised, _) => {
                let error = Reply::unknown_method();
                self.reply_upstream(&id, &error).await;
            }
            (_, CREATE) if self.asks_itself() => {
                if let Some(slot) = self.serve(&id, method, params).await {
                    self.ask_pushed(id, params, via.as_ref(), slot);
                }
            }
            (_, ROOTS) if self.has_configured_roots() => {
                if let Some(slot) = self.serve(&id, method, params).await {
                    self.list_roots(id, slot);
                }
            }
            (Pair::Undecided | Pair::Legacy, _) => {
                if self.state.lock().pushes.len() >= MAX_PUSHED {
                    let busy = Reply::too_many_requests();
                    return self.reply_upstream(&id, &busy).await;
                }
                if method == CREATE {
                    self.note_native(params);
                }
                let (_, call) = self.attribute(via.as_ref());
                let client = call.map_or_else(|| self.general_client(), |it| it.client.clone());
                let client_id = {
                    let mut state = self.state.lock();
                    let passes = id.is_plain() && !state.pushes.contains_key(&id);
                    let client_id = if passes {
                        id.clone()
                    } else {
                        RawId::text(&self.new_id())
                    };
                    let push = Push::Upstream(id, client.clone());
                    state.pushes.insert(client_id.clone(), push);
                    client_id
                };
                client.send_request(envelope.with_id(&client_id)).await;
            }
        }
    }

    /// Whether questions of the server are the gateway's business.
    fn asks_itself(&self) -> bool {
        let client = self.client_info();
        client.era.is_some() && self.settings().fulfils && self.page_asker.has_pages()
    }

    /// Asks a question of the upstream on the call that it belongs to.
    fn ask_pushed(
        self: &Arc<Self>,
        id: RawId,
        params: &str,
        via: Option<&RawId>,
        slot: ServingSlot,
    ) {
        let (call, linkable) = self.attribute(via);
        let cancelled = match &call {
            Some(call) => call.cancelled.child_token(),
            None => self.stop.child_token(),
        };
        let recipient = Recipient::Pushed(PushedRecipient {
            session: self.clone(),
            call,
            linkable,
            cancelled,
        });
        self.ask(id, params, recipient, slot);
    }

    /// Answers with the client's roots and the configured ones.
    fn list_roots(self: &Arc<Self>, id: RawId, slot: ServingSlot) {
        let session = self.clone();
        self.spawn(async move {
            let mut own = NO_ROOTS.to_owned();
            if session.client_info().capabilities.roots
                && let Reply::Result(result) = session.ask_client(None, ROOTS, "{}").await
            {
                own = result;
            }
            let reply = Reply::Result(session.with_configured_roots(&own));
            session.reply_upstream(&id, &reply).await;
            drop(slot);
        });
    }

    /// Whether there are roots besides the client's.
    pub(crate) fn has_configured_roots(&self) -> bool {
        !self.settings().roots.is_empty()
    }

    /// Adds the configured roots to a list of roots.
    pub(crate) fn with_configured_roots(&self, result: &str) -> String {
        let configured = &self.settings().roots;
        if configured.is_empty() {
            return result.to_owned();
        }
        let configured = configured.iter().map(|root| match &root.name {
            Some(name) => json!({"uri": root.uri, "name": name}),
            None => json!({"uri": root.uri}),
        });
        let mut result: Value = serde_json::from_str(result).unwrap_or_default();
        if !result.is_object() {
            result = json!({});
        }
        let own = result["roots"].as_array().cloned().unwrap_or_default();
        result["roots"] = own.into_iter().chain(configured).collect();
        result.to_string()
    }

    // ---- notifications of the upstream

    pub(crate) async fn upstream_notified(
        self: &Arc<Self>,
        text: &Bytes,
        method: &str,
        params: &str,
        via: Option<&RawId>,
    ) {
        let pair = self.state.lock().pair;
        match (pair, method) {
            (Pair::Raised, _) => self.raised_notified(text, method, params).await,
            (Pair::Lowered, _) => self.lowered_notified(method, params, via).await,
            (_, "notifications/progress") => self.pass_progress(text, params).await,
            (_, CANCELLED) => self.upstream_cancelled(params).await,
            (_, "notifications/elicitation/complete") => {
                self.pass_completion(text, params, via).await;
            }
            (Pair::Undecided | Pair::Legacy, "notifications/message") => {
                self.client_near(via).send(text.to_vec()).await;
            }
            (Pair::Modern, _) if self.pass_to_listener(text, params).await => {}
            (Pair::Undecided | Pair::Legacy | Pair::Modern, _) => {
                self.client_of(via).send(text.to_vec()).await;
            }
        }
    }

    /// Passes a notification of a stream that the client listens on, under the client's own id.
    /// Returns whether it is one.
    async fn pass_to_listener(&self, text: &Bytes, params: &str) -> bool {
        if memmem::find(params.as_bytes(), SUBSCRIPTION_ID.as_bytes()).is_none() {
            return false;
        }
        let Some(mut params) = RawObject::parse(params) else {
            return false;
        };
        let Some(mut meta) = params.object("_meta").map(RawObject::into_owned) else {
            return false;
        };
        let Some(id) = meta.get(SUBSCRIPTION_ID).map(RawId::new) else {
            return false;
        };
        let Some(call) = self.call_at_upstream(&id) else {
            return false;
        };
        if call.id == id {
            call.client.send(text.to_vec()).await;
            return true;
        }
        meta.set(SUBSCRIPTION_ID, call.id.as_str().to_owned());
        params.set("_meta", meta.to_string());
        if let Ok(envelope) = Envelope::read(text) {
            let message = envelope.with_params(&params.to_string());
            call.client.send(message).await;
        }
        true
    }

    /// Passes a progress report, above those that the gateway made itself.
    pub(crate) async fn pass_progress(&self, text: &Bytes, params: &str) {
        let report = RawObject::parse(params);
        let call = report
            .as_ref()
            .and_then(|report| self.call_of_token(report.get("progressToken")?));
        let value = report
            .as_ref()
            .and_then(|report| report.get("progress")?.parse().ok());
        let (Some(mut report), Some(call), Some(value)) = (report, call, value) else {
            return tracing::debug!("dropped a progress report of no open call");
        };
        let note = if call.is_task() {
            ProgressNote::Pass
        } else {
            call.note_progress(value)
        };
        let minted = call.upstream_token().and(call.token());
        match (note, minted) {
            (ProgressNote::Drop, _) => return,
            (ProgressNote::Pass, None) => return call.client.send(text.to_vec()).await,
            (ProgressNote::Pass, Some(token)) => report.set("progressToken", token.into_string()),
            (ProgressNote::Raise(value), token) => {
                report.set("progress", value.to_string());
                if let Some(token) = token {
                    report.set("progressToken", token.into_string());
                }
            }
        }
        let message = envelope::notification("notifications/progress", &report.to_string());
        call.client.send(message).await;
    }

    /// The upstream has cancelled a request of its own.
    async fn upstream_cancelled(&self, params: &str) {
        let Some(cancellation) = Cancellation::read(params) else {
            return;
        };
        let id = cancellation.id.clone();
        let client_id = {
            let mut state = self.state.lock();
            if let Some(asking) = state.asks.remove(&id) {
                asking.cancel();
                return;
            }
            let is_it = |push: &Push| matches!(push, Push::Upstream(it, _) if *it == id);
            let client_id = if state.pushes.get(&id).is_some_and(is_it) {
                Some(id.clone())
            } else {
                let mut pushes = state.pushes.iter();
                pushes
                    .find(|(_, push)| is_it(push))
                    .map(|(client_id, _)| client_id.clone())
            };
            client_id.and_then(|id| Some((state.pushes.remove(&id)?, id)))
        };
        if let Some((Push::Upstream(_, client), client_id)) = client_id {
            let message = cancellation.passed_on_as(&client_id).to_message();
            self.still_read(client).send(message).await;
        }
    }

    /// A URL was visited: for us if we asked for it, else for the client.
    async fn pass_completion(&self, text: &Bytes, params: &str, via: Option<&RawId>) {
        let id = RawObject::parse(params).and_then(|params| params.string("elicitationId"));
        let is_ours = id.is_some_and(|id| self.note_completed(&id));
        if !is_ours && self.client_info().capabilities.url {
            self.client_near(via).send(text.to_vec()).await;
        }
    }

    /// The upstream's questions are gone with its session: nobody waits for their answers, and
    /// those of the new session may have the same ids.
    async fn withdraw_questions(&self) {
        let mut withdrawn = Vec::new();
        {
            let mut state = self.state.lock();
            for asking in state.asks.drain().map(|(_, asking)| asking) {
                asking.cancel();
            }
            state.pushes.retain(|client_id, push| match push {
                Push::Upstream(_, client) => {
                    withdrawn.push((client_id.clone(), client.clone()));
                    false
                }
                Push::Own(_) => true,
            });
        }
        for (id, client) in withdrawn {
            let cancellation = Cancellation::because(&id, "The server has restarted");
            self.still_read(client)
                .send(cancellation.to_message())
                .await;
        }
    }

    /// The upstream has begun a new session: its lists may have changed.
    pub(crate) async fn upstream_renewed(self: &Arc<Self>) {
        self.withdraw_questions().await;
        self.lists_changed().await;
    }

    /// Tells the client that all lists may have changed.
    pub(crate) async fn lists_changed(self: &Arc<Self>) {
        let is_lowered = self.state.lock().pair == Pair::Lowered;
        for list in ["tools", "prompts", "resources"] {
            let method = format!("notifications/{list}/list_changed");
            if is_lowered {
                // For those streams that asked for it.
                self.lowered_notified(&method, "{}", None).await;
                continue;
            }
            self.client
                .send(envelope::notification(&method, "{}"))
                .await;
        }
    }

    /// Whether a call is for the tool that resumes calls.
    pub(crate) fn is_resume(&self, params: &str) -> bool {
        let Some(name) = self.state.lock().resume else {
            return false;
        };
        memmem::find(params.as_bytes(), name.as_bytes()).is_some()
            && RawObject::parse(params)
                .and_then(|params| params.string("name"))
                .is_some_and(|called| called == name)
    }

    /// Adds the tool that resumes calls to the last page of a list, for clients that may need it.
    pub(crate) fn with_resume_tool(&self, shows: Capabilities, result: &str) -> Option<String> {
        let filtered = self.take_tools(result);
        let result = filtered.as_deref().unwrap_or(result);
        if !self.may_link(shows) {
            return filtered;
        }
        links::add_tool(self, result).or(filtered)
    }

    /// Whether calls may have to be answered with links.
    pub(crate) fn may_link(&self, shows: Capabilities) -> bool {
        self.settings().fulfils
            && self.page_asker.has_pages()
            && (!shows.shows_everything() || self.needs_approval())
    }
}

/// What the upstream is told instead of what the client said.
#[derive(Default)]
struct Offer {
    version: Option<&'static str>,
    capabilities: Option<String>,
}

impl ClientInfo {
    /// Reads the parameters of the handshake.
    fn of(params: &RawObject<'_>) -> Self {
        let version = params.string("protocolVersion").unwrap_or_default();
        // The newest version has no handshake.
        let era = version.parse::<Era>().ok();
        let era = era.filter(|era| *era != Era::V2026_07_28);
        let capabilities = params.object("capabilities").unwrap_or_default();
        let info = params.object("clientInfo").unwrap_or_default();
        Self {
            era,
            version,
            capabilities: Capabilities::read(&capabilities, era),
            raw_capabilities: capabilities.to_string(),
            raw_info: info.to_string(),
            name: capability::name_of(&info),
        }
    }
}

//! A client and a server of 2026-07-28: messages pass, and rounds that the client cannot answer
//! alone are answered with it.

use std::sync::Arc;

use entreat_core::schema::Era;
use entreat_wire::message::{CREATE, ElicitMode, ROOTS};
use entreat_wire::seal::Binding;

use crate::approvals::Gate;
use crate::ask::Question;
use crate::call::{Call, Method};
use crate::capability::{self, Capabilities};
use crate::envelope::Envelope;
use crate::era::UpstreamEra;
use crate::flow::{Flow, RESUMED, Refused};
use crate::json::{RawObject, may_name};
use crate::meta::{self, CLIENT_CAPABILITIES, CLIENT_INFO, ClientMeta, SERVER_INFO, own_info};
use crate::recipient::Recipient;
use crate::reply::{Reply, code, error_code};
use crate::rounds::{Round, drive};
use crate::secrets;
use crate::session::{Change, MAX_HANDSHAKE, Pair, Session};
use crate::trust::ClientKey;

impl Session {
    /// Finds out which era the upstream speaks, by the first request of a client of 2026-07-28, and
    /// answers it.
    pub(crate) async fn first_modern(
        self: &Arc<Self>,
        call: Arc<Call>,
        method: &str,
        params: &str,
    ) {
        let declared = declared(params);
        let mut client_meta = client_meta_in(params);
        if self.adds_elicitation(declared) {
            let capabilities = RawObject::parse(&client_meta.capabilities).unwrap_or_default();
            client_meta.capabilities = capability::with_elicitation(&capabilities);
        }
        call.client.leave();
        let found = self.find_era(&client_meta).await;
        call.client.come_back();
        match found {
            Ok(Some(found)) => {
                self.note_modern(&found);
                self.state.lock().pair = Pair::Modern;
                if call.method == Method::Discover {
                    return call.reply(&Reply::Result(found));
                }
                let message = call.message.clone();
                if let Ok(envelope) = Envelope::read(&message) {
                    self.modern_request(call, &envelope, params).await;
                }
            }
            Ok(None) => {
                let message = call.message.clone();
                if let Ok(envelope) = Envelope::read(&message) {
                    self.lowered_request(&call, &envelope, method, params).await;
                }
            }
            Err(reply) => {
                if let Reply::Error(error) = &reply {
                    self.note_down(error);
                }
                call.reply(&reply);
            }
        }
    }

    /// Finds out which era the upstream speaks: what it says of itself if that is 2026-07-28, `None`
    /// after the handshake of 2025.
    async fn find_era(self: &Arc<Self>, client_meta: &ClientMeta) -> Result<Option<String>, Reply> {
        if self.era == UpstreamEra::Legacy {
            return self.lower(client_meta).await.map(|()| None);
        }
        let name = &self.fallback_name;
        if self.gateway.legacy_askers.has(name) {
            if self.lower(client_meta).await.is_ok() {
                return Ok(None);
            }
            self.gateway.legacy_askers.forget(name);
        }
        let params = client_meta.applied_to("{}");
        let asked = async {
            let reply = self.request("server/discover", &params).await;
            if names_version(&reply) {
                // It refused the version that it names; some do so while they start.
                return self.request("server/discover", &params).await;
            }
            reply
        };
        let mut asked = std::pin::pin!(asked);
        tokio::select! {
            biased;
            reply = &mut asked => {
                return match spoken(reply) {
                    Some(found) => Ok(Some(found)),
                    None => self.lower(client_meta).await.map(|()| None),
                };
            }
            () = self.sleep(self.settings().discover) => {}
        }
        // Servers of 2025 may ignore what they don't know, and any server may be slow to start, such
        // as one that is downloaded first. What it answers first tells which it is.
        let mut lowered = std::pin::pin!(self.lower(client_meta));
        let found = tokio::select! {
            biased;
            reply = &mut asked => spoken(reply),
            lowered = &mut lowered => return lowered.map(|()| None),
        };
        match found {
            Some(found) => Ok(Some(found)),
            None => lowered.await.map(|()| None),
        }
    }

    /// Asks the upstream what it is; `None` if it does not speak 2026-07-28.
    pub(crate) async fn discover(self: &Arc<Self>, client_meta: &ClientMeta) -> Option<String> {
        let params = client_meta.applied_to("{}");
        tokio::select! {
            biased;
            reply = self.request("server/discover", &params) => spoken(reply),
            () = self.sleep(self.settings().discover) => None,
        }
    }

    /// Notes what an upstream of 2026-07-28 says of itself.
    pub(crate) fn note_modern(&self, found: &str) {
        let object = RawObject::parse(found).unwrap_or_default();
        let meta = object.object("_meta").unwrap_or_default();
        let info = meta.object(SERVER_INFO);
        let info = info.or_else(|| object.object("serverInfo"));
        let mut state = self.state.lock();
        state.upstream_era = Some(Era::V2026_07_28);
        state.upstream_name = info.as_ref().and_then(capability::name_of);
        self.note_up();
    }

    /// Whether the upstream is told that questions can be shown which this client cannot show.
    pub(crate) fn adds_elicitation(&self, declared: Capabilities) -> bool {
        self.settings().fulfils && self.page_asker.has_pages() && !declared.shows_everything()
    }

    /// The parameters of a request with what the gateway adds to the client's capabilities; `None`
    /// if that is nothing.
    fn with_added(&self, declared: Capabilities, params: &str) -> Option<String> {
        let adds_elicitation = self.adds_elicitation(declared);
        let adds_roots = self.has_configured_roots() && !declared.roots;
        if !adds_elicitation && !adds_roots {
            return None;
        }
        let mut object = RawObject::parse(params)?;
        let mut meta = object.parsed_object("_meta").unwrap_or_default();
        let capabilities = meta.parsed_object(CLIENT_CAPABILITIES);
        let mut capabilities = capabilities.unwrap_or_default();
        if adds_roots {
            capabilities.set("roots", "{}");
        }
        let capabilities = if adds_elicitation {
            capability::with_elicitation(&capabilities)
        } else {
            capabilities.text()
        };
        meta.set(CLIENT_CAPABILITIES, capabilities);
        object.set("_meta", meta.text());
        Some(object.text())
    }

    pub(crate) async fn modern_request(
        self: &Arc<Self>,
        call: Arc<Call>,
        envelope: &Envelope<'_>,
        params: &str,
    ) {
        let restored = match self.with_inbound_state(call.method, params) {
            Ok(restored) => restored,
            Err(refusal) => return call.reply(&refusal),
        };
        let changed = restored
            .as_deref()
            .map(|params| envelope.with_params(params));
        let changed = changed.as_deref().map(Envelope::read);
        let (envelope, params) = match (&changed, &restored) {
            (Some(Ok(envelope)), Some(params)) => (envelope, params.as_str()),
            _ => (envelope, params),
        };
        let declared = declared(params);
        // What was restored is the upstream's, even if it looks like ours.
        let is_ours = restored.is_none();
        if is_ours && call.method.may_ask() && self.continues_flow(&call, params) {
            return;
        }
        if call.method == Method::CallTool && self.holds_for_approval(&call, params) {
            return;
        }
        self.send_modern(&call, envelope, params, declared).await;
    }

    pub(crate) async fn send_modern(
        &self,
        call: &Arc<Call>,
        envelope: &Envelope<'_>,
        params: &str,
        declared: Capabilities,
    ) {
        let added = self.with_added(declared, params);
        self.send_call(call, envelope, added.as_deref()).await;
    }

    /// Takes a request that goes on with a call of several rounds, or with one behind a link.
    pub(crate) fn continues_flow(self: &Arc<Self>, call: &Arc<Call>, params: &str) -> bool {
        let is_resume = call.method == Method::CallTool && self.is_resume(params);
        if !is_resume && !may_name(params, "requestState") {
            return false;
        }
        let Some(object) = RawObject::parse(params) else {
            return false;
        };
        let declared = declared_in(&object);
        if is_resume {
            self.resume_flow(call, declared, &object);
            return true;
        }
        if object.get("requestState").is_none() {
            return false;
        }
        let binding = self.binding(call.method.name(), &object);
        let retry = match self.retry_of(&object, &binding) {
            None => return false,
            Some(Ok(retry)) => retry,
            Some(Err(refused)) => {
                self.refuse_retry(call, refused);
                return true;
            }
        };
        if let Err(busy) = self.note_call(call) {
            call.reply(&busy);
            return true;
        }
        let (session, call) = (self.clone(), call.clone());
        self.spawn(async move {
            if let Some(reply) = retry.run(&call, declared, &binding).await {
                session.reply(&call, &reply);
            }
        });
        true
    }

    /// Refuses a request that would go on with a call. Its answers are kept before it is told.
    fn refuse_retry(self: &Arc<Self>, call: &Arc<Call>, refused: Refused) {
        if refused.answers.is_empty() {
            return call.reply(&refused.reply);
        }
        let (session, call) = (self.clone(), call.clone());
        self.spawn(async move {
            let lost_answers = &session.page_asker.lost_answers;
            lost_answers
                .keep(&session.person.principal, refused.answers)
                .await;
            call.reply(&refused.reply);
        });
    }

    /// Goes on with a call behind a link.
    fn resume_flow(
        self: &Arc<Self>,
        call: &Arc<Call>,
        declared: Capabilities,
        params: &RawObject<'_>,
    ) {
        let handle = params
            .object("arguments")
            .and_then(|arguments| arguments.string("question"))
            .unwrap_or_default();
        let Some(flow) = self.flows.get(&handle) else {
            return self.resume(call.clone(), &params.to_string());
        };
        let mut binding = self.binding("resume", params);
        binding.target = format!("{RESUMED}{handle}");
        flow.declare(declared);
        self.attend(&flow, call, binding);
    }

    /// Holds a request until a call of several rounds has something for the client.
    pub(crate) fn attend(self: &Arc<Self>, flow: &Arc<Flow>, call: &Arc<Call>, binding: Binding) {
        if let Err(busy) = self.note_call(call) {
            return call.reply(&busy);
        }
        self.attend_noted(flow, call, binding, false);
    }

    /// Holds a request that is noted already, as [`attend`](Self::attend) does.
    pub(crate) fn attend_noted(
        self: &Arc<Self>,
        flow: &Arc<Flow>,
        call: &Arc<Call>,
        binding: Binding,
        is_first: bool,
    ) {
        let (session, flow, call) = (self.clone(), flow.clone(), call.clone());
        self.spawn(async move {
            if let Some(reply) = flow.attend(&call, &binding, is_first).await {
                session.reply(&call, &reply);
            }
        });
    }

    pub(crate) fn modern_reply(
        self: &Arc<Self>,
        call: &Arc<Call>,
        result: Option<&str>,
        _error: Option<&str>,
    ) -> Change {
        let Some(result) = result else {
            return Change::Pass;
        };
        if call.method == Method::ListTools {
            return self
                .with_resume_tool(declared(call.params()), result)
                .map_or(Change::Pass, |result| Change::Reply(Reply::Result(result)));
        }
        if !call.method.may_ask() {
            return Change::Pass;
        }
        let Some(round) = Round::of(result) else {
            return Change::Pass;
        };
        let params = call.params();
        let relayed = || {
            self.with_outbound_state(call.method, params, result)
                .map_or(Change::Pass, |result| Change::Reply(Reply::Result(result)))
        };
        let has_roots = self.has_configured_roots();
        let is_for_roots = has_roots && round.questions().any(|(method, _)| method == ROOTS);
        if !is_for_roots && (!self.settings().fulfils || !self.page_asker.has_pages()) {
            return relayed();
        }
        let declared = declared(params);
        let trust = self.trust(&ClientKey::of(params));
        let shows_forms = declared.form && !trust.is_distrusted;
        let is_native = |(method, params): (&str, &str)| match method {
            CREATE => is_native(shows_forms, declared.url, params),
            _ => true,
        };
        if !is_for_roots && round.questions().all(is_native) {
            for (_, params) in round.questions().filter(|(method, _)| *method == CREATE) {
                self.note_native(params);
            }
            return relayed();
        }
        match self.begin_rounds(call, declared, params, Some(round), None) {
            Ok(()) => Change::Held,
            Err(busy) => Change::Reply(busy),
        }
    }

    /// Drives a call through its rounds in the background, and holds the client's request.
    pub(crate) fn begin_rounds(
        self: &Arc<Self>,
        call: &Arc<Call>,
        declared: Capabilities,
        params: &str,
        first: Option<Round>,
        gate: Option<Gate>,
    ) -> Result<(), Reply> {
        let flow = self.begin_flow(self.new_handle(), call.method, params, declared)?;
        let object = RawObject::parse(params).unwrap_or_default();
        let binding = self.binding(call.method.name(), &object);
        let added = self.with_added(declared, params);
        let params = added.unwrap_or_else(|| params.to_owned());
        let method = call.method.name();
        let (session, driven) = (self.clone(), flow.clone());
        self.spawn(async move {
            let recipient = Recipient::of_flow(&driven);
            let work = async {
                if let Some(gate) = gate
                    && let Err(refusal) = gate.pass(&recipient).await
                {
                    return refusal;
                }
                drive(&session, &recipient, method, &params, first).await
            };
            tokio::select! {
                biased;
                reply = work => driven.finish(reply),
                () = driven.cancelled.cancelled() => {}
            }
        });
        self.attend_noted(&flow, call, binding, true);
        Ok(())
    }
}

/// Whether a client of 2026-07-28 shows a question by itself.
fn is_native(shows_forms: bool, shows_urls: bool, params: &str) -> bool {
    let Ok(question) = Question::read(params) else {
        return true;
    };
    match question.request.mode() {
        Ok(ElicitMode::Form { schema }) => shows_forms && !secrets::asks_for_secret(schema),
        Ok(ElicitMode::Url { .. }) => shows_urls,
        Err(_) => true,
    }
}

/// Whether a server that refuses the version says that it speaks 2026-07-28.
fn names_version(reply: &Reply) -> bool {
    let Reply::Error(error) = reply else {
        return false;
    };
    let versions = || {
        let data = RawObject::parse(error)?.object("data")?.into_owned();
        serde_json::from_str::<Vec<String>>(data.get("supported")?).ok()
    };
    error_code(error) == Some(i64::from(code::UNSUPPORTED_VERSION))
        && versions().is_some_and(|all| all.iter().any(|version| version == meta::VERSION))
}

/// What a server says of itself; `None` if it does not speak 2026-07-28.
fn spoken(reply: Reply) -> Option<String> {
    let Reply::Result(found) = reply else {
        return None;
    };
    if found.len() > MAX_HANDSHAKE {
        tracing::warn!("what the server says of itself is larger than 256 KiB");
        return None;
    }
    let object = RawObject::parse(&found)?;
    // Some servers of 2025 answer too, and go on in their own era.
    let versions: Vec<String> = serde_json::from_str(object.get("supportedVersions")?).ok()?;
    versions
        .iter()
        .any(|version| version == meta::VERSION)
        .then_some(found)
}

/// What a request of 2026-07-28 declares.
pub(crate) fn declared(params: &str) -> Capabilities {
    declared_in(&RawObject::parse(params).unwrap_or_default())
}

fn declared_in(params: &RawObject<'_>) -> Capabilities {
    let meta = params.object("_meta").unwrap_or_default();
    let capabilities = meta.object(CLIENT_CAPABILITIES).unwrap_or_default();
    Capabilities::read(&capabilities, Some(Era::V2026_07_28))
}

/// What a request of 2026-07-28 says of its client.
pub(crate) fn client_meta_in(params: &str) -> ClientMeta {
    let params = RawObject::parse(params).unwrap_or_default();
    let meta = params.object("_meta").unwrap_or_default();
    let get = |name: &str| meta.get(name).map(str::to_owned);
    ClientMeta {
        info: get(CLIENT_INFO).unwrap_or_else(own_info),
        capabilities: get(CLIENT_CAPABILITIES).unwrap_or_else(|| "{}".to_owned()),
        log_level: None,
    }
}

//! Which upstream a request is for.

use std::sync::Arc;
use std::time::Duration;

use super::Union;
use super::handshake::Handshake;
use super::lists::List;
use super::member::{ConnectedMember, Status};
use super::member_sender::MemberSender;
use super::open::OpenRequest;
use crate::call::Method;
use crate::cancellation::Cancellation;
use crate::client::ClientSender;
use crate::envelope::{self, RawId};
use crate::json::{RawObject, quoted};
use crate::links::{PART_RESUME, RESUME};
use crate::meta;
use crate::raised::MAX_LEVEL;
use crate::reply::{Reply, code};
use crate::session::MAX_HANDSHAKE;

/// How long an unknown name is not looked up again.
const KNOWN: Duration = Duration::from_secs(2);

/// Where a request goes.
enum Target {
    /// To an upstream, with these parameters.
    Upstream(usize, String),
    /// To the upstream that has listed this name, if one has.
    Named(List, String),
    /// Nowhere.
    Refused(Reply),
}

impl Union {
    pub(super) async fn client_asked(
        self: &Arc<Self>,
        open: OpenRequest,
        id: &RawId,
        method: &str,
        params: &str,
        via: &ClientSender,
    ) {
        if let Some(refusal) = self.begin(method, params) {
            return via.reply(id, &refusal);
        }
        let is_modern = self.is_modern();
        if is_modern && let Some(refusal) = meta::unsupported(params) {
            return via.reply(id, &refusal);
        }
        if let Some(list) = List::of(method) {
            let (union, params, client) = (self.clone(), params.to_owned(), via.clone());
            return self.answer(open, id, via, async move {
                union.list(list, &params, &client).await
            });
        }
        let target = match (method, is_modern) {
            ("initialize", false) | ("server/discover", true) => {
                let union = self.clone();
                return self.answer(open, id, via, async move { union.introduced().await });
            }
            ("subscriptions/listen", true) => return self.listen(open, id, params, via),
            ("ping", false) => Target::Refused(Reply::empty()),
            ("logging/setLevel", false) => {
                let (union, params, client) = (self.clone(), params.to_owned(), via.clone());
                return self.answer(open, id, via, async move {
                    union.set_level(&params, &client).await
                });
            }
            ("tools/call", _) => self.tool(params),
            ("prompts/get", _) => match named(params, "name") {
                Some(name) => Target::Named(List::Prompts, name),
                None => missing("name"),
            },
            ("resources/read", _) => self.resource(params, is_modern),
            ("resources/subscribe" | "resources/unsubscribe", false) => {
                let target = self.resource(params, is_modern);
                match self.note_subscription(method, target) {
                    Ok(target) => target,
                    Err(busy) => Target::Refused(busy),
                }
            }
            ("completion/complete", _) => self.completion(params),
            _ => Target::Refused(Reply::unknown_method()),
        };
        self.send_to(target, open, id, method, params, via).await;
    }

    /// Notes how the client begins, with its first request. Returns what refuses the request.
    fn begin(self: &Arc<Self>, method: &str, params: &str) -> Option<Reply> {
        if self.handshake.get().is_some() {
            return None;
        }
        let handshake = if method == "initialize" {
            match Handshake::legacy(params) {
                Some(handshake) => handshake,
                None => {
                    return Some(Reply::invalid_params("params: is not an object"));
                }
            }
        } else if meta::is_modern(params) {
            if let Some(refusal) = meta::unsupported(params) {
                return Some(refusal);
            }
            Handshake::modern(params)
        } else if method == "ping" {
            return Some(Reply::empty());
        } else {
            let text = "begin with `initialize`";
            return Some(Reply::invalid_request(text));
        };
        if handshake.size() > MAX_HANDSHAKE {
            let text = "params: what the client says of itself is larger than 256 KiB";
            return Some(Reply::invalid_params(text));
        }
        // Of two first requests at once, one begins.
        if self.handshake.set(handshake).is_ok() {
            if self.is_modern() {
                self.note_answered();
            }
            for index in 0..self.members.len() {
                self.tasks.spawn(self.clone().keep(index));
            }
        }
        None
    }

    /// Answers a request here, unless the client cancels it.
    fn answer(
        self: &Arc<Self>,
        open: OpenRequest,
        id: &RawId,
        via: &ClientSender,
        work: impl Future<Output = Reply> + Send + 'static,
    ) {
        let (id, client, abandoned) = (id.clone(), via.clone(), via.abandoned());
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            let reply = tokio::select! {
                biased;
                () = open.cancelled.cancelled() => return client.forgo(),
                () = super::until(abandoned) => return,
                () = stop.cancelled() => Reply::session_ended(),
                reply = work => reply,
            };
            drop(open);
            client.send_response(reply.to_message(&id)).await;
        });
    }

    // ---- targets

    fn tool(&self, params: &str) -> Target {
        let Some(name) = named(params, "name") else {
            return missing("name");
        };
        if name != RESUME {
            return Target::Named(List::Tools, name);
        }
        let mut object = RawObject::parse(params).unwrap_or_default();
        let arguments = object.object("arguments");
        let handle = arguments.and_then(|arguments| arguments.string("question"));
        let handle = handle.unwrap_or_default();
        let ups = self.all_up();
        let owner = ups.iter().find(|up| up.session.has_link(&handle));
        // Any of them says that there is no such question.
        match owner.or(ups.first()) {
            Some(up) => {
                object.set("name", quoted(PART_RESUME));
                Target::Upstream(up.context.index, object.to_string())
            }
            None => Target::Refused(Reply::failed("no server is available", "upstream_down")),
        }
    }

    fn resource(&self, params: &str, is_modern: bool) -> Target {
        let Some(uri) = named(params, "uri") else {
            return missing("uri");
        };
        let Some((index, own)) = self.labels.owner(&uri) else {
            let code = if is_modern {
                code::INVALID_PARAMS
            } else {
                code::RESOURCE_NOT_FOUND
            };
            let message = format!("Resource not found: {uri}");
            return Target::Refused(Reply::error(code, &message));
        };
        let mut object = RawObject::parse(params).unwrap_or_default();
        object.set("uri", quoted(&own));
        Target::Upstream(index, object.to_string())
    }

    /// What is completed is an argument of a prompt, or of a template of URIs.
    fn completion(&self, params: &str) -> Target {
        let object = RawObject::parse(params).unwrap_or_default();
        let Some(reference) = object.object("ref") else {
            return missing("ref");
        };
        match reference.string("type").as_deref() {
            Some("ref/prompt") => match reference.string("name") {
                Some(name) => Target::Named(List::Prompts, name),
                None => missing("ref.name"),
            },
            Some("ref/resource") => {
                let owner = reference
                    .string("uri")
                    .and_then(|uri| self.labels.owner(&uri));
                let Some((index, own)) = owner else {
                    let text = "ref.uri: there is no such resource";
                    return Target::Refused(Reply::invalid_params(text));
                };
                let mut reference = reference.into_owned();
                reference.set("uri", quoted(&own));
                let mut object = object.into_owned();
                object.set("ref", reference.to_string());
                Target::Upstream(index, object.to_string())
            }
            _ => missing("ref.type"),
        }
    }

    /// Remembers a subscription, for an upstream that begins anew.
    fn note_subscription(&self, method: &str, target: Target) -> Result<Target, Reply> {
        if let Target::Upstream(index, params) = &target
            && let Some(uri) = named(params, "uri")
        {
            let mut settings = self.client_settings.lock();
            let subscriptions = settings.subscriptions.entry(*index).or_default();
            if method == "resources/unsubscribe" {
                subscriptions.remove(&uri);
            } else {
                subscriptions.add(uri)?;
            }
        }
        Ok(target)
    }

    /// Sets the log level of all upstreams that have one.
    async fn set_level(self: &Arc<Self>, params: &str, client: &ClientSender) -> Reply {
        self.settled().await;
        let ups = {
            let mut settings = self.client_settings.lock();
            settings.level = named(params, "level").filter(|level| level.len() <= MAX_LEVEL);
            self.all_up()
        };
        let ups = ups.iter().filter(|up| up.description.has("logging"));
        let asked = ups.map(|up| async move {
            let method = "logging/setLevel";
            let asked = self.ask(&up.session, &up.context, client, method, params);
            tokio::select! {
                biased;
                reply = asked => Some(reply),
                () = self.sleep(self.gateway.settings.stragglers) => None,
            }
        });
        let replies = futures_util::future::join_all(asked).await;
        let mut replies = replies.into_iter().flatten().peekable();
        if replies.peek().is_none() {
            return Reply::unknown_method();
        }
        let mut result = None;
        for reply in replies {
            match reply {
                Reply::Result(_) => return Reply::empty(),
                error @ Reply::Error(_) => result = result.or(Some(error)),
            }
        }
        result.unwrap_or_else(Reply::unknown_method)
    }

    // ---- sending

    async fn send_to(
        self: &Arc<Self>,
        target: Target,
        open: OpenRequest,
        id: &RawId,
        method: &str,
        params: &str,
        via: &ClientSender,
    ) {
        let (index, params) = match target {
            Target::Refused(reply) => return via.reply(id, &reply),
            Target::Upstream(index, params) => (index, params),
            Target::Named(list, name) => {
                let Some(found) = self.found(list, &name, params) else {
                    let named = (list, name);
                    return self.look_up(named, open, id, method, params, via);
                };
                found
            }
        };
        match self.up(index) {
            Some(up) => self.forward(&up, open, id, method, &params, via).await,
            None => self.forward_later(index, open, id, method, params, via),
        }
    }

    /// The upstream that has a name, and the parameters with its own name.
    fn found(&self, list: List, name: &str, params: &str) -> Option<(usize, String)> {
        let (index, own) = self.names(list)?.lock().owner(name)?;
        let mut object = RawObject::parse(params).unwrap_or_default();
        // Tasks have ids of one upstream.
        object.remove("task");
        match object.object("ref").map(RawObject::into_owned) {
            Some(mut reference) if object.get("name").is_none() => {
                reference.set("name", quoted(&own));
                object.set("ref", reference.to_string());
            }
            _ => object.set("name", quoted(&own)),
        }
        Some((index, object.to_string()))
    }

    /// Looks a name up in new lists: the client may know it from before.
    fn look_up(
        self: &Arc<Self>,
        (list, name): (List, String),
        open: OpenRequest,
        id: &RawId,
        method: &str,
        params: &str,
        via: &ClientSender,
    ) {
        let (union, id, client) = (self.clone(), id.clone(), via.clone());
        let (method, params) = (method.to_owned(), params.to_owned());
        let abandoned = via.abandoned();
        let cancelled = open.cancelled.clone();
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            let work = async {
                if union.may_look_up(list)
                    && let Err(reply) = union.gather(list, &params, &client).await
                {
                    return Err(reply);
                }
                if let Some((index, params)) = union.found(list, &name, &params) {
                    return union.status_of(index).await.map(|up| (up, params));
                }
                let what = if list == List::Tools {
                    "tool"
                } else {
                    "prompt"
                };
                let down = union.members.iter().filter(|member| member.up().is_none());
                let down: Vec<&str> = down.map(|member| member.source.name.as_str()).collect();
                let mut message = format!("Unknown {what}: {name}");
                if !down.is_empty() {
                    message = format!(
                        "{message} (servers that are not available now: {})",
                        down.join(", ")
                    );
                }
                Err(Reply::invalid_params(&message))
            };
            let found = tokio::select! {
                biased;
                () = cancelled.cancelled() => return client.forgo(),
                () = super::until(abandoned) => return,
                () = stop.cancelled() => Err(Reply::session_ended()),
                found = work => found,
            };
            match found {
                Ok((up, params)) => {
                    union
                        .forward(&up, open, &id, &method, &params, &client)
                        .await;
                }
                Err(reply) => client.reply(&id, &reply),
            }
        });
    }

    /// Whether names are read for a call: not again at once.
    fn may_look_up(&self, list: List) -> bool {
        let now = self.gateway.page_asker.asker.engine().now();
        let mut looked_up = self.looked_up.lock();
        let before = &mut looked_up[usize::from(list == List::Prompts)];
        if before.is_some_and(|before| now.since(before) < KNOWN) {
            return false;
        }
        *before = Some(now);
        true
    }

    /// Waits until an upstream can be asked, or it is known that it can't.
    async fn status_of(&self, index: usize) -> Result<Arc<ConnectedMember>, Reply> {
        let name = self.name(index);
        let reason = match self.members.get(index) {
            Some(member) => match member.settled().await {
                Status::Up(up) => return Ok(up),
                Status::Down(reason) => reason.to_string(),
                Status::Starting => "it does not respond".to_owned(),
            },
            None => "there is no such server".to_owned(),
        };
        let message = format!("the server {name:?} is not available: {reason}");
        Err(Reply::failed(&message, "upstream_down"))
    }

    /// Sends a request when its upstream can be asked.
    fn forward_later(
        self: &Arc<Self>,
        index: usize,
        open: OpenRequest,
        id: &RawId,
        method: &str,
        params: String,
        via: &ClientSender,
    ) {
        let (union, id, client) = (self.clone(), id.clone(), via.clone());
        let method = method.to_owned();
        let abandoned = via.abandoned();
        let cancelled = open.cancelled.clone();
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            let found = tokio::select! {
                biased;
                () = cancelled.cancelled() => return client.forgo(),
                () = super::until(abandoned) => return,
                () = stop.cancelled() => Err(Reply::session_ended()),
                found = union.status_of(index) => found,
            };
            match found {
                Ok(up) => {
                    union
                        .forward(&up, open, &id, &method, &params, &client)
                        .await;
                }
                Err(reply) => client.reply(&id, &reply),
            }
        });
    }

    /// Passes a request to the session of an upstream.
    async fn forward(
        &self,
        up: &Arc<ConnectedMember>,
        mut open: OpenRequest,
        id: &RawId,
        method: &str,
        params: &str,
        via: &ClientSender,
    ) {
        open.goes_to(up.context.index);
        let cancelled = open.cancelled.clone();
        let kind = Method::of(method);
        let sender = MemberSender::relayed(up.context.clone(), via.clone(), id.clone(), kind, open);
        let request = envelope::request(id, method, params);
        let sender = ClientSender::Member(sender);
        if !up.session.take_aside(request.into(), &sender).await {
            let busy = Reply::busy("too many requests wait for this server");
            return sender.reply(id, &busy);
        }
        if cancelled.is_cancelled() {
            // It may have come before the session knew the request.
            up.cancel(&Cancellation::of(id)).await;
        }
    }
}

/// A member of parameters that is a text.
fn named(params: &str, name: &str) -> Option<String> {
    RawObject::parse(params)?.string(name)
}

fn missing(name: &str) -> Target {
    let text = format!("{name}: is missing, or not a string");
    Target::Refused(Reply::invalid_params(&text))
}

//! A request, and what comes back for it.

use std::sync::Arc;

use bytes::Bytes;
use entreat_wire::http::Response;
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::value::RawValue;
use tokio::sync::OwnedSemaphorePermit;

use super::connection::{Connection, EXCERPT};
use super::headers;
use super::listen::ResumePauses;
use super::reading::{Body, Events, Item, Place};
use super::session::Session;
use super::verdict::{Verdict, error_in, failure, is_unknown_session, judge, refused, responds_to};
use crate::envelope::{self, Envelope, Kind, RawId};
use crate::json::{RawObject, quoted};
use crate::reply::{Reply, error_code};
use crate::side::lines::Overlong;
use crate::side::{Failure, UpstreamEvent, refusal};

/// The code of the error that says that headers and message do not fit.
const HEADER_MISMATCH: i64 = -32020;
/// How many pages of a list of tools are read to find out which headers a call has to have.
const MAX_PAGES: usize = 64;

/// A request for the server.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) id: RawId,
    pub(super) method: String,
    pub(super) text: Bytes,
    /// The version that it names, as those of 2026-07-28 do.
    pub(super) version: Option<String>,
}

/// A response.
pub(super) struct Answer {
    /// The message, with the id of the request.
    pub(super) text: Bytes,
    /// The session that came with it.
    pub(super) session_id: Option<HeaderValue>,
    /// The stream on which it came.
    rest: Option<Events>,
    /// The slot of its body.
    _slot: Option<OwnedSemaphorePermit>,
}

/// Why there is no response.
#[derive(Debug)]
pub(super) enum TalkError {
    /// The server does not know the session; the request did not run.
    SessionLost,
    Failed(Failure),
}

impl TalkError {
    pub(super) fn into_failure(self) -> Failure {
        match self {
            Self::SessionLost => Failure::Unexpected("HTTP 404 in a new session".to_owned()),
            Self::Failed(failure) => failure,
        }
    }
}

impl From<Failure> for TalkError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Answer {
    /// Lets go of the stream.
    pub(super) async fn finish(self) {
        if let Some(rest) = self.rest {
            rest.drain().await;
        }
    }
}

impl Connection {
    /// Sends a request and passes on what comes back.
    pub(super) async fn exchange(self: &Arc<Self>, request: &Request) -> Result<(), Failure> {
        let (mut is_renewed, mut is_refreshed) = (false, false);
        loop {
            let session = match &request.version {
                Some(version) => {
                    self.sessions.note_modern(version);
                    None
                }
                // A handshake begins a session.
                None if request.method == "initialize" => None,
                None => self.sessions.current(),
            };
            let answer = match (self.talk(request, session.as_ref()).await, &session) {
                (Ok(answer), _) => answer,
                (Err(TalkError::SessionLost), Some(lost)) if !is_renewed => {
                    Box::pin(self.heal(lost)).await?;
                    is_renewed = true;
                    continue;
                }
                (Err(error), _) => return Err(error.into_failure()),
            };
            if !is_refreshed && is_mismatch(request, &answer.text) {
                is_refreshed = true;
                // What is rare is boxed, since thousands of requests may wait for their response.
                if Box::pin(self.has_new_headers(request)).await {
                    answer.finish().await;
                    continue;
                }
            }
            let id = answer.session_id.clone();
            let text = self.note(request, &answer.text, id);
            let text = text.unwrap_or_else(|| answer.text.clone());
            let via = Some(request.id.clone());
            self.inbox.push(UpstreamEvent::Message { text, via }).await;
            answer.finish().await;
            return Ok(());
        }
    }

    /// Sends a request once, and passes on everything that comes back except the response.
    pub(super) async fn talk(
        self: &Arc<Self>,
        request: &Request,
        session: Option<&Arc<Session>>,
    ) -> Result<Answer, TalkError> {
        let headers = self.headers_of(request, session);
        let response = self.post(request.text.clone(), headers).await?;
        let session_id = response.headers().get(headers::SESSION).cloned();
        let session_id = session_id.filter(|id| !id.is_empty());
        let has_session = session.is_some_and(|session| session.id.is_some());
        let (mut rest, mut slot) = (None, None);
        let text = match judge(&response, has_session) {
            Verdict::Events => {
                let events = Events::new(response, self.longest, &self.slots, Place::default());
                let (text, events) = self.follow(request, session, events).await?;
                rest = Some(events);
                text
            }
            Verdict::Message => {
                let body = self.slots.body(response, self.longest).await;
                let body = body.map_err(failure)?;
                slot = body.slot;
                self.response_in(request, &body.text).await?
            }
            Verdict::Refused => Box::pin(self.refused(request, session, response)).await?,
            Verdict::SessionLost => return Err(TalkError::SessionLost),
            Verdict::Failed(failure) => return Err(failure.into()),
        };
        Ok(Answer {
            text,
            session_id,
            rest,
            _slot: slot,
        })
    }

    /// Reads a stream up to the response. One that breaks is taken up where the server offers that.
    async fn follow(
        self: &Arc<Self>,
        request: &Request,
        session: Option<&Arc<Session>>,
        mut events: Events,
    ) -> Result<(Bytes, Events), Failure> {
        let mut pauses = ResumePauses::default();
        loop {
            let broken = match events.next().await {
                Ok(Some(Item::Message(text))) => {
                    match Envelope::read(&text) {
                        Ok(envelope) if responds_to(&envelope, &request.id) => {
                            return Ok((with_own_id(request, &envelope, &text), events));
                        }
                        Ok(_) => self.relay(Item::Message(text), Some(&request.id)).await,
                        // Not louder: a server can send any number of them.
                        Err(error) => tracing::debug!(%error, "skipped a message of the server"),
                    }
                    continue;
                }
                Ok(Some(Item::TooLong(found))) => {
                    let is_response =
                        !found.has_method && found.id.as_ref().is_none_or(|id| *id == request.id);
                    if is_response {
                        return Err(Failure::too_long(self.longest));
                    }
                    self.refuse_long(&found).await;
                    continue;
                }
                Ok(Some(other @ Item::Other(_))) => {
                    self.relay(other, Some(&request.id)).await;
                    continue;
                }
                Ok(None) => Failure::Broken("its stream ended without a response".to_owned()),
                Err(error) => failure(error),
            };
            // There is no such thing in 2026-07-28.
            let Some(session) = session.filter(|_| events.place().last_id.is_some()) else {
                return Err(broken);
            };
            let place = events.place().clone();
            drop(events);
            events = Box::pin(self.resume(session, place, &mut pauses)).await?;
        }
    }

    /// Finds the response in a body: it is the body, or one of several messages, as 2025-03-26 had
    /// them.
    async fn response_in(
        self: &Arc<Self>,
        request: &Request,
        body: &Bytes,
    ) -> Result<Bytes, Failure> {
        let unexpected = || {
            let what = "something else than the response to the request";
            Failure::Unexpected(what.to_owned())
        };
        let envelope = Envelope::read(body).map_err(|_| unexpected())?;
        if responds_to(&envelope, &request.id) {
            return Ok(with_own_id(request, &envelope, body));
        }
        if !matches!(envelope.kind, Kind::Batch) {
            return Err(unexpected());
        }
        let messages: Vec<&RawValue> =
            serde_json::from_str(envelope.text).map_err(|_| unexpected())?;
        let mut response = None;
        for message in messages {
            let text = Bytes::copy_from_slice(message.get().as_bytes());
            match Envelope::read(&text) {
                Ok(found) if response.is_none() && responds_to(&found, &request.id) => {
                    response = Some(with_own_id(request, &found, &text));
                }
                _ => self.relay(Item::Message(text), Some(&request.id)).await,
            }
        }
        response.ok_or_else(unexpected)
    }

    /// Reads an error status, whose body may be a response all the same.
    async fn refused(
        self: &Arc<Self>,
        request: &Request,
        session: Option<&Arc<Session>>,
        response: Response,
    ) -> Result<Bytes, Failure> {
        let status = response.status();
        let body = self.slots.body(response, self.longest).await;
        let body = body.unwrap_or_default().text;
        if let Some(error) = error_in(&body) {
            if let Some(session) = session.filter(|it| it.id.is_some())
                && is_unknown_session(status, &error)
            {
                // Only 404 says that it did not run, so it is not sent again; those that follow
                // find a new session.
                self.heal_soon(session);
            }
            return Ok(match Envelope::read(&body) {
                Ok(found) if responds_to(&found, &request.id) => {
                    with_own_id(request, &found, &body)
                }
                _ => envelope::error(&request.id, &error).into(),
            });
        }
        let may_be_old = matches!(
            status,
            StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED
        );
        if request.method == "initialize" && may_be_old && self.is_of_2024().await {
            let what = "HTTP+SSE, the transport of 2024-11-05, which is not supported: look for \
                the server's address for Streamable HTTP, such as /mcp in place of /sse";
            return Err(Failure::Unexpected(what.to_owned()));
        }
        Err(refused(status, &body[..body.len().min(EXCERPT)]))
    }

    /// Takes note of what a response says about this side. Returns what to pass on instead.
    fn note(
        &self,
        request: &Request,
        text: &Bytes,
        session_id: Option<HeaderValue>,
    ) -> Option<Bytes> {
        let matters = matches!(
            request.method.as_str(),
            "initialize"
                | "tools/list"
                | "logging/setLevel"
                | "resources/subscribe"
                | "resources/unsubscribe"
        );
        if !matters {
            return None;
        }
        let envelope = Envelope::read(text).ok()?;
        let Kind::Response {
            result: Some(result),
            ..
        } = envelope.kind
        else {
            return None;
        };
        match (request.method.as_str(), &request.version) {
            ("tools/list", Some(_)) => {
                let kept = self.tools.learn(result)?;
                Some(envelope.with_result(&kept).into())
            }
            ("initialize", None) => {
                let number = self.next_number();
                self.sessions
                    .begin(number, &request.text, result, session_id);
                None
            }
            (method, None) => {
                let asked = Envelope::read(&request.text).ok()?;
                self.sessions.note(method, asked.params());
                None
            }
            (_, Some(_)) => None,
        }
    }

    fn headers_of(&self, request: &Request, session: Option<&Arc<Session>>) -> HeaderMap {
        let Some(version) = &request.version else {
            return self.headers(session.map(|session| &**session));
        };
        let mut all = self.headers(None);
        headers::add_version(&mut all, version);
        let params = RawObject::parse(envelope::params_of(&request.text)).unwrap_or_default();
        headers::add_modern(&mut all, &request.method, &params, &self.tools);
        all
    }

    /// Reads the list of tools again. Returns whether the headers of a call are others now.
    async fn has_new_headers(self: &Arc<Self>, request: &Request) -> bool {
        let before = self.headers_of(request, None);
        let params = RawObject::parse(envelope::params_of(&request.text)).unwrap_or_default();
        let Some(mut meta) = params.object("_meta") else {
            return false;
        };
        meta.retain(|name| name != "progressToken");
        let mut cursor: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let id = self.own_id();
            let params = match &cursor {
                None => format!(r#"{{"_meta":{meta}}}"#),
                Some(cursor) => format!(r#"{{"cursor":{},"_meta":{meta}}}"#, quoted(cursor)),
            };
            let list = Request {
                text: envelope::request(&id, "tools/list", &params).into(),
                id,
                method: "tools/list".to_owned(),
                version: request.version.clone(),
            };
            let Ok(answer) = self.talk(&list, None).await else {
                break;
            };
            cursor = None;
            if let Ok(Kind::Response {
                result: Some(result),
                ..
            }) = Envelope::read(&answer.text).map(|envelope| envelope.kind)
            {
                self.tools.learn(result);
                cursor = RawObject::parse(result).and_then(|it| it.string("nextCursor"));
            }
            answer.finish().await;
            if cursor.is_none() {
                break;
            }
        }
        self.headers_of(request, None) != before
    }

    /// Deals with a message that was too long: a request gets an error, and what waits for a
    /// response learns that there is none.
    pub(super) async fn refuse_long(self: &Arc<Self>, found: &Overlong) {
        let failure = Failure::too_long(self.longest);
        if let Some(count) = self.told_long.count() {
            tracing::warn!(count, "the server sent something too long: {failure}");
        }
        let Some(id) = found.id.clone() else {
            return;
        };
        if found.has_method {
            return self.answer(refusal(&id, self.longest));
        }
        self.inbox.push(UpstreamEvent::Failed { id, failure }).await;
    }

    // ---- batches

    /// Sends several messages at once, which only versions before 2025-06-18 have, and passes on
    /// what comes back.
    pub(super) async fn exchange_batch(self: &Arc<Self>, text: &Bytes) {
        let Err(failure) = self.try_batch(text).await else {
            return;
        };
        let messages: Vec<&RawValue> = serde_json::from_slice(text).unwrap_or_default();
        let reply = Reply::from(failure);
        let errors = messages.iter().filter_map(|message| {
            match Envelope::read(message.get().as_bytes()).ok()?.kind {
                Kind::Request { id, .. } => {
                    String::from_utf8(reply.to_message(&RawId::new(id))).ok()
                }
                Kind::Notification { .. } | Kind::Response { .. } | Kind::Batch => None,
            }
        });
        let errors: Vec<String> = errors.collect();
        if !errors.is_empty() {
            let text = format!("[{}]", errors.join(",")).into();
            self.inbox
                .push(UpstreamEvent::Message { text, via: None })
                .await;
        }
    }

    async fn try_batch(self: &Arc<Self>, text: &Bytes) -> Result<(), Failure> {
        let session = self.sessions.current();
        let response = self
            .post(text.clone(), self.headers(session.as_deref()))
            .await?;
        let status = response.status();
        match judge(&response, false) {
            _ if status == StatusCode::ACCEPTED => {}
            Verdict::Events => {
                let mut events = Events::new(response, self.longest, &self.slots, Place::default());
                while let Some(item) = events.next().await.map_err(failure)? {
                    self.relay(item, None).await;
                }
            }
            Verdict::Message => {
                let body = self.slots.body(response, self.longest).await;
                let Body { text, slot } = body.map_err(failure)?;
                let event = UpstreamEvent::Message { text, via: None };
                self.inbox.push(event).await;
                drop(slot);
            }
            Verdict::Refused | Verdict::SessionLost => {
                let body = response.body(EXCERPT).await.unwrap_or_default();
                return Err(refused(status, &body));
            }
            Verdict::Failed(failure) => return Err(failure),
        }
        Ok(())
    }
}

/// Returns a response with the id as the request has it.
fn with_own_id(request: &Request, envelope: &Envelope<'_>, text: &Bytes) -> Bytes {
    match envelope.kind {
        Kind::Response { id, .. } if id != request.id.as_str() => {
            envelope.with_id(&request.id).into()
        }
        Kind::Response { .. } | Kind::Request { .. } | Kind::Notification { .. } | Kind::Batch => {
            text.clone()
        }
    }
}

/// Whether a call was refused because of its headers.
fn is_mismatch(request: &Request, text: &[u8]) -> bool {
    if request.method != "tools/call" || request.version.is_none() {
        return false;
    }
    match Envelope::read(text).map(|envelope| envelope.kind) {
        Ok(Kind::Response {
            error: Some(error), ..
        }) => error_code(error) == Some(HEADER_MISMATCH),
        _ => false,
    }
}

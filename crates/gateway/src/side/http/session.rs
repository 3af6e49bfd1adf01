//! Sessions of 2025: what a server gave the client, and how a new one takes the place of one that
//! is gone.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::HeaderValue;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::connection::Connection;
use super::exchange::{Request, TalkError};
use crate::envelope::{self, Envelope, Kind};
use crate::json::{RawObject, quoted};
use crate::side::{Failure, UpstreamEvent};
use crate::subscriptions::Subscriptions;

/// How long a new session may take to begin.
const RENEW_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a session that could not be renewed stays lost, so that a crowd of requests does not
/// try one after the other.
const LOST: Duration = Duration::from_secs(1);
/// How often sessions may be renewed within a while: a server that forgets each at once would be
/// asked for the next without end.
const MAX_RENEWALS: usize = 5;
const RENEWALS_WITHIN: Duration = Duration::from_secs(60);
/// The longest parameters of a request that is restored, in bytes.
const MAX_PARAMS: usize = 4 << 10;

/// A session, also one of a server that keeps none.
#[derive(Debug)]
pub(super) struct Session {
    number: u64,
    pub(super) id: Option<HeaderValue>,
    /// The version that both sides agreed on.
    pub(super) version: String,
    /// Whether its stream was opened.
    pub(super) is_listening: AtomicBool,
    /// Fires when another session has taken its place.
    pub(super) ended: CancellationToken,
}

/// The current session, and what it takes to begin another one like it.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    state: Mutex<State>,
    /// Held while a session is renewed, since one renewal is enough for all who need it.
    renewing: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    current: Option<Arc<Session>>,
    handshake: Option<Bytes>,
    /// The parameters of the last `logging/setLevel` that succeeded.
    log_level: Option<String>,
    uris: Subscriptions,
    /// The session that could not be renewed, why, and when that was.
    lost: Option<(u64, Failure, Instant)>,
    /// When sessions were renewed, as far as that counts.
    renewed: VecDeque<Instant>,
    /// The version that requests of 2026-07-28 name.
    modern: Option<String>,
}

impl Sessions {
    pub(super) fn current(&self) -> Option<Arc<Session>> {
        self.state.lock().current.clone()
    }

    pub(super) fn modern_version(&self) -> Option<String> {
        self.state.lock().modern.clone()
    }

    pub(super) fn note_modern(&self, version: &str) {
        let mut state = self.state.lock();
        if state.modern.as_deref() != Some(version) {
            state.modern = Some(version.to_owned());
        }
    }

    /// Begins a session, by the response to a handshake.
    pub(super) fn begin(
        &self,
        number: u64,
        handshake: &Bytes,
        result: &str,
        id: Option<HeaderValue>,
    ) -> Arc<Session> {
        let result = RawObject::parse(result).unwrap_or_default();
        let session = Arc::new(Session {
            number,
            // Copied: the header is a part of the buffer that the response was read into, which it
            // would keep for as long as the session.
            id: id.and_then(|id| HeaderValue::from_bytes(id.as_bytes()).ok()),
            version: result.string("protocolVersion").unwrap_or_default(),
            is_listening: AtomicBool::new(false),
            ended: CancellationToken::new(),
        });
        let mut state = self.state.lock();
        state.handshake = Some(handshake.clone());
        state.lost = None;
        if let Some(before) = state.current.replace(session.clone()) {
            before.ended.cancel();
        }
        session
    }

    /// Notes a request that succeeded and that a new session would have to hear of.
    pub(super) fn note(&self, method: &str, params: Option<&str>) {
        let params = params.unwrap_or("{}");
        let uri = || RawObject::parse(params)?.string("uri");
        if params.len() > MAX_PARAMS {
            return tracing::debug!(method, "is not restored in a new session: it is too long");
        }
        match method {
            "logging/setLevel" => self.state.lock().log_level = Some(params.to_owned()),
            "resources/subscribe" => {
                if let Some(uri) = uri() {
                    // Those for which there is no room are not restored.
                    let _ = self.state.lock().uris.add(uri);
                }
            }
            "resources/unsubscribe" => {
                if let Some(uri) = uri() {
                    self.state.lock().uris.remove(&uri);
                }
            }
            _ => {}
        }
    }

    fn is_current(&self, session: &Session) -> bool {
        let state = self.state.lock();
        state
            .current
            .as_ref()
            .is_some_and(|it| it.number == session.number)
    }

    /// Why a session could not be renewed a moment ago.
    fn lost(&self, session: &Session) -> Option<Failure> {
        let state = self.state.lock();
        let (number, failure, at) = state.lost.as_ref()?;
        let is_recent = *number == session.number && at.elapsed() < LOST;
        is_recent.then(|| failure.clone())
    }

    /// Counts a renewal; refuses it if there were too many.
    fn admit_renewal(&self) -> Result<(), Failure> {
        let renewed = &mut self.state.lock().renewed;
        while renewed
            .front()
            .is_some_and(|at| at.elapsed() >= RENEWALS_WITHIN)
        {
            renewed.pop_front();
        }
        if renewed.len() >= MAX_RENEWALS {
            let what = "HTTP 404 in one new session after the other";
            return Err(Failure::Unexpected(what.to_owned()));
        }
        renewed.push_back(Instant::now());
        Ok(())
    }
}

impl Connection {
    /// Begins a new session in place of one that the server no longer knows, once for all who ask.
    pub(super) async fn heal(self: &Arc<Self>, lost: &Arc<Session>) -> Result<(), Failure> {
        let (sender, healed) = oneshot::channel();
        let (connection, lost) = (self.clone(), lost.clone());
        // On its own, since who asks may be cancelled halfway. Boxed, since exchanges lead to it,
        // and it leads to exchanges.
        let healing: BoxFuture<'static, ()> = Box::pin(async move {
            // Whoever asked may be gone.
            let _ = sender.send(connection.heal_once(&lost).await);
        });
        self.spawn(healing);
        let closed = |_| Err(Failure::Broken("it was closed".to_owned()));
        healed.await.unwrap_or_else(closed)
    }

    /// Begins a new session in the background.
    pub(super) fn heal_soon(self: &Arc<Self>, lost: &Arc<Session>) {
        let (connection, lost) = (self.clone(), lost.clone());
        let healing: BoxFuture<'static, ()> = Box::pin(async move {
            if let Err(failure) = connection.heal_once(&lost).await {
                tracing::warn!(%failure, "the server has lost the session");
            }
        });
        self.spawn(healing);
    }

    async fn heal_once(self: &Arc<Self>, lost: &Arc<Session>) -> Result<(), Failure> {
        let one_at_a_time = self.sessions.renewing.lock().await;
        if !self.sessions.is_current(lost) {
            return Ok(());
        }
        if let Some(failure) = self.sessions.lost(lost) {
            return Err(failure);
        }
        self.sessions.admit_renewal()?;
        if let Err(failure) = self.renew().await {
            let note = (lost.number, failure.clone(), Instant::now());
            self.sessions.state.lock().lost = Some(note);
            return Err(failure);
        }
        drop(one_at_a_time);
        tracing::info!("the server had lost the session; another one has begun");
        Ok(())
    }

    async fn renew(self: &Arc<Self>) -> Result<(), Failure> {
        let (handshake, log_level, uris) = {
            let state = self.sessions.state.lock();
            (
                state.handshake.clone(),
                state.log_level.clone(),
                state.uris.uris().clone(),
            )
        };
        let handshake = handshake.unwrap_or_default();
        let no_session = || Failure::Unexpected("no new session".to_owned());
        let envelope = Envelope::read(&handshake).map_err(|_| no_session())?;
        let id = self.own_id();
        let request = Request {
            text: envelope.with_id(&id).into(),
            id,
            method: "initialize".to_owned(),
            version: None,
        };
        // What is sent meanwhile waits for the new session, as far as it comes soon.
        let (_, ready) = self.lane_turn();
        let Ok(answer) = timeout(RENEW_TIMEOUT, self.talk(&request, None)).await else {
            let why = "it has lost the session and begins no other";
            return Err(Failure::Broken(why.to_owned()));
        };
        let answer = answer.map_err(TalkError::into_failure)?;
        let text = answer.text.clone();
        let session_id = answer.session_id.clone();
        answer.finish().await;
        let Ok(Kind::Response {
            result: Some(result),
            ..
        }) = Envelope::read(&text).map(|envelope| envelope.kind)
        else {
            return Err(no_session());
        };
        let session = self
            .sessions
            .begin(self.next_number(), &handshake, result, session_id);
        // Before anything of the new session.
        self.inbox.push(UpstreamEvent::Renewed).await;
        let initialized = envelope::notification("notifications/initialized", "{}");
        self.hand_over(&initialized.into(), Some(&session)).await?;
        self.open_stream(&session).await;
        let restoring = async {
            let mut is_complete = true;
            if let Some(level) = log_level {
                is_complete &= self.restore(&session, "logging/setLevel", &level).await;
            }
            for uri in uris {
                let params = format!(r#"{{"uri":{}}}"#, quoted(&uri));
                is_complete &= self.restore(&session, "resources/subscribe", &params).await;
            }
            is_complete
        };
        if timeout(RENEW_TIMEOUT, restoring).await != Ok(true) {
            tracing::warn!("the new session knows only some of the subscriptions");
        }
        drop(ready);
        Ok(())
    }

    /// Tells a new session what the one before knew. Returns whether it has taken that.
    async fn restore(self: &Arc<Self>, session: &Arc<Session>, method: &str, params: &str) -> bool {
        let id = self.own_id();
        let request = Request {
            text: envelope::request(&id, method, params).into(),
            id,
            method: method.to_owned(),
            version: None,
        };
        match self.talk(&request, Some(session)).await {
            Ok(answer) => {
                answer.finish().await;
                true
            }
            Err(error) => {
                let failure = error.into_failure();
                tracing::debug!(%failure, "`{method}` was not restored");
                false
            }
        }
    }
}

//! Streams that are opened by GET: that of a session until 2025-11-25, and those that go on where
//! one broke.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use entreat_wire::backoff::Backoff;
use entreat_wire::http::Response;
use http::StatusCode;
use http::header::ACCEPT;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::connection::Connection;
use super::headers;
use super::reading::{Events, Item, Place};
use super::session::Session;
use super::verdict::{EVENTS, error_in, is_stream, is_unknown_session};
use crate::envelope::RawId;
use crate::side::{Failure, UpstreamEvent};

/// How long requests wait for the stream of their session, on which some servers ask. Those that
/// have none say so at once.
const OPEN_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a server may take to tell that it speaks the transport of 2024-11-05.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);
/// How often the stream of a request is taken up in vain before that fails.
const MAX_ATTEMPTS: u32 = 5;
/// The pauses before a stream is opened again, if the server does not say how long.
const PAUSES: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(30));
/// The least and the most that a server may say.
const RETRY: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(3600));

/// What a GET was answered with.
enum Opened {
    Stream(Response),
    /// There is no such stream.
    None(StatusCode),
    /// The session is gone.
    Lost,
    /// There may be one later.
    Later(String),
}

/// The pauses between attempts, in which the server has a say.
struct Pauses(Backoff);

impl Pauses {
    /// Returns the next pause: what the server says, and ever longer while nothing comes.
    fn next(&mut self, place: &Place) -> Duration {
        if place.has_moved {
            self.0.reset();
        }
        if let Some(retry) = place.retry {
            return retry.clamp(RETRY.0, RETRY.1);
        }
        self.0.next_pause()
    }
}

impl Connection {
    /// Opens the stream of a session, and keeps it open. Returns as soon as it is open, or is known
    /// not to be, and no later than after [`OPEN_TIMEOUT`].
    pub(super) async fn open_stream(self: &Arc<Self>, session: &Arc<Session>) {
        if session.is_listening.swap(true, Ordering::Relaxed) {
            return;
        }
        let settled = CancellationToken::new();
        let guard = settled.clone().drop_guard();
        let (connection, session) = (self.clone(), session.clone());
        self.spawn(async move {
            let ended = session.ended.clone();
            let listening = connection.listen(&session, guard);
            ended.run_until_cancelled(Box::pin(listening)).await;
        });
        // Calls go ahead without one that is slow to open: it may never be used.
        let _ = timeout(OPEN_TIMEOUT, settled.cancelled()).await;
    }

    async fn listen(self: &Arc<Self>, session: &Arc<Session>, settled: impl Sized) {
        let mut settled = Some(settled);
        let mut place = Place::default();
        let mut pauses = Pauses(PAUSES);
        loop {
            let opened = self.open(session, &place).await;
            drop(settled.take());
            place.has_moved = false;
            match opened {
                Opened::Stream(response) => {
                    let mut events = Events::new(response, self.longest, &self.slots, place);
                    while let Ok(Some(item)) = events.next().await {
                        self.relay(item, None).await;
                    }
                    place = events.place().clone();
                }
                Opened::None(status) => {
                    return tracing::debug!(%status, "the server has no stream of its own");
                }
                Opened::Lost => return self.heal_soon(session),
                Opened::Later(why) => tracing::debug!(why, "the server's stream did not open"),
            }
            sleep(pauses.next(&place)).await;
        }
    }

    /// Opens the stream of a request again that broke at this place.
    pub(super) async fn resume(
        self: &Arc<Self>,
        session: &Arc<Session>,
        mut place: Place,
        pauses: &mut ResumePauses,
    ) -> Result<Events, Failure> {
        let broken = |why: &str| Failure::Broken(why.to_owned());
        loop {
            let pause = pauses.0.next(&place);
            let waited = session.ended.run_until_cancelled(sleep(pause)).await;
            if waited.is_none() {
                return Err(broken("its session is gone"));
            }
            if place.has_moved {
                pauses.1 = 0;
            }
            place.has_moved = false;
            let opened = session
                .ended
                .run_until_cancelled(self.open(session, &place));
            match opened.await {
                Some(Opened::Stream(response)) => {
                    return Ok(Events::new(response, self.longest, &self.slots, place));
                }
                Some(Opened::Later(why)) => {
                    pauses.1 += 1;
                    if pauses.1 == MAX_ATTEMPTS {
                        return Err(Failure::Broken(why));
                    }
                }
                Some(Opened::None(status)) => {
                    let code = status.as_u16();
                    let why = format!("it cannot be taken up again (HTTP {code})");
                    return Err(Failure::Broken(why));
                }
                Some(Opened::Lost) => {
                    self.heal_soon(session);
                    return Err(broken("its session is gone"));
                }
                None => return Err(broken("its session is gone")),
            }
        }
    }

    async fn open(&self, session: &Arc<Session>, place: &Place) -> Opened {
        let mut headers = self.headers(Some(session));
        headers.insert(ACCEPT, EVENTS);
        if let Some(id) = &place.last_id {
            headers.insert(headers::LAST_EVENT_ID, id.clone());
        }
        let response = match self.get(headers).await {
            Ok(response) => response,
            Err(Failure::Connect(why)) => return Opened::Later(why),
            Err(failure) => return Opened::Later(failure.to_string()),
        };
        let status = response.status();
        match status {
            _ if is_stream(&response) => Opened::Stream(response),
            StatusCode::NOT_FOUND if session.id.is_some() => Opened::Lost,
            // The server has not noticed yet that the stream before is gone.
            StatusCode::CONFLICT | StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT => {
                Opened::Later(format!("HTTP {}", status.as_u16()))
            }
            StatusCode::NOT_IMPLEMENTED => Opened::None(status),
            StatusCode::BAD_REQUEST if session.id.is_some() => {
                let body = response.body(EXCERPT).await.unwrap_or_default();
                let error = error_in(&body);
                if error.is_some_and(|error| is_unknown_session(status, &error)) {
                    return Opened::Lost;
                }
                Opened::None(status)
            }
            _ if status.is_server_error() => Opened::Later(format!("HTTP {}", status.as_u16())),
            _ => Opened::None(status),
        }
    }

    /// Passes on what came on a stream, other than the response to its request.
    pub(super) async fn relay(self: &Arc<Self>, item: Item, via: Option<&RawId>) {
        match item {
            Item::Message(text) => {
                let via = via.cloned();
                self.inbox.push(UpstreamEvent::Message { text, via }).await;
            }
            Item::TooLong(found) => self.refuse_long(&found).await,
            Item::Other(kind) => tracing::debug!(kind, "skipped an event of the server"),
        }
    }

    /// Whether the server speaks the transport of 2024-11-05, whose stream begins with an address.
    pub(super) async fn is_of_2024(&self) -> bool {
        let probe = async {
            let mut headers = self.headers(None);
            headers.insert(ACCEPT, EVENTS);
            let response = self.get(headers).await.ok()?;
            if !is_stream(&response) {
                return None;
            }
            let mut events = Events::new(response, EXCERPT, &self.slots, Place::default());
            match events.next().await.ok()?? {
                Item::Other(kind) => Some(kind == "endpoint"),
                Item::Message(_) | Item::TooLong(_) => None,
            }
        };
        timeout(PROBE_TIMEOUT, probe)
            .await
            .ok()
            .flatten()
            .unwrap_or(false)
    }
}

/// How long the event may be that says so.
const EXCERPT: usize = 64 << 10;

/// The pauses of one request, and how often it was tried in vain.
pub(super) struct ResumePauses(Pauses, u32);

impl Default for ResumePauses {
    fn default() -> Self {
        Self(Pauses(PAUSES), 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_while_nothing_comes_and_follow_the_server() {
        let mut pauses = Pauses(PAUSES);
        let mut place = Place::default();
        let seconds: Vec<u64> = (0..7).map(|_| pauses.next(&place).as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 30, 30]);
        place.has_moved = true;
        assert_eq!(pauses.next(&place), Duration::from_secs(1));
        for (said, kept) in [(0, 50), (700, 700), (u64::MAX, 3_600_000)] {
            place.retry = Some(Duration::from_millis(said));
            assert_eq!(pauses.next(&place), Duration::from_millis(kept));
        }
    }
}

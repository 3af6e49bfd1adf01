//! What all exchanges with a server share, and how messages become exchanges.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use entreat_wire::http::{Client, Request as HttpRequest, Response};
use entreat_wire::oauth::{SecretText, SendError, TokenSource, send_with_token};
use futures_util::future::BoxFuture;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use super::exchange::Request;
use super::headers;
use super::inbox::Inbox;
use super::lane::{Lane, Turn};
use super::reading::Slots;
use super::session::{Session, Sessions};
use super::verdict::{BOTH, JSON, failure, refused};
use crate::cancellation::{CANCELLED, Cancellation};
use crate::envelope::{Envelope, Kind, RawId};
use crate::log::LineThrottle;
use crate::memory::Account;
use crate::param_headers::ToolHeaders;
use crate::side::lines::{QUEUED_BYTES, QUEUED_MESSAGES};
use crate::side::{Failure, UpstreamEvent};

/// How many requests are at the server at once. Each takes a connection of its own.
const MAX_REQUESTS: usize = 1_000;
/// How many bytes the requests have that are at the server or wait for their turn.
const MAX_REQUEST_BYTES: usize = 64 << 20;
/// How long a server may take to accept an answer or a notification.
const ACCEPT_TIMEOUT: Duration = Duration::from_secs(30);
/// The pauses before an answer is sent again, if there was no connection.
const ANSWER_PAUSES: [Duration; 3] = [
    Duration::from_millis(250),
    Duration::from_secs(1),
    Duration::from_secs(4),
];
/// How long a server may take to end a session.
const DELETE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the stream of a cancelled request of 2025 stays open: what it still brings may be a
/// question that the server withdraws. Many servers never end it.
const CANCELLED_TIMEOUT: Duration = Duration::from_secs(2);

/// How a server may be called.
pub(super) struct Access {
    pub(super) client: Client,
    /// Headers of every request.
    pub(super) headers: HeaderMap,
    pub(super) tokens: Option<Arc<dyn TokenSource>>,
}

/// A server, and what is open there.
pub(super) struct Connection {
    access: Access,
    pub(super) longest: usize,
    pub(super) inbox: Inbox,
    pub(super) tools: ToolHeaders,
    pub(super) sessions: Sessions,
    pub(super) slots: Slots,
    lane: Lane,
    exchanges: Mutex<HashMap<RawId, Exchange>>,
    requests: Semaphore,
    request_bytes: Arc<Semaphore>,
    others: Arc<Semaphore>,
    other_bytes: Arc<Semaphore>,
    tasks: TaskTracker,
    /// Fires when nothing more is taken.
    closing: CancellationToken,
    /// Fires when all exchanges are to end.
    stop: CancellationToken,
    closed: CancellationToken,
    counter: AtomicU64,
    /// Log lines about what is too long, and about what the server did not take.
    pub(super) told_long: LineThrottle,
    told_lost: LineThrottle,
}

/// A request that is on its way or at the server.
struct Exchange {
    number: u64,
    is_modern: bool,
    ended: CancellationToken,
}

impl Connection {
    pub(super) fn new(access: Access, longest: usize, inbox: Inbox) -> Arc<Self> {
        let stop = CancellationToken::new();
        Arc::new(Self {
            access,
            longest,
            inbox,
            tools: ToolHeaders::default(),
            sessions: Sessions::default(),
            slots: Slots::new(),
            lane: Lane::new(),
            exchanges: Mutex::default(),
            requests: Semaphore::new(MAX_REQUESTS),
            request_bytes: Arc::new(Semaphore::new(MAX_REQUEST_BYTES)),
            others: Arc::new(Semaphore::new(QUEUED_MESSAGES)),
            other_bytes: Arc::new(Semaphore::new(QUEUED_BYTES)),
            tasks: TaskTracker::new(),
            closing: CancellationToken::new(),
            stop,
            closed: CancellationToken::new(),
            counter: AtomicU64::new(0),
            told_long: LineThrottle::default(),
            told_lost: LineThrottle::default(),
        })
    }

    /// Makes large messages of the server count towards the memory of a principal.
    pub(super) fn count_memory(&self, account: Account) {
        self.slots.count_memory(account);
    }

    // ---- messages

    pub(super) async fn send(self: &Arc<Self>, message: Vec<u8>) {
        if self.closing.is_cancelled() {
            return;
        }
        let text = Bytes::from(message);
        let envelope = match Envelope::read(&text) {
            Ok(envelope) => envelope,
            // The relay has read it before.
            Err(error) => return tracing::debug!(%error, "a message for the server was dropped"),
        };
        match &envelope.kind {
            Kind::Request { id, method, params } => {
                let request = Request {
                    id: RawId::new(id),
                    method: method.clone().into_owned(),
                    version: params.and_then(headers::named_version),
                    text: text.clone(),
                };
                self.begin(request);
            }
            Kind::Batch => {
                let (connection, text) = (self.clone(), text.clone());
                self.spawn(async move { connection.exchange_batch(&text).await });
            }
            Kind::Notification { method, params } => {
                if method == CANCELLED
                    && let Some(cancellation) = params.and_then(Cancellation::read)
                    && self.cancel(&cancellation.id)
                {
                    return;
                }
                let is_initialized = method == "notifications/initialized";
                // Boxed, so that sending a request needs no room for it.
                Box::pin(self.deliver(text.clone(), is_initialized)).await;
            }
            Kind::Response { .. } => Box::pin(self.deliver(text.clone(), false)).await,
        }
    }

    /// Starts the exchange of a request.
    fn begin(self: &Arc<Self>, request: Request) {
        let connection = self.clone();
        let length = permits(request.text.len());
        let bytes = self.request_bytes.clone();
        let Ok(bytes) = bytes.try_acquire_many_owned(length) else {
            let failure = Failure::Connect("too many requests are open".to_owned());
            self.spawn(async move {
                let id = request.id;
                connection
                    .inbox
                    .push(UpstreamEvent::Failed { id, failure })
                    .await;
            });
            return;
        };
        let exchange = Exchange {
            number: self.next_number(),
            is_modern: request.version.is_some(),
            ended: CancellationToken::new(),
        };
        let (number, ended) = (exchange.number, exchange.ended.clone());
        self.exchanges.lock().insert(request.id.clone(), exchange);
        let turn = self.lane.last();
        self.spawn(async move {
            let work = async {
                turn.come().await;
                // Never closed.
                let _place = connection.requests.acquire().await.ok();
                if let Err(failure) = connection.exchange(&request).await {
                    let id = request.id.clone();
                    connection
                        .inbox
                        .push(UpstreamEvent::Failed { id, failure })
                        .await;
                }
            };
            ended.run_until_cancelled(Box::pin(work)).await;
            let mut exchanges = connection.exchanges.lock();
            if exchanges
                .get(&request.id)
                .is_some_and(|it| it.number == number)
            {
                exchanges.remove(&request.id);
            }
            drop(bytes);
        });
    }

    pub(super) fn abandon(&self, id: &RawId) {
        if let Some(exchange) = self.exchanges.lock().remove(id) {
            exchange.ended.cancel();
        }
    }

    /// Takes note that a request is cancelled. Returns whether that is all there is to do: in
    /// 2026-07-28, the end of its stream tells the server.
    fn cancel(self: &Arc<Self>, id: &RawId) -> bool {
        let ended = {
            let exchanges = self.exchanges.lock();
            let Some(exchange) = exchanges.get(id) else {
                return false;
            };
            if exchange.is_modern {
                exchange.ended.cancel();
                return true;
            }
            exchange.ended.clone()
        };
        self.spawn(async move {
            sleep(CANCELLED_TIMEOUT).await;
            ended.cancel();
        });
        false
    }

    /// Sends a message that gets no response: in its turn, and in the background.
    async fn deliver(self: &Arc<Self>, text: Bytes, is_initialized: bool) {
        let (turn, done) = self.lane.join();
        let room = self.room_for(text.len()).await;
        let connection = self.clone();
        self.spawn(async move {
            turn.come().await;
            let session = connection.sessions.current();
            let accepted = connection.hand_over(&text, session.as_ref()).await;
            match (accepted, session) {
                (Ok(()), Some(session)) if is_initialized => {
                    connection.open_stream(&session).await;
                }
                (Ok(()), _) => {}
                (Err(failure), _) => {
                    if let Some(count) = connection.told_lost.count() {
                        tracing::warn!(%failure, count, "a message did not reach the server");
                    }
                }
            }
            drop((done, room));
        });
    }

    async fn room_for(&self, length: usize) -> [Option<OwnedSemaphorePermit>; 2] {
        let length = permits(length.min(QUEUED_BYTES));
        // Never closed.
        let count = self.others.clone().acquire_owned().await.ok();
        let bytes = self
            .other_bytes
            .clone()
            .acquire_many_owned(length)
            .await
            .ok();
        [count, bytes]
    }

    /// Whether too many messages are on their way for another one.
    pub(super) fn is_congested(&self) -> bool {
        self.others.available_permits() == 0 || self.other_bytes.available_permits() == 0
    }

    /// Makes the messages that follow wait until the guard is dropped, as long as messages wait.
    pub(super) fn lane_turn(&self) -> (Turn, DropGuard) {
        self.lane.join()
    }

    /// Posts a message that gets no response. An answer, which somebody may have typed, is sent
    /// again while there is no connection.
    pub(super) async fn hand_over(
        self: &Arc<Self>,
        text: &Bytes,
        session: Option<&Arc<Session>>,
    ) -> Result<(), Failure> {
        let headers = self.headers_of_message(text, session);
        let mut pauses = ANSWER_PAUSES.iter();
        loop {
            let posting = timeout(ACCEPT_TIMEOUT, self.post(text.clone(), headers.clone()));
            let Ok(posted) = posting.await else {
                return Err(Failure::Broken("it accepts no messages".to_owned()));
            };
            let failure = match posted {
                Ok(response) => return self.accepted(response, session).await,
                Err(failure) => failure,
            };
            match pauses.next() {
                Some(pause) if matches!(failure, Failure::Connect(_)) => sleep(*pause).await,
                _ => return Err(failure),
            }
        }
    }

    async fn accepted(
        self: &Arc<Self>,
        response: Response,
        session: Option<&Arc<Session>>,
    ) -> Result<(), Failure> {
        let status = response.status();
        if status.is_success() {
            return Ok(());
        }
        if let Some(session) = session.filter(|it| it.id.is_some())
            && status == StatusCode::NOT_FOUND
        {
            // What the message was about is gone with the session.
            self.heal_soon(session);
        }
        let body = response.body(EXCERPT).await.unwrap_or_default();
        Err(refused(status, &body))
    }

    /// Answers a request of the server.
    pub(super) fn answer(self: &Arc<Self>, text: Vec<u8>) {
        let connection = self.clone();
        // Boxed, since answers may lead to exchanges, which may lead to answers.
        let answering: BoxFuture<'static, ()> =
            Box::pin(async move { connection.deliver(text.into(), false).await });
        self.spawn(answering);
    }

    // ---- requests of HTTP

    /// Posts a message, and returns the response as soon as its head is there.
    pub(super) async fn post(&self, text: Bytes, headers: HeaderMap) -> Result<Response, Failure> {
        let post = || self.access.client.request(Method::POST).body(text.clone());
        self.request(post, headers).await
    }

    /// Opens a stream.
    pub(super) async fn get(&self, mut headers: HeaderMap) -> Result<Response, Failure> {
        headers.remove(CONTENT_TYPE);
        let get = || self.access.client.request(Method::GET);
        self.request(get, headers).await
    }

    /// Sends a request with these headers, and with a token if the server wants one. A request
    /// that is refused for lack of one did not run, and is sent again.
    async fn request(
        &self,
        request: impl Fn() -> HttpRequest + Send + Sync,
        headers: HeaderMap,
    ) -> Result<Response, Failure> {
        let Some(tokens) = &self.access.tokens else {
            return request().headers(headers).send().await.map_err(failure);
        };
        let send = |token: Option<SecretText>| {
            let mut request = request().headers(headers.clone());
            if let Some(token) = &token {
                request = request.bearer(token.expose());
            }
            request.send()
        };
        // Boxed, since most connections have no tokens and thousands of requests may wait.
        let outcome = Box::pin(send_with_token(&**tokens, send)).await;
        outcome.map_err(|error| match error {
            SendError::Exchange(error) => failure(error),
            SendError::SignIn(error) => Failure::SignIn(error),
        })
    }

    /// The headers of everything that is sent within a session, or without one.
    pub(super) fn headers(&self, session: Option<&Session>) -> HeaderMap {
        let mut all = self.access.headers.clone();
        all.insert(ACCEPT, BOTH);
        all.insert(CONTENT_TYPE, JSON);
        if let Some(session) = session {
            if !session.version.is_empty() {
                headers::add_version(&mut all, &session.version);
            }
            if let Some(id) = &session.id {
                all.insert(headers::SESSION, id.clone());
            }
        }
        all
    }

    /// The headers of a message that gets no response.
    fn headers_of_message(&self, text: &[u8], session: Option<&Arc<Session>>) -> HeaderMap {
        let mut all = self.headers(session.map(|session| &**session));
        if let Ok(envelope) = Envelope::read(text)
            && let Kind::Notification { method, params } = &envelope.kind
        {
            let named = params.and_then(headers::named_version);
            let modern = || self.sessions.modern_version().filter(|_| session.is_none());
            if let Some(version) = named.or_else(modern) {
                all = self.headers(None);
                headers::add_version(&mut all, &version);
                if let Ok(method) = HeaderValue::from_str(method) {
                    all.insert(headers::METHOD, method);
                }
            }
        }
        all
    }

    // ---- life

    /// Runs work until the connection is closed.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        // Boxed, here and within: whatever wraps a future has room for it several times.
        let work = Box::pin(work);
        self.tasks.spawn(async move {
            stop.run_until_cancelled(work).await;
        });
    }

    pub(super) fn next_number(&self) -> u64 {
        self.counter.fetch_add(1, Ordering::Relaxed)
    }

    /// An id for a request of our own, unlike those of the relay.
    pub(super) fn own_id(&self) -> RawId {
        RawId::text(&format!("entreat-http-{}", self.next_number()))
    }

    pub(super) fn stop(&self) {
        self.closing.cancel();
        self.stop.cancel();
    }

    pub(super) async fn close(&self) {
        self.closing.cancel();
        // What was sent before goes out.
        self.lane.last().come().await;
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        if let Some(session) = self.sessions.current().filter(|it| it.id.is_some()) {
            let mut headers = self.headers(Some(&session));
            headers.remove(CONTENT_TYPE);
            let mut request = self.access.client.request(Method::DELETE).headers(headers);
            // Nobody signs in to say goodbye.
            if let Some(tokens) = &self.access.tokens
                && let Ok(Some(token)) = tokens.token().await
            {
                request = request.bearer(token.expose());
            }
            // A server need not allow it.
            let _ = timeout(DELETE_TIMEOUT, request.send()).await;
        }
        self.closed.cancel();
    }

    /// Waits until the connection is closed.
    pub(super) async fn closed(&self) {
        self.closed.cancelled().await;
    }
}

/// How much of a refusal is read.
pub(super) const EXCERPT: usize = 64 << 10;

fn permits(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

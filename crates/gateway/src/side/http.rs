//! A server over HTTP, in both generations of Streamable HTTP.
//!
//! Each message is a POST of its own, and what the server sends comes on the responses or, until
//! 2025-11-25, on a stream of the session. Which generation a message belongs to is read from the
//! message itself: those of 2026-07-28 name their version.
//!
//! # What runs twice
//!
//! Nothing, unless the server says that it did not run: a request is sent again after 404 for a
//! session that is gone, in a new session, and after -32020, with the headers that the server's
//! current list of tools asks for; once each. A stream that breaks is resumed where the server made
//! that possible. Otherwise its request fails, and whoever sent it learns that it may have run.
//!
//! # Bounds
//!
//! Up to 256 events or 8 MiB wait to be fetched by [`HttpReceiver::next`]; until then, nothing more
//! is read from the server. 1,000 requests are at the server at once; more wait for one of them, as
//! long as all together have no more than 64 MiB. [`HttpSender::send`] never waits for that: the
//! answer for which the server holds a request comes behind it. It waits while 256 answers and
//! notifications, or 8 MiB of them, are on their way.

mod connection;
mod exchange;
mod headers;
mod inbox;
mod lane;
mod listen;
mod reading;
mod session;
mod verdict;

use std::fmt;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use entreat_core::url_guard::{Policy, check_url};
use entreat_wire::http::{Client, ClientError};
use entreat_wire::oauth::TokenSource;
use http::HeaderMap;
use http::header::AUTHORIZATION;

use self::connection::{Access, Connection};
use self::inbox::Outlet;
use super::lines::MAX_MESSAGE;
use super::{Closed, UpstreamEvent};
use crate::envelope::RawId;
use crate::memory::Account;

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long an idle connection is kept. Node.js and uvicorn close theirs after 5 s.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// Connects to servers over HTTP.
#[derive(Debug)]
pub enum Http {}

/// Connections to a server, which its sessions can share. Cheap to clone.
#[derive(Clone, Debug)]
pub struct SharedConnections(Client);

/// A server's address, and how to call it.
pub struct HttpTarget {
    url: String,
    headers: HeaderMap,
    tokens: Option<Arc<dyn TokenSource>>,
    shared: Option<SharedConnections>,
    /// The longest message that is taken from the server, in bytes.
    pub max_message: usize,
}

impl HttpTarget {
    /// A server by its URL. The headers are sent with every request, to the URL's origin only.
    pub fn new(url: &str, mut headers: HeaderMap) -> Self {
        for value in headers.values_mut() {
            // Keeps it out of logs, and of the compression of HTTP/2.
            value.set_sensitive(true);
        }
        Self {
            url: url.to_owned(),
            headers,
            tokens: None,
            shared: None,
            max_message: MAX_MESSAGE,
        }
    }

    /// Sends tokens of this source where the server wants them, unless a header is for that.
    #[must_use]
    pub fn with_tokens(mut self, tokens: Arc<dyn TokenSource>) -> Self {
        self.tokens = Some(tokens).filter(|_| !self.headers.contains_key(AUTHORIZATION));
        self
    }

    /// Uses connections that others use too, in place of its own. They have to be to the same URL.
    #[must_use]
    pub fn sharing(mut self, connections: SharedConnections) -> Self {
        self.shared = Some(connections);
        self
    }
}

impl SharedConnections {
    /// Prepares connections to this URL. Nothing is sent until there is a message.
    pub fn to(url: &str) -> Result<Self, ClientError> {
        let mut client = Client::builder(url)
            .reusing_connections_for(IDLE_TIMEOUT)
            .connect_timeout(CONNECT_TIMEOUT)
            .same_origin_redirects();
        // A proxy must not be used for this machine or the local network.
        if check_url(url, &Policy::web()).is_ok() {
            client = client.environment_proxies();
        }
        Ok(Self(client.build()?))
    }
}

impl fmt::Debug for HttpTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without URL and headers, which may contain secrets.
        f.debug_struct("HttpTarget").finish_non_exhaustive()
    }
}

impl Http {
    /// Prepares a connection. Nothing is sent until there is a message.
    pub fn connect(target: HttpTarget) -> Result<(HttpSender, HttpReceiver), ClientError> {
        let SharedConnections(client) = match target.shared {
            Some(shared) => shared,
            None => SharedConnections::to(&target.url)?,
        };
        let (inbox, outlet) = inbox::inbox();
        let access = Access {
            client,
            headers: target.headers,
            tokens: target.tokens,
        };
        let connection = Connection::new(access, target.max_message, inbox);
        let handle = Arc::new(Handle(connection));
        let receiver = HttpReceiver {
            outlet,
            handle: handle.clone(),
            is_closed: false,
        };
        Ok((HttpSender(handle), receiver))
    }
}

/// Sends messages to a server over HTTP. Cheap to clone.
#[derive(Clone)]
pub struct HttpSender(Arc<Handle>);

/// Receives what a server over HTTP sends.
pub struct HttpReceiver {
    outlet: Outlet,
    handle: Arc<Handle>,
    is_closed: bool,
}

/// What both halves share; without it, every exchange ends.
struct Handle(Arc<Connection>);

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl HttpSender {
    /// Sends a message. What becomes of a request comes as an event.
    ///
    /// # Panics
    ///
    /// Outside a Tokio runtime.
    pub async fn send(&self, message: Vec<u8>) {
        self.0.0.send(message).await;
    }

    /// Whether [`send`](Self::send) would wait with an answer or a notification.
    pub fn is_congested(&self) -> bool {
        self.0.0.is_congested()
    }

    /// Makes large messages of the server count towards the memory of a principal.
    pub(super) fn count_memory(&self, account: Account) {
        self.0.0.count_memory(account);
    }

    /// Closes the stream of a request, which in 2026-07-28 cancels it. Its events no longer come,
    /// except those that wait to be fetched.
    pub fn abandon(&self, id: &RawId) {
        self.0.0.abandon(id);
    }

    /// Closes all streams and ends the session.
    pub async fn close(&self) {
        self.0.0.close().await;
    }
}

impl HttpReceiver {
    /// Returns the next event. Cancel safe. After [`UpstreamEvent::Closed`], it never returns.
    pub async fn next(&mut self) -> UpstreamEvent {
        if self.is_closed {
            pending::<()>().await;
        }
        let event = tokio::select! {
            // What was received before the end comes before it.
            biased;
            event = self.outlet.next() => event,
            () = self.handle.0.closed() => None,
        };
        event.unwrap_or_else(|| {
            self.is_closed = true;
            UpstreamEvent::Closed(Closed::Here)
        })
    }
}

impl fmt::Debug for HttpSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpSender").finish_non_exhaustive()
    }
}

impl fmt::Debug for HttpReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpReceiver").finish_non_exhaustive()
    }
}

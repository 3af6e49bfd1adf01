//! Shares of those who come through a trusted proxy.
//!
//! The proxy's address has as many connections as it needs, and whoever is behind it could use them
//! up. So each person and each asker there has a share of requests at once, which is the same as
//! the share of connections that an address has elsewhere.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use entreat_engine::shares::{Place, Shares};
use hyper::body::{Body as HttpBody, Frame, SizeHint};

use super::{HttpSettings, Shared, guard, text};
use crate::askers::Askers;
use crate::identity::{HeaderIdentity, Identity, Person};

/// Requests under way that came through trusted proxies.
pub(super) struct BehindProxies {
    requests: Shares<Client>,
    identity: HeaderIdentity,
}

/// Somebody behind a proxy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Client {
    Asker(Box<str>),
    Person(Box<str>),
    /// With neither a key nor a name: not much is done for them.
    Nobody,
}

/// A place among the requests under way. A handler that goes on after its response keeps it.
pub(super) type Underway = Arc<Place<Client>>;

impl BehindProxies {
    pub(super) fn new(identity: &Identity, settings: &HttpSettings) -> Option<Self> {
        match identity {
            Identity::Local => None,
            Identity::Header(identity) => Some(Self {
                requests: Shares::new(settings.connections, settings.share_of_connections()),
                identity: identity.clone(),
            }),
        }
    }
}

/// Takes a place for a request until it was answered, or refuses it.
pub(super) async fn share(
    State(shared): State<Arc<Shared>>,
    Extension(peer): Extension<SocketAddr>,
    mut request: Request<Body>,
    next: Next,
) -> Response {
    let behind = shared.behind_proxies.as_ref();
    let Some(behind) = behind.filter(|behind| behind.identity.trusts(peer.ip())) else {
        return next.run(request).await;
    };
    let client = behind.client(&shared.askers, peer, request.headers());
    let Ok(place) = behind.requests.take(client) else {
        let words = "Too many requests at once: wait until some of them are answered.\n";
        let mut response = text(StatusCode::SERVICE_UNAVAILABLE, words);
        let second = HeaderValue::from_static("1");
        response.headers_mut().insert(header::RETRY_AFTER, second);
        return response;
    };
    let place: Underway = Arc::new(place);
    request.extensions_mut().insert(place.clone());
    let response = next.run(request).await;
    response.map(|body| {
        Body::new(Counted {
            body,
            _place: place,
        })
    })
}

impl BehindProxies {
    fn client(&self, askers: &Askers, peer: SocketAddr, headers: &HeaderMap) -> Client {
        if let Some(asker) = guard::by_key(askers, headers) {
            return Client::Asker(asker.name().into());
        }
        match self.identity.identify(peer, headers) {
            Ok(Person::Named(name)) => Client::Person(name),
            Ok(Person::Local) | Err(_) => Client::Nobody,
        }
    }
}

/// A body that is under way until it is dropped.
struct Counted {
    body: Body,
    _place: Underway,
}

impl HttpBody for Counted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

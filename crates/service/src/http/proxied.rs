//! Per-client quotas for requests that come through a trusted proxy.
//!
//! A trusted proxy has no connection limit, so one client behind it could use up all connections.
//! Instead, each person and each asker behind it has a quota of requests in flight, equal to the
//! connection quota of an address elsewhere.

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
use entreat_engine::shares::{Permit, Shares};
use hyper::body::{Body as HttpBody, Frame, SizeHint};

use super::{HttpSettings, Shared, guard, text};
use crate::askers::Askers;
use crate::identity::{HeaderIdentity, Identity, Person};

/// Requests in flight that came through trusted proxies.
pub(super) struct ProxiedRequests {
    requests: Shares<Client>,
    identity: HeaderIdentity,
}

/// A client behind a proxy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Client {
    Asker(Box<str>),
    Person(Box<str>),
    /// Has neither a key nor a name; all such clients share one quota.
    Anonymous,
}

/// A permit for a request in flight. A WebSocket holds it beyond its response.
pub(super) type InFlightPermit = Arc<Permit<Client>>;

impl ProxiedRequests {
    pub(super) fn new(identity: &Identity, settings: &HttpSettings) -> Option<Self> {
        match identity {
            Identity::Local | Identity::Host(_) => None,
            #[cfg(feature = "sign-in")]
            Identity::Assertion(_) | Identity::Oidc(_) => None,
            Identity::Header(identity) => Some(Self {
                requests: Shares::new(settings.connections, settings.per_address_limit()),
                identity: identity.clone(),
            }),
        }
    }
}

/// Holds a permit until the response body is dropped, or rejects the request.
pub(super) async fn limit(
    State(shared): State<Arc<Shared>>,
    Extension(peer): Extension<SocketAddr>,
    mut request: Request<Body>,
    next: Next,
) -> Response {
    let proxied = shared.proxied_requests.as_ref();
    let Some(proxied) = proxied.filter(|proxied| proxied.identity.trusts(peer.ip())) else {
        return next.run(request).await;
    };
    let client = proxied.client(&shared.askers, peer, request.headers());
    let Ok(permit) = proxied.requests.take(client) else {
        let message = "Too many concurrent requests: wait until some are complete.\n";
        let mut response = text(StatusCode::SERVICE_UNAVAILABLE, message);
        let second = HeaderValue::from_static("1");
        response.headers_mut().insert(header::RETRY_AFTER, second);
        return response;
    };
    let permit: InFlightPermit = Arc::new(permit);
    request.extensions_mut().insert(permit.clone());
    let response = next.run(request).await;
    response.map(|body| {
        Body::new(InFlightBody {
            body,
            _permit: permit,
        })
    })
}

impl ProxiedRequests {
    fn client(&self, askers: &Askers, peer: SocketAddr, headers: &HeaderMap) -> Client {
        if let Some(caller) = guard::by_key(askers, headers) {
            return Client::Asker(caller.asker.name().into());
        }
        match self.identity.identify(peer, headers) {
            Ok(Person::Named(name)) => Client::Person(name),
            Ok(Person::SignedIn(account)) => Client::Person(account.subject.clone()),
            Ok(Person::Local) | Err(_) => Client::Anonymous,
        }
    }
}

/// A response body that holds the request's permit.
struct InFlightBody {
    body: Body,
    _permit: InFlightPermit,
}

impl HttpBody for InFlightBody {
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

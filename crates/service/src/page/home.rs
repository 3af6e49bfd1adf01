//! The start page: what this service is, and where to go.
//!
//! Everyone may see it, so it tells strangers nothing but that this is Entreat, and never how many
//! questions there are. It leads signed-in people to their inbox. Who has no name needs a link to
//! it, which this page must not make: it would let in whoever finds the address.

use std::net::SocketAddr;
use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;

use super::Site;
use super::frame::{Frame, html};
use super::visit::{Unknown, language};
use crate::identity::{Person, Unidentified};

#[derive(Template)]
#[template(path = "home.html")]
struct HomePage<'a> {
    frame: Frame<'a>,
    inbox: Inbox,
}

/// How the visitor reaches an inbox.
enum Inbox {
    /// By this path.
    Open(String),
    /// By the link to it.
    ByLink,
    /// Nothing is said to strangers.
    Unknown,
}

pub(super) async fn show(
    State(site): State<Arc<Site>>,
    Extension(peer): Extension<SocketAddr>,
    parts: Parts,
) -> Response {
    let (texts, _) = language(&site, &parts.headers);
    let browser = site.browser(&parts.headers);
    let identified = site.identify(peer, &parts, browser.as_ref()).await;
    let inbox = match identified.map(|visitor| visitor.person) {
        _ if site.rejects_everyone => Inbox::Unknown,
        Ok(Person::Named(_) | Person::SignedIn(_)) => Inbox::Open(format!("{}/inbox", site.root)),
        Ok(Person::Local) => Inbox::ByLink,
        // The inbox leads to the sign-in.
        Err(Unknown::Unidentified(Unidentified::NotSignedIn)) => {
            Inbox::Open(format!("{}/inbox", site.root))
        }
        Err(_) => Inbox::Unknown,
    };
    let frame = Frame::new(&site, texts, None);
    html(StatusCode::OK, &HomePage { frame, inbox })
}

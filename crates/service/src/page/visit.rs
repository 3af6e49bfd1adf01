//! Who comes, with what key, and what that opens.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{FromRequestParts, Path, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use entreat_core::{ElicitationId, Messages};
use entreat_engine::{ActError, Elicitation, Snapshot};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::Site;
use super::frame::notice;
use super::guard::may_be_ours;
use super::key::{Browser, Door, Opened};
use super::words::Words;
use crate::identity::Person;

/// Someone who may be here.
pub(super) struct Visit {
    pub(super) site: Arc<Site>,
    pub(super) door: Door,
    pub(super) browser: Browser,
    /// The browser had no cookie yet.
    is_new: bool,
    /// It is a browser that goes from page to page.
    navigates: bool,
    opened: Opened,
    pub(super) person: Person,
    pub(super) words: &'static Words,
    pub(super) messages: Messages,
}

/// How long a browser keeps its cookie, in seconds: 30 days.
const COOKIE_AGE: u32 = 30 * 24 * 3600;

impl Visit {
    /// Lets a request in, or says with a page why not. What is not there and what is somebody
    /// else's look the same. Without a key, those are let in whose names are known.
    #[expect(
        clippy::result_large_err,
        reason = "the error is the page that is served, and served at once"
    )]
    pub(super) fn enter(
        site: &Arc<Site>,
        parts: &Parts,
        door: Door,
        key: Option<&str>,
    ) -> Result<Self, Response> {
        let (words, messages) = language(site, &parts.headers);
        let refuse = |status, says| Err(notice(site, words, status, says, &[]));
        let peer = parts.extensions.get::<SocketAddr>();
        let Some(peer) = peer.copied() else {
            return refuse(StatusCode::FORBIDDEN, words.refused);
        };
        if site.is_for_nobody {
            tracing::info!(
                "nobody is let in: the pages are another machine's, and no proxy names people"
            );
            return refuse(StatusCode::FORBIDDEN, words.refused);
        }
        let identity = &site.settings.identity;
        let identified = identity.identify(peer, &parts.uri, &parts.headers);
        let person = match identified {
            Ok(person) => person,
            Err(error) => {
                tracing::info!(%error, "somebody was not let in");
                return refuse(StatusCode::FORBIDDEN, words.refused);
            }
        };
        let known = site.browser(&parts.headers);
        let opened = match (key, &person) {
            (Some(key), _) => site.keys.open(door, key, known.as_ref()),
            (None, Person::Named(_)) => Some(Opened::Name),
            (None, Person::Local) => return refuse(StatusCode::FORBIDDEN, words.no_inbox),
        };
        let Some(opened) = opened else {
            if site.guesses.check_key(&peer.ip()).is_err() {
                return refuse(StatusCode::TOO_MANY_REQUESTS, words.too_many);
            }
            return Err(site.not_found(words));
        };
        if parts.method == Method::POST && !(known.is_some() && may_be_ours(site, &parts.headers)) {
            return refuse(StatusCode::FORBIDDEN, words.forged);
        }
        let is_new = known.is_none();
        let mode = parts.headers.get("sec-fetch-mode");
        Ok(Self {
            site: site.clone(),
            door,
            browser: known.unwrap_or_else(|| site.random()),
            is_new,
            navigates: mode.is_some_and(|mode| mode == "navigate"),
            opened,
            person,
            words,
            messages,
        })
    }

    /// Where this browser finds what it opened.
    pub(super) fn here(&self) -> String {
        let pass = self.site.keys.pass(self.door, &self.browser);
        let root = &self.site.root;
        match self.door {
            Door::Question(id) => format!("{root}/e/{id}/{pass}"),
            Door::Inbox if self.opened == Opened::Name => format!("{root}/inbox"),
            Door::Inbox => format!("{root}/inbox/{pass}"),
        }
    }

    /// Whether a question is for this person, and has a page.
    pub(super) fn may_see(&self, snapshot: &Snapshot) -> bool {
        let request = &snapshot.record().request;
        request.subject.form().is_some() && self.person.may_answer(request)
    }

    pub(super) fn csrf(&self) -> String {
        self.site.keys.form(self.door, &self.browser)
    }

    /// Whether a form was made for this browser.
    pub(super) fn made(&self, token: Option<&str>) -> bool {
        token.is_some_and(|token| self.site.keys.is_form_of(self.door, &self.browser, token))
    }

    /// The page, or the way to it: a browser is sent on to an address without the token, so that
    /// no history has it. Whoever else looks at the link, such as a program, is shown the page.
    pub(super) fn welcome(&self) -> Option<Response> {
        (self.navigates && self.opened == Opened::Link).then(|| self.send_to(&self.here()))
    }

    pub(super) fn send_to(&self, place: &str) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::SEE_OTHER;
        // Made of our own path and of tokens.
        if let Ok(place) = HeaderValue::from_str(place) {
            response.headers_mut().insert(header::LOCATION, place);
        }
        self.with_cookie(response)
    }

    /// A response that gives the browser its cookie, if it has none.
    pub(super) fn with_cookie(&self, mut response: Response) -> Response {
        if self.is_new {
            let (name, rest) = self.site.cookie();
            let secret = self.browser.secret();
            let cookie = format!(
                "{name}={secret}; Path=/; Max-Age={COOKIE_AGE}; HttpOnly; SameSite=Lax{rest}"
            );
            if let Ok(cookie) = HeaderValue::from_str(&cookie) {
                response.headers_mut().insert(header::SET_COOKIE, cookie);
            }
        }
        response
    }

    pub(super) fn refuse(&self, status: StatusCode, says: super::words::Closing) -> Response {
        notice(&self.site, self.words, status, says, &[])
    }
}

impl FromRequestParts<Arc<Site>> for Visit {
    type Rejection = Response;

    /// Lets somebody into the inbox.
    async fn from_request_parts(parts: &mut Parts, site: &Arc<Site>) -> Result<Self, Response> {
        let key = Path::<String>::from_request_parts(parts, site).await.ok();
        let key = key.as_ref().map(|Path(key)| &**key);
        Self::enter(site, parts, Door::Inbox, key)
    }
}

/// Someone who may see a question, and how it stands.
pub(super) struct Asked {
    pub(super) visit: Visit,
    pub(super) id: ElicitationId,
    pub(super) snapshot: Snapshot,
}

impl FromRequestParts<Arc<Site>> for Asked {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, site: &Arc<Site>) -> Result<Self, Response> {
        let address = Path::<QuestionAddress>::from_request_parts(parts, site).await;
        let Ok(Path(QuestionAddress { id, key })) = address else {
            // As if the key were wrong, which nobody can tell apart: this one always is.
            let visit = Visit::enter(site, parts, Door::Inbox, Some(""))?;
            return Err(site.not_found(visit.words));
        };
        let visit = Visit::enter(site, parts, Door::Question(id), Some(&key))?;
        match site.engine.elicitation(id).status().await {
            Ok(snapshot) if visit.may_see(&snapshot) => Ok(Self {
                visit,
                id,
                snapshot,
            }),
            Ok(_) | Err(ActError::NotFound) => Err(site.not_found(visit.words)),
            Err(error) => Err(visit.broken(&error)),
        }
    }
}

/// What the address of a question says; what follows it is for others to read.
#[derive(Deserialize)]
struct QuestionAddress {
    id: ElicitationId,
    key: String,
}

impl Asked {
    /// The elicitation, for what this browser does to it.
    pub(super) fn elicitation(&self) -> Elicitation {
        let name = self.visit.browser.name();
        self.visit.site.engine.elicitation(self.id).typed_by(&name)
    }

    /// What was typed so far, secrets included; looked up only if something was.
    pub(super) async fn typed(&self) -> Result<Map<String, Value>, ActError> {
        let held = self.snapshot.record().held.as_ref();
        if held.is_none_or(|held| held.draft.is_none()) {
            return Ok(Map::new());
        }
        self.elicitation().drafted().await
    }

    /// Whether what was typed was typed in this browser.
    pub(super) fn is_typist(&self) -> bool {
        self.snapshot.typist() == Some(&*self.visit.browser.name())
    }
}

impl Visit {
    /// What is our own fault: logged, and told as that.
    pub(super) fn broken(&self, error: &ActError) -> Response {
        tracing::error!(%error, "a page could not be served");
        self.refuse(StatusCode::INTERNAL_SERVER_ERROR, self.words.failed)
    }
}

impl Site {
    pub(super) fn not_found(&self, words: &'static Words) -> Response {
        let lines = &words.not_found_lines;
        notice(self, words, StatusCode::NOT_FOUND, words.not_found, lines)
    }

    /// The cookie's name, and what it is kept by. The prefix makes browsers refuse one that
    /// another host or a page without TLS has set.
    fn cookie(&self) -> (&'static str, &'static str) {
        if self.is_secure() {
            ("__Host-entreat", "; Secure")
        } else {
            ("entreat", "")
        }
    }

    fn browser(&self, headers: &HeaderMap) -> Option<Browser> {
        let (name, _) = self.cookie();
        let cookies = headers.get_all(header::COOKIE).iter();
        let mut pairs = cookies
            .filter_map(|cookies| cookies.to_str().ok())
            .flat_map(|cookies| cookies.split(';'))
            .filter_map(|pair| pair.trim().split_once('='));
        let (_, secret) = pairs.find(|(other, _)| *other == name)?;
        Browser::read(secret)
    }
}

/// The words and messages for whoever sent this.
pub(super) fn language(site: &Site, headers: &HeaderMap) -> (&'static Words, Messages) {
    let wanted = headers.get(header::ACCEPT_LANGUAGE);
    let wanted = wanted.and_then(|wanted| wanted.to_str().ok()).unwrap_or("");
    let mut tags: Vec<(&str, u16)> = wanted
        .split(',')
        .take(20)
        .filter_map(|item| {
            let (tag, weight) = item.split_once(';').unwrap_or((item, ""));
            let weight = weight.trim().strip_prefix("q=");
            let weight = weight.map_or(Some(1.0), |weight| weight.parse::<f32>().ok())?;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "between 0 and 1000"
            )]
            let weight = (weight.clamp(0.0, 1.0) * 1000.0) as u16;
            (weight > 0).then_some((tag.trim(), weight))
        })
        .collect();
    tags.sort_by_key(|(_, weight)| std::cmp::Reverse(*weight));
    let messages = site
        .catalogue
        .messages(tags.into_iter().map(|(tag, _)| tag));
    (Words::of(&messages.language()), messages)
}

pub(super) async fn nothing_here(
    State(site): State<Arc<Site>>,
    Extension(peer): Extension<SocketAddr>,
    headers: HeaderMap,
) -> Response {
    let (words, _) = language(&site, &headers);
    if site.guesses.check_key(&peer.ip()).is_err() {
        return notice(
            &site,
            words,
            StatusCode::TOO_MANY_REQUESTS,
            words.too_many,
            &[],
        );
    }
    site.not_found(words)
}

pub(super) async fn not_so(State(site): State<Arc<Site>>, headers: HeaderMap) -> Response {
    let (words, _) = language(&site, &headers);
    notice(
        &site,
        words,
        StatusCode::METHOD_NOT_ALLOWED,
        words.forged,
        &[],
    )
}

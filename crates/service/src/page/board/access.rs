//! Who may see the board: people whose sign-in makes them operators, and whoever enters an
//! operator's key.
//!
//! A key is entered in a form, and never part of an address. It sets a cookie that contains no key:
//! a sealed time, valid for this browser until then, and only as long as the key is an operator's.
//! Everybody else gets one page, whatever the address.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use axum::Extension;
use axum::body::Body;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use entreat_engine::store::{Claim, ClaimKey};
use entreat_engine::{ActError, Operator, StoreError};

use crate::askers::Askers;
use crate::identity::{Account, Person, Unidentified};
use crate::page::Site;
use crate::page::frame::{Frame, html, notice, see_other};
use crate::page::small_form::SmallForm;
use crate::page::texts::{NoticeTexts, Texts};
use crate::page::token::{Browser, Target};
use crate::page::visit::{Unknown, cookie_value, language, set_cookie};

/// How long an operator who entered a key stays: a shift.
const SESSION: Duration = Duration::from_secs(8 * 3600);

/// An operator in front of the board.
pub(in crate::page) struct OperatorVisit {
    pub(super) site: Arc<Site>,
    pub(super) texts: &'static Texts,
    pub(super) operator: Operator,
    /// Whether the operator entered a key, and can leave.
    pub(super) has_key: bool,
    /// The token of the form that signs out, for those who signed in here.
    pub(super) sign_out: Option<String>,
    browser: Browser,
    is_new: bool,
}

/// Who sent a request, and from which browser.
struct Visitor {
    texts: &'static Texts,
    browser: Option<Browser>,
    operator: Option<(Operator, bool)>,
    /// Whether somebody has a name here, but is no operator by it.
    is_known: bool,
    /// Whether somebody signed in here, and can sign out.
    has_session: bool,
}

/// A form that leads to the provider.
struct SignInForm {
    /// How the last attempt went wrong.
    notice: Option<&'static str>,
    csrf: String,
    button: &'static str,
    is_other_account: bool,
}

#[derive(Template)]
#[template(path = "board_key.html")]
struct KeyPage<'a> {
    frame: Frame<'a>,
    is_known: bool,
    /// Whether there are keys to enter.
    takes_keys: bool,
    is_wrong: bool,
    csrf: String,
    sign_in: Option<SignInForm>,
}

impl Visitor {
    /// Fails with a page for those who may not open pages here at all.
    async fn identify(site: &Site, askers: &Askers, parts: &Parts) -> Result<Self, Response> {
        let (texts, _) = language(site, &parts.headers);
        let refused = || notice(site, texts, StatusCode::FORBIDDEN, texts.refused, &[]);
        let peer = parts.extensions.get::<SocketAddr>();
        let peer = *peer
            .filter(|_| !site.rejects_everyone)
            .ok_or_else(refused)?;
        let browser = site.browser(&parts.headers);
        let (person, has_session) = match site.identify(peer, parts, browser.as_ref()).await {
            Ok(visitor) => {
                let has_session = visitor.has_session();
                (Some(visitor.person), has_session)
            }
            Err(Unknown::Unidentified(Unidentified::NotSignedIn)) => (None, false),
            Err(refusal) => return Err(site.refuse(&refusal, parts, browser.as_ref())),
        };
        let by_key = operator_by_session(site, askers, &parts.headers, browser.as_ref());
        let by_key = by_key.await.map_err(|error| {
            tracing::error!(%error, "a session on the board could not be checked");
            let status = StatusCode::INTERNAL_SERVER_ERROR;
            notice(site, texts, status, texts.board.failed, &[])
        })?;
        let operator = match (by_key, &person) {
            (Some(operator), _) => Some((operator, true)),
            (None, Some(Person::SignedIn(account))) if account.is_operator => {
                Some((operator_of(site, account), false))
            }
            (None, _) => None,
        };
        Ok(Self {
            texts,
            browser,
            operator,
            is_known: matches!(person, Some(Person::Named(_) | Person::SignedIn(_))),
            has_session,
        })
    }

    /// The page for everybody who is no operator.
    fn key_page(self, site: &Site, askers: &Askers, uri: &Uri, is_wrong: bool) -> Response {
        let is_new = self.browser.is_none();
        let browser = self.browser.unwrap_or_else(|| site.new_browser());
        let page = KeyPage {
            frame: Frame::new(site, self.texts, None),
            is_known: self.is_known,
            takes_keys: askers.operators().next().is_some(),
            is_wrong,
            csrf: site.keys.csrf_token(Target::Board, &browser, None),
            sign_in: sign_in_form(site, self.texts, &browser, uri, self.is_known),
        };
        let mut response = html(StatusCode::FORBIDDEN, &page);
        #[cfg(feature = "sign-in")]
        if page.sign_in.is_some() {
            crate::page::sign_in::allow_provider(site, &mut response);
        }
        if is_new {
            site.set_cookie(&mut response, &browser);
        }
        response
    }
}

/// A way in for people who sign in here.
fn sign_in_form(
    site: &Site,
    texts: &'static Texts,
    browser: &Browser,
    uri: &Uri,
    is_known: bool,
) -> Option<SignInForm> {
    #[cfg(feature = "sign-in")]
    if site.sign_in.is_some() {
        let words = &texts.sign_in;
        return Some(SignInForm {
            notice: crate::page::sign_in::notice_of(texts, uri),
            csrf: site.keys.csrf_token(Target::Account, browser, None),
            button: if is_known {
                words.other_account
            } else {
                words.button
            },
            is_other_account: is_known,
        });
    }
    let _ = (site, texts, browser, uri, is_known);
    None
}

/// The operator whose session a browser has, unless it has ended.
async fn operator_by_session(
    site: &Site,
    askers: &Askers,
    headers: &HeaderMap,
    browser: Option<&Browser>,
) -> Result<Option<Operator>, StoreError> {
    let (Some(session), Some(browser)) = (site.operator_cookie_of(headers), browser) else {
        return Ok(None);
    };
    let now = site.engine.now();
    // Few, and each costs a hash.
    let mut operators = askers.operators();
    let is_its =
        |(key, _): &(&[u8; 32], _)| site.keys.is_operator_session(session, key, browser, now);
    let Some((_, caller)) = operators.find(is_its) else {
        return Ok(None);
    };
    let ended = site.engine.find_claim(end_of(session)).await?;
    Ok(ended.is_none().then(|| Operator::new(caller.asker.clone())))
}

/// Under which key the store knows that a session has ended. Of its bytes: there may be several ways
/// to write them.
fn end_of(session: &str) -> ClaimKey {
    let mut hasher = blake3::Hasher::new_derive_key("entreat 2026-11 ended board sessions");
    hasher.update(&URL_SAFE_NO_PAD.decode(session).unwrap_or_default());
    let mut key = ClaimKey::default();
    hasher.finalize_xof().fill(&mut key);
    key
}

/// A signed-in operator, within limits of their own.
fn operator_of(site: &Site, account: &Account) -> Operator {
    let id = account.id();
    // No asker has a name with a space.
    let asker = site.engine.asker(&format!("operator {id}"));
    Operator::person(asker, &id, &account.shown_as)
}

impl FromRequestParts<Arc<Site>> for OperatorVisit {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, site: &Arc<Site>) -> Result<Self, Response> {
        let askers = Extension::<Arc<Askers>>::from_request_parts(parts, site).await;
        let askers = askers.map_or_else(|_| Arc::default(), |Extension(askers)| askers);
        let mut visitor = Visitor::identify(site, &askers, parts).await?;
        let Some((operator, has_key)) = visitor.operator.take() else {
            return Err(visitor.key_page(site, &askers, &parts.uri, false));
        };
        let is_new = visitor.browser.is_none();
        let browser = visitor.browser.unwrap_or_else(|| site.new_browser());
        let has_session = visitor.has_session && !has_key;
        let sign_out = || site.keys.csrf_token(Target::Account, &browser, None);
        Ok(Self {
            site: site.clone(),
            texts: visitor.texts,
            operator,
            has_key,
            sign_out: has_session.then(sign_out),
            browser,
            is_new,
        })
    }
}

impl OperatorVisit {
    pub(super) fn csrf(&self) -> String {
        self.site
            .keys
            .csrf_token(Target::Board, &self.browser, None)
    }

    /// Reads a form of the board; the error is the page to show.
    pub(super) async fn read_form(
        &self,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<SmallForm, Response> {
        let form = SmallForm::read_own(&self.site, Target::Board, headers, body).await;
        form.map(|(_, form)| form)
            .ok_or_else(|| self.site.forged(self.texts))
    }

    /// Completes a page.
    pub(super) fn respond(&self, status: StatusCode, page: &impl Template) -> Response {
        let mut response = html(status, page);
        if self.is_new {
            self.site.set_cookie(&mut response, &self.browser);
        }
        response
    }

    pub(super) fn error_page(&self, error: &ActError) -> Response {
        let (status, content) = match error {
            ActError::NotFound => (StatusCode::NOT_FOUND, self.texts.board.gone),
            ActError::RateLimited { .. } => {
                (StatusCode::TOO_MANY_REQUESTS, self.texts.board.too_many)
            }
            error => {
                tracing::error!(%error, "the board could not be served");
                (StatusCode::INTERNAL_SERVER_ERROR, self.texts.board.failed)
            }
        };
        self.notice(status, content)
    }

    pub(super) fn notice(&self, status: StatusCode, content: NoticeTexts) -> Response {
        notice(&self.site, self.texts, status, content, &[])
    }
}

/// `POST /board/key`: lets in whoever knows an operator's key.
pub(super) async fn enter(
    State(site): State<Arc<Site>>,
    Extension(askers): Extension<Arc<Askers>>,
    parts: Parts,
    body: Body,
) -> Response {
    let (visitor, browser, form) = match own_form(&site, &askers, &parts, body).await {
        Ok(own) => own,
        Err(response) => return response,
    };
    let Some((key, caller)) = askers.operator_by_key(form.get("key")) else {
        let peer = parts.extensions.get::<SocketAddr>();
        let now = site.engine.now();
        if peer.is_some_and(|peer| site.guess_limiter.is_exceeded_by(peer.ip(), now)) {
            let texts = visitor.texts.board.too_many;
            let status = StatusCode::TOO_MANY_REQUESTS;
            return notice(&site, visitor.texts, status, texts, &[]);
        }
        tracing::warn!("somebody entered a key on the board that is not an operator's");
        return visitor.key_page(&site, &askers, &parts.uri, true);
    };
    tracing::info!(
        operator = caller.asker.name(),
        "an operator entered the board"
    );
    let until = site.engine.now().after(SESSION);
    let session = site.keys.operator_session(&key, &browser, until);
    site.set_operator_cookie(see_board(&site), &session, SESSION.as_secs())
}

/// `POST /board/leave`: ends the session of an operator who entered a key.
pub(super) async fn leave(
    State(site): State<Arc<Site>>,
    Extension(askers): Extension<Arc<Askers>>,
    parts: Parts,
    body: Body,
) -> Response {
    let (visitor, ..) = match own_form(&site, &askers, &parts, body).await {
        Ok(own) => own,
        Err(response) => return response,
    };
    if visitor.operator.is_some_and(|(_, has_key)| has_key)
        && let Some(session) = site.operator_cookie_of(&parts.headers)
        && let Err(error) = site.end_operator_session(session).await
    {
        tracing::error!(%error, "a session on the board could not be ended");
        let (status, texts) = (StatusCode::INTERNAL_SERVER_ERROR, visitor.texts);
        return notice(&site, texts, status, texts.board.failed, &[]);
    }
    site.set_operator_cookie(see_board(&site), "", 0)
}

/// Reads a form from whoever may open pages here; the error is the page to show.
async fn own_form(
    site: &Site,
    askers: &Askers,
    parts: &Parts,
    body: Body,
) -> Result<(Visitor, Browser, SmallForm), Response> {
    let visitor = Visitor::identify(site, askers, parts).await?;
    let form = SmallForm::read_own(site, Target::Board, &parts.headers, body).await;
    let (browser, form) = form.ok_or_else(|| site.forged(visitor.texts))?;
    Ok((visitor, browser, form))
}

fn see_board(site: &Site) -> Response {
    see_other(&format!("{}/board", site.root))
}

impl Site {
    fn forged(&self, texts: &'static Texts) -> Response {
        notice(self, texts, StatusCode::FORBIDDEN, texts.board.forged, &[])
    }

    fn operator_cookie_of<'h>(&self, headers: &'h HeaderMap) -> Option<&'h str> {
        cookie_value(headers, self.operator_cookie().0)
    }

    /// Ends the session of an operator before its time: a copy of its cookie is worth nothing then.
    async fn end_operator_session(&self, session: &str) -> Result<(), StoreError> {
        let ended = Claim {
            key: end_of(session),
            inputs: [0; 16],
            expires: self.engine.now().after(SESSION),
            holder: None,
            outcome: None,
        };
        self.engine.claim(ended).await?;
        Ok(())
    }

    /// The name and attributes of the cookie with an operator's session.
    fn operator_cookie(&self) -> (&'static str, &'static str) {
        if self.is_secure() {
            ("__Host-entreat-operator", "; Secure")
        } else {
            ("entreat-operator", "")
        }
    }

    fn set_operator_cookie(&self, mut response: Response, session: &str, age: u64) -> Response {
        set_cookie(&mut response, self.operator_cookie(), session, age);
        response
    }
}

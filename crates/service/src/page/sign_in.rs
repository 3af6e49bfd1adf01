//! Signing in and out.
//!
//! Whoever is not signed in gets one page at every address, and its form posts to that address with
//! `?sign-in`: so nothing on the page depends on whether there is anything behind the link. The
//! sign-in itself is up to [`SignIn`].

use std::net::SocketAddr;
use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::Response;
use entreat_engine::StoreError;
use url::form_urlencoded;
use zeroize::Zeroizing;

use super::Site;
use super::closing;
use super::frame::{Frame, html, notice, see_other};
use super::small_form::{SmallForm, read_body};
use super::texts::Texts;
use super::token::{Browser, Target};
use super::visit::{QuestionVisit, cookie_value, language, set_cookie};
use crate::http::json;
use crate::identity::Account;
use crate::identity::oidc::{
    Callback, FreshSignIn, OpenSession, SignIn, SignInError, SignInFailure, SignInRequest,
};

/// What the address of a sign-in ends with.
const START: &str = "sign-in";
/// What an address ends with after a sign-in failed, and after one that may work later.
const FAILED: &str = "sign-in-failed";
const LATER: &str = "sign-in-later";
/// The longest path to return to, in bytes; that of a question is shorter.
const MAX_PATH: usize = 256;

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage<'a> {
    frame: Frame<'a>,
    is_refusal: bool,
    title: &'a str,
    lead: &'a str,
    lines: &'a [&'static str],
    notice: Option<&'static str>,
    signed_in_as: Option<&'a str>,
    button: &'static str,
    /// Whether another account than the current one is asked for.
    is_other_account: bool,
    csrf: String,
}

#[derive(Template)]
#[template(path = "signed_out.html")]
struct SignedOutPage<'a> {
    frame: Frame<'a>,
    /// Where to sign out of the provider, too.
    provider: Option<String>,
}

/// Returns the session of a browser.
pub(super) async fn session_of(
    site: &Site,
    sign_in: &SignIn,
    parts: &Parts,
    browser: Option<&Browser>,
) -> Result<Option<OpenSession>, StoreError> {
    let (name, _) = site.session_cookie();
    let (Some(browser), Some(cookie)) = (browser, cookie_value(&parts.headers, name)) else {
        return Ok(None);
    };
    let changes_something = !parts.method.is_safe();
    sign_in
        .session(&browser.name(), cookie, changes_something)
        .await
}

/// The page for whoever is not signed in: the same for every address.
pub(super) fn page(
    site: &Site,
    texts: &'static Texts,
    uri: &Uri,
    browser: Option<&Browser>,
) -> Response {
    let words = &texts.sign_in;
    let page = SignInPage {
        frame: Frame::new(site, texts, None),
        is_refusal: false,
        title: words.needed.title,
        lead: words.needed.lead,
        lines: &[],
        notice: notice_of(texts, uri),
        signed_in_as: None,
        button: words.button,
        is_other_account: false,
        csrf: String::new(),
    };
    respond(site, StatusCode::FORBIDDEN, page, browser)
}

/// The page for a link that is not this person's, whether it is anybody's or not.
pub(super) fn other_account_page(
    site: &Site,
    texts: &'static Texts,
    account: &Account,
    browser: Option<&Browser>,
) -> Response {
    let page = SignInPage {
        frame: Frame::new(site, texts, None),
        is_refusal: true,
        title: texts.not_found.title,
        lead: texts.not_found.lead,
        lines: &texts.not_found_lines,
        notice: None,
        signed_in_as: Some(&account.shown_as),
        button: texts.sign_in.other_account,
        is_other_account: true,
        csrf: String::new(),
    };
    respond(site, StatusCode::NOT_FOUND, page, browser)
}

/// Whether the person signed in as recently, and in the way, that the question asks for.
pub(super) fn is_recent(question: &QuestionVisit) -> bool {
    let extras = question.snapshot.record().request.extras.as_ref();
    let Some(auth) = extras.and_then(|extras| extras.respondent_auth.as_ref()) else {
        return true;
    };
    let visit = &question.visit;
    let session = visit.session.as_ref();
    let now = visit.site.engine.now();
    session.is_some_and(|open| open.session.sign_in.satisfy(auth, question.id, now))
}

/// `GET …/again`: asks for a fresh sign-in before an answer is sent.
pub(super) async fn again(question: QuestionVisit, uri: Uri) -> Response {
    if question.snapshot.outcome().is_some() {
        return closing::page(&question);
    }
    let visit = &question.visit;
    let (site, texts) = (&*visit.site, visit.texts);
    if is_recent(&question) {
        let fields = question.form().fields().iter();
        let shown = fields.filter(|field| !field.rendering().hidden).count();
        let rest = if shown > 1 { "/review" } else { "" };
        return visit.redirect_to(&format!("{}{rest}", visit.here()));
    }
    if site.sign_in.is_none() {
        return visit.error_page(StatusCode::FORBIDDEN, texts.refused);
    }
    let words = &texts.sign_in;
    let account = visit.session.as_ref().map(|open| &open.session.account);
    let page = SignInPage {
        frame: Frame::new(site, texts, None),
        is_refusal: false,
        title: words.again.title,
        lead: words.again.lead,
        lines: &[],
        notice: notice_of(texts, &uri),
        signed_in_as: account.map(|account| &*account.shown_as),
        button: words.again_button,
        is_other_account: false,
        csrf: String::new(),
    };
    respond(site, StatusCode::OK, page, Some(&visit.browser))
}

/// Completes a page for a browser, which gets a cookie if it has none.
fn respond(
    site: &Site,
    status: StatusCode,
    mut page: SignInPage<'_>,
    browser: Option<&Browser>,
) -> Response {
    let new = browser.is_none().then(|| site.new_browser());
    if let Some(browser) = browser.or(new.as_ref()) {
        page.csrf = site.keys.csrf_token(Target::Account, browser, None);
    }
    let mut response = html(status, &page);
    if let Some(new) = &new {
        site.set_cookie(&mut response, new);
    }
    allow_provider(site, &mut response);
    response
}

/// Lets the form of a page lead to the provider. Browsers apply the policy to every redirect after
/// a form was sent, and where a provider redirects to is not known here: to the provider of
/// somebody's company, for example. So every host is allowed, on pages that contain nothing but our
/// own words.
pub(super) fn allow_provider(site: &Site, response: &mut Response) {
    let origin = site.sign_in.as_ref().map(SignIn::issuer_origin);
    let insecure = origin.filter(|origin| origin.starts_with("http://"));
    let insecure = insecure.unwrap_or_default();
    let policy = format!(
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self' https: \
         {insecure}; base-uri 'none'; frame-ancestors 'none'"
    );
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
}

pub(super) fn notice_of(texts: &'static Texts, uri: &Uri) -> Option<&'static str> {
    match uri.query() {
        Some(FAILED) => Some(texts.sign_in.failed),
        Some(LATER) => Some(texts.sign_in.later),
        _ => None,
    }
}

/// Begins a sign-in if a form was sent to an address with `?sign-in`.
pub(super) async fn intercept(
    State(site): State<Arc<Site>>,
    request: Request,
    next: Next,
) -> Response {
    let is_start = request.method() == Method::POST && request.uri().query() == Some(START);
    match &site.sign_in {
        Some(sign_in) if is_start => start(&site, sign_in, request).await,
        _ => next.run(request).await,
    }
}

async fn start(site: &Arc<Site>, sign_in: &SignIn, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let (texts, _) = language(site, &parts.headers);
    let form = SmallForm::read_own(site, Target::Account, &parts.headers, body).await;
    let Some((browser, form)) = form else {
        return notice(site, texts, StatusCode::FORBIDDEN, texts.forged, &[]);
    };
    let to = return_path(site, parts.uri.path());
    let request = SignInRequest {
        other_account: form.get("account") == "other",
        fresh: fresh_sign_in(site, &parts).await,
        to: to.clone(),
    };
    match sign_in.begin(&browser.name(), request).await {
        Ok(address) => see_other(&address),
        Err(error) => {
            tracing::warn!(%error, "nobody can sign in");
            see_other(&format!("{to}?{LATER}"))
        }
    }
}

/// The path to return to. Others than those of pages lead to the inbox.
fn return_path(site: &Site, path: &str) -> String {
    let is_page = path == "/"
        || ["/e/", "/inbox", "/board"]
            .iter()
            .any(|begin| path.starts_with(begin));
    // Two slashes would name another host.
    let is_plain = path.len() <= MAX_PATH
        && !path.starts_with("//")
        && path
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    let path = if is_page && is_plain { path } else { "/inbox" };
    format!("{}{path}", site.root)
}

/// What the question asks for at whose `…/again` somebody signs in.
async fn fresh_sign_in(site: &Arc<Site>, parts: &Parts) -> Option<FreshSignIn> {
    let mut path = parts.uri.path().split('/');
    let address = (path.next(), path.next(), path.next(), path.next());
    let (Some(""), Some("e"), Some(id), Some(key)) = address else {
        return None;
    };
    if (path.next(), path.next()) != (Some("again"), None) {
        return None;
    }
    let question = QuestionVisit::open(site, parts, id.parse().ok()?, key);
    let question = question.await.ok()?;
    let extras = question.snapshot.record().request.extras.as_ref()?;
    let auth = extras.respondent_auth.as_ref()?;
    Some(FreshSignIn::new(question.id, auth))
}

/// `GET /sign-in/callback`: where the provider sends browsers back to. Every answer is a redirect,
/// so that neither code nor state stays in an address bar or history.
pub(super) async fn callback(State(site): State<Arc<Site>>, parts: Parts) -> Response {
    let Some(sign_in) = &site.sign_in else {
        return see_other(&format!("{}/inbox", site.root));
    };
    let browser = site.browser(&parts.headers);
    let finished = match (&browser, read_callback(&parts.uri)) {
        (Some(browser), Some(callback)) => sign_in.finish(&browser.name(), callback).await,
        (None, _) | (_, None) => Err(SignInFailure {
            reason: SignInError::Malformed,
            to: None,
        }),
    };
    let failure = match finished {
        Ok(signed_in) => {
            let mut response = see_other(&signed_in.to);
            let age = sign_in.session_length().as_secs();
            site.set_session_cookie(&mut response, &signed_in.cookie, age);
            return response;
        }
        Err(failure) => failure,
    };
    let SignInFailure { reason, to } = failure;
    let to = to.unwrap_or_else(|| format!("{}/inbox", site.root));
    if matches!(reason, SignInError::Used) {
        // A page that was loaded again: whoever is signed in goes on.
        let session = session_of(&site, sign_in, &parts, browser.as_ref()).await;
        if session.is_ok_and(|session| session.is_some()) {
            return see_other(&to);
        }
    }
    let is_temporary = reason.is_temporary();
    if is_temporary {
        tracing::warn!(%reason, "a sign-in failed");
    } else {
        tracing::info!(%reason, "a sign-in failed");
    }
    let outcome = if is_temporary { LATER } else { FAILED };
    see_other(&format!("{to}?{outcome}"))
}

/// Reads the parameters of a callback; `None` if one of them is there twice.
fn read_callback(uri: &Uri) -> Option<Callback> {
    let mut callback = Callback::default();
    let query = uri.query().unwrap_or_default();
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let value = value.into_owned();
        let is_repeated = match &*name {
            "code" => callback.code.replace(Zeroizing::new(value)).is_some(),
            "state" => callback.state.replace(value).is_some(),
            "iss" => callback.iss.replace(value).is_some(),
            "error" => callback.error.replace(value).is_some(),
            _ => false,
        };
        if is_repeated {
            return None;
        }
    }
    Some(callback)
}

/// `POST /sign-out`: ends the session here, then leads to the provider's.
pub(super) async fn sign_out(State(site): State<Arc<Site>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let (texts, _) = language(&site, &parts.headers);
    let form = SmallForm::read_own(&site, Target::Account, &parts.headers, body).await;
    let Some((browser, _)) = form else {
        return notice(&site, texts, StatusCode::FORBIDDEN, texts.forged, &[]);
    };
    let mut provider = None;
    if let Some(sign_in) = &site.sign_in {
        let ended = async {
            match session_of(&site, sign_in, &parts, Some(&browser)).await? {
                Some(session) => sign_in.end(&session).await,
                None => Ok(None),
            }
        };
        match ended.await {
            Ok(address) => provider = address,
            Err(error) => {
                tracing::error!(%error, "a session could not be ended");
                let status = StatusCode::INTERNAL_SERVER_ERROR;
                return notice(&site, texts, status, texts.sign_in.not_signed_out, &[]);
            }
        }
    }
    let mut response = signed_out_page(&site, texts, provider);
    site.set_session_cookie(&mut response, "", 0);
    response
}

/// `GET /signed-out`: where the provider sends browsers back to.
pub(super) async fn signed_out(State(site): State<Arc<Site>>, headers: HeaderMap) -> Response {
    let (texts, _) = language(&site, &headers);
    signed_out_page(&site, texts, None)
}

fn signed_out_page(site: &Site, texts: &'static Texts, provider: Option<String>) -> Response {
    let page = SignedOutPage {
        frame: Frame::new(site, texts, None),
        provider,
    };
    html(StatusCode::OK, &page)
}

/// `POST /sign-in/back-channel-logout`: the provider ends sessions (OpenID Connect Back-Channel
/// Logout 1.0).
pub(super) async fn back_channel_logout(
    State(site): State<Arc<Site>>,
    Extension(peer): Extension<SocketAddr>,
    body: Body,
) -> Response {
    let body = read_body(&site, body).await.unwrap_or_default();
    let refuse = |status, error: &str| {
        let error = serde_json::json!({ "error": error });
        json(status, error.to_string())
    };
    let mut tokens = form_urlencoded::parse(&body).filter(|(name, _)| name == "logout_token");
    let (Some(sign_in), Some((_, token)), None) = (&site.sign_in, tokens.next(), tokens.next())
    else {
        return refuse(StatusCode::BAD_REQUEST, "invalid_request");
    };
    match sign_in.end_by_token(&token).await {
        Ok(()) => json(StatusCode::OK, Body::empty()),
        Err(error) if error.is_temporary() => {
            tracing::warn!(%error, "a logout was not carried out");
            refuse(StatusCode::SERVICE_UNAVAILABLE, "temporarily_unavailable")
        }
        Err(error) => {
            if site
                .guess_limiter
                .is_exceeded_by(peer.ip(), site.engine.now())
            {
                return refuse(StatusCode::TOO_MANY_REQUESTS, "invalid_request");
            }
            tracing::warn!(%error, "a logout was refused");
            refuse(StatusCode::BAD_REQUEST, "invalid_request")
        }
    }
}

impl Site {
    /// The name and attributes of the session's cookie.
    fn session_cookie(&self) -> (&'static str, &'static str) {
        if self.is_secure() {
            ("__Host-entreat-session", "; Secure")
        } else {
            ("entreat-session", "")
        }
    }

    fn set_session_cookie(&self, response: &mut Response, value: &str, age: u64) {
        set_cookie(response, self.session_cookie(), value, age);
    }
}

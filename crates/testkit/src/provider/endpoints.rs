//! The endpoints of a provider.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Query, Request, State as Shares};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Form, Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use futures_util::{StreamExt as _, stream};
use ring::digest;
use serde_json::{Value, json};

use super::lie::{ERROR_TEXT, Lie};
use super::{Authorization, CLIENT_SECRET, LIFETIME, Session, Shared, State, seconds};

type Parameters = HashMap<String, String>;

pub(super) fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/.well-known/openid-configuration", get(metadata))
        .route("/.well-known/oauth-authorization-server", get(metadata))
        .route("/keys", get(keys))
        .route("/same-keys", get(keys))
        .route("/authorize", get(authorize))
        .route("/token", post(token))
        .route("/register", post(register))
        .route("/introspect", post(introspect))
        .route("/logout", get(logout).post(logout))
        .layer(from_fn_with_state(shared.clone(), or_down))
        .with_state(shared)
}

async fn or_down(Shares(shared): Shares<Arc<Shared>>, request: Request, next: Next) -> Response {
    if shared.state.lock().lie == Some(Lie::Down) {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    next.run(request).await
}

async fn metadata(Shares(shared): Shares<Arc<Shared>>) -> Json<Value> {
    let url = shared.url();
    let mut state = shared.state.lock();
    state.requests.metadata += 1;
    let issuer = match state.lie {
        Some(Lie::OtherIssuerInMetadata) => "https://mallory.example",
        _ => &url,
    };
    let mut document = json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{url}/authorize"),
        "token_endpoint": format!("{url}/token"),
        "jwks_uri": format!("{url}/keys"),
        "introspection_endpoint": format!("{url}/introspect"),
        "end_session_endpoint": format!("{url}/logout"),
        "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": [state.key.algorithm()],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported":
            ["client_secret_basic", "client_secret_post", "none"],
        "introspection_endpoint_auth_methods_supported": ["client_secret_basic"],
        "authorization_response_iss_parameter_supported": true,
        "backchannel_logout_supported": true,
        "backchannel_logout_session_supported": true,
        "registration_endpoint": format!("{url}/register"),
    });
    let members = document.as_object_mut().expect("it is an object");
    match state.lie {
        Some(Lie::NoPkce) => drop(members.remove("code_challenge_methods_supported")),
        Some(Lie::NoRegistration) => drop(members.remove("registration_endpoint")),
        Some(Lie::PlainTokenEndpoint) => {
            members.insert(
                "token_endpoint".into(),
                json!("http://mallory.example/token"),
            );
        }
        _ => {}
    }
    Json(document)
}

async fn register(
    Shares(shared): Shares<Arc<Shared>>,
    Json(asked): Json<Value>,
) -> (StatusCode, Json<Value>) {
    let mut state = shared.state.lock();
    state.requests.registrations += 1;
    let mut client = asked;
    client["client_id"] = json!(format!("registered-{}", state.requests.registrations));
    (StatusCode::CREATED, Json(client))
}

async fn keys(Shares(shared): Shares<Arc<Shared>>, request: Request) -> Response {
    let mut state = shared.state.lock();
    state.requests.keys += 1;
    let mut keys = vec![state.key.published()];
    match state.lie {
        Some(Lie::RedirectedKeySet) if request.uri().path() == "/keys" => {
            let target = format!("{}/same-keys", shared.url());
            return (StatusCode::FOUND, [(LOCATION, target)]).into_response();
        }
        Some(Lie::HugeKeySet) => {
            let piece = Bytes::from(vec![b' '; 1 << 20]);
            let pieces = stream::repeat(piece).take(50);
            // The right keys come last: only a limit keeps them from being read.
            let keys = Bytes::from(json!({ "keys": keys }).to_string());
            let pieces = pieces.chain(stream::iter([keys])).map(Ok::<_, Infallible>);
            return json_stream(Body::from_stream(pieces));
        }
        Some(Lie::SlowKeySet) => {
            let start = stream::iter([Ok::<_, Infallible>(Bytes::from_static(b"{"))]);
            return json_stream(Body::from_stream(start.chain(stream::pending())));
        }
        Some(Lie::EmptyKeySet) => keys.clear(),
        Some(Lie::FleetingKeys) => {
            state.rotate();
            keys = vec![state.key.published()];
            state.rotate();
        }
        _ => {}
    }
    Json(json!({ "keys": keys })).into_response()
}

fn json_stream(body: Body) -> Response {
    ([(CONTENT_TYPE, "application/json")], body).into_response()
}

/// Redirects at once: with a code, or with an error.
async fn authorize(
    Shares(shared): Shares<Arc<Shared>>,
    Query(asked): Query<Parameters>,
) -> Response {
    let text = |name: &str| asked.get(name).cloned();
    let (Some(client_id), Some(redirect_uri)) = (text("client_id"), text("redirect_uri")) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let mut state = shared.state.lock();
    state.requests.authorizations += 1;
    let mut answer = Vec::new();
    let is_error = matches!(
        state.lie,
        Some(Lie::ErrorInRedirect | Lie::ErrorFromOtherIssuer)
    );
    match state.person.clone() {
        _ if is_error => {
            answer.push(("error", "access_denied".to_owned()));
            answer.push(("error_description", ERROR_TEXT.to_owned()));
        }
        None => answer.push(("error", "login_required".to_owned())),
        Some(session) => {
            let session = fresh(session, &asked, &shared);
            state.person = Some(session.clone());
            let authorization = Authorization {
                client_id,
                redirect_uri: redirect_uri.clone(),
                challenge: text("code_challenge"),
                nonce: text("nonce"),
                acr: text("acr_values"),
                resource: text("resource"),
                scope: text("scope"),
                session,
            };
            answer.push(("code", state.keep("code", authorization)));
        }
    }
    if let Some(echo) = text("state") {
        answer.push(("state", echo));
    }
    match state.lie {
        Some(Lie::NoIssuerInRedirect) => {}
        Some(Lie::OtherIssuerInRedirect | Lie::ErrorFromOtherIssuer) => {
            answer.push(("iss", "https://mallory.example".to_owned()));
        }
        _ => answer.push(("iss", shared.url())),
    }
    redirect(&redirect_uri, &answer)
}

/// Signs a person in anew if that was asked for.
fn fresh(mut session: Session, asked: &Parameters, shared: &Shared) -> Session {
    let now = shared.clock.wall();
    let is_old = asked
        .get("max_age")
        .and_then(|age| age.parse::<u64>().ok())
        .is_some_and(|age| now.since(session.since).as_secs() > age);
    if is_old || asked.get("prompt").is_some_and(|it| it == "login") {
        session.since = now;
    }
    session
}

fn redirect(target: &str, parameters: &[(&str, String)]) -> Response {
    let mut url = target.to_owned();
    for (name, value) in parameters {
        url.push(if url.contains('?') { '&' } else { '?' });
        url.push_str(name);
        url.push('=');
        for byte in value.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                    url.push(char::from(byte));
                }
                _ => {
                    // Writing to a string cannot fail.
                    let _ = write!(url, "%{byte:02X}");
                }
            }
        }
    }
    (StatusCode::FOUND, [(LOCATION, url)]).into_response()
}

async fn token(
    Shares(shared): Shares<Arc<Shared>>,
    headers: HeaderMap,
    Form(asked): Form<Parameters>,
) -> Response {
    let mut state = shared.state.lock();
    state.requests.tokens += 1;
    if state.lie == Some(Lie::ErrorAtTokenEndpoint) {
        return refused("server_error");
    }
    let Some(client_id) = client(&headers, &asked) else {
        return (
            StatusCode::UNAUTHORIZED,
            Json(json!({"error": "invalid_client"})),
        )
            .into_response();
    };
    let text = |name: &str| asked.get(name).map_or("", String::as_str);
    let code = match text("grant_type") {
        "authorization_code" => text("code"),
        "refresh_token" => text("refresh_token"),
        _ => return refused("unsupported_grant_type"),
    };
    // Either is good once.
    let Some(authorization) = state.codes.remove(code) else {
        return refused("invalid_grant");
    };
    let proves = |challenge: &String| {
        let hash = digest::digest(&digest::SHA256, text("code_verifier").as_bytes());
        URL_SAFE_NO_PAD.encode(hash) == *challenge
    };
    let is_code = text("grant_type") == "authorization_code";
    let is_its_own = authorization.client_id == client_id
        && (!is_code
            || authorization.redirect_uri == text("redirect_uri")
                && authorization.challenge.as_ref().is_none_or(proves));
    if !is_its_own {
        return refused("invalid_grant");
    }
    let response = state.tokens(&shared, authorization);
    Json(response).into_response()
}

fn refused(error: &str) -> Response {
    let body = json!({ "error": error, "error_description": ERROR_TEXT });
    (StatusCode::BAD_REQUEST, Json(body)).into_response()
}

/// Returns the id of the client that sent a request, unless it has a wrong secret.
fn client(headers: &HeaderMap, asked: &Parameters) -> Option<String> {
    if let Some((id, secret)) = basic(headers) {
        return (secret == CLIENT_SECRET).then_some(id);
    }
    let secret = asked.get("client_secret");
    let is_right = secret.is_none_or(|secret| secret == CLIENT_SECRET);
    asked.get("client_id").filter(|_| is_right).cloned()
}

/// Returns user and password, each encoded as in a form.
fn basic(headers: &HeaderMap) -> Option<(String, String)> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let decoded = STANDARD.decode(value.strip_prefix("Basic ")?).ok()?;
    let text = String::from_utf8(decoded).ok()?;
    let (id, secret) = text.split_once(':')?;
    Some((decoded_form(id)?, decoded_form(secret)?))
}

fn decoded_form(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                let digits = std::str::from_utf8(&digits).ok()?.to_owned();
                bytes.push(u8::from_str_radix(&digits, 16).ok()?);
            }
            _ => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).ok()
}

impl State {
    /// Keeps an authorization under a code of its own.
    fn keep(&mut self, kind: &str, authorization: Authorization) -> String {
        self.made_codes += 1;
        let code = format!("{kind}-{}", self.made_codes);
        self.codes.insert(code.clone(), authorization);
        code
    }

    /// The response to an exchange.
    fn tokens(&mut self, shared: &Shared, authorization: Authorization) -> Value {
        let Authorization {
            client_id,
            nonce,
            acr,
            resource,
            scope,
            session,
            ..
        } = authorization.clone();
        let mut claims = shared.claims(&session.subject, &client_id);
        for (name, value) in session.claims {
            claims[name] = value;
        }
        claims["sid"] = json!(session.id);
        claims["auth_time"] = json!(seconds(session.since));
        let mut access = shared.claims(&session.subject, &resource.unwrap_or(shared.url()));
        access["client_id"] = json!(client_id);
        let scope = scope.filter(|_| self.lie != Some(Lie::FewerScopes));
        access["scope"] = json!(scope.unwrap_or_else(|| "mcp".to_owned()));
        self.made_codes += 1;
        // So that no two are the same.
        access["jti"] = json!(format!("token-{}", self.made_codes));
        let access = self.sign(&json!({"typ": "at+jwt"}), &access);
        let optional = [("nonce", nonce), ("acr", acr)];
        for (name, value) in optional {
            if let Some(value) = value {
                claims[name] = json!(value);
            }
        }
        let id_token = match self.lie {
            Some(Lie::IdToken(forgery)) => self.forge(forgery, &claims, shared.clock.wall()),
            Some(Lie::AccessTokenForIdToken) => access.clone(),
            lie => {
                match lie {
                    Some(Lie::OtherNonce) => claims["nonce"] = json!("another sign-in's"),
                    Some(Lie::NoNonce) => {
                        claims.as_object_mut().map(|it| it.remove("nonce"));
                    }
                    Some(Lie::ForeignParty) => {
                        claims["aud"] = json!([client_id, "mallory"]);
                        claims["azp"] = json!("mallory");
                    }
                    _ => {}
                }
                self.sign(&json!({"typ": "JWT"}), &claims)
            }
        };
        json!({
            "access_token": access,
            "id_token": id_token,
            "refresh_token": self.keep("refresh", authorization),
            "token_type": "Bearer",
            "expires_in": LIFETIME.as_secs(),
        })
    }
}

async fn introspect(
    Shares(shared): Shares<Arc<Shared>>,
    headers: HeaderMap,
    Form(asked): Form<Parameters>,
) -> Response {
    let mut state = shared.state.lock();
    state.requests.introspections += 1;
    if basic(&headers).is_none_or(|(_, secret)| secret != CLIENT_SECRET) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let known = asked.get("token").and_then(|token| state.opaque.get(token));
    let unknown = json!({"active": false});
    Json(known.cloned().unwrap_or(unknown)).into_response()
}

async fn logout(Shares(shared): Shares<Arc<Shared>>, Query(asked): Query<Parameters>) -> Response {
    let mut state = shared.state.lock();
    state.requests.logouts += 1;
    state.person = None;
    let Some(target) = asked.get("post_logout_redirect_uri") else {
        return "You are signed out.\n".into_response();
    };
    let echo = asked.get("state").map(|echo| ("state", echo.clone()));
    redirect(target, echo.as_slice())
}

//! An MCP server that wants tokens of a provider.

use std::collections::{BTreeSet, HashSet};
use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{Request, State as Shares};
use axum::http::header::{AUTHORIZATION, LOCATION, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::{Json, Router, body};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

const PATH: &str = "/mcp";
const METADATA: &str = "/.well-known/oauth-protected-resource/mcp";
/// The maximum length of a request, in bytes.
const MAX_BODY: usize = 1 << 20;

/// An MCP server of 2025-11-25 at `/mcp` that wants a token, until it is dropped.
///
/// It has the tool `whoami`, which says for whom the token is. It reads tokens without checking
/// who signed them, and writes down which it got.
pub struct TokenServer {
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

struct Shared {
    address: SocketAddr,
    state: Mutex<State>,
}

struct State {
    issuer: String,
    resource: String,
    required: BTreeSet<String>,
    has_metadata: bool,
    names_metadata: bool,
    refused: HashSet<String>,
    redirects_to: Option<String>,
    tokens: Vec<Option<String>>,
}

impl TokenServer {
    /// Starts a server that wants tokens of this issuer.
    ///
    /// # Panics
    ///
    /// If it cannot listen on this machine.
    pub async fn start(issuer: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("a port is free");
        let address = listener.local_addr().expect("it listens");
        let shared = Arc::new(Shared {
            address,
            state: Mutex::new(State {
                issuer: issuer.to_owned(),
                resource: format!("http://{address}{PATH}"),
                required: BTreeSet::from(["mcp".to_owned()]),
                has_metadata: true,
                names_metadata: true,
                refused: HashSet::new(),
                redirects_to: None,
                tokens: Vec::new(),
            }),
        });
        let router = Router::new().fallback(serve).with_state(shared.clone());
        let server = tokio::spawn(async move {
            // It ends with the test.
            let _ = axum::serve(listener, router).await;
        });
        Self { shared, server }
    }

    /// Returns its URL.
    pub fn url(&self) -> String {
        format!("http://{}{PATH}", self.shared.address)
    }

    /// Names another issuer from now on.
    pub fn set_issuer(&self, issuer: &str) {
        issuer.clone_into(&mut self.shared.state.lock().issuer);
    }

    /// Says that it is another resource.
    pub fn set_resource(&self, resource: &str) {
        resource.clone_into(&mut self.shared.state.lock().resource);
    }

    /// Wants these scopes, separated by spaces.
    pub fn require(&self, scopes: &str) {
        let scopes = scopes.split(' ').map(str::to_owned).collect();
        self.shared.state.lock().required = scopes;
    }

    /// Sets whether challenges name the metadata, and whether there are any.
    pub fn publish(&self, names_metadata: bool, has_metadata: bool) {
        let mut state = self.shared.state.lock();
        state.names_metadata = names_metadata;
        state.has_metadata = has_metadata;
    }

    /// Takes a token for invalid.
    pub fn refuse(&self, token: &str) {
        self.shared.state.lock().refused.insert(token.to_owned());
    }

    /// Redirects requests with a good token to another address.
    pub fn redirect_to(&self, url: &str) {
        self.shared.state.lock().redirects_to = Some(url.to_owned());
    }

    /// Returns the tokens of all requests to the server itself; `None` for those without.
    pub fn tokens(&self) -> Vec<Option<String>> {
        self.shared.state.lock().tokens.clone()
    }
}

impl Drop for TokenServer {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl std::fmt::Debug for TokenServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenServer")
            .field("address", &self.shared.address)
            .finish_non_exhaustive()
    }
}

async fn serve(Shares(shared): Shares<Arc<Shared>>, request: Request) -> Response {
    match request.uri().path() {
        METADATA => {
            let state = shared.state.lock();
            if !state.has_metadata {
                return StatusCode::NOT_FOUND.into_response();
            }
            Json(json!({
                "resource": state.resource,
                "authorization_servers": [state.issuer],
                "scopes_supported": ["mcp"],
            }))
            .into_response()
        }
        PATH => {
            let (parts, body) = request.into_parts();
            let subject = match admit(&shared, &parts.headers) {
                Ok(subject) => subject,
                Err(refusal) => return *refusal,
            };
            if parts.method != Method::POST {
                return StatusCode::METHOD_NOT_ALLOWED.into_response();
            }
            let body = body::to_bytes(body, MAX_BODY).await.unwrap_or_default();
            answer(&serde_json::from_slice(&body).unwrap_or_default(), &subject)
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

/// Returns the subject of a request's token, or what to respond.
fn admit(shared: &Shared, headers: &HeaderMap) -> Result<String, Box<Response>> {
    let header = headers.get(AUTHORIZATION).and_then(|it| it.to_str().ok());
    let token = header.and_then(|it| it.strip_prefix("Bearer "));
    let mut state = shared.state.lock();
    state.tokens.push(token.map(str::to_owned));
    let metadata = format!("http://{}{METADATA}", shared.address);
    let challenge = |status: StatusCode, error: &str| {
        let mut parts = Vec::new();
        if state.names_metadata {
            parts.push(format!("resource_metadata=\"{metadata}\""));
        }
        if !error.is_empty() {
            parts.push(format!("error=\"{error}\""));
        }
        let scopes: Vec<_> = state.required.iter().map(String::as_str).collect();
        if status == StatusCode::FORBIDDEN {
            parts.push(format!("scope=\"{}\"", scopes.join(" ")));
        }
        let value = format!("Bearer {}", parts.join(", "));
        Box::new((status, [(WWW_AUTHENTICATE, value)]).into_response())
    };
    let Some(token) = token else {
        return Err(challenge(StatusCode::UNAUTHORIZED, ""));
    };
    let invalid = || challenge(StatusCode::UNAUTHORIZED, "invalid_token");
    let claims = claims(token).filter(|_| !state.refused.contains(token));
    let claims = claims.ok_or_else(invalid)?;
    let names = |name: &str| claims[name].as_str().unwrap_or_default();
    if names("aud") != state.resource || names("iss") != state.issuer {
        return Err(invalid());
    }
    let has = |scope: &String| names("scope").split(' ').any(|it| it == scope);
    if !state.required.iter().all(has) {
        return Err(challenge(StatusCode::FORBIDDEN, "insufficient_scope"));
    }
    if let Some(url) = &state.redirects_to {
        let headers = [(LOCATION, url.clone())];
        let redirect = (StatusCode::TEMPORARY_REDIRECT, headers).into_response();
        return Err(Box::new(redirect));
    }
    Ok(names("sub").to_owned())
}

fn claims(token: &str) -> Option<Value> {
    let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    serde_json::from_slice(&claims).ok()
}

fn answer(message: &Value, subject: &str) -> Response {
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "token-server", "version": "1"},
        }),
        "tools/list" => {
            let schema = json!({"type": "object", "properties": {}});
            json!({"tools": [{"name": "whoami", "inputSchema": schema}]})
        }
        "tools/call" => json!({"content": [{"type": "text", "text": subject}]}),
        _ if message.get("id").is_none() => return StatusCode::ACCEPTED.into_response(),
        _ => {
            let error = json!({"code": -32601, "message": "unknown method"});
            let body = json!({"jsonrpc": "2.0", "id": message["id"], "error": error});
            return Json(body).into_response();
        }
    };
    Json(json!({"jsonrpc": "2.0", "id": message["id"], "result": result})).into_response()
}

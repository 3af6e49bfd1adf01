//! A gateway over HTTP, with clients of several principals.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use entreat_gateway::Person;
use entreat_gateway::front::{Front, FrontSettings, Route};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tower::ServiceExt as _;

use super::L11;
use crate::front::{Reply, scripted_routes};
use crate::world::{Peer, World, settle};

const M: &str = "2026-07-28";

/// A gateway with routes to scripted servers.
pub(super) struct Web {
    pub(super) router: Router,
    /// The servers that were connected to, in their order.
    servers: Arc<Mutex<Vec<Peer>>>,
}

/// Who sends a request, and where.
#[derive(Clone)]
pub(super) struct Caller {
    pub(super) who: &'static str,
    pub(super) path: &'static str,
    /// The session, in 2025.
    pub(super) session: Option<String>,
}

impl Web {
    /// Routes `one` and `two`, on a gateway.
    pub(super) fn new(world: &World) -> Self {
        let servers: Arc<Mutex<Vec<Peer>>> = Arc::default();
        let routes = scripted_routes(&servers, 4);
        Self::of(world, routes, servers)
    }

    /// A route whose server cannot be started.
    pub(super) fn down(world: &World) -> Self {
        let route = Route {
            name: "one".to_owned(),
            connect: Arc::new(|| Err(std::io::Error::other("no such program"))),
            per_principal: 4,
        };
        Self::of(world, vec![route], Arc::default())
    }

    fn of(world: &World, routes: Vec<Route>, servers: Arc<Mutex<Vec<Peer>>>) -> Self {
        let front = Front::new(world.gateway.clone(), routes, FrontSettings::default());
        Self {
            router: front.router(),
            servers,
        }
    }

    /// The server that was connected to last.
    pub(super) async fn server(&self) -> Peer {
        settle().await;
        self.servers.lock().pop().expect("a server")
    }

    pub(super) fn has_new_server(&self) -> bool {
        !self.servers.lock().is_empty()
    }

    /// Sends a message without waiting for the response.
    pub(super) fn post(&self, caller: &Caller, message: &Value) -> JoinHandle<Reply> {
        let mut request = Request::post(caller.path)
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json");
        if let Some(session) = &caller.session {
            request = request
                .header("mcp-session-id", session)
                .header("mcp-protocol-version", L11);
        }
        let params = &message["params"];
        if params["_meta"]["io.modelcontextprotocol/protocolVersion"].is_string() {
            request = request
                .header("mcp-protocol-version", M)
                .header("mcp-method", message["method"].as_str().unwrap());
            if let Some(name) = params["name"].as_str() {
                request = request.header("mcp-name", name);
            }
        }
        let mut request = request.body(Body::from(message.to_string())).unwrap();
        request.extensions_mut().insert(Person {
            principal: caller.who.to_owned(),
            respondent: None,
            is_here: true,
        });
        let router = self.router.clone();
        tokio::spawn(async move { Reply::of(router.oneshot(request).await.unwrap()) })
    }

    /// Calls a method of 2026-07-28.
    pub(super) fn request(
        &self,
        caller: &Caller,
        method: &str,
        params: &Value,
    ) -> JoinHandle<Reply> {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.post(caller, &message)
    }

    /// Begins a session of 2025; returns it with its server.
    pub(super) async fn begin(&self, who: &'static str, capabilities: Value) -> (Caller, Peer) {
        let mut caller = Caller::new(who, "/mcp/one");
        let params = json!({"protocolVersion": L11, "capabilities": capabilities,
            "clientInfo": {"name": "client", "version": "1"}});
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let waiting = self.post(&caller, &hello);
        let mut server = self.server().await;
        let told = server.next().await;
        let result = json!({"protocolVersion": L11, "capabilities": {"tools": {}},
            "serverInfo": {"name": "files", "version": "1"}});
        server.reply(&told, result).await;
        caller.session = waiting.await.unwrap().session;
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        self.post(&caller, &initialized).await.unwrap();
        server.next().await;
        (caller, server)
    }
}

impl Caller {
    pub(super) fn new(who: &'static str, path: &'static str) -> Self {
        Self {
            who,
            path,
            session: None,
        }
    }
}

//! A client in front of two scripted servers: `old` speaks 2025-11-25, `new` speaks 2026-07-28.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use entreat_gateway::front::Route;
use entreat_gateway::side::pipe;
use entreat_gateway::{GatewaySettings, Policy, Upstream};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{DuplexStream, split};

use crate::world::{Peer, Ways, World, modern, settle};

pub(super) const L11: &str = "2025-11-25";

/// The connections that were made to a server, and whether it refuses more.
#[derive(Clone, Default)]
pub(super) struct Connections(Arc<Mutex<(Vec<Peer>, bool)>>);

impl Connections {
    pub(super) fn route(&self, name: &str) -> Route {
        let (connections, server) = (self.clone(), name.to_owned());
        Route {
            name: name.to_owned(),
            connect: Arc::new(move || {
                let mut connections = connections.0.lock();
                if connections.1 {
                    return Err(io::Error::other("it is down"));
                }
                let (theirs, ours) = tokio::io::duplex(1 << 20);
                let (reader, writer) = split(ours);
                let (sender, receiver) = pipe::connect(reader, writer);
                connections.0.push(Peer::new(theirs));
                Ok(Upstream {
                    era: entreat_gateway::UpstreamEra::Auto,
                    is_named: true,
                    sender,
                    receiver,
                    name: server.clone(),
                    url: None,
                    policy: Policy::default(),
                })
            }),
            per_principal: 3,
        }
    }

    /// The newest connection.
    pub(super) async fn newest(&self) -> Peer {
        settle().await;
        self.0.lock().0.pop().expect("a connection")
    }

    pub(super) fn refuse(&self, refuses: bool) {
        self.0.lock().1 = refuses;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().0.is_empty()
    }
}

pub(super) struct Several {
    pub(super) world: World,
    pub(super) client: Peer,
    pub(super) connections: HashMap<&'static str, Connections>,
    pub(super) old: Peer,
    pub(super) new: Peer,
}

/// What both servers can do.
pub(super) fn capabilities() -> Value {
    json!({"tools": {"listChanged": true}, "prompts": {}, "completions": {}, "logging": {},
        "resources": {"subscribe": true}})
}

pub(super) fn discovered() -> Value {
    let mut found = crate::world::discovered();
    found["capabilities"] = capabilities();
    found["instructions"] = json!("Be new.");
    found
}

pub(super) fn initialized() -> Value {
    json!({"protocolVersion": L11, "capabilities": capabilities(),
        "serverInfo": {"name": "files", "version": "1"}, "instructions": "Be old."})
}

/// A connection that nobody uses.
fn nobody() -> Peer {
    let (stream, _): (DuplexStream, _) = tokio::io::duplex(1);
    Peer::new(stream)
}

/// Makes the handshake with the server of 2025. Returns what it was told.
pub(super) async fn greet_old(old: &mut Peer, is_modern_client: bool) -> Value {
    if is_modern_client {
        refuse_next(old, "server/discover").await;
    }
    let told = old.next().await;
    assert_eq!(told["method"], "initialize", "{told}");
    old.reply(&told, initialized()).await;
    if is_modern_client {
        assert_eq!(old.next().await["method"], "notifications/initialized");
    }
    told["params"].clone()
}

/// Makes the handshake with the server of 2026-07-28.
pub(super) async fn greet_new(new: &mut Peer, is_modern_client: bool) {
    if !is_modern_client {
        refuse_next(new, "initialize").await;
    }
    let asked = new.next().await;
    assert_eq!(asked["method"], "server/discover", "{asked}");
    new.reply(&asked, discovered()).await;
}

async fn refuse_next(server: &mut Peer, method: &str) {
    let asked = server.next().await;
    assert_eq!(asked["method"], method, "{asked}");
    let error = json!({"code": -32601, "message": "Method not found"});
    server.fail(&asked, error).await;
}

pub(super) fn hello(capabilities: Value) -> Value {
    json!({"protocolVersion": L11, "capabilities": capabilities,
        "clientInfo": {"name": "client", "version": "1"}})
}

impl Several {
    /// A client that has said nothing yet.
    pub(super) async fn silent(ways: Ways, settings: GatewaySettings) -> Self {
        let world = World::with(ways, settings).await;
        let (client, ours) = tokio::io::duplex(1 << 20);
        let connections: HashMap<&'static str, Connections> = ["old", "new"]
            .map(|name| (name, Connections::default()))
            .into();
        let routes = ["old", "new"].map(|name| connections[name].route(name));
        let gateway = world.gateway.clone();
        tokio::spawn(async move {
            let (reader, writer) = split(ours);
            gateway.unite(reader, writer, routes.into()).await;
        });
        Self {
            world,
            client: Peer::new(client),
            connections,
            old: nobody(),
            new: nobody(),
        }
    }

    /// A client of 2025 after its handshake. Returns what it was told.
    pub(super) async fn legacy(ways: Ways, declares: Value) -> (Self, Value) {
        Self::legacy_with(ways, GatewaySettings::default(), declares).await
    }

    pub(super) async fn legacy_with(
        ways: Ways,
        settings: GatewaySettings,
        declares: Value,
    ) -> (Self, Value) {
        let mut several = Self::silent(ways, settings).await;
        several
            .client
            .request(0, "initialize", hello(declares))
            .await;
        several.connect(false).await;
        let answer = several.client.next().await;
        several
            .client
            .notify("notifications/initialized", json!({}))
            .await;
        let told = several.old.next().await;
        assert_eq!(told["method"], "notifications/initialized", "{told}");
        let told = several.new.next().await;
        assert_eq!(told["method"], "subscriptions/listen", "{told}");
        (several, answer["result"].clone())
    }

    /// A client of 2026-07-28 that knows what there is.
    pub(super) async fn modern(ways: Ways, declares: Value) -> (Self, Value) {
        Self::modern_with(ways, GatewaySettings::default(), declares).await
    }

    pub(super) async fn modern_with(
        ways: Ways,
        settings: GatewaySettings,
        declares: Value,
    ) -> (Self, Value) {
        let mut several = Self::silent(ways, settings).await;
        let params = modern(json!({}), declares);
        several.client.request(0, "server/discover", params).await;
        several.connect(true).await;
        let answer = several.client.next().await;
        (several, answer["result"].clone())
    }

    async fn connect(&mut self, is_modern_client: bool) {
        self.old = self.connections["old"].newest().await;
        self.new = self.connections["new"].newest().await;
        greet_old(&mut self.old, is_modern_client).await;
        greet_new(&mut self.new, is_modern_client).await;
    }

    /// Asks for a list, which both servers answer with these entries.
    pub(super) async fn list(
        &mut self,
        method: &str,
        params: Value,
        member: &str,
        entries: [Value; 2],
    ) -> Value {
        self.client.request(7, method, params).await;
        let [old, new] = entries;
        self.serve_lists(method, member, old, new).await;
        let answer = self.client.next().await;
        assert_eq!(answer["id"], 7, "{answer}");
        answer["result"].clone()
    }

    /// Has both servers answer a list.
    pub(super) async fn serve_lists(&mut self, method: &str, member: &str, old: Value, new: Value) {
        let asked = self.old.next().await;
        assert_eq!(asked["method"], method, "{asked}");
        self.old.reply(&asked, json!({member: old})).await;
        let asked = self.new.next().await;
        assert_eq!(asked["method"], method, "{asked}");
        let listed = json!({"resultType": "complete", member: new, "ttlMs": 5,
            "cacheScope": "private"});
        self.new.reply(&asked, listed).await;
    }
}

/// The values of a member of each entry.
pub(super) fn each(list: &Value, member: &str) -> Vec<String> {
    let entries = list.as_array().expect("a list");
    let texts = entries.iter().map(|entry| entry[member].as_str());
    texts.map(|text| text.expect("a text").to_owned()).collect()
}

//! A client that calls tools in every pair of versions, and answers what it is asked.

use std::time::Duration;

use serde_json::{Value, json};

use crate::world::{Pair, World, modern, text};

const L6: &str = "2025-06-18";
const L11: &str = "2025-11-25";

/// The pairs of eras.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Eras {
    Oldest,
    Legacy,
    Raised,
    Modern,
    Lowered,
}

impl Eras {
    pub(super) const ALL: [Self; 5] = [
        Self::Oldest,
        Self::Legacy,
        Self::Raised,
        Self::Modern,
        Self::Lowered,
    ];

    pub(super) fn has_modern_client(self) -> bool {
        matches!(self, Self::Modern | Self::Lowered)
    }

    pub(super) fn has_modern_server(self) -> bool {
        matches!(self, Self::Modern | Self::Raised)
    }
}

/// A client of either era in front of a server of either.
pub(super) struct Caller {
    eras: Eras,
    pub(super) pair: Pair,
    capabilities: Value,
    next: u64,
}

impl Caller {
    pub(super) async fn new(world: &World, eras: Eras, capabilities: Value) -> Self {
        let mut pair = world.connect();
        match eras {
            Eras::Oldest => drop(pair.initialize_as(L6, L6, capabilities.clone()).await),
            Eras::Legacy => drop(pair.initialize(L11, capabilities.clone()).await),
            Eras::Raised => drop(pair.initialize_raised(L11, capabilities.clone()).await),
            Eras::Modern | Eras::Lowered => {}
        }
        let mut caller = Self {
            eras,
            pair,
            capabilities,
            next: 100,
        };
        if eras.has_modern_client() {
            // The first request decides the pair.
            caller.request("ping/none", json!({})).await;
            if eras == Eras::Modern {
                caller.pair.discover().await;
            } else {
                caller.pair.lower().await;
            }
            let asked = caller.pair.server.next().await;
            caller.pair.server.reply(&asked, json!({})).await;
            caller.pair.client.next().await;
        }
        caller
    }

    pub(super) async fn request(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        let params = if self.eras.has_modern_client() {
            modern(params, self.capabilities.clone())
        } else {
            params
        };
        self.pair.client.request(self.next, method, params).await;
        self.next
    }

    pub(super) async fn call(&mut self, tool: &str, arguments: Value) -> u64 {
        let params = json!({"name": tool, "arguments": arguments});
        self.request("tools/call", params).await
    }

    /// The question that the client is asked to show, and how to answer it.
    pub(super) async fn question(&mut self, world: &World) -> Asked {
        if !self.eras.has_modern_client() {
            let asked = self.pair.client.next().await;
            assert_eq!(asked["method"], "elicitation/create", "{asked}");
            return Asked {
                params: asked["params"].clone(),
                message: asked,
                key: String::new(),
            };
        }
        world.pass(Duration::from_millis(50)).await;
        let round = self.pair.client.next().await;
        assert_eq!(round["result"]["resultType"], "input_required", "{round}");
        let requests = round["result"]["inputRequests"]
            .as_object()
            .expect("questions");
        let (key, request) = requests.iter().next().expect("a question");
        assert_eq!(request["method"], "elicitation/create");
        Asked {
            params: request["params"].clone(),
            key: key.clone(),
            message: round.clone(),
        }
    }

    /// Answers a question; in rounds, with the call that it belongs to.
    pub(super) async fn answer(
        &mut self,
        asked: &Asked,
        tool: &str,
        arguments: Value,
        answer: Value,
    ) {
        if !self.eras.has_modern_client() {
            return self.pair.client.reply(&asked.message, answer).await;
        }
        let mut params = json!({"name": tool, "arguments": arguments});
        params["requestState"] = asked.message["result"]["requestState"].clone();
        params["inputResponses"] = json!({asked.key.clone(): answer});
        self.request("tools/call", params).await;
    }

    /// The call at the server, which has to be this one.
    pub(super) async fn runs(&mut self, tool: &str, arguments: &Value, result: &str) {
        let called = self.pair.server.next().await;
        assert_eq!(called["method"], "tools/call", "{called}");
        assert_eq!(called["params"]["name"], tool);
        assert_eq!(called["params"]["arguments"], *arguments);
        assert_eq!(called["params"].get("inputResponses"), None);
        assert_eq!(called["params"].get("requestState"), None);
        let mut content = text(result);
        if self.eras.has_modern_server() {
            content["resultType"] = json!("complete");
        }
        self.pair.server.reply(&called, content).await;
    }

    pub(super) async fn result(&mut self) -> Value {
        let message = self.pair.client.next().await;
        let kind = &message["result"]["resultType"];
        if self.eras.has_modern_client() {
            assert_eq!(kind, "complete", "{message}");
        } else {
            assert_eq!(*kind, Value::Null, "{message}");
        }
        message
    }
}

pub(super) struct Asked {
    pub(super) params: Value,
    message: Value,
    pub(super) key: String,
}

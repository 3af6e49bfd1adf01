//! An engine with a simulated clock, randomness and DNS, and the methods in front of it.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use entreat_core::{ElicitationId, UnixTime};
use entreat_engine::store::MemoryStore;
use entreat_engine::{
    CallbackDelivery, CallbackSender, DeliveryResult, Engine, EngineSettings, Limits, Store,
};
use entreat_service::rpc::{Links, Rpc, RpcResponse, Session};
use entreat_testkit::{ScriptedResolver, SeededEntropy, VirtualClock};
use serde_json::{Value, json};

pub(crate) const START: u64 = 1_706_889_000_000;

pub(crate) struct World {
    pub(crate) clock: VirtualClock,
    pub(crate) engine: Engine,
    pub(crate) rpc: Rpc,
    pub(crate) session: Session,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut EngineSettings)) -> Self {
        Self::on(Arc::new(MemoryStore::new()), change).await
    }

    pub(crate) async fn on(
        store: Arc<dyn Store>,
        change: impl FnOnce(&mut EngineSettings),
    ) -> Self {
        let mut settings = EngineSettings::default();
        settings.asker.limits = Limits::none();
        change(&mut settings);
        let clock = VirtualClock::new(UnixTime::from_millis(START));
        let resolver = ScriptedResolver::new()
            .answers("example.com", &["93.184.215.14"])
            .answers("inside.example.com", &["10.0.0.5"]);
        let engine = Engine::builder()
            .shared_store(store)
            .clock(clock.clone())
            .entropy(SeededEntropy::new(7))
            .resolver(resolver)
            .callback_sender(Nobody)
            .settings(settings)
            .start()
            .await
            .unwrap();
        Self {
            clock,
            rpc: Rpc::new(engine.clone()),
            session: Session::new(engine.asker("deployer")),
            engine,
        }
    }

    /// Advances the clock and lets the engine process what is due.
    pub(crate) async fn pass(&self, duration: Duration) {
        self.clock.advance(duration);
        self.engine.catch_up().await.unwrap();
    }

    pub(crate) async fn send(&self, message: impl AsRef<[u8]>) -> RpcResponse {
        self.rpc.answer(&self.session, message.as_ref()).await
    }

    /// The complete response to a call.
    pub(crate) async fn call(&self, method: &str, params: Value) -> Value {
        self.call_as(&self.session, method, params).await
    }

    pub(crate) async fn call_as(&self, session: &Session, method: &str, params: Value) -> Value {
        let message = request(method, params);
        let answered = self.rpc.answer(session, message.as_bytes()).await;
        assert!(answered.is_well_formed);
        let answer = parsed(&answered);
        assert_eq!(answer["id"], 1);
        answer
    }

    /// The result of a call that must succeed.
    pub(crate) async fn result(&self, method: &str, params: Value) -> Value {
        let mut answer = self.call(method, params).await;
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].take()
    }

    /// The error of a call that must fail.
    pub(crate) async fn error(&self, method: &str, params: Value) -> Value {
        let mut answer = self.call(method, params).await;
        assert!(answer.get("result").is_none(), "{answer}");
        answer["error"].take()
    }

    /// Asks the form of these tests; the elicitation's id.
    pub(crate) async fn ask(&self) -> Value {
        self.create(json!({"formDefinition": deploy()})).await
    }

    pub(crate) async fn create(&self, params: Value) -> Value {
        let mut created = self.result("elicitation/create", params).await;
        created["elicitationId"].take()
    }

    pub(crate) async fn submit(&self, id: &Value, responses: Value) -> Value {
        let params = json!({"elicitationId": id, "responses": responses});
        self.call("elicitation/submit", params).await
    }
}

pub(crate) fn request(method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
}

pub(crate) fn parsed(answered: &RpcResponse) -> Value {
    serde_json::from_str(answered.body.as_deref().unwrap()).unwrap()
}

pub(crate) fn deploy() -> Value {
    json!({
        "id": "deploy", "title": "Deploy", "fields": [
            {"id": "target", "type": "select", "label": "Target", "required": true,
             "options": ["staging", "production"]},
            {"id": "replicas", "type": "number", "label": "Replicas",
             "validation": {"minimum": 1, "maximum": 9}},
            {"id": "token", "type": "text", "label": "Token", "sensitive": true},
        ],
    })
}

pub(crate) fn answer() -> Value {
    json!({"target": "staging", "replicas": 3})
}

/// An id that no elicitation has.
pub(crate) fn nobody() -> Value {
    json!(ElicitationId::new(UnixTime::from_millis(START), [9; 10]))
}

/// Accepts every callback, and delivers none.
struct Nobody;

impl CallbackSender for Nobody {
    fn deliver(&self, _: CallbackDelivery) -> Pin<Box<dyn Future<Output = DeliveryResult> + Send>> {
        Box::pin(std::future::ready(DeliveryResult::Delivered))
    }
}

/// Pages under a fixed address.
pub(crate) struct Pages;

impl Links for Pages {
    fn page(&self, id: ElicitationId) -> Option<String> {
        Some(format!("https://ask.example.com/e/{id}"))
    }
}

//! An engine with a simulated clock, randomness and DNS.

use std::time::Duration;

use entreat_core::{ElicitationId, Form, UnixTime};
use entreat_engine::store::MemoryStore;
use entreat_engine::{Asker, AskerSettings, Engine, EngineSettings, Limits, Store};
use entreat_testkit::{ScriptedResolver, SeededEntropy, VirtualClock};
use serde_json::{Value, json};

pub(crate) const START: UnixTime = UnixTime::from_millis(1_706_889_000_000);

pub(crate) struct World {
    pub(crate) clock: VirtualClock,
    pub(crate) engine: Engine,
    pub(crate) asker: Asker,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(MemoryStore::new(), unlimited()).await
    }

    pub(crate) async fn with(store: impl Store, settings: EngineSettings) -> Self {
        let clock = VirtualClock::new(START);
        let engine = Engine::builder()
            .store(store)
            .clock(clock.clone())
            .entropy(SeededEntropy::new(7))
            .resolver(ScriptedResolver::new())
            .settings(settings)
            .start()
            .await
            .unwrap();
        let asker = engine.asker("deployer");
        Self {
            clock,
            engine,
            asker,
        }
    }

    /// Answers a question, as its respondent.
    pub(crate) async fn answer(&self, id: ElicitationId) {
        let question = self.engine.elicitation(id);
        question.submit(&answer()).await.unwrap();
    }

    /// Advances the clock and lets the engine process what is due.
    pub(crate) async fn pass(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
        self.engine.catch_up().await.unwrap();
    }
}

pub(crate) fn unlimited() -> EngineSettings {
    let mut settings = EngineSettings::default();
    settings.asker.limits = Limits::none();
    settings.live = usize::MAX;
    settings
}

pub(crate) fn asker_settings(change: impl FnOnce(&mut AskerSettings)) -> EngineSettings {
    let mut settings = unlimited();
    change(&mut settings.asker);
    settings
}

pub(crate) fn form() -> Form {
    Form::from_value(&json!({
        "id": "deploy", "title": "Deploy", "fields": [
            {"id": "target", "type": "select", "label": "Target", "required": true,
             "options": ["staging", "production"]},
            {"id": "replicas", "type": "number", "label": "Replicas",
             "validation": {"minimum": 1, "maximum": 9}},
            {"id": "token", "type": "text", "label": "Token", "sensitive": true},
        ],
    }))
    .unwrap()
}

pub(crate) fn answer() -> Value {
    json!({"target": "staging", "replicas": 3})
}

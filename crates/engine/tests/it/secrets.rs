//! A secret is delivered to its asker and to nobody else.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use entreat_core::{ElicitationId, Form, UnixTime};
use entreat_engine::store::{Claim, ClaimKey, Created, Due, Holder, MemoryStore, Query, Reply};
use entreat_engine::{
    ActError, Ask, Engine, KeyRing, Record, StartError, Store, SubscriptionItem, VaultError,
};
use entreat_testkit::{CapturedLog, FaultyStore, SeededEntropy, VirtualClock};
use serde_json::{Value, json};

use crate::world::{START, World, answer, form, unlimited};

const CANARY: &str = "canary-7f3a91";

fn with_secret() -> Value {
    let mut answer = answer();
    answer["token"] = CANARY.into();
    answer
}

/// A store that records everything it is given, as a disk would.
#[derive(Clone, Default)]
struct Witness {
    kept: Arc<MemoryStore>,
    seen: Arc<Mutex<String>>,
}

impl Witness {
    fn see(&self, record: &Record) {
        let held = serde_json::to_string(&record.answer_state.as_deref()).unwrap();
        let extras = serde_json::to_string(&record.request.extras.as_deref()).unwrap();
        write!(self.seen.lock().unwrap(), "{record:?} {held} {extras}").unwrap();
    }
}

impl Store for Witness {
    fn create(&self, record: Record) -> Reply<Created> {
        self.see(&record);
        self.kept.create(record)
    }
    fn load(&self, id: ElicitationId) -> Reply<Option<Record>> {
        self.kept.load(id)
    }
    fn commit(&self, record: Record) -> Reply<()> {
        self.see(&record);
        self.kept.commit(record)
    }
    fn due(&self, now: UnixTime, limit: usize) -> Reply<Due> {
        self.kept.due(now, limit)
    }
    fn list(&self, query: Query) -> Reply<Vec<Record>> {
        self.kept.list(query)
    }
    fn live_counts(&self) -> Reply<Vec<(Arc<str>, usize)>> {
        self.kept.live_counts()
    }
    fn live_counts_by_principal(&self) -> Reply<Vec<entreat_engine::store::PrincipalCount>> {
        self.kept.live_counts_by_principal()
    }
    fn purge(&self, settled_before: UnixTime, limit: usize) -> Reply<usize> {
        self.kept.purge(settled_before, limit)
    }
    fn load_note(&self, name: &'static str) -> Reply<Option<String>> {
        self.kept.load_note(name)
    }
    fn save_note(&self, name: &'static str, text: String) -> Reply<()> {
        write!(self.seen.lock().unwrap(), "{text}").unwrap();
        self.kept.save_note(name, text)
    }
    fn replace_note(
        &self,
        name: &'static str,
        expected: Option<String>,
        text: String,
    ) -> Reply<bool> {
        write!(self.seen.lock().unwrap(), "{text}").unwrap();
        self.kept.replace_note(name, expected, text)
    }
    fn claim(&self, claim: Claim) -> Reply<Option<Claim>> {
        self.kept.claim(claim)
    }
    fn find_claim(&self, key: ClaimKey) -> Reply<Option<Claim>> {
        self.kept.find_claim(key)
    }

    fn take_over_claim(&self, claim: Claim, from: Option<Holder>) -> Reply<bool> {
        self.kept.take_over_claim(claim, from)
    }
    fn end_claim(&self, key: ClaimKey, holder: Option<Holder>, outcome: Vec<u8>) -> Reply<bool> {
        self.kept.end_claim(key, holder, outcome)
    }
    fn release_claim(&self, key: ClaimKey, inputs: [u8; 16], holder: Option<Holder>) -> Reply<()> {
        self.kept.release_claim(key, inputs, holder)
    }
    fn purge_claims(&self, expired_by: UnixTime, limit: usize) -> Reply<usize> {
        self.kept.purge_claims(expired_by, limit)
    }
}

#[tokio::test]
async fn a_canary_is_found_nowhere_but_in_what_the_asker_gets() {
    let (log, _guard) = CapturedLog::of_this_thread(tracing::Level::TRACE);
    let witness = Witness::default();
    let world = World::with(witness.clone(), unlimited()).await;
    let mut heard = world.engine.subscribe();
    let mut told = String::new();

    let question = world.asker.ask(Ask::form(form())).await.unwrap();
    let host = world.engine.elicitation(question.id());
    host.draft(&json!({"token": CANARY})).await.unwrap();
    let mut wrong = with_secret();
    wrong["replicas"] = 99.into();
    let error = host.submit(&wrong).await.unwrap_err();
    write!(told, "{error} {error:?}").unwrap();
    let wrong_type = json!({"target": "staging", "token": {"nested": CANARY}});
    let error = host.submit(&wrong_type).await.unwrap_err();
    write!(told, "{error} {error:?}").unwrap();
    let done = host.submit(&with_secret()).await.unwrap();
    write!(told, "{done:?} {}", serde_json::to_string(&done).unwrap()).unwrap();
    let seen = host.status().await.unwrap();
    write!(told, "{seen:?} {}", serde_json::to_string(&seen).unwrap()).unwrap();
    for item in world
        .asker
        .list(entreat_engine::StatusFilter::All, 10, None)
        .await
        .unwrap()
        .elicitations
    {
        write!(told, "{item:?} {}", serde_json::to_string(&item).unwrap()).unwrap();
    }
    world.pass(400).await;
    while let Ok(event) = tokio::time::timeout(std::time::Duration::ZERO, heard.next()).await {
        let Some(SubscriptionItem::Event(event)) = event else {
            panic!("nothing was missed")
        };
        write!(told, "{event:?}").unwrap();
    }
    let delivered = question.outcome().await.unwrap();
    write!(told, "{delivered:?}").unwrap();
    assert_eq!(delivered.result(), Some(with_secret()));

    let logged = log.text();
    assert!(logged.contains("elicitation created"));
    assert!(!logged.contains(CANARY), "in the log");
    assert!(!told.contains(CANARY), "in what others see");
    let stored = witness.seen.lock().unwrap().clone();
    assert!(stored.contains("target"));
    assert!(!stored.contains(CANARY), "in the store");
}

#[tokio::test]
async fn a_confidential_message_is_shown_and_written_nowhere() {
    let witness = Witness::default();
    let world = World::with(witness.clone(), unlimited()).await;
    let ask = Ask::form(form())
        .message("replaced")
        .confidential_message(CANARY);
    assert!(!format!("{ask:?}").contains(CANARY));
    let question = world.asker.ask(ask).await.unwrap();
    let host = world.engine.elicitation(question.id());
    let shown = host.status().await.unwrap();
    let extras = shown.record().request.extras.as_ref().unwrap();
    assert_eq!(extras.message(), Some(CANARY));
    assert!(!format!("{shown:?}").contains(CANARY));
    assert!(!serde_json::to_string(&shown).unwrap().contains(CANARY));
    // It counts towards the memory that questions may take.
    assert!(shown.record().weight() >= CANARY.len());
    host.submit(&answer()).await.unwrap();
    let stored = witness.seen.lock().unwrap().clone();
    assert!(stored.contains("staging"));
    assert!(!stored.contains(CANARY), "in the store");
}

#[tokio::test]
async fn others_see_a_placeholder() {
    let world = World::new().await;
    let question = world.asker.ask(Ask::form(form())).await.unwrap();
    let host = world.engine.elicitation(question.id());
    host.submit(&with_secret()).await.unwrap();
    let seen = host.status().await.unwrap().result().unwrap();
    assert_eq!(seen["token"], "[sealed]");
    assert_eq!(seen["target"], "staging");
}

#[tokio::test]
async fn who_answers_can_have_what_was_read() {
    let world = World::new().await;
    let question = world.asker.ask(Ask::form(form())).await.unwrap();
    let person = world.engine.elicitation(question.id());
    let given = with_secret();
    let read = person.submit_and_read(&given).await.unwrap();
    assert_eq!(Value::from(read.reveal().to_json())["token"], CANARY);
    let kept = question.outcome().await.unwrap().answers().unwrap();
    assert_eq!(kept.unwrap().reveal().to_json(), read.reveal().to_json());
}

#[tokio::test]
async fn an_inline_secret_is_sealed_and_delivered() {
    let world = World::new().await;
    let question = world
        .asker
        .ask(Ask::secret("API key?").unwrap())
        .await
        .unwrap();
    let host = world.engine.elicitation(question.id());
    host.submit(&json!({"value": CANARY})).await.unwrap();
    assert_eq!(
        host.status().await.unwrap().result(),
        Some(json!("[sealed]"))
    );
    assert_eq!(
        question.outcome().await.unwrap().result(),
        Some(json!(CANARY))
    );
}

#[tokio::test]
async fn a_secret_is_wiped_after_delivery_when_asked_for() {
    let world = World::new().await;
    let ask = Ask::form(form()).wipe_after_delivery();
    let question = world.asker.ask(ask).await.unwrap();
    let host = world.engine.elicitation(question.id());
    host.submit(&with_secret()).await.unwrap();
    assert_eq!(
        question.outcome().await.unwrap().result(),
        Some(with_secret())
    );
    let again = question.status().await.unwrap().result().unwrap();
    assert_eq!(again["token"], "[sealed]");
    assert_eq!(again["target"], "staging");
}

async fn start(store: &Arc<dyn Store>, keys: KeyRing) -> Result<Engine, StartError> {
    Engine::builder()
        .shared_store(store.clone())
        .clock(VirtualClock::new(START))
        .entropy(SeededEntropy::new(1))
        .keys(keys)
        .settings(unlimited())
        .start()
        .await
}

#[tokio::test]
async fn a_wrong_key_is_noticed_at_start() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let right = || KeyRing::generate(&SeededEntropy::new(1));
    let wrong = KeyRing::generate(&SeededEntropy::new(2));
    start(&store, right()).await.unwrap().shutdown().await;
    let error = start(&store, wrong).await.unwrap_err();
    assert!(
        matches!(error, StartError::Keys(VaultError::WrongKey { .. })),
        "{error:?}"
    );
    start(&store, right()).await.unwrap();
}

#[tokio::test]
async fn keys_are_rotated_by_wrapping_anew() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let mut keys = KeyRing::generate(&SeededEntropy::new(1));
    let old = String::from_utf8(keys.to_text().expose().to_vec()).unwrap();
    let engine = start(&store, keys).await.unwrap();
    let asker = engine.asker("deployer");
    let ask = || Ask::form(form());
    let answered = asker.ask(ask()).await.unwrap();
    engine
        .elicitation(answered.id())
        .submit(&with_secret())
        .await
        .unwrap();
    let begun = asker.ask(ask()).await.unwrap();
    engine
        .elicitation(begun.id())
        .draft(&json!({"token": CANARY}))
        .await
        .unwrap();
    let plain = asker.ask(ask()).await.unwrap();
    engine.shutdown().await;

    keys = KeyRing::from_text(&old).unwrap();
    let newest = keys.add_newest(&SeededEntropy::new(9)).unwrap();
    let text = String::from_utf8(keys.to_text().expose().to_vec()).unwrap();
    let engine = start(&store, keys).await.unwrap();
    assert_eq!(engine.rotate_keys().await.unwrap(), 2);
    assert_eq!(engine.rotate_keys().await.unwrap(), 0);
    engine.shutdown().await;

    // The old key is not needed any more.
    let only_newest: String = text
        .lines()
        .filter(|line| line.starts_with(&format!("v{newest} ")))
        .collect();
    let engine = start(&store, KeyRing::from_text(&only_newest).unwrap())
        .await
        .unwrap();
    let asker = engine.asker("deployer");
    let result = asker
        .elicitation(answered.id())
        .status()
        .await
        .unwrap()
        .result();
    assert_eq!(result, Some(with_secret()));
    let draft = engine.elicitation(begun.id()).read_draft().await.unwrap();
    assert_eq!(draft["token"], CANARY);
    asker.elicitation(plain.id()).status().await.unwrap();
}

#[tokio::test]
async fn a_sealed_answer_moved_to_another_question_does_not_open() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let keys = KeyRing::generate(&SeededEntropy::new(1));
    let engine = start(&store, keys).await.unwrap();
    let asker = engine.asker("deployer");
    let form = Form::from_value(form().definition()).unwrap();
    let mut records = Vec::new();
    for _ in 0..2 {
        let question = asker.ask(Ask::form(form.clone())).await.unwrap();
        engine
            .elicitation(question.id())
            .submit(&with_secret())
            .await
            .unwrap();
        records.push(store.load(question.id()).await.unwrap().unwrap());
    }
    let mut forged = records[0].clone();
    forged.to_mut().answer_state = records[1].answer_state.clone();
    forged.to_mut().version = forged.version.next();
    store.commit(forged).await.unwrap();
    let error = asker.elicitation(records[0].id).status().await.unwrap_err();
    assert!(matches!(error, ActError::Vault(_)), "{error:?}");
}

fn key_text(versions: &[u64]) -> String {
    let key = |version: &u64| {
        let ring = KeyRing::generate(&SeededEntropy::new(*version));
        let text = String::from_utf8(ring.to_text().expose().to_vec()).unwrap();
        text.replace("v1 ", &format!("v{version} "))
    };
    versions.iter().map(key).collect()
}

fn ring(text: &str) -> KeyRing {
    KeyRing::from_text(text).unwrap()
}

#[tokio::test]
async fn of_two_engines_that_start_at_once_neither_forgets_the_keys_of_the_other() {
    let store: Arc<dyn Store> = Arc::new(FaultyStore::new(MemoryStore::new()).slow());
    let older = start(&store, ring(&key_text(&[1])));
    let newer = start(&store, ring(&key_text(&[1, 2])));
    let (older, newer) = tokio::join!(older, newer);
    older.unwrap();
    newer.unwrap();
    for (versions, missing) in [([1], 2), ([2], 1)] {
        let refused = Engine::check_keys(&*store, ring(&key_text(&versions))).await;
        let Err(StartError::Keys(VaultError::MissingKey { version })) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(version, missing);
    }
}

#[tokio::test]
async fn a_new_key_seals_only_once_the_key_file_says_so() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let old_node = start(&store, ring(&key_text(&[1]))).await.unwrap();
    let both = format!("seal_with v1\n{}", key_text(&[1, 2]));
    let new_node = start(&store, ring(&both)).await.unwrap();
    let question = old_node.asker("deployer").ask(Ask::form(form())).await;
    let id = question.unwrap().id();
    new_node
        .elicitation(id)
        .submit(&with_secret())
        .await
        .unwrap();
    let seen = old_node.asker("deployer").elicitation(id).status().await;
    assert_eq!(seen.unwrap().result(), Some(with_secret()));
    Engine::check_keys(&*store, ring(&key_text(&[1])))
        .await
        .unwrap();
}

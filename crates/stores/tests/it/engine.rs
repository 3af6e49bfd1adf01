//! The engine on the embedded store.

use std::future::Future as _;
use std::path::Path;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use entreat_core::{ElicitationId, Form, Outcome, Status, UnixTime};
use entreat_engine::{ActError, Ask, Asker, Engine, EngineSettings, KeyRing, Limits, StartError};
use entreat_stores::{EmbeddedOptions, EmbeddedStore};
use entreat_testkit::{SeededEntropy, VirtualClock, samples};
use serde_json::{Value, json};

const START: UnixTime = UnixTime::from_millis(1_706_889_000_000);
const CANARY: &str = "canary-7f3a91";

async fn start(path: &Path, clock: &VirtualClock, key: u64) -> Result<Engine, StartError> {
    let mut settings = EngineSettings::default();
    settings.asker.limits = Limits::none();
    settings.live = usize::MAX;
    Engine::builder()
        .store(EmbeddedStore::open(path, EmbeddedOptions::default()).unwrap())
        .clock(clock.clone())
        .keys(KeyRing::generate(&SeededEntropy::new(key)))
        .settings(settings)
        .start()
        .await
}

/// Closes the store, as the end of a process would.
async fn stop(engine: Engine) {
    engine.shutdown().await;
}

fn secret_form() -> Form {
    Form::from_value(&json!({"id": "login", "title": "Log in", "fields": [
        {"id": "user", "type": "text", "label": "User", "required": true},
        {"id": "token", "type": "text", "label": "Token", "sensitive": true},
    ]}))
    .unwrap()
}

fn secret_answer() -> Value {
    json!({"user": "ada", "token": CANARY})
}

#[tokio::test]
async fn what_expired_while_nobody_was_there_is_expired_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("entreat.db");
    let clock = VirtualClock::new(START);
    let engine = start(&path, &clock, 1).await.unwrap();
    let asker = engine.asker("deployer");
    let over = asker.ask(Ask::form(samples::minimal())).await.unwrap().id();
    clock.advance(Duration::from_secs(200));
    let open = asker.ask(Ask::form(samples::minimal())).await.unwrap().id();
    engine
        .elicitation(open)
        .draft(&json!({"name": "A"}))
        .await
        .unwrap();
    drop(asker);
    stop(engine).await;

    let clock = VirtualClock::new(START.after(Duration::from_secs(350)));
    let engine = start(&path, &clock, 1).await.unwrap();
    assert_eq!(engine.live(), 1);
    let asker = engine.asker("deployer");
    let settled = asker.elicitation(over).outcome().await.unwrap();
    assert_eq!(settled.outcome(), Some(Outcome::TimedOut));
    let draft = engine.elicitation(open).read_draft().await.unwrap();
    assert_eq!(draft["name"], "A");
    clock.advance(Duration::from_secs(149));
    engine.catch_up().await.unwrap();
    let open = asker.elicitation(open);
    assert_eq!(open.status().await.unwrap().status(), Status::Active);
    clock.advance(Duration::from_secs(1));
    assert_eq!(open.status().await.unwrap().status(), Status::Timeout);
}

#[tokio::test]
async fn a_secret_is_nowhere_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("entreat.db");
    let clock = VirtualClock::new(START);
    let engine = start(&path, &clock, 1).await.unwrap();
    let asker = engine.asker("deployer");
    let ask = || Ask::form(secret_form());
    let drafted = asker.ask(ask()).await.unwrap();
    engine
        .elicitation(drafted.id())
        .draft(&secret_answer())
        .await
        .unwrap();
    let refused = asker.ask(ask()).await.unwrap();
    let wrong = json!({"token": CANARY, "stray": CANARY});
    engine
        .elicitation(refused.id())
        .submit(&wrong)
        .await
        .unwrap_err();
    let answered = asker.ask(ask()).await.unwrap();
    engine
        .elicitation(answered.id())
        .submit(&secret_answer())
        .await
        .unwrap();
    assert_eq!(
        answered.outcome().await.unwrap().result(),
        Some(secret_answer())
    );

    let look = || {
        let mut seen = 0;
        for entry in std::fs::read_dir(folder.path()).unwrap() {
            let path = entry.unwrap().path();
            let bytes = std::fs::read(&path).unwrap();
            let hit = bytes
                .windows(CANARY.len())
                .any(|part| part == CANARY.as_bytes());
            assert!(!hit, "{}", path.display());
            seen += bytes.windows(3).filter(|part| *part == b"ada").count();
        }
        assert!(seen > 0, "what is no secret is there to be found");
    };
    look();
    drop((asker, drafted, refused, answered));
    stop(engine).await;
    look();
}

#[tokio::test]
async fn another_key_is_refused_at_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("entreat.db");
    let clock = VirtualClock::new(START);
    stop(start(&path, &clock, 1).await.unwrap()).await;
    let error = start(&path, &clock, 2).await.unwrap_err();
    assert!(matches!(error, StartError::Keys(_)), "{error:?}");
}

#[tokio::test]
async fn who_answers_and_goes_away_has_answered() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("entreat.db");
    let engine = start(&path, &VirtualClock::new(START), 1).await.unwrap();
    let asker = engine.asker("deployer");
    for _ in 0..20 {
        let question = asker.ask(Ask::form(samples::minimal())).await.unwrap();
        let waiting = tokio::spawn(question.outcome());
        tokio::task::yield_now().await;
        let host = engine.elicitation(question.id());
        let answer = json!({"name": "Ada"});
        {
            // Polled once, then dropped: the page was closed while the disk was busy.
            let mut submitting = pin!(host.submit(&answer));
            let mut context = Context::from_waker(Waker::noop());
            assert!(submitting.as_mut().poll(&mut context).is_pending());
        }
        let settled = tokio::time::timeout(Duration::from_secs(20), waiting).await;
        assert_eq!(settled.unwrap().unwrap().unwrap().result(), Some(answer));
    }
    assert_eq!(engine.live(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_deadlines_at_once_all_settle() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("entreat.db");
    let clock = VirtualClock::new(START);
    let engine = start(&path, &clock, 1).await.unwrap();
    let asker = engine.asker("deployer");
    let mut asking = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let asker = asker.clone();
        asking.spawn(async move {
            for _ in 0..20 {
                asker.ask(Ask::form(samples::minimal())).await.unwrap();
            }
        });
    }
    asking.join_all().await;
    assert_eq!(engine.live(), 2_000);
    clock.advance(Duration::from_secs(300));
    engine.catch_up().await.unwrap();
    assert_eq!(engine.live(), 0);
    let page = asker
        .list(
            entreat_engine::StatusFilter::Only(Status::Timeout),
            200,
            None,
        )
        .await;
    assert_eq!(page.unwrap().elicitations.len(), 200);
}

/// How long it takes to report that there is no such elicitation.
async fn refusal(asker: &Asker, id: ElicitationId) -> Duration {
    #[expect(clippy::disallowed_methods, reason = "how long it takes is asked here")]
    let begin = std::time::Instant::now();
    let refused = asker.elicitation(id).status().await;
    let took = begin.elapsed();
    assert!(matches!(refused, Err(ActError::NotFound)));
    took
}

#[tokio::test]
async fn what_is_anothers_takes_as_long_as_what_is_not_there() {
    const LOOKS: usize = 301;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("entreat.db");
    let clock = VirtualClock::new(START);
    let engine = start(&path, &clock, 1).await.unwrap();
    let (owner, other) = (engine.asker("owner"), engine.asker("other"));
    let form = Form::from_value(&json!({"id": "a", "title": "A", "fields": [
        {"id": "a", "type": "text", "label": "A", "validation": {"maxLength": 500_000}}]}));
    let form = form.unwrap();
    let live = owner.ask(Ask::form(form.clone())).await.unwrap().id();
    // Reading an answer of this size would take measurable time.
    let settled = owner.ask(Ask::form(form)).await.unwrap();
    let answer = json!({"a": "x".repeat(400_000)});
    settled.submit(&answer).await.unwrap();
    let nowhere = ElicitationId::new(START, [9; 10]);

    // Interleaved, so that other load on the machine slows all of them.
    let ids = [live, settled.id(), nowhere];
    let mut took = ids.map(|_| Vec::with_capacity(LOOKS));
    for _ in 0..LOOKS {
        for (id, took) in ids.iter().zip(&mut took) {
            took.push(refusal(&other, *id).await);
        }
    }
    let [live, settled, nowhere] = took.map(|mut took| {
        took.sort_unstable();
        took[LOOKS / 2]
    });
    // A single read from memory, or of an answer, would differ tenfold.
    for found in [live, settled] {
        let words = format!("live {live:?}, settled {settled:?}, nowhere {nowhere:?}");
        assert!(found < nowhere * 3 && nowhere < found * 3, "{words}");
    }
    engine.shutdown().await;
}

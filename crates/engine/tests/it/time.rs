//! Deadlines, warnings and the clock.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use entreat_core::{Change, Mode, Outcome, Status, Timeout, TimeoutBounds, UnixTime};
use entreat_engine::store::MemoryStore;
use entreat_engine::{ActError, Ask, AskError, Clock, Engine, KeyRing, Store, SubscriptionItem};
use entreat_testkit::{Call, Fault, FaultyStore, SeededEntropy, VirtualClock};

use crate::world::{START, World, answer, asker_settings, form, unlimited};

#[tokio::test]
async fn a_question_times_out_and_tells_who_waits() {
    let world = World::new().await;
    let question = world.asker.ask(Ask::form(form())).await.unwrap();
    let waiting = tokio::spawn(question.outcome());
    world.pass(299).await;
    assert_eq!(question.status().await.unwrap().status(), Status::Pending);
    world.pass(1).await;
    let settled = waiting.await.unwrap().unwrap();
    assert_eq!(settled.outcome(), Some(Outcome::TimedOut));
    assert_eq!(world.engine.live(), 0);
}

#[tokio::test]
async fn an_active_question_times_out_as_well() {
    let world = World::new().await;
    let question = world.asker.ask(Ask::form(form())).await.unwrap();
    world
        .engine
        .elicitation(question.id())
        .open()
        .await
        .unwrap();
    world.pass(300).await;
    assert_eq!(question.status().await.unwrap().status(), Status::Timeout);
}

#[tokio::test]
async fn the_engine_wakes_by_itself_when_a_deadline_comes() {
    let world = World::new().await;
    let short = Timeout::of(Duration::from_secs(2));
    let question = world
        .asker
        .ask(Ask::form(form()).timeout(short))
        .await
        .unwrap();
    let waiting = tokio::spawn(question.outcome());
    for _ in 0..30 {
        tokio::task::yield_now().await;
        world.clock.advance(Duration::from_millis(100));
    }
    let settled = waiting.await.unwrap().unwrap();
    assert_eq!(settled.outcome(), Some(Outcome::TimedOut));
}

#[tokio::test]
async fn a_late_answer_loses_even_before_the_timer_fires() {
    let world = World::new().await;
    let question = world.asker.ask(Ask::form(form())).await.unwrap();
    let host = world.engine.elicitation(question.id());
    // The timer task has not run: only the submission checks the clock.
    world.clock.advance(Duration::from_secs(300));
    let error = host.submit(&answer()).await.unwrap_err();
    let ActError::TimedOut { elapsed, timeout } = error else {
        panic!("a late answer has timed out, but {error:?}");
    };
    assert_eq!((elapsed.as_secs(), timeout.as_secs()), (300, 300));
    assert_eq!(question.status().await.unwrap().status(), Status::Timeout);
    let again = host.submit(&answer()).await;
    assert!(matches!(again, Err(ActError::TimedOut { .. })));
}

#[tokio::test]
async fn completion_disarms_the_deadline() {
    let world = World::new().await;
    let question = world.asker.ask(Ask::form(form())).await.unwrap();
    world.answer(question.id()).await;
    world.pass(400).await;
    assert_eq!(question.status().await.unwrap().status(), Status::Completed);
}

#[tokio::test]
async fn a_warning_goes_out_once_for_each_deadline() {
    let world = World::new().await;
    let mut heard = world.asker.subscribe();
    let question = world.asker.ask(Ask::form(form())).await.unwrap();
    world.pass(240).await;
    world.pass(10).await;
    question.extend(None).await.unwrap();
    world.pass(290).await;
    world.pass(60).await;
    let mut changes = Vec::new();
    while let Ok(event) = tokio::time::timeout(Duration::ZERO, heard.next()).await {
        let Some(SubscriptionItem::Event(event)) = event else {
            panic!("nothing was missed");
        };
        changes.push(
            event
                .step()
                .map(|step| (step.change, step.at.since(START).as_secs())),
        );
    }
    let deadline = START.after(Duration::from_secs(600));
    assert_eq!(
        changes,
        [
            None,
            Some((Change::Warned, 240)),
            Some((Change::Extended { deadline }, 250)),
            Some((Change::Warned, 540)),
            Some((Change::TimedOut, 600)),
        ]
    );
}

#[tokio::test]
async fn an_extension_moves_the_deadline_as_often_as_it_may() {
    let world = World::new().await;
    let question = world.asker.ask(Ask::form(form())).await.unwrap();
    let extended = question.extend(None).await.unwrap();
    assert_eq!(extended.deadline, START.after(Duration::from_secs(600)));
    assert_eq!(extended.extensions_left, 1);
    question.extend(Some(Duration::from_secs(1))).await.unwrap();
    let refused = question.extend(None).await.unwrap_err();
    assert_eq!(refused.to_string(), "the extension was rejected: none_left");
    world.pass(600).await;
    assert_eq!(question.status().await.unwrap().status(), Status::Pending);
    world.pass(1).await;
    assert_eq!(question.status().await.unwrap().status(), Status::Timeout);
    let late = question.extend(None).await.unwrap_err();
    assert_eq!(late.to_string(), "the elicitation is already_timeout");
}

#[tokio::test]
async fn bounds_are_settings_of_each_asker_and_can_be_asked_for() {
    let second = Duration::from_secs;
    let bounds = TimeoutBounds::new(second(20), second(10), second(40)).unwrap();
    let settings = asker_settings(|asker| asker.timeouts.set_bounds(Mode::Form, bounds));
    let world = World::with(MemoryStore::new(), settings).await;
    let config = serde_json::to_value(world.asker.timeout_config(Mode::Form)).unwrap();
    assert_eq!(
        config,
        serde_json::json!({"default_ms": 20_000, "min_ms": 10_000, "max_ms": 40_000, "config_source": "custom"})
    );
    assert_eq!(
        world.asker.timeout_config(Mode::Url).config_source,
        "default"
    );
    let ask = |seconds| Ask::form(form()).timeout(Timeout::of(second(seconds)));
    let refused = world.asker.ask(ask(41)).await.unwrap_err();
    assert!(matches!(refused, AskError::Timeout(_)));
    assert_eq!(
        refused.to_string(),
        "`timeout` is 41000 ms, above the maximum of 40000 ms"
    );
    assert!(world.asker.ask(ask(40)).await.is_ok());
    let question = world.asker.ask(Ask::form(form())).await.unwrap();
    assert_eq!(
        question.status().await.unwrap().lifecycle().timeout(),
        second(20)
    );
}

#[tokio::test]
async fn jumps_of_the_wall_clock_expire_nothing_early() {
    let hour = 3_600_000;
    for jump in [hour, -hour, 24 * hour, -24 * hour] {
        let world = World::new().await;
        let question = world.asker.ask(Ask::form(form())).await.unwrap();
        world.clock.jump_wall(jump);
        world.pass(299).await;
        assert_eq!(
            question.status().await.unwrap().status(),
            Status::Pending,
            "{jump}"
        );
        world.pass(1).await;
        assert_eq!(
            question.status().await.unwrap().status(),
            Status::Timeout,
            "{jump}"
        );
    }
}

#[tokio::test]
async fn a_restart_moves_no_deadline_and_expires_what_is_over_first() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let keys = || KeyRing::from_text(&format!("v1 {}\n", "A".repeat(43) + "=")).unwrap();
    let start = async |clock: &VirtualClock, seed| {
        Engine::builder()
            .shared_store(store.clone())
            .clock(clock.clone())
            .entropy(SeededEntropy::new(seed))
            .keys(keys())
            .settings(unlimited())
            .start()
            .await
            .unwrap()
    };
    let clock = VirtualClock::new(START);
    let engine = start(&clock, 1).await;
    let asker = engine.asker("deployer");
    let over = asker.ask(Ask::form(form())).await.unwrap();
    clock.advance(Duration::from_secs(200));
    let waiting = asker.ask(Ask::form(form())).await.unwrap();
    engine.shutdown().await;
    drop(engine);

    // Down for 150 seconds, with a new monotonic clock.
    let clock = VirtualClock::new(START.after(Duration::from_secs(350)));
    let engine = start(&clock, 2).await;
    assert_eq!(engine.live(), 1);
    let asker = engine.asker("deployer");
    let over = asker.elicitation(over.id());
    assert_eq!(over.status().await.unwrap().status(), Status::Timeout);
    let waiting = asker.elicitation(waiting.id());
    clock.advance(Duration::from_secs(149));
    engine.catch_up().await.unwrap();
    assert_eq!(waiting.status().await.unwrap().status(), Status::Pending);
    clock.advance(Duration::from_secs(1));
    assert_eq!(waiting.status().await.unwrap().status(), Status::Timeout);
}

#[tokio::test]
async fn a_settled_record_is_readable_for_its_retention_and_gone_after() {
    let world = World::new().await;
    let question = world.asker.ask(Ask::form(form())).await.unwrap();
    question.decline().await.unwrap();
    world.pass(3600).await;
    assert_eq!(question.status().await.unwrap().status(), Status::Declined);
    world.pass(2).await;
    assert!(matches!(question.status().await, Err(ActError::NotFound)));
}

#[tokio::test]
async fn a_hundred_thousand_deadlines_in_one_second_all_settle() {
    let world = World::new().await;
    let form = form();
    let mut ids = Vec::new();
    for _ in 0..100_000 {
        ids.push(world.asker.ask(Ask::form(form.clone())).await.unwrap().id());
    }
    world.pass(300).await;
    assert_eq!(world.engine.live(), 0);
    for id in ids.into_iter().step_by(997) {
        let status = world.asker.elicitation(id).status().await.unwrap();
        assert_eq!(status.outcome(), Some(Outcome::TimedOut));
    }
}

/// A clock that goes on whenever it is looked at, as on a machine that is too slow for its work.
#[derive(Clone)]
struct BusyClock(VirtualClock, Arc<AtomicBool>);

impl Clock for BusyClock {
    fn wall(&self) -> UnixTime {
        self.0.wall()
    }

    fn elapsed(&self) -> Duration {
        if self.1.load(Ordering::Relaxed) {
            self.0.advance(Duration::from_millis(2));
        }
        self.0.elapsed()
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        self.0.sleep(duration)
    }
}

#[tokio::test]
async fn old_records_go_while_new_deadlines_keep_coming() {
    let (clock, is_busy) = (VirtualClock::new(START), Arc::new(AtomicBool::new(false)));
    let store = Arc::new(FaultyStore::new(MemoryStore::new()));
    let mut settings = unlimited();
    settings.retention = Duration::from_secs(1);
    let engine = Engine::builder()
        .shared_store(store.clone())
        .clock(BusyClock(clock.clone(), is_busy.clone()))
        .entropy(SeededEntropy::new(7))
        .settings(settings)
        .start()
        .await
        .unwrap();
    let asker = engine.asker("deployer");
    let mut questions = Vec::new();
    for number in 0..3000 {
        let timeout = Timeout::of(Duration::from_millis(1000 + number));
        let ask = Ask::form(form()).timeout(timeout);
        questions.push(asker.ask(ask).await.unwrap());
    }
    // The run of deadlines ends before they do.
    store.inject(Fault::of(Call::Commit).skip(2500));
    clock.advance(Duration::from_secs(1));
    is_busy.store(true, Ordering::Relaxed);
    engine.catch_up().await.unwrap_err();
    assert!(matches!(
        questions[0].status().await,
        Err(ActError::NotFound)
    ));
}

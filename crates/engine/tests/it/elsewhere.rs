//! Two engines on one store: each hears what the other does.

use std::sync::Arc;
use std::time::Duration;

use entreat_core::{Change, Outcome};
use entreat_engine::store::{Claim, MemoryStore};
use entreat_engine::{
    ActError, Ask, AskError, Asker, Elicitation, Engine, EngineSettings, KeyRing, Snapshot,
    Store as _, Subscription, SubscriptionItem,
};
use entreat_testkit::{Call, Fault, FaultyStore, SeededEntropy, SharedStore, VirtualClock};
use serde_json::json;
use tokio::task::{JoinHandle, JoinSet};

use crate::world::{START, answer, form, unlimited};

type Handle = SharedStore<FaultyStore<MemoryStore>>;

/// An engine with its own handle on a store.
struct Node {
    store: Arc<Handle>,
    engine: Engine,
    asker: Asker,
}

impl Node {
    async fn on(handle: Handle, clock: &VirtualClock, seed: u64, settings: EngineSettings) -> Self {
        let store = Arc::new(handle);
        let engine = Engine::builder()
            .shared_store(store.clone())
            .clock(clock.clone())
            .entropy(SeededEntropy::new(seed))
            .keys(KeyRing::generate(&SeededEntropy::new(9)))
            .settings(settings)
            .start()
            .await
            .unwrap();
        Self {
            asker: engine.asker("deployer"),
            store,
            engine,
        }
    }

    async fn ask(&self) -> Elicitation {
        self.asker.ask(Ask::form(form())).await.unwrap()
    }
}

struct World {
    clock: VirtualClock,
    one: Node,
    other: Node,
}

impl World {
    async fn new() -> Self {
        Self::with(unlimited()).await
    }

    async fn with(settings: EngineSettings) -> Self {
        let clock = VirtualClock::new(START);
        let handle = SharedStore::new(FaultyStore::new(MemoryStore::new()));
        let another = handle.another();
        Self {
            one: Node::on(handle, &clock, 1, settings.clone()).await,
            other: Node::on(another, &clock, 2, settings).await,
            clock,
        }
    }

    /// Advances the clock second by second, and lets everybody do what they have to.
    async fn pass(&self, seconds: u64) {
        for _ in 0..seconds {
            self.clock.advance(Duration::from_secs(1));
            settle_down().await;
        }
    }
}

/// Lets all tasks run until none has anything to do.
async fn settle_down() {
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
}

async fn waiting(node: &Node, question: &Elicitation) -> JoinHandle<Snapshot> {
    let outcome = node.asker.elicitation(question.id()).outcome();
    let waiting = tokio::spawn(async move { outcome.await.unwrap() });
    settle_down().await;
    assert!(!waiting.is_finished());
    waiting
}

/// What has been heard so far: `None` for a creation.
fn heard(events: &mut Subscription) -> Vec<Option<Change>> {
    use futures_util::FutureExt as _;
    use tokio::task::coop::unconstrained;

    let mut heard = Vec::new();
    while let Some(Some(item)) = unconstrained(events.next()).now_or_never() {
        match item {
            SubscriptionItem::Event(event) => heard.push(event.step().map(|step| step.change)),
            other => panic!("{other:?}"),
        }
    }
    heard
}

#[tokio::test]
async fn an_answer_on_one_engine_wakes_who_waits_on_the_other() {
    let world = World::new().await;
    let question = world.one.ask().await;
    let waiting = waiting(&world.other, &question).await;
    let host = world.one.engine.elicitation(question.id());
    host.submit(&answer()).await.unwrap();
    settle_down().await;
    assert!(waiting.is_finished());
    assert_eq!(waiting.await.unwrap().result(), Some(answer()));
}

#[tokio::test]
async fn subscribers_hear_once_of_what_happens_on_either_engine() {
    let world = World::new().await;
    let mut here = world.one.engine.subscribe();
    let mut there = world.other.asker.subscribe();
    let question = world.one.ask().await;
    settle_down().await;
    let there_too = world.other.engine.elicitation(question.id());
    there_too.open().await.unwrap();
    settle_down().await;
    world.pass(240).await;
    there_too.extend(None).await.unwrap();
    settle_down().await;
    question.submit(&answer()).await.unwrap();
    // Versions after the outcome are no news.
    settle_down().await;
    world.pass(120).await;
    let (here, there) = (heard(&mut here), heard(&mut there));
    let [
        None,
        Some(Change::Opened),
        Some(Change::Warned),
        Some(Change::Extended { .. }),
        Some(Change::Answered),
    ] = here[..]
    else {
        panic!("{here:?}");
    };
    assert_eq!(here, there);
}

#[tokio::test]
async fn a_question_of_the_other_engine_is_warned_of_and_ends_although_its_engine_is_gone() {
    let world = World::new().await;
    let question = world.one.ask().await;
    settle_down().await;
    world.one.engine.shutdown().await;
    let mut events = world.other.engine.subscribe();
    let waiting = waiting(&world.other, &question).await;
    world.pass(241).await;
    assert_eq!(heard(&mut events), [Some(Change::Warned)]);
    world.pass(60).await;
    let settled = waiting.await.unwrap();
    assert_eq!(settled.outcome(), Some(Outcome::TimedOut));
    assert_eq!(heard(&mut events), [Some(Change::TimedOut)]);
}

#[tokio::test]
async fn a_change_that_nobody_told_of_is_found_by_looking_again() {
    let world = World::new().await;
    let question = world.one.ask().await;
    let waiting = waiting(&world.other, &question).await;
    world.other.store.set_deaf(true);
    question.submit(&answer()).await.unwrap();
    settle_down().await;
    assert!(!waiting.is_finished());
    world.pass(31).await;
    assert!(waiting.is_finished());
}

#[tokio::test]
async fn whoever_may_have_missed_something_looks_again_at_once_and_says_so() {
    let world = World::new().await;
    let mut events = world.other.engine.subscribe();
    let known = world.one.ask().await;
    settle_down().await;
    assert_eq!(heard(&mut events), [None]);
    let waiting = waiting(&world.other, &known).await;
    world.other.store.set_deaf(true);
    known.submit(&answer()).await.unwrap();
    let unknown = world.one.ask().await;
    world.other.store.set_deaf(false);
    world.other.store.tell_missed();
    settle_down().await;
    let Some(SubscriptionItem::Missed) = events.next().await else {
        panic!("subscribers have to know");
    };
    // Page by page.
    for _ in 0..3 {
        world.clock.advance(Duration::from_millis(10));
        settle_down().await;
    }
    assert!(waiting.is_finished());
    assert_eq!(heard(&mut events), [None, Some(Change::Answered)]);
    assert_eq!(world.other.engine.live(), 1);
    unknown.decline().await.unwrap();
    settle_down().await;
    assert_eq!(world.other.engine.live(), 0);
}

#[tokio::test]
async fn looking_again_at_many_takes_breaks() {
    let world = World::new().await;
    let mut all = Vec::new();
    for _ in 0..600 {
        let question = world.one.ask().await;
        let outcome = world.other.asker.elicitation(question.id()).outcome();
        all.push((question, tokio::spawn(outcome)));
    }
    settle_down().await;
    world.other.store.set_deaf(true);
    for (question, _) in &all {
        question.decline().await.unwrap();
    }
    let finished = || {
        all.iter()
            .filter(|(_, waiting)| waiting.is_finished())
            .count()
    };
    world.other.store.tell_missed();
    let mut progress = Vec::new();
    for _ in 0..5 {
        settle_down().await;
        progress.push(finished());
        world.clock.advance(Duration::from_millis(10));
    }
    assert_eq!(progress, [0, 0, 256, 512, 600]);
}

#[tokio::test]
async fn a_store_that_fails_while_changes_are_read_delays_them_and_loses_none() {
    let world = World::new().await;
    let question = world.one.ask().await;
    let waiting = waiting(&world.other, &question).await;
    let faults = world.other.store.inner();
    question.decline().await.unwrap();
    faults.inject(Fault::of(Call::Load).times(3));
    settle_down().await;
    assert!(!waiting.is_finished());
    world.pass(4).await;
    assert!(waiting.is_finished());
}

#[tokio::test]
async fn a_live_limit_counts_questions_of_both_engines_and_forgets_none_that_ended() {
    let mut settings = unlimited();
    settings.asker.limits.live = 4;
    let world = World::with(settings).await;
    let mut open = Vec::new();
    for turn in 0..4 {
        let node = if turn % 2 == 0 {
            &world.one
        } else {
            &world.other
        };
        open.push(node.ask().await);
        settle_down().await;
    }
    for node in [&world.one, &world.other] {
        let refused = node.asker.ask(Ask::form(form())).await;
        assert!(matches!(refused, Err(AskError::TooManyLive { limit: 4 })));
    }
    // Each is answered on the engine that has not asked it.
    for (turn, question) in open.iter().enumerate() {
        let node = if turn % 2 == 0 {
            &world.other
        } else {
            &world.one
        };
        let host = node.engine.elicitation(question.id());
        host.submit(&answer()).await.unwrap();
    }
    settle_down().await;
    for node in [&world.one, &world.other] {
        assert_eq!(node.engine.live(), 0);
    }
    for _ in 0..4 {
        world.one.ask().await;
    }
}

#[tokio::test]
async fn an_engine_that_starts_later_counts_what_is_live_and_hears_of_the_rest() {
    let clock = VirtualClock::new(START);
    let handle = SharedStore::new(FaultyStore::new(MemoryStore::new()));
    let another = handle.another();
    let one = Node::on(handle, &clock, 1, unlimited()).await;
    let question = one.ask().await;
    one.ask().await.decline().await.unwrap();
    let other = Node::on(another, &clock, 2, unlimited()).await;
    assert_eq!(other.engine.live(), 1);
    question.decline().await.unwrap();
    settle_down().await;
    assert_eq!(other.engine.live(), 0);
}

#[tokio::test]
async fn a_lost_word_of_an_outcome_leaves_no_question_counted_for_ever() {
    let mut settings = unlimited();
    settings.asker.limits.live = 1;
    let world = World::with(settings).await;
    let question = world.one.ask().await;
    settle_down().await;
    world.other.store.set_deaf(true);
    question.decline().await.unwrap();
    settle_down().await;
    assert_eq!(world.other.engine.live(), 1);
    world.pass(331).await;
    assert_eq!(world.other.engine.live(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_64_submits_on_two_engines_at_once_exactly_one_is_accepted() {
    let world = World::new().await;
    for _ in 0..100 {
        let question = world.one.ask().await;
        let mut submits = JoinSet::new();
        for submit in 0..64 {
            let node = if submit % 2 == 0 {
                &world.one
            } else {
                &world.other
            };
            let host = node.engine.elicitation(question.id());
            let mine = json!({"target": "staging", "replicas": submit % 9 + 1});
            submits.spawn(async move { host.submit(&mine).await });
        }
        let mut accepted = 0;
        while let Some(done) = submits.join_next().await {
            match done.unwrap() {
                Ok(_) => accepted += 1,
                Err(ActError::Settled {
                    outcome: Outcome::Completed,
                }) => {}
                Err(other) => panic!("a loser is told `already_completed`, not {other}"),
            }
        }
        assert_eq!(accepted, 1);
    }
}

#[tokio::test]
async fn each_deadline_fires_once_although_both_engines_sound_it() {
    let world = World::new().await;
    let mut here = world.one.engine.subscribe();
    let mut there = world.other.engine.subscribe();
    for turn in 0..100 {
        let node = if turn % 2 == 0 {
            &world.one
        } else {
            &world.other
        };
        node.ask().await;
    }
    settle_down().await;
    for seconds in [240, 60] {
        world.clock.advance(Duration::from_secs(seconds));
        let (one, other) = (world.one.engine.catch_up(), world.other.engine.catch_up());
        let (one, other) = tokio::join!(one, other);
        one.and(other).unwrap();
        settle_down().await;
    }
    for events in [&mut here, &mut there] {
        let heard = heard(events);
        for change in [None, Some(Change::Warned), Some(Change::TimedOut)] {
            let times = heard.iter().filter(|heard| **heard == change).count();
            assert_eq!(times, 100, "{change:?}");
        }
        assert_eq!(heard.len(), 300);
    }
    assert_eq!((world.one.engine.live(), world.other.engine.live()), (0, 0));
}

#[tokio::test]
async fn an_engine_in_doubt_does_not_take_the_answer_of_another_for_its_own() {
    let world = World::new().await;
    let question = world.one.ask().await;
    settle_down().await;
    world.other.store.set_deaf(true);
    let mut events = world.other.engine.subscribe();
    let faults = world.other.store.inner();
    faults.inject(Fault::of(Call::Commit).times(1));
    let host = world.other.engine.elicitation(question.id());
    assert!(host.submit(&answer()).await.is_err());
    // In the same millisecond, before the other engine looks what came of it.
    let theirs = json!({"target": "production"});
    question.submit(&theirs).await.unwrap();
    world.other.engine.catch_up().await.unwrap();
    assert_eq!(heard(&mut events), []);
    world.other.store.set_deaf(false);
    world.other.store.tell_missed();
    for _ in 0..3 {
        settle_down().await;
        world.clock.advance(Duration::from_millis(10));
    }
    let Some(SubscriptionItem::Missed) = events.next().await else {
        panic!("it was told that it missed something");
    };
    let Some(SubscriptionItem::Event(event)) = events.next().await else {
        panic!("the outcome is heard of");
    };
    assert_eq!(event.snapshot().result(), Some(theirs));
}

#[tokio::test]
async fn a_claim_is_taken_over_from_a_node_that_is_gone_and_from_no_other() {
    let world = World::new().await;
    let (one, other) = (&world.one.engine, &world.other.engine);
    let claim = Claim {
        key: [7; 24],
        inputs: [1; 16],
        expires: START.after(Duration::from_secs(600)),
        holder: None,
        outcome: None,
    };
    let begin = async |engine: &Engine| engine.begin_claim(claim.clone()).await;
    assert_eq!(begin(one).await.unwrap(), None);
    let held = begin(other).await.unwrap().unwrap();
    assert_eq!(held.holder, Some(world.one.store.holder()));
    world.one.store.set_gone();
    assert_eq!(begin(other).await.unwrap(), None);
    // Whoever was taken for gone can neither end it nor give it back.
    assert!(!one.end_claim(claim.key, b"late".to_vec()).await.unwrap());
    one.abandon_claim(claim.key, claim.inputs).await.unwrap();
    assert!(other.end_claim(claim.key, b"done".to_vec()).await.unwrap());
    let ended = begin(one).await.unwrap().unwrap();
    assert_eq!(ended.outcome.as_deref(), Some(&b"done"[..]));
}

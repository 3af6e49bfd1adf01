//! Delivery of outcomes: exactly once if everything works, at least once whatever fails.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use entreat_core::{CancelReason, ElicitationId, Form, Status};
use entreat_engine::store::MemoryStore;
use entreat_engine::{
    Ask, Asker, CallbackDelivery, CallbackSender, DeliveryResult, Engine, KeyRing, Lookup,
    Resolver, Store,
};
use entreat_testkit::{
    Call, Fault, FaultyStore, ScriptedResolver, SeededEntropy, SharedStore, VirtualClock,
};
use serde_json::json;
use tokio::sync::Notify;

use crate::world::{START, answer, form, unlimited};

/// Records its calls, and returns the scripted results.
#[derive(Clone, Default)]
struct Post(Arc<Notes>);

#[derive(Default)]
struct Notes {
    delivered: Mutex<Vec<(String, Status)>>,
    ids: Mutex<Vec<ElicitationId>>,
    says: Mutex<Vec<DeliveryResult>>,
    came: Notify,
    /// Never completes an attempt.
    hangs: AtomicBool,
    /// Never completes an attempt of this asker.
    hangs_for: Mutex<Option<String>>,
}

impl CallbackSender for Post {
    fn deliver(
        &self,
        parcel: CallbackDelivery,
    ) -> Pin<Box<dyn Future<Output = DeliveryResult> + Send>> {
        let url = parcel.to.url().to_owned();
        let hangs_for = self.0.hangs_for.lock().unwrap().clone();
        let hangs = hangs_for.is_some_and(|asker| *asker == *parcel.settled.record().request.asker);
        self.0.ids.lock().unwrap().push(parcel.settled.id());
        let mut delivered = self.0.delivered.lock().unwrap();
        delivered.push((url, parcel.settled.status()));
        drop(delivered);
        let receipt = self
            .0
            .says
            .lock()
            .unwrap()
            .pop()
            .unwrap_or(DeliveryResult::Delivered);
        self.0.came.notify_one();
        if hangs || self.0.hangs.load(Ordering::Relaxed) {
            return Box::pin(std::future::pending());
        }
        Box::pin(std::future::ready(receipt))
    }
}

impl Post {
    fn says(&self, receipts: &[DeliveryResult]) {
        let says = receipts.iter().rev().copied().collect();
        *self.0.says.lock().unwrap() = says;
    }

    fn count(&self) -> usize {
        self.0.delivered.lock().unwrap().len()
    }
}

fn ask() -> Ask {
    Ask::form(form()).callback("https://example.com/hook")
}

struct World {
    clock: VirtualClock,
    engine: Engine,
    asker: Asker,
    post: Post,
}

async fn world(store: Arc<dyn Store>, clock: &VirtualClock, post: &Post) -> World {
    let resolver = ScriptedResolver::new().answers("example.com", &["93.184.215.14"]);
    world_on(resolver, store, clock, post).await
}

async fn world_on(
    resolver: impl Resolver + 'static,
    store: Arc<dyn Store>,
    clock: &VirtualClock,
    post: &Post,
) -> World {
    let engine = Engine::builder()
        .shared_store(store)
        .clock(clock.clone())
        .entropy(SeededEntropy::new(7))
        .keys(KeyRing::generate(&SeededEntropy::new(9)))
        .resolver(resolver)
        .settings(unlimited())
        .callback_sender(post.clone())
        .start()
        .await
        .unwrap();
    World {
        clock: clock.clone(),
        asker: engine.asker("deployer"),
        engine,
        post: post.clone(),
    }
}

impl World {
    async fn new() -> Self {
        let store = Arc::new(MemoryStore::new());
        world(store, &VirtualClock::new(START), &Post::default()).await
    }

    /// Advances the clock, and lets due attempts complete.
    async fn pass(&self, time: Duration) {
        self.clock.advance(time);
        self.engine.catch_up().await.unwrap();
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn every_outcome_is_delivered_once_and_nothing_that_never_settled() {
    let world = World::new().await;
    let answered = world.asker.ask(ask()).await.unwrap();
    let declined = world.asker.ask(ask()).await.unwrap();
    let cancelled = world.asker.ask(ask()).await.unwrap();
    world.asker.ask(ask()).await.unwrap();
    let unasked_for = world.asker.ask(Ask::form(form())).await.unwrap();
    answered.submit(&answer()).await.unwrap();
    declined.decline().await.unwrap();
    cancelled
        .cancel(CancelReason::AskerCancelled)
        .await
        .unwrap();
    unasked_for.decline().await.unwrap();
    world.pass(Duration::from_secs(1)).await;
    assert_eq!(world.post.count(), 3);
    // The last one by time.
    world.pass(Duration::from_secs(400)).await;
    world.pass(Duration::from_secs(400)).await;
    let delivered = world.post.0.delivered.lock().unwrap().clone();
    let mut statuses: Vec<_> = delivered
        .iter()
        .map(|(_, status)| status.as_str())
        .collect();
    statuses.sort_unstable();
    assert_eq!(statuses, ["cancelled", "completed", "declined", "timeout"]);
    assert!(
        delivered
            .iter()
            .all(|(url, _)| url == "https://example.com/hook")
    );
}

#[tokio::test]
async fn what_was_not_taken_is_tried_again_with_growing_pauses_and_given_up_at_last() {
    let world = World::new().await;
    world.post.says(&[DeliveryResult::Failed; 12]);
    let question = world.asker.ask(ask()).await.unwrap();
    question.decline().await.unwrap();
    world.pass(Duration::from_millis(1)).await;
    assert_eq!(world.post.count(), 1);
    world.pass(Duration::from_secs(4)).await;
    assert_eq!(world.post.count(), 1);
    world.pass(Duration::from_secs(2)).await;
    assert_eq!(world.post.count(), 2);
    for _ in 0..100 {
        world.pass(Duration::from_secs(3600)).await;
    }
    // Twelve attempts in three days; the record was retained all the time, and is purged then.
    assert_eq!(world.post.count(), 12);
    world.pass(Duration::from_secs(7200)).await;
    assert!(question.status().await.is_err());
    assert_eq!(world.post.count(), 12);
}

#[tokio::test]
async fn who_is_gone_is_left_alone() {
    let world = World::new().await;
    world
        .post
        .says(&[DeliveryResult::Failed, DeliveryResult::Gone]);
    let question = world.asker.ask(ask()).await.unwrap();
    question.decline().await.unwrap();
    for _ in 0..20 {
        world.pass(Duration::from_secs(600)).await;
    }
    assert_eq!(world.post.count(), 2);
}

#[tokio::test]
async fn an_attempt_that_is_lost_with_the_process_is_made_again() {
    let store = Arc::new(MemoryStore::new());
    let clock = VirtualClock::new(START);
    let first = world(store.clone(), &clock, &Post::default()).await;
    first.post.0.hangs.store(true, Ordering::Relaxed);
    let question = first.asker.ask(ask()).await.unwrap();
    question.decline().await.unwrap();
    first.post.0.came.notified().await;
    // A shutdown aborts attempts in progress.
    first.engine.shutdown().await;

    clock.advance(Duration::from_secs(31));
    let second = world(store, &clock, &Post::default()).await;
    second.pass(Duration::from_secs(1)).await;
    assert_eq!(second.post.count(), 1);
    second.pass(Duration::from_secs(600)).await;
    assert_eq!(second.post.count(), 1);
}

#[tokio::test]
async fn a_store_that_fails_for_a_while_loses_no_callback() {
    let store = Arc::new(FaultyStore::new(MemoryStore::new()));
    let clock = VirtualClock::new(START);
    let world = world(store.clone(), &clock, &Post::default()).await;
    let question = world.asker.ask(ask()).await.unwrap();
    question.decline().await.unwrap();
    world.post.0.came.notified().await;
    store.inject(Fault::of(Call::Commit).times(2));
    let question = world.asker.ask(ask()).await.unwrap();
    assert!(question.decline().await.is_err());
    question.decline().await.ok();
    store.heal();
    question.decline().await.ok();
    for _ in 0..10 {
        world.pass(Duration::from_secs(31)).await;
    }
    assert!(world.post.count() >= 2);
}

#[tokio::test]
async fn a_callback_is_judged_when_it_is_asked_for_and_again_when_it_is_called() {
    let store = Arc::new(MemoryStore::new());
    let clock = VirtualClock::new(START);
    let resolver = ScriptedResolver::new()
        .answers("rebind.example.com", &["93.184.215.14"])
        .answers("rebind.example.com", &["127.0.0.1"]);
    let world = world_on(resolver, store, &clock, &Post::default()).await;
    let local = Ask::form(form()).callback("http://127.0.0.1:9/hook");
    assert!(world.asker.ask(local).await.is_err());
    let ask = Ask::form(form()).callback("https://rebind.example.com/hook");
    let question = world.asker.ask(ask).await.unwrap();
    question.decline().await.unwrap();
    for _ in 0..5 {
        world.pass(Duration::from_secs(60)).await;
    }
    assert_eq!(world.post.count(), 0);
}

#[tokio::test]
async fn hooks_of_one_asker_that_hang_delay_nobody_else() {
    let world = World::new().await;
    *world.post.0.hangs_for.lock().unwrap() = Some("deployer".to_owned());
    for _ in 0..100 {
        let question = world.asker.ask(ask()).await.unwrap();
        question.decline().await.unwrap();
    }
    world.pass(Duration::from_millis(1)).await;
    // Its share, and not all slots.
    assert_eq!(world.post.count(), 16);

    let other = world.engine.asker("other");
    for expected in 17..=80 {
        let question = other.ask(ask()).await.unwrap();
        question.decline().await.unwrap();
        world.pass(Duration::from_millis(1)).await;
        assert_eq!(world.post.count(), expected);
    }
}

#[tokio::test]
async fn what_waits_for_its_turn_is_delivered_in_its_turn_and_once() {
    let world = World::new().await;
    world.post.0.hangs.store(true, Ordering::Relaxed);
    for _ in 0..40 {
        let question = world.asker.ask(ask()).await.unwrap();
        question.decline().await.unwrap();
    }
    // Long enough that the leases of waiting callbacks would expire repeatedly.
    for _ in 0..5 {
        world.pass(Duration::from_secs(31)).await;
    }
    assert_eq!(world.post.count(), 16);
}

/// Counts look-ups, all of which have to be of the share of `deployer`.
#[derive(Clone, Default)]
struct Shared(Arc<AtomicUsize>);

impl Resolver for Shared {
    fn resolve(&self, host: &str) -> Lookup<'_> {
        panic!("{host} was looked up on nobody's share");
    }

    fn resolve_for(&self, asker: &str, _: &str) -> Lookup<'_> {
        assert_eq!(asker, "deployer");
        self.0.fetch_add(1, Ordering::Relaxed);
        let address = IpAddr::from([93, 184, 215, 14]);
        Box::pin(std::future::ready(Ok(vec![address])))
    }
}

#[tokio::test]
async fn every_look_up_is_of_the_share_of_the_asker() {
    let resolver = Shared::default();
    let (store, clock) = (Arc::new(MemoryStore::new()), VirtualClock::new(START));
    let world = world_on(resolver.clone(), store, &clock, &Post::default()).await;
    let lookups = || resolver.0.swap(0, Ordering::Relaxed);
    let form = Form::from_value(&json!({"id": "f", "title": "F", "fields": [
        {"id": "home", "type": "url", "label": "Home"}]}));
    let ask = Ask::form(form.unwrap()).callback("https://example.com/hook");
    let question = world.asker.ask(ask).await.unwrap();
    assert_eq!(lookups(), 1);
    let home = json!({"home": "https://example.org/"});
    let host = world.engine.elicitation(question.id());
    host.submit(&home).await.unwrap();
    world.pass(Duration::from_secs(1)).await;
    // One for the answer, one for the delivery.
    assert_eq!((lookups(), world.post.count()), (2, 1));
}

/// Two engines on one store, whose calls take turns.
async fn two_worlds() -> (World, World) {
    let clock = VirtualClock::new(START);
    let handle = SharedStore::new(FaultyStore::new(MemoryStore::new()).slow());
    let another = handle.another();
    let one = world(Arc::new(handle), &clock, &Post::default()).await;
    let other = world(Arc::new(another), &clock, &Post::default()).await;
    (one, other)
}

async fn catch_up(one: &World, other: &World, time: Duration) {
    one.clock.advance(time);
    let (here, there) = tokio::join!(one.engine.catch_up(), other.engine.catch_up());
    here.and(there).unwrap();
    for _ in 0..2_000 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn of_two_engines_one_makes_the_attempt() {
    let (one, other) = two_worlds().await;
    for _ in 0..50 {
        let question = one.asker.ask(ask()).await.unwrap();
        question.decline().await.unwrap();
    }
    for _ in 0..20 {
        catch_up(&one, &other, Duration::from_secs(5)).await;
    }
    assert_eq!(one.post.count() + other.post.count(), 50);
}

#[tokio::test]
async fn an_attempt_that_lasts_is_not_made_by_another_engine_until_its_engine_is_gone() {
    let (one, other) = two_worlds().await;
    one.post.0.hangs.store(true, Ordering::Relaxed);
    other.post.0.hangs.store(true, Ordering::Relaxed);
    let question = one.asker.ask(ask()).await.unwrap();
    question.decline().await.unwrap();
    for _ in 0..40 {
        catch_up(&one, &other, Duration::from_secs(5)).await;
    }
    assert_eq!(one.post.count() + other.post.count(), 1);
    let (gone, left) = if one.post.count() == 1 {
        (one, other)
    } else {
        (other, one)
    };
    gone.engine.shutdown().await;
    left.post.0.hangs.store(false, Ordering::Relaxed);
    for _ in 0..7 {
        left.pass(Duration::from_secs(5)).await;
        for _ in 0..2_000 {
            tokio::task::yield_now().await;
        }
    }
    // Under the same id, which is that of the webhook.
    assert_eq!(left.post.count(), 1);
    let first = gone.post.0.ids.lock().unwrap().clone();
    assert_eq!(first, *left.post.0.ids.lock().unwrap());
}

#[tokio::test]
async fn an_engine_that_failed_leaves_the_next_attempt_to_either() {
    let (one, other) = two_worlds().await;
    for world in [&one, &other] {
        world.post.says(&[DeliveryResult::Failed; 6]);
    }
    let question = one.asker.ask(ask()).await.unwrap();
    question.decline().await.unwrap();
    for _ in 0..400 {
        catch_up(&one, &other, Duration::from_secs(10)).await;
    }
    // At once, and after 5 s, 30 s, 5 min, 30 min: in 4,000 s.
    assert_eq!(one.post.count() + other.post.count(), 5);
}

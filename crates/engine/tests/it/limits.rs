//! Limits per asker.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use entreat_core::{CancelReason, Timeout, UnixTime};
use entreat_engine::store::MemoryStore;
use entreat_engine::{
    ActError, Ask, AskError, Engine, EngineSettings, KeyRing, Limits, StatusFilter,
    SubscriptionItem,
};
use entreat_testkit::{SeededEntropy, VirtualClock};

use crate::world::{World, answer, form, unlimited};

fn ask() -> Ask {
    Ask::form(form())
}

async fn with_limits(limits: Limits) -> World {
    let mut settings = unlimited();
    settings.asker.limits = limits;
    World::with(MemoryStore::new(), settings).await
}

#[tokio::test]
async fn ten_a_minute_by_default_and_the_refusal_says_when_to_come_back() {
    let world = World::with(MemoryStore::new(), EngineSettings::default()).await;
    for _ in 0..10 {
        world.asker.ask(ask()).await.unwrap();
    }
    let error = world.asker.ask(ask()).await.unwrap_err();
    let AskError::RateLimited { retry_after } = error else {
        panic!("the eleventh is limited, but {error}");
    };
    assert_eq!(retry_after, Duration::from_secs(6));
    world.clock.advance(Duration::from_millis(5_999));
    assert!(world.asker.ask(ask()).await.is_err());
    world.clock.advance(Duration::from_millis(1));
    world.asker.ask(ask()).await.unwrap();
    // Another asker has its own rate limit.
    world.engine.asker("other").ask(ask()).await.unwrap();
}

#[tokio::test]
async fn what_was_refused_is_not_charged() {
    let world = World::with(MemoryStore::new(), EngineSettings::default()).await;
    for _ in 0..50 {
        let bad = ask().timeout(Timeout::of(Duration::from_millis(1)));
        assert!(world.asker.ask(bad).await.is_err());
        assert!(world.asker.ask(ask().size_limit(0)).await.is_err());
        world.clock.advance(Duration::from_millis(20));
    }
    for i in 0..9 {
        world
            .asker
            .ask(ask().idempotency_key(&i.to_string()))
            .await
            .unwrap();
    }
    for _ in 0..20 {
        let again = world.asker.ask(ask().idempotency_key("0")).await;
        assert!(again.is_ok(), "asking the same again is no creation");
    }
    world.asker.ask(ask()).await.unwrap();
    assert!(world.asker.ask(ask()).await.is_err());
}

#[tokio::test]
async fn only_live_ones_count() {
    let world = with_limits(Limits {
        live: 100,
        ..Limits::none()
    })
    .await;
    let mut ids = Vec::new();
    for _ in 0..100 {
        ids.push(world.asker.ask(ask()).await.unwrap().id());
    }
    let error = world.asker.ask(ask()).await.unwrap_err();
    assert!(
        matches!(error, AskError::TooManyLive { limit: 100 }),
        "{error}"
    );
    world.answer(ids[3]).await;
    world.asker.ask(ask()).await.unwrap();
    assert!(world.asker.ask(ask()).await.is_err());
    world.pass(300).await;
    assert_eq!(world.engine.live(), 0);
    world.asker.ask(ask()).await.unwrap();
}

#[tokio::test]
async fn all_askers_together_have_a_limit_too() {
    let mut settings = unlimited();
    settings.live = 5;
    let world = World::with(MemoryStore::new(), settings).await;
    for i in 0..5 {
        world.engine.asker(&i.to_string()).ask(ask()).await.unwrap();
    }
    let error = world.asker.ask(ask()).await.unwrap_err();
    assert!(matches!(error, AskError::TooManyLive { limit: 5 }));
}

#[tokio::test]
async fn a_flood_of_requests_of_any_kind_is_stopped() {
    let world = with_limits(Limits {
        requests_per_second: NonZeroU32::new(20),
        ..Limits::none()
    })
    .await;
    let question = world.asker.ask(ask()).await.unwrap();
    for _ in 0..19 {
        question.status().await.unwrap();
    }
    let error = question.status().await.unwrap_err();
    assert!(matches!(error, ActError::RateLimited { .. }));
    let listed = world.asker.list(StatusFilter::All, 10, None).await;
    assert!(matches!(listed, Err(ActError::RateLimited { .. })));
    // The respondent is not the asker.
    world.answer(question.id()).await;
    world.clock.advance(Duration::from_secs(1));
    question.status().await.unwrap();
}

#[tokio::test]
async fn new_limits_hold_at_once_and_old_counts_stay() {
    let world = World::new().await;
    world.asker.ask(ask()).await.unwrap();
    let mut settings = unlimited().asker;
    settings.limits.live = 1;
    let narrower = world.engine.asker_with("deployer", settings);
    assert!(narrower.ask(ask()).await.is_err());
    assert!(
        world.asker.ask(ask()).await.is_err(),
        "it is the same asker"
    );
}

#[tokio::test]
async fn a_flood_from_one_leaves_the_others_their_turn_and_memory_bounded() {
    let world = World::with(MemoryStore::new(), EngineSettings::default()).await;
    let mut refused = 0;
    for _ in 0..100_000 {
        refused += usize::from(world.asker.ask(ask()).await.is_err());
    }
    assert_eq!(refused, 100_000 - 10);
    assert_eq!(world.engine.live(), 10);
    let other = world.engine.asker("other");
    other.ask(ask()).await.unwrap();
}

#[tokio::test]
async fn askers_who_come_and_go_leave_nothing_behind() {
    let world = World::new().await;
    let ledgers = |engine: &Engine| format!("{engine:?}");
    for i in 0..1_000 {
        let visitor = world.engine.asker(&format!("visitor {i}"));
        let question = visitor.ask(ask()).await.unwrap();
        world
            .engine
            .elicitation(question.id())
            .decline()
            .await
            .unwrap();
    }
    assert!(
        ledgers(&world.engine).contains("askers: 1001"),
        "{:?}",
        world.engine
    );
    world.pass(120).await;
    assert!(
        ledgers(&world.engine).contains("askers: 1,"),
        "{:?}",
        world.engine
    );
}

#[tokio::test]
async fn a_principal_has_a_share_of_what_its_asker_may_have_live() {
    let world = with_limits(Limits {
        live: 100,
        ..Limits::none()
    })
    .await;
    let (ada, eve) = (
        world.asker.on_behalf_of("ada"),
        world.asker.on_behalf_of("eve"),
    );
    let mut ids = Vec::new();
    for _ in 0..25 {
        ids.push(eve.ask(ask()).await.unwrap().id());
    }
    let error = eve.ask(ask()).await.unwrap_err();
    assert!(
        matches!(error, AskError::TooManyLive { limit: 25 }),
        "{error}"
    );
    ada.ask(ask()).await.unwrap();
    // The program itself has no principal, and gets the rest.
    for _ in 0..74 {
        world.asker.ask(ask()).await.unwrap();
    }
    assert!(ada.ask(ask()).await.is_err());
    let person = world.engine.elicitation(ids[3]);
    person.submit(&answer()).await.unwrap();
    eve.ask(ask()).await.unwrap();
    assert!(eve.ask(ask()).await.is_err());
}

#[tokio::test]
async fn principals_share_what_the_engine_allows_in_all_even_without_other_limits() {
    let mut settings = unlimited();
    settings.live = 8;
    settings.asker.limits = Limits::none();
    let world = World::with(MemoryStore::new(), settings).await;
    let eve = world.asker.on_behalf_of("eve");
    for _ in 0..2 {
        eve.ask(ask()).await.unwrap();
    }
    let error = eve.ask(ask()).await.unwrap_err();
    assert!(
        matches!(error, AskError::TooManyLive { limit: 2 }),
        "{error}"
    );
    world.asker.on_behalf_of("ada").ask(ask()).await.unwrap();
}

#[tokio::test]
async fn a_principal_cannot_use_up_the_rates_of_its_asker() {
    let world = World::with(MemoryStore::new(), EngineSettings::default()).await;
    let (ada, eve) = (
        world.asker.on_behalf_of("ada"),
        world.asker.on_behalf_of("eve"),
    );
    let mut asked = 0;
    while eve.ask(ask()).await.is_ok() {
        asked += 1;
    }
    assert_eq!(asked, 3);
    for _ in 0..100 {
        let error = eve.ask(ask()).await.unwrap_err();
        assert!(matches!(error, AskError::RateLimited { .. }), "{error}");
    }
    let question = ada.ask(ask()).await.unwrap();
    question.status().await.unwrap();
    ada.ask(ask()).await.unwrap();
}

#[tokio::test]
async fn the_shares_of_principals_hold_after_a_restart() {
    let (clock, store) = (
        VirtualClock::new(UnixTime::from_millis(0)),
        Arc::new(MemoryStore::new()),
    );
    let mut settings = unlimited();
    settings.asker.limits.live = 8;
    let start = || async {
        let engine = Engine::builder()
            .keys(KeyRing::generate(&SeededEntropy::new(7)))
            .shared_store(store.clone())
            .clock(clock.clone());
        engine.settings(settings.clone()).start().await.unwrap()
    };
    let engine = start().await;
    let eve = engine.asker("mcp").on_behalf_of("eve");
    let first = eve.ask(ask().durable()).await.unwrap().id();
    eve.ask(ask().durable()).await.unwrap();
    engine.shutdown().await;

    let engine = start().await;
    let eve = engine.asker("mcp").on_behalf_of("eve");
    assert!(eve.ask(ask()).await.is_err());
    engine.elicitation(first).submit(&answer()).await.unwrap();
    eve.ask(ask()).await.unwrap();
    assert!(eve.ask(ask()).await.is_err());
    engine
        .asker("mcp")
        .on_behalf_of("ada")
        .ask(ask())
        .await
        .unwrap();
}

#[tokio::test]
async fn a_principal_sees_its_own_elicitations_and_no_others() {
    let world = with_limits(Limits::none()).await;
    let (ada, eve) = (
        world.asker.on_behalf_of("lovelace"),
        world.asker.on_behalf_of("eve"),
    );
    let question = ada.ask(ask().idempotency_key("k")).await.unwrap();
    let mut heard = eve.subscribe();
    let other = eve.elicitation(question.id());
    for told in [
        other.status().await.unwrap_err(),
        other
            .cancel(CancelReason::AskerCancelled)
            .await
            .unwrap_err(),
        other.outcome().await.unwrap_err(),
        other.outcome_within(Duration::ZERO).await.unwrap_err(),
        other.submit(&answer()).await.unwrap_err(),
    ] {
        assert!(matches!(told, ActError::NotFound), "{told}");
    }
    assert!(
        eve.list(StatusFilter::All, 10, None)
            .await
            .unwrap()
            .elicitations
            .is_empty()
    );
    assert_eq!(
        ada.list(StatusFilter::All, 10, None)
            .await
            .unwrap()
            .elicitations
            .len(),
        1
    );
    // Another asker's idempotency key is a different key.
    let own = eve.ask(ask().idempotency_key("k")).await.unwrap();
    assert_ne!(own.id(), question.id());
    let again = ada.ask(ask().idempotency_key("k")).await.unwrap();
    assert_eq!(again.id(), question.id());
    ada.elicitation(question.id())
        .cancel(CancelReason::AskerCancelled)
        .await
        .unwrap();
    let Some(SubscriptionItem::Event(event)) = heard.next().await else {
        panic!("an event");
    };
    assert_eq!(event.id(), own.id());
    let itself = world.asker.on_its_own_behalf().elicitation(question.id());
    assert!(matches!(itself.status().await, Err(ActError::NotFound)));
    // The program itself sees all of them, and no log names their owners.
    let seen = world
        .asker
        .elicitation(question.id())
        .status()
        .await
        .unwrap();
    assert!(!format!("{:?}", seen.record()).contains("lovelace"));
}

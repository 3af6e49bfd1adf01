//! Creating, loading and replacing records.

use std::sync::Arc;

use entreat_core::{Command, Mode, TextFormat, Unknown};
use entreat_engine::store::Created;
use entreat_engine::{
    Actor, AnswerState, Channel, Extras, KeyRing, MemoryPermit, Payload, Principal, Record,
    RespondentAuth, Sealed, SetAside, Store, StoreError, Subject, Vault, Version,
};
use serde_json::json;

use super::{at, broken, kept, loaded, stepped};
use crate::SeededEntropy;
use crate::records::{self, assert_same};
use crate::samples;

/// A created record can be loaded; other ids cannot.
pub async fn a_new_record_is_loaded_as_it_was_kept(store: Arc<impl Store>) {
    let record = records::pending("asker", at(0), 1);
    assert!(kept(store.load(record.id)).await.is_none());
    assert_eq!(kept(store.create(record.clone())).await, Created::New);
    assert_same(&loaded(&*store, &record).await, &record);
    assert!(kept(store.load(records::id(at(0), 2))).await.is_none());
}

/// An asker can load its own record, live or settled.
pub async fn an_asker_finds_its_own_record(store: Arc<impl Store>) {
    let own: Arc<str> = "asker".into();
    let live = records::pending("asker", at(0), 1);
    assert!(kept(store.load_for(live.id, &own)).await.is_none());
    kept(store.create(live.clone())).await;
    let settled = records::declined(&live, at(1));
    for record in [&live, &settled] {
        if record.version != live.version {
            kept(store.commit(record.clone())).await;
        }
        let found = kept(store.load_for(record.id, &own)).await;
        assert_same(
            &found.unwrap_or_else(|| broken("its own record is missing")),
            record,
        );
        // Another asker's record may be returned; the caller checks ownership.
        let other: Arc<str> = "other".into();
        if let Some(found) = kept(store.load_for(record.id, &other)).await {
            assert_same(&found, record);
        }
    }
}

/// A record with every field set round-trips.
pub async fn a_record_with_everything_is_kept(store: Arc<impl Store>) {
    let mut record = records::pending("asker with a space and \u{1f44d}", at(0), 1);
    let request = &mut record.to_mut().request;
    request.mode = Mode::Url;
    request.channel = Channel::Link;
    request.subject = Subject::Url("https://example.com/a?b=c".into());
    request.unknown = Unknown::Ignore;
    request.durable = false;
    request.wipe = true;
    request.size_limit = u32::MAX;
    request.extras = Some(Arc::new(Extras {
        introduced_as: Some("An agent".into()),
        text_format: TextFormat::Plain,
        message: Some("Why \"this\" is asked".into()),
        // No store keeps it.
        confidential_message: None,
        respondent: Some("ada@example.com".into()),
        respondent_auth: Some(RespondentAuth {
            max_age: Some(300),
            acr: Some("urn:example:mfa".into()),
        }),
        is_reassigned: true,
        callback: Some("https://example.com/callback".into()),
        metadata: Some(json!({
            "nothing": null, "deep": [[{"a": [true, -1, 18_446_744_073_709_551_615_u64]}]],
            "exact": [0.1, 1e-7, 123_456.789_012_345_67, -0.0, 1.0, 5e-324],
            "order": {"z": 1, "a": 2},
        })),
        idempotency_key: Some("key".into()),
        script: Some(json!([{"say": "hello"}])),
        principal: Some(Principal("ada".into())),
        memory: MemoryPermit::default(),
    }));
    record.to_mut().author = u64::MAX;
    record.to_mut().answer_state = Some(Arc::new(AnswerState {
        draft: Some(records::payload("{\"a\":\"\\u0000\"}")),
        result: Some(records::payload("")),
        missing: vec!["a".into(), "b".into()],
        errors: Some("[]".into()),
        typist: Some("a browser".into()),
        set_aside: vec![SetAside {
            typist: Some("browser.bob".into()),
            draft: records::payload(r#"{"name":"B"}"#),
            errors: Some("[]".into()),
        }],
        settled_by: Some(Box::new(Actor {
            account: "https://id.example#ada".into(),
            name: "Ada".into(),
            is_operator: true,
        })),
        submission: Some(Box::new(json!({"user_agent": "x"}))),
        delivery: None,
        memory: MemoryPermit::default(),
    }));
    kept(store.create(record.clone())).await;
    assert_same(&loaded(&*store, &record).await, &record);

    // A settled record may be stored elsewhere than a live one, and must stay complete.
    let settled = records::declined(&record, at(1));
    kept(store.commit(settled.clone())).await;
    assert_same(&loaded(&*store, &record).await, &settled);

    let form = samples::comprehensive();
    let timeout = entreat_core::Timeout::default();
    let record = records::pending_with("asker", at(2), 2, timeout, form);
    kept(store.create(record.clone())).await;
    assert_same(&loaded(&*store, &record).await, &record);
}

/// The health check of a working store succeeds repeatedly.
pub async fn a_store_that_works_passes_its_check(store: Arc<impl Store>) {
    for seconds in 0..3 {
        kept(store.check(at(seconds * 1000))).await;
    }
    kept(store.check(at(0))).await;
}

/// Only heavy records in memory are returned.
pub async fn heavy_answers_in_memory_are_named(store: Arc<impl Store>) {
    let heavy = records::drafted(
        &records::pending("asker", at(0), 1),
        at(1),
        &"x".repeat(9000),
    );
    let light = records::drafted(&records::pending("asker", at(0), 2), at(1), "{}");
    let none = records::pending("asker", at(0), 3);
    for record in [&heavy, &light, &none] {
        kept(store.create(record.clone())).await;
    }
    let named = kept(store.resident_records(9000)).await;
    // A store that keeps nothing in memory returns nothing.
    let ids: Vec<_> = named.iter().map(|record| record.id).collect();
    assert!(ids.is_empty() || ids == [heavy.id], "{ids:?}");
}

/// A step replaces the record.
pub async fn a_step_replaces_the_record(store: Arc<impl Store>) {
    let record = records::pending("asker", at(0), 1);
    kept(store.create(record.clone())).await;
    let drafted = records::drafted(&record, at(10), r#"{"name":"A"}"#);
    kept(store.commit(drafted.clone())).await;
    assert_same(&loaded(&*store, &record).await, &drafted);
    let answered = records::answered(&drafted, at(20), r#"{"name":"Ada"}"#);
    kept(store.commit(answered.clone())).await;
    assert_same(&loaded(&*store, &record).await, &answered);
}

/// A step from an old version fails with the stored version and changes nothing.
pub async fn a_step_for_another_version_changes_nothing(store: Arc<impl Store>) {
    let record = records::pending("asker", at(0), 1);
    kept(store.create(record.clone())).await;
    let first = records::step(&record, Command::Open, at(1));
    kept(store.commit(first.clone())).await;
    assert_conflict(&*store, records::declined(&record, at(2)), 0, 1).await;
    let shown = records::step(&record, Command::Show, at(2));
    assert_conflict(&*store, shown, 0, 1).await;
    // Nor is a step from a future version accepted.
    let second = records::step(&first, Command::Show, at(3));
    let third = records::declined(&second, at(4));
    assert_conflict(&*store, third, 2, 1).await;
    assert_same(&loaded(&*store, &record).await, &first);

    let settled = records::declined(&first, at(5));
    kept(store.commit(settled.clone())).await;
    let late = records::answered(&first, at(6), "{}");
    assert_conflict(&*store, late, 1, 2).await;
    let opened = records::step(&first, Command::Show, at(6));
    assert_conflict(&*store, opened, 1, 2).await;
    assert_same(&loaded(&*store, &record).await, &settled);
}

async fn assert_conflict(store: &impl Store, step: Record, expected: u32, found: u32) {
    let step_id = step.id;
    match store.commit(step).await {
        Err(StoreError::Conflict {
            id,
            expected: was_expected,
            found: was_found,
        }) => assert_eq!(
            (id, was_expected, was_found),
            (step_id, Version(expected), Version(found))
        ),
        other => broken(&format!("expected a conflict, got {other:?}")),
    }
}

/// A step of an unknown record fails.
pub async fn a_step_for_an_unknown_record_is_missing(store: Arc<impl Store>) {
    let record = records::pending("asker", at(0), 1);
    for step in [
        records::step(&record, Command::Open, at(1)),
        records::declined(&record, at(1)),
    ] {
        match store.commit(step).await {
            Err(StoreError::Missing(id)) => assert_eq!(id, record.id),
            other => broken(&format!("expected that it is missing, got {other:?}")),
        }
    }
    assert!(kept(store.load(record.id)).await.is_none());
}

/// A settled record accepts changes, such as wiping secrets after delivery.
pub async fn a_settled_record_takes_further_steps(store: Arc<impl Store>) {
    for (number, first, second) in [
        (1, false, false),
        (2, true, false),
        (3, false, true),
        (4, true, true),
    ] {
        let record = records::pending("asker", at(0), number);
        kept(store.create(record.clone())).await;
        let settled = records::answered(&record, at(1), r#"{"name":"Ada"}"#);
        stepped(&*store, settled.clone(), first).await;
        assert_same(&loaded(&*store, &record).await, &settled);
        let mut wiped = settled.clone();
        wiped.to_mut().version = settled.version.next();
        wiped.to_mut().answer_state = None;
        stepped(&*store, wiped.clone(), second).await;
        assert_same(&loaded(&*store, &record).await, &wiped);
        assert_conflict(&*store, wiped, 1, 2).await;
    }
}

/// A repeated idempotency key returns the first record, even if it has settled.
pub async fn a_key_names_the_first_record_of_its_asker(store: Arc<impl Store>) {
    let first = records::with_key(records::pending("asker", at(0), 1), "key");
    assert_eq!(kept(store.create(first.clone())).await, Created::New);
    let again = records::with_key(records::pending("asker", at(1), 2), "key");
    let before = Created::Existing(first.id);
    assert_eq!(kept(store.create(again.clone())).await, before);
    assert!(kept(store.load(again.id)).await.is_none());
    kept(store.commit(records::declined(&first, at(2)))).await;
    assert_eq!(kept(store.create(again.clone())).await, before);
    let other = records::with_key(again, "another key");
    assert_eq!(kept(store.create(other)).await, Created::New);
}

/// Idempotency keys are scoped to the asker.
pub async fn two_askers_may_use_the_same_key(store: Arc<impl Store>) {
    for (asker, number) in [("one", 1), ("other", 2), ("on", 3)] {
        let record = records::with_key(records::pending(asker, at(0), number), "key");
        assert_eq!(kept(store.create(record)).await, Created::New, "{asker}");
    }
    // The concatenation of asker and key is the same for these two.
    let record = records::with_key(records::pending("on", at(0), 4), "ekey");
    assert_eq!(kept(store.create(record)).await, Created::New);
}

/// The largest allowed result round-trips.
pub async fn a_large_payload_is_kept(store: Arc<impl Store>) {
    let record = records::pending("asker", at(0), 1);
    kept(store.create(record.clone())).await;
    let text = format!("{{\"name\":\"{}\"}}", "\\\"\u{e9}".repeat(16 << 18));
    let answered = records::answered(&record, at(1), &text);
    kept(store.commit(answered.clone())).await;
    assert_same(&loaded(&*store, &record).await, &answered);
}

/// Sealed data round-trips, in a draft and in a result.
pub async fn a_sealed_payload_is_kept_bit_by_bit(store: Arc<impl Store>) {
    let payload = Payload {
        text: r#"{"pin":"[sealed]"}"#.into(),
        sealed: Some(Box::new(sealed())),
    };
    let mut record = records::pending("asker", at(0), 1);
    record.to_mut().answer_state = Some(Arc::new(AnswerState {
        draft: Some(payload.clone()),
        ..AnswerState::default()
    }));
    kept(store.create(record.clone())).await;
    assert_same(&loaded(&*store, &record).await, &record);
    let mut settled = records::declined(&record, at(1));
    settled.to_mut().answer_state = Some(Arc::new(AnswerState {
        result: Some(payload),
        ..AnswerState::default()
    }));
    kept(store.commit(settled.clone())).await;
    assert_same(&loaded(&*store, &record).await, &settled);
}

/// Sealed fields, one of them with every byte value.
fn sealed() -> Sealed {
    let keys = KeyRing::generate(&SeededEntropy::new(1));
    let vault = Vault::new(keys, Arc::new(SeededEntropy::new(2)));
    let bytes: Vec<u8> = (0..=u8::MAX).collect();
    let fields = [("pin", bytes.as_slice()), ("a", b"secret")];
    vault.seal(records::id(at(0), 1), fields.into_iter())
}

/// Notes are stored by name, and replaced.
pub async fn notes_are_kept_by_name(store: Arc<impl Store>) {
    assert_eq!(kept(store.load_note("one")).await, None);
    kept(store.save_note("one", "first".into())).await;
    kept(store.save_note("other", String::new())).await;
    kept(store.save_note("one", "sec\u{f6}nd".into())).await;
    assert_eq!(
        kept(store.load_note("one")).await.as_deref(),
        Some("sec\u{f6}nd")
    );
    assert_eq!(kept(store.load_note("other")).await.as_deref(), Some(""));
}

//! Keeping a record, and replacing it.

use std::sync::Arc;

use entreat_core::{Command, Mode, Unknown};
use entreat_engine::store::Created;
use entreat_engine::{
    Channel, Extras, Held, HeldPlace, KeyRing, Payload, Principal, Record, Sealed, Store,
    StoreError, Subject, Vault, Version,
};
use serde_json::json;

use super::{at, broken, kept, loaded, stepped};
use crate::SeededEntropy;
use crate::records::{self, assert_same};
use crate::samples;

/// What was created is loaded again, and nothing else is there.
pub async fn a_new_record_is_loaded_as_it_was_kept(store: Arc<impl Store>) {
    let record = records::pending("asker", at(0), 1);
    assert!(kept(store.load(record.id)).await.is_none());
    assert_eq!(kept(store.create(record.clone())).await, Created::Fresh);
    assert_same(&loaded(&*store, &record).await, &record);
    assert!(kept(store.load(records::id(at(0), 2))).await.is_none());
}

/// An asker finds its own record as anybody does, live or settled.
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
            &found.unwrap_or_else(|| broken("its own record is there")),
            record,
        );
        // Whose it is is for the caller to see, if it is given at all.
        let other: Arc<str> = "other".into();
        if let Some(found) = kept(store.load_for(record.id, &other)).await {
            assert_same(&found, record);
        }
    }
}

/// Everything that a record can hold comes back.
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
        message: Some("Why \"this\" is asked".into()),
        respondent: Some("ada@example.com".into()),
        callback: Some("https://example.com/callback".into()),
        metadata: Some(json!({
            "nothing": null, "deep": [[{"a": [true, -1, 18_446_744_073_709_551_615_u64]}]],
            "exact": [0.1, 1e-7, 123_456.789_012_345_67, -0.0, 1.0, 5e-324],
            "order": {"z": 1, "a": 2},
        })),
        idempotency_key: Some("key".into()),
        script: Some(json!([{"say": "hello"}])),
        principal: Some(Principal("ada".into())),
        place: HeldPlace::default(),
    }));
    record.to_mut().held = Some(Arc::new(Held {
        draft: Some(records::payload("{\"a\":\"\\u0000\"}")),
        result: Some(records::payload("")),
        missing: vec!["a".into(), "b".into()],
        errors: Some("[]".into()),
        typist: Some("a browser".into()),
        submission: Some(Box::new(json!({"user_agent": "x"}))),
        delivery: None,
        place: HeldPlace::default(),
    }));
    kept(store.create(record.clone())).await;
    assert_same(&loaded(&*store, &record).await, &record);

    // A settled record may be kept elsewhere than a live one, and must lose nothing by it.
    let settled = records::declined(&record, at(1));
    kept(store.commit(settled.clone())).await;
    assert_same(&loaded(&*store, &record).await, &settled);

    let form = samples::comprehensive();
    let timeout = entreat_core::Timeout::default();
    let record = records::pending_with("asker", at(2), 2, timeout, form);
    kept(store.create(record.clone())).await;
    assert_same(&loaded(&*store, &record).await, &record);
}

/// A store that works says so, as often as it is asked.
pub async fn a_store_that_works_passes_its_check(store: Arc<impl Store>) {
    for seconds in 0..3 {
        kept(store.check(at(seconds * 1000))).await;
    }
    kept(store.check(at(0))).await;
}

/// What is heavy and in memory is named, and nothing else is.
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
    let named = kept(store.held_in_memory(9000)).await;
    // A store that has nothing in memory names nothing.
    let ids: Vec<_> = named.iter().map(|record| record.id).collect();
    assert!(ids.is_empty() || ids == [heavy.id], "{ids:?}");
}

/// A step takes the record's place.
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

/// Who comes second is told which version is kept, and changes nothing.
pub async fn a_step_for_another_version_changes_nothing(store: Arc<impl Store>) {
    let record = records::pending("asker", at(0), 1);
    kept(store.create(record.clone())).await;
    let first = records::step(&record, Command::Open, at(1));
    kept(store.commit(first.clone())).await;
    assert_conflict(&*store, records::declined(&record, at(2)), 0, 1).await;
    let shown = records::step(&record, Command::Show, at(2));
    assert_conflict(&*store, shown, 0, 1).await;
    // A step from a version that nobody has seen is not taken either.
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

/// A step for what is not kept says so.
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

/// What is over can still be stepped on: its secrets are wiped once they were delivered.
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
        wiped.to_mut().held = None;
        stepped(&*store, wiped.clone(), second).await;
        assert_same(&loaded(&*store, &record).await, &wiped);
        assert_conflict(&*store, wiped, 1, 2).await;
    }
}

/// Asking again with the same key is asking once, also when the first has settled.
pub async fn a_key_names_the_first_record_of_its_asker(store: Arc<impl Store>) {
    let first = records::with_key(records::pending("asker", at(0), 1), "key");
    assert_eq!(kept(store.create(first.clone())).await, Created::Fresh);
    let again = records::with_key(records::pending("asker", at(1), 2), "key");
    let before = Created::Before(first.id);
    assert_eq!(kept(store.create(again.clone())).await, before);
    assert!(kept(store.load(again.id)).await.is_none());
    kept(store.commit(records::declined(&first, at(2)))).await;
    assert_eq!(kept(store.create(again.clone())).await, before);
    let other = records::with_key(again, "another key");
    assert_eq!(kept(store.create(other)).await, Created::Fresh);
}

/// A key is its asker's own.
pub async fn two_askers_may_use_the_same_key(store: Arc<impl Store>) {
    for (asker, number) in [("one", 1), ("other", 2), ("on", 3)] {
        let record = records::with_key(records::pending(asker, at(0), number), "key");
        assert_eq!(kept(store.create(record)).await, Created::Fresh, "{asker}");
    }
    // Put together, asker and key of these two read the same.
    let record = records::with_key(records::pending("on", at(0), 4), "ekey");
    assert_eq!(kept(store.create(record)).await, Created::Fresh);
}

/// The largest result that a form may have comes back byte for byte.
pub async fn a_large_payload_is_kept(store: Arc<impl Store>) {
    let record = records::pending("asker", at(0), 1);
    kept(store.create(record.clone())).await;
    let text = format!("{{\"name\":\"{}\"}}", "\\\"\u{e9}".repeat(16 << 18));
    let answered = records::answered(&record, at(1), &text);
    kept(store.commit(answered.clone())).await;
    assert_same(&loaded(&*store, &record).await, &answered);
}

/// What is sealed comes back as it was, in a draft and in a result.
pub async fn a_sealed_payload_is_kept_bit_by_bit(store: Arc<impl Store>) {
    let payload = Payload {
        text: r#"{"pin":"[sealed]"}"#.into(),
        sealed: Some(Box::new(sealed())),
    };
    let mut record = records::pending("asker", at(0), 1);
    record.to_mut().held = Some(Arc::new(Held {
        draft: Some(payload.clone()),
        ..Held::default()
    }));
    kept(store.create(record.clone())).await;
    assert_same(&loaded(&*store, &record).await, &record);
    let mut settled = records::declined(&record, at(1));
    settled.to_mut().held = Some(Arc::new(Held {
        result: Some(payload),
        ..Held::default()
    }));
    kept(store.commit(settled.clone())).await;
    assert_same(&loaded(&*store, &record).await, &settled);
}

/// Sealed fields, one of them with every byte in it.
fn sealed() -> Sealed {
    let keys = KeyRing::generate(&SeededEntropy::new(1));
    let vault = Vault::new(keys, Arc::new(SeededEntropy::new(2)));
    let bytes: Vec<u8> = (0..=u8::MAX).collect();
    let fields = [("pin", bytes.as_slice()), ("a", b"secret")];
    vault.seal(records::id(at(0), 1), fields.into_iter())
}

/// Notes are kept by name, and replaced.
pub async fn notes_are_kept_by_name(store: Arc<impl Store>) {
    assert_eq!(kept(store.note("one")).await, None);
    kept(store.keep_note("one", "first".into())).await;
    kept(store.keep_note("other", String::new())).await;
    kept(store.keep_note("one", "sec\u{f6}nd".into())).await;
    assert_eq!(
        kept(store.note("one")).await.as_deref(),
        Some("sec\u{f6}nd")
    );
    assert_eq!(kept(store.note("other")).await.as_deref(), Some(""));
}

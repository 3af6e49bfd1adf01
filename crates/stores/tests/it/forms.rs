//! Forms are restored from a store unchanged.

use std::sync::Arc;

use entreat_core::schema::{import, json_schema};
use entreat_core::{Form, Timeout, TypedForm, UnixTime, ValidatorError, Validators};
use entreat_engine::{Record, Store, StoreError, Subject};
use entreat_stores::{EmbeddedOptions, EmbeddedStore};
use entreat_testkit::{Generator, arbitrary, records, samples};
use serde_json::json;

fn at(millis: u64) -> UnixTime {
    UnixTime::from_millis(1_706_889_000_000 + millis)
}

fn asked(form: Form, number: u64) -> Record {
    records::pending_with("asker", at(number), number, Timeout::default(), form)
}

/// What was derived from a type.
#[derive(Form)]
#[expect(dead_code, reason = "only its form is looked at")]
struct Derived {
    /// Your name
    name: String,
    age: Option<u8>,
    share: f64,
}

fn forms() -> Vec<Form> {
    let mut forms = vec![
        samples::minimal(),
        samples::comprehensive(),
        Derived::form().clone(),
    ];
    forms.push(
        import(&json_schema(&samples::comprehensive()))
            .unwrap()
            .form,
    );
    forms.extend((0..200).map(|seed| Form::from_value(&arbitrary::form(seed)).unwrap()));
    let awkward = json!({
        "id": "awkward", "title": "Numbers that text does not keep",
        "fields": [{"id": "a", "type": "number", "label": "A", "default": 0.1,
            "validation": {"minimum": -0.0, "maximum": 1.797_693_134_862_315_7e308,
                           "multipleOf": 5e-324}}],
        "metadata": {"z": 1, "a": [0.1, 0.300_000_000_000_000_04, 123_456.789_012_345_67, 9_007_199_254_740_993_u64]},
    });
    forms.push(Form::from_value(&awkward).unwrap());
    forms
}

#[tokio::test]
async fn written_imported_and_derived_forms_come_back_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = EmbeddedStore::open(&path, EmbeddedOptions::default()).unwrap();
    let forms = forms();
    for (number, form) in (0..).zip(&forms) {
        store.create(asked(form.clone(), number)).await.unwrap();
    }
    store.close().await;

    let store = EmbeddedStore::open(&path, EmbeddedOptions::default()).unwrap();
    for (number, form) in (0..).zip(&forms) {
        let record = store.load(records::id(at(number), number)).await.unwrap();
        let Subject::Form(loaded) = &record.as_ref().unwrap().request.subject else {
            panic!("it was a form")
        };
        assert_eq!(loaded.definition(), form.definition());
        assert_eq!(
            loaded.definition().to_string(),
            form.definition().to_string()
        );
        assert_eq!(json_schema(loaded), json_schema(form));
        let mut generator = Generator::new(form, number);
        let answers = generator.valid().into_iter().chain([json!({})]);
        for answer in answers {
            let (one, other) = (form.check(&answer), loaded.check(&answer));
            assert_eq!(format!("{one:?}"), format!("{other:?}"));
        }
    }
}

#[tokio::test]
async fn records_with_one_form_share_it_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = EmbeddedStore::open(&path, EmbeddedOptions::default()).unwrap();
    for number in 0..3 {
        // Loaded again each time, as if by three processes: only the definition is the same.
        store
            .create(asked(samples::minimal(), number))
            .await
            .unwrap();
    }
    store.close().await;
    let store = EmbeddedStore::open(&path, EmbeddedOptions::default()).unwrap();
    let mut places = Vec::new();
    for number in 0..3 {
        let record = store.load(records::id(at(number), number)).await.unwrap();
        let form = record.unwrap().request.subject.form().cloned().unwrap();
        places.push(std::ptr::from_ref(form.definition()));
    }
    assert!(places.iter().all(|place| *place == places[0]));
}

#[tokio::test]
async fn a_form_that_does_not_load_any_more_harms_its_own_records_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let mut validators = Validators::default();
    validators.register("no_admin", |_| Err(ValidatorError::new("name", "never")));
    let definition = json!({
        "id": "f", "title": "F", "fields": [{"id": "name", "type": "text", "label": "Name"}],
        "validation": {"custom_validators": ["no_admin"]},
    });
    let custom = Form::with_validators(&definition, &validators).unwrap();
    let options = EmbeddedOptions {
        validators,
        ..EmbeddedOptions::default()
    };

    let store = EmbeddedStore::open(&path, options.clone()).unwrap();
    let (live, settled, plain) = (
        asked(custom.clone(), 1),
        asked(custom, 2),
        asked(samples::minimal(), 3),
    );
    for record in [&live, &settled, &plain] {
        store.create(record.clone()).await.unwrap();
    }
    store
        .commit(records::declined(&settled, at(9)))
        .await
        .unwrap();
    store.close().await;

    // This time, the host program doesn't register its validator.
    let store = EmbeddedStore::open(&path, EmbeddedOptions::default()).unwrap();
    for record in [&live, &settled] {
        match store.load(record.id).await {
            Err(StoreError::Unreadable { id, source }) => {
                assert_eq!(id, record.id);
                assert_eq!(source.to_string(), "its form does not load");
            }
            other => panic!("expected that it cannot be read, got {other:?}"),
        }
    }
    assert!(store.load(plain.id).await.unwrap().is_some());
    let query = entreat_engine::store::Query {
        asker: None,
        respondents: None,
        which: entreat_engine::store::StatusFilter::All,
        before: None,
        limit: 10,
    };
    let listed = store.list(query).await.unwrap();
    assert_eq!(listed.iter().map(|r| r.id).collect::<Vec<_>>(), [plain.id]);
    store.close().await;

    // Next time, it does.
    let store = EmbeddedStore::open(&path, options).unwrap();
    let record = store.load(live.id).await.unwrap().unwrap();
    let form = record.request.subject.form().unwrap();
    assert!(form.check(&json!({"name": "x"})).is_err());
    assert!(store.load(settled.id).await.unwrap().is_some());
}

#[tokio::test]
async fn a_form_is_kept_once_and_forgotten_with_its_last_record() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = Arc::new(EmbeddedStore::open(&path, EmbeddedOptions::default()).unwrap());
    for number in 0..5 {
        let record = asked(samples::comprehensive(), number);
        store.create(record.clone()).await.unwrap();
        store
            .commit(records::declined(&record, at(100 + number)))
            .await
            .unwrap();
    }
    store.create(asked(samples::minimal(), 9)).await.unwrap();
    assert_eq!(kept_forms(&path), [1, 5]);
    assert_eq!(store.purge(at(103), 100).await.unwrap(), 3);
    assert_eq!(kept_forms(&path), [1, 2]);
    assert_eq!(store.purge(at(1000), 100).await.unwrap(), 2);
    assert_eq!(kept_forms(&path), [1]);
}

/// The number of records that use each form, read from outside.
fn kept_forms(path: &std::path::Path) -> Vec<i64> {
    let connection = rusqlite::Connection::open(path).unwrap();
    let mut statement = connection
        .prepare("SELECT uses FROM form ORDER BY uses")
        .unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

//! Who acts on a question: drafts of several people, who settled it, and for whom it is.

use entreat_core::{CancelReason, Form, Status};
use entreat_engine::{ActError, Actor, Ask, Elicitation, KeyRing, Operator};
use serde_json::{Map, Value, json};

use crate::world::World;

fn actor(name: &str) -> Actor {
    Actor {
        account: format!("https://id.example#{name}").into(),
        name: name.into(),
        is_operator: false,
    }
}

fn form() -> Form {
    Form::from_value(&json!({"id": "f", "title": "Deploy", "fields": [
        {"id": "name", "type": "text", "label": "Name"},
        {"id": "token", "type": "text", "label": "Token", "sensitive": true},
    ]}))
    .unwrap()
}

async fn asked(world: &World) -> Elicitation {
    let ask = Ask::form(form()).respondent("group:ops");
    world.asker.ask(ask).await.unwrap()
}

/// The question as this person answers it, in a browser of their own.
fn by(world: &World, question: &Elicitation, name: &str) -> Elicitation {
    let question = world.engine.elicitation(question.id());
    let typist = format!("browser-of-{name}.{name}");
    question.typed_by(&typist).acting(actor(name))
}

async fn types(question: &Elicitation, field: &str, text: &str) -> Map<String, Value> {
    let edit = |draft: &mut Map<String, Value>| {
        draft.insert(field.to_owned(), text.into());
    };
    question.edit_draft(edit).await.unwrap()
}

#[tokio::test]
async fn each_person_has_a_draft_with_its_own_secrets_and_errors() {
    let world = World::new().await;
    let question = asked(&world).await;
    let (ada, bob) = (by(&world, &question, "ada"), by(&world, &question, "bob"));
    types(&ada, "token", "adas-secret").await;
    assert_eq!(bob.read_draft().await.unwrap(), Map::new());
    let after = types(&bob, "name", "Bob").await;
    assert_eq!(Value::from(after), json!({"name": "Bob"}));
    let draft = ada.read_draft().await.unwrap();
    let wrong = json!({"name": 7});
    let refused = ada.submit_draft(&draft, &wrong, None);
    assert!(matches!(refused.await, Err(ActError::Invalid(_))));
    let errors = |snapshot: entreat_engine::Snapshot| {
        let held = snapshot.record().answer_state.clone();
        held.and_then(|held| held.errors.clone())
    };
    let seen = |name: &str| {
        let typist = format!("browser-of-{name}.{name}");
        let question = world.engine.elicitation(question.id());
        async move { question.status().await.unwrap().for_typist(&typist) }
    };
    assert!(errors(seen("ada").await).is_some());
    assert!(errors(seen("bob").await).is_none());
    assert_eq!(seen("bob").await.draft()["name"], "Bob");
    assert_eq!(seen("eve").await.draft(), Map::new());
    assert_eq!(seen("eve").await.typist(), None);
    let draft = ada.read_draft().await.unwrap();
    assert_eq!(Value::from(draft.clone()), json!({"token": "adas-secret"}));
    // Whoever types in the same browser is another person.
    let borrowed = world.engine.elicitation(question.id());
    let borrowed = borrowed.typed_by("browser-of-ada.eve");
    assert_eq!(borrowed.read_draft().await.unwrap(), Map::new());
    ada.submit_draft(&draft, &draft.clone().into(), None)
        .await
        .unwrap();
    let settled = question.status().await.unwrap();
    assert_eq!(settled.settled_by(), Some(&actor("ada")));
    // Nobody's draft is kept.
    let held = settled.record().answer_state.as_ref().unwrap();
    assert!(held.set_aside.is_empty() && held.draft.is_none());
}

#[tokio::test]
async fn everybody_begins_with_what_a_program_filled_in() {
    let world = World::new().await;
    let question = asked(&world).await;
    let host = world.engine.elicitation(question.id());
    host.draft(&json!({"name": "suggested"})).await.unwrap();
    for name in ["ada", "bob"] {
        let own = by(&world, &question, name);
        assert_eq!(own.read_draft().await.unwrap()["name"], "suggested");
        types(&own, "name", name).await;
    }
    for name in ["ada", "bob"] {
        let own = by(&world, &question, name);
        assert_eq!(own.read_draft().await.unwrap()["name"], name);
    }
}

#[tokio::test]
async fn a_crowd_keeps_a_bounded_number_of_drafts() {
    let world = World::new().await;
    let question = asked(&world).await;
    for number in 0..30 {
        types(&by(&world, &question, &number.to_string()), "name", "x").await;
    }
    let snapshot = question.status().await.unwrap();
    let held = snapshot.record().answer_state.clone().unwrap();
    assert_eq!(held.set_aside.len(), 8);
    for (number, is_kept) in [(0, false), (20, false), (21, true), (29, true)] {
        let own = by(&world, &question, &number.to_string());
        assert_eq!(
            own.read_draft().await.unwrap().contains_key("name"),
            is_kept,
            "{number}"
        );
    }
}

#[tokio::test]
async fn drafts_that_are_set_aside_take_part_in_a_change_of_keys() {
    let one = format!("v1 {}=", "A".repeat(43));
    let two = format!("v2 {}=", "E".repeat(43));
    let store = std::sync::Arc::new(entreat_engine::MemoryStore::new());
    let start = async |keys: &str| {
        let builder = entreat_engine::Engine::builder().shared_store(store.clone());
        builder
            .keys(KeyRing::from_text(keys).unwrap())
            .start()
            .await
    };
    let engine = start(&one).await.unwrap();
    let ask = Ask::form(form()).respondent("group:ops");
    let question = engine.asker("a").ask(ask).await.unwrap().id();
    let ada = |engine: &entreat_engine::Engine| engine.elicitation(question).typed_by("x.ada");
    types(&ada(&engine), "token", "adas-secret").await;
    types(
        &engine.elicitation(question).typed_by("y.bob"),
        "token",
        "bobs",
    )
    .await;
    engine.shutdown().await;
    let engine = start(&format!("{one}\n{two}")).await.unwrap();
    assert_eq!(engine.rotate_keys().await.unwrap(), 1);
    engine.shutdown().await;
    let engine = start(&two).await.unwrap();
    assert_eq!(
        ada(&engine).read_draft().await.unwrap()["token"],
        "adas-secret"
    );
    engine.shutdown().await;
}

#[tokio::test]
async fn whoever_ends_a_question_is_kept_with_it() {
    let world = World::new().await;
    let settler = async |question: &Elicitation| {
        let settled = question.status().await.unwrap();
        settled.settled_by().map(|actor| actor.name.to_string())
    };
    let declined = asked(&world).await;
    by(&world, &declined, "ada").decline().await.unwrap();
    assert_eq!(settler(&declined).await.as_deref(), Some("ada"));
    let dismissed = asked(&world).await;
    let ada = by(&world, &dismissed, "ada");
    // Steps that settle nothing name nobody.
    ada.open().await.unwrap();
    ada.extend(None).await.unwrap();
    assert_eq!(settler(&dismissed).await, None);
    ada.cancel(CancelReason::UserCancelled).await.unwrap();
    assert_eq!(settler(&dismissed).await.as_deref(), Some("ada"));
    let tried = asked(&world).await;
    for _ in 0..3 {
        let refused = by(&world, &tried, "bob").submit(&json!({"name": 7})).await;
        assert!(matches!(refused, Err(ActError::Invalid(_))));
    }
    assert_eq!(tried.status().await.unwrap().status(), Status::Cancelled);
    assert_eq!(settler(&tried).await.as_deref(), Some("bob"));
    let withdrawn = asked(&world).await;
    withdrawn
        .cancel(CancelReason::AskerCancelled)
        .await
        .unwrap();
    assert_eq!(settler(&withdrawn).await, None);
    let record = serde_json::to_value(declined.status().await.unwrap()).unwrap();
    let expected = json!({"account": "https://id.example#ada", "name": "ada"});
    assert_eq!(record["settledBy"], expected);
}

#[tokio::test]
async fn a_question_for_somebody_else_keeps_its_time_and_loses_its_draft() {
    let world = World::new().await;
    let question = asked(&world).await;
    let ada = by(&world, &question, "ada");
    types(&ada, "token", "adas-secret").await;
    let before = question.status().await.unwrap();
    let operator = Operator::new(world.engine.asker("ops"));
    let reassigned = operator.reassign(question.id(), "bob").await.unwrap();
    let record = serde_json::to_value(&reassigned).unwrap();
    assert_eq!(record["respondent"], "bob");
    let after = question.status().await.unwrap();
    assert_eq!(after.lifecycle(), before.lifecycle());
    assert!(after.record().answer_state.is_none());
    assert_eq!(after.record().version, before.record().version.next());
    // Again, it changes nothing.
    types(&by(&world, &question, "bob"), "name", "Bob").await;
    question.reassign("bob").await.unwrap();
    assert_eq!(
        by(&world, &question, "bob").read_draft().await.unwrap()["name"],
        "Bob"
    );
    // It goes on as any other.
    question.submit(&json!({"name": "Bob"})).await.unwrap();
    let settled = question.reassign("ada").await;
    assert!(
        matches!(settled, Err(ActError::Settled { .. })),
        "{settled:?}"
    );
    let other = world.engine.asker("other").elicitation(question.id());
    assert!(matches!(
        other.reassign("ada").await,
        Err(ActError::NotFound)
    ));
}

#[tokio::test]
async fn whoever_began_to_answer_before_a_question_was_reassigned_cannot_finish() {
    let world = World::new().await;
    let question = asked(&world).await;
    let of = |name: &str| by(&world, &question, name).while_for(Some("group:ops"));
    let (ada, bob) = (of("ada"), of("bob"));
    types(&ada, "name", "Ada").await;
    question.reassign("eve").await.unwrap();
    let typed = bob.edit_draft(|draft| drop(draft.insert("name".to_owned(), "Bob".into())));
    assert!(matches!(typed.await, Err(ActError::NotFound)));
    let draft = json!({"name": "Ada"});
    let sent = ada.submit_draft(&Map::new(), &draft, None).await;
    assert!(matches!(sent, Err(ActError::NotFound)), "{sent:?}");
    assert!(matches!(ada.decline().await, Err(ActError::NotFound)));
    assert!(matches!(ada.status().await, Err(ActError::NotFound)));
    let after = question.status().await.unwrap();
    assert!(after.lifecycle().is_live() && after.record().answer_state.is_none());
    // Until it is theirs again.
    question.reassign("group:ops").await.unwrap();
    assert!(ada.decline().await.is_ok());
    // An asker's own handle sees its questions, whoever answers.
    assert!(question.clone().while_for(None).status().await.is_ok());
}

#[tokio::test]
async fn of_many_changes_at_once_none_is_lost() {
    let world = World::new().await;
    let question = asked(&world).await;
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..20 {
        let question = question.clone();
        tasks.spawn(async move { question.reassign(&number.to_string()).await.map(drop) });
    }
    tasks.spawn({
        let question = question.clone();
        async move { question.extend(None).await.map(drop) }
    });
    while let Some(done) = tasks.join_next().await {
        done.unwrap().unwrap();
    }
    let after = question.status().await.unwrap();
    assert_eq!(after.lifecycle().extensions(), 1);
    assert_eq!(after.record().version.0, 21);
}

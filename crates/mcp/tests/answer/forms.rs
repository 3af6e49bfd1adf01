use std::time::Duration;

use entreat_core::form::Field;
use entreat_mcp::answer::{Answer, AnswerSettings, Decision, Modes};
use serde_json::{Map, Value, json};

use crate::person::{Does, Person, Saw};
use crate::server::{LEGACY, connect, connect_with};

#[expect(
    clippy::needless_pass_by_value,
    reason = "each is written where it is used"
)]
fn form(properties: Value, required: Value) -> Value {
    let schema = json!({"type": "object", "properties": properties, "required": required});
    json!({"mode": "form", "message": "Who are you?", "requestedSchema": schema})
}

fn named() -> Value {
    form(
        json!({"name": {"type": "string", "minLength": 2}}),
        json!(["name"]),
    )
}

fn nothing() -> Answer {
    Answer::Accept(Map::new())
}

#[tokio::test]
async fn a_client_declares_what_its_person_can_be_shown() {
    for (modes, declared) in [
        (Modes::ALL, json!({"form": {}, "url": {}})),
        (Modes::new(true, false), json!({"form": {}})),
        (Modes::new(false, true), json!({"url": {}})),
    ] {
        let pair = connect(LEGACY, &Person::new(modes)).await;
        assert_eq!(pair.declared["elicitation"], declared);
    }
    let pair = connect(LEGACY, &Person::new(Modes::new(false, false))).await;
    assert_eq!(pair.declared.get("elicitation"), None);
}

#[tokio::test]
async fn a_form_comes_as_the_server_wrote_it_and_its_defaults_are_filled_in() {
    let person = Person::new(Modes::ALL);
    let mut pair = connect(LEGACY, &person).await;
    person.will_fill(json!({"zip": "10117"}));
    let zip = json!({"type": "string", "pattern": "^[0-9]{5}$", "x-hint": 1, "format": "odd"});
    let age = json!({"type": "integer", "default": 30});
    let colour = json!({"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"],
        "default": "g"});
    let asked = form(
        json!({"zip": zip, "colour": colour, "age": age}),
        json!(["zip"]),
    );
    pair.server.ask(7, &asked).await;
    let reply = pair.server.next().await;
    assert_eq!(reply["id"], 7);
    let expected = json!({"action": "accept",
        "content": {"zip": "10117", "colour": "g", "age": 30}});
    assert_eq!(reply["result"], expected);
    let shown = &person.forms()[0];
    assert_eq!(
        (shown.server.as_str(), shown.message.as_str()),
        ("Wire & Sons", "Who are you?")
    );
    let ids: Vec<_> = shown.form.fields().iter().map(Field::id).collect();
    assert_eq!(ids, ["zip", "colour", "age"]);
}

#[tokio::test]
async fn what_does_not_fit_is_asked_again_and_never_sent() {
    let person = Person::new(Modes::ALL);
    let mut pair = connect(LEGACY, &person).await;
    person.will_fill(json!({"name": "A"}));
    person.will(Does::Answers(nothing()));
    person.will_fill(json!({"name": "Ada"}));
    pair.server.ask(1, &named()).await;
    let reply = pair.server.next().await;
    assert_eq!(reply["result"]["content"], json!({"name": "Ada"}));
    let rules: Vec<Vec<String>> = person
        .forms()
        .iter()
        .map(|form| {
            form.errors
                .iter()
                .map(|error| error.constraint.clone())
                .collect()
        })
        .collect();
    assert_eq!(
        rules,
        [
            vec![],
            vec!["minLength".to_owned()],
            vec!["required".to_owned()]
        ]
    );

    for _ in 0..3 {
        person.will_fill(json!({"name": "A"}));
    }
    pair.server.ask(2, &named()).await;
    let reply = pair.server.next().await;
    assert_eq!(reply["error"]["code"], -32603);
}

#[tokio::test]
async fn a_decline_is_a_decline_and_a_cancel_a_cancel() {
    let person = Person::new(Modes::ALL);
    let mut pair = connect(LEGACY, &person).await;
    for (answer, action, decision) in [
        (Answer::Decline, "decline", Decision::Declined),
        (Answer::Cancel, "cancel", Decision::Cancelled),
    ] {
        person.will(Does::Answers(answer));
        pair.server.ask(3, &named()).await;
        assert_eq!(
            pair.server.next().await["result"],
            json!({"action": action})
        );
        assert_eq!(pair.answering.last_decision(), Some(decision));
    }
}

#[tokio::test]
async fn a_form_without_fields_is_accepted_with_an_empty_object() {
    let person = Person::new(Modes::ALL);
    let mut pair = connect(LEGACY, &person).await;
    person.will(Does::Answers(nothing()));
    let params = json!({"message": "Go on?", "requestedSchema": {"type": "object"}});
    pair.server.ask(1, &params).await;
    let result = pair.server.next().await["result"].clone();
    assert_eq!(result, json!({"action": "accept", "content": {}}));
}

#[tokio::test]
async fn a_cleared_optional_field_is_left_out() {
    let person = Person::new(Modes::ALL);
    let mut pair = connect(LEGACY, &person).await;
    person.will_fill(json!({"nick": "", "age": null}));
    let nick = json!({"type": "string", "default": "none"});
    let params = form(json!({"nick": nick, "age": {"type": "integer"}}), json!([]));
    pair.server.ask(1, &params).await;
    assert_eq!(pair.server.next().await["result"]["content"], json!({}));
}

#[tokio::test]
async fn what_is_nested_is_answered_as_json_with_a_notice() {
    let person = Person::new(Modes::ALL);
    let mut pair = connect(LEGACY, &person).await;
    person.will_fill(json!({"at": "{\"x\": [1, 2]}"}));
    let nested = json!({"type": "object", "properties": {"x": {"type": "array"}}});
    pair.server
        .ask(1, &form(json!({"at": nested}), json!(["at"])))
        .await;
    let content = pair.server.next().await["result"]["content"].clone();
    assert_eq!(content, json!({"at": {"x": [1, 2]}}));
    assert_eq!(person.forms()[0].notices.len(), 1);
}

#[tokio::test]
async fn modes_that_are_unknown_or_were_not_declared_are_refused() {
    let person = Person::new(Modes::new(true, false));
    let mut pair = connect(LEGACY, &person).await;
    for params in [
        json!({"mode": "url", "message": "m", "url": "https://example.com/", "elicitationId": "1"}),
        json!({"mode": "video", "message": "m"}),
        json!({"mode": "form", "message": "m"}),
        json!({"mode": "form", "requestedSchema": {"type": "object"}}),
        json!({"message": "m", "requestedSchema": {"type": "string"}}),
    ] {
        pair.server.ask(5, &params).await;
        assert_eq!(
            pair.server.next().await["error"]["code"],
            -32602,
            "{params}"
        );
    }
    assert_eq!(person.story(), [""; 0]);
}

#[tokio::test]
async fn questions_at_the_same_time_are_shown_in_turn_and_answered_to_the_right_one() {
    let person = Person::new(Modes::ALL);
    let mut pair = connect(LEGACY, &person).await;
    pair.server
        .ask(1, &form(json!({"a": {"type": "string"}}), json!(["a"])))
        .await;
    pair.server
        .ask(2, &form(json!({"b": {"type": "string"}}), json!(["b"])))
        .await;
    person.has_seen(1).await;
    assert_eq!(person.story(), ["form"]);
    for _ in 0..2 {
        let asked = person.forms().last().unwrap().form.fields()[0]
            .id()
            .to_owned();
        let shown = person.story().len();
        person.will_fill(json!({asked.clone(): asked.clone()}));
        let reply = pair.server.next().await;
        let id = if asked == "a" { 1 } else { 2 };
        assert_eq!(reply["id"], id);
        assert_eq!(reply["result"]["content"], json!({asked.clone(): asked}));
        if shown < 2 {
            person.has_seen(2).await;
        }
    }
}

#[tokio::test]
async fn a_question_that_the_server_withdraws_closes_and_the_next_is_shown() {
    let person = Person::new(Modes::ALL);
    let mut pair = connect(LEGACY, &person).await;
    pair.server.ask(1, &named()).await;
    person.has_seen(1).await;
    let cancelled = json!({"requestId": 1, "reason": "over"});
    pair.server
        .notify("notifications/cancelled", cancelled)
        .await;
    person.has_seen(2).await;
    assert_eq!(person.story(), ["form", "closed"]);
    person.will_fill(json!({"name": "Ada"}));
    pair.server.ask(2, &named()).await;
    // rmcp may or may not respond to a withdrawn request.
    let mut reply = pair.server.next().await;
    if reply["id"] == 1 {
        reply = pair.server.next().await;
    }
    assert_eq!(
        (reply["id"].clone(), &reply["result"]["content"]["name"]),
        (json!(2), &json!("Ada"))
    );
}

#[tokio::test]
async fn a_second_request_of_the_same_id_is_not_shown_and_the_first_still_answered() {
    let person = Person::new(Modes::ALL);
    let mut pair = connect(LEGACY, &person).await;
    pair.server.ask(1, &named()).await;
    person.has_seen(1).await;
    pair.server.ask(1, &named()).await;
    // Messages in the meantime are handled in order.
    pair.server
        .ask(2, &json!({"mode": "odd", "message": "m"}))
        .await;
    assert_eq!(pair.server.next().await["error"]["code"], -32602);
    person.will_fill(json!({"name": "Ada"}));
    let reply = pair.server.next().await;
    assert_eq!(
        (&reply["id"], &reply["result"]["content"]["name"]),
        (&json!(1), &json!("Ada"))
    );
    assert_eq!(person.story(), ["form"]);
}

#[tokio::test(start_paused = true)]
async fn a_storm_of_questions_is_declined_and_the_person_told_once() {
    let person = Person::new(Modes::ALL);
    let mut pair = connect(LEGACY, &person).await;
    for id in 0..25 {
        if id < 20 {
            person.will_fill(json!({"name": "Ada"}));
        }
        pair.server.ask(id, &named()).await;
        let action = pair.server.next().await["result"]["action"].clone();
        assert_eq!(action, if id < 20 { "accept" } else { "decline" }, "{id}");
    }
    assert_eq!(person.notices().len(), 1);
    assert!(person.notices()[0].contains("Wire & Sons asked more than 20"));
    tokio::time::advance(Duration::from_secs(61)).await;
    person.will_fill(json!({"name": "Ada"}));
    pair.server.ask(99, &named()).await;
    assert_eq!(pair.server.next().await["result"]["action"], "accept");
    // The decision is still recorded.
    assert_eq!(pair.answering.last_decision(), Some(Decision::Refused));
}

#[tokio::test(start_paused = true)]
async fn a_time_limit_cancels_and_there_is_none_unless_set() {
    let person = Person::new(Modes::ALL);
    let settings = AnswerSettings {
        time_limit: Some(Duration::from_secs(60)),
        ..AnswerSettings::default()
    };
    let mut pair = connect_with(LEGACY, &person, settings).await;
    pair.server.ask(1, &named()).await;
    assert_eq!(
        pair.server.next().await["result"],
        json!({"action": "cancel"})
    );
    assert_eq!(pair.answering.last_decision(), Some(Decision::TimedOut));
    assert!(matches!(
        person.seen().as_slice(),
        [Saw::Form(_), Saw::Closed, Saw::Notice(_)]
    ));

    let person = Person::new(Modes::ALL);
    let mut pair = connect(LEGACY, &person).await;
    pair.server.ask(1, &named()).await;
    person.has_seen(1).await;
    tokio::time::sleep(Duration::from_secs(86_400)).await;
    person.will_fill(json!({"name": "Ada"}));
    assert_eq!(pair.server.next().await["result"]["action"], "accept");
}

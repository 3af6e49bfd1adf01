use std::time::Duration;

use entreat_mcp::answer::{CallError, Consent, Decision, Modes, VisitReply};
use serde_json::{Value, json};

use crate::person::{Does, Person, Saw};
use crate::server::{LEGACY, Pair, ROUNDS, connect};

fn url(url: &str, id: &str) -> Value {
    json!({"mode": "url", "message": "Please sign in", "url": url, "elicitationId": id})
}

async fn finished(pair: &mut Pair, id: &str) {
    let done = json!({"elicitationId": id});
    pair.server
        .notify("notifications/elicitation/complete", done)
        .await;
}

#[tokio::test]
async fn nothing_is_opened_before_consent_and_consent_is_all_that_is_sent() {
    let person = Person::new(Modes::ALL);
    let mut pair = connect(LEGACY, &person).await;
    pair.server
        .ask(1, &url("https://example.com/in?a=1", "e1"))
        .await;
    person.has_seen(1).await;
    let Saw::Card(card) = person.seen()[0].clone() else {
        panic!("no card");
    };
    assert_eq!(
        (card.server.as_str(), card.message.as_str()),
        ("Wire & Sons", "Please sign in")
    );
    assert_eq!(card.url, "https://example.com/in?a=1");
    assert_eq!(card.card.highlight.as_deref(), Some("example.com"));
    person.will(Does::Consents(Consent::Open));
    assert_eq!(
        pair.server.next().await["result"],
        json!({"action": "accept"})
    );
    assert_eq!(person.story(), ["card", "opened"]);
    assert_eq!(pair.answering.last_decision(), Some(Decision::Accepted));
}

#[tokio::test]
async fn a_url_can_be_declined_or_cancelled_unopened() {
    let person = Person::new(Modes::ALL);
    let mut pair = connect(LEGACY, &person).await;
    for (consent, action) in [(Consent::Decline, "decline"), (Consent::Cancel, "cancel")] {
        person.will(Does::Consents(consent));
        pair.server.ask(1, &url("https://example.com/", "e1")).await;
        assert_eq!(
            pair.server.next().await["result"],
            json!({"action": action})
        );
    }
    assert_eq!(person.story(), ["card", "card"]);
}

#[tokio::test]
async fn what_is_no_web_address_cannot_be_opened_even_with_consent() {
    let person = Person::new(Modes::ALL);
    let mut pair = connect(LEGACY, &person).await;
    for bad in [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https://user@example.com/",
        "nonsense",
    ] {
        person.will(Does::Consents(Consent::Open));
        pair.server.ask(1, &url(bad, "e1")).await;
        assert_eq!(pair.server.next().await["error"]["code"], -32602, "{bad}");
    }
    assert_eq!(person.story(), ["card"; 4]);
    for saw in person.seen() {
        if let Saw::Card(card) = saw {
            assert!(!card.may_be_opened());
            assert!(card.warnings().count() > 0);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_card_waits_until_the_server_says_that_the_page_is_done() {
    let person = Person::new(Modes::ALL);
    let mut pair = connect(LEGACY, &person).await;
    person.will(Does::Consents(Consent::Open));
    pair.server.ask(1, &url("https://example.com/", "e1")).await;
    pair.server.next().await;
    person.has_seen(3).await;
    assert_eq!(person.story(), ["card", "opened", "waits"]);
    finished(&mut pair, "of somebody else").await;
    // A question takes precedence, and the card returns afterwards.
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    pair.server
        .ask(2, &json!({"message": "m", "requestedSchema": schema}))
        .await;
    person.has_seen(5).await;
    person.will_fill(json!({"a": "x"}));
    assert_eq!(
        pair.server.next().await["result"]["content"],
        json!({"a": "x"})
    );
    person.has_seen(6).await;
    finished(&mut pair, "e1").await;
    person.has_seen(7).await;
    let story = [
        "card", "opened", "waits", "closed", "form", "waits", "closed",
    ];
    assert_eq!(person.story(), story);
    // Again, for a page that is done.
    finished(&mut pair, "e1").await;
}

#[tokio::test(start_paused = true)]
async fn a_person_can_give_up_the_call_while_the_server_waits() {
    let person = Person::new(Modes::ALL);
    let mut pair = connect(LEGACY, &person).await;
    let call = pair.call();
    let request = pair.server.next().await;
    person.will(Does::Consents(Consent::Open));
    pair.server.ask(1, &url("https://example.com/", "e1")).await;
    pair.server.next().await;
    person.will(Does::Says(VisitReply::Cancel));
    assert!(matches!(call.await.unwrap(), Err(CallError::Abandoned)));
    let cancelled = pair.server.next().await;
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], request["id"]);
}

fn required(pages: &Value) -> Value {
    json!({"code": -32042, "message": "visit first", "data": {"elicitations": pages}})
}

#[tokio::test]
async fn a_call_that_wants_pages_first_is_called_again_when_all_are_done() {
    let person = Person::new(Modes::ALL);
    let mut pair = connect(LEGACY, &person).await;
    let call = pair.call();
    let first = pair.server.next().await;
    let pages = json!([
        url("https://a.example.com/", "a"),
        url("https://b.example.com/", "b")
    ]);
    pair.server.refuse(&first, required(&pages)).await;
    person.will(Does::Consents(Consent::Open));
    person.has_seen(3).await;
    finished(&mut pair, "a").await;
    person.has_seen(5).await;
    // Opening again asks again.
    person.will(Does::Consents(Consent::Open));
    person.has_seen(7).await;
    person.will(Does::Says(VisitReply::Again));
    person.has_seen(8).await;
    person.will(Does::Consents(Consent::Open));
    person.has_seen(10).await;
    person.will(Does::Says(VisitReply::Done));
    let second = pair.server.next().await;
    assert_eq!(second["params"]["arguments"], first["params"]["arguments"]);
    assert_ne!(second["id"], first["id"]);
    // And once more.
    pair.server
        .refuse(
            &second,
            required(&json!([url("https://c.example.com/", "c")])),
        )
        .await;
    person.will(Does::Consents(Consent::Open));
    person.will(Does::Says(VisitReply::Done));
    let third = pair.server.next().await;
    pair.server.reply(&third, json!({"content": []})).await;
    assert_eq!(call.await.unwrap().unwrap(), json!({"content": []}));
    let story = person.story();
    assert_eq!(story[..5], ["card", "opened", "waits", "closed", "card"]);
    assert_eq!(story.iter().filter(|saw| **saw == "opened").count(), 4);
}

#[tokio::test]
async fn a_page_that_is_declined_ends_the_call_and_one_that_comes_for_ever_too() {
    let person = Person::new(Modes::ALL);
    let mut pair = connect(LEGACY, &person).await;
    for (consent, is_declined) in [(Consent::Decline, true), (Consent::Cancel, false)] {
        let call = pair.call();
        let request = pair.server.next().await;
        person.will(Does::Consents(consent));
        pair.server
            .refuse(
                &request,
                required(&json!([url("https://a.example.com/", "a")])),
            )
            .await;
        let error = call.await.unwrap().unwrap_err();
        assert_eq!(matches!(error, CallError::Declined), is_declined);
        assert_eq!(matches!(error, CallError::Abandoned), !is_declined);
    }
    let call = pair.call();
    for round in 0..11 {
        let request = pair.server.next().await;
        if round < 10 {
            person.will(Does::Consents(Consent::Open));
            person.will(Does::Says(VisitReply::Done));
        }
        let page = url("https://a.example.com/", &round.to_string());
        pair.server.refuse(&request, required(&json!([page]))).await;
    }
    assert!(matches!(
        call.await.unwrap(),
        Err(CallError::TooManyRounds(10))
    ));
}

#[tokio::test]
async fn a_page_that_the_server_still_waits_for_is_not_asked_for_again() {
    let person = Person::new(Modes::ALL);
    let mut pair = connect(LEGACY, &person).await;
    let call = pair.call();
    person.will(Does::Consents(Consent::Open));
    for _ in 0..2 {
        let request = pair.server.next().await;
        person.will(Does::Says(VisitReply::Done));
        let page = url("https://a.example.com/", "a");
        pair.server.refuse(&request, required(&json!([page]))).await;
    }
    let request = pair.server.next().await;
    pair.server.reply(&request, json!({"content": []})).await;
    call.await.unwrap().unwrap();
    assert_eq!(person.story(), ["card", "opened", "waits", "waits"]);
}

#[tokio::test(start_paused = true)]
async fn rounds_with_urls_need_no_ids_and_do_not_ask_twice_for_the_same_consent() {
    let person = Person::new(Modes::ALL);
    let mut pair = connect(ROUNDS, &person).await;
    let call = pair.call();
    let params = json!({"mode": "url", "message": "Sign in", "url": "https://example.com/"});
    let asked = json!({"resultType": "input_required", "requestState": "s",
        "inputRequests": {"page": {"method": "elicitation/create", "params": params}}});
    let request = pair.server.next().await;
    person.will(Does::Consents(Consent::Open));
    pair.server.reply(&request, asked.clone()).await;
    let request = pair.server.next().await;
    assert_eq!(
        request["params"]["inputResponses"],
        json!({"page": {"action": "accept"}})
    );
    pair.server.reply(&request, asked).await;
    person.will(Does::Says(VisitReply::Done));
    let request = pair.server.next().await;
    assert_eq!(
        request["params"]["inputResponses"],
        json!({"page": {"action": "accept"}})
    );
    pair.server.reply(&request, json!({"content": []})).await;
    call.await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    let story = person.story();
    assert_eq!(
        story.iter().filter(|saw| **saw == "card").count(),
        1,
        "{story:?}"
    );
}

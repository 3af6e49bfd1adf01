use std::time::Duration;

use entreat_mcp::answer::{Answer, AnswerSettings, CallError, Modes};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::person::{Does, Person};
use crate::server::{LEGACY, ROUNDS, connect, connect_with};

fn question(field: &str) -> Value {
    let schema = json!({"type": "object", "properties": {field: {"type": "string"}},
        "required": [field]});
    json!({"method": "elicitation/create",
        "params": {"message": "m", "requestedSchema": schema}})
}

fn round(requests: &Value, state: Option<&str>) -> Value {
    let mut result = json!({"resultType": "input_required", "inputRequests": requests});
    if let Some(state) = state {
        result["requestState"] = state.into();
    }
    result
}

#[tokio::test]
async fn rounds_are_driven_to_the_end_with_the_state_as_it_came() {
    let person = Person::new(Modes::ALL);
    let mut pair = connect(ROUNDS, &person).await;
    assert_eq!(pair.declared["elicitation"], json!({"form": {}, "url": {}}));
    let call = pair.call();
    let first = pair.server.next().await;
    assert_eq!(first["params"].get("requestState"), None);
    // Unchanged to the byte, whatever it contains.
    let state = "é\u{0}\"\\ +/=\u{1F600}";
    person.will_fill(json!({"b": "1"}));
    person.will(Does::Answers(Answer::Decline));
    let requests = json!({"two": question("b"), "one": question("a")});
    pair.server
        .reply(&first, round(&requests, Some(state)))
        .await;
    let second = pair.server.next().await;
    assert_ne!(second["id"], first["id"]);
    assert_eq!(second["params"]["name"], "t");
    assert_eq!(second["params"]["arguments"], json!({"x": 1}));
    assert_eq!(second["params"]["requestState"], state);
    let expected = json!({"two": {"action": "accept", "content": {"b": "1"}},
        "one": {"action": "decline"}});
    assert_eq!(second["params"]["inputResponses"], expected);
    let fields: Vec<_> = person
        .forms()
        .iter()
        .map(|form| form.form.fields()[0].id().to_owned())
        .collect();
    assert_eq!(fields, ["b", "a"]);
    // A round without a state returns none, not the previous one.
    person.will_fill(json!({"c": "2"}));
    pair.server
        .reply(&second, round(&json!({"k": question("c")}), None))
        .await;
    let third = pair.server.next().await;
    assert_eq!(third["params"].get("requestState"), None);
    let result = json!({"resultType": "complete", "content": [{"type": "new", "z": 1, "a": 2}]});
    pair.server.reply(&third, result.clone()).await;
    assert_eq!(call.await.unwrap().unwrap().to_string(), result.to_string());
}

#[tokio::test]
async fn a_result_without_a_type_is_complete_and_an_unknown_type_an_error() {
    let person = Person::new(Modes::ALL);
    let mut pair = connect(ROUNDS, &person).await;
    let call = pair.call();
    let request = pair.server.next().await;
    pair.server.reply(&request, json!({"content": []})).await;
    assert_eq!(call.await.unwrap().unwrap(), json!({"content": []}));
    for odd in [json!("half"), json!(7)] {
        let call = pair.call();
        let request = pair.server.next().await;
        pair.server
            .reply(&request, json!({"resultType": odd, "content": []}))
            .await;
        assert!(matches!(
            call.await.unwrap(),
            Err(CallError::UnknownResult(_))
        ));
    }
}

#[tokio::test]
async fn endless_rounds_end_after_ten() {
    let person = Person::new(Modes::ALL);
    let mut pair = connect(ROUNDS, &person).await;
    let call = pair.call();
    for _ in 0..11 {
        let request = pair.server.next().await;
        person.will_fill(json!({"a": "x"}));
        pair.server
            .reply(&request, round(&json!({"k": question("a")}), Some("s")))
            .await;
    }
    assert!(matches!(
        call.await.unwrap(),
        Err(CallError::TooManyRounds(10))
    ));
    assert_eq!(person.story().len(), 10);
}

#[tokio::test(start_paused = true)]
async fn rounds_without_questions_come_slower_and_slower_and_not_for_ever() {
    let person = Person::new(Modes::ALL);
    let settings = AnswerSettings {
        stall_timeout: Duration::from_secs(60),
        ..AnswerSettings::default()
    };
    let mut pair = connect_with(ROUNDS, &person, settings).await;
    let call = pair.call();
    let waits = json!({"resultType": "input_required", "requestState": "later"});
    let mut request = pair.server.next().await;
    let mut pauses = Vec::new();
    loop {
        let asked = Instant::now();
        pair.server.reply(&request, waits.clone()).await;
        let next = tokio::time::timeout(Duration::from_secs(20), pair.server.next()).await;
        let Ok(next) = next else { break };
        assert_eq!(next["params"]["requestState"], "later");
        assert_eq!(next["params"].get("inputResponses"), None);
        pauses.push(asked.elapsed());
        request = next;
    }
    assert!(pauses.is_sorted() && pauses.len() < 25, "{pauses:?}");
    assert!(matches!(call.await.unwrap(), Err(CallError::Stalled(_))));
}

#[tokio::test]
async fn what_was_not_declared_fails_the_call_here() {
    let person = Person::new(Modes::new(true, false));
    let mut pair = connect(ROUNDS, &person).await;
    let url = json!({"method": "elicitation/create",
        "params": {"mode": "url", "message": "m", "url": "https://example.com/"}});
    let sample = json!({"method": "sampling/createMessage", "params": {"messages": []}});
    for (odd, says) in [
        (url, "did not declare"),
        (sample, "did not declare"),
        (json!({"method": "odd"}), "did not declare"),
        (
            json!({"method": "elicitation/create", "params": {}}),
            "cannot be used",
        ),
        (json!(7), "did not declare"),
    ] {
        let call = pair.call();
        let request = pair.server.next().await;
        pair.server
            .reply(&request, round(&json!({"k": odd}), Some("s")))
            .await;
        let error = call.await.unwrap().unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
    }
    assert_eq!(person.story(), [""; 0]);
}

#[tokio::test]
async fn questions_that_are_pushed_in_the_wrong_era_are_refused() {
    let person = Person::new(Modes::ALL);
    let mut pair = connect(ROUNDS, &person).await;
    pair.server.ask(1, &question("a")["params"]).await;
    assert_eq!(pair.server.next().await["error"]["code"], -32600);
    let mut pair = connect(LEGACY, &person).await;
    let call = pair.call();
    let request = pair.server.next().await;
    pair.server
        .reply(&request, round(&json!({"k": question("a")}), Some("s")))
        .await;
    assert!(matches!(
        call.await.unwrap(),
        Err(CallError::UnknownResult(_))
    ));
    assert_eq!(person.story(), [""; 0]);
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_is_cancelled_at_the_server() {
    let person = Person::new(Modes::ALL);
    let mut pair = connect(LEGACY, &person).await;
    let call = pair.call();
    let request = pair.server.next().await;
    call.abort();
    let cancelled = pair.server.next().await;
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], request["id"]);
}

#[tokio::test]
async fn lines_that_are_no_messages_do_no_harm() {
    let person = Person::new(Modes::ALL);
    let mut pair = connect(LEGACY, &person).await;
    let call = pair.call();
    let request = pair.server.next().await;
    for line in [
        "Server started!",
        "{",
        "[]",
        "null",
        r#"{"jsonrpc":"2.0"}"#,
        "",
    ] {
        pair.server.send_text(line).await;
    }
    pair.server.reply(&request, json!({"content": []})).await;
    assert!(call.await.unwrap().is_ok());
}

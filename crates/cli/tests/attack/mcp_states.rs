//! States that travel through the client: altered, swapped, and used again.

use serde_json::{Value, json};

use crate::mcp_client::{Caller, Listening};
use crate::tally::Tally;
use crate::{is_long, times};

fn prompt(text: &str) -> Value {
    json!({"prompt": text})
}

/// The state of a call that asks, and the key of its question.
fn begin(server: &Listening, who: &Caller, arguments: &Value) -> (String, String) {
    let asked = server.round(who, "ask_user", arguments, &json!({}));
    let state = asked["result"]["requestState"].as_str().unwrap_or_default();
    let key = asked["result"]["inputRequests"]
        .as_object()
        .and_then(|asks| asks.keys().next());
    assert!(!state.is_empty() && key.is_some(), "{asked}");
    (state.to_owned(), key.cloned().unwrap_or_default())
}

fn answers(key: &str, text: &str) -> Value {
    json!({key: {"action": "accept", "content": {"answer": text}}})
}

fn is_answered(answer: &Value) -> bool {
    answer["result"]["structuredContent"]["status"] == "completed"
}

#[test]
fn a_state_that_was_changed_is_refused_and_told_in_the_same_words() {
    let server = Listening::start(&[]);
    let alice = Caller::of("alice-token");
    let (state, key) = begin(&server, &alice, &prompt("Canary?"));
    let foreign = server.round(
        &alice,
        "ask_user",
        &prompt("Canary?"),
        &json!({"requestState": "AAAA", "inputResponses": answers(&key, "x")}),
    );
    let mut tally = Tally::new();
    let flip = |at: usize| {
        let mut bytes = state.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        String::from_utf8(bytes).expect("it is text")
    };
    let middle = state.len() / 2;
    let samples = [
        ("the first letter", flip(0)),
        ("the version of its key", flip(3)),
        ("the nonce", flip(12)),
        ("the middle", flip(middle)),
        ("near the end", flip(state.len() - 3)),
        ("cut by one", state[..state.len() - 1].to_owned()),
        ("cut by half", state[..middle].to_owned()),
        ("four letters", state[..4].to_owned()),
        ("longer", format!("{state}AAAA")),
        ("twice", format!("{state}{state}")),
        ("with padding", format!("{state}==")),
        ("with a space", format!(" {state}")),
        (
            "in other letters",
            state.replace('_', "/").replace('-', "+").to_uppercase(),
        ),
        ("empty", String::new()),
        ("no letters", "\u{0}\u{ff}".to_owned()),
        ("a megabyte", "A".repeat(1 << 20)),
        ("JSON", json!({"principal": "alice"}).to_string()),
    ];
    for (what, forged) in samples {
        let answer = server.round(
            &alice,
            "ask_user",
            &prompt("Canary?"),
            &json!({"requestState": forged, "inputResponses": answers(&key, "x")}),
        );
        let holds = !is_answered(&answer)
            && answer["error"] == foreign["error"]
            && answer.get("error").is_some();
        tally.note(what, holds, &answer);
    }
    for forged in [json!(5), json!({}), json!([state.clone()])] {
        let answer = server.round(
            &alice,
            "ask_user",
            &prompt("Canary?"),
            &json!({"requestState": forged, "inputResponses": answers(&key, "x")}),
        );
        tally.note(
            format_args!("a state of another type: {}", kind(&forged)),
            !is_answered(&answer),
            &answer,
        );
    }
    let good = server.round(
        &alice,
        "ask_user",
        &prompt("Canary?"),
        &json!({"requestState": state, "inputResponses": answers(&key, "Ada")}),
    );
    tally.note("unchanged", is_answered(&good), &good);
    tally.finish();
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    }
}

#[test]
fn a_state_belongs_to_its_principal_its_tool_and_its_arguments() {
    let server = Listening::start(&[]);
    let alice = Caller::of("alice-token");
    let (state, key) = begin(&server, &alice, &prompt("Canary?"));
    let (other_state, _) = begin(&server, &alice, &prompt("Other?"));
    let with = |state: &str| json!({"requestState": state, "inputResponses": answers(&key, "x")});
    let mut tally = Tally::new();
    for (what, who, tool, arguments, state) in [
        (
            "another's token",
            Caller::of("mallory-token"),
            "ask_user",
            prompt("Canary?"),
            &state,
        ),
        (
            "no token",
            Caller::nobody(),
            "ask_user",
            prompt("Canary?"),
            &state,
        ),
        (
            "another tool",
            alice.clone(),
            "ask_status",
            prompt("Canary?"),
            &state,
        ),
        (
            "other arguments",
            alice.clone(),
            "ask_user",
            prompt("Canary!"),
            &state,
        ),
        (
            "more arguments",
            alice.clone(),
            "ask_user",
            json!({"prompt": "Canary?", "message": "x"}),
            &state,
        ),
        ("no arguments", alice.clone(), "ask_user", json!({}), &state),
        (
            "the state of another call",
            alice.clone(),
            "ask_user",
            prompt("Canary?"),
            &other_state,
        ),
    ] {
        let answer = server.round(&who, tool, &arguments, &with(state));
        tally.note(
            what,
            !is_answered(&answer) && answer["error"]["code"] == -32602,
            &answer,
        );
    }
    tally.finish();
}

#[test]
fn a_state_is_good_for_one_set_of_answers() {
    let server = Listening::start(&[]);
    let alice = Caller::of("alice-token");
    let (state, key) = begin(&server, &alice, &prompt("Canary?"));
    let with = |text: &str| json!({"requestState": state, "inputResponses": answers(&key, text)});
    let mut tally = Tally::new();
    let first = server.round(&alice, "ask_user", &prompt("Canary?"), &with("Ada"));
    assert!(is_answered(&first), "{first}");
    let same = server.round(&alice, "ask_user", &prompt("Canary?"), &with("Ada"));
    tally.note("the same again", same["result"] == first["result"], &same);
    for text in ["Eve", "", "Ada "] {
        let other = server.round(&alice, "ask_user", &prompt("Canary?"), &with(text));
        tally.note(
            format_args!("{text:?} instead"),
            !is_answered(&other) && other.get("error").is_some(),
            &other,
        );
    }
    let (state, key) = begin(&server, &alice, &prompt("Race?"));
    let winners = std::thread::scope(|scope| {
        let (server, alice, state, key) = (&server, &alice, &state, &key);
        let senders: Vec<_> = (0..8)
            .map(|number| {
                scope.spawn(move || {
                    let extra = json!({"requestState": state, "inputResponses": answers(key, &format!("sender {number}"))});
                    server.round(alice, "ask_user", &prompt("Race?"), &extra)
                })
            })
            .collect();
        let ended = senders
            .into_iter()
            .map(|sender| sender.join().expect("it does not panic"));
        ended.filter(is_answered).count()
    });
    tally.note(
        "eight at once",
        winners == 1,
        format_args!("{winners} were answered"),
    );
    tally.finish();
}

#[test]
fn used_states_are_not_forgotten_when_there_are_many() {
    let server = Listening::start(&[]);
    let alice = Caller::of("alice-token");
    let (state, key) = begin(&server, &alice, &prompt("Canary?"));
    let with = |state: &str, text: &str| json!({"requestState": state, "inputResponses": answers(&key, text)});
    let first = server.round(&alice, "ask_user", &prompt("Canary?"), &with(&state, "Ada"));
    assert!(is_answered(&first), "{first}");
    // Previously, only ten thousand were remembered, and the oldest was forgotten.
    let count = times(300, 10_500);
    let mallory = Caller::of("mallory-token");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..count / 4 {
                    let (state, key) = begin(&server, &mallory, &prompt("Filler?"));
                    let extra =
                        json!({"requestState": state, "inputResponses": answers(&key, "x")});
                    server.round(&mallory, "ask_user", &prompt("Filler?"), &extra);
                }
            });
        }
    });
    let again = server.round(&alice, "ask_user", &prompt("Canary?"), &with(&state, "Eve"));
    let mut tally = Tally::new();
    tally.note(
        format_args!("after {count} others"),
        !is_answered(&again),
        &again,
    );
    if is_long() {
        server.serves_others("many states");
    }
    tally.finish();
}

#[test]
fn answers_without_a_question_and_questions_without_an_answer_lead_nowhere() {
    let server = Listening::start(&[]);
    let alice = Caller::of("alice-token");
    let (state, key) = begin(&server, &alice, &prompt("Canary?"));
    let mut tally = Tally::new();
    for (what, extra) in [
        (
            "answers of another key",
            json!({"requestState": state, "inputResponses": answers("other", "x")}),
        ),
        (
            "no answers",
            json!({"requestState": state, "inputResponses": {}}),
        ),
        (
            "an answer that is none",
            json!({"requestState": state, "inputResponses": {key.clone(): 5}}),
        ),
        (
            "an answer of another field",
            json!({"requestState": state, "inputResponses": {key.clone(): {"action": "accept", "content": {"other": "x"}}}}),
        ),
        (
            "an unknown action",
            json!({"requestState": state, "inputResponses": {key.clone(): {"action": "approve"}}}),
        ),
        (
            "answers that are a list",
            json!({"requestState": state, "inputResponses": []}),
        ),
    ] {
        let answer = server.round(&alice, "ask_user", &prompt("Canary?"), &extra);
        tally.note(what, !is_answered(&answer), &answer);
    }
    let many: serde_json::Map<String, Value> = (0..20_000)
        .map(|n| (format!("k{n}"), json!({"action": "accept", "content": {}})))
        .collect();
    let answer = server.round(
        &alice,
        "ask_user",
        &prompt("Canary?"),
        &json!({"requestState": state, "inputResponses": many}),
    );
    tally.note("20,000 answers", !is_answered(&answer), &answer);
    server.serves_others("answers");
    tally.finish();
}

#[test]
fn a_state_that_is_too_old_is_refused_after_a_restart_as_well() {
    // Keys in memory end with the process: a state of an earlier process is invalid.
    let first = Listening::start(&[]);
    let alice = Caller::of("alice-token");
    let (state, key) = begin(&first, &alice, &prompt("Canary?"));
    drop(first);
    let second = Listening::start(&[]);
    let answer = second.round(
        &alice,
        "ask_user",
        &prompt("Canary?"),
        &json!({"requestState": state, "inputResponses": answers(&key, "x")}),
    );
    let mut tally = Tally::new();
    tally.note(
        "a state of another process",
        !is_answered(&answer) && answer["error"]["code"] == -32602,
        &answer,
    );
    tally.finish();
}

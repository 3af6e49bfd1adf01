//! Whatever comes in, JSON-RPC comes out.

#[path = "../../../../fuzz/src/message.rs"]
mod message;

use entreat_service::rpc::RpcResponse;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::world::{World, deploy, nobody, request};

/// Handles each message; none may wait for ever.
fn answers(messages: &[Vec<u8>]) -> Vec<RpcResponse> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        let world = World::new().await;
        let mut answers = Vec::new();
        for message in messages {
            answers.push(world.send(message).await);
        }
        answers
    })
}

fn assert_sound(answered: &RpcResponse) {
    let Some(body) = &answered.body else {
        assert!(answered.is_well_formed, "what is not understood is told");
        return;
    };
    let body: Value = serde_json::from_str(body).unwrap();
    let all = match &body {
        Value::Array(all) => {
            assert!(!all.is_empty());
            all.as_slice()
        }
        one => std::slice::from_ref(one),
    };
    for answer in all {
        assert_eq!(answer["jsonrpc"], "2.0");
        assert!(answer.get("id").is_some());
        match (answer.get("result"), answer.get("error")) {
            (Some(_), None) => {}
            (None, Some(error)) => {
                assert!(error["code"].is_i64());
                let message = error["message"].as_str().unwrap();
                assert!(message.ends_with(['.', '?', ']', ')']), "{message}");
                assert!(error["data"]["type"].is_string());
                // There are no internal errors in this test.
                assert_ne!(error["code"], -32603);
            }
            other => panic!("{other:?}"),
        }
    }
}

fn valid() -> impl Strategy<Value = String> {
    let params = prop_oneof![
        Just((
            "elicitation/create",
            json!({"formDefinition": deploy(), "timeout": 5000})
        )),
        Just((
            "elicitation/create",
            json!({"prompt": "Name?", "sensitive": true})
        )),
        Just((
            "elicitation/create",
            json!({"url": "https://example.com/a?b=c"})
        )),
        Just((
            "elicitation/submit",
            json!({"elicitationId": nobody(), "responses": {"a": 1}})
        )),
        Just(("elicitation/list", json!({"limit": 3, "status": "pending"}))),
        Just((
            "elicitation/await",
            json!({"elicitationId": nobody(), "timeout": 0})
        )),
        Just(("forms/validate", json!({"formDefinition": deploy()}))),
        Just(("forms/get", json!({"template": "x"}))),
    ];
    let one = params.prop_map(|(method, params)| request(method, params));
    prop_oneof![
        one.clone(),
        vec(one, 1..4).prop_map(|all| format!("[{}]", all.join(",")))
    ]
}

/// Changes some bytes: drops, doubles or replaces them.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let change = (
        any::<prop::sample::Index>(),
        0_usize..9,
        vec(any::<u8>(), 0..4),
    );
    let piece = prop_oneof![
        Just("[".to_owned()),
        Just("{}".to_owned()),
        Just("null".to_owned()),
        Just("\"\\ud800\"".to_owned()),
        Just("1e999".to_owned()),
        Just("-0".to_owned()),
        Just("\"id\":1,".to_owned()),
        Just("\u{feff}".to_owned()),
    ];
    (
        valid(),
        vec(change, 0..3),
        vec((any::<prop::sample::Index>(), piece), 0..2),
    )
        .prop_map(|(text, changes, pieces)| {
            let mut bytes = text.into_bytes();
            for (place, length, others) in changes {
                let start = place.index(bytes.len() + 1);
                let end = (start + length).min(bytes.len());
                bytes.splice(start..end, others);
            }
            for (place, piece) in pieces {
                let start = place.index(bytes.len() + 1);
                bytes.splice(start..start, piece.into_bytes());
            }
            bytes
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_bytes_are_answered_with_json_rpc(messages in vec(vec(any::<u8>(), 0..64), 1..20)) {
        answers(&messages).iter().for_each(assert_sound);
    }

    #[test]
    fn mutated_messages_are_answered_with_json_rpc(messages in vec(mutated(), 1..20)) {
        answers(&messages).iter().for_each(assert_sound);
    }

    #[test]
    fn any_parameters_are_answered_with_json_rpc(
        method in prop::sample::select(vec![
            "elicitation/create", "elicitation/submit", "elicitation/list", "forms/validate",
            "elicitation/cancel", "elicitation/extend_timeout", "elicitation/timeout_config",
        ]),
        names in vec(prop::sample::select(vec![
            "mode", "formDefinition", "template", "values", "prompt", "url", "script", "timeout",
            "size_limit", "metadata", "unknown", "elicitationId", "responses", "form_id",
            "partial", "limit", "cursor", "status", "reason", "extensionDuration", "stray",
        ]), 0..5),
        values in vec(prop_oneof![
            Just(json!(null)), Just(json!(true)), Just(json!(-1)), Just(json!(1.5)),
            Just(json!(u64::MAX)), Just(json!("form")), Just(json!("")), Just(nobody()),
            Just(json!([])), Just(json!([{"ask": {}}])), Just(json!({})), Just(deploy()),
            "\\PC{0,20}".prop_map(Value::from),
        ], 5),
    ) {
        let params: serde_json::Map<_, _> = names
            .iter()
            .map(|name| (*name).to_owned())
            .zip(values)
            .collect();
        let message = request(method, params.into()).into_bytes();
        answers(&[message]).iter().for_each(assert_sound);
    }
}

#[test]
fn the_seeds_of_the_fuzz_target_are_answered() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/message");
    let mut seeds = 0;
    for seed in std::fs::read_dir(folder).unwrap() {
        message::run(&std::fs::read(seed.unwrap().path()).unwrap());
        seeds += 1;
    }
    assert!(seeds > 0);
}

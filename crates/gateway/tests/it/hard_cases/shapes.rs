//! A form of everything that relays lose, through every pair of versions.

use std::time::Duration;

use serde_json::{Value, json};

use super::{L6, L11, all};
use crate::world::{Pair, Ways, World, modern};

/// Titled choices of which several may be taken, keywords that nobody knows, large numbers, and an
/// order of its own.
const FORM: &str = r#"{"message":"Pick","requestedSchema":{"x-order":[1.0,2],"type":"object","properties":{"tags":{"type":"array","title":"Tags","x-width":1.50,"minItems":1,"items":{"anyOf":[{"const":"r","title":"Red"},{"const":"g","title":"Green"}]}},"amount":{"type":"integer","minimum":9007199254740993,"maximum":9223372036854775807},"a":{"type":"string"}},"required":["tags","amount"]}}"#;
/// An answer in the words of a client.
const ANSWER: &str = r#"{"action":"accept","_meta":{"k":1.0},"content":{"tags":["g","r"],"amount":9007199254740995,"a":"\u00e9"}}"#;

fn answer() -> Value {
    serde_json::from_str(ANSWER).unwrap()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pairs {
    Legacy,
    Downgraded,
    Raised,
    OldestRaised,
    Modern,
    Lowered,
}

impl Pairs {
    const ALL: [Self; 6] = [
        Self::Legacy,
        Self::Downgraded,
        Self::Raised,
        Self::OldestRaised,
        Self::Modern,
        Self::Lowered,
    ];

    fn has_modern_client(self) -> bool {
        matches!(self, Self::Modern | Self::Lowered)
    }

    fn has_modern_server(self) -> bool {
        matches!(self, Self::Raised | Self::OldestRaised | Self::Modern)
    }

    /// Whether the client's version has words for the form.
    fn can_be_native(self) -> bool {
        !matches!(self, Self::Downgraded | Self::OldestRaised)
    }
}

/// A call on which the server has asked the form; returns the call at the server.
async fn asked(pairs: Pairs, pair: &mut Pair, capabilities: &Value) -> Value {
    let client = if pairs.can_be_native() { L11 } else { L6 };
    match pairs {
        Pairs::Legacy => drop(pair.initialize(L11, capabilities.clone()).await),
        Pairs::Downgraded => drop(pair.initialize_as(L6, L11, capabilities.clone()).await),
        Pairs::Raised | Pairs::OldestRaised => {
            drop(pair.initialize_raised(client, capabilities.clone()).await);
        }
        Pairs::Modern | Pairs::Lowered => {}
    }
    let params = json!({"name": "t", "arguments": {}});
    let params = if pairs.has_modern_client() {
        modern(params, capabilities.clone())
    } else {
        params
    };
    pair.client.request(1, "tools/call", params).await;
    match pairs {
        Pairs::Modern => drop(pair.discover().await),
        Pairs::Lowered => drop(pair.lower().await),
        Pairs::Legacy | Pairs::Downgraded | Pairs::Raised | Pairs::OldestRaised => {}
    }
    let call = pair.server.next().await;
    let line = if pairs.has_modern_server() {
        format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{{"resultType":"input_required","inputRequests":{{"k":{{"method":"elicitation/create","params":{FORM}}}}},"requestState":"s"}}}}"#,
            call["id"]
        )
    } else {
        format!(r#"{{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{FORM}}}"#)
    };
    pair.server.raw(&line).await;
    call
}

/// What the server gets, as it was written.
async fn got(pairs: Pairs, pair: &mut Pair) -> (String, Value) {
    let line = pair.server.line().await;
    let message: Value = serde_json::from_str(&line).unwrap();
    let answer = if pairs.has_modern_server() {
        assert_eq!(message["params"]["requestState"], "s");
        message["params"]["inputResponses"]["k"].clone()
    } else {
        assert_eq!(message["id"], "q");
        message["result"].clone()
    };
    (line, answer)
}

#[tokio::test]
async fn a_form_and_its_answer_keep_every_byte_where_the_client_shows_it() {
    for pairs in Pairs::ALL.into_iter().filter(|it| it.can_be_native()) {
        let world = World::new(Ways::Browser).await;
        let mut pair = world.connect();
        let call = asked(pairs, &mut pair, &all()).await;
        world.pass(Duration::from_millis(50)).await;
        let line = pair.client.line().await;
        assert!(
            line.contains(&format!(r#""params":{FORM}"#)),
            "{pairs:?}: {line}"
        );
        let shown: Value = serde_json::from_str(&line).unwrap();
        world.clock.advance(Duration::from_secs(2));
        if pairs.has_modern_client() {
            let requests = shown["result"]["inputRequests"].as_object().unwrap();
            let key = requests.keys().next().unwrap();
            let mut params = modern(json!({"name": "t", "arguments": {}}), all());
            params["requestState"] = shown["result"]["requestState"].clone();
            params["inputResponses"] = json!({key: "ANSWER"});
            let params = params.to_string().replace(r#""ANSWER""#, ANSWER);
            pair.client
                .raw(&format!(
                    r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{params}}}"#
                ))
                .await;
        } else {
            let id = &shown["id"];
            pair.client
                .raw(&format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"result":{ANSWER}}}"#
                ))
                .await;
        }
        let (line, answered) = got(pairs, &mut pair).await;
        assert_eq!(answered, answer());
        assert!(line.contains(ANSWER), "{pairs:?}: {line}");
        world.nothing_opened().await;
        drop(call);
    }
}

#[tokio::test]
async fn a_form_goes_to_a_page_where_the_client_cannot_show_it() {
    for pairs in Pairs::ALL {
        let world = World::new(Ways::Browser).await;
        let mut pair = world.connect();
        let shows = if pairs.can_be_native() {
            json!({})
        } else {
            // Forms, but not this one.
            json!({"elicitation": {}})
        };
        let call = asked(pairs, &mut pair, &shows).await;
        let page = world.opened().await;
        let status = world.question(&page).status().await.unwrap();
        let form = status.record().request.subject.form().unwrap().clone();
        let fields: Vec<_> = form.fields().iter().map(entreat_core::Field::id).collect();
        assert_eq!(fields, ["tags", "amount", "a"], "{pairs:?}");
        let small = json!({"tags": ["g"], "amount": 9_007_199_254_740_992_u64});
        assert!(world.question(&page).submit(&small).await.is_err());
        world.answer(&page, answer()["content"].clone()).await;
        let (_, answered) = got(pairs, &mut pair).await;
        let expected = json!({"action": "accept", "content": answer()["content"]});
        assert_eq!(answered, expected, "{pairs:?}");
        drop(call);
    }
}

#[tokio::test]
async fn results_keep_their_numbers_and_their_order_between_the_eras() {
    const RESULT: &str = r#""structuredContent":{"z":1.50,"a":9007199254740993,"m":{"y":[1e3],"b":null}},"content":[]"#;
    for pairs in [Pairs::Raised, Pairs::Lowered, Pairs::Modern, Pairs::Legacy] {
        let world = World::new(Ways::None).await;
        let mut pair = world.connect();
        let (mut client_params, kind) = (json!({"name": "t"}), r#""resultType":"complete","#);
        match pairs {
            Pairs::Raised => drop(pair.initialize_raised(L11, all()).await),
            Pairs::Legacy => drop(pair.initialize(L11, all()).await),
            Pairs::Modern | Pairs::Lowered | Pairs::Downgraded | Pairs::OldestRaised => {
                client_params = modern(client_params, all());
            }
        }
        pair.client.request(1, "tools/call", client_params).await;
        match pairs {
            Pairs::Modern => drop(pair.discover().await),
            Pairs::Lowered => drop(pair.lower().await),
            Pairs::Legacy | Pairs::Downgraded | Pairs::Raised | Pairs::OldestRaised => {}
        }
        let call = pair.server.next().await;
        let kind = if pairs.has_modern_server() { kind } else { "" };
        let result = format!("{{{kind}{RESULT}}}");
        pair.server
            .raw(&format!(
                r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#,
                call["id"]
            ))
            .await;
        let line = pair.client.line().await;
        assert!(line.contains(RESULT), "{pairs:?}: {line}");
        let message: Value = serde_json::from_str(&line).unwrap();
        let is_typed = message["result"].get("resultType").is_some();
        assert_eq!(is_typed, pairs.has_modern_client(), "{line}");
    }
}

//! Single messages: valid and invalid calls and ids.

use serde_json::json;

use crate::world::{World, parsed};

const METHOD: &str = r#""jsonrpc":"2.0","method":"forms/list""#;

#[tokio::test]
async fn an_id_comes_back_as_it_was_written() {
    let world = World::new().await;
    for id in [
        "1",
        "-7",
        "null",
        "0.50",
        "1e3",
        "123456789012345678901234567890",
        r#""a""#,
        r#""""#,
        r#""\u00e9\n\ud83d\ude00""#,
    ] {
        let answered = world.send(format!(r#"{{{METHOD},"id": {id} }}"#)).await;
        assert!(answered.is_well_formed);
        assert_eq!(
            answered.body.unwrap(),
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"templates":[]}}}}"#)
        );
    }
}

#[tokio::test]
async fn a_notification_is_carried_out_and_not_answered() {
    let world = World::new().await;
    let message = json!({"jsonrpc": "2.0", "method": "elicitation/create",
        "params": {"prompt": "Name?"}});
    let answered = world.send(message.to_string()).await;
    assert!(answered.is_well_formed);
    assert_eq!(answered.body, None);
    assert_eq!(world.engine.live(), 1);

    for (method, params) in [
        ("nothing", json!({})),
        ("elicitation/create", json!({"promt": 1})),
        ("elicitation/status", json!([])),
    ] {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        let answered = world.send(message.to_string()).await;
        assert!(answered.is_well_formed);
        assert_eq!(answered.body, None, "errors of a notification are not told");
    }
}

#[tokio::test]
async fn a_wait_without_an_id_waits_for_nothing() {
    let world = World::new().await;
    let id = world.ask().await;
    for params in [
        json!({"elicitationId": id}),
        json!({"elicitationId": id, "timeout": 60_000}),
    ] {
        let message = json!({"jsonrpc": "2.0", "method": "elicitation/await", "params": params});
        let answered = world.send(message.to_string()).await;
        assert_eq!(answered.body, None);
    }
}

#[tokio::test]
async fn unknown_members_of_a_call_are_ignored() {
    let world = World::new().await;
    let answered = world
        .send(format!(r#"{{"trace":{{"a":1}},{METHOD},"id":1}}"#))
        .await;
    assert!(parsed(&answered).get("result").is_some());
    // Escaped names are equivalent to plain ones.
    let answered = world
        .send(r#"{"jsonrpc":"2.\u0030","m\u0065thod":"forms\/list","\u0069d":1}"#)
        .await;
    assert!(parsed(&answered).get("result").is_some());
}

#[tokio::test]
async fn json_that_is_no_call_is_an_invalid_request() {
    let world = World::new().await;
    for (message, id) in [
        ("{}", json!(null)),
        ("5", json!(null)),
        ("null", json!(null)),
        (r#""text""#, json!(null)),
        (r#"{"id":1}"#, json!(1)),
        (r#"{"id":1,"method":"forms/list"}"#, json!(1)),
        (
            r#"{"id":1,"jsonrpc":"1.0","method":"forms/list"}"#,
            json!(1),
        ),
        (r#"{"id":1,"jsonrpc":2.0,"method":"forms/list"}"#, json!(1)),
        (r#"{"id":"x","jsonrpc":"2.0","method":5}"#, json!("x")),
        (r#"{"id":"x","jsonrpc":"2.0","result":5}"#, json!("x")),
        (
            r#"{"id":true,"jsonrpc":"2.0","method":"forms/list"}"#,
            json!(null),
        ),
        (
            r#"{"id":{},"jsonrpc":"2.0","method":"forms/list"}"#,
            json!(null),
        ),
        (
            r#"{"id":[1],"jsonrpc":"2.0","method":"forms/list"}"#,
            json!(null),
        ),
        ("[]", json!(null)),
    ] {
        let answered = world.send(message).await;
        assert!(!answered.is_well_formed, "{message}");
        let answer = parsed(&answered);
        assert_eq!(answer["error"]["code"], -32600, "{message}");
        assert_eq!(answer["error"]["data"]["type"], "system", "{message}");
        assert_eq!(answer["id"], id, "{message}");
        assert_eq!(answer["jsonrpc"], "2.0", "{message}");
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_a_parse_error() {
    let world = World::new().await;
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let deep_params = format!(
        r#"{{{METHOD},"id":1,"params":{}1{}}}"#,
        r#"{"a":"#.repeat(200),
        "}".repeat(200)
    );
    let many = (0..2000).map(|i| format!(r#""k{i}":1,"#));
    let many_keys = format!("{{{}\"k1999\":2}}", many.collect::<String>());
    let messages: Vec<Vec<u8>> = vec![
        b"".to_vec(),
        b"   \n".to_vec(),
        b"{".to_vec(),
        b"{} {}".to_vec(),
        b"nul".to_vec(),
        b"{'id':1}".to_vec(),
        b"\xff\xfe{}".to_vec(),
        b"\xef\xbb\xbf{}".to_vec(),
        b"{\"id\":\"\xff\"}".to_vec(),
        b"{\"id\":1,\"id\":1}".to_vec(),
        br#"{"id":1,"\u0069d":2}"#.to_vec(),
        br#"{"params":{"a":[{"b":1,"b":1}]}}"#.to_vec(),
        br#"{"id":"\ud800"}"#.to_vec(),
        br#"{"params":{"a":"\udc00x"}}"#.to_vec(),
        br#"{"params":{"a":1e400}}"#.to_vec(),
        br#"{"params":{"a":01}}"#.to_vec(),
        br#"{"params":NaN}"#.to_vec(),
        b"{\"a\":\"\x01\"}".to_vec(),
        deep.into_bytes(),
        deep_params.into_bytes(),
        many_keys.into_bytes(),
    ];
    for message in messages {
        let answered = world.send(&message).await;
        let shown = String::from_utf8_lossy(&message[..message.len().min(80)]).into_owned();
        assert!(!answered.is_well_formed, "{shown}");
        let answer = parsed(&answered);
        assert_eq!(answer["error"]["code"], -32700, "{shown}");
        assert_eq!(answer["error"]["data"]["type"], "system", "{shown}");
        assert!(answer["error"]["data"]["details"].is_string(), "{shown}");
        assert!(answer["id"].is_null(), "{shown}");
    }
    let answered = world.send(r#"{"id":1,"x":{"key":1,"key":2}}"#).await;
    assert_eq!(
        parsed(&answered)["error"]["message"],
        "The message is not valid JSON: the key `key` stands twice in one object at line 1 column 26."
    );
}

#[tokio::test]
async fn depth_is_bounded_and_not_too_tightly() {
    let world = World::new().await;
    for (levels, is_read) in [(100, true), (140, false)] {
        let value = format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"forms/validate","params":{{"formDefinition":{value}}}}}"#
        );
        assert_eq!(
            world.send(message).await.is_well_formed,
            is_read,
            "{levels}"
        );
    }
}

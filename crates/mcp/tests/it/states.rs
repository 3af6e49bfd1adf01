//! Invalid, altered and expired states.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use entreat_engine::{KeyRing, SystemEntropy};
use entreat_mcp::rmcp::ErrorData;
use entreat_mcp::{Ask, McpSettings};
use entreat_testkit::mcp::{Client, Kind, Reply, accept};
use serde_json::{Value, json};
use tokio::io::DuplexStream;

use crate::world::{ROUNDS, World, keys};

const REFUSED: (i64, &str) = (-32602, "requestState is not valid for this request");

fn answers(state: &str, text: &str) -> Value {
    json!({"requestState": state, "inputResponses": {"name": accept(json!({"text": text}))}})
}

async fn asking(world: &World) -> Client<DuplexStream> {
    let tool = |ask: Ask, _| async move { Ok(ask.text("name", "Who?").await?) };
    world.client(Kind::form(ROUNDS), tool).await
}

async fn first_state(client: &mut Client<DuplexStream>, arguments: &Value) -> String {
    let reply = client.round("t", arguments.clone(), json!({})).await;
    reply.state().to_owned()
}

#[tokio::test]
async fn no_bit_of_a_state_can_be_altered() {
    let world = World::new().await;
    let mut client = asking(&world).await;
    let state = first_state(&mut client, &json!({})).await;
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let value = |letter| alphabet.iter().position(|it| *it == letter).unwrap();
    for place in 0..state.len() {
        for bit in 0..6 {
            let mut altered = state.clone().into_bytes();
            altered[place] = alphabet[value(altered[place]) ^ (1 << bit)];
            let altered = String::from_utf8(altered).unwrap();
            let reply = client.round("t", json!({}), answers(&altered, "x")).await;
            assert_eq!(reply.error(), REFUSED, "letter {place}, bit {bit}");
        }
    }
    for odd in [
        "",
        "x",
        "-TAMPERED",
        "é",
        &state[1..],
        &format!("{state}A"),
        &state.repeat(2),
    ] {
        let reply = client.round("t", json!({}), answers(odd, "x")).await;
        assert_eq!(reply.error(), REFUSED, "{odd}");
    }
    // The unaltered state is accepted.
    let reply = client.round("t", json!({}), answers(&state, "x")).await;
    assert_eq!(reply.text(), "x");
}

#[tokio::test]
async fn a_state_is_good_for_its_own_tool_and_arguments() {
    let world = World::new().await;
    let mut client = asking(&world).await;
    let arguments = json!({"a": 1, "b": {"c": [1, 2], "d": "x"}});
    let state = first_state(&mut client, &arguments).await;
    let reply = client
        .round("other", arguments.clone(), answers(&state, "x"))
        .await;
    assert_eq!(reply.error(), REFUSED);
    for other in [
        json!({}),
        json!({"a": 2, "b": {"c": [1, 2], "d": "x"}}),
        json!({"a": 1, "b": {"c": [2, 1], "d": "x"}}),
        json!({"a": "1", "b": {"c": [1, 2], "d": "x"}}),
    ] {
        let reply = client.round("t", other.clone(), answers(&state, "x")).await;
        assert_eq!(reply.error(), REFUSED, "{other}");
    }
    // The same arguments, written differently.
    let same = json!({"b": {"d": "x", "c": [1.0, 2]}, "a": 1.0});
    let reply = client.round("t", same, answers(&state, "x")).await;
    assert_eq!(reply.text(), "x");
}

#[tokio::test]
async fn a_state_ends_to_the_millisecond() {
    let settings = McpSettings {
        state_lifetime: Duration::from_secs(60),
        ..McpSettings::default()
    };
    let world = World::with_settings(settings).await;
    let mut client = asking(&world).await;
    // The question expires after five minutes, and the state one minute later.
    let state = first_state(&mut client, &json!({})).await;
    world.clock.advance(Duration::from_millis(300_000 + 59_999));
    let reply = client.round("t", json!({}), answers(&state, "x")).await;
    assert_eq!(reply.text(), "nobody answered `name` in time");
    world.clock.advance(Duration::from_millis(1));
    let reply = client.round("t", json!({}), answers(&state, "y")).await;
    assert_eq!(reply.error(), REFUSED);
}

#[tokio::test]
async fn keys_rotate_and_a_retired_one_opens_nothing() {
    let entropy = SystemEntropy::new().unwrap();
    let old = keys();
    let text = String::from_utf8(old.to_text().expose().to_vec()).unwrap();
    let mut both = KeyRing::from_text(&text).unwrap();
    let newest = both.add_newest(&entropy).unwrap();
    let both_text = String::from_utf8(both.to_text().expose().to_vec()).unwrap();
    let is_newest = |line: &&str| line.starts_with(&format!("v{newest} "));
    let only_new = both_text.lines().find(is_newest).expect("the newest key");

    let before = World::with_keys(old).await;
    let state = first_state(&mut asking(&before).await, &json!({})).await;
    let rotated = World::with_keys(both).await;
    let reply = asking(&rotated)
        .await
        .round("t", json!({}), answers(&state, "x"))
        .await;
    assert_eq!(reply.text(), "x");
    let retired = World::with_keys(KeyRing::from_text(only_new).unwrap()).await;
    let reply = asking(&retired)
        .await
        .round("t", json!({}), answers(&state, "x"))
        .await;
    assert_eq!(reply.error(), REFUSED);
}

#[tokio::test]
async fn a_state_that_was_used_gives_the_same_again_or_nothing() {
    let world = World::new().await;
    let mut client = asking(&world).await;
    let state = first_state(&mut client, &json!({})).await;
    for _ in 0..3 {
        let reply = client.round("t", json!({}), answers(&state, "x")).await;
        assert_eq!(reply.text(), "x");
    }
    let reply = client.round("t", json!({}), answers(&state, "y")).await;
    assert_eq!(reply.error(), REFUSED);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_replays_of_one_state_have_one_effect_and_one_answer() {
    let world = World::new().await;
    let effects = Arc::new(AtomicUsize::new(0));
    let counted = effects.clone();
    let tool = move |ask: Ask, _| {
        let counted = counted.clone();
        async move {
            let name = ask.text("name", "Who?").await?;
            let effect = ask.once("charge", async || {
                tokio::task::yield_now().await;
                Ok::<_, ErrorData>(counted.fetch_add(1, Ordering::SeqCst))
            });
            let number = effect.await?;
            Ok(format!("{name}{number}"))
        }
    };
    let mut client = world.client(Kind::form(ROUNDS), tool).await;
    let state = first_state(&mut client, &json!({})).await;
    let mut ids = Vec::new();
    for _ in 0..64 {
        let Value::Object(extra) = answers(&state, "x") else {
            unreachable!()
        };
        ids.push(client.start_with("t", json!({}), extra).await);
    }
    let mut replies = Vec::new();
    while replies.len() < ids.len() {
        replies.push(client.any_reply().await);
    }
    assert!(
        replies.iter().all(|reply| reply.text() == "x0"),
        "{replies:?}"
    );
    assert_eq!(effects.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn what_a_call_remembers_has_a_limit() {
    let world = World::new().await;
    let tool = |ask: Ask, _| async move {
        let large = ask.once("large", async || Ok::<_, ErrorData>("x".repeat(100_000)));
        large.await?;
        Ok(ask.text("name", "Who?").await?)
    };
    let mut client = world.client(Kind::form(ROUNDS), tool).await;
    let reply: Reply = client.round("t", json!({}), json!({})).await;
    let (code, message) = reply.error();
    assert_eq!(code, -32603);
    assert!(
        message.contains("bytes, more than 65536; keep large results elsewhere"),
        "{message}"
    );
}

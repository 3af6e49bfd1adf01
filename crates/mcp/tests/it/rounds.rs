//! 2026-07-28: questions are results, and the handler runs again with the answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use entreat_core::{Form, Timeout};
use entreat_engine::SystemClock;
use entreat_mcp::rmcp::ErrorData;
use entreat_mcp::{Ask, Outcome};
use entreat_testkit::ScriptedResolver;
use entreat_testkit::mcp::{Kind, SeenQuestion, accept, decline, visit};
use serde_json::{Value, json};

use crate::world::{Name, ROUNDS, World, keys};

fn kind() -> Kind {
    Kind::form(ROUNDS)
}

#[tokio::test]
async fn one_question_after_the_other_takes_a_round_each() {
    let world = World::new().await;
    let tool = |ask: Ask, _| async move {
        let Name { name } = ask.form("name", "Who?").await?;
        let color = ask.text("color", &format!("Your colour, {name}?")).await?;
        let sure = ask.confirm("sure", "Sure?").await?;
        Ok(format!("{name} {color} {sure}"))
    };
    let mut client = world.client(kind(), tool).await;
    let mut keys = Vec::new();
    let reply = client.call("t", json!({}), |question| {
        keys.push(question.key.clone().unwrap());
        match question.key.as_deref() {
            Some("name") => accept(json!({"name": "Ada"})),
            Some("color") => {
                assert_eq!(question.message(), "Your colour, Ada?");
                accept(json!({"text": "red"}))
            }
            _ => accept(json!({"confirmed": true})),
        }
    });
    assert_eq!(reply.await.text(), "Ada red true");
    assert_eq!(keys, ["name", "color", "sure"]);
}

#[tokio::test]
async fn questions_that_are_asked_together_go_out_together_and_in_order() {
    let world = World::new().await;
    let tool = |ask: Ask, _| async move {
        let (z, a) = tokio::try_join!(
            ask.text("z", "First?").into_future(),
            ask.text("a", "Second?").into_future()
        )?;
        Ok(format!("{z}{a}"))
    };
    let mut client = world.client(kind(), tool).await;
    let reply = client.round("t", json!({}), json!({})).await;
    let keys: Vec<_> = reply
        .questions()
        .into_iter()
        .filter_map(|it| it.key)
        .collect();
    assert_eq!(keys, ["z", "a"]);

    // With half of the answers, the next round asks for the other half.
    let half = json!({"requestState": reply.state(),
        "inputResponses": {"a": accept(json!({"text": "2"}))}});
    let reply = client.round("t", json!({}), half).await;
    let keys: Vec<_> = reply
        .questions()
        .into_iter()
        .filter_map(|it| it.key)
        .collect();
    assert_eq!(keys, ["z"]);
    let rest = json!({"requestState": reply.state(),
        "inputResponses": {"z": accept(json!({"text": "1"}))}});
    assert_eq!(client.round("t", json!({}), rest).await.text(), "12");
}

#[tokio::test]
async fn a_handler_that_also_waits_for_something_else_is_given_time_to_get_it() {
    let world = World::new().await;
    let tool = |ask: Ask, _| async move {
        let (answer, other) = tokio::join!(ask.text("name", "Who?").into_future(), async {
            // Not on the person's simulated clock.
            let soon = tokio::time::sleep(Duration::from_millis(5));
            let work = tokio::spawn(soon);
            work.await.map(|()| ask.text("late", "And?"))
        });
        let late = match other {
            Ok(question) => question.await?,
            Err(_) => String::new(),
        };
        Ok(format!("{}{late}", answer?))
    };
    let mut client = world.client(kind(), tool).await;
    let reply = client.call("t", json!({}), |_| accept(json!({"text": "x"})));
    assert_eq!(reply.await.text(), "xx");
}

/// Looking up hosts takes longer than the grace period of a handler.
#[tokio::test(start_paused = true)]
async fn a_question_whose_hosts_are_being_looked_up_is_not_left_behind() {
    let resolver = ScriptedResolver::new()
        .answers("slow.example.com", &["93.184.215.14"])
        .delayed(SystemClock::new(), Duration::from_secs(1));
    let world = World::with_resolver(resolver).await;
    let form = json!({"id": "site", "title": "Site", "fields": [
        {"id": "url", "type": "url", "label": "URL", "required": true}]});
    let form = Form::from_value(&form).unwrap();
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let tool = move |ask: Ask, _| {
        let (form, counted) = (form.clone(), counted.clone());
        async move {
            counted.fetch_add(1, Ordering::SeqCst);
            let visit = ask.url("visit", "Go there.", "https://slow.example.com/");
            let (name, site, ()) = tokio::try_join!(
                ask.text("name", "Who?").into_future(),
                ask.form_of("site", "Where?", &form).into_future(),
                visit.into_future(),
            )?;
            Ok(format!("{name} {}", site.reveal().to_json()["url"]))
        }
    };
    let mut client = world.client(Kind::whole(ROUNDS), tool).await;
    let mut asked = Vec::new();
    let reply = client.call("t", json!({}), |question| {
        asked.extend(question.key.clone());
        match question.key.as_deref() {
            Some("name") => accept(json!({"text": "Ada"})),
            Some("site") => accept(json!({"url": "https://slow.example.com/a"})),
            _ => visit(),
        }
    });
    let text = reply.await.text().to_owned();
    assert_eq!(text, "Ada \"https://slow.example.com/a\"");
    // Everything was asked in the first round, and nothing was asked twice.
    assert_eq!(asked, ["name", "site", "visit"]);
    assert_eq!(runs.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn an_answer_that_is_not_valid_makes_a_round_with_the_errors_until_the_limit() {
    let world = World::new().await;
    let tool = |ask: Ask, _| async move {
        match ask.form::<Name>("name", "Who?").outcome().await? {
            Outcome::Answered(answer) => Ok(answer.name),
            Outcome::Cancelled { reason, .. } => Ok(format!("{reason:?}")),
            _ => Ok("other".to_owned()),
        }
    };
    let mut client = world.client(kind(), tool).await;
    let mut messages = Vec::new();
    let reply = client.call("t", json!({}), |question: &SeenQuestion| {
        messages.push(question.message().to_owned());
        accept(json!({"name": "A"}))
    });
    assert_eq!(reply.await.text(), "MaxRetriesExceeded");
    let again = "Who?\n\nPlease correct:\n- Your answer must be at least 2 characters";
    assert_eq!(messages, ["Who?", again, again]);
}

#[tokio::test]
async fn an_effect_runs_once_and_one_that_failed_runs_again() {
    let world = World::new().await;
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let tool = move |ask: Ask, _| {
        let counted = counted.clone();
        async move {
            let number = ask
                .once("charge", async || {
                    let number = counted.fetch_add(1, Ordering::SeqCst) + 1;
                    Ok::<_, ErrorData>(number)
                })
                .await?;
            let one = ask.text("one", "One?").await?;
            let two = ask.text("two", "Two?").await?;
            Ok(format!("{number}{one}{two}"))
        }
    };
    let mut client = world.client(kind(), tool).await;
    let reply = client.call("t", json!({}), |_| accept(json!({"text": "x"})));
    assert_eq!(reply.await.text(), "1xx");
    assert_eq!(runs.load(Ordering::SeqCst), 1);

    let tries = Arc::new(AtomicUsize::new(0));
    let counted = tries.clone();
    let tool = move |ask: Ask, _| {
        let counted = counted.clone();
        async move {
            let effect = ask.once("charge", async || {
                match counted.fetch_add(1, Ordering::SeqCst) {
                    0 => Err(ErrorData::internal_error("no", None)),
                    number => Ok(number),
                }
            });
            let paid = effect.await;
            ask.text("name", "Who?").await?;
            Ok(format!("{}", paid.is_ok()))
        }
    };
    let mut client = world.client(kind(), tool).await;
    let reply = client.call("t", json!({}), |_| accept(json!({"text": "x"})));
    assert_eq!(reply.await.text(), "true");
    assert_eq!(tries.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_question_that_changed_is_asked_again_and_one_that_always_does_is_an_error() {
    let world = World::new().await;
    let runs = Arc::new(AtomicUsize::new(0));
    let changes = move |most: usize| {
        let runs = runs.clone();
        runs.store(0, Ordering::SeqCst);
        move |ask: Ask, _| {
            let run = runs.fetch_add(1, Ordering::SeqCst).min(most);
            async move { Ok(ask.text("name", &format!("Version {run}?")).await?) }
        }
    };
    let mut client = world.client(kind(), changes(1)).await;
    let mut messages = Vec::new();
    let reply = client.call("t", json!({}), |question| {
        messages.push(question.message().to_owned());
        accept(json!({"text": format!("{}", messages.len())}))
    });
    // The answer to the first version doesn't count for the second.
    assert_eq!(reply.await.text(), "2");
    assert_eq!(messages, ["Version 0?", "Version 1?"]);

    let mut client = world.client(kind(), changes(usize::MAX)).await;
    let reply = client.call("t", json!({}), |_| accept(json!({"text": "x"})));
    let (_, message) = reply.await.error().clone_out();
    assert!(
        message.contains("`name` is another question each time"),
        "{message}"
    );
}

#[tokio::test]
async fn a_handler_that_asks_differently_is_told_so() {
    let world = World::new().await;
    let runs = Arc::new(AtomicUsize::new(0));
    let tool = move |ask: Ask, _| {
        let run = runs.fetch_add(1, Ordering::SeqCst);
        async move { Ok(ask.text(&format!("question{run}"), "Who?").await?) }
    };
    let mut client = world.client(kind(), tool).await;
    let reply = client.call("t", json!({}), |_| accept(json!({"text": "x"})));
    let (code, message) = reply.await.error().clone_out();
    assert_eq!(code, -32603);
    assert!(
        message.contains("asked `question0` in the last round and `question1`"),
        "{message}"
    );
}

#[tokio::test]
async fn an_answer_after_the_deadline_is_too_late() {
    let world = World::new().await;
    let tool = |ask: Ask, _| async move {
        let timeout = Timeout::of(Duration::from_secs(5));
        let outcome = ask.text("name", "Who?").timeout(timeout).outcome();
        Ok(format!("{:?}", outcome.await?))
    };
    let mut client = world.client(kind(), tool).await;
    let reply = client.round("t", json!({}), json!({})).await;
    let late = json!({"requestState": reply.state(),
        "inputResponses": {"name": accept(json!({"text": "x"}))}});
    world.clock.advance(Duration::from_secs(5));
    assert_eq!(client.round("t", json!({}), late).await.text(), "TimedOut");
}

#[tokio::test]
async fn a_decline_that_came_at_once_was_not_seen() {
    let world = World::new().await;
    let tool =
        |ask: Ask, _| async move { Ok(format!("{:?}", ask.text("name", "Who?").outcome().await?)) };
    let mut client = world.client(kind(), tool).await;
    for (read, shown) in [(10, "No"), (2_000, "Unknown")] {
        let reply = client.round("t", json!({}), json!({})).await;
        world.clock.advance(Duration::from_millis(read));
        let extra = json!({"requestState": reply.state(), "inputResponses": {"name": decline()}});
        let reply = client.round("t", json!({}), extra).await;
        assert_eq!(reply.text(), format!("Declined {{ shown: {shown} }}"));
    }
}

#[tokio::test]
async fn answers_without_a_state_are_taken_and_what_is_none_is_asked() {
    let world = World::new().await;
    let tool = |ask: Ask, _| async move { Ok(ask.form::<Name>("name", "Who?").await?.name) };
    let mut client = world.client(kind(), tool).await;
    let extra = |responses: Value| json!({"inputResponses": responses});
    let given = json!({"name": accept(json!({"name": "Ada"})), "other": accept(json!({}))});
    assert_eq!(
        client.round("t", json!({}), extra(given)).await.text(),
        "Ada"
    );
    for odd in [
        json!({"name": 12345}),
        json!({"wrong": accept(json!({}))}),
        json!({"name": {}}),
    ] {
        let reply = client.round("t", json!({}), extra(odd)).await;
        assert_eq!(reply.questions().len(), 1, "{reply:?}");
    }
}

#[tokio::test]
async fn a_flow_goes_on_in_another_process_that_has_the_same_keys() {
    let keys = keys();
    let text = keys.to_text();
    let again = std::str::from_utf8(text.expose()).unwrap();
    let again = entreat_engine::KeyRing::from_text(again).unwrap();
    let worlds = [World::with_keys(keys).await, World::with_keys(again).await];
    let effects = Arc::new(AtomicUsize::new(0));
    let mut clients = Vec::new();
    for world in &worlds {
        let effects = effects.clone();
        let tool = move |ask: Ask, _| {
            let effects = effects.clone();
            async move {
                let mut told = String::new();
                for key in ["one", "two", "three"] {
                    let name = format!("before {key}");
                    let effect = ask.once(&name, async || {
                        effects.fetch_add(1, Ordering::SeqCst);
                        Ok::<_, ErrorData>(())
                    });
                    effect.await?;
                    told.push_str(&ask.text(key, "Next?").await?);
                }
                Ok(told)
            }
        };
        clients.push(world.client(kind(), tool).await);
    }
    let mut extra = json!({});
    let mut answered = 0;
    let text = loop {
        let client = &mut clients[answered % 2];
        let reply = client.round("t", json!({}), extra).await;
        let questions = reply.questions();
        let Some(key) = questions.first().and_then(|it| it.key.clone()) else {
            break reply.text().to_owned();
        };
        answered += 1;
        extra = json!({"requestState": reply.state(),
            "inputResponses": {key: accept(json!({"text": format!("{answered}")}))}});
    };
    assert_eq!(text, "123");
    assert_eq!(effects.load(Ordering::SeqCst), 3);
}

trait CloneOut {
    fn clone_out(self) -> (i64, String);
}

impl CloneOut for (i64, &str) {
    fn clone_out(self) -> (i64, String) {
        (self.0, self.1.to_owned())
    }
}

//! Protocol versions of 2025: a request is sent to the client, and its response awaited.

use std::time::Duration;

use entreat_core::schema::Era;
use entreat_core::{Form, Timeout};
use entreat_engine::StatusFilter;
use entreat_mcp::{Ask, AskError, Outcome};
use entreat_testkit::mcp::{Kind, accept, cancel, decline, visit};
use serde_json::json;

use crate::world::{LEGACY, Name, World, settle};

#[tokio::test]
async fn a_typed_form_is_asked_and_its_answer_comes_back() {
    let world = World::new().await;
    for era in LEGACY {
        let tool = |ask: Ask, _| async move {
            let Name { name } = ask.form("name", "Who is there?").await?;
            Ok(format!("hello {name}"))
        };
        let mut client = world.client(Kind::form(era), tool).await;
        let mut asked = Vec::new();
        let answer = |question: &entreat_testkit::mcp::SeenQuestion| {
            asked.push(question.clone());
            accept(json!({"name": "Ada"}))
        };
        let reply = client.call("greet", json!({}), answer).await;
        assert_eq!(reply.text(), "hello Ada");
        assert_eq!(asked.len(), 1);
        assert_eq!(asked[0].message(), "Who is there?");
        let schema = &asked[0].params["requestedSchema"];
        assert_eq!(schema["properties"]["name"]["minLength"], 2);
        // The oldest version has no modes.
        let mode = asked[0].params.get("mode").and_then(|mode| mode.as_str());
        assert_eq!(mode, (era != Era::V2025_06_18).then_some("form"));
    }
}

#[tokio::test]
async fn an_answer_that_is_not_valid_is_asked_for_again_until_the_limit() {
    let world = World::new().await;
    let tool = |ask: Ask, _| async move {
        match ask.form::<Name>("name", "Who?").outcome().await? {
            Outcome::Answered(answer) => Ok(answer.name),
            other => Ok(format!("{:?}", other.answer().map(|it| it.name))),
        }
    };
    let kind = Kind::form(Era::V2025_11_25);
    let mut client = world.client(kind, tool).await;
    let mut messages = Vec::new();
    let answer = |question: &entreat_testkit::mcp::SeenQuestion| {
        messages.push(question.message().to_owned());
        accept(json!({"name": if messages.len() == 2 { "Ada" } else { "A" }}))
    };
    let reply = client.call("greet", json!({}), answer).await;
    assert_eq!(reply.text(), "Ada");
    let again = "Who?\n\nPlease correct:\n- Your answer must be at least 2 characters";
    assert_eq!(messages, ["Who?", again]);

    let mut times = 0;
    let never = |_: &_| {
        times += 1;
        accept(json!({"name": "A"}))
    };
    assert_eq!(client.call("greet", json!({}), never).await.text(), "None");
    assert_eq!(times, 3);
}

#[derive(Debug, Form)]
enum Region {
    #[form(title = "Europe")]
    Eu,
    Asia,
}

#[tokio::test]
async fn one_of_several_is_chosen_in_every_era() {
    let world = World::new().await;
    let tool = |ask: Ask, _| async move {
        let color = ask.choose("color", "Colour?", &[("r", "Red"), ("g", "Green")]);
        let color = color.await?;
        let region: Region = ask.choose_one("region", "Region?").await?;
        Ok(format!("{color} {region:?}"))
    };
    for kind in Kind::all().filter(|kind| kind.form) {
        let mut client = world.client(kind, tool).await;
        let reply = client.call("t", json!({}), |question| {
            let choice = &question.params["requestedSchema"]["properties"]["choice"];
            let told = choice.to_string();
            if question.message() == "Colour?" {
                assert!(told.contains("Green"), "{told}");
                return accept(json!({"choice": "g"}));
            }
            assert!(told.contains("Europe") && told.contains("asia"), "{told}");
            accept(json!({"choice": "eu"}))
        });
        assert_eq!(reply.await.text(), "g Eu", "{kind:?}");
    }
}

#[tokio::test]
async fn a_decline_is_a_decline_and_a_cancel_a_cancel() {
    let world = World::new().await;
    let tool = |ask: Ask, _| async move {
        let outcome = ask.text("name", "Who?").outcome().await?;
        Ok(format!("{outcome:?}"))
    };
    let kind = Kind::form(Era::V2025_11_25);
    let mut client = world.client(kind, tool).await;
    let reply = client.call("t", json!({}), |_| decline()).await;
    assert_eq!(reply.text(), "Declined { shown: No }");
    let reply = client.call("t", json!({}), |_| cancel()).await;
    let unseen = "Cancelled { reason: UserCancelled, shown: No }";
    assert_eq!(reply.text(), unseen);

    // An answer after some reading time was probably given by a person.
    let id = client.start("t", json!({})).await;
    let (question, _) = client.question().await;
    world.pass(Duration::from_secs(1)).await;
    client.answer(question, decline()).await;
    let reply = client.reply_to(id, |_| unreachable!()).await;
    assert_eq!(reply.text(), "Declined { shown: Unknown }");
}

#[tokio::test]
async fn a_question_mark_in_a_tool_tells_the_model_what_happened() {
    let world = World::new().await;
    let tool = |ask: Ask, _| async move { Ok(ask.text("name", "Who?").await?) };
    let kind = Kind::form(Era::V2025_11_25);
    let mut client = world.client(kind, tool).await;
    let reply = client.call("t", json!({}), |_| decline()).await;
    assert_eq!(reply.text(), "the person declined to answer `name`");
    assert_eq!(reply.result()["isError"], true);
}

#[tokio::test]
async fn a_deadline_ends_the_question_and_closes_the_dialog() {
    let world = World::new().await;
    let tool = |ask: Ask, _| async move {
        let timeout = Timeout::of(Duration::from_secs(5));
        Ok(ask.text("name", "Who?").timeout(timeout).await?)
    };
    let kind = Kind::form(Era::V2025_11_25);
    let mut client = world.client(kind, tool).await;
    let id = client.start("t", json!({})).await;
    let (question, _) = client.question().await;
    world.pass(Duration::from_secs(6)).await;
    let reply = client.reply_to(id, |_| unreachable!()).await;
    assert_eq!(reply.text(), "nobody answered `name` in time");
    let told = client.hear("notifications/cancelled").await;
    assert_eq!(told["requestId"], question);
}

#[tokio::test]
async fn a_call_that_is_cancelled_closes_the_dialog_and_ends_the_question() {
    let world = World::new().await;
    let tool = |ask: Ask, _| async move { Ok(ask.text("name", "Who?").await?) };
    let kind = Kind::form(Era::V2025_11_25);
    let mut client = world.client(kind, tool).await;
    let id = client.start("t", json!({})).await;
    let (question, _) = client.question().await;
    assert_eq!(world.engine.live(), 1);
    client
        .notify("notifications/cancelled", json!({"requestId": id}))
        .await;
    let told = client.hear("notifications/cancelled").await;
    assert_eq!(told["requestId"], question);
    settle().await;
    assert_eq!(world.engine.live(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_goes_away_ends_its_question() {
    let world = World::new().await;
    let tool = |ask: Ask, _| async move { Ok(ask.text("name", "Who?").await?) };
    let kind = Kind::form(Era::V2025_11_25);
    let mut client = world.client(kind, tool).await;
    client.start("t", json!({})).await;
    client.question().await;
    drop(client);
    // rmcp gives handlers this long to end by themselves.
    tokio::time::sleep(Duration::from_secs(6)).await;
    let page = world.engine.list(None, StatusFilter::All, 10, None).await;
    let page = page.unwrap();
    let [question] = &page.elicitations[..] else {
        panic!("{page:?}");
    };
    assert_eq!(question.status().as_str(), "cancelled");
}

#[tokio::test]
async fn questions_of_a_join_are_open_together() {
    let world = World::new().await;
    let tool = |ask: Ask, _| async move {
        let (one, two) = tokio::join!(
            ask.text("one", "One?").into_future(),
            ask.text("two", "Two?").into_future()
        );
        Ok(format!("{} {}", one?, two?))
    };
    let kind = Kind::form(Era::V2025_11_25);
    let mut client = world.client(kind, tool).await;
    let id = client.start("t", json!({})).await;
    let (first, one) = client.question().await;
    let (second, two) = client.question().await;
    assert_eq!([one.message(), two.message()], ["One?", "Two?"]);
    // Responses in reverse order reach their own questions.
    client.answer(second, accept(json!({"text": "2"}))).await;
    client.answer(first, accept(json!({"text": "1"}))).await;
    let reply = client.reply_to(id, |_| unreachable!()).await;
    assert_eq!(reply.text(), "1 2");
}

#[tokio::test]
async fn a_client_that_wants_progress_hears_of_it_while_a_person_thinks() {
    let world = World::new().await;
    let tool = |ask: Ask, _| async move { Ok(ask.text("name", "Who?").await?) };
    let kind = Kind::form(Era::V2025_11_25);
    let mut client = world.client(kind, tool).await;
    client.progress_token = Some(json!("p"));
    let id = client.start("t", json!({})).await;
    let (question, _) = client.question().await;
    for expected in 1..=3 {
        world.pass(Duration::from_secs(10)).await;
        let progress = client.hear("notifications/progress").await;
        assert_eq!(progress["progressToken"], "p");
        assert_eq!(progress["progress"].as_f64(), Some(f64::from(expected)));
    }
    client
        .answer(question, accept(json!({"text": "Ada"})))
        .await;
    let reply = client.reply_to(id, |_| unreachable!()).await;
    assert_eq!(reply.text(), "Ada");
}

#[tokio::test]
async fn a_url_is_visited_or_not() {
    let world = World::new().await;
    let tool = |ask: Ask, _| async move {
        let url = "https://example.com/sign-in";
        let outcome = ask.url("visit", "Please sign in.", url).outcome().await?;
        Ok(outcome.action().to_owned())
    };
    let kind = Kind::whole(Era::V2025_11_25);
    let mut client = world.client(kind, tool).await;
    for (answer, action) in [
        (visit(), "accept"),
        (decline(), "decline"),
        (cancel(), "cancel"),
    ] {
        let reply = client.call("t", json!({}), |question| {
            assert_eq!(question.params["url"], "https://example.com/sign-in");
            assert!(question.params["elicitationId"].is_string());
            answer.clone()
        });
        assert_eq!(reply.await.text(), action);
    }
}

#[tokio::test]
async fn a_url_that_leads_inside_is_not_asked() {
    let world = World::new().await;
    let tool = |ask: Ask, _| async move {
        let outcome = ask.url("visit", "Look.", "https://10.0.0.1/").outcome();
        match outcome.await {
            Err(AskError::UnsafeUrl(_)) => Ok("unsafe".to_owned()),
            other => Ok(format!("{other:?}")),
        }
    };
    for era in [Era::V2025_11_25, Era::V2026_07_28] {
        let mut client = world.client(Kind::whole(era), tool).await;
        let reply = client.call("t", json!({}), |_| unreachable!()).await;
        assert_eq!(reply.text(), "unsafe");
    }
}

#[tokio::test]
async fn members_that_were_not_asked_for_are_never_asked_about_again() {
    let world = World::new().await;
    let tool = |ask: Ask, _| async move {
        let Name { name } = ask.form("name", "Who?").await?;
        Ok(name)
    };
    for kind in Kind::all().filter(|kind| kind.form) {
        let mut client = world.client(kind, tool).await;
        let mut times = 0;
        let reply = client.call("t", json!({}), |_| {
            times += 1;
            accept(json!({"name": "Ada", "_meta": {"sdk": "python"}, "extra": 1}))
        });
        assert_eq!(reply.await.text(), "Ada", "{kind:?}");
        assert_eq!(times, 1, "{kind:?}");
    }
}

#[tokio::test]
async fn a_confirmation_is_never_given_by_accident() {
    let world = World::new().await;
    let tool = |ask: Ask, _| async move {
        let confirmed = ask.confirm("sure", "Delete everything?").await?;
        Ok(confirmed.to_string())
    };
    for kind in Kind::all().filter(|kind| kind.form) {
        let mut client = world.client(kind, tool).await;
        // Left off, sent without content, said no, and said yes.
        for (content, confirmed) in [
            (json!({}), "false"),
            (json!({"unasked": true}), "false"),
            (json!({"confirmed": false}), "false"),
            (json!({"confirmed": true}), "true"),
        ] {
            let mut times = 0;
            let reply = client.call("t", json!({}), |question| {
                times += 1;
                let field = &question.params["requestedSchema"]["properties"]["confirmed"];
                assert_eq!(field["title"], "I confirm", "{kind:?}");
                assert!(field.get("default").is_none(), "{kind:?}");
                accept(content.clone())
            });
            assert_eq!(reply.await.text(), confirmed, "{kind:?} {content}");
            assert_eq!(times, 1, "{kind:?} {content}");
        }
    }
}

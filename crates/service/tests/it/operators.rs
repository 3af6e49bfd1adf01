//! Operators: look after the questions of all askers, and read no answers.

use entreat_engine::InboxLink;
use entreat_service::Role;
use entreat_service::rpc::{Links, Rpc, Session, openrpc};
use serde_json::{Value, json};

use crate::world::{World, deploy};

/// What no operator may read, wherever it stands.
const SECRETS: [&str; 6] = [
    "staging",
    "hunter2",
    "a draft",
    "job 5",
    "previousErrors",
    "agent 7",
];

fn operator(world: &World) -> Session {
    Session::new(world.engine.asker("ops")).with_role(Role::Operator)
}

/// Questions of several askers: answered, refused once, with a draft, just asked.
async fn questions(world: &World) -> Vec<Value> {
    let mut ids = Vec::new();
    for (asker, responses) in [
        (
            "one",
            Some(json!({"target": "staging", "token": "hunter2"})),
        ),
        ("two", Some(json!({"target": "staging", "replicas": 99}))),
        ("two", None),
        ("three", None),
    ] {
        let session = Session::new(world.engine.asker(asker));
        let params = json!({"formDefinition": deploy(), "metadata": {"note": "job 5"}});
        let asked = world.call_as(&session, "elicitation/create", params).await;
        let id = asked["result"]["elicitationId"].clone();
        if let Some(responses) = responses {
            let params = json!({"elicitationId": id, "responses": responses,
                "metadata": {"user_agent": "agent 7"}});
            world.call_as(&session, "elicitation/submit", params).await;
        } else if asker == "two" {
            let params = json!({"elicitationId": id, "partial": true,
                "responses": {"token": "a draft"}});
            world.call_as(&session, "elicitation/submit", params).await;
        }
        ids.push(id);
    }
    ids
}

#[tokio::test]
async fn an_operator_sees_whose_questions_there_are_and_none_of_their_answers() {
    let world = World::new().await;
    let ids = questions(&world).await;
    let operator = operator(&world);
    let mut replies = Vec::new();
    let listed = world
        .call_as(&operator, "elicitation/list", json!({}))
        .await;
    let records = listed["result"]["elicitations"].as_array().unwrap();
    let mut askers: Vec<_> = records.iter().map(|it| it["asker"].as_str()).collect();
    // All are of the same moment.
    askers.sort_unstable();
    assert_eq!(askers, ["one", "three", "two", "two"].map(Some));
    assert!(records.iter().all(|record| record["question"] == "Deploy"));
    replies.push(listed);
    for id in &ids {
        let params = json!({"elicitationId": id});
        let reply = world.call_as(&operator, "elicitation/status", params.clone());
        replies.push(reply.await);
        let reply = world.call_as(&operator, "elicitation/extend_timeout", params.clone());
        replies.push(reply.await);
        let reply = world.call_as(&operator, "elicitation/cancel", params);
        replies.push(reply.await);
    }
    let status = |reply: &Value| reply["result"]["status"].as_str().map(str::to_owned);
    assert_eq!(status(&replies[1]).as_deref(), Some("completed"));
    assert_eq!(replies[3]["error"]["code"], -32009);
    for question in [1, 2, 3] {
        assert!(replies[question * 3 + 2]["result"]["newTimeoutAt"].is_u64());
        let cancelled = status(&replies[question * 3 + 3]);
        assert_eq!(cancelled.as_deref(), Some("cancelled"));
    }
    for reply in replies {
        let text = reply.to_string();
        let found = SECRETS.iter().find(|secret| text.contains(**secret));
        assert_eq!(found, None, "{text}");
    }
    // An asker sees neither its own name nor those of others.
    let session = Session::new(world.engine.asker("two"));
    let listed = world.call_as(&session, "elicitation/list", json!({})).await;
    let records = listed["result"]["elicitations"].as_array().unwrap();
    assert_eq!(records.len(), 2);
    let is_own = |record: &Value| record["question"] == "Deploy" && record.get("asker").is_none();
    assert!(records.iter().all(is_own));
}

#[tokio::test]
async fn an_operator_may_call_no_other_method() {
    let world = World::new().await;
    let id = questions(&world).await.remove(3);
    let operator = operator(&world);
    let mut allowed = Vec::new();
    let document = openrpc::document(None);
    for method in document["methods"].as_array().unwrap() {
        let name = method["name"].as_str().unwrap();
        let params = match method["params"].as_array().unwrap().first() {
            Some(param) if param["name"] == "elicitationId" => json!({"elicitationId": id}),
            _ => json!({}),
        };
        let reply = world.call_as(&operator, name, params).await;
        let error = &reply["error"];
        if error["data"]["reason"] == "not_for_operators" {
            assert_eq!(error["code"], -32012, "{name}");
        } else {
            allowed.push(name);
        }
    }
    let expected = [
        "elicitation/cancel",
        "elicitation/extend_timeout",
        "elicitation/reassign",
        "elicitation/status",
        "elicitation/list",
        "inbox/link",
        "rpc.discover",
    ];
    assert_eq!(allowed, expected);
}

/// An inbox whose link lets people in, or does not.
struct Inbox {
    is_secret: bool,
}

impl Links for Inbox {
    fn page(&self, _: entreat_core::ElicitationId) -> Option<String> {
        None
    }

    fn inbox(&self) -> Option<InboxLink> {
        let url = "https://ask.example.com/inbox".to_owned();
        Some(InboxLink {
            url,
            is_secret: self.is_secret,
        })
    }
}

#[tokio::test]
async fn a_secret_link_to_the_inbox_is_for_programs_on_the_same_machine() {
    let mut world = World::new().await;
    let roles = [Role::Local, Role::Asker, Role::Operator];
    for (links, expected) in [
        (None, [false; 3]),
        (Some(true), [true, false, false]),
        (Some(false), [true; 3]),
    ] {
        world.rpc = Rpc::new(world.engine.clone());
        if let Some(is_secret) = links {
            world.rpc = world.rpc.with_links(Inbox { is_secret });
        }
        for (role, expected) in roles.into_iter().zip(expected) {
            let session = Session::new(world.engine.asker("one")).with_role(role);
            let reply = world.call_as(&session, "inbox/link", json!({})).await;
            assert_eq!(reply["result"]["url"].is_string(), expected, "{role:?}");
            assert!(expected || reply["error"]["code"] == -32012, "{reply}");
        }
    }
}

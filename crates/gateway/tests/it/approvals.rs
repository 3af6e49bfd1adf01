//! Calls that wait until a person approves them.
//!
//! Size: the helpers for five pairs of versions belong to all of these tests.

use std::time::Duration;

use entreat_core::Outcome;
use entreat_gateway::{ApprovalAction, ApprovalRule, GatewaySettings, Validity, When};
use serde_json::{Value, json};

use crate::world::{Pair, Ways, World, modern, settle, text};

const L6: &str = "2025-06-18";
const L11: &str = "2025-11-25";
/// Longer than a person takes to read nothing.
const READ: Duration = Duration::from_secs(2);

fn forms() -> Value {
    json!({"elicitation": {"form": {}}})
}

fn rule(action: ApprovalAction, tool: &str) -> ApprovalRule {
    ApprovalRule::new(action).for_tool(tool.parse().expect("a pattern"))
}

fn ask(tool: &str) -> ApprovalRule {
    rule(ApprovalAction::Ask, tool)
}

async fn world(ways: Ways, rules: Vec<ApprovalRule>) -> World {
    let settings = GatewaySettings {
        approvals: rules,
        ..GatewaySettings::default()
    };
    World::with(ways, settings).await
}

/// The text of a result that says that a call was not run.
fn refusal(message: &Value) -> String {
    let result = &message["result"];
    assert_eq!(result["isError"], true, "{message}");
    result["content"][0]["text"]
        .as_str()
        .expect("text")
        .to_owned()
}

fn yes() -> Value {
    json!({"action": "accept", "content": {"approve": true}})
}

fn no(reason: &str) -> Value {
    json!({"action": "accept", "content": {"approve": false, "reason": reason}})
}

/// The pairs of eras.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Eras {
    Oldest,
    Legacy,
    Raised,
    Modern,
    Lowered,
}

impl Eras {
    const ALL: [Self; 5] = [
        Self::Oldest,
        Self::Legacy,
        Self::Raised,
        Self::Modern,
        Self::Lowered,
    ];

    fn has_modern_client(self) -> bool {
        matches!(self, Self::Modern | Self::Lowered)
    }

    fn has_modern_server(self) -> bool {
        matches!(self, Self::Modern | Self::Raised)
    }
}

/// A client of either era in front of a server of either.
struct Caller {
    eras: Eras,
    pair: Pair,
    capabilities: Value,
    next: u64,
}

impl Caller {
    async fn new(world: &World, eras: Eras, capabilities: Value) -> Self {
        let mut pair = world.connect();
        match eras {
            Eras::Oldest => drop(pair.initialize_as(L6, L6, capabilities.clone()).await),
            Eras::Legacy => drop(pair.initialize(L11, capabilities.clone()).await),
            Eras::Raised => drop(pair.initialize_raised(L11, capabilities.clone()).await),
            Eras::Modern | Eras::Lowered => {}
        }
        let mut caller = Self {
            eras,
            pair,
            capabilities,
            next: 100,
        };
        if eras.has_modern_client() {
            // The first request decides the pair.
            caller.request("ping/none", json!({})).await;
            if eras == Eras::Modern {
                caller.pair.discover().await;
            } else {
                caller.pair.lower().await;
            }
            let asked = caller.pair.server.next().await;
            caller.pair.server.reply(&asked, json!({})).await;
            caller.pair.client.next().await;
        }
        caller
    }

    async fn request(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        let params = if self.eras.has_modern_client() {
            modern(params, self.capabilities.clone())
        } else {
            params
        };
        self.pair.client.request(self.next, method, params).await;
        self.next
    }

    async fn call(&mut self, tool: &str, arguments: Value) -> u64 {
        let params = json!({"name": tool, "arguments": arguments});
        self.request("tools/call", params).await
    }

    /// The question that the client is asked to show, and how to answer it.
    async fn question(&mut self, world: &World) -> Asked {
        if !self.eras.has_modern_client() {
            let asked = self.pair.client.next().await;
            assert_eq!(asked["method"], "elicitation/create", "{asked}");
            return Asked {
                params: asked["params"].clone(),
                message: asked,
                key: String::new(),
            };
        }
        world.pass(Duration::from_millis(50)).await;
        let round = self.pair.client.next().await;
        assert_eq!(round["result"]["resultType"], "input_required", "{round}");
        let requests = round["result"]["inputRequests"]
            .as_object()
            .expect("questions");
        let (key, request) = requests.iter().next().expect("a question");
        assert_eq!(request["method"], "elicitation/create");
        Asked {
            params: request["params"].clone(),
            key: key.clone(),
            message: round.clone(),
        }
    }

    /// Answers a question; in rounds, with the call that it belongs to.
    async fn answer(&mut self, asked: &Asked, tool: &str, arguments: Value, answer: Value) {
        if !self.eras.has_modern_client() {
            return self.pair.client.reply(&asked.message, answer).await;
        }
        let mut params = json!({"name": tool, "arguments": arguments});
        params["requestState"] = asked.message["result"]["requestState"].clone();
        params["inputResponses"] = json!({asked.key.clone(): answer});
        self.request("tools/call", params).await;
    }

    /// The call at the server, which has to be this one.
    async fn runs(&mut self, tool: &str, arguments: &Value, result: &str) {
        let called = self.pair.server.next().await;
        assert_eq!(called["method"], "tools/call", "{called}");
        assert_eq!(called["params"]["name"], tool);
        assert_eq!(called["params"]["arguments"], *arguments);
        assert_eq!(called["params"].get("inputResponses"), None);
        assert_eq!(called["params"].get("requestState"), None);
        let mut content = text(result);
        if self.eras.has_modern_server() {
            content["resultType"] = json!("complete");
        }
        self.pair.server.reply(&called, content).await;
    }

    async fn result(&mut self) -> Value {
        let message = self.pair.client.next().await;
        let kind = &message["result"]["resultType"];
        if self.eras.has_modern_client() {
            assert_eq!(kind, "complete", "{message}");
        } else {
            assert_eq!(*kind, Value::Null, "{message}");
        }
        message
    }
}

struct Asked {
    params: Value,
    message: Value,
    key: String,
}

// ---- in the client's own form

#[tokio::test]
async fn an_approved_call_runs_once_in_every_pair_of_eras() {
    for eras in Eras::ALL {
        let world = world(Ways::None, vec![ask("delete_*")]).await;
        let mut caller = Caller::new(&world, eras, forms()).await;
        let arguments = json!({"path": "/tmp/x", "n": 9_007_199_254_740_993_u64});
        caller.call("delete_file", arguments.clone()).await;
        let asked = caller.question(&world).await;
        caller.pair.server.nothing().await;
        assert_eq!(
            asked.params["requestedSchema"]["required"],
            json!(["approve"]),
            "{eras:?}"
        );
        world.pass(READ).await;
        caller
            .answer(&asked, "delete_file", arguments.clone(), yes())
            .await;
        caller.runs("delete_file", &arguments, "deleted").await;
        let result = caller.result().await;
        assert_eq!(
            result["result"]["content"],
            text("deleted")["content"],
            "{eras:?}"
        );
        caller.pair.server.nothing().await;
        // An approval is for one call.
        caller.call("delete_file", arguments.clone()).await;
        caller.question(&world).await;
        caller.pair.server.nothing().await;
    }
}

#[tokio::test]
async fn a_refusal_tells_the_model_why_in_every_pair_of_eras() {
    for eras in Eras::ALL {
        let world = world(Ways::None, vec![ask("*")]).await;
        let mut caller = Caller::new(&world, eras, forms()).await;
        for (answer, expected) in [
            (
                no("Use the trash instead."),
                "said no. Their reason: Use the trash instead.",
            ),
            (no("  "), "said no. Do not repeat"),
            (json!({"action": "decline"}), "said no"),
            (json!({"action": "cancel"}), "without a decision"),
            (
                json!({"action": "accept", "content": {"approve": "true"}}),
                "not valid",
            ),
            (json!({"action": "accept"}), "not valid"),
        ] {
            caller.call("delete", json!({})).await;
            let asked = caller.question(&world).await;
            world.pass(READ).await;
            caller.answer(&asked, "delete", json!({}), answer).await;
            let refused = refusal(&caller.result().await);
            assert!(refused.starts_with("The call was not run: "), "{refused}");
            assert!(refused.contains(expected), "{eras:?}: {refused}");
        }
        caller.pair.server.nothing().await;
    }
}

#[tokio::test]
async fn an_answer_that_nobody_can_have_read_does_not_count() {
    for eras in Eras::ALL {
        let world = world(Ways::Browser, vec![ask("*")]).await;
        let mut caller = Caller::new(&world, eras, forms()).await;
        caller.call("delete", json!({"a": 1})).await;
        let asked = caller.question(&world).await;
        world.pass(Duration::from_millis(200)).await;
        caller
            .answer(&asked, "delete", json!({"a": 1}), yes())
            .await;
        let page = world.opened().await;
        caller.pair.server.nothing().await;
        world.answer(&page, json!({"approve": true})).await;
        caller.runs("delete", &json!({"a": 1}), "done").await;
        caller.result().await;
        // From now on, this client is not asked any more.
        caller.call("delete", json!({"a": 2})).await;
        let page = world.opened().await;
        world
            .answer(&page, json!({"approve": false, "reason": "no"}))
            .await;
        assert!(refusal(&caller.result().await).contains("Their reason: no"));
        caller.pair.server.nothing().await;
    }
}

#[tokio::test]
async fn an_answer_that_nobody_can_have_read_is_an_error_if_there_is_no_page() {
    let world = world(Ways::None, vec![ask("*")]).await;
    let mut caller = Caller::new(&world, Eras::Legacy, forms()).await;
    caller.call("delete", json!({})).await;
    let asked = caller.question(&world).await;
    world.pass(Duration::from_millis(299)).await;
    caller.answer(&asked, "delete", json!({}), yes()).await;
    let refused = refusal(&caller.result().await);
    assert!(refused.contains("faster than a person reads"), "{refused}");
    caller.pair.server.nothing().await;
}

#[tokio::test]
async fn a_client_that_shows_nothing_gets_a_page_too() {
    let world = world(Ways::Browser, vec![ask("*")]).await;
    let mut caller = Caller::new(&world, Eras::Legacy, forms()).await;
    caller.call("delete", json!({})).await;
    caller.question(&world).await;
    world.nothing_opened().await;
    world.pass(Duration::from_secs(30)).await;
    let page = world.opened().await;
    world.answer(&page, json!({"approve": true})).await;
    // The client's dialog closes.
    let withdrawn = caller.pair.client.next().await;
    assert_eq!(withdrawn["method"], "notifications/cancelled");
    caller.runs("delete", &json!({}), "done").await;
    caller.result().await;
}

#[tokio::test]
async fn a_client_that_cannot_be_asked_without_pages_gets_an_error() {
    for eras in Eras::ALL {
        let world = world(Ways::None, vec![ask("*")]).await;
        let mut caller = Caller::new(&world, eras, json!({})).await;
        caller.call("delete", json!({})).await;
        let refused = refusal(&caller.result().await);
        assert!(refused.contains("nobody could be asked"), "{refused}");
        caller.pair.server.nothing().await;
    }
}

// ---- on pages

#[tokio::test]
async fn a_page_shows_who_calls_what_with_which_arguments() {
    let world = world(Ways::Browser, vec![ask("delete_*")]).await;
    let mut caller = Caller::new(&world, Eras::Legacy, json!({})).await;
    caller.request("tools/list", json!({})).await;
    let listed = caller.pair.server.next().await;
    let tools = json!({"tools": [{"name": "delete_file", "title": "Delete", "description":
        "Deletes a *file*.\n~~~\nYou have to agree.", "annotations": {"destructiveHint": true},
        "inputSchema": {"type": "object", "properties": {"path": {"title": "File\u{202e}"}}}}]});
    caller.pair.server.reply(&listed, tools).await;
    let listed = caller.pair.client.next().await;
    assert_eq!(listed["result"]["tools"][1]["name"], "resume_question");
    let arguments =
        json!({"path": "a\u{202e}b", "why": "one\n~~~\n**Called by:** root", "n": [1.5]});
    caller.call("delete_file", arguments).await;
    let page = world.opened().await;
    let shown = world.question(&page).status().await.expect("a question");
    let request = &shown.record().request;
    let form = request.subject.form().expect("a form");
    assert_eq!(form.title(), "Run delete_file on server?");
    let extras = request.extras.as_ref().expect("a message");
    assert_eq!(extras.introduced_as.as_deref(), Some("client"));
    assert_eq!(
        extras.message(),
        Some(
            "**Server:** server \\(it calls itself “files”\\)\n\
             **Tool:** delete\\_file\n\
             **Called by:** “client”\\, as it calls itself\n\
             \n**Arguments:**\n\n~~~~~~\n\
             path (“File\\u{202e}”): \"a\\u{202e}b\"\n\
             why: |\n  one\n  ~~~\n  **Called by:** root\n\
             n:\n  - 1.5\n~~~~~~\n\
             \n**What the server says about the tool, in its own words:**\n\n~~~~\n\
             Title: Delete\nDeletes a *file*.\n~~~\nYou have to agree.\n\
             Hints: may destroy something\n~~~~\n"
        )
    );
}

#[tokio::test]
async fn a_person_decides_on_a_page_in_every_pair_of_eras() {
    for eras in Eras::ALL {
        let world = world(Ways::Browser, vec![ask("*")]).await;
        let mut caller = Caller::new(&world, eras, json!({})).await;
        caller.call("delete", json!({"a": 1})).await;
        let page = world.opened().await;
        caller.pair.server.nothing().await;
        world.answer(&page, json!({"approve": true})).await;
        caller.runs("delete", &json!({"a": 1}), "done").await;
        caller.result().await;

        caller.call("delete", json!({"a": 1})).await;
        let page = world.opened().await;
        world
            .answer(&page, json!({"approve": false, "reason": "Not today"}))
            .await;
        let refused = refusal(&caller.result().await);
        assert!(refused.contains("Their reason: Not today"), "{refused}");

        caller.call("delete", json!({"a": 1})).await;
        let page = world.opened().await;
        world.question(&page).decline().await.expect("open");
        let refused = refusal(&caller.result().await);
        assert!(refused.contains("without a decision"), "{refused}");
        caller.pair.server.nothing().await;
    }
}

#[tokio::test]
async fn nobody_decides_in_time() {
    let mut rule = ask("*");
    rule.timeout = Duration::from_secs(600);
    // In the client's form, where nobody else keeps the time.
    let alone = world(Ways::None, vec![rule.clone()]).await;
    let mut caller = Caller::new(&alone, Eras::Legacy, forms()).await;
    caller.call("delete", json!({})).await;
    let asked = caller.question(&alone).await;
    alone.pass(Duration::from_secs(599)).await;
    caller.pair.client.nothing().await;
    alone.pass(Duration::from_secs(1)).await;
    let withdrawn = caller.pair.client.next().await;
    assert_eq!(withdrawn["method"], "notifications/cancelled");
    assert!(refusal(&caller.result().await).contains("did not decide in time"));
    // Too late.
    caller.answer(&asked, "delete", json!({}), yes()).await;
    caller.pair.server.nothing().await;

    // On a page.
    let world = world(Ways::Browser, vec![rule]).await;
    let token = json!({"name": "delete", "_meta": {"progressToken": 1}});
    let mut caller = Caller::new(&world, Eras::Legacy, json!({})).await;
    caller.request("tools/call", token).await;
    let page = world.opened().await;
    let question = world.question(&page);
    for _ in 0..60 {
        world.pass(Duration::from_secs(10)).await;
    }
    let mut last = caller.pair.client.next().await;
    while last["method"] == "notifications/progress" {
        last = caller.pair.client.next().await;
    }
    assert!(refusal(&last).contains("did not decide in time"), "{last}");
    let settled = question.status().await.expect("kept");
    assert_eq!(settled.outcome(), Some(Outcome::TimedOut));
    caller.pair.server.nothing().await;
}

#[tokio::test]
async fn a_link_leads_to_the_decision_and_the_model_cannot_make_it() {
    for eras in Eras::ALL {
        let world = world(Ways::Pages, vec![ask("*_file")]).await;
        let mut caller = Caller::new(&world, eras, json!({})).await;
        caller.request("tools/list", json!({})).await;
        let listed = caller.pair.server.next().await;
        caller
            .pair
            .server
            .reply(&listed, json!({"tools": [], "resultType": "complete"}))
            .await;
        let listed = caller.pair.client.next().await;
        // One tool of ours, whose only argument names the call.
        let tools = listed["result"]["tools"].as_array().expect("tools");
        assert_eq!(tools.len(), 1, "{listed}");
        assert_eq!(tools[0]["name"], "resume_question");
        let arguments = &tools[0]["inputSchema"]["properties"];
        assert_eq!(arguments.as_object().expect("arguments").len(), 1);

        caller.call("delete_file", json!({"p": 1})).await;
        let linked = caller.result().await;
        let said = linked["result"]["content"][0]["text"]
            .as_str()
            .expect("text");
        assert!(said.contains("Run delete_file on server?"), "{said}");
        let url = said
            .split_whitespace()
            .find(|word| word.starts_with("https://"));
        let url = url.expect("a link").to_owned();
        let handle = said.split('"').nth(3).expect("a handle").to_owned();
        // Whatever the model adds, it does not decide.
        for more in [
            json!({}),
            json!({"approve": true}),
            json!({"action": "accept"}),
        ] {
            let mut arguments = more;
            arguments["question"] = json!(handle);
            caller.call("resume_question", arguments).await;
            settle().await;
            world.pass(Duration::from_secs(25)).await;
            let waiting = caller.result().await;
            let said = waiting["result"]["content"][0]["text"]
                .as_str()
                .expect("text");
            assert!(said.contains("has not answered yet"), "{said}");
        }
        caller.pair.server.nothing().await;
        caller
            .call("resume_question", json!({"question": handle}))
            .await;
        settle().await;
        world.answer(&url, json!({"approve": true})).await;
        caller.runs("delete_file", &json!({"p": 1}), "done").await;
        let result = caller.result().await;
        assert_eq!(
            result["result"]["content"],
            text("done")["content"],
            "{eras:?}"
        );
        caller.pair.server.nothing().await;
    }
}

#[tokio::test]
async fn who_has_to_approve_is_asked_on_a_page_for_them() {
    let mut rule = ask("*");
    rule.who = Some("ada".to_owned());
    let world = world(Ways::Browser, vec![rule]).await;
    let mut caller = Caller::new(&world, Eras::Legacy, forms()).await;
    caller.call("delete", json!({})).await;
    let page = world.opened().await;
    let asked = world.question(&page).status().await.expect("a question");
    let extras = asked
        .record()
        .request
        .extras
        .as_ref()
        .expect("a respondent");
    assert_eq!(extras.respondent.as_deref(), Some("ada"));
    // The client's form is not shown, since it cannot tell who answers.
    caller.pair.client.nothing().await;
}

// ---- what an approval is for

/// What a call was approved with, and spellings of the same.
const APPROVED: &str = r#"{"a":1,"b":[1,{"c":"é","d":null}],"big":18446744073709551617}"#;
const SAME: &[&str] = &[
    APPROVED,
    r#"{"b":[1,{"d":null,"c":"é"}],"big":18446744073709551617,"a":1}"#,
    r#" { "a" : 1.0 , "b":[10e-1,{"c":"\u00e9","d":null}], "big":18446744073709551617.0 }"#,
    r#"{"\u0061":1,"b":[1.00,{"c":"é","d":null}],"big":1.8446744073709551617E+19}"#,
];
const OTHER: &[&str] = &[
    "{}",
    r#"{"a":2,"b":[1,{"c":"é","d":null}],"big":18446744073709551617}"#,
    r#"{"a":"1","b":[1,{"c":"é","d":null}],"big":18446744073709551617}"#,
    r#"{"a":true,"b":[1,{"c":"é","d":null}],"big":18446744073709551617}"#,
    r#"{"a":1,"b":[{"c":"é","d":null},1],"big":18446744073709551617}"#,
    r#"{"a":1,"b":[1,{"c":"É","d":null}],"big":18446744073709551617}"#,
    r#"{"a":1,"b":[1,{"c":"é"}],"big":18446744073709551617}"#,
    r#"{"a":1,"b":[1,{"c":"é","d":null,"e":0}],"big":18446744073709551617}"#,
    r#"{"a":1,"b":[1,{"c":"é","d":null}],"big":18446744073709551616}"#,
    r#"{"a":1,"b":[1,{"c":"é","d":null}],"big":18446744073709551617,"more":null}"#,
    r#"{"a":1.0000000000000000001,"b":[1,{"c":"é","d":null}],"big":18446744073709551617}"#,
];

#[tokio::test]
async fn other_arguments_ask_again_and_other_spellings_do_not() {
    let mut rule = ask("*");
    rule.valid = Validity::For(Duration::from_secs(3600));
    let world = world(Ways::None, vec![rule]).await;
    let mut caller = Caller::new(&world, Eras::Legacy, forms()).await;
    let send = |arguments: &str, more: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"t","arguments":{arguments}{more}}}}}"#
        )
    };
    caller.pair.client.raw(&send(APPROVED, "")).await;
    let asked = caller.question(&world).await;
    world.pass(READ).await;
    caller.answer(&asked, "t", json!({}), yes()).await;
    let ran = caller.pair.server.next().await;
    caller.pair.server.reply(&ran, text("done")).await;
    caller.result().await;
    for same in SAME {
        for more in ["", r#","_meta":{"x/y":1}"#] {
            let line = send(same, more);
            caller.pair.client.raw(&line).await;
            // It passes as it is.
            assert_eq!(caller.pair.server.line().await, line);
            let reply = json!({"jsonrpc": "2.0", "id": 7, "result": text("done")});
            caller.pair.server.send(reply).await;
            caller.result().await;
        }
    }
    let task = send(APPROVED, r#","task":{"ttl":1}"#);
    let other_tool = send(APPROVED, "").replace(r#""name":"t""#, r#""name":"u""#);
    let others = OTHER.iter().map(|other| send(other, ""));
    for line in others.chain([task, other_tool]) {
        caller.pair.client.raw(&line).await;
        let asked = caller.question(&world).await;
        world.pass(READ).await;
        caller.answer(&asked, "t", json!({}), no("other")).await;
        refusal(&caller.result().await);
        caller.pair.server.nothing().await;
    }
    // It counts for an hour.
    world.pass(Duration::from_secs(3600)).await;
    caller.pair.client.raw(&send(APPROVED, "")).await;
    caller.question(&world).await;
}

#[tokio::test]
async fn replays_of_an_approval_run_once_and_get_one_outcome() {
    for eras in [Eras::Modern, Eras::Lowered] {
        let world = world(Ways::None, vec![ask("*")]).await;
        let mut caller = Caller::new(&world, eras, forms()).await;
        caller.call("charge", json!({"cents": 100})).await;
        let asked = caller.question(&world).await;
        world.pass(READ).await;
        for _ in 0..32 {
            caller
                .answer(&asked, "charge", json!({"cents": 100}), yes())
                .await;
        }
        caller
            .runs("charge", &json!({"cents": 100}), "charged")
            .await;
        for _ in 0..32 {
            let result = caller.result().await;
            assert_eq!(result["result"]["content"], text("charged")["content"]);
        }
        // And after it has ended, in other spellings.
        for _ in 0..32 {
            caller
                .answer(&asked, "charge", json!({"cents": 100.0}), yes())
                .await;
            let result = caller.result().await;
            assert_eq!(result["result"]["content"], text("charged")["content"]);
        }
        caller.pair.server.nothing().await;
        // Another answer, or other arguments, to the same state.
        caller
            .answer(&asked, "charge", json!({"cents": 100}), no("oh"))
            .await;
        assert_eq!(caller.pair.client.next().await["error"]["code"], -32602);
        caller
            .answer(&asked, "charge", json!({"cents": 101}), yes())
            .await;
        assert_eq!(caller.pair.client.next().await["error"]["code"], -32602);
        caller
            .answer(&asked, "charge_all", json!({"cents": 100}), yes())
            .await;
        assert_eq!(caller.pair.client.next().await["error"]["code"], -32602);
        caller.pair.server.nothing().await;
    }
}

#[tokio::test]
async fn a_state_of_one_call_does_not_approve_another() {
    let world = world(Ways::None, vec![ask("*")]).await;
    let mut caller = Caller::new(&world, Eras::Modern, forms()).await;
    caller.call("a", json!({"n": 1})).await;
    let first = caller.question(&world).await;
    caller.call("a", json!({"n": 2})).await;
    let second = caller.question(&world).await;
    world.pass(READ).await;
    caller.answer(&first, "a", json!({"n": 2}), yes()).await;
    assert_eq!(caller.pair.client.next().await["error"]["code"], -32602);
    // Answers without a state begin a call of their own.
    let params = json!({"name": "a", "arguments": {"n": 2},
        "inputResponses": {second.key.clone(): yes()}});
    caller.request("tools/call", params).await;
    caller.question(&world).await;
    caller.pair.server.nothing().await;
}

#[tokio::test]
async fn a_call_that_its_client_cancels_never_runs() {
    let world = world(Ways::Browser, vec![ask("*")]).await;
    let mut caller = Caller::new(&world, Eras::Legacy, json!({})).await;
    let id = caller.call("delete", json!({})).await;
    let page = world.opened().await;
    caller
        .pair
        .client
        .notify("notifications/cancelled", json!({"requestId": id}))
        .await;
    settle().await;
    let question = world.question(&page);
    assert!(question.submit(&json!({"approve": true})).await.is_err());
    settle().await;
    caller.pair.server.nothing().await;
    caller.pair.client.nothing().await;
}

// ---- rules

#[tokio::test]
async fn rules_refuse_and_let_pass() {
    for eras in Eras::ALL {
        let rules = vec![
            rule(ApprovalAction::Allow, "read_*"),
            rule(ApprovalAction::Deny, "*_all"),
        ];
        let world = world(Ways::Browser, rules).await;
        let mut caller = Caller::new(&world, eras, forms()).await;
        for passing in ["read_all", "write"] {
            caller.call(passing, json!({"a": 1})).await;
            caller.runs(passing, &json!({"a": 1}), "done").await;
            caller.result().await;
        }
        caller.call("delete_all", json!({})).await;
        let refused = refusal(&caller.result().await);
        assert!(refused.contains("a rule of the person"), "{refused}");
        assert!(refused.contains("Nobody was asked"), "{refused}");
        caller.pair.server.nothing().await;
        world.nothing_opened().await;
    }
}

#[tokio::test]
async fn conditions_and_hints_decide_which_calls_wait() {
    let path = json!({"operator": "regex", "field": "path", "value": "^/etc/"});
    let mut etc = ask("write");
    etc.when = Some(When::from_value(&path).expect("a condition"));
    let mut hinted = ask("*");
    hinted.is_destructive = true;
    let world = world(
        Ways::Browser,
        vec![etc, rule(ApprovalAction::Allow, "*"), hinted],
    )
    .await;
    let mut caller = Caller::new(&world, Eras::Legacy, json!({})).await;
    caller.request("tools/list", json!({})).await;
    let listed = caller.pair.server.next().await;
    let tools = json!({"tools": [
        {"name": "write", "annotations": {"readOnlyHint": true}},
        {"name": "drop", "annotations": {"destructiveHint": true}},
    ]});
    caller.pair.server.reply(&listed, tools).await;
    caller.pair.client.next().await;
    caller.call("write", json!({"path": "/tmp/x"})).await;
    caller
        .runs("write", &json!({"path": "/tmp/x"}), "done")
        .await;
    caller.result().await;
    // Whatever the server says of it.
    caller.call("write", json!({"path": "/etc/x"})).await;
    world.opened().await;
    caller.call("write", json!({"path": ["/etc/x"]})).await;
    world.opened().await;
    // A hint adds an approval to calls that a rule lets pass.
    caller.call("drop", json!({})).await;
    world.opened().await;
    caller.pair.server.nothing().await;
}

#[tokio::test]
async fn there_is_no_way_around_a_rule() {
    let world = world(Ways::Browser, vec![rule(ApprovalAction::Deny, "*")]).await;
    let mut caller = Caller::new(&world, Eras::Legacy, forms()).await;
    let client = &mut caller.pair.client;
    for line in [
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"t"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["t"]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#,
    ] {
        client.raw(line).await;
        let refused = client.next().await;
        assert!(refused["error"]["code"].is_i64(), "{line}: {refused}");
    }
    // Without an id, there is nobody to tell.
    client
        .raw(r#"{"jsonrpc":"2.0","method":"tools\/call","params":{"name":"t"}}"#)
        .await;
    client.nothing().await;
    client
        .raw(r#"{"jsonrpc":"2.0","id":null,"method":"tools/c\u0061ll","params":{"n\u0061me":"t"}}"#)
        .await;
    refusal(&client.next().await);
    // Each call of a batch is judged by itself.
    client
        .raw(
            r#"[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}},{"jsonrpc":"2.0","method":"tools/call","params":{"name":"t"}},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t"}}]"#,
        )
        .await;
    let refused = client.next().await;
    assert_eq!(refused.as_array().map(Vec::len), Some(2), "{refused}");
    refusal(&refused[0]);
    refusal(&refused[1]);
    caller.pair.server.nothing().await;
}

#[tokio::test]
async fn a_call_of_a_batch_waits_and_the_others_do_not() {
    let world = world(Ways::Browser, vec![ask("delete")]).await;
    let mut caller = Caller::new(&world, Eras::Legacy, json!({})).await;
    let client = &mut caller.pair.client;
    client
        .raw(
            r#"[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read"}},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"delete"}}]"#,
        )
        .await;
    let read = caller.pair.server.next().await;
    assert_eq!(read["params"]["name"], "read");
    caller.pair.server.reply(&read, text("read")).await;
    let page = world.opened().await;
    caller.pair.server.nothing().await;
    world.answer(&page, json!({"approve": true})).await;
    let deleted = caller.pair.server.next().await;
    assert_eq!(deleted["params"]["name"], "delete");
    caller.pair.server.reply(&deleted, text("deleted")).await;
    let together = caller.pair.client.next().await;
    let together = together.as_array().expect("a batch");
    let results: Vec<&Value> = together.iter().map(|it| &it["result"]).collect();
    assert_eq!(results, [&text("read"), &text("deleted")]);
}

#[tokio::test]
async fn calls_that_nobody_can_check_are_refused() {
    let world = world(Ways::Browser, vec![ask("*")]).await;
    let mut caller = Caller::new(&world, Eras::Legacy, forms()).await;
    let large = json!({"x": "a".repeat(1 << 20)});
    caller.call("t", large).await;
    let refused = refusal(&caller.result().await);
    assert!(refused.contains("larger than 1 MiB"), "{refused}");
    for arguments in [
        r#"{"a":{"b":1,"b":2}}"#.to_owned(),
        format!("{}{}", "[".repeat(100), "]".repeat(100)),
        r#"{"a":"\ud800"}"#.to_owned(),
    ] {
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"t","arguments":{arguments}}}}}"#
        );
        caller.pair.client.raw(&line).await;
        let refused = refusal(&caller.result().await);
        assert!(refused.contains("cannot be shown"), "{refused}");
    }
    caller.pair.server.nothing().await;
    world.nothing_opened().await;
}

#[tokio::test]
async fn calls_that_wait_are_bounded() {
    let world = world(Ways::None, vec![ask("*")]).await;
    let mut caller = Caller::new(&world, Eras::Legacy, forms()).await;
    let mut waiting = Vec::new();
    for n in 0..100 {
        caller.call("t", json!({"n": n})).await;
        waiting.push(caller.question(&world).await);
    }
    caller.call("t", json!({"n": 100})).await;
    assert!(refusal(&caller.result().await).contains("too many calls"));
    // A decision makes room.
    world.pass(READ).await;
    caller.answer(&waiting[0], "t", json!({}), no("")).await;
    refusal(&caller.result().await);
    caller.call("t", json!({"n": 101})).await;
    caller.question(&world).await;
    caller.pair.server.nothing().await;
}

#[tokio::test]
async fn a_question_of_the_server_does_not_go_to_a_call_that_waits() {
    let world = world(Ways::Pages, vec![ask("held")]).await;
    let mut caller = Caller::new(&world, Eras::Legacy, forms()).await;
    caller.call("held", json!({})).await;
    let held = caller.question(&world).await;
    let id = caller.call("other", json!({})).await;
    let ran = caller.pair.server.next().await;
    // Its question is a secret, which goes to a page, whose link is in the result of its own call.
    let form = json!({"message": "Key?", "requestedSchema": {"type": "object",
        "properties": {"token": {"type": "string"}}, "required": ["token"]}});
    caller
        .pair
        .server
        .request(1, "elicitation/create", form)
        .await;
    let linked = caller.pair.client.next().await;
    assert_eq!(linked["id"], id, "{linked}");
    world.pass(READ).await;
    caller.answer(&held, "held", json!({}), no("")).await;
    assert_ne!(caller.result().await["id"], id);
    assert_eq!(ran["params"]["name"], "other");
}

//! Clients with `dev.entreat/forms` answer through the control API.

use entreat::core::schema::Era;
use entreat::{Entreat, Form};
use entreat_testkit::mcp::{Client, HttpClient, Kind, Reply, SeenQuestion, accept};
use serde_json::{Value, json};
use tokio::io::DuplexStream;

use crate::asking::Server;

const EXTENSION: &str = "dev.entreat/forms";

/// Who are you?
#[derive(Form)]
struct Person {
    #[form(min_length = 2)]
    name: String,
}

fn asking() -> Server {
    Server::new(|ask| async move {
        let Person { name } = ask.form("person", "Who?").await?;
        Ok(format!("hello {name}"))
    })
}

fn knowing(kind: Kind) -> Value {
    let mut capabilities = kind.capabilities();
    let place = if kind.has_rounds() {
        "extensions"
    } else {
        "experimental"
    };
    capabilities[place] = json!({EXTENSION: {}});
    capabilities
}

/// A question that a client received: its call and its request.
struct Asked {
    call: u64,
    question: SeenQuestion,
    /// The request if it is pending; otherwise the state.
    request: Result<Value, String>,
}

impl Asked {
    async fn by(client: &mut Client<DuplexStream>, kind: Kind) -> Self {
        let call = client.start("t", json!({})).await;
        if kind.has_rounds() {
            let reply = client.reply_to(call, |_| unreachable!()).await;
            let question = reply.questions().remove(0);
            let request = Err(reply.state().to_owned());
            return Self {
                call,
                question,
                request,
            };
        }
        let (id, question) = client.question().await;
        let request = Ok(id);
        Self {
            call,
            question,
            request,
        }
    }

    fn id(&self) -> Value {
        self.question.params["_meta"][EXTENSION]["elicitationId"].clone()
    }

    /// The result of the call, once the question was answered through the control API.
    async fn end(self, client: &mut Client<DuplexStream>) -> Reply {
        match self.request {
            Ok(request) => {
                let reply = client.reply_to(self.call, |_| unreachable!()).await;
                // The client's dialog has nothing left to answer.
                let closed = client.hear("notifications/cancelled").await;
                assert_eq!(closed["requestId"], request);
                reply
            }
            Err(state) => {
                let extra = json!({"requestState": state});
                client.round("t", json!({}), extra).await
            }
        }
    }
}

async fn call(client: &mut Client<DuplexStream>, method: &str, params: Value) -> Reply {
    let id = client.send(method, params).await;
    client.reply_to(id, |_| unreachable!()).await
}

#[tokio::test]
async fn an_answer_by_the_control_api_ends_the_question_in_every_era() {
    let entreat = Entreat::builder().start().await.unwrap();
    for era in Era::ALL {
        let kind = Kind::form(era);
        let mut client = asking().client(&entreat, kind, knowing(kind)).await;
        let asked = Asked::by(&mut client, kind).await;
        let whole = &asked.question.params["_meta"][EXTENSION];
        assert_eq!(whole["form"]["fields"][0]["id"], "name");
        let id = asked.id();

        // Errors are those of the control API.
        let short = json!({"elicitationId": id, "responses": {"name": "A"}});
        let Reply::Error(refused) = call(&mut client, "elicitation/submit", short).await else {
            panic!("taken in {era}")
        };
        assert_eq!(refused["code"], -32007, "{refused}");
        let data = &refused["data"];
        assert_eq!(data["type"], "validation");
        assert_eq!(data["errors"][0]["field"], "name");
        assert_eq!(data["retry_allowed"], true);
        assert_eq!(data["retry_count"], 1);

        let named = json!({"elicitationId": id});
        let status = call(&mut client, "elicitation/status", named.clone()).await;
        let before = status.result()["timeoutAt"].as_u64().unwrap();
        assert_eq!(status.result()["attempts"], 1);
        assert_eq!(status.result()["status"], "active");
        let extended = call(&mut client, "elicitation/extend_timeout", named.clone()).await;
        let after = extended.result()["newTimeoutAt"].as_u64().unwrap();
        assert!(after > before, "{extended:?}");
        let status = call(&mut client, "elicitation/status", named.clone()).await;
        assert_eq!(status.result()["timeoutAt"], after);

        let good = json!({"elicitationId": id, "responses": {"name": "Ada"}});
        let taken = call(&mut client, "elicitation/submit", good).await;
        assert_eq!(taken.result()["status"], "completed", "{era}");
        assert_eq!(asked.end(&mut client).await.text(), "hello Ada");
        // After that, the question no longer exists.
        let gone = call(&mut client, "elicitation/status", named).await;
        assert_eq!(gone.error().0, -32012);
    }
    entreat.shutdown().await;
}

#[tokio::test]
async fn an_answer_as_ever_settles_the_record_too() {
    let entreat = Entreat::builder().start().await.unwrap();
    for era in Era::ALL {
        let kind = Kind::form(era);
        let mut client = asking().client(&entreat, kind, knowing(kind)).await;
        let mut ids = Vec::new();
        let reply = client.call("t", json!({}), |question| {
            ids.push(question.params["_meta"][EXTENSION]["elicitationId"].clone());
            let name = if ids.len() == 1 { "A" } else { "Ada" };
            accept(json!({"name": name}))
        });
        assert_eq!(reply.await.text(), "hello Ada");
        // A retry asks the same question.
        assert_eq!(ids[0], ids[1]);
        let id = ids[0].as_str().unwrap().parse().unwrap();
        let record = entreat.engine().elicitation(id).status().await.unwrap();
        assert_eq!(record.result(), Some(json!({"name": "Ada"})), "{era}");
    }
    assert_eq!(entreat.engine().live(), 0);
    entreat.shutdown().await;
}

#[tokio::test]
async fn nobody_else_finds_the_question_and_clients_without_the_extension_find_no_method() {
    let entreat = Entreat::builder()
        .mcp_principal(|parts| {
            let user = parts.headers.get("x-user");
            user.map_or_else(String::new, |user| format!("{user:?}"))
        })
        .start()
        .await
        .unwrap();
    let address = asking().listen(&entreat).await;
    for era in Era::ALL {
        let kind = Kind::form(era);
        let new = || HttpClient::new(kind, address).declaring(knowing(kind));
        let ada = new().with_header("x-user", "ada").begin().await;
        let mut calling = ada.call("t", json!({}), json!({})).await;
        // Kept open: the question lives as long as its call waits.
        let question = loop {
            let mut message = calling.next().await.unwrap();
            if kind.has_rounds() {
                break message["result"]["inputRequests"]["person"]["params"].take();
            }
            if message["method"] == "elicitation/create" {
                break message["params"].take();
            }
        };
        let id = &question["_meta"][EXTENSION]["elicitationId"];
        assert!(id.is_string(), "{question}");
        let named = json!({"elicitationId": id});
        let answers = json!({"elicitationId": id, "responses": {"name": "Eve"}});

        let eve = new().with_header("x-user", "eve").begin().await;
        for (method, params) in [
            ("elicitation/status", named.clone()),
            ("elicitation/extend_timeout", named.clone()),
            ("elicitation/submit", answers),
        ] {
            let reply = eve.send(method, params).await.reply().await;
            assert_eq!(reply.error().0, -32012, "{era} {method}");
        }
        let unknown = json!({"elicitationId": "elic_018d6c2d2e007000800000000000000a"});
        let reply = ada.send("elicitation/status", unknown).await.reply().await;
        assert_eq!(reply.error().0, -32012);
        // Clients have no access to other questions of the same program.
        let other = entreat.asker("mcp").ask(entreat::Ask::form(form())).await;
        let other = json!({"elicitationId": other.unwrap().id()});
        let reply = ada.send("elicitation/status", other).await.reply().await;
        assert_eq!(reply.error().0, -32012);
        // Clients have no access to other methods of the control API.
        let reply = ada.send("elicitation/cancel", named.clone()).await;
        let (mut reply, plain) = (reply, HttpClient::new(kind, address));
        assert_eq!(reply.reply().await.error().0, -32601);
        let plain = plain.with_header("x-user", "ada").begin().await;
        let mut reply = plain.send("elicitation/status", named.clone()).await;
        assert_eq!(reply.reply().await.error().0, -32601);

        let reply = ada.send("elicitation/status", named).await.reply().await;
        assert_eq!(reply.result()["status"], "pending", "{era}");
    }
}

fn form() -> Form {
    <Person as entreat::TypedForm>::form().clone()
}

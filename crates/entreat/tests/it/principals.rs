//! A state belongs to the principal that was asked.

use entreat::Entreat;
use entreat::core::schema::Era;
use entreat_testkit::CapturedLog;
use entreat_testkit::mcp::{HttpClient, Kind, accept};
use serde_json::json;

use crate::asking::Server;

/// Users identified by a header: once by the program, and once by default.
#[tokio::test]
async fn a_state_of_one_principal_is_refused_to_another_and_only_the_log_says_why() {
    let (log, _guard) = CapturedLog::of_this_thread(tracing::Level::WARN);
    let by_program = Entreat::builder().mcp_principal(|parts| {
        let user = parts.headers.get("x-user").and_then(|it| it.to_str().ok());
        user.unwrap_or_default().to_owned()
    });
    let kind = Kind::form(Era::V2026_07_28);
    for (builder, header) in [
        (by_program, "x-user"),
        (Entreat::builder(), "authorization"),
    ] {
        let entreat = builder.start().await.unwrap();
        let server = Server::new(|ask| async move { Ok(ask.text("name", "Who?").await?) });
        let address = server.listen(&entreat).await;
        let client = |user: &str| HttpClient::new(kind, address).with_header(header, user);
        let ada = client("Bearer ada");
        let asked = ada.round("t", json!({}), json!({})).await;
        let extra = json!({"requestState": asked.state(),
            "inputResponses": {"name": accept(json!({"text": "Ada"}))}});
        log.take();
        for other in [client("Bearer eve"), HttpClient::new(kind, address)] {
            let mut answer = other.call("t", json!({}), extra.clone()).await;
            let refused = answer.reply().await;
            let one_message = "requestState is not valid for this request";
            assert_eq!(refused.error(), (-32602, one_message));
            assert!(!format!("{refused:?}").contains("principal"), "{refused:?}");
            let logged = log.take();
            assert!(
                logged.contains("it belongs to another principal"),
                "{logged}"
            );
            assert!(!logged.contains("Ada"), "{logged}");
        }
        // Their attempts didn't use it up.
        let reply = ada.round("t", json!({}), extra).await;
        assert_eq!(reply.text(), "Ada");
        entreat.shutdown().await;
    }
}

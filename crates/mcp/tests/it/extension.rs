//! Clients with the extension receive complete forms.

use entreat_core::schema::Era;
use entreat_mcp::Ask;
use entreat_testkit::mcp::{Kind, accept};
use serde_json::json;

use crate::world::World;

#[tokio::test]
async fn whole_forms_come_along_for_clients_that_know_them_and_no_others() {
    let world = World::new().await;
    for era in Era::ALL {
        for knows in [true, false] {
            let kind = Kind::form(era);
            let mut capabilities = kind.capabilities();
            let place = if kind.has_rounds() {
                "extensions"
            } else {
                "experimental"
            };
            if knows {
                capabilities[place] = json!({"dev.entreat/forms": {}});
            }
            let tool = |ask: Ask, _| async move { Ok(ask.text("name", "Who?").await?) };
            let mut client = world.client_with(kind, capabilities, tool).await;
            let reply = client.call("t", json!({}), |question| {
                let whole = &question.params["_meta"]["dev.entreat/forms"];
                assert_eq!(whole["form"]["fields"][0]["id"] == "text", knows, "{era}");
                // Without a control API, there is nothing to call.
                assert_eq!(whole.get("elicitationId"), None);
                accept(json!({"text": "x"}))
            });
            assert_eq!(reply.await.text(), "x");
        }
    }
}

//! Checks another service: whether it answers, and knows the key.

use serde_json::json;

use super::finding::Finding;
use crate::remote::Remote;

pub(super) async fn check(service: &Remote) -> Finding {
    let check = "service";
    match service.call("elicitation/list", json!({"limit": 1})).await {
        Ok(Ok(_)) => Finding::ok(check, format!("{} answers", service.shown_url())),
        Ok(Err(refusal)) => Finding::problem(
            check,
            format!("{} refuses this key: {refusal}", service.shown_url()),
            "set the key of one of its askers or operators",
        ),
        Err(error) => Finding::problem(
            check,
            format!("{error:#}"),
            "check the address, the network, and whether the service is running",
        ),
    }
}

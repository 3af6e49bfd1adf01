//! Checks another service: whether it answers, and knows the key.
//!
//! It is named by `--url`, or by the setting `service`, through which `entreat mcp` asks.

use serde_json::json;

use super::finding::Finding;
use crate::agent::AskThrough;
use crate::config::Config;
use crate::environment::Environment;
use crate::remote::{KEY_VARIABLE, Remote};

/// Checks the service that `--url` names.
pub(super) async fn check(service: &Remote) -> Finding {
    probe(
        "service",
        service,
        "set the key of one of its askers or operators",
    )
    .await
}

/// Checks the service that `entreat mcp` asks through; `None` if it asks by itself.
pub(super) async fn of_agents(config: &Config, environment: &Environment) -> Option<Finding> {
    let AskThrough { url, key } = match AskThrough::find(config, None, environment) {
        Ok(found) => found?,
        Err(error) => {
            let remedy = "correct the setting service_key_file, or let this user read the file";
            return Some(Finding::problem(AGENTS, format!("{error:#}"), remedy));
        }
    };
    Some(match Remote::at(&url, key.as_deref(), environment) {
        Ok(service) => {
            let remedy = format!(
                "write the key of one of its askers into the file named by service_key_file, or \
                 set {KEY_VARIABLE}"
            );
            probe(AGENTS, &service, &remedy).await
        }
        Err(error) => {
            let remedy = "correct the setting service";
            Finding::problem(AGENTS, format!("{error:#}"), remedy)
        }
    })
}

/// Reports an error in the configuration of `entreat mcp`.
pub(super) fn unreadable(error: &str) -> Finding {
    let remedy = "correct it; until then, entreat mcp doesn't start";
    Finding::problem(AGENTS, error, remedy)
}

/// The check of what `entreat mcp` needs.
const AGENTS: &str = "mcp";

async fn probe(check: &'static str, service: &Remote, key_remedy: &str) -> Finding {
    match service.call("elicitation/list", json!({"limit": 1})).await {
        Ok(Ok(_)) => Finding::ok(check, format!("{} answers", service.shown_url())),
        Ok(Err(refusal)) => Finding::problem(
            check,
            format!("{} rejects the request: {refusal}", service.shown_url()),
            key_remedy,
        ),
        Err(error) => Finding::problem(
            check,
            format!("{error:#}"),
            "check the address, the network, and whether the service is running",
        ),
    }
}

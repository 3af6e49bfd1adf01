//! Checks the servers behind the gateway, and the rules about their tools.

use super::finding::Finding;
use crate::config::{Config, command_problem};
use crate::environment::Environment;

pub(super) fn check(config: &Config, environment: &Environment) -> Vec<Finding> {
    let mut findings = Vec::new();
    for upstream in &config.upstreams {
        let name = &upstream.name;
        findings.push(match command_problem(&upstream.target, environment) {
            None => Finding::ok("servers", name.clone()),
            Some(problem) => Finding::problem(
                "servers",
                format!("{name}: {problem}"),
                "correct `command` or `folder` in its [[upstream]] table, or install the command",
            ),
        });
    }
    // Without servers, the rules are for `entreat wrap`.
    let rules = config
        .approvals
        .iter()
        .filter(|_| !config.upstreams.is_empty());
    for rule in rules {
        let Some(server) = &rule.rule.server else {
            continue;
        };
        if !config.upstreams.iter().any(|it| server.matches(&it.name)) {
            let mut rows = rule.rows.iter();
            let row = rows.find(|(key, ..)| *key == "server");
            let place = row.map_or_else(String::new, |(.., place)| format!("{place}: "));
            findings.push(Finding::warning(
                "rules",
                format!("{place}`server = \"{server}\"` matches no name of an [[upstream]]"),
                "correct it, unless it is for the name that a server gives itself, or for `entreat \
                 wrap`",
            ));
        }
    }
    findings
}

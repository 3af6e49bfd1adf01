//! `cargo xtask conformance`: the official conformance suite against `examples/everything`, and
//! against `entreat call` as a client.
//!
//! Stricter than the suite itself: a warning fails, a check that cannot be made fails, and so does
//! a scenario that made fewer checks than expected. The numbers of checks belong to the version
//! that `tests/peers/package.json` pins.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::everything;
use crate::peers::{self, Peers};
use crate::shell::{self, say};

/// The suite's program among the npm packages.
const SUITE: &str = "node_modules/@modelcontextprotocol/conformance/dist/index.js";

/// All scenarios about elicitation, by protocol version. Each but the last also checks all messages
/// against the protocol's schema, which is one more check.
const SCENARIOS: &[(&str, &[Scenario])] = &[
    (
        "2025-11-25",
        &[
            Scenario::new("tools-call-elicitation", 2).says("testuser"),
            Scenario::new("elicitation-sep1034-defaults", 6),
            Scenario::new("elicitation-sep1330-enums", 6),
        ],
    ),
    (
        "2026-07-28",
        &[
            Scenario::new("input-required-result-basic-elicitation", 3).says("Alice"),
            Scenario::new("input-required-result-basic-sampling", 3),
            Scenario::new("input-required-result-basic-list-roots", 3),
            Scenario::new("input-required-result-request-state", 3).says("state-ok"),
            Scenario::new("input-required-result-multiple-input-requests", 3),
            Scenario::new("input-required-result-multi-round", 4),
            Scenario::new("input-required-result-missing-input-response", 2),
            Scenario::new("input-required-result-non-tool-request", 3),
            Scenario::new("input-required-result-result-type", 2),
            Scenario::new("input-required-result-unsupported-methods", 2),
            Scenario::new("input-required-result-tampered-state", 2),
            Scenario::new("input-required-result-capability-check", 2),
            Scenario::new("input-required-result-ignore-extra-params", 2),
            Scenario::new("input-required-result-validate-input", 3),
            Scenario::new("server-stateless", 30),
        ],
    ),
];

/// Scenarios for clients about elicitation and authorization, by protocol version.
///
/// Of the latter, these are not run: endpoints that are guessed where nothing is published
/// (`auth/2025-03-26-oauth-endpoint-fallback`), because a guess could send a code anywhere; and the
/// extensions, which no server has to want: credentials without a person
/// (`auth/client-credentials-…`, `auth/wif-jwt-bearer`), tokens of an employer
/// (`auth/enterprise-managed-authorization`) and tokens bound to a key (`auth/dpop…`).
const CLIENT_SCENARIOS: &[(&str, &[Scenario])] = &[
    (
        "2025-03-26",
        &[Scenario::new(
            "auth/2025-03-26-oauth-metadata-backcompat",
            12,
        )],
    ),
    (
        "2025-11-25",
        &[
            Scenario::new("elicitation-sep1034-client-defaults", 5),
            Scenario::new("auth/metadata-default", 18),
            Scenario::new("auth/metadata-var1", 18),
            Scenario::new("auth/metadata-var2", 18),
            Scenario::new("auth/metadata-var3", 18),
            Scenario::new("auth/basic-cimd", 13),
            Scenario::new("auth/scope-from-www-authenticate", 14),
            Scenario::new("auth/scope-from-scopes-supported", 14),
            Scenario::new("auth/scope-omitted-when-undefined", 14),
            Scenario::new("auth/scope-step-up", 23),
            Scenario::new("auth/scope-retry-limit", 12),
            Scenario::new("auth/token-endpoint-auth-basic", 19),
            Scenario::new("auth/token-endpoint-auth-post", 19),
            Scenario::new("auth/token-endpoint-auth-none", 19),
            Scenario::new("auth/pre-registration", 13),
        ],
    ),
    (
        "2026-07-28",
        &[
            Scenario::new("sep-2322-client-request-state", 5),
            Scenario::new("auth/metadata-default", 17),
            Scenario::new("auth/metadata-var1", 17),
            Scenario::new("auth/metadata-var2", 17),
            Scenario::new("auth/metadata-var3", 17),
            Scenario::new("auth/basic-cimd", 11),
            Scenario::new("auth/scope-from-www-authenticate", 13),
            Scenario::new("auth/scope-from-scopes-supported", 13),
            Scenario::new("auth/scope-omitted-when-undefined", 13),
            Scenario::new("auth/scope-step-up", 26),
            Scenario::new("auth/scope-retry-limit", 13),
            Scenario::new("auth/token-endpoint-auth-basic", 18),
            Scenario::new("auth/token-endpoint-auth-post", 18),
            Scenario::new("auth/token-endpoint-auth-none", 18),
            Scenario::new("auth/pre-registration", 11),
            Scenario::new("auth/resource-mismatch", 2),
            Scenario::new("auth/offline-access-scope", 14),
            Scenario::new("auth/offline-access-not-supported", 13),
            Scenario::new("auth/authorization-server-migration", 28),
            Scenario::new("auth/iss-supported", 13),
            Scenario::new("auth/iss-not-advertised", 13),
            Scenario::new("auth/iss-supported-missing", 8),
            Scenario::new("auth/iss-wrong-issuer", 8),
            Scenario::new("auth/iss-unexpected", 8),
            Scenario::new("auth/iss-normalized", 8),
            Scenario::new("auth/metadata-issuer-mismatch", 3),
        ],
    ),
];

/// Checks that do not apply to a server whose lists never change.
const MAY_SKIP: [&str; 5] = [
    "sep-2575-server-sends-subscription-ack",
    "sep-2575-server-tags-subscription-id",
    "sep-2575-server-honors-notification-filter",
    "sep-2575-server-sends-prompts-list-changed-on-subscription",
    "sep-2575-server-sends-tools-list-changed-on-subscription",
];

/// Log entries of the suite that are not checks.
const TRAFFIC: [&str; 5] = [
    "incoming-request",
    "outgoing-response",
    "incoming-auth-request",
    "outgoing-auth-response",
    "scope-retry-auth-attempt",
];

/// The expectations on one scenario.
struct Scenario {
    name: &'static str,
    /// The number of checks in a complete run.
    checks: usize,
    /// Text that a result must contain, where the suite requires but does not check it.
    says: &'static str,
}

impl Scenario {
    const fn new(name: &'static str, checks: usize) -> Self {
        let says = "";
        Self { name, checks, says }
    }

    const fn says(mut self, says: &'static str) -> Self {
        self.says = says;
        self
    }
}

/// Arguments of the command.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Try a server that runs already, by the address of its endpoint
    #[arg(long)]
    url: Option<String>,
    /// Run only the scenarios whose names contain this
    name: Option<String>,
}

/// Runs all scenarios, as a step of `cargo xtask test`.
pub(crate) fn run_all(root: &Path) -> Result<()> {
    let args = Args {
        url: None,
        name: None,
    };
    run(&args, root)
}

/// Runs the scenarios one after another, then prints a summary table.
pub(crate) fn run(args: &Args, root: &Path) -> Result<()> {
    let peers = peers::prepare(root)?;
    let (url, server) = if let Some(url) = &args.url {
        (url.clone(), None)
    } else {
        let server = everything::serve(root)?;
        (server.url.clone(), Some(server))
    };
    let entreat = shell::built(root)?.join("entreat");
    let server_side = Side::Server(&url);
    let client_side = Side::Client(&entreat);
    let servers = SCENARIOS.iter().map(|listed| (listed, &server_side));
    let clients = CLIENT_SCENARIOS.iter().map(|listed| (listed, &client_side));
    let wanted = args.name.as_deref().unwrap_or_default();
    let mut lines = Vec::new();
    for ((version, scenarios), side) in servers.chain(clients) {
        for scenario in *scenarios {
            if scenario.name.contains(wanted) {
                say(&format!("{version} {}", scenario.name));
                let report = try_scenario(&peers, side, version, scenario)?;
                for complaint in &report.complaints {
                    say(&format!("  {complaint}"));
                }
                lines.push((*version, scenario, report));
            }
        }
    }
    drop(server);
    ensure!(!lines.is_empty(), "no scenario is called `{wanted}`");
    say(&table(&lines));
    let failed = lines
        .iter()
        .filter(|(_, _, report)| !report.complaints.is_empty())
        .count();
    if failed > 0 {
        bail!("{failed} of {} scenarios failed", lines.len());
    }
    Ok(())
}

/// The side under test.
enum Side<'a> {
    /// A server, by URL.
    Server(&'a str),
    /// `entreat call`, by the program's path.
    Client(&'a Path),
}

/// Runs one scenario and reads its results.
fn try_scenario(
    peers: &Peers,
    side: &Side<'_>,
    version: &str,
    scenario: &Scenario,
) -> Result<Report> {
    let name = scenario.name;
    let results = peers.folder().join("conformance").join(version).join(name);
    // Results of an earlier run must not pass for this one's.
    if results.exists() {
        fs::remove_dir_all(&results)?;
    }
    let mut suite = peers.node();
    match side {
        Side::Server(url) => suite.args([SUITE, "server", "--url", url]),
        Side::Client(entreat) => suite
            .args([SUITE, "client", "--command", "sh client.sh"])
            .env("ENTREAT", entreat),
    };
    let output = suite
        .args(["--scenario", name, "--spec-version", version])
        .arg("--output-dir")
        .arg(&results)
        .stdin(Stdio::null())
        .output()
        .context("cannot start the conformance suite")?;
    let Some(file) = find(&results, "checks.json")? else {
        let stdout = String::from_utf8_lossy(&output.stdout);
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("the suite wrote no results for {name} at {version}:\n{stdout}{stderr}");
    };
    let checks: Vec<Value> = serde_json::from_slice(&fs::read(&file)?)
        .with_context(|| format!("cannot read {}", file.display()))?;
    let mut report = evaluate(&checks, scenario);
    if !output.status.success() && report.complaints.is_empty() {
        let complaint = format!("the suite ended with {}", output.status);
        report.complaints.push(complaint);
    }
    Ok(report)
}

/// Finds a file by name, recursively.
fn find(folder: &Path, name: &str) -> Result<Option<PathBuf>> {
    if !folder.is_dir() {
        return Ok(None);
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            if let Some(found) = find(&path, name)? {
                return Ok(Some(found));
            }
        } else if path.ends_with(name) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// The result of one scenario.
#[derive(Debug, Default, PartialEq, Eq)]
struct Report {
    passed: usize,
    skipped: usize,
    complaints: Vec<String>,
}

/// Evaluates the checks of a scenario more strictly than the suite does.
fn evaluate(checks: &[Value], scenario: &Scenario) -> Report {
    let mut report = Report::default();
    for check in checks {
        let id = check["id"].as_str().unwrap_or("a check without a name");
        let status = check["status"].as_str().unwrap_or("no status");
        match status {
            "SUCCESS" => report.passed += 1,
            // Log entries for each message.
            "INFO" if TRAFFIC.contains(&id) => {}
            "SKIPPED" if MAY_SKIP.contains(&id) => report.skipped += 1,
            _ => {
                let message = check["errorMessage"].as_str().unwrap_or_default();
                report.complaints.push(format!("{status} {id}: {message}"));
            }
        }
    }
    if !report.complaints.is_empty() {
        return report;
    }
    let made = report.passed + report.skipped;
    let (expected, says) = (scenario.checks, scenario.says);
    if made < expected {
        let complaint = format!("made {made} of its {expected} checks");
        report.complaints.push(complaint);
    }
    let results = || checks.iter().map(|check| &check["details"]["result"]);
    if !results().any(|result| result.to_string().contains(says)) {
        let complaint = format!("no result says `{says}`");
        report.complaints.push(complaint);
    }
    report
}

/// Formats one line per scenario.
fn table(lines: &[(&str, &Scenario, Report)]) -> String {
    let mut table = format!(
        "\n{:<48}{:<12}{:>7}{:>9}  verdict",
        "scenario", "version", "checks", "skipped"
    );
    for (version, scenario, report) in lines {
        let name = scenario.name;
        let verdict = if report.complaints.is_empty() {
            "passed"
        } else {
            "FAILED"
        };
        let checks = format!("{}/{}", report.passed, scenario.checks - report.skipped);
        let skipped = report.skipped;
        let line = format!("\n{name:<48}{version:<12}{checks:>7}{skipped:>9}  {verdict}");
        table.push_str(&line);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(id: &str, status: &str) -> Value {
        json!({"id": id, "status": status, "errorMessage": "why"})
    }

    #[test]
    fn a_scenario_that_made_all_its_checks_passes() {
        let checks = [check("a", "SUCCESS"), check(MAY_SKIP[0], "SKIPPED")];
        let expected = Report {
            passed: 1,
            skipped: 1,
            complaints: Vec::new(),
        };
        assert_eq!(evaluate(&checks, &Scenario::new("s", 2)), expected);
    }

    #[test]
    fn warnings_and_skips_without_leave_are_failures() {
        for status in ["WARNING", "FAILURE", "SKIPPED", "INFO"] {
            let report = evaluate(&[check("a", status)], &Scenario::new("s", 1));
            assert_eq!(report.complaints, [format!("{status} a: why")]);
        }
    }

    #[test]
    fn a_scenario_that_checked_too_little_fails() {
        let report = evaluate(&[check("a", "SUCCESS")], &Scenario::new("s", 2));
        assert_eq!(report.complaints, ["made 1 of its 2 checks"]);
    }

    #[test]
    fn a_result_has_to_say_what_the_suite_does_not_look_for() {
        let mut done = check("a", "SUCCESS");
        let scenario = Scenario::new("s", 1).says("state-ok");
        let report = evaluate(std::slice::from_ref(&done), &scenario);
        assert_eq!(report.complaints, ["no result says `state-ok`"]);
        done["details"] = json!({"result": {"content": [{"text": "state-ok"}]}});
        let report = evaluate(&[done], &scenario);
        assert_eq!(report.complaints, [""; 0]);
    }

    #[test]
    fn the_table_has_a_line_a_scenario() {
        let scenario = Scenario::new("server-stateless", 30);
        let report = Report {
            passed: 28,
            skipped: 2,
            complaints: Vec::new(),
        };
        let table = table(&[("2026-07-28", &scenario, report)]);
        let line = table.lines().last().unwrap();
        let words: Vec<_> = line.split_whitespace().collect();
        assert_eq!(
            words,
            ["server-stateless", "2026-07-28", "28/28", "2", "passed"]
        );
    }
}

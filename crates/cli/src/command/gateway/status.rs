//! `entreat gateway status`: what goes on behind a running gateway.

use std::io::{self, Write};

use anyhow::{Context as _, bail};
use entreat::{EmbeddedStore, UnixTime};
use serde_json::Value;

use crate::config::{self, Config, ConfigArgs, ConfigLocation, ServeArgs};
use crate::context::{Context, Exit};
use crate::environment::Environment;
use crate::remote::{RemoteArgs, gateway_status, text};
use crate::{output, runtime};

/// Show what goes on behind a running gateway
///
/// Takes the flags of `entreat gateway`, and finds the gateway by its store or its address. With
/// --url, asks the one at that address. It tells operators, and if nobody needs a key there, programs
/// on its machine.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// Print {"upstreams": […]} with everything
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: RemoteArgs,
    #[command(flatten)]
    serve: ServeArgs,
    #[command(flatten)]
    shared: ConfigArgs,
}

const AFTER_HELP: &str = "\
States: running; idle, nobody uses it; down, the last connection failed; circuit_open, it failed so
often that it is left alone until the time shown.

Examples:
  entreat gateway status
  entreat gateway status --url https://ask.example.com --json

Exit codes: 0 printed; 2 wrong usage or settings, no running gateway, a key that may not see it.";

pub(super) fn run(args: &Args, context: &Context, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let environment = context.environment();
    let (url, key) = match args.remote.named() {
        Some((url, key)) => (url.to_owned(), key),
        None => (find(args, environment)?, None),
    };
    let status = runtime::block_on(gateway_status(&url, key, environment))?;
    if args.json {
        output::document(out, &status)?;
    } else {
        print(out, &status)?;
    }
    Ok(Exit::Success)
}

/// Where the gateway of this configuration is.
fn find(args: &Args, environment: &Environment) -> anyhow::Result<String> {
    let location = ConfigLocation::WorkingFolder;
    let config: Config = config::load(&args.shared, &args.serve, location, environment)?;
    if let Some(location) = config.store_location()?
        && EmbeddedStore::is_in_use(location.store())
        && let Some(url) = location.service_url()
    {
        return Ok(url);
    }
    let scheme = if config.pages.speaks_tls() {
        "https"
    } else {
        "http"
    };
    let mut address = config.listen;
    if address.port() == 0 {
        bail!("no gateway is running with this store: start `entreat gateway`, or name its --url");
    }
    if address.ip().is_unspecified() {
        address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
    }
    Ok(format!("{scheme}://{address}"))
}

const HEAD: [&str; 9] = [
    "NAME",
    "VERSION",
    "STATE",
    "SESSIONS",
    "CHILDREN",
    "CALLS",
    "PARKED",
    "QUESTIONS",
    "TOOLS",
];
/// Maximum width of a failure, in characters.
const MAX_ERROR: usize = 200;

fn print(out: &mut dyn Write, status: &Value) -> anyhow::Result<()> {
    let upstreams = status["upstreams"].as_array();
    let upstreams = upstreams.context("the response is not the state of a gateway")?;
    let rows: Vec<_> = upstreams.iter().map(row).collect();
    output::table(out, HEAD, &rows)?;
    print_errors(out, upstreams)?;
    Ok(())
}

fn row(upstream: &Value) -> [String; 9] {
    let number = |key: &str| upstream[key].as_u64().unwrap_or_default().to_string();
    let or_none = |text: String| {
        if text.is_empty() {
            "-".to_owned()
        } else {
            text
        }
    };
    let state = text(upstream, "state");
    let state = match moment(&upstream["retryAt"]) {
        Some(time) if state == "running" => format!("{state}; for some, circuit_open until {time}"),
        Some(time) => format!("{state} until {time}"),
        None => state,
    };
    [
        text(upstream, "name"),
        or_none(text(upstream, "version")),
        state,
        number("sessions"),
        number("children"),
        number("calls"),
        number("parked"),
        number("questions"),
        or_none(tools(&upstream["tools"])),
    ]
}

/// The watched tools, such as `12 pinned, 1 changed (blocked): delete`.
fn tools(tools: &Value) -> String {
    let Some(pinned) = tools["approved"].as_u64() else {
        return String::new();
    };
    let names = tools["changed"].as_array().into_iter().flatten();
    let names: Vec<_> = names
        .filter_map(|name| name.as_str().map(output::sanitize))
        .collect();
    if names.is_empty() {
        return format!("{pinned} pinned");
    }
    let blocked = if tools["pin"] == "block" {
        " (blocked)"
    } else {
        ""
    };
    let count = names.len();
    let names = names.join(", ");
    let names = output::cut(&names, 60);
    format!("{pinned} pinned, {count} changed{blocked}: {names}")
}

/// The last failure of each, below the table.
fn print_errors(out: &mut dyn Write, upstreams: &[Value]) -> io::Result<()> {
    for upstream in upstreams {
        let error = &upstream["lastError"];
        if let Some(time) = moment(&error["at"]) {
            let name = text(upstream, "name");
            let message = text(error, "message");
            let message = output::cut(&message, MAX_ERROR);
            writeln!(out, "{name}: last error at {time}: {message}")?;
        }
    }
    Ok(())
}

fn moment(millis: &Value) -> Option<String> {
    let millis = millis.as_u64()?;
    Some(output::time(UnixTime::from_millis(millis)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_server_that_is_left_alone_has_the_time_of_the_next_try_and_its_last_failure() {
        let status = json!({"upstreams": [
            {"name": "files", "version": "2025-11-25", "state": "running", "sessions": 2,
                "children": 2, "calls": 1, "parked": 0, "questions": 1,
                "tools": {"pin": "block", "approved": 12, "changed": ["a\u{1b}[2J", "b"]}},
            {"name": "shared", "version": "2026-07-28", "state": "running",
                "retryAt": 1_706_889_000_000_u64, "sessions": 1, "children": 0, "calls": 0,
                "parked": 0, "questions": 0},
            {"name": "tickets", "version": null, "state": "circuit_open",
                "retryAt": 1_706_889_000_000_u64, "sessions": 0, "children": 0, "calls": 0,
                "parked": 0, "questions": 0,
                "lastError": {"at": 1_706_888_999_000_u64, "message": "it has exited:\n1"}},
        ]});
        let mut out = Vec::new();
        print(&mut out, &status).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<Vec<&str>> = text
            .lines()
            .map(|line| {
                line.split("  ")
                    .map(str::trim)
                    .filter(|it| !it.is_empty())
                    .collect()
            })
            .collect();
        assert_eq!(lines[0], HEAD);
        let tools = "12 pinned, 2 changed (blocked): a\\u{1b}[2J, b";
        assert_eq!(
            lines[1],
            [
                "files",
                "2025-11-25",
                "running",
                "2",
                "2",
                "1",
                "0",
                "1",
                tools
            ]
        );
        let state = "running; for some, circuit_open until 2024-02-02T15:50:00Z";
        assert_eq!(
            lines[2],
            ["shared", "2026-07-28", state, "1", "0", "0", "0", "0", "-"]
        );
        let state = "circuit_open until 2024-02-02T15:50:00Z";
        assert_eq!(
            lines[3],
            ["tickets", "-", state, "0", "0", "0", "0", "0", "-"]
        );
        let error = "tickets: last error at 2024-02-02T15:49:59Z: it has exited: 1";
        assert_eq!(lines[4], [error]);
    }
}

//! `entreat doctor`: finds problems in a set-up, with remedies.
//!
//! Changes nothing: creates no file, and opens none for writing. Each check in `doctor/` is a pure
//! function of facts, next to the function that gathers them.

mod accounts;
mod certificate;
mod files;
mod finding;
mod forms;
mod issuer;
mod pages;
mod port;
mod service;
mod settings;
mod sign_in;
mod store;
mod system;
mod telemetry;
mod tokens;
mod upstreams;

use std::io::{self, Write};

use entreat::engine::{Clock as _, SystemClock};
use serde::Serialize;

use self::files::Entry;
use self::finding::{Finding, Level};
use crate::config::{self, Config, ConfigArgs, ConfigLocation, ServeArgs};
use crate::context::{Context, Exit};
use crate::environment::Environment;
use crate::remote::RemoteArgs;
use crate::{output, runtime};

/// Check the setup of a service for problems
///
/// Takes the flags of `entreat serve`, and changes nothing. Run it as the service's user: it sees
/// what that user sees.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Print {"findings": [{"check": …, "level": …, "what": …, "remedy": …}, …]}
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
Each check is ok, a warning or a problem. Checks the configuration, the store with its folder and
keys, the disk, the clock, the limit of open files, the address, insecure settings, the issuers that
people sign in at and MCP clients get tokens from, and the forms. The service may be running. If
your settings name a service for `entreat mcp`, checks whether it answers and knows the key; with
--url, checks only that, for the service named.

Examples:
  entreat doctor
  entreat doctor --config /etc/entreat/entreat.toml
  entreat doctor --url https://ask.example.com
  entreat doctor --json | jq -r '.findings[] | select(.level != \"ok\") | .remedy'

Exit codes: 0 no problems, maybe warnings; 1 problems found; 2 wrong usage.";

/// The output of `--json`.
#[derive(Serialize)]
struct Document {
    findings: Vec<Finding>,
}

pub(crate) fn run(args: &Args, context: &mut Context, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let environment = context.environment();
    let findings = runtime::block_on(async {
        Ok(match args.remote.service(environment)? {
            Some(service) => vec![service::check(&service).await],
            None => examine(args, environment).await?,
        })
    })?;
    let count = |level| findings.iter().filter(|f| f.level == level).count();
    let (problems, warnings) = (count(Level::Problem), count(Level::Warning));
    if args.json {
        output::document(out, &Document { findings })?;
    } else {
        print(&findings, out)?;
        // Flush first, so that the summary on stderr comes last.
        out.flush()?;
        context.say(format_args!("problems: {problems}, warnings: {warnings}"));
    }
    Ok(match problems {
        0 => Exit::Success,
        _ => Exit::Findings,
    })
}

/// Gathers the facts and runs all checks.
async fn examine(args: &Args, environment: &Environment) -> anyhow::Result<Vec<Finding>> {
    let config = match config::load(
        &args.shared,
        &args.serve,
        ConfigLocation::WorkingFolder,
        environment,
    ) {
        Ok(config) => config,
        // Nothing else can be checked then.
        Err(wrong) => return Ok(wrong.iter().map(settings::refused).collect()),
    };
    let mut findings = settings::loaded(config.file.as_deref(), &config.remarks);
    let now = SystemClock::new().wall();
    let mut holder = store::Holder::Nobody;
    let mut written = None;
    match config.store_location() {
        Ok(None) => {
            holder = store::Holder::NoStore;
            findings.push(store::in_memory());
        }
        Ok(Some(place)) => {
            let facts = store::gather(&place);
            holder = facts.holder;
            written = facts.written;
            findings.extend(store::check(&facts));
            if facts.has_store() {
                findings.push(store::integrity(&place).await);
            }
        }
        Err(error) => findings.push(store::no_location(&format!("{error:#}"))),
    }
    findings.push(system::clock(now, written));
    findings.push(system::open_files(system::file_limit()));
    let attempt = match port::probe(config.listen).await {
        // A TLS service does not answer the probe; if the store is in use, assume it is ours.
        port::BindAttempt::Taken
            if config.pages.speaks_tls() && holder != store::Holder::Nobody =>
        {
            port::BindAttempt::Entreat
        }
        attempt => attempt,
    };
    findings.push(port::check(config.listen, &attempt, holder));
    let inspected = pages::inspect_tls(&config);
    findings.extend(pages::tls(now, inspected.as_ref()));
    if let Some(folder) = config.uploads() {
        findings.push(pages::uploads(&Entry::inspect(&folder)));
    }
    findings.extend(weak_settings(&config));
    let clock = SystemClock::new();
    if let Some(facts) = sign_in::gather(&config, || clock.wall()).await {
        findings.extend(sign_in::check(facts.as_ref().map_err(String::as_str)));
    }
    findings.extend(accounts::check(&config).await);
    if let Some(facts) = tokens::gather(&config, || clock.wall()).await {
        findings.extend(tokens::check(&facts));
    }
    if let Some(endpoint) = &config.otlp_endpoint {
        findings.push(telemetry::check(endpoint, telemetry::probe(endpoint).await));
    }
    findings.extend(upstreams::check(&config, environment));
    if let Some(folder) = &config.forms {
        findings.extend(forms::check(folder, &forms::gather(folder).await));
    }
    findings.extend(service_of_agents(args, environment).await);
    Ok(findings)
}

/// Checks the service that `entreat mcp` asks through, with the configuration that it reads.
async fn service_of_agents(args: &Args, environment: &Environment) -> Vec<Finding> {
    let none = ServeArgs::default();
    match config::load(&args.shared, &none, ConfigLocation::User, environment) {
        Ok(config) => Vec::from_iter(service::of_agents(&config, environment).await),
        // Its errors were reported with those of the service, which reads the same file.
        Err(_) if config::is_named(&args.shared, environment) => Vec::new(),
        Err(wrong) => wrong.iter().map(service::unreadable).collect(),
    }
}

fn weak_settings(config: &Config) -> Vec<Finding> {
    let public_url = config.public_url.as_deref();
    let extensions = settings::min_extensions(config);
    let mut findings = settings::secret_files(&settings::inspect_secrets(config));
    findings.extend(settings::askers(
        config.reach(),
        config.local_may_ask(),
        settings::Keys {
            askers: config.keyed_askers(),
            operators: config.operators(),
        },
    ));
    findings.push(pages::identity(
        config.pages.kind,
        config.reach(),
        config.pages.trusts_everybody(),
    ));
    findings.extend(settings::public_url(config.listen, public_url));
    findings.push(settings::callbacks(
        config.listen,
        !config.signing_secrets().is_empty(),
        config.loopback_callbacks,
    ));
    findings.extend(settings::extensions(extensions));
    findings.extend(settings::retention(config.retention));
    findings
}

/// Prints one line per finding, in columns, with the remedy below it.
fn print(findings: &[Finding], out: &mut dyn Write) -> io::Result<()> {
    let widest = |cell: fn(&Finding) -> usize| findings.iter().map(cell).max().unwrap_or_default();
    let levels = widest(|finding| finding.level.as_str().len());
    let checks = widest(|finding| finding.check.len());
    for finding in findings {
        let (level, check) = (finding.level.as_str(), finding.check);
        let what = output::sanitize(&finding.what);
        writeln!(out, "{level:levels$}  {check:checks$}  {what}")?;
        if let Some(remedy) = &finding.remedy {
            let remedy = output::sanitize(remedy);
            writeln!(out, "{:levels$}  {:checks$}  > {remedy}", "", "")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_stand_in_columns_with_what_to_do_below() {
        let findings = [
            Finding::ok("clock", "it goes"),
            Finding::problem("port", "taken\u{1b}", "take another"),
        ];
        let mut out = Vec::new();
        print(&findings, &mut out).unwrap();
        let expected = "ok       clock  it goes\n\
                        problem  port   taken\\u{1b}\n\
                        \u{20}               > take another\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}

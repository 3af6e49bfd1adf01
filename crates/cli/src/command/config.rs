//! `entreat config`: prints the settings of a service and their origins.

use std::io::{self, Write};

use serde::Serialize;

use crate::config::{
    self, AskerConfig, Config, ConfigArgs, ConfigLocation, Origin, RuleConfig, ServeArgs, Source,
};
use crate::context::{Context, Exit};
use crate::output;

/// Print the settings of a service and where each value comes from
///
/// Takes the flags of `entreat serve`. Askers' keys are shown as `…`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Print {"file": …, "settings": […], "askers": […]}
    #[arg(long)]
    json: bool,
    /// The command whose settings to print
    #[arg(
        long = "for",
        value_name = "COMMAND",
        value_enum,
        default_value = "serve"
    )]
    command: For,
    #[command(flatten)]
    serve: ServeArgs,
    #[command(flatten)]
    shared: ConfigArgs,
}

/// A command with settings.
#[derive(Clone, Copy, clap::ValueEnum)]
enum For {
    /// Also `rpc` and `doctor`: from entreat.toml in this folder
    Serve,
    /// Only from entreat/entreat.toml in `$XDG_CONFIG_HOME` or ~/.config
    Mcp,
}

impl For {
    fn home(self) -> ConfigLocation {
        match self {
            Self::Serve => ConfigLocation::WorkingFolder,
            Self::Mcp => ConfigLocation::User,
        }
    }
}

const AFTER_HELP: &str = "\
Flags override environment variables, which override entreat.toml. The setting limits.live is the
key `live` in the table [limits], or the variable ENTREAT_LIMITS_LIVE.

Examples:
  entreat config
  ENTREAT_LISTEN=127.0.0.1:8080 entreat config --json | jq '.settings[0]'

Exit codes: 0 success; 2 an unknown setting or an invalid value.";

/// The output of `--json`.
#[derive(Serialize)]
struct Document<'a> {
    file: Option<&'a str>,
    settings: Vec<Row>,
    askers: Vec<AskerRows<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rules: Vec<Vec<Row>>,
}

#[derive(Serialize)]
struct Row {
    name: &'static str,
    value: Option<String>,
    source: Source,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<String>,
}

#[derive(Serialize)]
struct AskerRows<'a> {
    name: &'a str,
    key: Row,
    settings: Vec<Row>,
}

pub(crate) fn run(args: &Args, context: &mut Context, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let config = config::load(
        &args.shared,
        &args.serve,
        args.command.home(),
        context.environment(),
    )?;
    for remark in &config.remarks {
        context.say(format_args!("entreat: {remark}"));
    }
    let rows = config.rows();
    let rows = rows.map(|(name, value, origin)| row(name, value, &origin));
    let document = Document {
        file: config.file.as_deref(),
        settings: rows.collect(),
        askers: config.askers.iter().map(asker_rows).collect(),
        rules: config.approvals.iter().map(rule_rows).collect(),
    };
    if args.json {
        output::document(out, &document)?;
    } else {
        print(&document, &config, out)?;
    }
    Ok(Exit::Success)
}

fn row(name: &'static str, value: Option<String>, origin: &Origin) -> Row {
    let source = origin.source();
    let place = (source != Source::Default).then(|| origin.to_string());
    Row {
        name,
        value,
        source,
        place,
    }
}

fn asker_rows(asker: &AskerConfig) -> AskerRows<'_> {
    let own = asker.own.iter();
    let settings = own.map(|(name, value, origin)| row(name, Some(value.clone()), origin));
    AskerRows {
        name: &asker.name,
        key: row("key", Some(format!("{:?}", asker.key)), &asker.key_origin),
        settings: settings.collect(),
    }
}

fn rule_rows(rule: &RuleConfig) -> Vec<Row> {
    let rows = rule.rows.iter();
    rows.map(|(name, value, origin)| row(name, Some(value.clone()), origin))
        .collect()
}

/// Prints one line per value, in columns.
fn print(document: &Document<'_>, config: &Config, out: &mut dyn Write) -> io::Result<()> {
    let file = config.file.as_deref().unwrap_or("none");
    writeln!(out, "# configuration file: {file}")?;
    print_rows(&document.settings, out)?;
    for asker in &document.askers {
        writeln!(out, "\n# asker {}", output::sanitize(asker.name))?;
        print_rows(std::iter::once(&asker.key).chain(&asker.settings), out)?;
    }
    for rule in &document.rules {
        writeln!(out, "\n# rule")?;
        print_rows(rule, out)?;
    }
    Ok(())
}

fn print_rows<'a>(rows: impl IntoIterator<Item = &'a Row>, out: &mut dyn Write) -> io::Result<()> {
    let rows: Vec<(&str, String, &str)> = rows
        .into_iter()
        .map(|row| {
            let value = row.value.as_deref().unwrap_or("-");
            let place = row.place.as_deref().unwrap_or("default");
            (row.name, output::sanitize(value).into_owned(), place)
        })
        .collect();
    let widest = |cell: fn(&(&str, String, &str)) -> usize| rows.iter().map(cell).max();
    let names = widest(|(name, ..)| name.len()).unwrap_or_default();
    let values = widest(|(_, value, _)| value.chars().count()).unwrap_or_default();
    for (name, value, place) in &rows {
        let place = output::sanitize(place);
        writeln!(out, "{name:names$}  {value:values$}  {place}")?;
    }
    Ok(())
}

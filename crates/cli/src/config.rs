//! The configuration of a service: defaults, a file, the environment and flags; the last wins.
//!
//! `setting.rs` is the single table of settings. Every layer provides texts and the table parses
//! them, so a value means the same in every layer, and errors name the place of the value.

mod approvals;
mod asker;
mod command_problem;
mod errors;
mod file;
mod origin;
mod pages;
mod resolved;
mod rules;
mod secret;
mod setting;
mod sign_in;
mod tokens;
mod upstream;
mod value;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

pub(crate) use self::approvals::RuleConfig;
pub(crate) use self::asker::{AskerConfig, KeySource, LOCAL};
pub(crate) use self::command_problem::command_problem;
pub(crate) use self::errors::ConfigErrors;
use self::file::File;
pub(crate) use self::origin::{Origin, Source};
pub(crate) use self::pages::Kind as IdentityKind;
pub(crate) use self::resolved::{Config, LogFormat, NOBODY_ANSWERS, NOBODY_ANSWERS_REMEDY};
pub(crate) use self::secret::read_secret;
use self::setting::{SETTINGS, Setting};
pub(crate) use self::tokens::ConfiguredIssuer;
use self::tokens::TokenTables;
pub(crate) use self::upstream::{UpstreamConfig, UpstreamTarget, headers as upstream_headers};
use crate::environment::Environment;
use crate::output;

/// The default configuration file.
const FILE: &str = "entreat.toml";
/// Its folder within the user's configuration folder.
const FOLDER: &str = "entreat";
/// The prefix of environment variables.
const PREFIX: &str = "ENTREAT_";
/// Variables that are not settings of a service.
const OTHER_VARIABLES: &[&str] = &[CONFIG_VARIABLE, crate::remote::KEY_VARIABLE];
/// The variable that names the file.
const CONFIG_VARIABLE: &str = "ENTREAT_CONFIG";

/// Flags of every command with a configuration.
#[derive(clap::Args, Default)]
pub(crate) struct ConfigArgs {
    /// The configuration file [default: `$ENTREAT_CONFIG`, or entreat.toml in this folder if it
    /// exists]
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    config: Option<PathBuf>,
    /// Where questions are stored: `memory`, or the path of a file
    #[arg(long, value_name = "STORE", value_hint = clap::ValueHint::FilePath)]
    store: Option<String>,
    /// The store's key file [default: the store's name plus .keys]
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    keys: Option<String>,
    /// A folder of forms to ask by name
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    forms: Option<String>,
    /// The log filter, such as `warn` or `info,entreat_service=debug` [default: info]
    #[arg(long, value_name = "FILTER")]
    log: Option<String>,
    /// The log format: `text` or `json` [default: text]
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<String>,
}

/// Flags of a command that serves.
#[derive(clap::Args, Default)]
pub(crate) struct ServeArgs {
    /// The address to listen on; port 0 picks a free port [default: 127.0.0.1:7171]
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// The URL at which the service is reached from outside, if different
    #[arg(long, value_name = "URL", value_hint = clap::ValueHint::Url)]
    public_url: Option<String>,
}

/// The values of flags, by setting name.
type Flags<'a> = [(&'static str, Option<&'a str>); 7];

fn flags<'a>(shared: &'a ConfigArgs, serve: &'a ServeArgs) -> Flags<'a> {
    [
        ("listen", serve.listen.as_deref()),
        ("store", shared.store.as_deref()),
        ("keys", shared.keys.as_deref()),
        ("forms", shared.forms.as_deref()),
        ("public_url", serve.public_url.as_deref()),
        ("log", shared.log.as_deref()),
        ("log_format", shared.log_format.as_deref()),
    ]
}

/// Where a command looks for its default file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConfigLocation {
    /// In the working folder, which is the service's own.
    WorkingFolder,
    /// In the user's configuration folder. For a program that is started in untrusted folders:
    /// their files must not decide where answers go.
    User,
}

/// Parses an address to listen on; an error says what would be valid.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    value::address(text)
}

/// Loads the configuration. Fails with all errors, each with its place.
pub(crate) fn load(
    shared: &ConfigArgs,
    serve: &ServeArgs,
    home: ConfigLocation,
    environment: &Environment,
) -> Result<Config, ConfigErrors> {
    let mut errors = ConfigErrors::default();
    let file = find_file(shared.config.as_deref(), home, environment).unwrap_or_else(|error| {
        errors.report_error(&error);
        None
    });
    let name = file.as_ref().map(|file| file.name().to_owned());
    let mut config = Config::new(name, environment.data_folder.clone());
    let (mut file_askers, mut file_rules) = (Vec::new(), Vec::new());
    let mut file_tokens = TokenTables::default();
    if let Some(file) = &file {
        config.path = Some(file.path().to_owned());
        let contents = file.read(&mut errors);
        for raw in contents.values {
            config.set(raw, &mut errors);
        }
        file_askers = contents.askers;
        config.upstreams = contents.upstreams;
        file_rules = contents.rules;
        file_tokens = contents.tokens;
    }
    for setting in SETTINGS {
        let name = setting.variable();
        if let Some(value) = environment.variable(&name) {
            let origin = Origin::Environment(name);
            match value.to_str() {
                Some(text) => {
                    config.set(
                        value::RawValue::new(setting.name, text, origin),
                        &mut errors,
                    );
                }
                None => errors.reject(&origin, setting.name, "it must be UTF-8 text"),
            }
        }
    }
    for (name, text) in flags(shared, serve) {
        if let Some(text) = text {
            let raw = value::RawValue::new(name, text, Origin::flag(name));
            config.set(raw, &mut errors);
        }
    }
    config.finish(file_askers, file_tokens, environment, &mut errors);
    config.approvals = approvals::resolve(file_rules, &mut errors);
    errors.check()?;
    config.remarks = remarks(&config, environment);
    if home == ConfigLocation::User && !is_named(shared, environment) {
        config.remarks.extend(ignored_file(environment));
    }
    Ok(config)
}

/// Opens the configuration file; `None` if none is named and the default does not exist.
fn find_file(
    flag: Option<&Path>,
    home: ConfigLocation,
    environment: &Environment,
) -> anyhow::Result<Option<File>> {
    let named = environment.variable(CONFIG_VARIABLE).map(PathBuf::from);
    // A flag's path is meant for this folder; a variable applies in every folder.
    ensure!(
        home == ConfigLocation::WorkingFolder
            || flag.is_some()
            || named.iter().all(|path| path.is_absolute()),
        "{CONFIG_VARIABLE} is relative to the working folder: use an absolute path"
    );
    if let Some(path) = flag.map(Path::to_owned).or(named) {
        return File::open(&path)?.map(Some).with_context(|| {
            format!(
                "there is no configuration file {}",
                output::sanitize_path(&path)
            )
        });
    }
    match home {
        ConfigLocation::WorkingFolder => File::open(Path::new(FILE)),
        ConfigLocation::User => match user_file(environment) {
            Some(path) => File::open(&path),
            None => Ok(None),
        },
    }
}

/// Returns the path of the user's own file.
fn user_file(environment: &Environment) -> Option<PathBuf> {
    let folder = environment.config_folder.as_ref()?;
    Some(folder.join(FOLDER).join(FILE))
}

/// Whether a flag or a variable names the configuration file.
pub(crate) fn is_named(shared: &ConfigArgs, environment: &Environment) -> bool {
    shared.config.is_some() || environment.variable(CONFIG_VARIABLE).is_some()
}

/// Warns about a file in the working folder that was not read, though it may have been meant.
fn ignored_file(environment: &Environment) -> Option<String> {
    Path::new(FILE).symlink_metadata().ok()?;
    let user_path = user_file(environment).map_or_else(
        || format!("{FOLDER}/{FILE} in your configuration folder"),
        output::sanitize_path,
    );
    Some(format!(
        "ignoring {FILE} in this folder, because it may be untrusted: put your settings into \
         {user_path}, or use --config {FILE} if you trust it"
    ))
}

/// Warns about variables that look like misspelled settings.
///
/// They are not errors, since others set such variables too: a container platform announces a
/// service called `entreat` in `ENTREAT_PORT` and similar variables.
fn remarks(config: &Config, environment: &Environment) -> Vec<String> {
    let known: Vec<String> = SETTINGS.iter().map(Setting::variable).collect();
    let mut known: Vec<&str> = known.iter().map(String::as_str).collect();
    known.extend(OTHER_VARIABLES);
    let bare_names: Vec<&str> = known.iter().map(|name| bare(name)).collect();
    let names = environment.names_with(PREFIX);
    let unknown = names.filter(|name| !known.contains(name) && !config.uses_variable(name));
    let remark = |name: &str| {
        // The common prefix would distort the distance.
        let suggestion = entreat_core::closest(bare(name), &bare_names)?;
        let name = output::sanitize(name);
        Some(format!(
            "{name} is not a setting; did you mean {PREFIX}{suggestion}?"
        ))
    };
    unknown.filter_map(remark).collect()
}

/// Strips the common prefix of a variable name.
fn bare(name: &str) -> &str {
    name.strip_prefix(PREFIX).unwrap_or_default()
}

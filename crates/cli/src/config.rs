//! What holds for a service: defaults, a file, the environment and flags, of which the last wins.
//!
//! `setting.rs` is the one table of what can be set. Every layer hands over texts, and the table
//! reads them; so a value means the same wherever it stands, and what was refused is told by the
//! place where it stands.

mod asker;
mod file;
mod held;
mod origin;
mod pages;
mod rules;
mod setting;
mod value;
mod wrong;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

pub(crate) use self::asker::{HeldAsker, KeySource, LOCAL};
use self::file::File;
pub(crate) use self::held::{Config, LogFormat, NOBODY_ANSWERS, NOBODY_ANSWERS_REMEDY};
pub(crate) use self::origin::{Origin, Source};
use self::setting::{SETTINGS, Setting};
pub(crate) use self::wrong::Wrong;
use crate::environment::Environment;
use crate::output;

/// The file that is read if nobody names one.
const FILE: &str = "entreat.toml";
/// The folder of it in the one of this person's configurations.
const FOLDER: &str = "entreat";
/// What variables of the environment begin with.
const PREFIX: &str = "ENTREAT_";
/// Variables that are not settings of a service.
const OTHER_VARIABLES: &[&str] = &[CONFIG_VARIABLE, crate::remote::KEY_VARIABLE];
/// The variable that names the file.
const CONFIG_VARIABLE: &str = "ENTREAT_CONFIG";

/// Flags that every command with a configuration has.
#[derive(clap::Args, Default)]
pub(crate) struct ConfigArgs {
    /// The configuration file [default: `$ENTREAT_CONFIG`, else entreat.toml in this folder if it
    /// is there]
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    config: Option<PathBuf>,
    /// Where questions are kept: `memory`, or the path of a file
    #[arg(long, value_name = "STORE", value_hint = clap::ValueHint::FilePath)]
    store: Option<String>,
    /// The file of the store's keys [default: the store's name and .keys]
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    keys: Option<String>,
    /// A folder of forms that can be asked by name
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    forms: Option<String>,
    /// What is logged, such as `warn` or `info,entreat_service=debug` [default: info]
    #[arg(long, value_name = "FILTER")]
    log: Option<String>,
    /// How it is logged: `text` or `json` [default: text]
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<String>,
}

/// Flags of a command that serves.
#[derive(clap::Args, Default)]
pub(crate) struct ServeArgs {
    /// Where to listen; port 0 is any that is free [default: 127.0.0.1:7171]
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Where the service is reached from outside, if that is not where it listens
    #[arg(long, value_name = "URL", value_hint = clap::ValueHint::Url)]
    public_url: Option<String>,
}

/// What flags say, by the name of the setting.
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

/// Where a command finds its file if nobody names one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// In the folder that the program runs in, which is the service's own.
    WorkingFolder,
    /// Among the person's configurations. For a program that is started in folders which others
    /// wrote: what lies there must not decide where answers go.
    Person,
}

/// Finds out what holds. Fails with everything that cannot hold, and tells where it stands.
pub(crate) fn load(
    shared: &ConfigArgs,
    serve: &ServeArgs,
    home: Home,
    environment: &Environment,
) -> Result<Config, Wrong> {
    let mut wrong = Wrong::default();
    let file = find_file(shared.config.as_deref(), home, environment).unwrap_or_else(|error| {
        wrong.tell_all(&error);
        None
    });
    let name = file.as_ref().map(|file| file.name().to_owned());
    let mut config = Config::new(name, environment.data_folder.clone());
    let mut file_askers = Vec::new();
    if let Some(file) = &file {
        config.path = Some(file.path().to_owned());
        let contents = file.read(&mut wrong);
        for given in contents.values {
            config.set(given, &mut wrong);
        }
        file_askers = contents.askers;
    }
    for setting in SETTINGS {
        let name = setting.variable();
        if let Some(value) = environment.variable(&name) {
            let origin = Origin::Environment(name);
            match value.to_str() {
                Some(text) => {
                    config.set(value::Given::new(setting.name, text, origin), &mut wrong);
                }
                None => wrong.refuse(&origin, setting.name, "it is no text in UTF-8"),
            }
        }
    }
    for (name, text) in flags(shared, serve) {
        if let Some(text) = text {
            let given = value::Given::new(name, text, Origin::flag(name));
            config.set(given, &mut wrong);
        }
    }
    config.finish(file_askers, environment, &mut wrong);
    wrong.check()?;
    config.remarks = remarks(&config, environment);
    let is_named = shared.config.is_some() || environment.variable(CONFIG_VARIABLE).is_some();
    if home == Home::Person && !is_named {
        config.remarks.extend(ignored(environment));
    }
    Ok(config)
}

/// The file that is meant; `None` if nobody named one and the default is not there.
fn find_file(
    flag: Option<&Path>,
    home: Home,
    environment: &Environment,
) -> anyhow::Result<Option<File>> {
    let named = environment.variable(CONFIG_VARIABLE).map(PathBuf::from);
    // What a flag names was meant for this folder; a variable holds in every folder.
    ensure!(
        home == Home::WorkingFolder
            || flag.is_some()
            || named.iter().all(|path| path.is_absolute()),
        "{CONFIG_VARIABLE} names a file of whatever folder this runs in: make it an absolute path"
    );
    if let Some(path) = flag.map(Path::to_owned).or(named) {
        return File::open(&path)?.map(Some).with_context(|| {
            let path = output::plain(&path.to_string_lossy()).into_owned();
            format!("there is no configuration file {path}")
        });
    }
    match home {
        Home::WorkingFolder => File::open(Path::new(FILE)),
        Home::Person => match person_file(environment) {
            Some(path) => File::open(&path),
            None => Ok(None),
        },
    }
}

/// Where this person's own file lies, if it is there.
fn person_file(environment: &Environment) -> Option<PathBuf> {
    let folder = environment.config_folder.as_ref()?;
    Some(folder.join(FOLDER).join(FILE))
}

/// A file of this folder that was not read, though somebody may have meant it to be.
fn ignored(environment: &Environment) -> Option<String> {
    Path::new(FILE).symlink_metadata().ok()?;
    let own =
        person_file(environment).map(|path| output::plain(&path.to_string_lossy()).into_owned());
    let own = own.unwrap_or_else(|| format!("{FOLDER}/{FILE} among your configurations"));
    Some(format!(
        "{FILE} of this folder is not read, because others may have written it: put your settings \
         into {own}, or name it with --config {FILE} if you trust it"
    ))
}

/// What is probably a slip: variables that look like settings and are none.
///
/// They are no errors. Others name variables too: a container platform tells every program of a
/// service called `entreat` where it is, in `ENTREAT_PORT` and its like.
fn remarks(config: &Config, environment: &Environment) -> Vec<String> {
    let known: Vec<String> = SETTINGS.iter().map(Setting::variable).collect();
    let mut known: Vec<&str> = known.iter().map(String::as_str).collect();
    known.extend(OTHER_VARIABLES);
    let bare_names: Vec<&str> = known.iter().map(|name| bare(name)).collect();
    let names = environment.names_with(PREFIX);
    let strange = names.filter(|name| !known.contains(name) && !config.uses_variable(name));
    let remark = |name: &str| {
        // What all of them begin with says nothing about how near they are.
        let meant = entreat_core::closest(bare(name), &bare_names)?;
        let name = output::plain(name);
        Some(format!(
            "{name} is no setting; did you mean {PREFIX}{meant}?"
        ))
    };
    strange.filter_map(remark).collect()
}

/// The name of a variable without what all of them begin with.
fn bare(name: &str) -> &str {
    name.strip_prefix(PREFIX).unwrap_or_default()
}

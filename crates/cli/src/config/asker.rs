//! The `[[asker]]` tables: who may ask, with which key, under which rules.

use std::collections::HashMap;
use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail, ensure};
use entreat::AskerSettings;
use zeroize::Zeroizing;

use super::held::{Rules, refusal};
use super::origin::Origin;
use super::setting::{Kind, Setting};
use super::value::Given;
use crate::environment::Environment;
use crate::output;

/// Keys of an `[[asker]]` table besides the settings that askers have.
pub(super) const OWN_KEYS: &[&str] = &["name", "key", "key_file", "key_env"];
/// The asker of programs on this machine that have no key.
pub(crate) const LOCAL: &str = "local";
/// A key of fewer characters could be guessed.
const SHORTEST_KEY: usize = 16;
const LONGEST_KEY: usize = 1024;
const LONGEST_NAME: usize = 64;

/// An `[[asker]]` table as it stands in the file.
#[derive(Debug)]
pub(super) struct GivenAsker {
    pub(super) origin: Origin,
    /// Where the file is, which paths are relative to.
    pub(super) folder: PathBuf,
    pub(super) values: Vec<Given>,
}

/// Somebody who may ask.
#[derive(Debug)]
pub(crate) struct HeldAsker {
    pub(crate) name: String,
    pub(crate) key: ApiKey,
    /// Where the key stands.
    pub(crate) key_origin: Origin,
    pub(crate) key_source: KeySource,
    pub(crate) settings: AskerSettings,
    /// What holds for this asker alone: name, value, place.
    pub(crate) own: Vec<(&'static str, String, Origin)>,
    origin: Origin,
}

/// What holds an asker's key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum KeySource {
    /// The configuration itself.
    Inline,
    /// A file of its own.
    File(PathBuf),
    /// A variable of the environment.
    Variable,
}

/// A key that cannot be printed by accident.
pub(crate) struct ApiKey(Zeroizing<String>);

impl ApiKey {
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// Reads the tables; each asker's rules are those of all, where it has none of its own.
pub(super) fn hold(
    given: Vec<GivenAsker>,
    rules: &Rules,
    environment: &Environment,
) -> anyhow::Result<Vec<HeldAsker>> {
    let mut held: Vec<HeldAsker> = Vec::with_capacity(given.len());
    for given in given {
        let asker = read(given, rules, environment)?;
        for other in &held {
            let (here, there) = (&asker.origin, &other.origin);
            let same_name = asker.name == other.name;
            ensure!(
                same_name || asker.key.expose() != other.key.expose(),
                "{here}: this asker has the same key as the one at {there}; give each its own"
            );
            // Two keys for one asker are how a key is replaced.
            ensure!(
                !same_name || asker.settings == other.settings,
                "{here}: this asker has the name of the one at {there}, but not its settings; \
                 make them the same, or choose another name"
            );
        }
        held.push(asker);
    }
    Ok(held)
}

fn read(given: GivenAsker, rules: &Rules, environment: &Environment) -> anyhow::Result<HeldAsker> {
    let GivenAsker {
        origin,
        folder,
        values,
    } = given;
    let mut rules = rules.clone();
    let mut own = Vec::new();
    let mut texts = HashMap::new();
    for Given {
        name,
        text,
        origin: place,
    } in values
    {
        let Some(setting) = Setting::find(&name) else {
            texts.insert(name, (Zeroizing::new(text), place));
            continue;
        };
        let Kind::Asker { set, show } = setting.kind else {
            bail!("{place}: `{name}` is a setting of the service, not of an asker");
        };
        set(&mut rules, &text).map_err(|refused| refusal(&place, &name, &refused))?;
        own.push((setting.name, show(&rules), place));
    }
    let Some((name, place)) = texts.remove("name") else {
        bail!("{origin}: this asker has no `name`");
    };
    check_name(&name).map_err(|refused| refusal(&place, "name", refused))?;
    let (key, key_origin, key_source) = find_key(texts, &origin, &folder, environment)?;
    check_key(&key).map_err(|refused| refusal(&key_origin, "key", &refused))?;
    let settings = rules.settings().map_err(|(mode, refused)| {
        let name = format!("timeouts.{}", mode.as_str());
        refusal(&origin, &name, &refused)
    })?;
    Ok(HeldAsker {
        name: name.to_string(),
        key: ApiKey(key),
        key_origin,
        key_source,
        settings,
        own,
        origin,
    })
}

type Texts = HashMap<String, (Zeroizing<String>, Origin)>;

fn find_key(
    mut texts: Texts,
    origin: &Origin,
    folder: &Path,
    environment: &Environment,
) -> anyhow::Result<(Zeroizing<String>, Origin, KeySource)> {
    let (inline, file, variable) = (
        texts.remove("key"),
        texts.remove("key_file"),
        texts.remove("key_env"),
    );
    match (inline, file, variable) {
        (Some((key, place)), None, None) => Ok((key, place, KeySource::Inline)),
        (None, Some((path, place)), None) => {
            let path = folder.join(&*path);
            let key = read_key_file(&path);
            let key = key.with_context(|| format!("{place}: `key_file`"))?;
            Ok((key, place, KeySource::File(path)))
        }
        (None, None, Some((name, place))) => {
            let name = name.to_string();
            let value = environment.variable(&name).ok_or_else(|| {
                let name = output::plain(&name);
                anyhow!("{place}: the variable {name} of `key_env` is not set")
            })?;
            let key = value.to_str().unwrap_or_default().to_owned();
            let key = Zeroizing::new(key);
            Ok((key, Origin::Environment(name), KeySource::Variable))
        }
        _ => bail!("{origin}: an asker has one of `key`, `key_file` and `key_env`"),
    }
}

fn read_key_file(path: &Path) -> anyhow::Result<Zeroizing<String>> {
    let name = output::plain(&path.to_string_lossy()).into_owned();
    let failed = || format!("cannot read the key in {name}");
    let file = std::fs::File::open(path).with_context(failed)?;
    // Room for all of it at once: growing would leave copies behind.
    let mut text = Zeroizing::new(String::with_capacity(2 * LONGEST_KEY));
    let mut file = file.take(LONGEST_KEY as u64 + 2);
    file.read_to_string(&mut text).with_context(failed)?;
    Ok(Zeroizing::new(
        text.trim_end_matches(['\n', '\r']).to_owned(),
    ))
}

fn check_name(name: &str) -> Result<(), &'static str> {
    if name.is_empty() || name.chars().count() > LONGEST_NAME {
        return Err("a name has 1 to 64 characters");
    }
    if name.chars().any(char::is_control) {
        return Err("a name has no control characters");
    }
    if name == LOCAL {
        return Err("it is the name of programs on this machine without a key; choose another");
    }
    Ok(())
}

fn check_key(key: &str) -> Result<(), String> {
    // What a header can carry.
    let is_sound = key.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_sound || !(SHORTEST_KEY..=LONGEST_KEY).contains(&key.len()) {
        return Err(format!(
            "a key has {SHORTEST_KEY} to {LONGEST_KEY} visible ASCII characters; \
             `openssl rand -hex 32` makes one"
        ));
    }
    Ok(())
}

//! The `[[asker]]` tables: who may ask, with which key, under which rules.

use std::collections::HashMap;
use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use entreat::AskerSettings;
use entreat::service::{Brand, Color};
use zeroize::Zeroizing;

use super::origin::Origin;
use super::rules::Rules;
use super::setting::{Kind, Setting};
use super::value::Given;
use super::wrong::Wrong;
use crate::environment::Environment;
use crate::output;

/// Keys of an `[[asker]]` table besides the settings that askers have.
pub(super) const OWN_KEYS: &[&str] = &["name", "key", "key_file", "key_env", DISPLAY_NAME, COLOR];
/// What people know an asker by, and the colour of its pages.
const DISPLAY_NAME: &str = "display_name";
const COLOR: &str = "color";
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
    /// How it is shown to people.
    pub(crate) brand: Brand,
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
    wrong: &mut Wrong,
) -> Vec<HeldAsker> {
    let mut held: Vec<HeldAsker> = Vec::with_capacity(given.len());
    for given in given {
        let Some(asker) = read(given, rules.clone(), environment, wrong) else {
            continue;
        };
        for other in &held {
            if let Some(words) = clash(&asker, other) {
                wrong.tell(&asker.origin, words);
            }
        }
        held.push(asker);
    }
    held
}

/// What keeps two askers from standing side by side.
fn clash(asker: &HeldAsker, other: &HeldAsker) -> Option<String> {
    let there = &other.origin;
    let same_name = asker.name == other.name;
    if !same_name && asker.key.expose() == other.key.expose() {
        return Some(format!(
            "this asker has the same key as the one at {there}; give each its own"
        ));
    }
    // Two keys for one asker are how a key is replaced.
    let are_alike = (&asker.settings, &asker.brand) == (&other.settings, &other.brand);
    (same_name && !are_alike).then(|| {
        format!(
            "this asker has the name of the one at {there}, but not its settings; make them the \
             same, or choose another name"
        )
    })
}

fn read(
    given: GivenAsker,
    mut rules: Rules,
    environment: &Environment,
    wrong: &mut Wrong,
) -> Option<HeldAsker> {
    let GivenAsker {
        origin,
        folder,
        values,
    } = given;
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
            wrong.refuse(&place, &name, "it is a setting of the service");
            continue;
        };
        match set(&mut rules, &text) {
            Ok(()) => own.push((setting.name, show(&rules), place)),
            Err(refused) => wrong.refuse(&place, &name, &refused),
        }
    }
    let name = read_name(&mut texts, &origin, wrong);
    let brand = find_brand(&mut texts, &mut own, wrong);
    let key = find_key(texts, &origin, &folder, environment, wrong);
    let settings = match rules.settings() {
        Ok(settings) => Some(settings),
        Err(mut contradictions) => {
            // What holds for all was told by its own place.
            contradictions.retain(|found| {
                let mode = found.mode_name();
                let is_own = own.iter().any(|(name, ..)| name.starts_with(&mode));
                is_own && !wrong.has_refused(&mode)
            });
            for found in contradictions {
                wrong.refuse(&origin, &found.name, &found.refused);
            }
            None
        }
    };
    let (key, key_origin, key_source) = key?;
    Some(HeldAsker {
        name: name?,
        key: ApiKey(key),
        key_origin,
        key_source,
        settings: settings?,
        brand,
        own,
        origin,
    })
}

fn read_name(texts: &mut Texts, origin: &Origin, wrong: &mut Wrong) -> Option<String> {
    let Some((name, place)) = texts.remove("name") else {
        wrong.tell(origin, "this asker has no `name`");
        return None;
    };
    let refused = check_name(&name);
    let refuse = |refused: &'static str| wrong.refuse(&place, "name", refused);
    refused.map_err(refuse).ok().map(|()| name.to_string())
}

type Texts = HashMap<String, (Zeroizing<String>, Origin)>;

/// Reads how the asker is shown to people, and notes what was said about it.
fn find_brand(
    texts: &mut Texts,
    own: &mut Vec<(&'static str, String, Origin)>,
    wrong: &mut Wrong,
) -> Brand {
    let mut brand = Brand::default();
    if let Some((name, place)) = texts.remove(DISPLAY_NAME) {
        match check_shown(&name) {
            Ok(()) => brand.name = Some(name.to_string()),
            Err(refused) => wrong.refuse(&place, DISPLAY_NAME, refused),
        }
        own.push((DISPLAY_NAME, name.to_string(), place));
    }
    if let Some((color, place)) = texts.remove(COLOR) {
        match color.parse::<Color>() {
            Ok(color) => {
                brand.color = Some(color);
                own.push((COLOR, color.to_string(), place));
            }
            Err(no) => wrong.refuse(&place, COLOR, &no.to_string()),
        }
    }
    brand
}

type Key = (Zeroizing<String>, Origin, KeySource);

/// The key, wherever it stands, if it can be one.
fn find_key(
    mut texts: Texts,
    origin: &Origin,
    folder: &Path,
    environment: &Environment,
    wrong: &mut Wrong,
) -> Option<Key> {
    let (inline, file, variable) = (
        texts.remove("key"),
        texts.remove("key_file"),
        texts.remove("key_env"),
    );
    let (key, place, source) = match (inline, file, variable) {
        (Some((key, place)), None, None) => (key, place, KeySource::Inline),
        (None, Some((path, place)), None) => {
            let path = folder.join(&*path);
            let told = |error| wrong.tell(&place, format_args!("`key_file`: {error:#}"));
            let key = read_key_file(&path).map_err(told).ok()?;
            (key, place, KeySource::File(path))
        }
        (None, None, Some((name, place))) => {
            let Some(value) = environment.variable(&name) else {
                let name = output::plain(&name);
                let words = format!("the variable {name} of `key_env` is not set");
                wrong.tell(&place, words);
                return None;
            };
            let key = Zeroizing::new(value.to_str().unwrap_or_default().to_owned());
            let origin = Origin::Environment(name.to_string());
            (key, origin, KeySource::Variable)
        }
        _ => {
            let words = "an asker has one of `key`, `key_file` and `key_env`";
            wrong.tell(origin, words);
            return None;
        }
    };
    if let Err(refused) = check_key(&key) {
        wrong.refuse(&place, "key", &refused);
        return None;
    }
    Some((key, place, source))
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
    check_shown(name)?;
    if name == LOCAL {
        return Err("it is the name of programs on this machine without a key; choose another");
    }
    Ok(())
}

/// A name that people can see as it is.
fn check_shown(name: &str) -> Result<(), &'static str> {
    if name.is_empty() || name.chars().count() > LONGEST_NAME {
        return Err("a name has 1 to 64 characters");
    }
    if name.chars().any(char::is_control) {
        return Err("a name has no control characters");
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

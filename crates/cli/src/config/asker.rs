//! The `[[asker]]` tables: askers with their keys and rules.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};

use entreat::service::{Brand, Color, Role};
use entreat::{AskerSettings, GATEWAY_ASKER};
use zeroize::Zeroizing;

use super::errors::ConfigErrors;
use super::origin::Origin;
use super::rules::Rules;
use super::secret::read_secret;
use super::setting::{Kind, Setting};
use super::value::RawValue;
use crate::environment::Environment;
use crate::output;

/// Keys of an `[[asker]]` table besides per-asker settings.
pub(super) const OWN_KEYS: &[&str] = &[
    "name",
    "key",
    "key_file",
    "key_env",
    ROLE,
    DISPLAY_NAME,
    COLOR,
    RESPONDENT,
];
/// What the key's holder may do.
const ROLE: &str = "role";
/// The asker's name and colour as shown on pages.
const DISPLAY_NAME: &str = "display_name";
const COLOR: &str = "color";
/// Who answers the questions of the gateway's clients that have this key.
const RESPONDENT: &str = "respondent";
/// The asker name of local programs without a key.
pub(crate) const LOCAL: &str = "local";
/// A shorter key could be guessed.
const MIN_KEY_LENGTH: usize = 16;
const MAX_KEY_LENGTH: usize = 1024;
const MAX_NAME_LENGTH: usize = 64;

/// An unparsed `[[asker]]` table.
#[derive(Debug)]
pub(super) struct AskerTable {
    pub(super) origin: Origin,
    /// The folder of the file; paths are relative to it.
    pub(super) folder: PathBuf,
    pub(super) values: Vec<RawValue>,
}

/// A configured asker.
#[derive(Debug)]
pub(crate) struct AskerConfig {
    pub(crate) name: String,
    pub(crate) key: ApiKey,
    /// Where the key was configured.
    pub(crate) key_origin: Origin,
    pub(crate) key_source: KeySource,
    pub(crate) settings: AskerSettings,
    pub(crate) role: Role,
    /// How it is shown on pages.
    pub(crate) brand: Brand,
    /// Who answers what the gateway asks for this asker.
    pub(crate) respondent: Option<String>,
    /// Settings of this asker alone: name, value, origin.
    pub(crate) own: Vec<(&'static str, String, Origin)>,
    origin: Origin,
}

/// Where an asker's key is stored.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum KeySource {
    /// The configuration itself.
    Inline,
    /// A separate file.
    File(PathBuf),
    /// An environment variable.
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

/// Parses the tables; an asker inherits the common rules that it does not override.
pub(super) fn resolve(
    tables: Vec<AskerTable>,
    rules: &Rules,
    environment: &Environment,
    errors: &mut ConfigErrors,
) -> Vec<AskerConfig> {
    let mut askers: Vec<AskerConfig> = Vec::with_capacity(tables.len());
    for table in tables {
        let Some(asker) = read(table, rules.clone(), environment, errors) else {
            continue;
        };
        for other in &askers {
            if let Some(message) = conflict(&asker, other) {
                errors.report(&asker.origin, message);
            }
        }
        askers.push(asker);
    }
    askers
}

/// Returns an error if two askers conflict.
fn conflict(asker: &AskerConfig, other: &AskerConfig) -> Option<String> {
    let there = &other.origin;
    let same_name = asker.name == other.name;
    if !same_name && asker.key.expose() == other.key.expose() {
        return Some(format!(
            "this asker has the same key as the one at {there}; give each its own key"
        ));
    }
    // Two keys for one asker are allowed: that is how keys are rotated.
    let rules = |of: &AskerConfig| {
        let settings = (of.settings.clone(), of.brand.clone());
        (settings, of.role, of.respondent.clone())
    };
    let are_equal = rules(asker) == rules(other);
    (same_name && !are_equal).then(|| {
        format!(
            "this asker has the same name as the one at {there}, but different settings; make \
             them equal, or choose another name"
        )
    })
}

fn read(
    table: AskerTable,
    mut rules: Rules,
    environment: &Environment,
    errors: &mut ConfigErrors,
) -> Option<AskerConfig> {
    let AskerTable {
        origin,
        folder,
        values,
    } = table;
    let mut own = Vec::new();
    let mut texts = HashMap::new();
    for RawValue {
        name,
        text,
        origin: value_origin,
    } in values
    {
        let Some(setting) = Setting::find(&name) else {
            texts.insert(name, (Zeroizing::new(text), value_origin));
            continue;
        };
        let Kind::Asker { set, show } = setting.kind else {
            errors.reject(
                &value_origin,
                &name,
                "it applies to the whole service, not to one asker",
            );
            continue;
        };
        match set(&mut rules, &text) {
            Ok(()) => own.push((setting.name, show(&rules), value_origin)),
            Err(rejection) => errors.reject(&value_origin, &name, &rejection),
        }
    }
    let name = read_name(&mut texts, &origin, errors);
    let role = find_role(&mut texts, &mut own, errors);
    let brand = find_brand(&mut texts, &mut own, errors);
    let respondent = texts.remove(RESPONDENT).map(|(name, value_origin)| {
        if let Err(rejection) = check_shown(&name) {
            errors.reject(&value_origin, RESPONDENT, rejection);
        }
        own.push((RESPONDENT, name.to_string(), value_origin));
        name.to_string()
    });
    let key = find_key(texts, &origin, &folder, environment, errors);
    let settings = match rules.settings() {
        Ok(settings) => Some(settings),
        Err(mut contradictions) => {
            // Errors of the common rules are already reported at their own place.
            contradictions.retain(|found| {
                let mode = found.mode_name();
                let is_own = own.iter().any(|(name, ..)| name.starts_with(&mode));
                is_own && !errors.has_rejected(&mode)
            });
            for found in contradictions {
                errors.reject(&origin, &found.name, &found.rejection);
            }
            None
        }
    };
    let (key, key_origin, key_source) = key?;
    Some(AskerConfig {
        name: name?,
        key: ApiKey(key),
        key_origin,
        key_source,
        settings: settings?,
        role: role?,
        brand,
        respondent,
        own,
        origin,
    })
}

fn read_name(texts: &mut Texts, origin: &Origin, errors: &mut ConfigErrors) -> Option<String> {
    let Some((name, value_origin)) = texts.remove("name") else {
        errors.report(origin, "this asker has no `name`");
        return None;
    };
    let rejection = check_name(&name);
    let refuse = |rejection: &'static str| errors.reject(&value_origin, "name", rejection);
    rejection.map_err(refuse).ok().map(|()| name.to_string())
}

type Texts = HashMap<String, (Zeroizing<String>, Origin)>;

/// Parses the role, and records it if it is set; `None` if it is invalid.
fn find_role(
    texts: &mut Texts,
    own: &mut Vec<(&'static str, String, Origin)>,
    errors: &mut ConfigErrors,
) -> Option<Role> {
    let Some((text, value_origin)) = texts.remove(ROLE) else {
        return Some(Role::default());
    };
    let roles = [Role::Asker, Role::Operator];
    let role = roles.into_iter().find(|role| role.as_str() == &**text);
    match role {
        Some(role) => own.push((ROLE, role.as_str().to_owned(), value_origin)),
        None => errors.reject(
            &value_origin,
            ROLE,
            "it must be asker, which asks questions, or operator, which manages those of others",
        ),
    }
    role
}

/// Parses the asker's brand, and records its settings.
fn find_brand(
    texts: &mut Texts,
    own: &mut Vec<(&'static str, String, Origin)>,
    errors: &mut ConfigErrors,
) -> Brand {
    let mut brand = Brand::default();
    if let Some((name, value_origin)) = texts.remove(DISPLAY_NAME) {
        match check_shown(&name) {
            Ok(()) => brand.name = Some(name.to_string()),
            Err(rejection) => errors.reject(&value_origin, DISPLAY_NAME, rejection),
        }
        own.push((DISPLAY_NAME, name.to_string(), value_origin));
    }
    if let Some((color, value_origin)) = texts.remove(COLOR) {
        match color.parse::<Color>() {
            Ok(color) => {
                brand.color = Some(color);
                own.push((COLOR, color.to_string(), value_origin));
            }
            Err(no) => errors.reject(&value_origin, COLOR, &no.to_string()),
        }
    }
    brand
}

type Key = (Zeroizing<String>, Origin, KeySource);

/// Reads the key from its source, and checks it.
fn find_key(
    mut texts: Texts,
    origin: &Origin,
    folder: &Path,
    environment: &Environment,
    errors: &mut ConfigErrors,
) -> Option<Key> {
    let (inline, file, variable) = (
        texts.remove("key"),
        texts.remove("key_file"),
        texts.remove("key_env"),
    );
    let (key, value_origin, source) = match (inline, file, variable) {
        (Some((key, value_origin)), None, None) => (key, value_origin, KeySource::Inline),
        (None, Some((path, value_origin)), None) => {
            let path = folder.join(&*path);
            let report =
                |error| errors.report(&value_origin, format_args!("`key_file`: {error:#}"));
            let key = read_secret(&path, "key").map_err(report).ok()?;
            (key, value_origin, KeySource::File(path))
        }
        (None, None, Some((name, value_origin))) => {
            let Some(value) = environment.variable(&name) else {
                let name = output::sanitize(&name);
                let message = format!("the variable {name} in `key_env` is not set");
                errors.report(&value_origin, message);
                return None;
            };
            let key = Zeroizing::new(value.to_str().unwrap_or_default().to_owned());
            let origin = Origin::Environment(name.to_string());
            (key, origin, KeySource::Variable)
        }
        _ => {
            let message = "an asker needs exactly one of `key`, `key_file` and `key_env`";
            errors.report(origin, message);
            return None;
        }
    };
    if let Err(rejection) = check_key(&key) {
        errors.reject(&value_origin, "key", &rejection);
        return None;
    }
    Some((key, value_origin, source))
}

fn check_name(name: &str) -> Result<(), &'static str> {
    check_shown(name)?;
    if name == LOCAL {
        return Err(
            "this name is reserved for programs on this machine without a key; choose \
                    another",
        );
    }
    if name == GATEWAY_ASKER {
        return Err(
            "this name is reserved for what the gateway asks, which an asker of this name would \
                    see; choose another",
        );
    }
    Ok(())
}

/// Checks a name for display.
fn check_shown(name: &str) -> Result<(), &'static str> {
    if name.is_empty() || name.chars().count() > MAX_NAME_LENGTH {
        return Err("a name must have 1 to 64 characters");
    }
    if name.chars().any(char::is_control) {
        return Err("a name must not contain control characters");
    }
    Ok(())
}

fn check_key(key: &str) -> Result<(), String> {
    // A header can carry these only.
    let is_printable = key.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_printable || !(MIN_KEY_LENGTH..=MAX_KEY_LENGTH).contains(&key.len()) {
        return Err(format!(
            "a key must have {MIN_KEY_LENGTH} to {MAX_KEY_LENGTH} visible ASCII characters; \
             `openssl rand -hex 32` generates one"
        ));
    }
    Ok(())
}

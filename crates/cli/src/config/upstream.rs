//! The `[[upstream]]` tables: servers behind the gateway.

mod oauth;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use entreat::gateway::{Glob, PinMode, UpstreamEra};
use entreat_core::closest;
use http::{HeaderMap, HeaderName, HeaderValue};
use toml::Spanned;
use toml::de::DeValue;
use url::Url;

pub(crate) use self::oauth::OAuthConfig;

use super::errors::ConfigErrors;
use super::origin::Origin;
use super::secret::read_secret;
use crate::output;

const KEYS: [&str; 18] = [
    "name",
    "command",
    "url",
    "env",
    "env_files",
    "header_files",
    "folder",
    "tools",
    "pin",
    "may_ask",
    "questions_per_minute",
    "oauth",
    "client_id",
    "client_secret_file",
    "client_metadata_url",
    "scopes",
    "sign_in_port",
    "era",
];
const MAX_NAME_LENGTH: usize = 32;

/// A server behind the gateway.
#[derive(Clone, Debug)]
pub(crate) struct UpstreamConfig {
    pub(crate) name: String,
    pub(crate) target: UpstreamTarget,
    pub(crate) allow: Vec<Glob>,
    pub(crate) deny: Vec<Glob>,
    pub(crate) pin: Option<PinMode>,
    pub(crate) may_ask_forms: bool,
    pub(crate) may_ask_urls: bool,
    pub(crate) questions_per_minute: Option<u32>,
    pub(crate) oauth: Option<OAuthConfig>,
    pub(crate) era: UpstreamEra,
    pub(crate) origin: Origin,
}

/// How a server is reached.
#[derive(Clone, Debug)]
pub(crate) enum UpstreamTarget {
    Command {
        program: OsString,
        arguments: Vec<OsString>,
        folder: Option<PathBuf>,
        environment: Vec<(String, String)>,
        /// Variables whose values are in files, which are read when the server starts.
        environment_files: Vec<(String, PathBuf)>,
    },
    Url {
        url: String,
        /// Headers whose values are in files, which are read when the server is connected to.
        header_files: Vec<(HeaderName, PathBuf)>,
    },
}

/// Reads the tables. `origin` says where an offset of the file is.
pub(super) fn read(
    tables: &Spanned<DeValue<'_>>,
    folder: &Path,
    origin: &dyn Fn(usize) -> Origin,
    errors: &mut ConfigErrors,
) -> Vec<UpstreamConfig> {
    let expected = "define servers in [[upstream]] tables";
    let mut upstreams: Vec<UpstreamConfig> = Vec::new();
    let Some(tables) = tables.get_ref().as_array() else {
        errors.report(&origin(tables.span().start), expected);
        return upstreams;
    };
    for table in tables {
        let place = origin(table.span().start);
        if table.get_ref().as_table().is_none() {
            errors.report(&place, expected);
            continue;
        }
        let mut reader = Table {
            place,
            value: table,
            folder,
            origin,
            errors,
            is_valid: true,
        };
        let Some(upstream) = reader.upstream() else {
            continue;
        };
        if let Some(other) = upstreams.iter().find(|other| other.name == upstream.name) {
            let message = format!(
                "this server has the same name as the one at {}",
                other.origin
            );
            errors.report(&upstream.origin, message);
        }
        upstreams.push(upstream);
    }
    upstreams
}

struct Table<'a, 'b> {
    place: Origin,
    value: &'a Spanned<DeValue<'b>>,
    folder: &'a Path,
    origin: &'a dyn Fn(usize) -> Origin,
    errors: &'a mut ConfigErrors,
    is_valid: bool,
}

impl<'a, 'b> Table<'a, 'b> {
    fn upstream(&mut self) -> Option<UpstreamConfig> {
        self.refuse_unknown(self.value, "", &KEYS);
        let name = self.name();
        let target = self.target();
        let (mut allow, mut deny) = (Vec::new(), Vec::new());
        if let Some(tools) = self.member("tools") {
            self.refuse_unknown(tools, "tools.", &["allow", "deny"]);
            allow = self.globs(tools, "allow");
            deny = self.globs(tools, "deny");
        }
        let pin = match self.text("pin").as_deref() {
            None | Some("off") => None,
            Some("warn") => Some(PinMode::Warn),
            Some("block") => Some(PinMode::Block),
            Some(_) => {
                self.reject("pin", "it must be off, warn or block");
                None
            }
        };
        let (may_ask_forms, may_ask_urls) = match self.text("may_ask").as_deref() {
            None | Some("all") => (true, true),
            Some("forms") => (true, false),
            Some("urls") => (false, true),
            Some("nothing") => (false, false),
            Some(_) => {
                self.reject("may_ask", "it must be all, forms, urls or nothing");
                (true, true)
            }
        };
        let questions_per_minute = self.number("questions_per_minute");
        let oauth = self.oauth(target.as_ref());
        let era = match self.text("era").as_deref() {
            None | Some("auto") => UpstreamEra::Auto,
            Some("legacy") => UpstreamEra::Legacy,
            Some(_) => {
                self.reject("era", "it must be auto or legacy");
                UpstreamEra::Auto
            }
        };
        let upstream = UpstreamConfig {
            name: name?,
            target: target?,
            allow,
            deny,
            pin,
            may_ask_forms,
            may_ask_urls,
            questions_per_minute,
            oauth,
            era,
            origin: self.place.clone(),
        };
        self.is_valid.then_some(upstream)
    }

    fn name(&mut self) -> Option<String> {
        let Some(name) = self.text("name") else {
            let place = self.place.clone();
            self.report(&place, "this server has no `name`");
            return None;
        };
        let is_fit = (1..=MAX_NAME_LENGTH).contains(&name.len())
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
            && !name.contains("__")
            && !name.ends_with('_');
        if !is_fit {
            self.reject(
                "name",
                "it must have 1 to 32 letters, digits, - and single _, none of them at its end: it \
                 is part of a URL, and begins the names of tools",
            );
            return None;
        }
        Some(name)
    }

    fn target(&mut self) -> Option<UpstreamTarget> {
        let (command, url) = (self.texts("command"), self.text("url"));
        match (command, url) {
            (Some(command), None) => {
                let Some((program, arguments)) = command.split_first() else {
                    self.reject(
                        "command",
                        "it names no program: [\"npx\", \"-y\", \"a-server\"]",
                    );
                    return None;
                };
                if self.member("header_files").is_some() {
                    self.reject("header_files", "a command gets no headers; use `env_files`");
                }
                let folder = self.text("folder").map(|folder| self.folder.join(folder));
                let files = self.pairs("env_files").into_iter();
                Some(UpstreamTarget::Command {
                    program: program.into(),
                    arguments: arguments.iter().map(Into::into).collect(),
                    folder,
                    environment: self.pairs("env"),
                    environment_files: files
                        .map(|(name, file)| (name, self.folder.join(file)))
                        .collect(),
                })
            }
            (None, Some(url)) => {
                for key in ["env", "env_files", "folder"] {
                    if self.member(key).is_some() {
                        self.reject(key, "it is for servers with a `command`");
                    }
                }
                let is_http = Url::parse(&url).is_ok_and(|url| {
                    matches!(url.scheme(), "http" | "https")
                        && url.username().is_empty()
                        && url.password().is_none()
                });
                if !is_http {
                    self.reject("url", "it must be an http or https URL without a password");
                    return None;
                }
                let mut header_files = Vec::new();
                for (name, file) in self.pairs("header_files") {
                    match HeaderName::try_from(&name) {
                        Ok(name) => header_files.push((name, self.folder.join(file))),
                        Err(_) => self.reject("header_files", "a name is not that of a header"),
                    }
                }
                Some(UpstreamTarget::Url { url, header_files })
            }
            _ => {
                let place = self.place.clone();
                self.report(&place, "a server needs exactly one of `command` and `url`");
                None
            }
        }
    }

    fn member(&self, key: &str) -> Option<&'a Spanned<DeValue<'b>>> {
        let table = self.value.get_ref().as_table()?;
        table
            .iter()
            .find(|(name, _)| name.get_ref() == key)
            .map(|(_, value)| value)
    }

    fn text(&mut self, key: &str) -> Option<String> {
        let value = self.member(key)?;
        let text = value.get_ref().as_str().map(str::to_owned);
        if text.is_none() {
            self.reject(key, "it must be a string");
        }
        text
    }

    fn number(&mut self, key: &str) -> Option<u32> {
        let value = self.member(key)?;
        let number = match value.get_ref() {
            DeValue::Integer(number) => u32::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        if number.is_none() {
            self.reject(key, "it must be a whole number");
        }
        number
    }

    fn texts(&mut self, key: &str) -> Option<Vec<String>> {
        let value = self.member(key)?;
        let texts = strings(value.get_ref());
        if texts.is_none() {
            self.reject(key, "it must be an array of strings");
        }
        texts
    }

    /// A table of strings.
    fn pairs(&mut self, key: &str) -> Vec<(String, String)> {
        let Some(value) = self.member(key) else {
            return Vec::new();
        };
        let pairs = value.get_ref().as_table().and_then(|table| {
            let pair = |(name, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
                let name: &toml::de::DeString<'_> = name.get_ref();
                Some((name.to_string(), value.get_ref().as_str()?.to_owned()))
            };
            table.iter().map(pair).collect::<Option<Vec<_>>>()
        });
        pairs.unwrap_or_else(|| {
            self.reject(key, "it must be a table of strings");
            Vec::new()
        })
    }

    fn globs(&mut self, tools: &Spanned<DeValue<'_>>, key: &str) -> Vec<Glob> {
        let table = tools.get_ref().as_table();
        let value = table.and_then(|table| {
            let mut members = table.iter();
            members
                .find(|(name, _)| name.get_ref() == key)
                .map(|(_, value)| value)
        });
        let Some(value) = value else {
            return Vec::new();
        };
        let name = format!("tools.{key}");
        let Some(texts) = strings(value.get_ref()) else {
            self.reject(
                &name,
                "it must be an array of names, in which * stands for any characters",
            );
            return Vec::new();
        };
        let mut globs = Vec::new();
        for text in texts {
            match text.parse() {
                Ok(glob) => globs.push(glob),
                Err(error) => self.reject(&name, &format!("{error}")),
            }
        }
        globs
    }

    fn refuse_unknown(&mut self, table: &Spanned<DeValue<'_>>, above: &str, known: &[&str]) {
        let Some(table) = table.get_ref().as_table() else {
            let name = above.trim_end_matches('.').to_owned();
            return self.reject(&name, "it must be a table");
        };
        for (key, _) in table {
            let name: &str = key.get_ref();
            if known.contains(&name) {
                continue;
            }
            let suggestion = closest(name, known);
            let suggestion = suggestion.map(|it| format!("; did you mean `{above}{it}`?"));
            let shown = output::sanitize(name);
            let message = format!(
                "a server has no setting `{above}{shown}`{}",
                suggestion.unwrap_or_default()
            );
            let place = (self.origin)(key.span().start);
            self.report(&place, &message);
        }
    }

    fn report(&mut self, place: &Origin, message: &str) {
        self.is_valid = false;
        self.errors.report(place, message);
    }

    fn reject(&mut self, key: &str, message: &str) {
        self.is_valid = false;
        let own = key.split('.').next().unwrap_or(key);
        let place = match self.value.get_ref().as_table() {
            Some(table) => {
                let mut keys = table.iter();
                let found = keys.find(|(name, _)| name.get_ref() == own);
                found.map(|(name, _)| (self.origin)(name.span().start))
            }
            None => None,
        };
        let place = place.unwrap_or_else(|| self.place.clone());
        self.errors.reject(&place, key, message);
    }
}

fn strings(value: &DeValue<'_>) -> Option<Vec<String>> {
    let items = value.as_array()?.iter();
    items
        .map(|item| item.get_ref().as_str().map(str::to_owned))
        .collect()
}

/// Reads the values of headers from their files.
pub(crate) fn headers(files: &[(HeaderName, PathBuf)]) -> anyhow::Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    for (name, file) in files {
        let text = read_secret(file, "secret")?;
        let mut value = HeaderValue::from_str(&text).map_err(|_| {
            anyhow!(
                "{} is not the value of a header",
                output::sanitize_path(file)
            )
        })?;
        value.set_sensitive(true);
        headers.append(name.clone(), value);
    }
    Ok(headers)
}

//! Checks the settings: whether they are valid, and which are weak.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use entreat::Mode;
use entreat::service::Exposure;
use url::{Host, Url};

use super::files::{Entry, OTHERS, quoted};
use super::finding::Finding;
use crate::config::{Config, KeySource, Origin};

/// What WCAG 2.2.1 asks for.
const EXTENSIONS: u8 = 10;
const SHORT_RETENTION: Duration = Duration::from_secs(60);
/// Settings that are secrets.
const SECRETS: [&str; 2] = ["callbacks.secret", "callbacks.previous_secret"];

pub(super) fn refused(error: &str) -> Finding {
    let remedy = "correct it; until then, nothing else can be checked";
    Finding::problem("configuration", error, remedy)
}

pub(super) fn loaded(file: Option<&str>, remarks: &[String]) -> Vec<Finding> {
    let what = file.map_or_else(
        || "no file; all settings are valid".to_owned(),
        |file| format!("{file}; all settings are valid"),
    );
    let remark = |remark: &String| {
        let remedy = "correct the variable's name, or ignore this if it belongs to another program";
        Finding::warning("configuration", remark, remedy)
    };
    let mut findings = vec![Finding::ok("configuration", what)];
    findings.extend(remarks.iter().map(remark));
    findings
}

/// A file that contains a secret.
#[derive(Debug)]
pub(super) struct SecretFile {
    file: Entry,
    /// A description of the secret.
    secret: String,
}

/// Inspects the files that contain keys and secrets.
pub(super) fn inspect_secrets(config: &Config) -> Vec<SecretFile> {
    let inspect = |path: &Path, secret: String| SecretFile {
        file: Entry::inspect(path),
        secret,
    };
    let mut files = Vec::new();
    if let Some(path) = &config.path
        && let Some(secret) = inline_secret(config)
    {
        files.push(inspect(path, secret));
    }
    for asker in &config.askers {
        if let KeySource::File(path) = &asker.key_source {
            files.push(inspect(path, format!("the key of {}", asker.name)));
        }
    }
    for upstream in &config.upstreams {
        let oauth = upstream.oauth.as_ref();
        if let Some(path) = oauth.and_then(|oauth| oauth.client_secret_file.as_ref()) {
            let secret = format!("the client secret for the server {}", upstream.name);
            files.push(inspect(path, secret));
        }
    }
    if let Some(path) = &config.pages.key {
        files.push(inspect(path, "the private key of the service".to_owned()));
    }
    files
}

/// Describes a secret in the configuration file itself.
fn inline_secret(config: &Config) -> Option<String> {
    let is_in_file = |name: &&&str| matches!(config.origin(name), Origin::File { .. });
    let mut askers = config.askers.iter();
    let asker = askers.find(|asker| asker.key_source == KeySource::Inline);
    let asker = asker.map(|asker| format!("the key of {}", asker.name));
    let secret = || SECRETS.iter().find(is_in_file);
    asker.or_else(|| Some(format!("`{}`", secret()?)))
}

/// Checks secret files. Group permissions are fine: a root-owned file for the service's group is usual.
pub(super) fn secret_files(files: &[SecretFile]) -> Vec<Finding> {
    let check = |SecretFile { file, secret }: &SecretFile| {
        let name = file.display_path();
        if file.allows(OTHERS) {
            Finding::problem(
                "secrets",
                format!("everyone can read or change {name}, which contains {secret}"),
                format!(
                    "run `chmod o= {}`, then replace the secret",
                    quoted(&file.path)
                ),
            )
        } else {
            Finding::ok("secrets", format!("{name} is not accessible to everyone"))
        }
    };
    files.iter().map(check).collect()
}

/// How many keys there are.
#[derive(Clone, Copy)]
pub(super) struct Keys {
    pub(super) askers: usize,
    pub(super) operators: usize,
}

/// Checks who may ask. The service does not start if nobody may.
pub(super) fn askers(reach: Exposure<'_>, local_may_ask: bool, keys: Keys) -> Vec<Finding> {
    let Keys { askers, operators } = keys;
    let listen = reach.listen;
    let is_local = is_loopback(listen);
    let mut findings = Vec::new();
    if local_may_ask && !is_local {
        findings.push(Finding::problem(
            "askers",
            format!(
                "`local_without_key` is true on {listen}: anyone a proxy on this machine lets \
                 through can ask without a key"
            ),
            "remove `local_without_key` and give every asker a key, or listen on 127.0.0.1",
        ));
    } else if let Some(why) = reach.why_key_required().filter(|_| local_may_ask) {
        findings.push(Finding::warning(
            "askers",
            format!(
                "`local_without_key` is true although {why}: anyone a proxy on this machine lets \
                 through can ask without a key"
            ),
            "remove `local_without_key` and give every asker a key",
        ));
    }
    let remedy = "add an [[asker]] with a name and a key to the configuration";
    if askers == 0 && !is_local {
        findings.push(Finding::problem(
            "askers",
            format!("other machines can reach {listen}, but no asker has a key"),
            format!("{remedy}, or listen on 127.0.0.1"),
        ));
    } else if askers == 0 && !local_may_ask {
        let why = reach
            .why_key_required()
            .unwrap_or("`local_without_key` is false");
        let what = format!("nobody can ask: {why}, and no asker has a key");
        findings.push(Finding::problem("askers", what, remedy));
    } else if findings.is_empty() {
        let local = if local_may_ask {
            ", and programs on this machine without one"
        } else {
            ""
        };
        let what = match askers {
            0 => "programs on this machine ask without a key".to_owned(),
            count => format!("keys of askers: {count}{local}"),
        };
        let what = match operators {
            0 => what,
            count => format!("{what}; keys of operators: {count}"),
        };
        findings.push(Finding::ok("askers", what));
    }
    findings
}

/// Checks the public URL.
pub(super) fn public_url(listen: SocketAddr, url: Option<&str>) -> Option<Finding> {
    match url {
        None if is_loopback(listen) => None,
        None => Some(Finding::warning(
            "public url",
            format!("other machines can reach {listen}, but `public_url` is not set"),
            "set `public_url` to the https:// URL that people and programs use",
        )),
        Some(url) if is_unencrypted_remote(url) => Some(Finding::warning(
            "public url",
            format!("{url} is not encrypted: others on the network can read answers and keys"),
            "set `tls.certificate` and `tls.key`, or use a TLS proxy, and start `public_url` with \
             https://",
        )),
        Some(url) => Some(Finding::ok("public url", url)),
    }
}

pub(super) fn is_unencrypted_remote(url: &str) -> bool {
    let Ok(url) = Url::parse(url) else {
        return false;
    };
    let is_near = match url.host() {
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.to_canonical().is_loopback(),
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    };
    url.scheme() == "http" && !is_near
}

pub(super) fn callbacks(listen: SocketAddr, has_secret: bool, to_loopback: bool) -> Finding {
    if !has_secret {
        return Finding::note(
            "callbacks",
            "no signing secret is set, so callbacks are rejected",
            "to use callbacks, set `callbacks.secret`; `echo whsec_$(openssl rand -base64 32)` \
             generates one",
        );
    }
    if to_loopback && !is_loopback(listen) {
        return Finding::warning(
            "callbacks",
            "`callbacks.loopback` is true: remote askers can send requests to programs on this \
             machine",
            "remove `callbacks.loopback`",
        );
    }
    Finding::ok("callbacks", "callbacks are signed")
}

/// Returns the smallest number of extensions over all askers and modes.
pub(super) fn min_extensions(config: &Config) -> u8 {
    let all = config.settings().asker;
    let own = config.askers.iter().map(|asker| &asker.settings);
    let policies = own.chain([&all]).map(|settings| &settings.timeouts);
    let extensions = policies.flat_map(|policy| Mode::ALL.map(|mode| *policy.extensions(mode)));
    let granted = extensions.map(|given| if given.allowed() { given.max() } else { 0 });
    granted.min().unwrap_or_default()
}

pub(super) fn extensions(fewest: u8) -> Option<Finding> {
    (fewest < EXTENSIONS).then(|| {
        Finding::note(
            "accessibility",
            format!(
                "a person can extend the time {fewest} times; WCAG 2.2.1 requires {EXTENSIONS}"
            ),
            format!(
                "if you must conform, set `timeouts.form.max_extensions` and those of the other \
                 modes to {EXTENSIONS}, or `max_extensions` in the `timeout` of forms and \
                 questions"
            ),
        )
    })
}

pub(super) fn retention(retention: Duration) -> Option<Finding> {
    (retention < SHORT_RETENTION).then(|| {
        Finding::warning(
            "retention",
            format!(
                "answers are kept for {} ms: an asker that is offline for longer misses them",
                retention.as_millis()
            ),
            "set `retention` to a minute or more",
        )
    })
}

fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

#[cfg(test)]
mod tests;

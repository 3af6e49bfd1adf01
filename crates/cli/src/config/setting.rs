//! The table of settings: name, parsing and display.
//!
//! The name is the key in the file, with a dot for each table. The environment variable
//! is derived from it: `limits.live` is `ENTREAT_LIMITS_LIVE`.

use std::path::PathBuf;

use entreat::Mode;
use entreat::engine::MAX_SIZE_LIMIT;
use entreat::service::identity::HeaderIdentity;
use entreat::service::upload::MAX_INLINE;
use entreat::service::{InvalidSigningSecret, SigningSecret};

use super::PREFIX;
use super::pages;
use super::resolved::Config;
use super::rules::Rules;
use super::sign_in;
use super::tokens;
use super::value::{self, Rejection};

/// One setting.
pub(crate) struct Setting {
    pub(crate) name: &'static str,
    /// Whether it is a path, which is relative to the configuration file.
    pub(super) is_path: bool,
    pub(super) kind: Kind,
}

/// The scope of a setting.
pub(super) enum Kind {
    /// The service.
    Service {
        set: fn(&mut Config, &str) -> Result<(), Rejection>,
        show: fn(&Config) -> Option<String>,
    },
    /// Every asker, or in an `[[asker]]` table that one.
    Asker {
        set: fn(&mut Rules, &str) -> Result<(), Rejection>,
        show: fn(&Rules) -> String,
    },
}

impl Setting {
    const fn service(
        name: &'static str,
        set: fn(&mut Config, &str) -> Result<(), Rejection>,
        show: fn(&Config) -> Option<String>,
    ) -> Self {
        let kind = Kind::Service { set, show };
        Self {
            name,
            is_path: false,
            kind,
        }
    }

    const fn path(
        name: &'static str,
        set: fn(&mut Config, &str) -> Result<(), Rejection>,
        show: fn(&Config) -> Option<String>,
    ) -> Self {
        Self {
            is_path: true,
            ..Self::service(name, set, show)
        }
    }

    const fn asker(
        name: &'static str,
        set: fn(&mut Rules, &str) -> Result<(), Rejection>,
        show: fn(&Rules) -> String,
    ) -> Self {
        let kind = Kind::Asker { set, show };
        Self {
            name,
            is_path: false,
            kind,
        }
    }

    /// Finds a setting by name.
    pub(super) fn find(name: &str) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| setting.name == name)
    }

    /// Returns its environment variable.
    pub(crate) fn variable(&self) -> String {
        format!("{PREFIX}{}", self.name.replace('.', "_").to_uppercase())
    }

    pub(super) fn is_per_asker(&self) -> bool {
        matches!(self.kind, Kind::Asker { .. })
    }
}

/// A setting of a mode's timeouts.
macro_rules! timeout {
    ($name:literal, $mode:ident, $which:ident) => {
        timeout!($name, $mode, $which, value::duration, value::shown)
    };
    ($name:literal, $mode:ident, $which:ident, $read:path, $show:path) => {
        Setting::asker(
            $name,
            |rules, text| {
                rules.timeouts_mut(Mode::$mode).$which = Some($read(text)?);
                Ok(())
            },
            |rules| $show(rules.timeouts(Mode::$mode).$which()),
        )
    };
}

/// A setting that is a plain field of [`Config`].
macro_rules! service_field {
    ($name:literal, $($field:ident).+, $read:path, $show:path) => {
        Setting::service(
            $name,
            |config, text| {
                config.$($field).+ = $read(text)?;
                Ok(())
            },
            |config| Some($show(config.$($field).+)),
        )
    };
}

/// All settings, in display order.
pub(crate) const SETTINGS: &[Setting] = &[
    Setting::service(
        "listen",
        |config, text| {
            config.listen = value::address(text)?;
            Ok(())
        },
        |config| Some(config.listen.to_string()),
    ),
    Setting::path(
        "store",
        |config, text| {
            config.store = Some(text.parse()?);
            Ok(())
        },
        Config::shown_store,
    ),
    Setting::path(
        "keys",
        |config, text| {
            config.keys = Some(path(text)?);
            Ok(())
        },
        Config::shown_keys,
    ),
    Setting::path(
        "forms",
        |config, text| {
            config.forms = Some(path(text)?);
            Ok(())
        },
        |config| Some(config.forms.as_ref()?.display().to_string()),
    ),
    Setting::service(
        "public_url",
        |config, text| {
            config.public_url = Some(value::public_url(text)?);
            Ok(())
        },
        |config| config.public_url.clone(),
    ),
    Setting::service(
        "service",
        |config, text| {
            config.service = Some(value::public_url(text)?);
            Ok(())
        },
        |config| config.service.clone(),
    ),
    Setting::path(
        "service_key_file",
        |config, text| {
            config.service_key_file = Some(path(text)?);
            Ok(())
        },
        |config| shown_path(config.service_key_file.as_ref()),
    ),
    Setting::service(
        "local_without_key",
        |config, text| {
            config.local_without_key = Some(value::flag(text)?);
            Ok(())
        },
        |config| Some(config.local_may_ask().to_string()),
    ),
    Setting::path(
        "tls.certificate",
        |config, text| {
            config.pages.certificate = Some(path(text)?);
            Ok(())
        },
        |config| shown_path(config.pages.certificate.as_ref()),
    ),
    Setting::path(
        "tls.key",
        |config, text| {
            config.pages.key = Some(path(text)?);
            Ok(())
        },
        |config| shown_path(config.pages.key.as_ref()),
    ),
    Setting::service(
        "identity.kind",
        |config, text| {
            config.pages.kind = text.parse()?;
            Ok(())
        },
        |config| Some(config.pages.kind.as_str().to_owned()),
    ),
    Setting::service(
        "identity.header",
        |config, text| {
            HeaderIdentity::new(text, Vec::new()).map_err(|error| error.to_string())?;
            config.pages.header = Some(text.to_owned());
            Ok(())
        },
        |config| config.pages.header.clone(),
    ),
    Setting::service(
        "identity.proxies",
        |config, text| {
            config.pages.proxies = pages::ranges(text)?;
            Ok(())
        },
        |config| pages::shown_ranges(&config.pages.proxies),
    ),
    Setting::service(
        "identity.issuer",
        |config, text| {
            config.pages.sign_in.issuer = Some(sign_in::issuer(text)?);
            Ok(())
        },
        |config| config.pages.sign_in.issuer.clone(),
    ),
    Setting::service(
        "identity.client_id",
        |config, text| {
            config.pages.sign_in.client_id = Some(sign_in::word(text)?);
            Ok(())
        },
        |config| config.pages.sign_in.client_id.clone(),
    ),
    Setting::path(
        "identity.client_secret_file",
        |config, text| {
            config.pages.sign_in.client_secret_file = Some(path(text)?);
            Ok(())
        },
        |config| shown_path(config.pages.sign_in.client_secret_file.as_ref()),
    ),
    Setting::service(
        "identity.scopes",
        |config, text| {
            config.pages.sign_in.scopes = Some(sign_in::scopes(text)?);
            Ok(())
        },
        |config| Some(config.pages.sign_in.scopes()),
    ),
    Setting::service(
        "identity.session",
        |config, text| {
            config.pages.sign_in.session = Some(sign_in::session(text)?);
            Ok(())
        },
        |config| Some(value::shown(config.pages.sign_in.session())),
    ),
    Setting::service(
        "identity.subject_claim",
        |config, text| {
            config.pages.sign_in.subject_claim = Some(sign_in::word(text)?);
            Ok(())
        },
        |config| Some(config.pages.sign_in.subject_claim()),
    ),
    Setting::service(
        "identity.groups_claim",
        |config, text| {
            config.pages.sign_in.groups_claim = Some(sign_in::word(text)?);
            Ok(())
        },
        |config| Some(config.pages.sign_in.groups_claim()),
    ),
    Setting::service(
        "identity.operator_claim",
        |config, text| {
            config.pages.sign_in.operator_claim = Some(sign_in::word(text)?);
            Ok(())
        },
        |config| config.pages.sign_in.operator_claim.clone(),
    ),
    Setting::service(
        "identity.operator_value",
        |config, text| {
            config.pages.sign_in.operator_value = Some(sign_in::word(text)?);
            Ok(())
        },
        |config| config.pages.sign_in.operator_value.clone(),
    ),
    service_field!(
        "identity.trust_email",
        pages.sign_in.trust_email,
        value::flag,
        plain
    ),
    Setting::service(
        "identity.audience",
        |config, text| {
            config.pages.sign_in.audience = Some(sign_in::word(text)?);
            Ok(())
        },
        |config| config.pages.sign_in.audience.clone(),
    ),
    Setting::service(
        "identity.keys_url",
        |config, text| {
            config.pages.sign_in.keys_url = Some(value::public_url(text)?);
            Ok(())
        },
        |config| config.pages.sign_in.keys_url.clone(),
    ),
    Setting::path(
        "uploads.folder",
        |config, text| {
            config.pages.uploads = Some(path(text)?);
            Ok(())
        },
        |config| shown_path(config.uploads().as_ref()),
    ),
    Setting::service(
        "uploads.inline_limit",
        |config, text| {
            let limit = value::bytes_up_to(text, MAX_INLINE)?;
            config.pages.upload.inline_limit = limit;
            Ok(())
        },
        |config| Some(config.pages.upload.inline_limit.to_string()),
    ),
    service_field!(
        "uploads.per_question",
        pages.upload.bytes_per_elicitation,
        value::bytes,
        plain
    ),
    service_field!(
        "uploads.per_asker",
        pages.upload.bytes_per_asker,
        value::bytes,
        plain
    ),
    service_field!(
        "uploads.in_all",
        pages.upload.bytes_total,
        value::bytes,
        plain
    ),
    service_field!(
        "uploads.at_once",
        pages.upload.max_concurrent,
        value::size,
        plain
    ),
    service_field!(
        "uploads.at_once_per_question",
        pages.upload.max_concurrent_per_elicitation,
        value::size,
        plain
    ),
    service_field!(
        "uploads.stall_timeout",
        pages.upload.stall_timeout,
        value::duration,
        value::shown
    ),
    Setting::service(
        "log",
        |config, text| {
            config.log = text.parse()?;
            Ok(())
        },
        |config| Some(config.log.to_string()),
    ),
    Setting::service(
        "log_format",
        |config, text| {
            config.log_format = text.parse()?;
            Ok(())
        },
        |config| Some(config.log_format.as_str().to_owned()),
    ),
    Setting::service(
        "retention",
        |config, text| {
            config.retention = value::duration(text)?;
            Ok(())
        },
        |config| Some(value::shown(config.retention)),
    ),
    Setting::service(
        "callbacks.secret",
        |config, text| {
            config.callback_secrets[0] = Some(secret(text)?);
            Ok(())
        },
        |config| hidden(config.callback_secrets[0].as_ref()),
    ),
    Setting::service(
        "callbacks.previous_secret",
        |config, text| {
            config.callback_secrets[1] = Some(secret(text)?);
            Ok(())
        },
        |config| hidden(config.callback_secrets[1].as_ref()),
    ),
    Setting::service(
        "callbacks.loopback",
        |config, text| {
            config.loopback_callbacks = value::flag(text)?;
            Ok(())
        },
        |config| Some(config.loopback_callbacks.to_string()),
    ),
    Setting::service(
        "telemetry.otlp_endpoint",
        |config, text| {
            config.otlp_endpoint = Some(value::collector(text)?);
            Ok(())
        },
        |config| config.otlp_endpoint.clone(),
    ),
    service_field!("http.body_limit", http.body_limit, value::size, plain),
    service_field!("http.body_memory", http.body_memory, value::size, plain),
    service_field!(
        "http.head_timeout",
        http.head_timeout,
        value::duration,
        value::shown
    ),
    service_field!(
        "http.body_timeout",
        http.body_timeout,
        value::duration,
        value::shown
    ),
    service_field!(
        "http.write_timeout",
        http.write_timeout,
        value::duration,
        value::shown
    ),
    service_field!("http.connections", http.connections, value::size, plain),
    Setting::service(
        "http.connections_per_address",
        |config, text| {
            config.http.connections_per_address = Some(value::size(text)?);
            Ok(())
        },
        |config| Some(config.http.per_address_limit().to_string()),
    ),
    service_field!(
        "http.calls_per_socket",
        http.calls_per_socket,
        value::size,
        plain
    ),
    service_field!(
        "http.heartbeat",
        http.heartbeat,
        value::duration,
        value::shown
    ),
    service_field!("http.grace", http.grace, value::duration, value::shown),
    Setting::service(
        "limits.live_in_all",
        |config, text| {
            config.live_in_all = value::size(text)?;
            Ok(())
        },
        |config| Some(config.live_in_all.to_string()),
    ),
    Setting::service(
        "limits.answer_bytes_in_all",
        |config, text| {
            config.answer_memory.all = value::size(text)?;
            Ok(())
        },
        |config| Some(config.answer_memory.all.to_string()),
    ),
    Setting::service(
        "limits.answer_bytes",
        |config, text| {
            config.answer_memory.each = value::size(text)?;
            Ok(())
        },
        |config| Some(config.answer_memory.each.to_string()),
    ),
    Setting::service(
        "limits.callbacks_in_all",
        |config, text| {
            config.callback_limits.all = value::size(text)?;
            Ok(())
        },
        |config| Some(config.callback_limits.all.to_string()),
    ),
    Setting::service(
        "limits.callbacks",
        |config, text| {
            config.callback_limits.each = value::size(text)?;
            Ok(())
        },
        |config| Some(config.callback_limits.each.to_string()),
    ),
    Setting::asker(
        "limits.live",
        |rules, text| {
            rules.limits.live = value::size(text)?;
            Ok(())
        },
        |rules| rules.limits.live.to_string(),
    ),
    Setting::asker(
        "limits.creations_per_minute",
        |rules, text| {
            rules.limits.creations_per_minute = value::rate(text)?;
            Ok(())
        },
        |rules| shown_rate(rules.limits.creations_per_minute),
    ),
    Setting::asker(
        "limits.requests_per_second",
        |rules, text| {
            rules.limits.requests_per_second = value::rate(text)?;
            Ok(())
        },
        |rules| shown_rate(rules.limits.requests_per_second),
    ),
    Setting::asker(
        "limits.principal_share",
        |rules, text| {
            rules.limits.principal_share = value::percent(text)?;
            Ok(())
        },
        |rules| rules.limits.principal_share.to_string(),
    ),
    service_field!("metrics.askers", labelled_askers, value::size, plain),
    Setting::service(
        "mcp.resource",
        |config, text| {
            config.tokens.resource = Some(tokens::resource(text)?);
            Ok(())
        },
        |config| Some(config.tokens.resource()?.as_str().to_owned()),
    ),
    service_field!("mcp.calls", mcp.calls, value::size, plain),
    service_field!("mcp.sessions", mcp.sessions, value::size, plain),
    service_field!(
        "mcp.session_idle",
        mcp.session_idle,
        value::duration,
        value::shown
    ),
    service_field!("mcp.links", mcp.links, value::size, plain),
    service_field!("mcp.results", mcp.results, value::size, plain),
    service_field!("mcp.used_states", mcp.used_states, value::size, plain),
    service_field!("gateway.sessions", front.sessions, value::size, plain),
    service_field!(
        "gateway.sessions_per_principal",
        front.sessions_per_principal,
        value::size,
        plain
    ),
    service_field!(
        "gateway.session_idle",
        front.idle,
        value::duration,
        value::shown
    ),
    service_field!("gateway.memory", gateway_memory, value::size, plain),
    Setting::asker(
        "retry_limit",
        |rules, text| {
            rules.retry_limit = value::count(text, "255")?;
            Ok(())
        },
        |rules| rules.retry_limit.to_string(),
    ),
    Setting::asker(
        "size_limit",
        |rules, text| {
            let size = value::bytes_up_to(text, MAX_SIZE_LIMIT)?;
            rules.size_limit = u32::try_from(size).unwrap_or(u32::MAX);
            Ok(())
        },
        |rules| rules.size_limit.to_string(),
    ),
    timeout!("timeouts.form.default", Form, default),
    timeout!("timeouts.form.min", Form, min),
    timeout!("timeouts.form.max", Form, max),
    timeout!(
        "timeouts.form.extension_allowed",
        Form,
        extension_allowed,
        value::flag,
        plain
    ),
    timeout!("timeouts.form.extension_duration", Form, extension_duration),
    timeout!(
        "timeouts.form.max_extensions",
        Form,
        max_extensions,
        value::extensions,
        plain
    ),
    timeout!("timeouts.form.warn_before", Form, warn_before),
    timeout!("timeouts.inline.default", Inline, default),
    timeout!("timeouts.inline.min", Inline, min),
    timeout!("timeouts.inline.max", Inline, max),
    timeout!(
        "timeouts.inline.extension_allowed",
        Inline,
        extension_allowed,
        value::flag,
        plain
    ),
    timeout!(
        "timeouts.inline.extension_duration",
        Inline,
        extension_duration
    ),
    timeout!(
        "timeouts.inline.max_extensions",
        Inline,
        max_extensions,
        value::extensions,
        plain
    ),
    timeout!("timeouts.inline.warn_before", Inline, warn_before),
    timeout!("timeouts.url.default", Url, default),
    timeout!("timeouts.url.min", Url, min),
    timeout!("timeouts.url.max", Url, max),
    timeout!(
        "timeouts.url.extension_allowed",
        Url,
        extension_allowed,
        value::flag,
        plain
    ),
    timeout!("timeouts.url.extension_duration", Url, extension_duration),
    timeout!(
        "timeouts.url.max_extensions",
        Url,
        max_extensions,
        value::extensions,
        plain
    ),
    timeout!("timeouts.url.warn_before", Url, warn_before),
    timeout!("timeouts.terminal.default", Terminal, default),
    timeout!("timeouts.terminal.min", Terminal, min),
    timeout!("timeouts.terminal.max", Terminal, max),
    timeout!(
        "timeouts.terminal.extension_allowed",
        Terminal,
        extension_allowed,
        value::flag,
        plain
    ),
    timeout!(
        "timeouts.terminal.extension_duration",
        Terminal,
        extension_duration
    ),
    timeout!(
        "timeouts.terminal.max_extensions",
        Terminal,
        max_extensions,
        value::extensions,
        plain
    ),
    timeout!("timeouts.terminal.warn_before", Terminal, warn_before),
];

fn path(text: &str) -> Result<PathBuf, Rejection> {
    if text.is_empty() {
        return Err("it is a path and must not be empty".to_owned());
    }
    Ok(text.into())
}

fn shown_path(path: Option<&PathBuf>) -> Option<String> {
    path.map(|path| path.display().to_string())
}

fn secret(text: &str) -> Result<SigningSecret, Rejection> {
    // Not quoted: it may be a secret with a typo.
    text.parse().map_err(|error: InvalidSigningSecret| {
        format!("{error}; `echo whsec_$(openssl rand -base64 32)` generates one")
    })
}

/// Shows only that a secret is set.
fn hidden(secret: Option<&SigningSecret>) -> Option<String> {
    secret.map(|_| "…".to_owned())
}

fn plain(value: impl ToString + Copy) -> String {
    value.to_string()
}

fn shown_rate(rate: Option<std::num::NonZeroU32>) -> String {
    rate.map_or_else(|| "none".to_owned(), |rate| rate.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_settings_share_a_variable() {
        let mut variables: Vec<String> = SETTINGS.iter().map(Setting::variable).collect();
        assert!(variables.contains(&"ENTREAT_TIMEOUTS_FORM_MAX".to_owned()));
        variables.sort();
        variables.dedup();
        assert_eq!(variables.len(), SETTINGS.len());
    }

    #[test]
    fn what_is_shown_can_be_set() {
        let mut config = Config::new(None, Some("/data".into()));
        for setting in SETTINGS {
            let Some(shown) = config.shown(setting) else {
                continue;
            };
            let raw = value::RawValue::new(setting.name, &shown, super::super::Origin::Default);
            let mut errors = super::super::errors::ConfigErrors::default();
            config.set(raw, &mut errors);
            errors.check().unwrap();
            assert_eq!(config.shown(setting), Some(shown), "{}", setting.name);
        }
    }
}

//! The resolved configuration.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use entreat::engine::{AnswerMemory, CallbackLimits};
use entreat::gateway::GatewaySettings;
use entreat::gateway::front::FrontSettings;
use entreat::service::http::HttpSettings;
use entreat::service::{Exposure, Role, SigningSecret, Uploads};
use entreat::{AskerSettings, EngineSettings};

use super::approvals::RuleConfig;
use super::asker::{self, AskerConfig, AskerTable};
use super::errors::ConfigErrors;
use super::origin::Origin;
use super::pages::Pages;
use super::rules::Rules;
use super::setting::{Kind, SETTINGS, Setting};
use super::tokens::{TokenConfig, TokenTables};
use super::upstream::UpstreamConfig;
use super::value::{RawValue, Rejection};
use crate::environment::Environment;
use crate::log::Filter;
use crate::store::{self, StoreLocation};
use crate::telemetry::Telemetry;

/// OpenTelemetry's standard variable for the service name.
const SERVICE_NAME: &str = "OTEL_SERVICE_NAME";

/// The warning where people cannot be distinguished from anyone a proxy lets through.
pub(crate) const NOBODY_ANSWERS: &str = "`public_url` names another machine, but people answer on \
                                         this one: they cannot be told apart from people behind a \
                                         proxy, so nobody can open a page";
pub(crate) const NOBODY_ANSWERS_REMEDY: &str = "let people sign in with `identity.kind` = oidc, use a proxy that names users with \
     `identity.kind` = header, or remove `public_url`";

/// The configuration of a service.
#[derive(Debug)]
pub(crate) struct Config {
    /// The file that was read, for display.
    pub(crate) file: Option<String>,
    /// The path of that file.
    pub(crate) path: Option<PathBuf>,
    pub(crate) listen: SocketAddr,
    /// `None` is the default, which differs from command to command.
    pub(crate) store: Option<Store>,
    pub(crate) keys: Option<PathBuf>,
    pub(crate) forms: Option<PathBuf>,
    pub(crate) public_url: Option<String>,
    /// The service that `entreat mcp` asks through.
    pub(crate) service: Option<String>,
    /// The file with the key for that service.
    pub(crate) service_key_file: Option<PathBuf>,
    pub(crate) local_without_key: Option<bool>,
    pub(crate) pages: Pages,
    pub(crate) log: Filter,
    pub(crate) log_format: LogFormat,
    pub(crate) retention: Duration,
    pub(crate) live_in_all: usize,
    /// Askers with their own label in metrics.
    pub(crate) labelled_askers: usize,
    pub(crate) answer_memory: AnswerMemory,
    pub(crate) callback_limits: CallbackLimits,
    /// Limits of the HTTP server.
    pub(crate) http: HttpSettings,
    /// Limits of MCP servers.
    pub(crate) mcp: entreat::mcp::McpSettings,
    /// Whose tokens clients of MCP may present.
    pub(crate) tokens: TokenConfig,
    /// Limits of the gateway: on its clients, and its memory.
    pub(crate) front: FrontSettings,
    pub(crate) gateway_memory: usize,
    /// The secrets that sign callbacks: the current one, and the one it replaces.
    pub(super) callback_secrets: [Option<SigningSecret>; 2],
    pub(crate) loopback_callbacks: bool,
    /// The trace collector.
    pub(crate) otlp_endpoint: Option<String>,
    pub(crate) askers: Vec<AskerConfig>,
    /// The servers behind the gateway.
    pub(crate) upstreams: Vec<UpstreamConfig>,
    /// Which calls of tools `entreat wrap` asks about, in their order.
    pub(crate) approvals: Vec<RuleConfig>,
    /// Remarks to print at start.
    pub(crate) remarks: Vec<String>,
    rules: Rules,
    default_settings: AskerSettings,
    origins: BTreeMap<&'static str, Origin>,
    data_folder: Option<PathBuf>,
}

/// Where questions are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    Memory,
    File(PathBuf),
}

impl FromStr for Store {
    type Err = Rejection;

    fn from_str(text: &str) -> Result<Self, Rejection> {
        match text {
            "" => Err("it must be \"memory\" or the path of a file".to_owned()),
            "memory" => Ok(Self::Memory),
            // Not quoted: the URL may contain a password.
            text if text.starts_with("postgres://") || text.starts_with("postgresql://") => Err(
                "this build has no PostgreSQL store: use \"memory\" or the path of a file"
                    .to_owned(),
            ),
            text if text.contains("://") => {
                Err("it must be \"memory\" or the path of a file, not a URL".to_owned())
            }
            path => Ok(Self::File(path.into())),
        }
    }
}

/// The format of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LogFormat {
    #[default]
    Text,
    Json,
}

impl LogFormat {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
        }
    }
}

impl FromStr for LogFormat {
    type Err = Rejection;

    fn from_str(text: &str) -> Result<Self, Rejection> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err("it must be text or json".to_owned()),
        }
    }
}

impl Config {
    /// Creates the default configuration.
    pub(super) fn new(file: Option<String>, data_folder: Option<PathBuf>) -> Self {
        let engine = EngineSettings::default();
        Self {
            file,
            path: None,
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 7171)),
            store: None,
            keys: None,
            forms: None,
            public_url: None,
            service: None,
            service_key_file: None,
            local_without_key: None,
            pages: Pages::default(),
            log: Filter::default(),
            log_format: LogFormat::default(),
            retention: engine.retention,
            live_in_all: engine.live,
            labelled_askers: engine.labelled_askers,
            answer_memory: engine.answer_memory,
            callback_limits: engine.callback_limits,
            http: HttpSettings::default(),
            mcp: entreat::mcp::McpSettings::default(),
            tokens: TokenConfig::default(),
            front: FrontSettings::default(),
            gateway_memory: GatewaySettings::default().memory,
            callback_secrets: [None, None],
            loopback_callbacks: false,
            otlp_endpoint: None,
            askers: Vec::new(),
            upstreams: Vec::new(),
            approvals: Vec::new(),
            remarks: Vec::new(),
            rules: Rules::default(),
            default_settings: AskerSettings::default(),
            origins: BTreeMap::new(),
            data_folder,
        }
    }

    /// Sets a value; it overrides earlier ones.
    pub(super) fn set(&mut self, raw: RawValue, errors: &mut ConfigErrors) {
        let RawValue { name, text, origin } = raw;
        let Some(setting) = Setting::find(&name) else {
            return errors.report(&origin, format_args!("there is no setting `{name}`"));
        };
        let set = match setting.kind {
            Kind::Service { set, .. } => set(self, &text),
            Kind::Asker { set, .. } => set(&mut self.rules, &text),
        };
        match set {
            Ok(()) => {
                self.origins.insert(setting.name, origin);
            }
            Err(rejection) => errors.reject(&origin, setting.name, &rejection),
        }
    }

    /// Checks settings that depend on each other, once all layers are applied.
    pub(super) fn finish(
        &mut self,
        askers: Vec<AskerTable>,
        tokens: TokenTables,
        environment: &Environment,
        errors: &mut ConfigErrors,
    ) {
        match self.rules.settings() {
            Ok(settings) => self.default_settings = settings,
            Err(mut contradictions) => {
                contradictions.retain(|found| !errors.has_rejected(&found.mode_name()));
                for found in contradictions {
                    let is_of_it = |setting: &&str| setting.starts_with(&found.name);
                    let culprit = self.origins.keys().rfind(|setting| is_of_it(setting));
                    let origin = culprit.map(|setting| self.origin(setting));
                    errors.reject(&origin.unwrap_or_default(), &found.name, &found.rejection);
                }
            }
        }
        if let Some((name, remedy)) = self.pages.contradiction() {
            let message = format!("`{name}` is incomplete: {remedy}");
            errors.report(&self.origin(name), message);
        }
        let resource_origin = self.origin("mcp.resource");
        self.tokens.resolve(tokens, &resource_origin, errors);
        self.askers = asker::resolve(askers, &self.rules, environment, errors);
    }

    /// Returns the settings of MCP servers, with the engine's share per principal.
    pub(crate) fn mcp_settings(&self) -> entreat::mcp::McpSettings {
        let mut settings = self.mcp.clone();
        settings.principal_share = self.default_settings.limits.principal_share;
        settings
    }

    /// Returns the settings of a gateway.
    pub(crate) fn gateway_settings(&self) -> GatewaySettings {
        GatewaySettings {
            approvals: self.approvals.iter().map(|it| it.rule.clone()).collect(),
            memory: self.gateway_memory,
            principal_share: self.default_settings.limits.principal_share,
            ..GatewaySettings::default()
        }
    }

    /// Returns the limits on the clients of a gateway.
    pub(crate) fn front_settings(&self) -> FrontSettings {
        FrontSettings {
            body_timeout: self.http.body_timeout,
            ..self.front.clone()
        }
    }

    /// Returns the settings of the engine.
    pub(crate) fn settings(&self) -> EngineSettings {
        let mut settings = EngineSettings {
            asker: self.default_settings.clone(),
            live: self.live_in_all,
            labelled_askers: self.labelled_askers,
            answer_memory: self.answer_memory,
            callback_limits: self.callback_limits,
            retention: self.retention,
            ..EngineSettings::default()
        };
        let block_localhost = !self.loopback_callbacks;
        settings.callbacks = settings.callbacks.block_localhost(block_localhost);
        settings
    }

    /// Returns the secrets that sign callbacks; empty if callbacks are disabled.
    pub(crate) fn signing_secrets(&self) -> Vec<SigningSecret> {
        self.callback_secrets.iter().flatten().cloned().collect()
    }

    /// Starts the trace exporter, if a collector is configured.
    pub(crate) fn telemetry(&self, environment: &Environment) -> anyhow::Result<Option<Telemetry>> {
        let name = environment.variable(SERVICE_NAME).and_then(OsStr::to_str);
        Telemetry::start(self.otlp_endpoint.as_deref(), name.unwrap_or("entreat"))
    }

    /// Returns the location of the embedded store; `None` if the store is in memory.
    pub(crate) fn store_location(&self) -> anyhow::Result<Option<StoreLocation>> {
        let named = match &self.store {
            Some(Store::Memory) => return Ok(None),
            Some(Store::File(path)) => Some(path.as_path()),
            None => None,
        };
        let location = StoreLocation::new(named, self.keys.as_deref(), self.data_folder.as_deref());
        location.map(Some)
    }

    /// Returns the path of a file of the service's data, which is beside the store.
    pub(crate) fn data_file(&self, name: &str) -> Option<PathBuf> {
        let store = self.store_location().ok().flatten();
        let folder = store.and_then(|location| Some(location.store().parent()?.to_owned()));
        let folder = folder.or_else(|| self.data_folder.clone())?;
        Some(folder.join(name))
    }

    /// Returns who answers for the holders of keys, by the asker's name.
    pub(crate) fn respondents(&self) -> HashMap<String, String> {
        let askers = self.askers.iter();
        let named =
            askers.filter_map(|asker| Some((asker.name.clone(), asker.respondent.clone()?)));
        named.collect()
    }

    /// Returns the location of the embedded store if one is configured. For commands whose questions
    /// are in memory otherwise.
    pub(crate) fn configured_store_location(&self) -> anyhow::Result<Option<StoreLocation>> {
        match self.store {
            Some(_) => self.store_location(),
            None => Ok(None),
        }
    }

    /// Returns the folder of uploads, configured or beside the store; `None` is a temporary folder.
    pub(crate) fn uploads(&self) -> Option<PathBuf> {
        let beside = || {
            Some(Uploads::folder_for_store(
                self.store_location().ok()??.store(),
            ))
        };
        self.pages.uploads.clone().or_else(beside)
    }

    /// Returns how the service is reached.
    pub(crate) fn reach(&self) -> Exposure<'_> {
        Exposure {
            listen: self.listen,
            public_url: self.public_url.as_deref(),
            speaks_tls: self.pages.speaks_tls(),
            names_people: self.pages.names_people(),
        }
    }

    /// Whether programs on this machine may ask without a key.
    pub(crate) fn local_may_ask(&self) -> bool {
        self.local_without_key
            .unwrap_or_else(|| self.reach().why_key_required().is_none())
    }

    /// Returns the number of keys with which questions can be asked.
    pub(crate) fn keyed_askers(&self) -> usize {
        let is_asker = |asker: &&AskerConfig| asker.role != Role::Operator;
        self.askers.iter().filter(is_asker).count()
    }

    /// Returns the number of keys with which questions can be looked after, and not asked.
    pub(crate) fn operators(&self) -> usize {
        self.askers.len() - self.keyed_askers()
    }

    /// Returns warnings to print at start.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some(why) = self
            .reach()
            .why_key_required()
            .filter(|_| self.local_may_ask())
        {
            warnings.push(format!(
                "`local_without_key` is true although {why}: anyone a proxy on this machine lets \
                 through can ask without a key; remove it and give every asker a key"
            ));
        }
        if self.reach().rejects_everyone() {
            warnings.push(format!("{NOBODY_ANSWERS}; {NOBODY_ANSWERS_REMEDY}"));
        }
        warnings
    }

    /// Returns the origin of a setting's value.
    pub(crate) fn origin(&self, name: &str) -> Origin {
        self.origins.get(name).cloned().unwrap_or_default()
    }

    /// Returns every setting with its value and origin.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&'static str, Option<String>, Origin)> {
        let row = |setting: &'static Setting| {
            let shown = self.shown(setting);
            (setting.name, shown, self.origin(setting.name))
        };
        SETTINGS.iter().map(row)
    }

    pub(super) fn shown(&self, setting: &Setting) -> Option<String> {
        match setting.kind {
            Kind::Service { show, .. } => show(self),
            Kind::Asker { show, .. } => Some(show(&self.rules)),
        }
    }

    pub(super) fn shown_store(&self) -> Option<String> {
        match &self.store {
            Some(Store::Memory) => Some("memory".to_owned()),
            Some(Store::File(path)) => Some(path.display().to_string()),
            None => {
                let folder = self.data_folder.as_deref()?;
                Some(store::default_path(folder).display().to_string())
            }
        }
    }

    pub(super) fn shown_keys(&self) -> Option<String> {
        let named = self.keys.as_ref().map(|path| path.display().to_string());
        named.or_else(|| Some(self.store_location().ok()??.shown_keys()))
    }

    /// Whether an environment variable holds an asker's key.
    pub(super) fn uses_variable(&self, name: &str) -> bool {
        let mut askers = self.askers.iter();
        askers.any(|asker| asker.key_origin == Origin::Environment(name.to_owned()))
    }
}

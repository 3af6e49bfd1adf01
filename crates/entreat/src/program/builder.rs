//! Configures the parts and starts them in order.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use entreat_core::Validators;
use entreat_engine::{
    AskerSettings, CallbackSender, Engine, EngineSettings, KeyRing, StartError, Store,
};
use entreat_service::http::{self, Http, HttpSettings};
use entreat_service::identity::Identity;
use entreat_service::rpc::{Rpc, Templates};
use entreat_service::upload::UploadError;
use entreat_service::{
    Askers, Brand, Exposure, PageSettings, Pages, Role, TemplateFolder, Tls, UploadSettings,
    Uploads,
};
#[cfg(feature = "embedded")]
use entreat_stores::{EmbeddedOptions, EmbeddedStore, OpenError};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

#[cfg(feature = "mcp")]
use super::mcp::McpOptions;
use super::{Entreat, EntreatError, Server};

/// The name of the asker for local programs without a key.
const LOCAL: &str = "local";

/// The name of the asker for MCP servers, unless they set one.
#[cfg(feature = "mcp")]
pub(super) const MCP: &str = "mcp";

/// Builds an [`Entreat`].
#[derive(Default)]
#[must_use = "nothing runs until it is started"]
pub struct Builder {
    store: Option<Arc<dyn Store>>,
    #[cfg(feature = "embedded")]
    embedded: Option<PathBuf>,
    sealing: Option<KeyRing>,
    settings: EngineSettings,
    templates: Option<PathBuf>,
    validators: Validators,
    listen: Option<SocketAddr>,
    http: HttpSettings,
    askers: Vec<KeyedAsker>,
    local_without_key: Option<bool>,
    public_url: Option<String>,
    callbacks: Option<Arc<dyn CallbackSender>>,
    tls: Option<Tls>,
    pages: PageSettings,
    uploads: Option<PathBuf>,
    upload_settings: UploadSettings,
    metrics: Option<Metrics>,
    #[cfg(feature = "mcp")]
    mcp: McpOptions,
    #[cfg(feature = "gateway")]
    gateway: Option<super::GatewayOptions>,
    #[cfg(feature = "gateway")]
    gateway_browser: Option<super::gateway::Browser>,
}

/// An asker identified by a key.
struct KeyedAsker {
    key: String,
    name: String,
    settings: AskerSettings,
    role: Role,
}

impl Builder {
    /// Sets the store of elicitations; in memory by default. The caller has to close it.
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// Stores elicitations in a file, created if missing. Secrets in it can be read only with the
    /// keys.
    #[cfg(feature = "embedded")]
    pub fn embedded(mut self, path: impl Into<PathBuf>, keys: KeyRing) -> Self {
        self.embedded = Some(path.into());
        self.sealing_keys(keys)
    }

    /// Sets the keys that seal secrets in the store. By default, keys are generated and lost when
    /// this program ends.
    pub fn sealing_keys(mut self, keys: KeyRing) -> Self {
        self.sealing = Some(keys);
        self
    }

    /// Sets the engine's settings, which apply to all askers.
    pub fn settings(mut self, settings: EngineSettings) -> Self {
        self.settings = settings;
        self
    }

    /// Sets a folder of forms that can be asked by name. Changes are picked up as they are made.
    pub fn templates(mut self, folder: impl Into<PathBuf>) -> Self {
        self.templates = Some(folder.into());
        self
    }

    /// Sets the functions that forms may name in `custom_validators`: forms sent by askers,
    /// templates, and forms in the embedded store. A custom store has to be given them separately.
    pub fn validators(mut self, validators: Validators) -> Self {
        self.validators = validators;
        self
    }

    /// Serves the control API at this address; port 0 picks a free one. By default, nothing is
    /// served.
    pub fn listen(mut self, address: impl Into<SocketAddr>) -> Self {
        self.listen = Some(address.into());
        self
    }

    /// Sets the limits of HTTP clients.
    pub fn http(mut self, settings: HttpSettings) -> Self {
        self.http = settings;
        self
    }

    /// Adds an asker that authenticates with this key, with its own name and settings. Several keys
    /// may share a name, for example during key rotation.
    pub fn key(
        self,
        key: impl Into<String>,
        name: impl Into<String>,
        settings: AskerSettings,
    ) -> Self {
        self.key_with_role(key, name, settings, Role::Asker)
    }

    /// Adds a key with a role, such as that of an operator, who manages the questions of all
    /// askers without reading answers.
    pub fn key_with_role(
        mut self,
        key: impl Into<String>,
        name: impl Into<String>,
        settings: AskerSettings,
        role: Role,
    ) -> Self {
        self.askers.push(KeyedAsker {
            key: key.into(),
            name: name.into(),
            settings,
            role,
        });
        self
    }

    /// Sets whether programs on this machine may ask without a key, as `local`. By default, they
    /// may if only this machine is served: the server listens on loopback, so does the public URL,
    /// there is no TLS, and no proxy identifies people. Otherwise, requests through a proxy on this
    /// machine would count as local.
    pub fn local_without_key(mut self, may: bool) -> Self {
        self.local_without_key = Some(may);
        self
    }

    /// Sets the URL at which the service is reached from outside, if different from where it
    /// listens. If it is on another machine, a proxy has to identify the people who answer; see
    /// [`identity`](Self::identity).
    pub fn public_url(mut self, url: impl Into<String>) -> Self {
        self.public_url = Some(url.into());
        self
    }

    /// Sets how outcomes are delivered to callback URLs: usually by the service's `Callbacks`, with
    /// the feature `callbacks`. By default, questions with a callback are refused.
    /// [`EngineSettings::callbacks`] sets which URLs are allowed.
    pub fn callbacks(mut self, sender: impl CallbackSender) -> Self {
        self.callbacks = Some(Arc::new(sender));
        self
    }

    /// Serves TLS only.
    #[cfg(feature = "service")]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Sets how pages are served, replacing earlier page settings.
    pub fn pages(mut self, settings: PageSettings) -> Self {
        self.pages = settings;
        self
    }

    /// Sets how respondents on pages are identified; by default, they are on this machine.
    pub fn identity(mut self, identity: Identity) -> Self {
        self.pages.identity = identity;
        self
    }

    /// Sets how an asker is shown to people.
    pub fn brand(mut self, asker: impl Into<String>, brand: Brand) -> Self {
        self.pages.brands.insert(asker.into(), brand);
        self
    }

    /// Sets the folder of uploaded files. By default, it is next to the embedded store's file if
    /// set here, or else a temporary folder.
    pub fn uploads(mut self, folder: impl Into<PathBuf>) -> Self {
        self.uploads = Some(folder.into());
        self
    }

    /// Sets which files people may upload, and how askers receive them.
    pub fn upload_settings(mut self, settings: UploadSettings) -> Self {
        self.upload_settings = settings;
        self
    }

    /// Sets the content of `/metrics`, which is not served by default.
    pub fn metrics(mut self, metrics: impl Fn() -> String + Send + Sync + 'static) -> Self {
        self.metrics = Some(Box::new(metrics));
        self
    }

    /// Sets the limits and timeouts of MCP servers.
    #[cfg(feature = "mcp")]
    pub fn mcp(mut self, settings: entreat_mcp::McpSettings) -> Self {
        self.mcp.settings = settings;
        self
    }

    /// Sets the name under which this program's MCP servers ask; `mcp` by default.
    #[cfg(feature = "mcp")]
    pub fn mcp_asker(mut self, name: impl Into<String>) -> Self {
        self.mcp.asker = Some(name.into());
        self
    }

    /// Sets how the principal of an HTTP request to an MCP server is derived; see
    /// [`entreat_mcp::Builder::principal`].
    #[cfg(feature = "mcp")]
    pub fn mcp_principal(
        mut self,
        derive: impl Fn(&entreat_mcp::Parts) -> String + Send + Sync + 'static,
    ) -> Self {
        self.mcp.principal = Some(Arc::new(derive));
        self
    }

    /// Sets whether HTTP clients of an MCP server are on this machine, which holds if it listens on
    /// loopback only.
    #[cfg(feature = "mcp")]
    pub fn mcp_local_clients(mut self, are_local: bool) -> Self {
        self.mcp.are_local = are_local;
        self
    }

    /// Requires tokens for this resource of clients of MCP servers over HTTP: of those that
    /// [`Entreat::serve_mcp`] serves, and of the gateway, where the keys of askers are good, too.
    /// The holder of a token is the principal of their requests, and the respondent of their
    /// questions if the pages know them.
    ///
    /// Put [`require_token`](entreat_service::resource::require_token) around a server that you
    /// mount yourself.
    #[cfg(feature = "tokens")]
    pub fn mcp_tokens(mut self, resource: entreat_service::resource::ProtectedResource) -> Self {
        self.mcp.resource = Some(resource);
        self
    }

    /// Uses the pages of another Entreat service, authenticated by a key: for MCP servers in a
    /// program that serves no pages. Questions are mirrored there, and their answers back here.
    #[cfg(feature = "remote")]
    pub fn remote_pages(mut self, url: impl Into<String>, key: impl Into<String>) -> Self {
        self.mcp.remote = Some((url.into(), Some(key.into())));
        self
    }

    /// Asks through another Entreat service: uses its pages, as [`remote_pages`](Self::remote_pages)
    /// does, and keeps there the questions of [`Entreat::ask_server`] that nobody waits for, so that
    /// they outlive this program. A service on this machine may need no key.
    #[cfg(feature = "remote")]
    pub fn service_at(mut self, url: impl Into<String>, key: Option<String>) -> Self {
        self.mcp.remote = Some((url.into(), key));
        self.mcp.keeps_questions = true;
        self
    }

    /// Uses the pages of another Entreat service through a configured
    /// [`RemotePages`](entreat_service::RemotePages), including its rules about respondents.
    #[cfg(feature = "remote")]
    pub fn pages_of(mut self, remote: entreat_service::RemotePages) -> Self {
        self.mcp.remote_pages = Some(remote);
        self
    }

    /// Sets how to open a page in the browser of this machine: for MCP servers on the person's
    /// machine, whose client can show neither forms nor URLs.
    #[cfg(feature = "mcp")]
    pub fn browser(mut self, open: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.mcp.browser = Some(Arc::new(open));
        self
    }

    /// Serves a gateway to upstream MCP servers under `/mcp`, beside the control API and for the same
    /// callers. Needs [`listen`](Self::listen).
    #[cfg(feature = "gateway")]
    pub fn gateway(mut self, options: super::GatewayOptions) -> Self {
        self.gateway = Some(options);
        self
    }

    /// Sets how the gateway opens a page in the browser of this machine, for callers on it.
    #[cfg(feature = "gateway")]
    pub fn gateway_browser(mut self, open: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.gateway_browser = Some(Arc::new(open));
        self
    }

    /// Starts everything on the current runtime.
    ///
    /// When this returns, the store is open, questions that expired in the meantime are settled,
    /// templates are loaded, and the server accepts requests.
    pub async fn start(mut self) -> Result<Entreat, EntreatError> {
        #[cfg(feature = "gateway")]
        self.check_names()?;
        #[cfg(feature = "remote")]
        let remote = self.mcp.set_up_remote()?;
        self.set_up_parts();
        let listener = self.bind()?;
        let store = self.store;
        let uploads = self.uploads;
        #[cfg(feature = "embedded")]
        let uploads = uploads.or_else(|| self.embedded.as_deref().map(Uploads::folder_for_store));
        #[cfg(feature = "embedded")]
        let embedded = self.embedded.map(|path| open(path, &self.validators));
        #[cfg(feature = "embedded")]
        let embedded = embedded.transpose()?;
        #[cfg(feature = "embedded")]
        let store = store.or_else(|| Some(embedded.clone()?));
        let engine = start_engine(self.settings, self.sealing, self.callbacks, store).await?;
        let templates = Templates::default();
        let rpc = Rpc::new(engine.clone())
            .with_templates(templates.clone())
            .with_validators(self.validators.clone());
        let mut entreat = Entreat {
            pages: None,
            server: None,
            public_url: self.public_url,
            folder: None,
            #[cfg(feature = "mcp")]
            mcp: self.mcp.build(&rpc, None),
            #[cfg(feature = "mcp")]
            http: self.http.clone(),
            #[cfg(feature = "tokens")]
            resource: self.mcp.resource.clone(),
            #[cfg(feature = "remote")]
            remote,
            #[cfg(feature = "gateway")]
            front: None,
            #[cfg(feature = "embedded")]
            embedded,
            rpc,
        };
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let address = listener.as_ref().map(|(_, address)| *address);
        let names_people = self.pages.identity.needs_respondent();
        if let Some(url) = entreat.page_url(scheme, address) {
            let uploads = match uploads {
                Some(folder) => Uploads::open(folder, engine.clone(), self.upload_settings),
                None => Uploads::temporary(engine.clone(), self.upload_settings),
            };
            match make_pages(&engine, &url, self.pages, uploads) {
                Ok(pages) => {
                    #[cfg(feature = "mcp")]
                    entreat.set_mcp(self.mcp.build(&entreat.rpc, Some(&pages)));
                    entreat.set_pages(pages);
                }
                Err(error) => {
                    entreat.shutdown().await;
                    return Err(error);
                }
            }
        }
        if let Some(folder) = self.templates {
            match TemplateFolder::watch_with(folder, templates, self.validators).await {
                Ok(folder) => entreat.folder = Some(folder),
                Err(error) => {
                    entreat.shutdown().await;
                    return Err(error.into());
                }
            }
        }
        let Some((listener, address)) = listener else {
            return Ok(entreat);
        };
        let reach = Exposure {
            listen: address,
            public_url: entreat.public_url.as_deref(),
            speaks_tls: self.tls.is_some(),
            names_people,
        };
        let needs_no_key = self.local_without_key;
        let needs_no_key = needs_no_key.unwrap_or_else(|| reach.why_key_required().is_none());
        let askers = build_askers(&engine, self.askers, needs_no_key);
        let http = Http::with_settings(entreat.rpc.clone(), askers, self.http);
        let http = configure_http(http, self.tls, self.metrics, entreat.pages.clone());
        #[cfg(feature = "gateway")]
        let http = entreat.add_gateway(http, self.gateway, self.gateway_browser);
        let (end, ended) = oneshot::channel();
        let serving = http.serve(listener, async {
            // Dropping the sender also stops the server.
            let _ = ended.await;
        });
        entreat.server = Some(Server {
            address,
            scheme,
            end,
            task: tokio::spawn(serving),
        });
        Ok(entreat)
    }

    /// Refuses an asker that would see what the gateway asks.
    #[cfg(feature = "gateway")]
    fn check_names(&self) -> Result<(), EntreatError> {
        let is_taken = |asker: &KeyedAsker| asker.name == super::GATEWAY_ASKER;
        if self.gateway.is_some() && self.askers.iter().any(is_taken) {
            return Err(EntreatError::ReservedName);
        }
        Ok(())
    }

    fn set_up_parts(&mut self) {
        self.pages.unnamed_askers.insert(LOCAL.to_owned());
        #[cfg(feature = "mcp")]
        if self.mcp.asker.is_none() {
            self.pages.unnamed_askers.insert(MCP.to_owned());
        }
        // It tells people nothing; unless whoever runs the service has chosen it.
        #[cfg(feature = "gateway")]
        if !self
            .askers
            .iter()
            .any(|asker| asker.name == super::GATEWAY_ASKER)
        {
            let name = super::GATEWAY_ASKER.to_owned();
            self.pages.unnamed_askers.insert(name);
        }
        // MCP messages and posted forms are subject to the same limits.
        #[cfg(feature = "mcp")]
        {
            self.mcp.settings.body_timeout = self.http.body_timeout;
        }
        self.pages.body_timeout = self.http.body_timeout;
        self.pages.body_memory = self.http.body_memory;
    }

    /// Whether holders of tokens are served.
    #[cfg(all(feature = "gateway", feature = "tokens"))]
    fn admits_by_token(&self) -> bool {
        self.gateway.is_some() && self.mcp.resource.is_some()
    }

    #[cfg(not(all(feature = "gateway", feature = "tokens")))]
    #[expect(
        clippy::unused_self,
        reason = "without tokens, the answer is always the same"
    )]
    fn admits_by_token(&self) -> bool {
        false
    }

    /// Binds before anything else starts: early connections wait, and if the address is in use,
    /// nothing has to be undone.
    fn bind(&self) -> Result<Option<(TcpListener, SocketAddr)>, EntreatError> {
        let Some(address) = self.listen else {
            return Ok(None);
        };
        let may_skip_key = is_loopback(address) && self.local_without_key != Some(false);
        let is_asker = |asker: &KeyedAsker| asker.role != Role::Operator;
        if !self.askers.iter().any(is_asker) && !may_skip_key && !self.admits_by_token() {
            return Err(EntreatError::NoKey { address });
        }
        let listen_error = |source| EntreatError::Listen { address, source };
        let listener = http::listen(address).map_err(listen_error)?;
        let address = listener.local_addr().map_err(listen_error)?;
        Ok(Some((listener, address)))
    }
}

fn make_pages(
    engine: &Engine,
    url: &str,
    mut settings: PageSettings,
    uploads: Result<Uploads, UploadError>,
) -> Result<Pages, EntreatError> {
    if settings.uploads.is_none() {
        settings.uploads = Some(uploads?);
    }
    Pages::new(engine.clone(), url, settings).map_err(EntreatError::Entropy)
}

impl Entreat {
    /// The base URL of pages: the public URL, or the listening address unless it is unspecified.
    fn page_url(&self, scheme: &str, address: Option<SocketAddr>) -> Option<String> {
        let address = address?;
        let listening = || format!("{scheme}://{address}");
        let is_one = !address.ip().is_unspecified();
        self.public_url.clone().or_else(|| is_one.then(listening))
    }

    /// Sets the pages, and lets askers link to them.
    fn set_pages(&mut self, pages: Pages) {
        self.rpc = self.rpc.clone().with_links(pages.clone());
        if let Some(uploads) = pages.uploads() {
            self.rpc = self.rpc.clone().with_uploads(uploads.clone());
        }
        self.pages = Some(pages);
    }
}

#[cfg(feature = "mcp")]
impl Entreat {
    fn set_mcp(&mut self, mcp: entreat_mcp::Mcp) {
        self.mcp = mcp;
    }
}

#[cfg(feature = "embedded")]
fn open(path: PathBuf, validators: &Validators) -> Result<Arc<EmbeddedStore>, OpenError> {
    let options = EmbeddedOptions {
        validators: validators.clone(),
        ..EmbeddedOptions::default()
    };
    EmbeddedStore::open(path, options).map(Arc::new)
}

/// Renders the metrics.
type Metrics = Box<dyn Fn() -> String + Send + Sync>;

async fn start_engine(
    settings: EngineSettings,
    sealing: Option<KeyRing>,
    callbacks: Option<Arc<dyn CallbackSender>>,
    store: Option<Arc<dyn Store>>,
) -> Result<Engine, StartError> {
    let mut engine = Engine::builder().settings(settings);
    if let Some(keys) = sealing {
        engine = engine.keys(keys);
    }
    if let Some(callbacks) = callbacks {
        engine = engine.callback_sender(callbacks);
    }
    if let Some(store) = store {
        engine = engine.shared_store(store);
    }
    engine.start().await
}

fn configure_http(
    mut http: Http,
    tls: Option<Tls>,
    metrics: Option<Metrics>,
    pages: Option<Pages>,
) -> Http {
    if let Some(tls) = tls {
        http = http.with_tls(tls);
    }
    if let Some(metrics) = metrics {
        http = http.with_metrics(metrics);
    }
    if let Some(pages) = pages {
        http = http.with_pages(pages);
    }
    http
}

/// Askers with keys, and local programs if they need none.
fn build_askers(engine: &Engine, keyed: Vec<KeyedAsker>, needs_no_key: bool) -> Askers {
    let add = |askers: Askers, keyed: KeyedAsker| {
        let asker = engine.asker_with(&keyed.name, keyed.settings);
        askers.with_role(&keyed.key, asker, keyed.role)
    };
    let askers = keyed.into_iter().fold(Askers::none(), add);
    if needs_no_key {
        askers.with_local(engine.asker(LOCAL))
    } else {
        askers
    }
}

fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

impl std::fmt::Debug for Builder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let askers: Vec<&str> = self.askers.iter().map(|asker| &*asker.name).collect();
        f.debug_struct("Builder")
            .field("settings", &self.settings)
            .field("templates", &self.templates)
            .field("listen", &self.listen)
            .field("askers", &askers)
            .field("local_without_key", &self.local_without_key)
            .field("public_url", &self.public_url)
            .field("pages", &self.pages)
            .field("uploads", &self.uploads)
            .finish_non_exhaustive()
    }
}

//! What a program says before everything starts, and the order in which it does.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use entreat_core::Validators;
use entreat_engine::{AskerSettings, Engine, EngineSettings, KeyRing, StartError, Store};
use entreat_service::http::{self, Http, HttpSettings};
use entreat_service::identity::Identity;
use entreat_service::rpc::{Rpc, Templates};
use entreat_service::upload::UploadError;
use entreat_service::{
    Askers, Brand, Callbacks, PageSettings, Pages, Reach, TemplateFolder, Tls, UploadSettings,
    Uploads,
};
#[cfg(feature = "embedded")]
use entreat_stores::{EmbeddedOptions, EmbeddedStore, OpenError};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

#[cfg(feature = "mcp")]
use super::mcp::McpParts;
use super::{Entreat, EntreatError, Server};

/// The name of whoever asks without a key, from this machine.
const LOCAL: &str = "local";

/// Puts an [`Entreat`] together.
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
    askers: Vec<Keyed>,
    local_without_key: Option<bool>,
    public_url: Option<String>,
    callbacks: Option<Callbacks>,
    tls: Option<Tls>,
    pages: PageSettings,
    uploads: Option<PathBuf>,
    upload_settings: UploadSettings,
    metrics: Option<Metrics>,
    #[cfg(feature = "mcp")]
    mcp: McpParts,
}

/// An asker who is known by a key.
struct Keyed {
    key: String,
    name: String,
    settings: AskerSettings,
}

impl Builder {
    /// Where elicitations are kept; in memory if nobody says. It stays the caller's to close.
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// Keeps elicitations in a file, which is made if it is not there. Whoever has the keys can
    /// read the secrets in it, and without them nobody can.
    #[cfg(feature = "embedded")]
    pub fn embedded(mut self, path: impl Into<PathBuf>, keys: KeyRing) -> Self {
        self.embedded = Some(path.into());
        self.sealing_keys(keys)
    }

    /// The keys that secrets in the store are sealed with. Without any, keys are made that end
    /// with this program.
    pub fn sealing_keys(mut self, keys: KeyRing) -> Self {
        self.sealing = Some(keys);
        self
    }

    /// What holds for everybody who asks.
    pub fn settings(mut self, settings: EngineSettings) -> Self {
        self.settings = settings;
        self
    }

    /// A folder of forms that can be asked by name. Changes are taken over as they are made.
    pub fn templates(mut self, folder: impl Into<PathBuf>) -> Self {
        self.templates = Some(folder.into());
        self
    }

    /// Functions that forms may name in `custom_validators`, whether an asker sends them, they lie
    /// in the folder of templates, or the embedded store has kept them. A store of one's own needs
    /// them too.
    pub fn validators(mut self, validators: Validators) -> Self {
        self.validators = validators;
        self
    }

    /// Serves the control API at this address; port 0 is any that is free. Without this, nothing
    /// is served.
    pub fn listen(mut self, address: impl Into<SocketAddr>) -> Self {
        self.listen = Some(address.into());
        self
    }

    /// What the server allows its clients.
    pub fn http(mut self, settings: HttpSettings) -> Self {
        self.http = settings;
        self
    }

    /// Lets whoever has this key ask, under a name and settings of its own. Several keys may have
    /// one name, as while one of them is being replaced.
    pub fn key(
        mut self,
        key: impl Into<String>,
        name: impl Into<String>,
        settings: AskerSettings,
    ) -> Self {
        self.askers.push(Keyed {
            key: key.into(),
            name: name.into(),
            settings,
        });
        self
    }

    /// Whether programs on this machine may ask without a key, as `local`. They may where nothing
    /// but this machine is served: the server listens on loopback, the public URL is there too, it
    /// speaks no TLS, and no proxy names people. Elsewhere a proxy on this machine would look like
    /// one of its programs.
    pub fn local_without_key(mut self, may: bool) -> Self {
        self.local_without_key = Some(may);
        self
    }

    /// Where the service is reached from outside, if that is not where it listens. If that is another
    /// machine, a proxy has to name the people who answer; see [`identity`](Self::identity).
    pub fn public_url(mut self, url: impl Into<String>) -> Self {
        self.public_url = Some(url.into());
        self
    }

    /// Who calls askers back when their questions settle; without this, questions with a callback
    /// are refused. [`EngineSettings::callbacks`] says whom it may call.
    pub fn callbacks(mut self, callbacks: Callbacks) -> Self {
        self.callbacks = Some(callbacks);
        self
    }

    /// Speaks TLS, and nothing else.
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// How pages are served, on which people answer; what was said about them before is replaced.
    pub fn pages(mut self, settings: PageSettings) -> Self {
        self.pages = settings;
        self
    }

    /// How the people who answer on pages are told apart; without this they sit at this machine.
    pub fn identity(mut self, identity: Identity) -> Self {
        self.pages.identity = identity;
        self
    }

    /// How an asker is shown to people.
    pub fn brand(mut self, asker: impl Into<String>, brand: Brand) -> Self {
        self.pages.brands.insert(asker.into(), brand);
        self
    }

    /// Where files are kept that people send. Without this it is beside the file of an embedded
    /// store that was named here, or else a folder that ends with this program.
    pub fn uploads(mut self, folder: impl Into<PathBuf>) -> Self {
        self.uploads = Some(folder.into());
        self
    }

    /// What people may send, and how askers get it.
    pub fn upload_settings(mut self, settings: UploadSettings) -> Self {
        self.upload_settings = settings;
        self
    }

    /// What the page `/metrics` says; without this there is none.
    pub fn metrics(mut self, metrics: impl Fn() -> String + Send + Sync + 'static) -> Self {
        self.metrics = Some(Box::new(metrics));
        self
    }

    /// What holds for questions of MCP servers.
    #[cfg(feature = "mcp")]
    pub fn mcp(mut self, settings: entreat_mcp::McpSettings) -> Self {
        self.mcp.settings = settings;
        self
    }

    /// The name under which MCP servers of this program ask; `mcp` unless said.
    #[cfg(feature = "mcp")]
    pub fn mcp_asker(mut self, name: impl Into<String>) -> Self {
        self.mcp.asker = Some(name.into());
        self
    }

    /// Who a request over HTTP to an MCP server is from; see
    /// [`entreat_mcp::Builder::principal`].
    #[cfg(feature = "mcp")]
    pub fn mcp_principal(
        mut self,
        who: impl Fn(&entreat_mcp::Parts) -> String + Send + Sync + 'static,
    ) -> Self {
        self.mcp.principal = Some(Arc::new(who));
        self
    }

    /// Whether clients that speak HTTP to an MCP server are on this machine, as they are when it
    /// listens on loopback only.
    #[cfg(feature = "mcp")]
    pub fn mcp_local_clients(mut self, are_local: bool) -> Self {
        self.mcp.are_local = are_local;
        self
    }

    /// Sends people to the pages of another Entreat, which knows this program by a key: for MCP
    /// servers in a program that serves no pages itself. Their questions are asked there too, and
    /// what is answered there is answered here.
    #[cfg(feature = "mcp")]
    pub fn remote_pages(mut self, url: impl Into<String>, key: impl Into<String>) -> Self {
        self.mcp.remote = Some((url.into(), key.into()));
        self
    }

    /// Sends people to the pages of another Entreat that was set up with
    /// [`RemotePages`](entreat_service::RemotePages), rules about people included.
    #[cfg(feature = "mcp")]
    pub fn pages_of(mut self, remote: entreat_service::RemotePages) -> Self {
        self.mcp.remote_pages = Some(remote);
        self
    }

    /// Opens a page in a browser of this machine, for MCP servers on the machine of the person
    /// whose client can show neither forms nor URLs.
    #[cfg(feature = "mcp")]
    pub fn browser(mut self, open: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.mcp.browser = Some(Arc::new(open));
        self
    }

    /// Starts everything, on the runtime that this is called from.
    ///
    /// When this returns, the store is open, what expired while nobody was there is expired, the
    /// templates are loaded, and the server answers.
    pub async fn start(mut self) -> Result<Entreat, EntreatError> {
        #[cfg(feature = "mcp")]
        let remote = self.mcp.find_remote()?;
        #[cfg(feature = "mcp")]
        {
            // A message is a body like any other.
            self.mcp.settings.body_timeout = self.http.body_timeout;
        }
        let listener = self.bind()?;
        let store = self.store;
        let uploads = self.uploads;
        #[cfg(feature = "embedded")]
        let uploads = uploads.or_else(|| self.embedded.as_deref().map(Uploads::folder_beside));
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
            mcp: self.mcp.join(&rpc, None),
            #[cfg(feature = "mcp")]
            http: self.http.clone(),
            #[cfg(feature = "mcp")]
            remote,
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
            // A form is a body like any other.
            self.pages.body_timeout = self.http.body_timeout;
            self.pages.body_memory = self.http.body_memory;
            match make_pages(&engine, &url, self.pages, uploads) {
                Ok(pages) => {
                    #[cfg(feature = "mcp")]
                    entreat.let_servers_ask(self.mcp.join(&entreat.rpc, Some(&pages)));
                    entreat.show(pages);
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
        let reach = Reach {
            listen: address,
            public_url: entreat.public_url.as_deref(),
            speaks_tls: self.tls.is_some(),
            names_people,
        };
        let needs_no_key = self.local_without_key;
        let needs_no_key = needs_no_key.unwrap_or_else(|| reach.why_keys().is_none());
        let askers = who_may_ask(&engine, self.askers, needs_no_key);
        let http = Http::with_settings(entreat.rpc.clone(), askers, self.http);
        let http = equipped(http, self.tls, self.metrics, entreat.pages.clone());
        let (end, ended) = oneshot::channel();
        let serving = http.serve(listener, async {
            // Dropping the sender ends the server too.
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

    /// Listens, first of all: whoever comes early waits a moment, and if the address is taken,
    /// nothing has to be undone.
    fn bind(&self) -> Result<Option<(TcpListener, SocketAddr)>, EntreatError> {
        let Some(address) = self.listen else {
            return Ok(None);
        };
        let may_go_without = is_loopback(address) && self.local_without_key != Some(false);
        if self.askers.is_empty() && !may_go_without {
            return Err(EntreatError::NoKey { address });
        }
        let refused = |source| EntreatError::Listen { address, source };
        let listener = http::listen(address).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
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
    /// Where people reach the pages: under the public URL, or where the service listens. Nobody
    /// could follow a link to all addresses at once.
    fn page_url(&self, scheme: &str, address: Option<SocketAddr>) -> Option<String> {
        let address = address?;
        let listening = || format!("{scheme}://{address}");
        let is_one = !address.ip().is_unspecified();
        self.public_url.clone().or_else(|| is_one.then(listening))
    }

    /// Lets askers know of the pages.
    fn show(&mut self, pages: Pages) {
        self.rpc = self.rpc.clone().with_links(pages.clone());
        self.pages = Some(pages);
    }
}

#[cfg(feature = "mcp")]
impl Entreat {
    fn let_servers_ask(&mut self, mcp: entreat_mcp::Mcp) {
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

/// Text for whoever measures the service.
type Metrics = Box<dyn Fn() -> String + Send + Sync>;

async fn start_engine(
    settings: EngineSettings,
    sealing: Option<KeyRing>,
    callbacks: Option<Callbacks>,
    store: Option<Arc<dyn Store>>,
) -> Result<Engine, StartError> {
    let mut engine = Engine::builder().settings(settings);
    if let Some(keys) = sealing {
        engine = engine.keys(keys);
    }
    if let Some(callbacks) = callbacks {
        engine = engine.courier(callbacks);
    }
    if let Some(store) = store {
        engine = engine.shared_store(store);
    }
    engine.start().await
}

fn equipped(
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

/// Those with a key, and programs on this machine if they need none.
fn who_may_ask(engine: &Engine, keyed: Vec<Keyed>, needs_no_key: bool) -> Askers {
    let add = |askers: Askers, keyed: Keyed| {
        let asker = engine.asker_with(&keyed.name, keyed.settings);
        askers.with_key(&keyed.key, asker)
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

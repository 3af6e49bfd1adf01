//! The entry point: holds the shared state and settings of MCP servers, and wraps servers.

use std::sync::Arc;
use std::time::Duration;

use entreat_core::{ElicitationId, Form, Presented, UnixTime};
use entreat_engine::shares::{Full, Permit, Shares};
use entreat_engine::{Asker, Links};
use entreat_wire::message::ElicitRequest;
use entreat_wire::seal::Sealer;
use http::request::Parts;
use rmcp::ServerHandler;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::client::{Client, HttpCallers};
use crate::extension::Control;
use crate::forms::WireFormCache;
use crate::parked::ParkedCalls;
use crate::question_service::QuestionService;
use crate::used_states::UsedStates;
use crate::wrap::Wrapped;

/// The purpose of the keys that seal request states.
const STATE_PURPOSE: &str = "entreat mcp request state";

/// Settings for questions asked by MCP servers.
#[derive(Clone, Debug)]
pub struct McpSettings {
    /// A decline or cancel that arrives sooner than this counts as not shown to a person.
    pub reading_time: Duration,
    /// Whether a question that was not shown falls back to the next available route.
    pub fall_back_when_unshown: bool,
    /// The interval of progress notifications while a question is open, for clients that request
    /// progress.
    pub progress_every: Duration,
    /// How long a round waits for a page to be answered before the client has to poll again.
    pub page_wait: Duration,
    /// How long a handler may wait for anything besides open questions before it is dropped.
    pub suspend_grace: Duration,
    /// How long a request state stays valid after the deadline of its questions.
    pub state_lifetime: Duration,
    /// The maximum length of a request state, in bytes.
    pub state_limit: usize,
    /// The maximum number of rounds of a call.
    pub rounds: u16,
    /// Whether a request state can be used with one set of answers only, as far as this process and
    /// its store know.
    pub single_use: bool,
    /// Whether URL requests carry an id since 2026-07-28. The protocol no longer has one, but some
    /// clients require it.
    pub url_ids: bool,
    /// How long the body of an HTTP request may take to arrive.
    pub body_timeout: Duration,
    /// The maximum number of calls in flight; more are refused.
    pub calls: usize,
    /// The maximum number of HTTP sessions (2025 protocol versions only). A principal at its share
    /// replaces its longest-idle session, or is refused if none is idle.
    pub sessions: usize,
    /// How long a session may be idle before it ends.
    pub session_idle: Duration,
    /// The maximum number of calls that wait for an answer behind a link; more are refused.
    pub links: usize,
    /// The maximum number of results of linked calls that wait to be fetched; each expires after
    /// `state_lifetime`. At the limit, a principal's oldest result is evicted.
    pub results: usize,
    /// The maximum number of used states kept in memory until they expire. At the limit, calls that
    /// present another state are refused. States recorded in a durable store do not count.
    pub used_states: usize,
    /// The share of each of these limits that one HTTP principal may use, in percent. All anonymous
    /// callers are one principal.
    pub principal_share: u8,
}

impl Default for McpSettings {
    fn default() -> Self {
        Self {
            reading_time: Duration::from_millis(300),
            fall_back_when_unshown: false,
            progress_every: Duration::from_secs(10),
            page_wait: Duration::from_secs(20),
            suspend_grace: Duration::from_millis(50),
            state_lifetime: Duration::from_secs(3600),
            state_limit: 64 << 10,
            rounds: 100,
            single_use: true,
            url_ids: false,
            body_timeout: Duration::from_secs(60),
            calls: 10_000,
            sessions: 1_000,
            // As long as a person may take for one question; rmcp's default is shorter.
            session_idle: Duration::from_secs(3600),
            links: 1_000,
            results: 1_000,
            used_states: 200_000,
            principal_share: 25,
        }
    }
}

impl McpSettings {
    /// Creates `all` permits, of which each principal may hold its share.
    pub(crate) fn shares(&self, all: usize) -> Shares<Arc<str>> {
        Shares::new(all, self.share_of(all))
    }

    /// Returns how many of `all` permits one principal may hold: at least one.
    pub(crate) fn share_of(&self, all: usize) -> usize {
        let percent = usize::from(self.principal_share.min(100));
        let share = (all / 100).saturating_mul(percent) + (all % 100 * percent).div_ceil(100);
        share.max(1)
    }
}

/// The maximum number of clients notified of the completion of one question.
const MAX_COMPLETIONS: usize = 4;

/// A source of named forms.
pub trait Forms: Send + Sync {
    /// Returns the form of this name, if it exists.
    fn find(&self, name: &str) -> Option<Form>;

    /// Returns the names of all forms.
    fn names(&self) -> Vec<String>;
}

/// Lets MCP servers ask. Cheap to clone; clones share their state.
///
/// ```
/// use entreat_core::Form;
/// use entreat_engine::Engine;
/// use entreat_mcp::{Ask, Mcp};
/// use rmcp::handler::server::router::tool::ToolRouter;
/// use rmcp::{ErrorData, ServerHandler, tool, tool_handler, tool_router};
///
/// /// Where should this go?
/// #[derive(Form)]
/// struct Target {
///     #[form(min_length = 2)]
///     name: String,
/// }
///
/// #[derive(Clone)]
/// struct Deployer;
///
/// #[tool_router]
/// impl Deployer {
///     #[tool(description = "Deploys")]
///     async fn deploy(&self, ask: Ask) -> Result<String, ErrorData> {
///         let target: Target = ask.form("target", "Where should this go?").await?;
///         if ask.confirm("go", "Deploy now?").await? {
///             return Ok(format!("deployed to {}", target.name));
///         }
///         Ok("nothing was deployed".to_owned())
///     }
/// }
///
/// #[tool_handler]
/// impl ServerHandler for Deployer {}
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let engine = Engine::builder().start().await?;
/// let mcp = Mcp::builder(engine.asker("deployer")).build();
/// let (transport, _client) = tokio::io::duplex(4096);
/// let server = mcp.wrap(Deployer).serve(transport).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Mcp {
    pub(crate) inner: Arc<Inner>,
}

/// Builds an [`Mcp`].
#[must_use = "nothing is wrapped until it is built"]
pub struct Builder {
    asker: Asker,
    settings: McpSettings,
    links: Option<Arc<dyn Links>>,
    browser: Option<Browser>,
    templates: Option<Box<dyn Forms>>,
    control: Option<Box<dyn Control>>,
    service: Option<Box<dyn QuestionService>>,
    callers: HttpCallers,
}

type Browser = Box<dyn Fn(&str) + Send + Sync>;

pub(crate) struct Inner {
    pub(crate) asker: Asker,
    pub(crate) settings: McpSettings,
    pub(crate) links: Option<Arc<dyn Links>>,
    pub(crate) browser: Option<Browser>,
    templates: Option<Box<dyn Forms>>,
    pub(crate) control: Option<Box<dyn Control>>,
    pub(crate) service: Option<Box<dyn QuestionService>>,
    pub(crate) callers: HttpCallers,
    pub(crate) forms: WireFormCache,
    pub(crate) sealer: Sealer,
    pub(crate) used_states: UsedStates,
    pub(crate) parked: ParkedCalls,
    calls: Shares<Arc<str>>,
    /// Permits for clients to be notified when a page is complete.
    pub(crate) completions: Shares<ElicitationId>,
    /// Work that outlives its call; joined by [`Mcp::shutdown`].
    pub(crate) tasks: TaskTracker,
    pub(crate) stop: CancellationToken,
}

impl Mcp {
    /// Returns a builder for servers that ask as `asker`.
    pub fn builder(asker: Asker) -> Builder {
        Builder {
            asker,
            settings: McpSettings::default(),
            links: None,
            browser: None,
            templates: None,
            control: None,
            service: None,
            callers: HttpCallers::default(),
        }
    }

    /// Wraps a server so that its handlers can ask.
    pub fn wrap<S: ServerHandler>(&self, server: S) -> Wrapped<S> {
        Wrapped::new(self.inner.clone(), server)
    }

    /// Stops all calls that continue behind a link, and waits for them to end.
    pub async fn shutdown(&self) {
        self.inner.stop.cancel();
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
    }
}

impl std::fmt::Debug for Mcp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mcp")
            .field("asker", &self.inner.asker)
            .finish_non_exhaustive()
    }
}

impl Builder {
    /// Sets the limits and timeouts of questions.
    pub fn settings(mut self, settings: McpSettings) -> Self {
        self.settings = settings;
        self
    }

    /// Sets the pages on which people answer: for secrets and files, and for clients that cannot
    /// show forms.
    pub fn pages(mut self, links: Arc<dyn Links>) -> Self {
        self.links = Some(links);
        self
    }

    /// Sets how to open a page in the browser of this machine: for servers on stdio, which run on
    /// the person's machine.
    pub fn browser(mut self, open: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.browser = Some(Box::new(open));
        self
    }

    /// Sets the source of named forms.
    pub fn templates(mut self, forms: impl Forms + 'static) -> Self {
        self.templates = Some(Box::new(forms));
        self
    }

    /// Sets the control API, for clients that support the extension.
    pub fn control(mut self, control: impl Control + 'static) -> Self {
        self.control = Some(Box::new(control));
        self
    }

    /// Sets the service that keeps the questions of [`ask_server`](Mcp::ask_server) that nobody
    /// waits for; by default, this engine does. Its pages should be the [`pages`](Self::pages).
    pub fn question_service(mut self, service: impl QuestionService + 'static) -> Self {
        self.service = Some(Box::new(service));
        self
    }

    /// Sets how the principal of an HTTP request is derived. Questions, links, states and sessions
    /// belong to a principal, and each principal has a share of every limit.
    ///
    /// By default, requests with equal `Authorization` headers have one principal, and so have all
    /// requests without one. Set this if the program knows its users, and always if their tokens
    /// are renewed: with the default, users lose their sessions when the token changes.
    pub fn principal(mut self, derive: impl Fn(&Parts) -> String + Send + Sync + 'static) -> Self {
        self.callers.principal = Some(Box::new(derive));
        self
    }

    /// Sets how questions name the person behind an HTTP request, for pages that identify people;
    /// `None` if the pages do not know them, so that none is offered. By default, it is the
    /// [principal](Self::principal), if that is derived; nobody is known by a header's hash.
    pub fn respondent(
        mut self,
        derive: impl Fn(&Parts) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.callers.respondent = Some(Box::new(derive));
        self
    }

    /// Sets whether HTTP clients are on this machine, which holds if the server listens on loopback
    /// only. Pages that do not identify respondents are offered to local clients only.
    pub fn local_clients(mut self, are_local: bool) -> Self {
        self.callers.are_local = are_local;
        self
    }

    /// Builds the [`Mcp`].
    pub fn build(self) -> Mcp {
        let sealer = Sealer::new(self.asker.engine().clone(), STATE_PURPOSE);
        Mcp {
            inner: Arc::new(Inner {
                asker: self.asker,
                links: self.links,
                browser: self.browser,
                templates: self.templates,
                control: self.control,
                service: self.service,
                callers: self.callers,
                forms: WireFormCache::default(),
                sealer,
                used_states: UsedStates::new(&self.settings),
                parked: ParkedCalls::new(&self.settings),
                calls: self.settings.shares(self.settings.calls),
                completions: Shares::new(self.settings.links, MAX_COMPLETIONS),
                settings: self.settings,
                tasks: TaskTracker::new(),
                stop: CancellationToken::new(),
            }),
        }
    }
}

impl Inner {
    pub(crate) fn template(&self, name: &str) -> Option<Form> {
        self.templates.as_ref()?.find(name)
    }

    pub(crate) fn template_names(&self) -> Vec<String> {
        self.templates
            .as_ref()
            .map_or_else(Vec::new, |forms| forms.names())
    }

    /// Returns the asker for a client. HTTP clients are isolated from each other by principal; a
    /// client on its own connection, such as stdio, is alone.
    pub(crate) fn asker_for(&self, client: &Client) -> Asker {
        if client.is_remote {
            self.asker.on_behalf_of(&client.principal)
        } else {
            self.asker.on_its_own_behalf()
        }
    }

    /// Acquires a permit for a call in flight.
    pub(crate) fn call_place(&self, client: &Client) -> Result<Permit<Arc<str>>, Full> {
        client.place(&self.calls)
    }

    /// Whether the client's person can open a page. Pages that do not identify respondents are for
    /// this machine only.
    pub(crate) fn has_page_for(&self, client: &Client) -> bool {
        let links = self.links.as_ref();
        links.is_some_and(|links| {
            if links.needs_respondent() {
                client.respondent.is_some()
            } else {
                client.is_local
            }
        })
    }

    /// Whether there are pages, but none for the client's person, whom they do not know.
    pub(crate) fn has_page_without(&self, client: &Client) -> bool {
        let names_people = |links: &Arc<dyn Links>| links.needs_respondent();
        client.respondent.is_none() && self.links.as_ref().is_some_and(names_people)
    }

    pub(crate) fn open_browser(&self, url: &str) {
        if let Some(open) = &self.browser {
            open(url);
        }
    }

    pub(crate) fn presented(&self, asked: UnixTime) -> Presented {
        let took = self.asker.engine().now().since(asked);
        if took < self.settings.reading_time {
            Presented::No
        } else {
            Presented::Unknown
        }
    }

    pub(crate) fn url_request(&self, message: &str, url: &str, id: &str) -> ElicitRequest {
        ElicitRequest::url(message, url, self.settings.url_ids.then_some(id))
    }
}

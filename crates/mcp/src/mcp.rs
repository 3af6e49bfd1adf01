//! Puts together what questions of MCP servers need, and wraps servers in it.

use std::sync::Arc;
use std::time::Duration;

use entreat_core::{ElicitationId, Form, Presented, UnixTime};
use entreat_engine::shares::{Full, Place, Shares};
use entreat_engine::{Asker, Links};
use http::request::Parts;
use rmcp::ServerHandler;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::client::{Client, HttpCallers};
use crate::extension::Control;
use crate::forms::WireForms;
use crate::parked::ParkedCalls;
use crate::seal::Sealer;
use crate::used_states::UsedStates;
use crate::wire::ElicitRequest;
use crate::wrap::Wrapped;

/// What holds for questions of MCP servers.
#[derive(Clone, Debug)]
pub struct McpSettings {
    /// A decline or a cancel that comes sooner was not seen by a person.
    pub reading_time: Duration,
    /// Whether a question that was not seen goes on to the next way there is.
    pub ladder_when_unshown: bool,
    /// How often a client that wants to hear of progress does, while a person thinks.
    pub progress_every: Duration,
    /// How long a round waits for a page before the client has to come again.
    pub page_wait: Duration,
    /// How long a handler may wait for other things than open questions before it is dropped.
    pub linger: Duration,
    /// How long a state can be used after the deadline of its questions.
    pub state_lifetime: Duration,
    /// How long a state may be, in bytes.
    pub state_limit: usize,
    /// How many rounds a call may take.
    pub rounds: u16,
    /// Whether a state is good for one set of answers only, as far as this process and its store
    /// know.
    pub single_use: bool,
    /// Whether URL requests have an id since 2026-07-28, where none is foreseen: some clients
    /// want it.
    pub url_ids: bool,
    /// How long a message may take to come in over HTTP.
    pub body_timeout: Duration,
    /// How many calls may be under way; more are refused.
    pub calls: usize,
    /// How many sessions of the eras of 2025 there may be over HTTP. Whoever has its share of
    /// them, and one that is idle, begins another in its place; else it is refused.
    pub sessions: usize,
    /// A session in which nothing is said for so long is over.
    pub session_idle: Duration,
    /// How many calls may wait for answers under a link; more are refused.
    pub links: usize,
    /// How many results of such calls wait to be fetched, for `state_lifetime` at most. When there
    /// are more, the oldest of the same principal goes.
    pub results: usize,
    /// How many used states are remembered, as long as they could be used again. When there are
    /// more, calls that bring another are refused until some have ended. A store that outlives the
    /// process remembers any number.
    pub used_states: usize,
    /// How much of each of these one principal may have over HTTP, in percent. Those whom nobody
    /// can tell apart are one principal.
    pub principal_share: u8,
}

impl Default for McpSettings {
    fn default() -> Self {
        Self {
            reading_time: Duration::from_millis(300),
            ladder_when_unshown: false,
            progress_every: Duration::from_secs(10),
            page_wait: Duration::from_secs(20),
            linger: Duration::from_millis(50),
            state_lifetime: Duration::from_secs(3600),
            state_limit: 64 << 10,
            rounds: 100,
            single_use: true,
            url_ids: false,
            body_timeout: Duration::from_secs(60),
            calls: 10_000,
            sessions: 1_000,
            // As long as a person may think about one question; rmcp's own limit is shorter.
            session_idle: Duration::from_secs(3600),
            links: 1_000,
            results: 1_000,
            used_states: 200_000,
            principal_share: 25,
        }
    }
}

impl McpSettings {
    /// So many places, of which each principal has its share.
    pub(crate) fn shares(&self, all: usize) -> Shares<Arc<str>> {
        Shares::new(all, self.share_of(all))
    }

    /// How many of so many places one principal may have: at least one.
    pub(crate) fn share_of(&self, all: usize) -> usize {
        let percent = usize::from(self.principal_share.min(100));
        let share = (all / 100).saturating_mul(percent) + (all % 100 * percent).div_ceil(100);
        share.max(1)
    }
}

/// So many clients are told of the end of one question that each of them asked for.
const NOTICES: usize = 4;

/// Forms that are known by name.
pub trait Forms: Send + Sync {
    /// The form of that name.
    fn find(&self, name: &str) -> Option<Form>;

    /// All names.
    fn names(&self) -> Vec<String>;
}

/// Lets MCP servers ask. Cheap to clone; all clones are one.
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

/// Puts an [`Mcp`] together.
#[must_use = "nothing is wrapped until it is built"]
pub struct Builder {
    asker: Asker,
    settings: McpSettings,
    links: Option<Arc<dyn Links>>,
    browser: Option<Browser>,
    templates: Option<Box<dyn Forms>>,
    control: Option<Box<dyn Control>>,
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
    pub(crate) callers: HttpCallers,
    pub(crate) forms: WireForms,
    pub(crate) sealer: Sealer,
    pub(crate) used_states: UsedStates,
    pub(crate) parked: ParkedCalls,
    calls: Shares<Arc<str>>,
    /// Clients that are to be told when a page has what it wanted.
    pub(crate) notices: Shares<ElicitationId>,
    /// What goes on after a call has been answered; joined by [`Mcp::shutdown`].
    pub(crate) tasks: TaskTracker,
    pub(crate) stop: CancellationToken,
}

impl Mcp {
    /// Parts to be put together, for servers that ask under one name.
    pub fn builder(asker: Asker) -> Builder {
        Builder {
            asker,
            settings: McpSettings::default(),
            links: None,
            browser: None,
            templates: None,
            control: None,
            callers: HttpCallers::default(),
        }
    }

    /// A server whose handlers can ask.
    pub fn wrap<S: ServerHandler>(&self, server: S) -> Wrapped<S> {
        Wrapped::new(self.inner.clone(), server)
    }

    /// Ends what still goes on for calls that were answered with a link, and waits for it.
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
    /// What holds for questions.
    pub fn settings(mut self, settings: McpSettings) -> Self {
        self.settings = settings;
        self
    }

    /// The pages on which people answer: for secrets and files, and for clients that do not show
    /// forms.
    pub fn pages(mut self, links: Arc<dyn Links>) -> Self {
        self.links = Some(links);
        self
    }

    /// Opens a page in a browser of this machine. For servers that run on the machine of the
    /// person, and are spoken to by stdio.
    pub fn browser(mut self, open: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.browser = Some(Box::new(open));
        self
    }

    /// Forms that are known by name.
    pub fn templates(mut self, forms: impl Forms + 'static) -> Self {
        self.templates = Some(Box::new(forms));
        self
    }

    /// The control API, which clients may call that know the extension.
    pub fn control(mut self, control: impl Control + 'static) -> Self {
        self.control = Some(Box::new(control));
        self
    }

    /// Who a request over HTTP is from. Questions, links, states and sessions belong to a
    /// principal, and each has a share of what is limited.
    ///
    /// By default that is whoever has the same `Authorization`, which changes when a token is
    /// renewed, and all who have none are one. A program that knows its users knows better, and
    /// one whose tokens are renewed has to say so, or its users lose their sessions with them.
    pub fn principal(mut self, who: impl Fn(&Parts) -> String + Send + Sync + 'static) -> Self {
        self.callers.principal = Some(Box::new(who));
        self
    }

    /// Whether those who speak HTTP are on this machine, as they are when the server listens on
    /// loopback only. Pages that know nobody are offered to them alone.
    pub fn local_clients(mut self, are_local: bool) -> Self {
        self.callers.are_local = are_local;
        self
    }

    /// What wraps servers.
    pub fn build(self) -> Mcp {
        let sealer = Sealer::new(self.asker.engine().clone());
        Mcp {
            inner: Arc::new(Inner {
                asker: self.asker,
                links: self.links,
                browser: self.browser,
                templates: self.templates,
                control: self.control,
                callers: self.callers,
                forms: WireForms::default(),
                sealer,
                used_states: UsedStates::new(&self.settings),
                parked: ParkedCalls::new(&self.settings),
                calls: self.settings.shares(self.settings.calls),
                notices: Shares::new(self.settings.links, NOTICES),
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

    /// The names of forms that can be asked by name.
    pub(crate) fn template_names(&self) -> Vec<String> {
        self.templates
            .as_ref()
            .map_or_else(Vec::new, |forms| forms.names())
    }

    /// Who asks for a client. Over HTTP there may be many, of whom none sees what another is
    /// asked; on a connection of its own, a client is the only one.
    pub(crate) fn asker_for(&self, client: &Client) -> Asker {
        if client.is_remote {
            self.asker.on_behalf_of(&client.principal)
        } else {
            self.asker.on_its_own_behalf()
        }
    }

    /// A place for one more call that is under way.
    pub(crate) fn call_place(&self, client: &Client) -> Result<Place<Arc<str>>, Full> {
        client.place(&self.calls)
    }

    /// Whether a client's person could open a page. One that knows nobody is for this machine.
    pub(crate) fn has_page_for(&self, client: &Client) -> bool {
        let links = self.links.as_ref();
        links.is_some_and(|links| client.is_local || links.needs_respondent())
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

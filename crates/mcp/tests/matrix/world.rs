//! A server with one tool that asks, its pages, and a clock that only the test moves, here or in
//! another process.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use entreat_core::schema::Era;
use entreat_core::{CancelReason, ElicitationId, Form, Outcome, Presented, Timeout, UnixTime};
use entreat_engine::{ActError, Engine, Links, Subscription, SubscriptionItem};
use entreat_mcp::{Ask, Mcp, McpSettings, Wrapped};
use entreat_testkit::VirtualClock;
use rmcp::model::{ClientConfig, Implementation, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt as _, RoleClient, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_server::StreamableHttpServerConfig;
use rmcp::{ErrorData, ServerHandler, tool, tool_handler, tool_router};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{Mutex, watch};

use crate::axes::{Ending, Kind, Transport};
use crate::child::Child;
use crate::person::Person;

/// How long the tool waits for an answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// Longer than it takes to notice a question.
pub(crate) const READING: Duration = Duration::from_secs(1);

pub(crate) type Client = RunningService<RoleClient, Person>;

/// The client's counterpart.
#[derive(Clone)]
pub(crate) enum World {
    /// In this process, over HTTP.
    Here(Here),
    /// In a separate process, over stdio.
    There(Arc<Child>),
}

/// How the client reaches it.
pub(crate) enum Wire {
    Http,
    Pipes((ChildStdout, ChildStdin)),
}

impl World {
    pub(crate) async fn new(transport: Transport) -> (Self, Wire) {
        match transport {
            Transport::Http => (Self::Here(Here::new().await), Wire::Http),
            Transport::Stdio => {
                let (child, pipes) = Child::start().await;
                (Self::There(Arc::new(child)), Wire::Pipes(pipes))
            }
        }
    }

    /// Connects a client.
    pub(crate) async fn connect(
        &self,
        (era, kind, wire): (Era, Kind, Wire),
        mut person: Person,
    ) -> Client {
        let version = ProtocolVersion::KNOWN_VERSIONS.iter();
        let version = version.clone().find(|it| it.as_str() == era.version());
        let version = version.unwrap().clone();
        let name = Implementation::new("matrix", "1.0.0");
        person.config = ClientConfig::new(kind.capabilities(), name);
        let lifecycle = if era == Era::V2026_07_28 {
            ClientLifecycleMode::Discover {
                preferred_versions: vec![version],
            }
        } else {
            person.config.protocol_version = version;
            ClientLifecycleMode::Initialize
        };
        let client = match (wire, self) {
            (Wire::Http, Self::Here(here)) => {
                // With the client half, rmcp's own HTTP client is built with TLS as well, and needs
                // a TLS provider. Only the first installation succeeds.
                #[cfg(feature = "answer")]
                let _ = rustls::crypto::ring::default_provider().install_default();
                let transport = StreamableHttpClientTransport::from_uri(here.listen().await);
                person.serve_with_lifecycle(transport, lifecycle).await
            }
            (Wire::Pipes(pipes), _) => person.serve_with_lifecycle(pipes, lifecycle).await,
            (Wire::Http, Self::There(_)) => panic!("a child does not listen"),
        };
        client.unwrap()
    }

    pub(crate) async fn advance(&self, time: Duration) {
        match self {
            Self::Here(here) => here.clock.advance(time),
            Self::There(child) => child.advance(time).await,
        }
    }

    pub(crate) async fn visit(&self, url: &str, ending: Ending) {
        match self {
            Self::Here(here) => here.visit(url, ending).await,
            Self::There(child) => child.visit(url, ending).await,
        }
    }

    /// Waits until the connection of a disconnected client has ended, if there is one.
    pub(crate) async fn is_left(&self) {
        if let Self::There(child) = self {
            child.has_ended().await;
        }
    }

    /// The outcomes of this many questions; after that, nothing is left, even after a disconnect.
    pub(crate) async fn end(&self, number: usize) -> Vec<Outcome> {
        match self {
            Self::Here(here) => here.end(number).await,
            Self::There(child) => child.end(number).await,
        }
    }
}

/// A server, its engine, and its clock.
#[derive(Clone)]
pub(crate) struct Here {
    engine: Engine,
    pub(crate) clock: VirtualClock,
    pub(crate) server: Wrapped<Asking>,
    /// The number of running handlers.
    at_work: watch::Sender<usize>,
    events: Arc<Mutex<Subscription>>,
}

impl Here {
    pub(crate) async fn new() -> Self {
        let clock = VirtualClock::new(UnixTime::from_millis(1_800_000_000_000));
        let engine = Engine::builder().clock(clock.clone());
        let engine = engine.start().await.unwrap();
        let settings = McpSettings {
            // rmcp's client doesn't support rounds with URLs that have no id.
            url_ids: true,
            ..McpSettings::default()
        };
        let mcp = Mcp::builder(engine.asker("matrix"))
            .settings(settings)
            .pages(Arc::new(Pages))
            .local_clients(true)
            .build();
        let at_work = watch::Sender::new(0);
        let server = mcp.wrap(Asking {
            at_work: at_work.clone(),
        });
        let events = Arc::new(Mutex::new(engine.subscribe()));
        Self {
            engine,
            clock,
            server,
            at_work,
            events,
        }
    }

    /// Serves HTTP while the test runs; returns the address.
    async fn listen(&self) -> String {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let settings = StreamableHttpServerConfig::default();
        let app = Router::new().route_service("/mcp", self.server.clone().http(settings));
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        url
    }

    pub(crate) async fn end(&self, number: usize) -> Vec<Outcome> {
        let mut events = self.events.lock().await;
        let mut ended = Vec::new();
        while ended.len() < number {
            if let Some(SubscriptionItem::Event(event)) = events.next().await {
                ended.extend(event.snapshot().outcome());
            }
        }
        let mut at_work = self.at_work.subscribe();
        at_work.wait_for(|number| *number == 0).await.unwrap();
        assert_eq!(self.engine.live(), 0);
        ended
    }

    /// The person's action on a page.
    pub(crate) async fn visit(&self, url: &str, ending: Ending) {
        let id: ElicitationId = url.rsplit('/').next().unwrap().parse().unwrap();
        let page = self.engine.elicitation(id);
        page.open().await.unwrap();
        self.clock.advance(READING);
        if ending == Ending::InvalidThenValid {
            let refused = page.submit(&json!({"name": "A"})).await;
            assert!(matches!(refused, Err(ActError::Invalid(_))), "{refused:?}");
        }
        match ending {
            Ending::Accept | Ending::InvalidThenValid => {
                page.submit(&json!({"name": "Ada"})).await.unwrap();
            }
            Ending::Decline => drop(page.decline().await.unwrap()),
            Ending::Cancel => drop(page.cancel(CancelReason::UserCancelled).await.unwrap()),
            Ending::Timeout | Ending::Disconnect => {}
        }
    }
}

/// Pages that are not served: the id is enough to answer.
struct Pages;

impl Links for Pages {
    fn page(&self, id: ElicitationId) -> Option<String> {
        Some(format!("https://pages.example/e/{id}"))
    }
}

/// A name.
#[derive(Form)]
struct Name {
    #[form(min_length = 2)]
    name: String,
}

pub(crate) struct Asking {
    at_work: watch::Sender<usize>,
}

#[tool_router]
impl Asking {
    #[tool(description = "Asks for a name, and tells how that ended")]
    async fn ask(&self, ask: Ask) -> Result<String, ErrorData> {
        let _here = AtWork::begin(&self.at_work);
        let question = ask.form::<Name>("name", "What is your name?");
        let outcome = question.timeout(Timeout::of(PATIENCE)).outcome().await?;
        Ok(match outcome {
            entreat_mcp::Outcome::Answered(Name { name }) => format!("answered {name}"),
            entreat_mcp::Outcome::Declined { shown } => format!("declined{}", unseen(shown)),
            entreat_mcp::Outcome::Cancelled { shown, .. } => format!("cancelled{}", unseen(shown)),
            entreat_mcp::Outcome::TimedOut => "timed out".to_owned(),
        })
    }
}

#[tool_handler]
impl ServerHandler for Asking {}

/// The person always takes time to read.
fn unseen(shown: Presented) -> &'static str {
    if shown == Presented::No {
        " unseen"
    } else {
        ""
    }
}

/// A running handler.
struct AtWork(watch::Sender<usize>);

impl AtWork {
    fn begin(at_work: &watch::Sender<usize>) -> Self {
        at_work.send_modify(|number| *number += 1);
        Self(at_work.clone())
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.send_modify(|number| *number -= 1);
    }
}

//! A server with one tool that asks, its pages, and a clock that only the test moves.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use entreat_core::schema::Era;
use entreat_core::{CancelReason, ElicitationId, Form, Presented, Timeout, UnixTime};
use entreat_engine::{ActError, Engine, Links};
use entreat_mcp::{Ask, Mcp, Outcome, Settings, Wrapped};
use entreat_testkit::VirtualClock;
use rmcp::model::{ClientConfig, Implementation, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt as _, RoleClient, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_server::StreamableHttpServerConfig;
use rmcp::{ErrorData, ServerHandler, tool, tool_handler, tool_router};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::axes::{Ending, Kind, Transport};
use crate::person::Person;

/// How long the tool waits for an answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// Longer than it takes to notice that a question is there.
pub(crate) const READING: Duration = Duration::from_secs(1);

pub(crate) type Client = RunningService<RoleClient, Person>;

/// What is on the other side of the client.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) clock: VirtualClock,
    server: Wrapped<Asking>,
    /// How many handlers are at work.
    pub(crate) at_work: watch::Sender<usize>,
}

impl World {
    pub(crate) async fn new() -> Self {
        let clock = VirtualClock::new(UnixTime::from_millis(1_800_000_000_000));
        let engine = Engine::builder().clock(clock.clone());
        let engine = engine.start().await.unwrap();
        let mut settings = Settings::default();
        // rmcp's client does not know rounds with URLs that have none.
        settings.url_ids = true;
        let mcp = Mcp::builder(engine.asker("matrix"))
            .settings(settings)
            .pages(Arc::new(Pages))
            .local_clients(true)
            .build();
        let at_work = watch::Sender::new(0);
        let server = mcp.wrap(Asking {
            at_work: at_work.clone(),
        });
        Self {
            engine,
            clock,
            server,
            at_work,
        }
    }

    /// Connects a client, and gives the task of its server too.
    pub(crate) async fn connect(
        &self,
        (era, kind, transport): (Era, Kind, Transport),
        mut person: Person,
    ) -> (Client, JoinHandle<()>) {
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
        let server = self.server.clone();
        match transport {
            Transport::Stdio => {
                let (ours, theirs) = tokio::io::duplex(64 << 10);
                let serving = tokio::spawn(async move {
                    let running = server.serve(ours).await.unwrap();
                    running.waiting().await.unwrap();
                });
                let client = person.serve_with_lifecycle(theirs, lifecycle).await;
                (client.unwrap(), serving)
            }
            Transport::Http => {
                let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
                let url = format!("http://{}/mcp", listener.local_addr().unwrap());
                let settings = StreamableHttpServerConfig::default();
                let app = Router::new().route_service("/mcp", server.http(settings));
                let serving = tokio::spawn(async move {
                    axum::serve(listener, app).await.unwrap();
                });
                let transport = StreamableHttpClientTransport::from_uri(url);
                let client = person.serve_with_lifecycle(transport, lifecycle).await;
                (client.unwrap(), serving)
            }
        }
    }

    /// What the person does on a page.
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

/// Pages that nobody serves: whoever knows the id is there.
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

struct Asking {
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
            Outcome::Answered(Name { name }) => format!("answered {name}"),
            Outcome::Declined { shown } => format!("declined{}", unseen(shown)),
            Outcome::Cancelled { shown, .. } => format!("cancelled{}", unseen(shown)),
            Outcome::TimedOut => "timed out".to_owned(),
        })
    }
}

#[tool_handler]
impl ServerHandler for Asking {}

/// The person always takes the time to read.
fn unseen(shown: Presented) -> &'static str {
    if shown == Presented::No {
        " unseen"
    } else {
        ""
    }
}

/// A handler at work.
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

//! The options of wrapped MCP servers.

use std::pin::Pin;
use std::sync::Arc;

use axum::Router;
use entreat_core::Form;
use entreat_engine::{Asker, Engine};
use entreat_mcp::rmcp::ServerHandler;
use entreat_mcp::rmcp::transport::StreamableHttpServerConfig;
use entreat_mcp::{Control, Forms, Mcp, McpSettings, Parts, Wrapped};
use entreat_service::http::{HttpSettings, Server};
use entreat_service::page::Pages;
#[cfg(feature = "tokens")]
use entreat_service::resource::{ProtectedResource, TokenCheck, TokenHolder, require_token};
use entreat_service::rpc::{Rpc, Session, Templates};
#[cfg(feature = "remote")]
use entreat_service::{ClientError, RemotePages};
use serde_json::Value;
use tokio::net::TcpListener;

use super::long_waits;
#[cfg(feature = "remote")]
use super::question_service::ServiceQuestions;

/// The path of a server.
const PATH: &str = "/mcp";

/// Options, combined with the other parts when those have started.
#[derive(Default)]
pub(super) struct McpOptions {
    pub(super) settings: McpSettings,
    pub(super) asker: Option<String>,
    pub(super) principal: Option<Arc<PrincipalFn>>,
    pub(super) are_local: bool,
    /// What clients over HTTP need a token for.
    #[cfg(feature = "tokens")]
    pub(super) resource: Option<ProtectedResource>,
    pub(super) browser: Option<Arc<Browser>>,
    /// URL and key of the service whose pages are used.
    #[cfg(feature = "remote")]
    pub(super) remote: Option<(String, Option<String>)>,
    #[cfg(feature = "remote")]
    pub(super) remote_pages: Option<RemotePages>,
    /// Whether that service also keeps the questions that nobody waits for.
    #[cfg(feature = "remote")]
    pub(super) keeps_questions: bool,
    #[cfg(feature = "remote")]
    pub(super) questions: Option<ServiceQuestions>,
}

type PrincipalFn = dyn Fn(&Parts) -> String + Send + Sync;
type Browser = dyn Fn(&str) + Send + Sync;

impl McpOptions {
    /// Sets up the pages of another service, if configured.
    #[cfg(feature = "remote")]
    pub(super) fn set_up_remote(&mut self) -> Result<Option<RemotePages>, ClientError> {
        if let Some((url, key)) = &self.remote {
            let pages = RemotePages::new(url, key.as_deref())?;
            #[cfg(feature = "tokens")]
            let pages = if self.resource.is_some() {
                pages.with_people()
            } else {
                pages
            };
            self.remote_pages = Some(pages);
            if self.keeps_questions {
                self.questions = Some(ServiceQuestions::new(url, key.as_deref())?);
            }
        }
        Ok(self.remote_pages.clone())
    }

    pub(super) fn build(&self, rpc: &Rpc, pages: Option<&Pages>) -> Mcp {
        let asker = self.asker(rpc.engine());
        let control = ControlApi {
            rpc: rpc.clone(),
            session: Session::new(asker.clone()),
        };
        let mut mcp = Mcp::builder(asker)
            .settings(self.settings.clone())
            .local_clients(self.are_local)
            .control(control)
            .templates(TemplateForms(rpc.templates().clone()));
        if let Some(pages) = pages {
            mcp = mcp.pages(Arc::new(pages.clone()));
        }
        #[cfg(feature = "remote")]
        if let Some(remote) = &self.remote_pages {
            mcp = mcp.pages(Arc::new(remote.clone()));
        }
        #[cfg(feature = "remote")]
        if let Some(questions) = &self.questions {
            mcp = mcp.question_service(questions.clone());
        }
        #[cfg(feature = "tokens")]
        if self.resource.is_some() {
            mcp = mcp.principal(principal_of_holder).respondent(|parts| {
                let holder = parts.extensions.get::<TokenHolder>()?;
                holder.respondent.as_deref().map(str::to_owned)
            });
        }
        if let Some(derive) = self.principal.clone() {
            mcp = mcp.principal(move |parts| derive(parts));
        }
        if let Some(open) = self.browser.clone() {
            mcp = mcp.browser(move |url| open(url));
        }
        mcp.build()
    }

    /// The asker for MCP servers.
    fn asker(&self, engine: &Engine) -> Asker {
        long_waits::asker(engine, self.asker.as_deref().unwrap_or(super::builder::MCP))
    }
}

/// The principal of a request that [`require_token`] let through.
#[cfg(feature = "tokens")]
fn principal_of_holder(parts: &Parts) -> String {
    let holder = parts.extensions.get::<TokenHolder>();
    holder.map_or_else(
        || "anonymous".to_owned(),
        |holder| holder.principal.to_string(),
    )
}

/// How an MCP server is served.
pub(super) struct Serving {
    pub(super) settings: HttpSettings,
    /// What clients need a token for, and whose clock counts.
    #[cfg(feature = "tokens")]
    pub(super) tokens: Option<TokenCheck>,
}

/// Serves an MCP server at its path.
pub(super) async fn serve<S: ServerHandler>(
    server: Wrapped<S>,
    serving: Serving,
    listener: TcpListener,
    end: impl Future<Output = ()> + Send,
) {
    let config = StreamableHttpServerConfig::default();
    #[cfg(feature = "tokens")]
    let config = match &serving.tokens {
        // A page of another site has no token, whatever name it was reached by.
        Some(_) => config.disable_allowed_hosts(),
        None => config,
    };
    let ended = config.cancellation_token.clone();
    let router = Router::new().route_service(PATH, server.http(config));
    #[cfg(feature = "tokens")]
    let router = match serving.tokens {
        Some(tokens) => {
            let metadata = tokens.resource.router();
            let check = axum::middleware::from_fn_with_state(tokens, require_token);
            router.layer(check).merge(metadata)
        }
        None => router,
    };
    let end = async {
        end.await;
        // Open streams would delay shutdown indefinitely.
        ended.cancel();
    };
    Server::new(serving.settings)
        .serve(router, listener, end)
        .await;
}

/// The service's templates as a source of forms.
struct TemplateForms(Templates);

impl Forms for TemplateForms {
    fn find(&self, name: &str) -> Option<Form> {
        self.0.get(name)?.form
    }

    fn names(&self) -> Vec<String> {
        self.0.names()
    }
}

/// The control API for clients of MCP servers.
struct ControlApi {
    rpc: Rpc,
    session: Session,
}

impl Control for ControlApi {
    fn answer(&self, request: Value) -> Pin<Box<dyn Future<Output = Value> + Send>> {
        let answering = self
            .rpc
            .answer(&self.session, request.to_string().as_bytes());
        Box::pin(async move {
            let answer = answering.await.body.unwrap_or_default();
            serde_json::from_str(&answer).unwrap_or_default()
        })
    }
}

//! A gateway whose questions are asked here.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use entreat_gateway::front::{Front, FrontSettings, Route};
use entreat_gateway::{Builder, Gateway, GatewaySettings, Person};
use entreat_service::Role;
use entreat_service::http::{AdmittedCaller, Http};
#[cfg(feature = "tokens")]
use entreat_service::resource::TokenHolder;

use super::{Entreat, long_waits};

/// Where the state of the gateway is.
const STATUS: &str = "/gateway/status";

/// The name of the asker of everything that the gateway asks. No other asker may have it: it sees
/// the questions of all clients of the gateway.
pub const GATEWAY_ASKER: &str = "gateway";

/// Opens a page in the browser of this machine.
pub(super) type Browser = Arc<dyn Fn(&str) + Send + Sync>;

/// Upstream servers to serve over Streamable HTTP, beside the control API.
#[derive(Clone, Debug, Default)]
pub struct GatewayOptions {
    /// The upstream servers.
    pub routes: Vec<Route>,
    /// How long the gateway waits, and how much it allows.
    pub settings: GatewaySettings,
    /// Limits on its clients.
    pub front: FrontSettings,
    /// Who answers the questions of the clients with an asker's key, by the asker's name.
    pub respondents: HashMap<String, String>,
}

impl Entreat {
    /// Prepares a gateway between MCP clients and servers: what a client cannot show is asked on
    /// the pages of this program, or on those of the service that it uses.
    pub fn gateway(&self) -> Builder {
        let gateway = Gateway::builder(long_waits::asker(self.engine(), GATEWAY_ASKER));
        #[cfg(feature = "remote")]
        if let Some(remote) = &self.remote {
            return gateway.pages(Arc::new(remote.clone()));
        }
        match self.pages() {
            Some(pages) => gateway.pages(Arc::new(pages.clone())),
            None => gateway,
        }
    }

    /// Serves a gateway, if there is one, beside the control API.
    pub(super) fn add_gateway(
        &mut self,
        http: Http,
        options: Option<GatewayOptions>,
        browser: Option<Browser>,
    ) -> Http {
        let Some(options) = options else {
            return http;
        };
        let mut gateway = self.gateway().settings(options.settings).observed();
        if let Some(open) = browser {
            gateway = gateway.browser(move |url| open(url));
        }
        let front = Front::new(gateway.build(), options.routes, options.front);
        let name_person = from_fn_with_state(Arc::new(options.respondents), name_person);
        let router = front.router().layer(name_person);
        let router = router.merge(
            Router::new()
                .route(STATUS, get(status))
                .with_state(front.clone()),
        );
        self.front = Some(front);
        #[cfg(feature = "tokens")]
        let http = match self.resource.clone() {
            Some(resource) => http.with_tokens(resource, self.asker(GATEWAY_ASKER)),
            None => http,
        };
        http.with_admitted(router)
    }
}

/// Returns what goes on behind each upstream: to operators, and to programs on this machine where
/// nobody needs a key.
async fn status(State(front): State<Front>, request: Request) -> Response {
    let caller = request.extensions().get::<AdmittedCaller>();
    match caller.map(|caller| caller.role) {
        Some(Role::Operator | Role::Local) => {
            let body = serde_json::json!({"upstreams": front.status()}).to_string();
            ([(CONTENT_TYPE, "application/json")], body).into_response()
        }
        Some(Role::Asker) => (
            StatusCode::FORBIDDEN,
            "The state of the gateway is for keys with the role `operator`.\n",
        )
            .into_response(),
        None => StatusCode::UNAUTHORIZED.into_response(),
    }
}

/// Says who is behind a request, to whom its sessions and questions belong.
async fn name_person(
    State(respondents): State<Arc<HashMap<String, String>>>,
    mut request: Request,
    next: Next,
) -> Response {
    #[cfg(feature = "tokens")]
    if let Some(holder) = request.extensions().get::<TokenHolder>() {
        let person = Person {
            principal: holder.principal.to_string(),
            respondent: holder.respondent.as_deref().map(str::to_owned),
            is_here: false,
        };
        request.extensions_mut().insert(person);
        return next.run(request).await;
    }
    let person = match request.extensions().get::<AdmittedCaller>() {
        Some(caller) if caller.role == Role::Operator => {
            return (StatusCode::FORBIDDEN, "An operator's key calls no tools.\n").into_response();
        }
        Some(caller) if caller.has_key => Person {
            principal: caller.name.to_string(),
            respondent: respondents.get(&*caller.name).cloned(),
            is_here: false,
        },
        Some(_) => Person::here(),
        None => return StatusCode::UNAUTHORIZED.into_response(),
    };
    request.extensions_mut().insert(person);
    next.run(request).await
}

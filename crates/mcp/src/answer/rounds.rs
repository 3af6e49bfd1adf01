//! Calls, driven to their end: through rounds of questions, and over URLs to visit first.
#![expect(deprecated, reason = "servers still ask for samples and roots")]

use std::collections::HashSet;
use std::time::Duration;

use rmcp::model::{
    CallToolResult, ClientRequest, CreateMessageRequestParams, CustomRequest, ErrorData,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestContext, ServiceError};
use rmcp::{ClientHandler, RoleClient};
use serde_json::{Map, Value};

use super::desk::{Decision, DeskError};
use super::handler::{Answering, has_rounds};
use super::raw::unwrapped;
use crate::in_flight::InFlight;
use crate::wire::{
    Action, CREATE, ElicitRequest, ElicitResult, InputRequired, ROOTS, SAMPLE, URL_REQUIRED, Wanted,
};

/// The pauses between rounds without questions begin with this, and double.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Why a call has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The server answered with an error.
    #[error("the server refused: {}", .0.message)]
    Refused(ErrorData),
    /// The person decided against a URL that the call needs.
    #[error("the call needs a page that was declined")]
    Declined,
    /// The person gave the call up.
    #[error("the call was given up")]
    GivenUp,
    /// The server asks on and on.
    #[error("the call was not done after {0} rounds of questions")]
    TooManyRounds(usize),
    /// The server lets the call wait on and on.
    #[error("the server let the call wait for more than {} s", .0.as_secs())]
    Stalled(Duration),
    /// The server answers in a way that this client does not know.
    #[error("the server sent a result of the unknown type `{0}`")]
    UnknownResult(String),
    /// The server asks for what this client did not declare.
    #[error("the server asks for `{0}`, which this client did not declare")]
    Undeclared(String),
    /// What the server sent makes no sense.
    #[error("the server's result cannot be used: {0}")]
    Broken(String),
    /// A question of the server has no answer.
    #[error("a question could not be answered: {0}")]
    Unanswered(String),
    /// There is no connection.
    #[error("the connection to the server failed")]
    Connection(#[source] ServiceError),
}

impl From<DeskError> for CallError {
    fn from(error: DeskError) -> Self {
        Self::Unanswered(error.to_string())
    }
}

impl<H: ClientHandler> Answering<H> {
    /// Calls a tool and answers what it asks.
    pub async fn call_tool(
        &self,
        peer: &Peer<RoleClient>,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<CallToolResult, CallError> {
        let mut params = Map::new();
        params.insert("name".into(), name.into());
        params.insert("arguments".into(), arguments.into());
        let result = self.call(peer, "tools/call", params).await?;
        serde_json::from_value(result).map_err(|error| CallError::Broken(error.to_string()))
    }

    /// Sends a request that may ask, such as `prompts/get`, answers what it asks, and gives the
    /// result as the server sent it.
    ///
    /// Dropped, it tells the server that nobody waits any more.
    pub async fn call(
        &self,
        peer: &Peer<RoleClient>,
        method: &str,
        params: Map<String, Value>,
    ) -> Result<Value, CallError> {
        let desk = &self.shared.desk;
        let mut given_up = desk.given_up.subscribe();
        let mut driving = Driving {
            answering: self,
            peer,
            server: self.server(peer),
            rounds: 0,
            pause: FIRST_PAUSE,
            waited: Duration::ZERO,
            visited: HashSet::new(),
        };
        let result = tokio::select! {
            biased;
            Ok(()) = given_up.changed() => Err(CallError::GivenUp),
            result = driving.drive(method, params) => result,
        };
        // A card that still waits for the call has nothing to wait for.
        desk.calls_ended.send_modify(|calls| *calls += 1);
        result
    }
}

/// A call on its way.
struct Driving<'a, H> {
    answering: &'a Answering<H>,
    peer: &'a Peer<RoleClient>,
    server: String,
    rounds: usize,
    pause: Duration,
    waited: Duration,
    /// URLs that the person has agreed to, with what the server calls its question.
    visited: HashSet<(String, String)>,
}

impl<H: ClientHandler> Driving<'_, H> {
    async fn drive(&mut self, method: &str, asked: Map<String, Value>) -> Result<Value, CallError> {
        let mut params = asked.clone();
        loop {
            let result = match self.send(method, params).await {
                Ok(result) => result,
                Err(ServiceError::McpError(error))
                    if error.code.0 == URL_REQUIRED && !has_rounds(self.peer) =>
                {
                    self.count_round()?;
                    self.visit_all(error).await?;
                    params = asked.clone();
                    continue;
                }
                Err(ServiceError::McpError(error)) => return Err(CallError::Refused(error)),
                Err(error) => return Err(CallError::Connection(error)),
            };
            let round = match result.get("resultType").map(Value::as_str) {
                None | Some(Some("complete")) => return Ok(result),
                Some(Some("input_required")) if has_rounds(self.peer) => {
                    InputRequired::from_value(&result)
                }
                Some(kind) => {
                    let kind = kind.unwrap_or("not a text").to_owned();
                    return Err(CallError::UnknownResult(kind));
                }
            };
            let round = round.ok_or_else(|| CallError::Broken("it is not an object".into()))?;
            params = asked.clone();
            let responses = self.answer_round(&round).await?;
            if !responses.is_empty() {
                params.insert("inputResponses".into(), responses.into());
            }
            if let Some(state) = round.state() {
                params.insert("requestState".into(), state.into());
            }
        }
    }

    async fn send(&self, method: &str, params: Map<String, Value>) -> Result<Value, ServiceError> {
        let request = CustomRequest::new(method, Some(params.into()));
        let request = ClientRequest::CustomRequest(request);
        let options = PeerRequestOptions::no_options();
        let handle = self.peer.send_cancellable_request(request, options).await?;
        let tasks = self.answering.shared.lingering.clone();
        let mut sent = InFlight::new(handle, tasks, "the call was given up");
        sent.response().await.map(unwrapped)
    }

    fn count_round(&mut self) -> Result<(), CallError> {
        let most = self.answering.shared.desk.settings.rounds;
        if self.rounds >= most {
            return Err(CallError::TooManyRounds(most));
        }
        self.rounds += 1;
        Ok(())
    }

    /// Answers the questions of a round; without any, waits a little.
    async fn answer_round(
        &mut self,
        round: &InputRequired,
    ) -> Result<Map<String, Value>, CallError> {
        let mut responses = Map::new();
        let mut requests = round.requests().peekable();
        if requests.peek().is_none() {
            if round.state().is_none() {
                let wrong = "it asks for input, but for none in particular";
                return Err(CallError::Broken(wrong.into()));
            }
            self.wait().await?;
            return Ok(responses);
        }
        self.count_round()?;
        (self.pause, self.waited) = (FIRST_PAUSE, Duration::ZERO);
        for (key, request) in requests {
            let method = request.get("method").and_then(Value::as_str);
            let params = request.get("params").cloned().unwrap_or_default();
            let response = match method {
                Some(CREATE) => self.elicit(key, params).await?.into_value(),
                Some(method @ (SAMPLE | ROOTS)) => {
                    self.answering
                        .have_answered(self.peer, method, params)
                        .await?
                }
                _ => {
                    return Err(CallError::Undeclared(
                        method.unwrap_or("nothing").to_owned(),
                    ));
                }
            };
            responses.insert(key.to_owned(), response);
        }
        Ok(responses)
    }

    async fn wait(&mut self) -> Result<(), CallError> {
        let patience = self.answering.shared.desk.settings.patience;
        if self.waited >= patience {
            return Err(CallError::Stalled(patience));
        }
        tokio::time::sleep(self.pause).await;
        self.waited += self.pause;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        Ok(())
    }

    /// Asks one question of a round.
    async fn elicit(&mut self, key: &str, params: Value) -> Result<ElicitResult, CallError> {
        let broken = |error: crate::wire::WireError| CallError::Broken(error.to_string());
        let request = ElicitRequest::from_params(params).map_err(broken)?;
        let desk = self.answering.shared.desk.clone();
        let (url, id) = match request.wanted().map_err(broken)? {
            Wanted::Form { .. } => return Ok(desk.answer(&self.server, &request).await?),
            Wanted::Url { url, id } => (url, id),
        };
        let card = desk.card(&self.server, request.message(), url);
        let mut visit = desk.expect(id);
        if !self.visited.insert((key.to_owned(), url.to_owned())) {
            // The person has agreed to this one, and the server still waits for it: asking for
            // consent again would be asking the wrong thing.
            let _turn = desk.turn().await;
            let decision = desk.until_done(&card, &mut visit).await?;
            return Ok(desk.decided(decision));
        }
        let answered = desk.answer(&self.server, &request).await?;
        if answered.action() == Action::Accept {
            self.answering.shared.linger(card, visit);
        }
        Ok(answered)
    }

    /// Has the URLs visited without which the server does not answer the call.
    async fn visit_all(&mut self, error: ErrorData) -> Result<(), CallError> {
        let desk = self.answering.shared.desk.clone();
        let listed = error
            .data
            .as_ref()
            .and_then(|data| data.get("elicitations"));
        let listed = listed
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        let mut visits = Vec::new();
        for mut params in listed {
            if let Some(params) = params.as_object_mut() {
                // It can be nothing else.
                params.insert("mode".into(), "url".into());
            }
            let Ok(request) = ElicitRequest::from_params(params) else {
                return Err(CallError::Refused(error));
            };
            if let Ok(Wanted::Url { url, id }) = request.wanted() {
                let card = desk.card(&self.server, request.message(), url);
                // All before the first is opened, since the server may be quick.
                let known = (id.unwrap_or_default().to_owned(), url.to_owned());
                visits.push((card, desk.expect(id), known));
            }
        }
        if visits.is_empty() {
            return Err(CallError::Refused(error));
        }
        if !desk.present.modes().url {
            return Err(CallError::Undeclared("elicitation by URLs".to_owned()));
        }
        for (card, mut visit, known) in visits {
            let is_new = self.visited.insert(known);
            let decision = if is_new && !desk.admits(&self.server) {
                Decision::Refused
            } else {
                let _turn = desk.turn().await;
                let consent = if is_new {
                    desk.consent(&card).await?
                } else {
                    Decision::Accepted
                };
                match consent {
                    Decision::Accepted => desk.until_done(&card, &mut visit).await?,
                    refused => refused,
                }
            };
            match desk.decided(decision).action() {
                Action::Accept => {}
                Action::Decline => return Err(CallError::Declined),
                Action::Cancel => return Err(CallError::GivenUp),
            }
        }
        Ok(())
    }
}

impl<H: ClientHandler> Answering<H> {
    /// Has the other handler answer what is not for a person.
    async fn have_answered(
        &self,
        peer: &Peer<RoleClient>,
        method: &str,
        params: Value,
    ) -> Result<Value, CallError> {
        let declared = self.other.get_info().capabilities;
        let id = rmcp::model::RequestId::String(method.into());
        let context = RequestContext::new(id, peer.clone());
        let written = match method {
            SAMPLE if declared.sampling.is_some() => {
                let params: CreateMessageRequestParams = serde_json::from_value(params)
                    .map_err(|error| CallError::Broken(error.to_string()))?;
                let made = self.other.create_message(params, context).await;
                serde_json::to_value(made.map_err(unanswered)?)
            }
            ROOTS if declared.roots.is_some() => {
                let roots = self.other.list_roots(context).await;
                serde_json::to_value(roots.map_err(unanswered)?)
            }
            _ => return Err(CallError::Undeclared(method.to_owned())),
        };
        written.map_err(|error| CallError::Unanswered(error.to_string()))
    }
}

fn unanswered(error: ErrorData) -> CallError {
    CallError::Unanswered(error.message.into_owned())
}

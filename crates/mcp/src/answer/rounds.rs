//! Drives calls to completion: through rounds of questions and required URLs.
#![expect(deprecated, reason = "servers still ask for samples and roots")]

use std::collections::HashSet;
use std::time::Duration;

use entreat_wire::backoff::Backoff;
use entreat_wire::message::{
    Action, CREATE, ElicitMode, ElicitRequest, ElicitResult, InputRequired, ROOTS, SAMPLE,
    URL_REQUIRED,
};
use rmcp::model::{
    CallToolResult, ClientRequest, CreateMessageRequestParams, CustomRequest, ErrorData,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestContext, ServiceError};
use rmcp::{ClientHandler, RoleClient};
use serde_json::{Map, Value};

use super::handler::{Answering, has_rounds};
use super::queue::{Decision, QuestionError};
use super::raw::unwrap_raw;
use crate::in_flight::InFlight;

/// The pauses between rounds without questions.
const PAUSES: Backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));

/// Why a call has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The server responded with an error.
    #[error("the server returned an error: {}", .0.message)]
    Refused(ErrorData),
    /// The person declined a URL that the call requires.
    #[error("the call needs a page that was declined")]
    Declined,
    /// The person abandoned the call.
    #[error("the call was abandoned")]
    Abandoned,
    /// The server exceeded the limit of rounds.
    #[error("the call did not complete within {0} rounds of questions")]
    TooManyRounds(usize),
    /// The server exceeded the limit of time without questions.
    #[error("the server kept the call waiting for more than {} s", .0.as_secs())]
    Stalled(Duration),
    /// The result has a type that this client does not know.
    #[error("the server sent a result of the unknown type `{0}`")]
    UnknownResult(String),
    /// The server asked for something that this client did not declare.
    #[error("the server asks for `{0}`, which this client did not declare")]
    Undeclared(String),
    /// The result is malformed.
    #[error("the server's result cannot be used: {0}")]
    InvalidResult(String),
    /// A question of the server could not be answered.
    #[error("a question could not be answered: {0}")]
    Unanswered(String),
    /// The connection failed.
    #[error("the connection to the server failed")]
    Connection(#[source] ServiceError),
}

impl From<QuestionError> for CallError {
    fn from(error: QuestionError) -> Self {
        Self::Unanswered(error.to_string())
    }
}

impl<H: ClientHandler> Answering<H> {
    /// Calls a tool and answers its questions.
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
        serde_json::from_value(result).map_err(|error| CallError::InvalidResult(error.to_string()))
    }

    /// Sends a request that may ask, such as `prompts/get`, answers its questions, and returns the
    /// server's result unmodified.
    ///
    /// Dropping the future cancels the request at the server.
    pub async fn call(
        &self,
        peer: &Peer<RoleClient>,
        method: &str,
        params: Map<String, Value>,
    ) -> Result<Value, CallError> {
        let queue = &self.shared.queue;
        let mut abandoned = queue.abandoned.subscribe();
        let mut driver = CallDriver {
            answering: self,
            peer,
            server: self.server(peer),
            rounds: 0,
            pauses: PAUSES,
            waited: Duration::ZERO,
            visited: HashSet::new(),
        };
        let result = tokio::select! {
            biased;
            Ok(()) = abandoned.changed() => Err(CallError::Abandoned),
            result = driver.drive(method, params) => result,
        };
        // Ends prompts that still wait for this call.
        queue.calls_ended.send_modify(|calls| *calls += 1);
        result
    }
}

/// A call in progress.
struct CallDriver<'a, H> {
    answering: &'a Answering<H>,
    peer: &'a Peer<RoleClient>,
    server: String,
    rounds: usize,
    pauses: Backoff,
    waited: Duration,
    /// Agreed URLs, each with its key or elicitation id.
    visited: HashSet<(String, String)>,
}

impl<H: ClientHandler> CallDriver<'_, H> {
    async fn drive(
        &mut self,
        method: &str,
        original: Map<String, Value>,
    ) -> Result<Value, CallError> {
        let mut params = original.clone();
        loop {
            let result = match self.send(method, params).await {
                Ok(result) => result,
                Err(ServiceError::McpError(error))
                    if error.code.0 == URL_REQUIRED && !has_rounds(self.peer) =>
                {
                    self.count_round()?;
                    self.visit_all(error).await?;
                    params = original.clone();
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
                    let kind = kind.unwrap_or("not a string").to_owned();
                    return Err(CallError::UnknownResult(kind));
                }
            };
            let round =
                round.ok_or_else(|| CallError::InvalidResult("it is not an object".into()))?;
            params = original.clone();
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
        let tasks = self.answering.shared.tasks.clone();
        let mut sent = InFlight::new(handle, tasks, "the call was abandoned");
        sent.response().await.map(unwrap_raw)
    }

    fn count_round(&mut self) -> Result<(), CallError> {
        let limit = self.answering.shared.queue.settings.rounds;
        if self.rounds >= limit {
            return Err(CallError::TooManyRounds(limit));
        }
        self.rounds += 1;
        Ok(())
    }

    /// Answers the questions of a round, or backs off if there are none.
    async fn answer_round(
        &mut self,
        round: &InputRequired,
    ) -> Result<Map<String, Value>, CallError> {
        let mut responses = Map::new();
        let mut requests = round.requests().peekable();
        if requests.peek().is_none() {
            if round.state().is_none() {
                let problem = "it requires input but contains no requests and no state";
                return Err(CallError::InvalidResult(problem.into()));
            }
            self.wait().await?;
            return Ok(responses);
        }
        self.count_round()?;
        self.pauses.reset();
        self.waited = Duration::ZERO;
        for (key, request) in requests {
            let method = request.get("method").and_then(Value::as_str);
            let params = request.get("params").cloned().unwrap_or_default();
            let response = match method {
                Some(CREATE) => self.elicit(key, params).await?.into_value(),
                Some(method @ (SAMPLE | ROOTS)) => {
                    self.answering
                        .delegate_request(self.peer, method, params)
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
        let stall_timeout = self.answering.shared.queue.settings.stall_timeout;
        if self.waited >= stall_timeout {
            return Err(CallError::Stalled(stall_timeout));
        }
        let pause = self.pauses.next_pause();
        tokio::time::sleep(pause).await;
        self.waited += pause;
        Ok(())
    }

    /// Asks one question of a round.
    async fn elicit(&mut self, key: &str, params: Value) -> Result<ElicitResult, CallError> {
        let invalid =
            |error: entreat_wire::message::WireError| CallError::InvalidResult(error.to_string());
        let request = ElicitRequest::from_params(params).map_err(invalid)?;
        let queue = self.answering.shared.queue.clone();
        let (url, id) = match request.mode().map_err(invalid)? {
            ElicitMode::Form { .. } => return Ok(queue.answer(&self.server, &request).await?),
            ElicitMode::Url { url, id } => (url, id),
        };
        let card = queue.card(&self.server, request.message(), url);
        let mut visit = queue.expect_completion(id);
        if !self.visited.insert((key.to_owned(), url.to_owned())) {
            // The person has consented already, and the server still waits for completion: do not
            // ask for consent again.
            let _turn = queue.turn().await;
            let decision = queue.until_done(&card, &mut visit).await?;
            return Ok(queue.record_decision(decision));
        }
        let answered = queue.answer(&self.server, &request).await?;
        if answered.action() == Action::Accept {
            self.answering.shared.follow_up(card, visit);
        }
        Ok(answered)
    }

    /// Visits the URLs that the server requires before it accepts the call.
    async fn visit_all(&mut self, error: ErrorData) -> Result<(), CallError> {
        let queue = self.answering.shared.queue.clone();
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
                // The error lists URLs only.
                params.insert("mode".into(), "url".into());
            }
            let Ok(request) = ElicitRequest::from_params(params) else {
                return Err(CallError::Refused(error));
            };
            if let Ok(ElicitMode::Url { url, id }) = request.mode() {
                let card = queue.card(&self.server, request.message(), url);
                // Register all before opening the first, since completion may be reported
                // immediately.
                let visited = (id.unwrap_or_default().to_owned(), url.to_owned());
                visits.push((card, queue.expect_completion(id), visited));
            }
        }
        if visits.is_empty() {
            return Err(CallError::Refused(error));
        }
        if !queue.presenter.modes().url {
            return Err(CallError::Undeclared("elicitation by URLs".to_owned()));
        }
        for (card, mut visit, visited) in visits {
            let is_new = self.visited.insert(visited);
            let decision = if is_new && !queue.admits(&self.server) {
                Decision::Refused
            } else {
                let _turn = queue.turn().await;
                let consent = if is_new {
                    queue.consent(&card).await?
                } else {
                    Decision::Accepted
                };
                match consent {
                    Decision::Accepted => queue.until_done(&card, &mut visit).await?,
                    refused => refused,
                }
            };
            match queue.record_decision(decision).action() {
                Action::Accept => {}
                Action::Decline => return Err(CallError::Declined),
                Action::Cancel => return Err(CallError::Abandoned),
            }
        }
        Ok(())
    }
}

impl<H: ClientHandler> Answering<H> {
    /// Delegates a request that is not for a person to the other handler.
    async fn delegate_request(
        &self,
        peer: &Peer<RoleClient>,
        method: &str,
        params: Value,
    ) -> Result<Value, CallError> {
        let declared = self.other.get_info().capabilities;
        let id = rmcp::model::RequestId::String(method.into());
        let context = RequestContext::new(id, peer.clone());
        let response = match method {
            SAMPLE if declared.sampling.is_some() => {
                let params: CreateMessageRequestParams = serde_json::from_value(params)
                    .map_err(|error| CallError::InvalidResult(error.to_string()))?;
                let message = self.other.create_message(params, context).await;
                serde_json::to_value(message.map_err(unanswered)?)
            }
            ROOTS if declared.roots.is_some() => {
                let roots = self.other.list_roots(context).await;
                serde_json::to_value(roots.map_err(unanswered)?)
            }
            _ => return Err(CallError::Undeclared(method.to_owned())),
        };
        response.map_err(|error| CallError::Unanswered(error.to_string()))
    }
}

fn unanswered(error: ErrorData) -> CallError {
    CallError::Unanswered(error.message.into_owned())
}

//! Another Entreat service that keeps the questions nobody waits for.

use std::sync::Arc;
use std::time::Duration;

use entreat_mcp::{QuestionService, ServiceAsk, ServiceFuture, ServiceQuestion};
use entreat_service::rpc::Code;
use entreat_service::{CallError, ClientError, ControlClient};
use serde_json::{Value, json};

/// Timeout of a call, on top of any wait it asks for.
const CALL_TIMEOUT: Duration = Duration::from_secs(15);

/// Questions at another service.
#[derive(Clone)]
pub(super) struct ServiceQuestions {
    client: Arc<ControlClient>,
}

impl ServiceQuestions {
    pub(super) fn new(url: &str, key: Option<&str>) -> Result<Self, ClientError> {
        let client = Arc::new(ControlClient::new(url, key)?);
        Ok(Self { client })
    }

    /// Calls a method; `None` if the question does not exist.
    fn call(
        &self,
        method: &'static str,
        params: Value,
        wait: Duration,
    ) -> ServiceFuture<Option<Value>> {
        let client = self.client.clone();
        Box::pin(async move {
            match client.call(method, params, wait + CALL_TIMEOUT).await {
                Ok(result) => Ok(Some(result)),
                Err(CallError::Refused(refusal)) if refusal.code == Some(Code::NotFound) => {
                    Ok(None)
                }
                Err(error) => Err(error.explained(client.url())),
            }
        })
    }
}

impl QuestionService for ServiceQuestions {
    fn ask(&self, ask: ServiceAsk) -> ServiceFuture<ServiceQuestion> {
        let timeout = u64::try_from(ask.timeout.as_millis()).unwrap_or(u64::MAX);
        let mut params = json!({"mode": "form", "formDefinition": ask.form.definition(),
            "message": ask.message, "timeout": timeout, "durable": true,
            "metadata": ask.metadata});
        if let Some(name) = ask.introduced_as {
            params["introducedAs"] = name.into();
        }
        if let Some(respondent) = ask.respondent {
            params["respondent"] = respondent.into();
        }
        let is_default_timeout = ask.is_default_timeout;
        let client = self.client.clone();
        Box::pin(async move {
            let asked = if is_default_timeout {
                client
                    .create_with_allowed_timeout(params, CALL_TIMEOUT)
                    .await
            } else {
                client
                    .call("elicitation/create", params, CALL_TIMEOUT)
                    .await
            };
            let record = asked.map_err(|error| match error.timeout_limit() {
                Some((maximum, setting)) => format!(
                    "`timeout_seconds` must be at most {} for this service; its setting \
                     `{setting}`, for all askers or for this one, changes that.",
                    maximum / 1000
                ),
                None => error.explained(client.url()),
            })?;
            let text = |name: &str| record[name].as_str().map(str::to_owned);
            let (Some(id), Some(url)) = (text("elicitationId"), text("page")) else {
                return Err("The service has no pages.".to_owned());
            };
            Ok(ServiceQuestion { id, url })
        })
    }

    fn status(&self, id: &str, wait: Duration) -> ServiceFuture<Option<Value>> {
        let timeout = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let params = json!({"elicitationId": id, "timeout": timeout});
        match wait {
            Duration::ZERO => self.call("elicitation/status", json!({"elicitationId": id}), wait),
            wait => self.call("elicitation/await", params, wait),
        }
    }

    fn form(&self, id: &str) -> ServiceFuture<Value> {
        let question = json!({"elicitationId": id});
        let found = self.call("elicitation/question", question, Duration::ZERO);
        Box::pin(async move {
            let mut question = found.await?.unwrap_or_default();
            Ok(question["formDefinition"].take())
        })
    }

    fn cancel(&self, id: &str) -> ServiceFuture<Option<Value>> {
        let cancelled = self.call(
            "elicitation/cancel",
            json!({"elicitationId": id}),
            Duration::ZERO,
        );
        let now = self.status(id, Duration::ZERO);
        Box::pin(async move {
            // What had ended stays as it is.
            let _ = cancelled.await;
            now.await
        })
    }
}

//! Pages served by another Entreat service, for a program that serves none.
//!
//! A question of this program is also created on that service, through the control API, and its
//! outcome there is applied here. If the question settles here first, because its call was dropped
//! or timed out, it is cancelled there. The local record is authoritative.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use entreat_core::{CancelReason, ElicitationId, ReferenceKind};
use entreat_engine::{ActError, Elicitation, Links, NoPage, PageUrlFuture, RespondentAuth};
use entreat_wire::http::ClientError;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio_util::task::TaskTracker;

use crate::client::{CallError, ControlClient};

/// Timeout of a call, on top of any wait it asks for.
const CALL_TIMEOUT: Duration = Duration::from_secs(15);
/// How long one `elicitation/await` waits for an outcome.
const AWAIT_TIMEOUT: Duration = Duration::from_secs(25);
/// Delay before retrying an unreachable service.
const RETRY_DELAY: Duration = Duration::from_secs(2);

/// Pages served by another Entreat service. Clones share one state.
#[derive(Clone)]
pub struct RemotePages {
    inner: Arc<Inner>,
}

struct Inner {
    client: ControlClient,
    knows_people: bool,
    /// Page URLs of open questions.
    opened: Mutex<HashMap<ElicitationId, String>>,
    tasks: TaskTracker,
}

impl RemotePages {
    /// Uses the service at this URL, authenticated by a key if it needs one.
    pub fn new(url: &str, key: Option<&str>) -> Result<Self, ClientError> {
        let inner = Inner {
            client: ControlClient::new(url, key)?,
            knows_people: false,
            opened: Mutex::default(),
            tasks: TaskTracker::new(),
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Declares that people sign in at that service under the names of our principals. Without
    /// this, its pages are for people on this machine only.
    #[must_use]
    pub fn with_people(mut self) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.knows_people = true;
        }
        self
    }

    /// Waits until questions that settled here are cancelled there. Call it after shutting down the
    /// engine, which ends the tasks of all other questions.
    pub async fn close(&self) {
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
    }

    async fn open_page(&self, question: Elicitation) -> Result<String, NoPage> {
        let id = question.id();
        if let Some(page) = self.page(id) {
            return Ok(page);
        }
        let asked = question.outcome_within(Duration::ZERO).await;
        let asked = asked.map_err(|error| NoPage(error.to_string()))?;
        let request = &asked.record().request;
        let form = request.subject.form();
        let form = form.ok_or_else(|| NoPage("it is not a form".to_owned()))?;
        let time = u64::try_from(asked.lifecycle().timeout().as_millis()).unwrap_or(u64::MAX);
        let mut params = json!({"mode": "form", "formDefinition": form.definition(),
            "timeout": time, "durable": true, "idempotencyKey": id,
            "textFormat": request.text_format().as_str()});
        let extras = request.extras.as_ref();
        if let Some(extras) = extras
            && let Some(message) = extras.message()
        {
            params["message"] = message.into();
            if extras.confidential_message.is_some() {
                params["messageConfidential"] = true.into();
            }
        }
        if let Some(name) = extras.and_then(|it| it.introduced_as.as_deref()) {
            params["introducedAs"] = name.into();
        }
        if let Some(respondent) = extras.and_then(|it| it.respondent.as_deref()) {
            params["respondent"] = respondent.into();
        }
        if let Some(auth) = extras.and_then(|it| it.respondent_auth.as_ref()) {
            params["respondentAuth"] = wanted_sign_in(auth);
        }
        let client = &self.inner.client;
        // The deadline here is for a person, who may take as long as there is a page.
        let made = client
            .create_with_allowed_timeout(params, CALL_TIMEOUT)
            .await;
        let made = made.map_err(|error| {
            let service = client.url().host_str();
            tracing::warn!(%id, service, %error, "a question could not be created at another service");
            NoPage(error.explained(client.url()))
        })?;
        let text = |name: &str| made[name].as_str().map(str::to_owned);
        let (Some(remote_id), Some(page)) = (text("elicitationId"), text("page")) else {
            return Err(NoPage(format!(
                "the service at {} has no pages",
                client.url()
            )));
        };
        let is_new = {
            let mut opened = self.inner.opened.lock();
            opened.insert(id, page.clone()).is_none()
        };
        if is_new {
            let following = self.clone().follow(question, remote_id);
            self.inner.tasks.spawn(following);
        }
        Ok(page)
    }

    /// Applies the remote outcome here, or cancels the remote question if this one settles first.
    async fn follow(self, question: Elicitation, remote_id: String) {
        let mut settled = question.outcome();
        loop {
            let wait = u64::try_from(AWAIT_TIMEOUT.as_millis()).unwrap_or(u64::MAX);
            let params = json!({"elicitationId": remote_id, "timeout": wait});
            let timeout = AWAIT_TIMEOUT + CALL_TIMEOUT;
            let waiting = self.inner.client.call("elicitation/await", params, timeout);
            let record = tokio::select! {
                biased;
                here = &mut settled => {
                    // A shutdown of the engine settles nothing.
                    if here.is_ok() {
                        self.cancel_remote(&remote_id).await;
                    }
                    break;
                }
                record = waiting => record,
            };
            match record {
                Ok(record) if is_open(&record) => {}
                Ok(record) => {
                    settle(&question, &record).await;
                    break;
                }
                Err(error @ CallError::Refused(_)) => {
                    tracing::warn!(%error, "a page of another service is gone");
                    break;
                }
                Err(error @ (CallError::Exchange(_) | CallError::Foreign(_))) => {
                    tracing::debug!(%error, "another service does not respond");
                    tokio::time::sleep(RETRY_DELAY).await;
                }
            }
        }
        self.inner.opened.lock().remove(&question.id());
    }

    async fn cancel_remote(&self, remote_id: &str) {
        let params = json!({"elicitationId": remote_id});
        let client = &self.inner.client;
        let cancelled = client.call("elicitation/cancel", params, CALL_TIMEOUT);
        if let Err(error) = cancelled.await {
            // It may have settled concurrently; otherwise its deadline ends it.
            tracing::debug!(%error, "a question was not withdrawn");
        }
    }
}

impl Links for RemotePages {
    fn page(&self, id: ElicitationId) -> Option<String> {
        self.inner.opened.lock().get(&id).cloned()
    }

    fn open(&self, question: Elicitation) -> PageUrlFuture {
        let pages = self.clone();
        Box::pin(async move { pages.open_page(question).await })
    }

    fn needs_respondent(&self) -> bool {
        self.inner.knows_people
    }
}

impl std::fmt::Debug for RemotePages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemotePages")
            .field("url", &self.inner.client.url().as_str())
            .finish_non_exhaustive()
    }
}

/// What a sign-in has to be, as the control API takes it.
fn wanted_sign_in(auth: &RespondentAuth) -> Value {
    let mut wanted = json!({});
    if let Some(seconds) = auth.max_age {
        wanted["maxAge"] = seconds.into();
    }
    if let Some(acr) = auth.acr.as_deref() {
        wanted["acr"] = acr.into();
    }
    wanted
}

fn is_open(record: &Value) -> bool {
    matches!(record["status"].as_str(), Some("pending" | "active"))
}

/// Settles a question with the outcome of its remote record.
async fn settle(question: &Elicitation, record: &Value) {
    let settled = match record["status"].as_str() {
        Some("completed") => {
            // The other service has checked its files, and the links are its own.
            let vouched = question.clone().accepting_references(ReferenceKind::Url);
            match vouched.submit(&record["result"]).await {
                Err(ActError::Invalid(_)) => question.cancel(CancelReason::FormInvalidated).await,
                other => other,
            }
        }
        Some("declined") => question.decline().await,
        Some("cancelled") => {
            let reason = serde_json::from_value(record["reason"].clone());
            let reason = reason.unwrap_or(CancelReason::AskerCancelled);
            question.cancel(reason).await
        }
        // The local deadline ends it.
        _ => return,
    };
    if let Err(error) = settled {
        let id = question.id();
        tracing::debug!(%id, %error, "a question had ended before its page did");
    }
}

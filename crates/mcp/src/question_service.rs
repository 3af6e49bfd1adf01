//! Another service that keeps the questions nobody waits for, so that they outlive this process.

use std::pin::Pin;
use std::time::Duration;

use entreat_core::Form;
use serde_json::Value;

/// The future of a call to the service. The error is in words for a model.
pub type ServiceFuture<T> = Pin<Box<dyn Future<Output = Result<T, String>> + Send>>;

/// A question for the service.
#[derive(Debug)]
pub struct ServiceAsk {
    /// What is asked.
    pub form: Form,
    /// Why it is asked.
    pub message: String,
    /// How long the person has.
    pub timeout: Duration,
    /// Whether nobody asked for this time, so that a service may give less.
    pub is_default_timeout: bool,
    /// The name that the asking client gives itself.
    pub introduced_as: Option<String>,
    /// Who may answer, if the service identifies people.
    pub respondent: Option<String>,
    /// Opaque data, returned with the status.
    pub metadata: Value,
}

/// A question at the service.
#[derive(Debug)]
pub struct ServiceQuestion {
    /// Its id there.
    pub id: String,
    /// The URL of its page.
    pub url: String,
}

/// Asks at another service, and reads what became of it. Records are those of the control API.
pub trait QuestionService: Send + Sync {
    /// Creates a question.
    fn ask(&self, ask: ServiceAsk) -> ServiceFuture<ServiceQuestion>;

    /// Returns the record of a question, after waiting for its outcome; `None` if there is none.
    fn status(&self, id: &str, wait: Duration) -> ServiceFuture<Option<Value>>;

    /// Returns the form of a question.
    fn form(&self, id: &str) -> ServiceFuture<Value>;

    /// Withdraws a question and returns its record; `None` if there is none.
    fn cancel(&self, id: &str) -> ServiceFuture<Option<Value>>;
}

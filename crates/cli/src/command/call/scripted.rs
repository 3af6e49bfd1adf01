//! Answers from a file, used in order.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use entreat::mcp::answer::{
    Answer, Consent, FormQuestion, Presenter, PresenterError, UrlCard, VisitReply,
};
use entreat::mcp::wire::{Action, ElicitResult};
use serde_json::{Map, Value};

use crate::output;

/// How long to wait for the server to report that a URL is done. No browser is opened, so the call
/// then continues as if the person had finished there.
const URL_GRACE: Duration = Duration::from_secs(2);

type Reply<'a, T> = std::pin::Pin<Box<dyn Future<Output = Result<T, PresenterError>> + Send + 'a>>;

/// Results for the server's questions.
pub(super) struct ScriptedAnswers {
    state: Mutex<State>,
}

struct State {
    left: VecDeque<ElicitResult>,
    used: usize,
    /// Whether questions are refused altogether.
    refuses: bool,
    /// The first error in the answers.
    error: Option<String>,
}

impl ScriptedAnswers {
    /// Parses a JSON array of results.
    pub(super) fn parse(text: &str) -> anyhow::Result<Self> {
        let list: Value = serde_json::from_str(text).context("not valid JSON")?;
        let Value::Array(list) = list else {
            bail!("expected a JSON array of results, such as [{{\"action\": \"decline\"}}]");
        };
        let mut left = VecDeque::new();
        for (index, result) in list.into_iter().enumerate() {
            let number = index + 1;
            let extra = result.as_object().and_then(|result| {
                let mut keys = result.keys();
                keys.find(|key| !matches!(key.as_str(), "action" | "content" | "_meta"))
            });
            if let Some(extra) = extra {
                bail!("result {number}: unknown key `{}`", output::sanitize(extra));
            }
            let result = ElicitResult::from_value(result)
                .with_context(|| format!("result {number} is invalid"))?;
            let content = result.content();
            ensure!(
                content.is_none_or(Value::is_object),
                "result {number}: `content` is not an object"
            );
            ensure!(
                content.is_none() || result.action() == Action::Accept,
                "result {number}: only `accept` has `content`"
            );
            left.push_back(result);
        }
        let state = State {
            left,
            used: 0,
            refuses: false,
            error: None,
        };
        Ok(Self {
            state: Mutex::new(state),
        })
    }

    /// No answers: a question is an error.
    pub(super) fn none() -> Self {
        let state = State {
            left: VecDeque::new(),
            used: 0,
            refuses: true,
            error: None,
        };
        Self {
            state: Mutex::new(state),
        }
    }

    /// Fails if an answer was missing or invalid.
    pub(super) fn check_used(&self) -> anyhow::Result<()> {
        match &self.lock().error {
            Some(error) => bail!("{error}"),
            None => Ok(()),
        }
    }

    /// Fails unless every answer was used.
    pub(super) fn check_all_used(&self) -> anyhow::Result<()> {
        let state = self.lock();
        let (left, used) = (state.left.len(), state.used);
        ensure!(
            left == 0,
            "too many answers: the server asked {used} times; unused answers: {left}"
        );
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn next(&self, server: &str, message: &str) -> Result<ElicitResult, PresenterError> {
        let mut state = self.lock();
        state.used += 1;
        if let Some(result) = state.left.pop_front() {
            return Ok(result);
        }
        let number = state.used;
        let (server, message) = (output::sanitize(server), output::sanitize(message));
        let error = if state.refuses {
            format!(
                "the server asks a question, which --no-input forbids: {server} asks: {message}"
            )
        } else {
            format!("no answer for question {number}: {server} asks: {message}")
        };
        Err(state.refuse(error))
    }
}

impl State {
    fn refuse(&mut self, error: String) -> PresenterError {
        // The first error is the cause of the others.
        self.error.get_or_insert_with(|| error.clone());
        PresenterError::new(error)
    }
}

impl Presenter for ScriptedAnswers {
    fn form<'a>(&'a self, question: &'a FormQuestion) -> Reply<'a, Answer> {
        let answer = || {
            if !question.errors.is_empty() {
                let mut state = self.lock();
                let field_errors = question.errors.iter();
                let errors: Vec<_> = field_errors
                    .map(|error| format!("{}: {}", error.field, error.message))
                    .collect();
                let number = state.used;
                let errors = errors.join("; ");
                let errors = output::sanitize(&errors);
                return Err(state.refuse(format!("answer {number} is invalid: {errors}")));
            }
            let result = self.next(&question.server, &question.message)?;
            Ok(match result.action() {
                Action::Accept => Answer::Accept(merged(&question.draft, result.content())),
                Action::Decline => Answer::Decline,
                Action::Cancel => Answer::Cancel,
            })
        };
        Box::pin(std::future::ready(answer()))
    }

    fn consent<'a>(&'a self, card: &'a UrlCard) -> Reply<'a, Consent> {
        let consent = || {
            let result = self.next(&card.server, &card.message)?;
            let mut state = self.lock();
            let number = state.used;
            if result.action() == Action::Accept && !card.may_be_opened() {
                let why: Vec<_> = card.warnings().collect();
                let url = output::sanitize(&card.url);
                let error = format!("answer {number} accepts {url}: {}", why.join(" "));
                return Err(state.refuse(error));
            }
            if result.content().is_some() {
                let error = format!("answer {number} is for a URL, which takes no `content`");
                return Err(state.refuse(error));
            }
            Ok(match result.action() {
                Action::Accept => Consent::Open,
                Action::Decline => Consent::Decline,
                Action::Cancel => Consent::Cancel,
            })
        };
        Box::pin(std::future::ready(consent()))
    }

    fn open<'a>(&'a self, _: &'a UrlCard) -> Reply<'a, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn opened<'a>(&'a self, _: &'a UrlCard) -> Reply<'a, VisitReply> {
        Box::pin(async {
            tokio::time::sleep(URL_GRACE).await;
            Ok(VisitReply::Done)
        })
    }

    fn notice(&self, line: &str) {
        tracing::info!("{line}");
    }
}

/// Merges the content of a result over the question's defaults.
fn merged(defaults: &Map<String, Value>, content: Option<&Value>) -> Map<String, Value> {
    let mut filled = defaults.clone();
    if let Some(Value::Object(content)) = content {
        for (key, value) in content {
            filled.insert(key.clone(), value.clone());
        }
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_file_is_told_with_its_place() {
        let error = |text| format!("{:#}", ScriptedAnswers::parse(text).err().unwrap());
        assert_eq!(
            error(r#"{"action": "accept"}"#),
            "expected a JSON array of results, such as [{\"action\": \"decline\"}]"
        );
        assert_eq!(
            error(r#"[{"action": "decline"}, {"action": "yes"}]"#),
            "result 2 is invalid: result.action: is none of `accept`, `decline` and `cancel`"
        );
        assert_eq!(
            error(r#"[{"action": "accept", "content": 7}]"#),
            "result 1: `content` is not an object"
        );
        assert_eq!(
            error(r#"[{"action": "decline", "content": {}}]"#),
            "result 1: only `accept` has `content`"
        );
        assert_eq!(
            error(r#"[{"action": "accept", "contents": {}}]"#),
            "result 1: unknown key `contents`"
        );
    }
}

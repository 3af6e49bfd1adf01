//! Calls of servers of 2026-07-28 whose questions are not all the client's to answer.

use std::sync::Arc;
use std::time::Duration;

use entreat_wire::backoff::Backoff;
use entreat_wire::message::{CREATE, ROOTS, SAMPLE};
use futures_util::future::join_all;

use crate::ask::{Question, answer};
use crate::json::{RawObject, quoted};
use crate::recipient::Recipient;
use crate::reply::Reply;
use crate::session::{MAX_QUESTION, NO_ROOTS, Session};

/// The pauses between rounds without questions.
const PAUSES: Backoff = Backoff::new(Duration::from_millis(250), Duration::from_secs(5));

/// How many questions one round may have.
const MAX_QUESTIONS: usize = 100;

/// A round of a server: its questions by key, and its state.
pub(crate) struct Round {
    entries: Vec<(String, String, String)>,
    state: Option<String>,
    /// The length of its text.
    size: usize,
}

impl Round {
    /// Reads a result; `None` if it is the end of the call.
    pub(crate) fn of(result: &str) -> Option<Self> {
        memchr::memmem::find(result.as_bytes(), b"input_required")?;
        let size = result.len();
        let result = RawObject::parse(result)?;
        if result.string("resultType")? != "input_required" {
            return None;
        }
        let mut entries = Vec::new();
        if let Some(requests) = result.object("inputRequests") {
            for (key, request) in requests.iter() {
                let request = RawObject::parse(request)?;
                let params = request.get("params").unwrap_or("{}").to_owned();
                entries.push((key.to_owned(), request.string("method")?, params));
            }
        }
        Some(Self {
            entries,
            // Absent, empty and present differ.
            state: result.get("requestState").map(str::to_owned),
            size,
        })
    }

    /// Whether it asks nothing: the server only wants to be called again.
    fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether it asks for a URL.
    fn asks_for(&self, url: &str) -> bool {
        let mut asked = self.questions().filter(|(method, _)| *method == CREATE);
        asked.any(|(_, params)| {
            let asked = RawObject::parse(params).and_then(|params| params.string("url"));
            asked.is_some_and(|asked| asked == url)
        })
    }

    /// The questions: method and parameters.
    pub(crate) fn questions(&self) -> impl Iterator<Item = (&str, &str)> {
        let entries = self.entries.iter();
        entries.map(|(_, method, params)| (method.as_str(), params.as_str()))
    }
}

/// Drives a call through its rounds, from its first result if there is one.
pub(crate) async fn drive(
    session: &Arc<Session>,
    recipient: &Recipient,
    method: &str,
    params: &str,
    first: Option<Round>,
) -> Reply {
    let mut round = first;
    let mut rounds = 0;
    let mut pauses = PAUSES;
    let mut asked_at = recipient.now();
    let Some(base) = RawObject::parse(params) else {
        return Reply::not_an_object();
    };
    let mut base = base;
    base.retain(|name| !matches!(name, "inputResponses" | "requestState"));
    loop {
        let mut next = base.clone();
        let mut reservation = None;
        if let Some(round) = &round {
            // A person may take hours for it.
            reservation = session.memory.reserve(round.size);
            if reservation.is_none() {
                return Reply::too_many_waiting();
            }
            if round.is_empty() {
                if recipient.now().since(asked_at) >= recipient.settings().park {
                    let message = "the server has neither asked nor ended for too long";
                    return Reply::may_have_run(message, "too_many_rounds");
                }
                recipient.sleep(pauses.next_pause()).await;
            } else {
                pauses.reset();
                rounds += 1;
                if round.entries.len() > MAX_QUESTIONS {
                    let message = "the server asks more than 100 questions at once";
                    return Reply::failed(message, "too_many_questions");
                }
                if rounds > recipient.settings().rounds {
                    return Reply::failed("the server asks in too many rounds", "too_many_rounds");
                }
                match answer_all(recipient, &round.entries).await {
                    Ok(responses) => next.set("inputResponses", responses.to_string()),
                    Err(error) => return error,
                }
                asked_at = recipient.now();
            }
            if let Some(state) = &round.state {
                next.set("requestState", state.clone());
            }
        }
        if recipient.cancelled().is_cancelled() {
            return Reply::call_cancelled();
        }
        let reply = match session.request(method, &next.to_string()).await {
            Reply::Error(error) => Reply::Error(session.with_remedy(&error).unwrap_or(error)),
            result @ Reply::Result(_) => result,
        };
        drop(reservation);
        let next = match &reply {
            Reply::Result(result) => Round::of(result),
            Reply::Error(_) => None,
        };
        // A round without questions waits for what the person does at the URL.
        if next.as_ref().is_none_or(|round| !round.is_empty()) {
            recipient.end_visits(|url| next.as_ref().is_some_and(|round| round.asks_for(url)));
        }
        if next.is_none() {
            recipient.answers_used(&reply);
            return reply;
        }
        round = next;
    }
}

/// Answers the questions of a round. Clients of 2025 get one after the other, others all at once.
async fn answer_all(
    recipient: &Recipient,
    entries: &[(String, String, String)],
) -> Result<RawObject<'static>, Reply> {
    let answers = if recipient.has_rounds() {
        join_all(
            entries
                .iter()
                .map(|(_, method, params)| one(recipient, method, params)),
        )
        .await
    } else {
        let mut answers = Vec::new();
        for (_, method, params) in entries {
            answers.push(one(recipient, method, params).await);
        }
        answers
    };
    let mut responses = RawObject::default();
    for ((key, ..), reply) in entries.iter().zip(answers) {
        match reply {
            Reply::Result(result) => responses.set(key, result),
            // The version has no errors among answers.
            error @ Reply::Error(_) => return Err(error),
        }
    }
    Ok(responses)
}

async fn one(recipient: &Recipient, method: &str, params: &str) -> Reply {
    let can = recipient.capabilities();
    if params.len() > MAX_QUESTION && method != SAMPLE {
        return Reply::question_too_large();
    }
    match method {
        CREATE => match Question::read(params) {
            Ok(question) => answer(recipient, &question).await,
            Err(error) => error,
        },
        SAMPLE if can.sampling => recipient.push(method, params).await,
        ROOTS if can.roots => match recipient.push(method, params).await {
            Reply::Result(result) => Reply::Result(recipient.with_configured_roots(&result)),
            error @ Reply::Error(_) => error,
        },
        ROOTS if recipient.has_configured_roots() => {
            Reply::Result(recipient.with_configured_roots(NO_ROOTS))
        }
        _ => {
            let server = quoted(&recipient.server());
            let message =
                format!("the server {server} asks for {method}, which the client does not declare");
            Reply::failed(&message, "undeclared")
        }
    }
}

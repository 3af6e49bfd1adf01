//! One question of an upstream: which way it reached a person, and how it ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use memchr::memmem::find;

use super::{GaugeGuard, Observed};
use crate::json::RawObject;
use crate::page_asker::PageDecision;
use crate::reply::{Reply, action_in};

/// How a question reached a person, at last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// It did not.
    None,
    /// In the client's own form.
    Form,
    /// By a URL that the client showed.
    Url,
    /// On a page that was opened in the browser of this machine.
    Page,
    /// By a link in the result of a tool.
    Link,
}

/// How a question ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QuestionOutcome {
    Accept,
    Decline,
    Cancel,
    Timeout,
    Error,
    /// Nobody waits for the answer any more.
    Withdrawn,
    /// The client has it, and its answer passes with its next request.
    Passed,
}

impl Way {
    pub(super) const COUNT: usize = 5;
    const ALL: [Self; Self::COUNT] = [Self::None, Self::Form, Self::Url, Self::Page, Self::Link];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Form => "form",
            Self::Url => "url",
            Self::Page => "page",
            Self::Link => "link",
        }
    }

    /// The way of a question that the client gets as it came.
    pub(crate) fn of_native(params: &str) -> Self {
        let mode = RawObject::parse(params).and_then(|params| params.string("mode"));
        if mode.as_deref() == Some("url") {
            Self::Url
        } else {
            Self::Form
        }
    }
}

impl QuestionOutcome {
    pub(super) const COUNT: usize = 7;

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Decline => "decline",
            Self::Cancel => "cancel",
            Self::Timeout => "timeout",
            Self::Error => "error",
            Self::Withdrawn => "withdrawn",
            Self::Passed => "passed",
        }
    }

    fn of(reply: &Reply) -> Self {
        match reply {
            Reply::Result(result) => {
                let action = action_in(result);
                match action.as_deref() {
                    Some("accept") => Self::Accept,
                    Some("decline") => Self::Decline,
                    Some("cancel") => Self::Cancel,
                    Some(_) | None => Self::Error,
                }
            }
            Reply::Error(error) if find(error.as_bytes(), b"\"timeout\"").is_some() => {
                Self::Timeout
            }
            Reply::Error(_) => Self::Error,
        }
    }
}

/// Looks at one question until its end.
pub(crate) struct QuestionWatch {
    observed: Option<Arc<Observed>>,
    way: AtomicU8,
    _open: Option<GaugeGuard>,
}

impl QuestionWatch {
    pub(crate) fn new(observed: Option<Arc<Observed>>) -> Self {
        let open = observed
            .clone()
            .map(|observed| GaugeGuard::new(observed, |metrics| &metrics.questions_open));
        Self {
            observed,
            way: AtomicU8::new(Way::None as u8),
            _open: open,
        }
    }

    /// Notes the way that it takes; the last one counts.
    pub(crate) fn by(&self, way: Way) {
        self.way.store(way as u8, Ordering::Relaxed);
    }

    /// Notes what the server gets.
    pub(crate) fn ended(mut self, reply: &Reply) {
        self.count(QuestionOutcome::of(reply));
    }

    /// Notes how the person decided, if the question reached one.
    pub(crate) fn decided(mut self, decided: Option<&PageDecision>) {
        self.count(match decided {
            Some(PageDecision::Answered(_)) => QuestionOutcome::Accept,
            Some(PageDecision::Declined) => QuestionOutcome::Decline,
            Some(PageDecision::Cancelled) => QuestionOutcome::Cancel,
            Some(PageDecision::TimedOut) => QuestionOutcome::Timeout,
            Some(PageDecision::Withdrawn) => QuestionOutcome::Withdrawn,
            Some(PageDecision::Invalid) | None => QuestionOutcome::Error,
        });
    }

    /// Notes that the client answers it by itself.
    pub(crate) fn passed(mut self) {
        self.count(QuestionOutcome::Passed);
    }

    fn count(&mut self, answered: QuestionOutcome) {
        if let Some(observed) = self.observed.take() {
            let way = usize::from(self.way.load(Ordering::Relaxed));
            let way = Way::ALL.get(way).copied().unwrap_or(Way::None);
            observed.metrics.asked(way, answered);
        }
    }
}

impl Drop for QuestionWatch {
    fn drop(&mut self) {
        self.count(QuestionOutcome::Withdrawn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_question_is_told_by_the_reply() {
        let of = |result: &str| QuestionOutcome::of(&Reply::Result(result.to_owned()));
        assert_eq!(
            of(r#"{"action":"accept","content":{}}"#),
            QuestionOutcome::Accept
        );
        assert_eq!(of(r#"{"action":"decline"}"#), QuestionOutcome::Decline);
        assert_eq!(of("{}"), QuestionOutcome::Error);
        let failed = QuestionOutcome::of(&Reply::failed("nobody answered in time", "timeout"));
        assert_eq!(failed, QuestionOutcome::Timeout);
        let failed = QuestionOutcome::of(&Reply::failed("no", "not_shown"));
        assert_eq!(failed, QuestionOutcome::Error);
    }

    #[test]
    fn ways_are_found_by_their_numbers() {
        for (number, way) in Way::ALL.into_iter().enumerate() {
            assert_eq!(way as usize, number);
        }
    }
}

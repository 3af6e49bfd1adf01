//! What has to happen, by section 6.1 of the specification.

use std::fmt;

use entreat_core::schema::Era;
use entreat_core::{CancelReason, Outcome};

use crate::axes::{Ending, Kind};

/// What happened in a cell.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// What the person was shown, in order.
    pub(crate) shown: Vec<Shown>,
    /// Whether the server closed the client's dialog.
    pub(crate) is_closed: bool,
    /// Whether the server notified the client that the page is done.
    pub(crate) is_completed: bool,
    /// The tool's final result, if the client was still connected.
    pub(crate) said: Option<String>,
    /// The outcomes of the questions in the engine.
    pub(crate) kept: Vec<Outcome>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    Form,
    /// The form with the errors of the last answer.
    FormAgain,
    /// The address of a page, shown by the client.
    Url,
    /// The address of a page, in the result of the tool.
    Link,
}

/// How a question reaches the person.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Form,
    Page,
    Link,
}

fn way(era: Era, kind: Kind) -> Way {
    match (era, kind) {
        (_, Kind::None) => Way::Link,
        // That version has no modes: a client with elicitation supports forms.
        (Era::V2025_06_18, _) | (_, Kind::Form | Kind::Both) => Way::Form,
        (_, Kind::Url) => Way::Page,
    }
}

pub(crate) fn expected(era: Era, kind: Kind, ending: Ending) -> Seen {
    let way = way(era, kind);
    let has_rounds = era == Era::V2026_07_28;
    // The call has returned a link or a round, so nothing waits in it.
    let has_returned = has_rounds || way == Way::Link;
    let shown = match (way, ending) {
        (Way::Form, Ending::InvalidThenValid) => vec![Shown::Form, Shown::FormAgain],
        (Way::Form, _) => vec![Shown::Form],
        // On a page, the page itself asks again.
        (Way::Page, _) => vec![Shown::Url],
        (Way::Link, _) => vec![Shown::Link],
    };
    let outcome = match ending {
        Ending::Accept | Ending::InvalidThenValid => Outcome::Completed,
        Ending::Decline => Outcome::Declined,
        Ending::Cancel => Outcome::Cancelled(CancelReason::UserCancelled),
        Ending::Timeout => Outcome::TimedOut,
        // A disconnected client may return with the state or the question's id; otherwise the
        // deadline ends it.
        Ending::Disconnect if has_returned => Outcome::TimedOut,
        Ending::Disconnect => Outcome::Cancelled(CancelReason::ClientDisconnected),
    };
    // With a form and in rounds, everything is in the client's state.
    let is_kept = !(has_rounds && way == Way::Form);
    let said = match ending {
        Ending::Accept | Ending::InvalidThenValid => Some("answered Ada"),
        Ending::Decline => Some("declined"),
        Ending::Cancel => Some("cancelled"),
        Ending::Timeout => Some("timed out"),
        Ending::Disconnect => None,
    };
    let is_answered = matches!(ending, Ending::Accept | Ending::InvalidThenValid);
    Seen {
        shown,
        // In rounds, a server cannot close the client's dialog.
        is_closed: ending == Ending::Timeout && !has_returned,
        // Nor is there an id to notify about.
        is_completed: way == Way::Page && !has_rounds && is_answered,
        said: said.map(str::to_owned),
        kept: if is_kept { vec![outcome] } else { Vec::new() },
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for shown in &self.shown {
            f.write_str(match shown {
                Shown::Form => "form: ",
                Shown::FormAgain => "again: ",
                Shown::Url => "url: ",
                Shown::Link => "link: ",
            })?;
        }
        match (&self.said, self.kept.as_slice()) {
            (Some(said), _) => f.write_str(said)?,
            (None, []) => f.write_str("gone, nothing kept")?,
            (None, [Outcome::TimedOut]) => f.write_str("gone, then timed out")?,
            (None, [Outcome::Cancelled(_)]) => f.write_str("gone, cancelled")?,
            (None, others) => write!(f, "gone, {others:?}")?,
        }
        f.write_str(if self.is_closed { ", closed" } else { "" })
    }
}

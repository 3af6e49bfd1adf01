//! What has to happen, by section 6.1 of the specification.

use std::fmt;

use entreat_core::schema::Era;
use entreat_core::{CancelReason, Outcome};

use crate::axes::{Ending, Kind};

/// What happened in a cell.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// What the person was shown, in that order.
    pub(crate) shown: Vec<Shown>,
    /// Whether the server closed the client's dialog.
    pub(crate) is_closed: bool,
    /// Whether the server told the client that the page is done with.
    pub(crate) is_completed: bool,
    /// What the tool said in the end, if anybody was there to hear it.
    pub(crate) said: Option<String>,
    /// How the questions ended that the engine kept.
    pub(crate) kept: Vec<Outcome>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    Form,
    /// The form with what was wrong with the last answer.
    FormAgain,
    /// The address of a page, by the client.
    Url,
    /// The address of a page, in the result of the tool.
    Link,
}

/// How a question gets to the person.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Form,
    Page,
    Link,
}

fn way(era: Era, kind: Kind) -> Way {
    match (era, kind) {
        (_, Kind::None) => Way::Link,
        // That era has no modes: a client that can be asked at all shows forms.
        (Era::V2025_06_18, _) | (_, Kind::Form | Kind::Both) => Way::Form,
        (_, Kind::Url) => Way::Page,
    }
}

pub(crate) fn expected(era: Era, kind: Kind, ending: Ending) -> Seen {
    let way = way(era, kind);
    let has_rounds = era == Era::V2026_07_28;
    // The call has been answered, with a link or with a round, and nobody waits in it.
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
        // Whoever went away may come again with the state, or the name of the question; if not,
        // the deadline ends it.
        Ending::Disconnect if has_returned => Outcome::TimedOut,
        Ending::Disconnect => Outcome::Cancelled(CancelReason::ClientDisconnected),
    };
    // Over a form and in rounds, everything is in the state that the client holds.
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
        // In rounds a server has no say in the client's dialog.
        is_closed: ending == Ending::Timeout && !has_returned,
        // Nor is there an id by which a page could be told of.
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

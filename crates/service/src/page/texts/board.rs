//! The texts of the board.

pub(super) mod de;
pub(super) mod en;

use entreat_core::{CancelReason, RoughTime};

use super::NoticeTexts;

/// All texts of the board in a language.
pub(in crate::page) struct BoardTexts {
    pub(in crate::page) title: &'static str,
    pub(in crate::page) open: &'static str,
    pub(in crate::page) history: &'static str,
    pub(in crate::page) acting_as: &'static str,
    pub(in crate::page) leave: &'static str,
    pub(in crate::page) skip: &'static str,
    /// The page for everybody who is no operator.
    pub(in crate::page) needs_operator: NoticeTexts,
    pub(in crate::page) is_no_operator: &'static str,
    pub(in crate::page) key: &'static str,
    pub(in crate::page) key_hint: &'static str,
    pub(in crate::page) enter: &'static str,
    pub(in crate::page) wrong_key: &'static str,
    /// The columns.
    pub(in crate::page) question: &'static str,
    pub(in crate::page) asker: &'static str,
    pub(in crate::page) respondent: &'static str,
    pub(in crate::page) waiting: &'static str,
    pub(in crate::page) left: &'static str,
    pub(in crate::page) state: &'static str,
    pub(in crate::page) outcome: &'static str,
    pub(in crate::page) settler: &'static str,
    pub(in crate::page) settled: &'static str,
    /// States and outcomes.
    pub(in crate::page) pending: &'static str,
    pub(in crate::page) active: &'static str,
    pub(in crate::page) late: &'static str,
    pub(in crate::page) overdue: &'static str,
    pub(in crate::page) answered: &'static str,
    pub(in crate::page) declined: &'static str,
    pub(in crate::page) cancelled: &'static str,
    pub(in crate::page) timed_out: &'static str,
    pub(in crate::page) group: &'static str,
    pub(in crate::page) anybody: &'static str,
    pub(in crate::page) operator: &'static str,
    /// The filter.
    pub(in crate::page) filter: &'static str,
    pub(in crate::page) search_hint: &'static str,
    pub(in crate::page) all: &'static str,
    pub(in crate::page) age: &'static str,
    pub(in crate::page) any_age: &'static str,
    pub(in crate::page) at_least: fn(u32) -> String,
    pub(in crate::page) apply: &'static str,
    pub(in crate::page) clear: &'static str,
    pub(in crate::page) nothing_open: &'static str,
    pub(in crate::page) nothing_settled: &'static str,
    pub(in crate::page) nothing_found: &'static str,
    pub(in crate::page) found: fn(usize) -> String,
    pub(in crate::page) is_cut: &'static str,
    pub(in crate::page) search_is_cut: &'static str,
    pub(in crate::page) previous: &'static str,
    pub(in crate::page) next: &'static str,
    pub(in crate::page) older: &'static str,
    pub(in crate::page) pages: &'static str,
    /// How many questions are open, and how many of them will soon time out.
    pub(in crate::page) summary: fn(usize, usize) -> String,
    /// A duration in a table.
    pub(in crate::page) brief: fn(RoughTime) -> String,
    /// The page of a question.
    pub(in crate::page) back: &'static str,
    pub(in crate::page) asked: &'static str,
    pub(in crate::page) deadline: &'static str,
    pub(in crate::page) id: &'static str,
    pub(in crate::page) attempts: &'static str,
    pub(in crate::page) reason_label: &'static str,
    pub(in crate::page) no_answers: &'static str,
    pub(in crate::page) extend: &'static str,
    pub(in crate::page) extend_means: fn(u8) -> String,
    pub(in crate::page) cannot_extend: &'static str,
    pub(in crate::page) reassign: &'static str,
    pub(in crate::page) reassign_to: &'static str,
    pub(in crate::page) reassign_hint: &'static str,
    pub(in crate::page) reassign_means: &'static str,
    pub(in crate::page) cancel: &'static str,
    pub(in crate::page) cancel_means: &'static str,
    pub(in crate::page) reason: fn(CancelReason) -> &'static str,
    pub(in crate::page) was_extended: &'static str,
    pub(in crate::page) was_reassigned: &'static str,
    pub(in crate::page) was_cancelled: &'static str,
    pub(in crate::page) choose_reason: &'static str,
    pub(in crate::page) name_respondent: &'static str,
    /// Pages with a single message.
    pub(in crate::page) gone: NoticeTexts,
    pub(in crate::page) too_many: NoticeTexts,
    pub(in crate::page) failed: NoticeTexts,
    pub(in crate::page) forged: NoticeTexts,
}

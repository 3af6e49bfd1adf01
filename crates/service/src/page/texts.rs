//! The texts of the pages, by language.
//!
//! A language is a constant, so that no text can be missing. Messages about invalid answers are in
//! the core.

mod de;
mod en;

use std::time::Duration;

use entreat_core::Outcome;

/// All texts of a language.
pub(super) struct Texts {
    pub(super) language: &'static str,
    pub(super) skip: &'static str,
    pub(super) asked_by: &'static str,
    pub(super) error_prefix: &'static str,
    pub(super) summary_title: &'static str,
    pub(super) time: &'static str,
    pub(super) left_template: &'static str,
    pub(super) left_template_one: &'static str,
    pub(super) left_seconds_template: &'static str,
    pub(super) warning: &'static str,
    pub(super) extend: &'static str,
    pub(super) extended: &'static str,
    pub(super) not_extended: &'static str,
    pub(super) nothing_to_fill_in: &'static str,
    pub(super) required_hint: &'static str,
    pub(super) optional: &'static str,
    pub(super) send: &'static str,
    pub(super) next: &'static str,
    pub(super) review: &'static str,
    pub(super) step: &'static str,
    pub(super) more_questions: &'static str,
    pub(super) saved: &'static str,
    pub(super) saving: &'static str,
    pub(super) not_saved: &'static str,
    pub(super) unsaved: &'static str,
    pub(super) too_large: &'static str,
    pub(super) leave: &'static str,
    pub(super) decline: &'static str,
    pub(super) decline_means: &'static str,
    pub(super) cancel: &'static str,
    pub(super) cancel_means: &'static str,
    pub(super) what_happens: &'static str,
    pub(super) goes_to: &'static str,
    pub(super) secrets_sealed: &'static str,
    pub(super) files_kept: &'static str,
    pub(super) nothing_until_sent: &'static str,
    pub(super) reveal: &'static str,
    pub(super) conceal: &'static str,
    pub(super) secret_kept: &'static str,
    pub(super) secret_given: &'static str,
    pub(super) secret_not_shown: &'static str,
    pub(super) forget: &'static str,
    pub(super) test: &'static str,
    pub(super) test_good: &'static str,
    pub(super) test_unknown: &'static str,
    pub(super) test_empty: &'static str,
    pub(super) choose: &'static str,
    pub(super) chosen: &'static str,
    pub(super) search: &'static str,
    pub(super) no_answer: &'static str,
    pub(super) nothing: &'static str,
    pub(super) yes: &'static str,
    pub(super) no: &'static str,
    pub(super) day: &'static str,
    pub(super) day_and_time: &'static str,
    pub(super) offset: &'static str,
    pub(super) preview_of: &'static str,
    pub(super) remove: &'static str,
    pub(super) drop_here: &'static str,
    pub(super) uploading: &'static str,
    pub(super) upload_failed: &'static str,
    pub(super) upload_busy: &'static str,
    pub(super) upload_no_room: &'static str,
    pub(super) upload_full: &'static str,
    pub(super) stop_upload: &'static str,
    pub(super) review_title: &'static str,
    pub(super) review_lead: &'static str,
    pub(super) change: &'static str,
    pub(super) back: &'static str,
    pub(super) typed_title: &'static str,
    pub(super) typed_lead: &'static str,
    pub(super) may_close: &'static str,
    pub(super) inbox: &'static str,
    pub(super) inbox_title: &'static str,
    pub(super) nothing_waits: &'static str,
    pub(super) settled_title: &'static str,
    pub(super) notify_me: &'static str,
    pub(super) new_question: &'static str,
    pub(super) look_again: &'static str,
    pub(super) not_found: NoticeTexts,
    pub(super) not_found_lines: [&'static str; 2],
    pub(super) no_inbox: NoticeTexts,
    pub(super) refused: NoticeTexts,
    pub(super) forged: NoticeTexts,
    pub(super) too_many: NoticeTexts,
    pub(super) failed: NoticeTexts,
    pub(super) unreadable: NoticeTexts,
    pub(super) too_much: NoticeTexts,
    pub(super) busy: NoticeTexts,
    pub(super) sent: NoticeTexts,
    pub(super) answered: NoticeTexts,
    pub(super) declined: NoticeTexts,
    pub(super) cancelled: NoticeTexts,
    pub(super) withdrawn: NoticeTexts,
    pub(super) attempts_used: NoticeTexts,
    pub(super) expired: NoticeTexts,
    pub(super) left: fn(Duration) -> String,
    pub(super) kept_for: fn(Duration) -> String,
    pub(super) attempts_left: fn(u8) -> String,
    pub(super) limits: fn(&FileLimits<'_>) -> String,
    pub(super) waiting: fn(usize) -> String,
    pub(super) outcome: fn(Outcome) -> &'static str,
    pub(super) months: [&'static str; 12],
    pub(super) weekdays: [&'static str; 7],
}

/// The texts of a page with a single message.
#[derive(Clone, Copy)]
pub(super) struct NoticeTexts {
    pub(super) title: &'static str,
    pub(super) lead: &'static str,
}

/// The limits of a file field.
pub(super) struct FileLimits<'a> {
    pub(super) most: u64,
    pub(super) size: &'a str,
    pub(super) kinds: &'a str,
}

impl Texts {
    /// The texts of a language; English if there are none.
    pub(super) fn of(language: &str) -> &'static Self {
        match language.split('-').next() {
            Some("de") => &de::TEXTS,
            _ => &en::TEXTS,
        }
    }

    #[cfg(test)]
    pub(super) const ALL: [&'static Self; 2] = [&en::TEXTS, &de::TEXTS];
}

/// Whole minutes, rounded up, or whole seconds below a minute.
enum Left {
    Minutes(u64),
    Seconds(u64),
}

impl From<Duration> for Left {
    fn from(left: Duration) -> Self {
        match left.as_secs() {
            seconds @ 0..60 => Self::Seconds(seconds),
            seconds => Self::Minutes(seconds.div_ceil(60)),
        }
    }
}

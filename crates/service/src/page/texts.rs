//! The texts of the pages, by language.
//!
//! A language is a constant, so that no text can be missing. Messages about invalid answers are in
//! the core.

pub(super) mod board;
mod de;
mod en;

use std::time::Duration;

use entreat_core::{CalendarNames, Outcome, RoughTime};

use self::board::BoardTexts;

/// Texts about askers that may be any program on this machine.
pub(super) struct UnnamedTexts {
    /// A program without a name.
    pub(super) name: &'static str,
    /// Who asks, if the program has no name.
    pub(super) asks: &'static str,
    /// Who asks: what stands around the name that the program gives itself.
    pub(super) claims: (&'static str, &'static str),
    /// A program: what stands around the name that it gives itself.
    pub(super) program: (&'static str, &'static str),
    /// Who gets the answer.
    pub(super) recipient: &'static str,
}

/// All texts of a language.
pub(super) struct Texts {
    pub(super) language: &'static str,
    pub(super) skip: &'static str,
    pub(super) asked_by: &'static str,
    /// What stands around the name that a program gives itself.
    pub(super) introduced_as: (&'static str, &'static str),
    pub(super) unnamed: UnnamedTexts,
    pub(super) error_prefix: &'static str,
    pub(super) summary_title: &'static str,
    pub(super) time: &'static str,
    /// The time left in seconds, minutes, hours and days: of one, and of several.
    pub(super) left_templates: [&'static str; 8],
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
    pub(super) decline_is_not_no: &'static str,
    pub(super) cancel: &'static str,
    pub(super) cancel_means: &'static str,
    pub(super) what_happens: &'static str,
    pub(super) goes_to: &'static str,
    pub(super) secrets_sealed: &'static str,
    pub(super) saved_there: &'static str,
    pub(super) files_kept: &'static str,
    pub(super) nothing_until_sent: &'static str,
    pub(super) sent_at_once: &'static str,
    pub(super) reveal: &'static str,
    pub(super) conceal: &'static str,
    pub(super) secret_kept: &'static str,
    pub(super) secret_given: &'static str,
    pub(super) secret_not_kept: &'static str,
    pub(super) secret_not_shown: &'static str,
    pub(super) forget: &'static str,
    pub(super) test: &'static str,
    pub(super) test_good: &'static str,
    pub(super) test_warnings: &'static str,
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
    pub(super) replace_file: &'static str,
    pub(super) add_file: &'static str,
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
    pub(super) home: HomeTexts,
    #[cfg(feature = "sign-in")]
    pub(super) sign_in: SignInTexts,
    pub(super) signed_in_as: &'static str,
    pub(super) sign_out: &'static str,
    /// What was typed is saved for somebody who is not signed in any more.
    pub(super) signed_out_meanwhile: &'static str,
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
    pub(super) declined_by_another: NoticeTexts,
    pub(super) declined_yes_no: NoticeTexts,
    pub(super) cancelled: NoticeTexts,
    pub(super) withdrawn: NoticeTexts,
    /// The asker is gone.
    pub(super) nobody_waits: NoticeTexts,
    /// The asker is gone, and offers what was typed if it asks again.
    pub(super) nobody_waits_kept: NoticeTexts,
    pub(super) attempts_used: NoticeTexts,
    pub(super) expired: NoticeTexts,
    pub(super) kept_for: fn(Duration) -> String,
    pub(super) attempts_left: fn(u8) -> String,
    pub(super) limits: fn(&FileLimits<'_>) -> String,
    pub(super) characters: fn(&Bounds) -> String,
    /// What the script says of how many characters are left: of one, of several, and of one and of
    /// several too many.
    pub(super) characters_left: [&'static str; 4],
    pub(super) numbers: fn(&Bounds) -> String,
    pub(super) choices: fn(&Bounds) -> String,
    pub(super) waiting: fn(usize) -> String,
    pub(super) outcome: fn(Outcome) -> &'static str,
    /// What stands around the name of another person who settled a question.
    pub(super) settled_by: fn(Outcome) -> (&'static str, &'static str),
    pub(super) older: &'static str,
    pub(super) board: &'static BoardTexts,
    /// How dates are written, unless a field has its own format, see [`super::calendar`].
    pub(super) date_format: &'static str,
    pub(super) time_format: &'static str,
    pub(super) calendar: &'static CalendarNames,
}

/// The texts of a page with a single message.
#[derive(Clone, Copy)]
pub(super) struct NoticeTexts {
    pub(super) title: &'static str,
    pub(super) lead: &'static str,
}

/// The texts of the start page.
pub(super) struct HomeTexts {
    pub(super) what: &'static str,
    pub(super) how: &'static str,
    pub(super) inbox: &'static str,
    pub(super) inbox_by_link: &'static str,
    pub(super) docs: &'static str,
}

/// The texts of signing in and out.
#[cfg(feature = "sign-in")]
pub(super) struct SignInTexts {
    pub(super) needed: NoticeTexts,
    pub(super) button: &'static str,
    /// A question asks for a fresh sign-in.
    pub(super) again: NoticeTexts,
    pub(super) again_button: &'static str,
    pub(super) failed: &'static str,
    pub(super) later: &'static str,
    pub(super) other_account: &'static str,
    pub(super) signed_out: NoticeTexts,
    pub(super) not_signed_out: NoticeTexts,
    pub(super) sign_out_of_provider: &'static str,
    pub(super) to_inbox: &'static str,
}

/// The bounds of a length, a count or a number. At least one of them is there.
pub(super) enum Bounds {
    AtLeast(String),
    AtMost(String),
    Between(String, String),
    Exactly(String),
}

impl Bounds {
    /// `None` without bounds.
    pub(super) fn new<T: ToString + PartialEq>(low: Option<T>, high: Option<T>) -> Option<Self> {
        Some(match (low, high) {
            (Some(low), Some(high)) if low == high => Self::Exactly(low.to_string()),
            (Some(low), Some(high)) => Self::Between(low.to_string(), high.to_string()),
            (Some(low), None) => Self::AtLeast(low.to_string()),
            (None, Some(high)) => Self::AtMost(high.to_string()),
            (None, None) => return None,
        })
    }
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

    /// The time left. The script fills in the same templates.
    pub(super) fn left(&self, left: Duration) -> String {
        let (unit, count) = match RoughTime::from(left) {
            RoughTime::Seconds(count) => (0, count),
            RoughTime::Minutes(count) => (1, count),
            RoughTime::Hours(count) => (2, count),
            RoughTime::Days(count) => (3, count),
        };
        let template = self.left_templates[unit * 2 + usize::from(count != 1)];
        template.replace("{}", &count.to_string())
    }

    #[cfg(test)]
    pub(super) const ALL: [&'static Self; 2] = [&en::TEXTS, &de::TEXTS];
}

/// A duration in the largest unit that it is a multiple of.
fn exactly(duration: Duration) -> RoughTime {
    let seconds = duration.as_secs();
    let is_whole = |unit: u64| seconds >= unit && seconds.is_multiple_of(unit);
    match seconds {
        _ if is_whole(86_400) => RoughTime::Days(seconds / 86_400),
        _ if is_whole(3600) => RoughTime::Hours(seconds / 3600),
        _ if is_whole(60) => RoughTime::Minutes(seconds / 60),
        _ => RoughTime::Seconds(seconds),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_told_in_the_unit_that_people_use() {
        let [english, german] = Texts::ALL;
        for (seconds, in_english, in_german) in [
            (1, "1 second left", "noch 1 Sekunde"),
            (59, "59 seconds left", "noch 59 Sekunden"),
            (60, "about 1 minute left", "noch etwa eine Minute"),
            (3599, "about 60 minutes left", "noch etwa 60 Minuten"),
            (7200, "about 2 hours left", "noch etwa 2 Stunden"),
            (86_399, "about a day left", "noch etwa ein Tag"),
            (100_000, "about 28 hours left", "noch etwa 28 Stunden"),
            (172_799, "about 2 days left", "noch etwa 2 Tage"),
            (30 * 86_400, "about 30 days left", "noch etwa 30 Tage"),
        ] {
            let left = Duration::from_secs(seconds);
            assert_eq!(english.left(left), in_english);
            assert_eq!(german.left(left), in_german);
        }
    }

    #[test]
    fn what_is_kept_is_told_to_the_second() {
        let [english, german] = Texts::ALL;
        for (seconds, in_english, in_german) in [
            (3600, "one hour", "eine Stunde"),
            (45 * 3600, "45 hours", "45 Stunden"),
            (86_400, "one day", "einen Tag"),
            (5430, "5430 seconds", "5430 Sekunden"),
        ] {
            let kept = Duration::from_secs(seconds);
            let told = (english.kept_for)(kept);
            assert_eq!(
                told,
                format!(
                    "Entreat deletes its copy {in_english} after you send it. Whoever asked may \
                     keep theirs."
                )
            );
            let told = (german.kept_for)(kept);
            assert_eq!(
                told,
                format!(
                    "Entreat löscht seine Kopie {in_german} nach dem Senden. Wer gefragt hat, kann \
                     sie behalten."
                )
            );
        }
    }
}

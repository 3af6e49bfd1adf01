//! English.

use std::time::Duration;

use entreat_core::{CancelReason, Outcome};

use super::{FileLimits, Left, NoticeTexts, Texts};

pub(super) const TEXTS: Texts = Texts {
    language: "en",
    skip: "Skip to the question",
    asked_by: "Asked by",
    error_prefix: "Error:",
    summary_title: "Something needs another look",
    time: "Time left",
    left_template: "about {} minutes left",
    left_template_one: "about 1 minute left",
    left_seconds_template: "{} seconds left",
    warning: "The time for this question is nearly over. Send your answer, or ask for more time.",
    extend: "More time",
    extended: "You have more time now.",
    not_extended: "This question can't be extended any further.",
    nothing_to_fill_in: "There is nothing to fill in. Sending says yes.",
    required_hint: "Questions that are not marked as optional need an answer.",
    optional: "(optional)",
    send: "Send",
    next: "Continue",
    review: "Review answers",
    step: "Show what follows from my answers",
    more_questions: "Your answers lead to more questions. They are shown below.",
    saved: "Saved as a draft. Nothing was sent yet.",
    saving: "Saving…",
    not_saved: "This could not be saved. It is still here; try again in a moment.",
    unsaved: "What you typed is not saved yet.",
    too_large: "This is more than can be sent. Please shorten it.",
    leave: "I do not want to answer",
    decline: "Decline",
    decline_means: "You decide not to answer. The asker is told so, and nothing else.",
    cancel: "Cancel",
    cancel_means: "You leave it open. The asker is told that nobody decided, and may ask again.",
    what_happens: "What happens with your answer",
    goes_to: "It goes to nobody but",
    secrets_sealed: "Secrets are encrypted at once. They appear in no list and no log.",
    files_kept: "Files are encrypted where they are kept, and removed afterwards.",
    nothing_until_sent: "Nothing is sent before you press “Send”.",
    reveal: "Show",
    conceal: "Hide",
    secret_kept: "What you typed before is saved. Leave this empty to use it.",
    secret_given: "given, not shown",
    secret_not_shown: "a secret, not shown",
    forget: "Forget it",
    test: "Test this address",
    test_good: "This address can be used. Nothing was fetched from it.",
    test_unknown: "This address is allowed, but its host was not found from here.",
    test_empty: "There is no address to test yet.",
    choose: "Choose…",
    chosen: "chosen",
    search: "Search",
    no_answer: "No answer",
    nothing: "–",
    yes: "Yes",
    no: "No",
    day: "Day",
    day_and_time: "Day and time",
    offset: "Offset from UTC",
    preview_of: "Preview of",
    remove: "Remove",
    drop_here: "or drop or paste files here",
    uploading: "Uploading",
    upload_failed: "The file could not be uploaded. Please try again.",
    upload_busy: "Too many files are being uploaded right now. Try again in a moment.",
    upload_no_room: "There is no room for this file. Remove another one first, or choose a smaller one.",
    upload_full: "There is no room for files right now. Try again later, and tell whoever asks you.",
    stop_upload: "Stop",
    review_title: "Review your answers",
    review_lead: "This is what will be sent to",
    change: "Change",
    back: "Back",
    typed_title: "What you typed",
    typed_lead: "It is here for you to copy. Only this browser is shown it.",
    may_close: "You can close this page.",
    inbox: "Inbox",
    inbox_title: "Waiting for you",
    nothing_waits: "Nothing is waiting for you.",
    settled_title: "Done",
    notify_me: "Notify me",
    new_question: "A new question is waiting",
    look_again: "Refresh",
    not_found: NoticeTexts {
        title: "This link does not work here",
        lead: "There is nothing to show.",
    },
    not_found_lines: [
        "The question may be long over, or it may be meant for somebody else.",
        "A link opens only in the browser in which it was opened first, and needs a cookie. If \
         you have the link that you were given, open that one again.",
    ],
    no_inbox: NoticeTexts {
        title: "The inbox opens by its link",
        lead: "The service wrote the link to your inbox when it started.",
    },
    refused: NoticeTexts {
        title: "Not from here",
        lead: "This service answers people on its own computer only, or those whom its proxy names.",
    },
    forged: NoticeTexts {
        title: "That did not come from this page",
        lead: "Nothing was changed. Open the link again and answer there.",
    },
    too_many: NoticeTexts {
        title: "Too many tries",
        lead: "Wait a moment, then open your link again.",
    },
    failed: NoticeTexts {
        title: "Something went wrong",
        lead: "It is our fault, and what you typed is kept. Go back and try again in a moment.",
    },
    unreadable: NoticeTexts {
        title: "That could not be read",
        lead: "The form did not arrive whole. Go back and try again.",
    },
    too_much: NoticeTexts {
        title: "That is too much",
        lead: "The form sent more than this question can take. Go back, shorten your answers and try again.",
    },
    busy: NoticeTexts {
        title: "Too much is being sent right now",
        lead: "Go back and try again in a moment.",
    },
    sent: NoticeTexts {
        title: "Sent. Thank you.",
        lead: "Your answer has arrived.",
    },
    answered: NoticeTexts {
        title: "Already answered",
        lead: "This question has its answer. There is nothing left to do.",
    },
    declined: NoticeTexts {
        title: "Declined",
        lead: "The asker was told that the answer is no. Nothing else was sent.",
    },
    cancelled: NoticeTexts {
        title: "Cancelled",
        lead: "Nothing was sent. The asker may ask again.",
    },
    withdrawn: NoticeTexts {
        title: "No longer asked",
        lead: "The question was taken back. Nothing was sent.",
    },
    attempts_used: NoticeTexts {
        title: "No attempts left",
        lead: "The answers could not be accepted, and there are no more attempts. Nothing was sent.",
    },
    expired: NoticeTexts {
        title: "The time is over",
        lead: "Nothing was sent.",
    },
    left,
    kept_for,
    attempts_left: |left| match left {
        1 => "This is the last attempt.".to_owned(),
        left => format!("{left} attempts are left."),
    },
    limits,
    waiting: |count| match count {
        1 => "1 question is waiting".to_owned(),
        count => format!("{count} questions are waiting"),
    },
    outcome,
    months: [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ],
    weekdays: [
        "Monday",
        "Tuesday",
        "Wednesday",
        "Thursday",
        "Friday",
        "Saturday",
        "Sunday",
    ],
};

fn left(left: Duration) -> String {
    match Left::from(left) {
        Left::Seconds(seconds) => format!("{seconds} seconds left"),
        Left::Minutes(1) => "about 1 minute left".to_owned(),
        Left::Minutes(minutes) => format!("about {minutes} minutes left"),
    }
}

fn kept_for(retention: Duration) -> String {
    let time = match Left::from(retention) {
        Left::Seconds(seconds) => format!("{seconds} seconds"),
        Left::Minutes(1) => "one minute".to_owned(),
        Left::Minutes(60) => "one hour".to_owned(),
        Left::Minutes(minutes @ 0..120) => format!("{minutes} minutes"),
        Left::Minutes(minutes) => format!("{} hours", minutes / 60),
    };
    format!("It is kept here for {time} after it was sent, then deleted.")
}

fn limits(limits: &FileLimits<'_>) -> String {
    let FileLimits { most, size, kinds } = *limits;
    let count = if most > 1 {
        format!("Up to {most} files, each up to {size}")
    } else {
        format!("One file, up to {size}")
    };
    if kinds.is_empty() {
        return format!("{count}.");
    }
    format!("{count}: {kinds}.")
}

fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => "answered",
        Outcome::Declined => "declined",
        Outcome::Cancelled(CancelReason::MaxRetriesExceeded) => "no attempts left",
        Outcome::Cancelled(_) => "cancelled",
        Outcome::TimedOut => "out of time",
    }
}

//! English.

use std::time::Duration;

use entreat_core::{CalendarNames, CancelReason, Outcome, RoughTime};

#[cfg(feature = "sign-in")]
use super::SignInTexts;
use super::{Bounds, FileLimits, HomeTexts, NoticeTexts, Texts, UnnamedTexts, board, exactly};

pub(super) const TEXTS: Texts = Texts {
    language: "en",
    skip: "Skip to main content",
    asked_by: "Question from",
    introduced_as: ("for a program that calls itself “", "”"),
    unnamed: UnnamedTexts {
        name: "A program on this computer",
        asks: "Question from a program on this computer",
        claims: ("Question from a program that calls itself “", "”"),
        program: ("A program that calls itself “", "”"),
        recipient: "the program that asks",
    },
    error_prefix: "Error:",
    summary_title: "There is a problem",
    time: "Time left",
    left_templates: [
        "1 second left",
        "{} seconds left",
        "about 1 minute left",
        "about {} minutes left",
        "about an hour left",
        "about {} hours left",
        "about a day left",
        "about {} days left",
    ],
    warning: "You have little time left. Send your answer, or ask for more time.",
    extend: "More time",
    extended: "You have more time now.",
    not_extended: "This question can't be extended any further.",
    nothing_to_fill_in: "There is nothing to fill in. To agree, press “Send”.",
    required_hint: "Answer all questions that are not marked as optional.",
    optional: "(optional)",
    send: "Send",
    next: "Continue",
    review: "Review answers",
    step: "Update questions",
    more_questions: "Your answers lead to more questions. Answer them below.",
    saved: "Draft saved. Nothing has been sent yet.",
    saving: "Saving…",
    not_saved: "Your changes could not be saved. They are still on this page. Try again in a moment.",
    unsaved: "You have unsaved changes.",
    too_large: "Your answers are too long. Shorten them and try again.",
    leave: "I don’t want to answer",
    decline: "Don’t answer",
    decline_means: "The asker is told that you chose not to answer, and nothing else.",
    decline_is_not_no: "The asker is told that you chose not to answer. This does not mean “No”.",
    cancel: "Not now",
    cancel_means: "You make no decision. The asker may ask again.",
    what_happens: "What happens to your answer",
    goes_to: "It is sent only to",
    secrets_sealed: "Secrets are encrypted immediately and never appear in lists or logs.",
    saved_there: ", which saves it to the file that is named above",
    files_kept: "Files are stored encrypted until then.",
    nothing_until_sent: "Nothing is sent until you press “Send”.",
    sent_at_once: "It is sent as soon as you press “Yes” or “No”.",
    reveal: "Show",
    conceal: "Hide",
    secret_kept: "You already entered a value. To keep it, leave this empty.",
    secret_given: "entered, not shown",
    secret_not_kept: "What you typed was not saved. Type it again.",
    secret_not_shown: "secret, not shown",
    forget: "Delete saved value",
    test: "Test this address",
    test_good: "This address can be used. It was not opened.",
    test_warnings: "Check before you use it:",
    test_unknown: "This address is allowed, but its host could not be found.",
    test_empty: "Enter an address to test.",
    choose: "Choose…",
    chosen: "selected",
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
    replace_file: "Choose a different file",
    add_file: "Add another file",
    drop_here: "or drop or paste files here",
    uploading: "Uploading",
    upload_failed: "The file could not be uploaded. Try again.",
    upload_busy: "Too many files are being uploaded. Try again in a moment.",
    upload_no_room: "There is not enough space for this file. Remove another file first, or choose a smaller one.",
    upload_full: "There is not enough space for files. Try again later, or contact the asker.",
    stop_upload: "Stop",
    review_title: "Review your answers",
    review_lead: "These answers will be sent to",
    change: "Change",
    back: "Back",
    typed_title: "What you typed",
    typed_lead: "You can copy your answers. They are visible only in this browser.",
    may_close: "You can close this page.",
    inbox: "Inbox",
    inbox_title: "Waiting for you",
    nothing_waits: "Nothing is waiting for you.",
    settled_title: "Done",
    notify_me: "Notify me",
    new_question: "A new question is waiting",
    look_again: "Refresh",
    not_found: NoticeTexts {
        title: "This link does not work",
        lead: "There is no question to show.",
    },
    not_found_lines: [
        "The question may have ended, or it may be for someone else.",
        "This address works only in the browser that first opened the link, with cookies enabled. \
         If you still have the original link, open it again.",
    ],
    home: HomeTexts {
        what: "This service lets programs ask people questions.",
        how: "To answer a question, open the link that you were sent.",
        inbox: "Open your inbox",
        inbox_by_link: "To see all questions that are waiting for you, use the link to your inbox. The \
                        command “entreat inbox” prints it.",
        docs: "The documentation of Entreat, in the folder “docs” of the project, explains how it works \
               and how to ask questions.",
    },
    #[cfg(feature = "sign-in")]
    sign_in: SignInTexts {
        needed: NoticeTexts {
            title: "Sign in to answer",
            lead: "Questions are shown only to the person they are for.",
        },
        button: "Sign in",
        again: NoticeTexts {
            title: "Sign in again to send your answer",
            lead: "This question asks you to confirm that it is you. What you typed is saved. \
                   Nothing has been sent yet.",
        },
        again_button: "Sign in again",
        failed: "You were not signed in. Try again.",
        later: "Signing in does not work at the moment. Try again in a few minutes.",
        other_account: "Use another account",
        signed_out: NoticeTexts {
            title: "You are signed out",
            lead: "You can close this page.",
        },
        not_signed_out: NoticeTexts {
            title: "You are still signed in",
            lead: "Signing out does not work at the moment. Go back and try again in a few minutes.",
        },
        sign_out_of_provider: "Sign out of your account, too",
        to_inbox: "Sign in again",
    },
    signed_in_as: "Signed in as",
    sign_out: "Sign out",
    signed_out_meanwhile: "Saved, but you were signed out or changed the account. To go on, sign in \
                           again in another tab, then load this page again.",
    no_inbox: NoticeTexts {
        title: "Use the link to your inbox",
        lead: "To get the link, run the command “entreat inbox” on the computer of this service.",
    },
    refused: NoticeTexts {
        title: "You cannot open this page from here",
        lead: "This service accepts only people on its own computer, or people who sign in through its proxy.",
    },
    forged: NoticeTexts {
        title: "This form was not sent from our page",
        lead: "Nothing was changed. Open the link again and answer there.",
    },
    too_many: NoticeTexts {
        title: "Too many attempts",
        lead: "Wait a moment, then open your link again.",
    },
    failed: NoticeTexts {
        title: "Something went wrong",
        lead: "Your answers are saved. Go back and try again in a moment.",
    },
    unreadable: NoticeTexts {
        title: "The form could not be read",
        lead: "The form did not arrive completely. Go back and try again.",
    },
    too_much: NoticeTexts {
        title: "Your answers are too long",
        lead: "Go back, shorten your answers and try again.",
    },
    busy: NoticeTexts {
        title: "The service is busy",
        lead: "Go back and try again in a moment.",
    },
    sent: NoticeTexts {
        title: "Answer sent",
        lead: "Thank you.",
    },
    answered: NoticeTexts {
        title: "Already answered",
        lead: "This question has been answered. You do not need to do anything.",
    },
    declined: NoticeTexts {
        title: "You chose not to answer",
        lead: "The asker was told so. Nothing else was sent.",
    },
    declined_by_another: NoticeTexts {
        title: "Not answered",
        lead: "Somebody else chose not to answer this question. You do not need to do anything.",
    },
    declined_yes_no: NoticeTexts {
        title: "You chose not to answer",
        lead: "The asker was told so. This does not mean “No”.",
    },
    cancelled: NoticeTexts {
        title: "Cancelled",
        lead: "Nothing was sent. The asker may ask again.",
    },
    withdrawn: NoticeTexts {
        title: "Question withdrawn",
        lead: "The asker withdrew this question. Nothing was sent.",
    },
    nobody_waits: NoticeTexts {
        title: "Nobody waits for your answer any more",
        lead: "The program that asked has ended or given up. Nothing was sent.",
    },
    nobody_waits_kept: NoticeTexts {
        title: "Nobody waits for your answer any more",
        lead: "The program that asked has ended or given up. Nothing was sent, but what you typed \
               is kept: if the question is asked again within an hour, it is filled in.",
    },
    attempts_used: NoticeTexts {
        title: "No attempts left",
        lead: "Your answers were not accepted, and you have no attempts left. Nothing was sent.",
    },
    expired: NoticeTexts {
        title: "This question has timed out",
        lead: "Nothing was sent.",
    },
    kept_for,
    attempts_left: |left| match left {
        1 => "This is your last attempt.".to_owned(),
        left => format!("You have {left} attempts left."),
    },
    limits,
    characters,
    characters_left: [
        "1 character left",
        "{} characters left",
        "1 character too many",
        "{} characters too many",
    ],
    numbers,
    choices,
    waiting: |count| match count {
        1 => "1 question is waiting".to_owned(),
        count => format!("{count} questions are waiting"),
    },
    outcome,
    settled_by,
    older: "Older questions",
    board: &board::en::TEXTS,
    date_format: "D MMMM YYYY",
    time_format: "D MMMM YYYY, HH:mm",
    calendar: CalendarNames::ENGLISH,
};

fn kept_for(retention: Duration) -> String {
    let time = match exactly(retention) {
        RoughTime::Seconds(seconds) => format!("{seconds} seconds"),
        RoughTime::Minutes(1) => "one minute".to_owned(),
        RoughTime::Minutes(minutes) => format!("{minutes} minutes"),
        RoughTime::Hours(1) => "one hour".to_owned(),
        RoughTime::Hours(hours) => format!("{hours} hours"),
        RoughTime::Days(1) => "one day".to_owned(),
        RoughTime::Days(days) => format!("{days} days"),
    };
    format!("Entreat deletes its copy {time} after you send it. Whoever asked may keep theirs.")
}

fn characters(bounds: &Bounds) -> String {
    let unit = |count: &str| {
        if count == "1" {
            "character"
        } else {
            "characters"
        }
    };
    match bounds {
        Bounds::AtLeast(low) => format!("At least {low} {}", unit(low)),
        Bounds::AtMost(high) => format!("Up to {high} {}", unit(high)),
        Bounds::Between(low, high) => format!("{low} to {high} characters"),
        Bounds::Exactly(count) => format!("Exactly {count} {}", unit(count)),
    }
}

fn numbers(bounds: &Bounds) -> String {
    match bounds {
        Bounds::AtLeast(low) => format!("{low} or more"),
        Bounds::AtMost(high) => format!("{high} or less"),
        Bounds::Between(low, high) => format!("{low} to {high}"),
        Bounds::Exactly(number) => format!("Exactly {number}"),
    }
}

fn choices(bounds: &Bounds) -> String {
    match bounds {
        Bounds::AtLeast(low) => format!("Choose at least {low}"),
        Bounds::AtMost(high) => format!("Choose up to {high}"),
        Bounds::Between(low, high) => format!("Choose {low} to {high}"),
        Bounds::Exactly(count) => format!("Choose exactly {count}"),
    }
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
        Outcome::Declined => "not answered",
        Outcome::Cancelled(CancelReason::MaxRetriesExceeded) => "no attempts left",
        Outcome::Cancelled(_) => "cancelled",
        Outcome::TimedOut => "timed out",
    }
}

fn settled_by(outcome: Outcome) -> (&'static str, &'static str) {
    match outcome {
        Outcome::Completed => ("Answered by ", ""),
        Outcome::Declined => ("", " chose not to answer"),
        Outcome::Cancelled(_) => ("Cancelled by ", ""),
        Outcome::TimedOut => ("", ""),
    }
}

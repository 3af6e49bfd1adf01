//! English, in plain mode.

use super::plain::{Need, PlainTexts, RefusalTexts};

pub(super) const PLAIN: PlainTexts = PlainTexts {
    question: "Question:",
    how_to_answer: "Type each answer and press Enter, or type a command:",
    commands: [
        ":back     the previous question again",
        ":empty    clear the answer, even if there is a default",
        ":help     the question and these commands again",
        ":decline  refuse to answer",
        ":cancel   leave without a decision",
    ],
    extend: ":extend   ask for more time",
    colon: "If an answer starts with a colon, type two.",
    no_command: "There is no such command; see :help. If an answer starts with a colon, type two.",
    no_text: "That can't be used: a line must be text of at most 1 MB.",
    refused: |asker| match asker {
        Some(asker) => format!("The answers to {asker} were not accepted:"),
        None => "The answers were not accepted:".to_owned(),
    },
    not_accepted: "Not accepted:",
    to_correct: "Some answers need correcting:",
    is_first: "There is no question before this one.",
    section: |heading| format!("Section {heading}"),
    question_of: |number, all, need| {
        let need = match need {
            Need::Required => "required",
            Need::RequiredLater => "required, but may be left for later",
            Need::Optional => "optional",
        };
        format!("Question {number} of {all}, {need}:")
    },
    read_only: "For your information (read-only):",
    it_is: |answer| format!("It is {answer}."),
    your_answer: "your answer",
    enter_keeps: |answer, is_required| {
        format!("Press Enter to keep {answer}{}", clear(is_required))
    },
    enter_takes: |answer, is_required| format!("Press Enter for {answer}{}", clear(is_required)),
    enter_leaves_empty: "Press Enter to leave it empty.",
    files_so_far: |count| {
        let s = if count == 1 { "" } else { "s" };
        format!("{count} file{s} so far. Type another path, or press Enter.")
    },
    your_answers: "Your answers:",
    send: |asker| match asker {
        Some(asker) => format!("Send to {asker}? [Y]es / "),
        None => "Send? [Y]es / ".to_owned(),
    },
    cannot_be_sent: "This cannot be sent: ",
    change: "number to change / ",
    time: |left| format!("You have {left}."),
    more_time: "Type :extend to ask for more.",
};

fn clear(is_required: bool) -> &'static str {
    if is_required {
        "."
    } else {
        "; type :empty to clear it."
    }
}

pub(super) const REFUSALS: RefusalTexts = RefusalTexts {
    number_or_name: "That is the number of one option and the name of another. Type the number with a # \
                     before it.",
    several_options: "That matches several options. Type a number.",
    unreadable: |path, why| format!("{path} cannot be read: {why}."),
    no_such_file: "there is no such file",
    no_permission: "you do not have permission to read it",
    is_folder: "it is a folder",
    is_no_file: "it is not a regular file",
    file_too_large: "The file is too large for this question.",
};

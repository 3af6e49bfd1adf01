//! The texts of plain mode, where everything is said in lines.

/// What plain mode says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlainTexts {
    pub(crate) question: &'static str,
    pub(crate) how_to_answer: &'static str,
    /// The commands, one per line; asking for more time is only possible with a deadline.
    pub(crate) commands: [&'static str; 5],
    pub(crate) extend: &'static str,
    pub(crate) colon: &'static str,
    /// Does not repeat the input, which may be secret.
    pub(crate) no_command: &'static str,
    pub(crate) no_text: &'static str,
    pub(crate) refused: fn(Option<&str>) -> String,
    pub(crate) not_accepted: &'static str,
    pub(crate) to_correct: &'static str,
    pub(crate) is_first: &'static str,
    pub(crate) section: fn(&str) -> String,
    pub(crate) question_of: fn(usize, usize, Need) -> String,
    pub(crate) read_only: &'static str,
    pub(crate) it_is: fn(&str) -> String,
    /// What Enter keeps, if the answer cannot be shown.
    pub(crate) your_answer: &'static str,
    pub(crate) enter_keeps: fn(&str, bool) -> String,
    pub(crate) enter_takes: fn(&str, bool) -> String,
    pub(crate) enter_leaves_empty: &'static str,
    pub(crate) files_so_far: fn(usize) -> String,
    pub(crate) your_answers: &'static str,
    pub(crate) send: fn(Option<&str>) -> String,
    pub(crate) cannot_be_sent: &'static str,
    pub(crate) change: &'static str,
    pub(crate) time: fn(&str) -> String,
    pub(crate) more_time: &'static str,
}

/// Whether a question must be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    Required,
    /// Required, but the form can be sent without it.
    RequiredLater,
    Optional,
}

/// Why what was typed cannot be used. None repeats it, since it may be secret, except for paths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RefusalTexts {
    pub(crate) number_or_name: &'static str,
    pub(crate) several_options: &'static str,
    pub(crate) unreadable: fn(&str, &str) -> String,
    pub(crate) no_such_file: &'static str,
    pub(crate) no_permission: &'static str,
    pub(crate) is_folder: &'static str,
    pub(crate) is_no_file: &'static str,
    pub(crate) file_too_large: &'static str,
}

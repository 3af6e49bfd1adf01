//! A single question, asked in place: a few lines that are redrawn on every key.
//!
//! Uses the model and the editors of the full-screen mode, and differs in what it draws. The screen
//! before the question stays, and afterwards one line with the answer does.
//!
//! The question after `?` and the options are the asker's text, as is what follows a bar or stands
//! in quotation marks; everything else is Entreat's.

mod screen;
mod view;

pub(crate) use screen::InlineScreen;
pub(crate) use view::{closing_line, draw, introduction, is_too_small};

use crate::question::TerminalQuestion;

/// The rows that the question itself may need below its introduction.
const ROWS_FOR_QUESTION: usize = 10;

/// Whether a question is asked in place: it has a single field, which the person answers.
pub(crate) fn is_for(question: &TerminalQuestion) -> bool {
    let [field] = question.form.fields() else {
        return false;
    };
    question.script.is_none() && !field.is_fixed() && !field.rendering().hidden
}

/// Whether an introduction is too long to be redrawn with the question.
pub(crate) fn is_long(introduction: usize, rows: usize) -> bool {
    introduction + ROWS_FOR_QUESTION > rows
}

//! `boolean`: true or false, also as the words that an HTML form sends.

use crate::answer::Answer;
use crate::form::kind::{Mistake, Parsed};
use crate::parse::Raw;

pub(crate) fn parse(raw: Raw<'_>) -> Parsed<'_> {
    match &raw {
        Raw::Boolean(value) => Ok(Answer::Boolean(*value)),
        Raw::Text(text) if text == "true" => Ok(Answer::Boolean(true)),
        Raw::Text(text) if text == "false" => Ok(Answer::Boolean(false)),
        _ => Err(Mistake::wrong_type("boolean").of(raw)),
    }
}

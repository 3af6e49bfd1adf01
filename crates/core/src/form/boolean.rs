//! `boolean`: true or false, also as the words that an HTML form sends.

use crate::answer::Answer;
use crate::form::kind::{Mistake, Parsed};
use crate::parse::{Raw, Source};

pub(crate) fn parse<'a>(source: impl Source<'a>) -> Parsed<'a> {
    if let Some(value) = source.boolean() {
        return Ok(Answer::Boolean(value));
    }
    let mistake = || Mistake::wrong_type("boolean");
    match source.text() {
        Ok(text) if text == "true" => Ok(Answer::Boolean(true)),
        Ok(text) if text == "false" => Ok(Answer::Boolean(false)),
        Ok(text) => Err(mistake().of(Raw::Text(text))),
        Err(other) => Err(mistake().of(other)),
    }
}

//! `boolean`: true or false, also as the text that an HTML form submits.

use crate::form::kind::{Mistake, Parsed};
use crate::parse::{Raw, Source};

#[inline]
pub(crate) fn parse<'a>(source: impl Source<'a>) -> Parsed<'a, bool> {
    if let Some(value) = source.boolean() {
        return Ok(value);
    }
    let mistake = || Mistake::wrong_type("boolean");
    match source.text() {
        Ok(text) if text == "true" => Ok(true),
        Ok(text) if text == "false" => Ok(false),
        Ok(text) => Err(mistake().of(Raw::Text(text))),
        Err(other) => Err(mistake().of(other)),
    }
}

//! The attributes of the table in `keys.rs`: each one's value, judged by what it wants.

use super::FieldSpec;
use crate::attribute::{Entry, EntryValue};
use crate::errors::Errors;
use crate::keys::{Key, Wants};
use crate::literal::{Literal, LiteralValue};
use crate::shape::{Family, TypeName};
use crate::words::{did_you_mean, enumeration, listing};

impl FieldSpec {
    /// Reads an attribute of the table.
    pub(super) fn read_plain(
        &mut self,
        errors: &mut Errors,
        key: &'static Key,
        entry: &Entry,
    ) -> syn::Result<()> {
        if !key.fits.is_empty() && !self.shape.may_be(key.fits) {
            let is = self.shape.family().map_or("something else", Family::noun);
            let fits = enumeration(key.fits.iter().map(|family| family.noun().to_owned()));
            let message = format!(
                "`{}` is for {fits}, and this field takes {is}; remove it or change the type",
                key.name
            );
            errors.add(entry.span(), message);
            return Ok(());
        }
        let literal = match (&entry.value, key.wants) {
            (EntryValue::Is(value), Wants::Switch) => {
                let literal = Literal::read(value)?;
                if !matches!(literal.value, LiteralValue::Flag(_)) {
                    return Err(entry.expected("true"));
                }
                literal
            }
            (EntryValue::Flag, Wants::Flag(_) | Wants::Switch) => Literal {
                value: LiteralValue::Flag(!matches!(key.wants, Wants::Flag(false))),
                span: entry.span(),
            },
            (_, Wants::Flag(_)) => {
                flag(entry)?;
                return Ok(());
            }
            (EntryValue::Is(value), wants) => {
                let literal = Literal::read(value)?;
                self.check_wanted(errors, key, wants, entry, &literal)?;
                literal
            }
            (_, wants) => return Err(entry.expected(example(wants))),
        };
        self.given.push((key, literal));
        Ok(())
    }

    fn check_wanted(
        &self,
        errors: &mut Errors,
        key: &Key,
        wants: Wants,
        entry: &Entry,
        literal: &Literal,
    ) -> syn::Result<()> {
        match (wants, &literal.value) {
            (Wants::Word(words), LiteralValue::Text(word)) => {
                if !words.contains(&word.as_str()) {
                    let hint = did_you_mean(word, words.iter().copied());
                    let known = listing(words.iter().copied());
                    let message = format!("`{}` is one of {known}{hint}", key.name);
                    errors.add(literal.span, message);
                }
            }
            (Wants::Count, LiteralValue::Whole(_)) if literal.as_count().is_some() => {}
            // A whole number moves in whole steps, or the answer would not fit the type.
            (Wants::Number, LiteralValue::Fraction(_))
                if matches!(self.shape.name, TypeName::Whole(..)) =>
            {
                errors.add(
                    literal.span,
                    "this field takes whole numbers; write one here too",
                );
            }
            (Wants::Text, LiteralValue::Text(_))
            | (Wants::Number, LiteralValue::Whole(_) | LiteralValue::Fraction(_)) => {}
            (Wants::Bound, _) => self.shape.check_item(errors, literal),
            (Wants::Texts, _) => {
                texts(entry)?;
            }
            _ => return Err(entry.expected(example(wants))),
        }
        Ok(())
    }
}

pub(super) fn flag(entry: &Entry) -> syn::Result<()> {
    if matches!(entry.value, EntryValue::Flag) {
        return Ok(());
    }
    let message = format!(
        "`{}` takes no value; leave it out altogether to not have it",
        entry.key
    );
    Err(syn::Error::new(entry.span(), message))
}

pub(super) fn texts(entry: &Entry) -> syn::Result<Vec<Literal>> {
    let wrong = || entry.expected(example(Wants::Texts));
    let EntryValue::Is(value) = &entry.value else {
        return Err(wrong());
    };
    let is_text = |item: &Literal| matches!(item.value, LiteralValue::Text(_));
    match Literal::read(value)?.value {
        LiteralValue::List(items) if !items.is_empty() && items.iter().all(is_text) => Ok(items),
        _ => Err(wrong()),
    }
}

fn example(wants: Wants) -> &'static str {
    match wants {
        Wants::Text | Wants::Word(_) => "\"…\"",
        Wants::Count => "<a whole number of at least 0>",
        Wants::Number => "<a number>",
        Wants::Bound => "<a value of the field's type>",
        Wants::Texts => "[\"…\", \"…\"]",
        Wants::Flag(_) | Wants::Switch => "true",
    }
}

//! Reads and checks the attributes of the table in `keys.rs`.

use super::FieldSpec;
use crate::attribute::{Entry, EntryValue};
use crate::errors::Errors;
use crate::keys::{Key, ValueKind};
use crate::literal::{Literal, LiteralValue};
use crate::shape::{Family, TypeName};
use crate::words::{did_you_mean, join_quoted, join_words};

impl FieldSpec {
    /// Reads an attribute of the table in `keys.rs`.
    pub(super) fn read_plain(
        &mut self,
        errors: &mut Errors,
        key: &'static Key,
        entry: &Entry,
    ) -> syn::Result<()> {
        if !key.fits.is_empty() && !self.shape.may_be(key.fits) {
            let actual = self.shape.family().map_or("something else", Family::noun);
            let fits = join_words(key.fits.iter().map(|family| family.noun().to_owned()));
            let message = format!(
                "`{}` is for {fits}, and this field takes {actual}; remove it or change the type",
                key.name
            );
            errors.add(entry.span(), message);
            return Ok(());
        }
        let literal = match (&entry.value, key.value_kind) {
            (EntryValue::Value(value), ValueKind::Switch) => {
                let literal = Literal::read(value)?;
                if !matches!(literal.value, LiteralValue::Flag(_)) {
                    return Err(entry.expected("true"));
                }
                literal
            }
            (EntryValue::Flag, ValueKind::Flag(_) | ValueKind::Switch) => Literal {
                value: LiteralValue::Flag(!matches!(key.value_kind, ValueKind::Flag(false))),
                span: entry.span(),
            },
            (_, ValueKind::Flag(_)) => {
                flag(entry)?;
                return Ok(());
            }
            (EntryValue::Value(value), value_kind) => {
                let literal = Literal::read(value)?;
                self.check_literal(errors, key, value_kind, entry, &literal)?;
                literal
            }
            (_, value_kind) => return Err(entry.expected(example(value_kind))),
        };
        self.literals.push((key, literal));
        Ok(())
    }

    fn check_literal(
        &self,
        errors: &mut Errors,
        key: &Key,
        value_kind: ValueKind,
        entry: &Entry,
        literal: &Literal,
    ) -> syn::Result<()> {
        match (value_kind, &literal.value) {
            (ValueKind::Word(words), LiteralValue::Text(word)) => {
                if !words.contains(&word.as_str()) {
                    let hint = did_you_mean(word, words.iter().copied());
                    let known = join_quoted(words.iter().copied());
                    let message = format!("`{}` is one of {known}{hint}", key.name);
                    errors.add(literal.span, message);
                }
            }
            (ValueKind::Count, LiteralValue::Whole(_)) if literal.as_count().is_some() => {}
            // A fractional step would allow answers that do not fit the type.
            (ValueKind::Number, LiteralValue::Fraction(_))
                if matches!(self.shape.name, TypeName::Whole(..)) =>
            {
                errors.add(
                    literal.span,
                    "this field takes whole numbers; write one here too",
                );
            }
            (ValueKind::Text, LiteralValue::Text(_))
            | (ValueKind::Number, LiteralValue::Whole(_) | LiteralValue::Fraction(_)) => {}
            (ValueKind::Bound, _) => self.shape.check_item(errors, literal),
            (ValueKind::Texts, _) => {
                texts(entry)?;
            }
            _ => return Err(entry.expected(example(value_kind))),
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
    let invalid = || entry.expected(example(ValueKind::Texts));
    let EntryValue::Value(value) = &entry.value else {
        return Err(invalid());
    };
    let is_text = |item: &Literal| matches!(item.value, LiteralValue::Text(_));
    match Literal::read(value)?.value {
        LiteralValue::List(items) if !items.is_empty() && items.iter().all(is_text) => Ok(items),
        _ => Err(invalid()),
    }
}

fn example(value_kind: ValueKind) -> &'static str {
    match value_kind {
        ValueKind::Text | ValueKind::Word(_) => "\"…\"",
        ValueKind::Count => "<a whole number of at least 0>",
        ValueKind::Number => "<a number>",
        ValueKind::Bound => "<a value of the field's type>",
        ValueKind::Texts => "[\"…\", \"…\"]",
        ValueKind::Flag(_) | ValueKind::Switch => "true",
    }
}

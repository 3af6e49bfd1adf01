//! Reads and checks the attributes of one field of a struct.

use proc_macro2::Span;
use quote::quote;
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Expr, Ident, Type};

use crate::attribute::{self, Entry, EntryValue};
use crate::bounds;
use crate::condition::{self, Condition};
use crate::errors::Errors;
use crate::json::Json;
use crate::keys::{self, Key, Section};
use crate::literal::{Literal, LiteralValue};
use crate::shape::{Family, Shape, TypeName};
use crate::words;

mod emit;
mod plain;

use plain::{flag, texts};

/// A field, before its references to other fields are resolved.
pub(crate) struct FieldSpec {
    pub(crate) ident: Ident,
    pub(crate) id: String,
    pub(crate) id_span: Span,
    pub(crate) shape: Shape,
    ty: Type,
    label: String,
    description: Option<String>,
    is_required: bool,
    default: Option<Literal>,
    /// The attributes that go into the definition unchanged.
    literals: Vec<(&'static Key, Literal)>,
    messages: Vec<(&'static str, Json)>,
    requires: Vec<(String, Span)>,
    show_if: Option<Expr>,
}

impl FieldSpec {
    pub(crate) fn read(errors: &mut Errors, field: &syn::Field, ident: &Ident) -> Self {
        let mut spec = Self {
            ident: ident.clone(),
            id: ident.unraw().to_string(),
            id_span: ident.span(),
            shape: Shape::of(&field.ty),
            ty: field.ty.clone(),
            label: words::in_words(ident),
            description: None,
            is_required: false,
            default: None,
            literals: Vec::new(),
            messages: Vec::new(),
            requires: Vec::new(),
            show_if: None,
        };
        let entries = attribute::entries(errors, &field.attrs);
        for entry in &entries {
            let result = match keys::find(&entry.name()) {
                Some(key) => spec.read_plain(errors, key, entry),
                None => spec.read_special(errors, entry),
            };
            errors.take(result);
        }
        if spec.description.is_none() && !spec.has("help") {
            spec.description = attribute::doc_text(&field.attrs);
        }
        words::check_id(errors, &spec.id, 64, spec.id_span);
        spec.shape.check(errors, spec.ty.span());
        bounds::check(errors, &spec);
        spec.check_default(errors);
        spec.check_presence(errors, &entries);
        spec
    }

    /// The value of an attribute, if it is set.
    pub(crate) fn literal(&self, name: &str) -> Option<&Literal> {
        let (_, literal) = self.literals.iter().find(|(key, _)| key.name == name)?;
        Some(literal)
    }

    fn has(&self, name: &str) -> bool {
        self.literal(name).is_some()
    }

    pub(crate) fn default(&self) -> Option<&Literal> {
        self.default.as_ref()
    }

    fn read_special(&mut self, errors: &mut Errors, entry: &Entry) -> syn::Result<()> {
        match entry.name().as_str() {
            "id" => {
                self.id = entry.text()?;
                self.id_span = entry.value_span();
            }
            "label" => {
                self.label = entry.text()?;
                words::check_name(errors, "label", &self.label, entry.value_span());
            }
            "description" => self.description = Some(entry.text()?),
            "default" => match &entry.value {
                EntryValue::Value(value) => self.default = Some(Literal::read(value)?),
                _ => return Err(entry.expected("<a literal>")),
            },
            "required" => {
                self.is_required = true;
                flag(entry)?;
            }
            "requires" => {
                for text in texts(entry)? {
                    if let LiteralValue::Text(name) = text.value {
                        self.requires.push((name, text.span));
                    }
                }
            }
            "show_if" => match &entry.value {
                EntryValue::List(tokens) if !tokens.is_empty() => {
                    self.show_if = Some(syn::parse2(tokens.clone())?);
                }
                _ => {
                    let message = "write a condition, such as `show_if(kind == \"custom\")`";
                    return Err(syn::Error::new(entry.span(), message));
                }
            },
            "messages" => self.read_messages(errors, entry)?,
            _ => {
                let known: Vec<_> = keys::KEYS.iter().map(|key| key.name).collect();
                let known = [keys::SPECIAL, &known].concat();
                attribute::unknown_key(errors, entry, "a field", &known);
            }
        }
        Ok(())
    }

    /// Reads `messages(min_length = "…")`.
    fn read_messages(&mut self, errors: &mut Errors, entry: &Entry) -> syn::Result<()> {
        let EntryValue::List(tokens) = &entry.value else {
            let message = "write `messages(min_length = \"…\")`";
            return Err(syn::Error::new(entry.span(), message));
        };
        let tokens = tokens.clone();
        let inner = attribute::entries(errors, &[syn::parse_quote!(#[form(#tokens)])]);
        for message in &inner {
            let name = message.name();
            let rule = keys::find(&name).filter(|key| key.section == Section::Rule);
            let other = keys::OTHER_RULES.iter().find(|(other, _)| *other == name);
            if let Some(json) = rule.map(|key| key.json).or(other.map(|(_, json)| *json)) {
                self.messages.push((json, Json::Text(message.text()?)));
            } else {
                let rules = keys::KEYS.iter().filter(|key| key.section == Section::Rule);
                let others = keys::OTHER_RULES.iter().map(|(name, _)| *name);
                let known: Vec<_> = rules.map(|key| key.name).chain(others).collect();
                attribute::unknown_key(errors, message, "`messages`", &known);
            }
        }
        Ok(())
    }

    fn check_default(&self, errors: &mut Errors) {
        if let Some(default) = &self.default {
            if self.shape.name == TypeName::File {
                errors.add(
                    default.span,
                    "a file field cannot have a default; remove it",
                );
            } else {
                self.shape.check_value(errors, default);
            }
        }
    }

    /// Checks that the field always has an answer if its Rust type needs one.
    fn check_presence(&self, errors: &mut Errors, entries: &[Entry]) {
        let span_of = |name: &str| {
            let entry = entries.iter().find(|entry| entry.key == name);
            entry.map_or(self.ident.span(), Entry::span)
        };
        let shape = &self.shape;
        let is_known = shape.name != TypeName::Other;
        if self.show_if.is_some() && !shape.is_option && !shape.is_list && is_known {
            let ty = &self.ty;
            let message = format!(
                "a field with `show_if` may have no answer: make this `Option<{}>`",
                quote!(#ty)
            );
            errors.add(ty.span(), message);
        }
        if self.is_required && shape.is_option && self.show_if.is_none() {
            let message = "`required` on an `Option` is for fields with `show_if`; remove the \
                           `Option` instead";
            errors.add(span_of("required"), message);
        }
        if self.is_required && !shape.is_option && !shape.is_list && is_known {
            let message = "this field is required already; remove `required`";
            errors.add(span_of("required"), message);
        }
        let may_be_absent = shape.is_option || shape.is_list || !is_known;
        for name in ["readonly", "hidden"] {
            if self.has(name) && self.default.is_none() && !may_be_absent {
                let message = format!(
                    "nobody can fill in a `{name}` field: give it a `default`, or make it an `Option`"
                );
                errors.add(span_of(name), message);
            }
        }
        if shape.family() == Some(Family::Files)
            && self
                .literal("max_items")
                .and_then(Literal::as_count)
                .is_none_or(|max| max < 2)
        {
            let message = "say how many files there can be, `#[form(max_items = 5)]`; for one \
                           file the type is `Upload`";
            errors.add(self.ty.span(), message);
        }
    }

    /// Reads the condition, once all fields are known.
    pub(crate) fn condition(&self, errors: &mut Errors, all: &[Self]) -> Option<Condition> {
        let expr = self.show_if.as_ref()?;
        condition::read(errors, expr, &self.ident, all)
    }
}

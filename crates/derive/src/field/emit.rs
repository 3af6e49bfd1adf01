//! Generates the code of a field.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::Path;
use syn::ext::IdentExt;
use syn::spanned::Spanned;

use super::FieldSpec;
use crate::condition::{self, Condition};
use crate::errors::Errors;
use crate::json::Json;
use crate::keys::Section;

impl FieldSpec {
    /// An expression that builds the definition of the field.
    pub(crate) fn definition(
        &self,
        errors: &mut Errors,
        all: &[Self],
        condition: Option<Condition>,
        krate: &Path,
    ) -> TokenStream {
        let mut field = vec![
            ("id", Json::Text(self.id.clone())),
            ("label", Json::Text(self.label.clone())),
        ];
        if let Some(description) = &self.description {
            field.push(("description", Json::Text(description.clone())));
        }
        if self.is_required {
            field.push(("required", Json::Flag(true)));
        }
        if let Some(default) = &self.default {
            field.push(("default", default.to_json(&self.shape.inner)));
        }
        let at = |section: Section| {
            let here = self
                .literals
                .iter()
                .filter(move |(key, _)| key.section == section);
            here.map(|(key, literal)| (key.json, literal.to_json(&self.shape.inner)))
        };
        field.extend(at(Section::Field));
        let mut rules: Vec<_> = at(Section::Rule).collect();
        if !self.messages.is_empty() {
            let messages = self
                .messages
                .iter()
                .map(|(rule, message)| (*rule, message.clone()));
            rules.push(("messages", Json::Object(messages.collect())));
        }
        let mut hints: Vec<_> = at(Section::Hint).collect();
        if let Some(condition) = condition {
            hints.push(("conditionalDisplay", condition.json));
        }
        let parts = [("validation", rules), ("rendering", hints)];
        let filled = parts.into_iter().filter(|(_, entries)| !entries.is_empty());
        field.extend(filled.map(|(key, entries)| (key, Json::Object(entries))));
        let dependencies = self.dependencies(errors, all);
        if !dependencies.is_empty() {
            field.push(("dependencies", Json::texts(dependencies)));
        }
        let (ty, object) = (&self.ty, Json::Object(field).tokens(krate));
        let check = (self.show_if.is_some()).then(
            || quote_spanned!(ty.span()=> const { #krate::__private::may_be_absent::<#ty>() };),
        );
        let field = quote_spanned!(ty.span()=> #krate::__private::field::<#ty>);
        quote!({ #check #field(#object) })
    }

    fn dependencies<'a>(&self, errors: &mut Errors, all: &'a [Self]) -> Vec<&'a str> {
        let mut ids = Vec::new();
        for (name, span) in &self.requires {
            match all.iter().find(|other| other.ident.unraw() == *name) {
                Some(other) if other.ident == self.ident => {
                    errors.add(*span, "a field cannot require itself; name another one");
                }
                Some(other) => ids.push(other.id.as_str()),
                None => errors.push(condition::unknown_field(name, *span, all)),
            }
        }
        ids
    }

    /// `name: <the answer>` in the struct's constructor.
    pub(crate) fn initializer(&self, krate: &Path) -> TokenStream {
        let (ident, id, ty) = (&self.ident, &self.id, &self.ty);
        let take = quote_spanned!(ty.span()=> #krate::__private::take::<#ty>);
        quote!(#ident: #take(&mut answers, #id)?)
    }
}

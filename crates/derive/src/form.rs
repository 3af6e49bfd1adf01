//! Derives `TypedForm` for a struct.

use std::collections::HashMap;

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::spanned::Spanned;
use syn::{DataStruct, DeriveInput, Fields, Ident, Path};

use crate::attribute;
use crate::condition::Condition;
use crate::errors::Errors;
use crate::field::FieldSpec;
use crate::json::Json;
use crate::words;

/// The maximum number of fields of a form.
const MAX_FIELDS: usize = 100;

const KEYS: &[&str] = &["id", "title", "description", "crate"];

pub(crate) fn expand(
    input: &DeriveInput,
    data: &DataStruct,
    krate: &Path,
) -> syn::Result<TokenStream> {
    let mut errors = Errors::default();
    let head = Head::read(&mut errors, input, krate);
    let krate = &head.krate;
    let fields = read_fields(&mut errors, input, data);
    check_ids(&mut errors, &fields);
    let conditions: Vec<_> = fields
        .iter()
        .map(|field| field.condition(&mut errors, &fields))
        .collect();
    check_cycles(&mut errors, &fields, &conditions);
    let definitions: Vec<_> = fields
        .iter()
        .zip(conditions)
        .map(|(field, condition)| field.definition(&mut errors, &fields, condition, krate))
        .collect();
    errors.finish()?;
    let form = head.json().tokens(krate);
    let values = fields.iter().map(|field| field.initializer(krate));
    let name = &input.ident;
    Ok(quote! {
        #[automatically_derived]
        impl #krate::TypedForm for #name {
            fn try_form() -> ::core::result::Result<&'static #krate::Form, &'static #krate::Problems> {
                static FORM: #krate::__private::LazyLock<
                    ::core::result::Result<#krate::Form, #krate::Problems>,
                > = #krate::__private::LazyLock::new(|| {
                    #krate::__private::load(#form, [#(#definitions),*])
                });
                FORM.as_ref()
            }

            fn from_answers(
                mut answers: #krate::Answers<'_>,
            ) -> ::core::result::Result<Self, #krate::FormMismatch> {
                ::core::result::Result::Ok(Self { #(#values),* })
            }
        }
    })
}

/// The attributes of the struct.
struct Head {
    id: String,
    title: String,
    description: Option<String>,
    krate: Path,
}

impl Head {
    fn read(errors: &mut Errors, input: &DeriveInput, krate: &Path) -> Self {
        let mut head = Self {
            id: words::snake_case(&input.ident),
            title: words::in_words(&input.ident),
            description: attribute::doc_text(&input.attrs),
            krate: krate.clone(),
        };
        let mut id_span = input.ident.span();
        for entry in attribute::entries(errors, &input.attrs) {
            match entry.name().as_str() {
                "id" => {
                    head.id = errors.take(entry.text()).unwrap_or(head.id);
                    id_span = entry.value_span();
                }
                "title" => {
                    head.title = errors.take(entry.text()).unwrap_or(head.title);
                    words::check_name(errors, "title", &head.title, entry.value_span());
                }
                "description" => head.description = errors.take(entry.text()),
                "crate" => head.krate = errors.take(entry.path()).unwrap_or(head.krate),
                _ => attribute::unknown_key(errors, &entry, "a form", KEYS),
            }
        }
        words::check_id(errors, &head.id, 128, id_span);
        head
    }

    fn json(&self) -> Json {
        let mut entries = vec![
            ("id", Json::Text(self.id.clone())),
            ("title", Json::Text(self.title.clone())),
        ];
        let description = self.description.clone();
        entries.extend(description.map(|text| ("description", Json::Text(text))));
        Json::Object(entries)
    }
}

fn read_fields(errors: &mut Errors, input: &DeriveInput, data: &DataStruct) -> Vec<FieldSpec> {
    let fields = match &data.fields {
        Fields::Named(fields) => &fields.named,
        Fields::Unnamed(fields) => {
            let message = "a form's fields need names; write `struct … { name: Type }`";
            errors.add(fields.span(), message);
            return Vec::new();
        }
        Fields::Unit => {
            let message = "a form needs at least one field; write `struct … { name: Type }`";
            errors.add(input.ident.span(), message);
            return Vec::new();
        }
    };
    if fields.is_empty() {
        errors.add(
            input.ident.span(),
            "a form needs at least one field; add one",
        );
    }
    if fields.len() > MAX_FIELDS {
        let message = format!(
            "a form has at most {MAX_FIELDS} fields, this one has {}; split it",
            fields.len()
        );
        errors.add(input.ident.span(), message);
    }
    fields
        .iter()
        .filter_map(|field| Some(FieldSpec::read(errors, field, field.ident.as_ref()?)))
        .collect()
}

fn check_ids(errors: &mut Errors, fields: &[FieldSpec]) {
    let mut seen = HashMap::new();
    for field in fields {
        if let Some(first) = seen.insert(&field.id, &field.ident) {
            let message = format!(
                "`{first}` has the id `{}` already; give one of the two another `id`",
                field.id
            );
            errors.add(field.id_span, message);
        }
    }
}

/// Rejects conditions that depend on each other in a cycle.
fn check_cycles(errors: &mut Errors, fields: &[FieldSpec], conditions: &[Option<Condition>]) {
    let position = |ident: &Ident| fields.iter().position(|field| field.ident == *ident);
    let references: Vec<Vec<usize>> = conditions
        .iter()
        .map(|condition| {
            let idents = condition.iter().flat_map(|condition| &condition.references);
            idents.filter_map(position).collect()
        })
        .collect();
    for (start, condition) in conditions.iter().enumerate() {
        let Some(condition) = condition else {
            continue;
        };
        let mut reached = Vec::new();
        let mut next = references[start].clone();
        while let Some(index) = next.pop() {
            if !reached.contains(&index) {
                reached.push(index);
                next.extend(&references[index]);
            }
        }
        if reached.contains(&start) {
            reject_cycle(errors, condition.span, &fields[start].ident);
        }
    }
}

fn reject_cycle(errors: &mut Errors, span: Span, ident: &Ident) {
    let message = format!(
        "whether `{ident}` is shown depends on itself through other conditions; break the circle"
    );
    errors.add(span, message);
}

//! An enum without data as the options of a select.

use std::collections::HashMap;

use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned;
use syn::{DataEnum, DeriveInput, Fields, Ident, Path, Variant};

use crate::attribute;
use crate::errors::Errors;
use crate::words;

pub(crate) fn expand(
    input: &DeriveInput,
    data: &DataEnum,
    krate: &Path,
) -> syn::Result<TokenStream> {
    let mut errors = Errors::default();
    let krate = read_crate(&mut errors, input, krate.clone());
    let offers: Vec<_> = data
        .variants
        .iter()
        .map(|variant| Offer::read(&mut errors, variant))
        .collect();
    if offers.is_empty() {
        let message = "a choice needs at least one option; add a variant";
        errors.add(input.ident.span(), message);
    }
    let mut seen = HashMap::new();
    for offer in &offers {
        if let Some(first) = seen.insert(&offer.value, offer.ident) {
            let message = format!(
                "`{first}` has the value `{}` already; give one of the two another `value`",
                offer.value
            );
            errors.add(offer.ident.span(), message);
        }
    }
    errors.finish()?;
    let are_titled = offers.iter().any(|offer| offer.title.is_some());
    let titles = offers.iter().map(|offer| match &offer.title {
        Some(title) => quote!(::core::option::Option::Some(#title)),
        None if are_titled => {
            let title = words::in_words(offer.ident);
            quote!(::core::option::Option::Some(#title))
        }
        None => quote!(::core::option::Option::None),
    });
    let name = &input.ident;
    let idents: Vec<_> = offers.iter().map(|offer| offer.ident).collect();
    let values: Vec<_> = offers.iter().map(|offer| &offer.value).collect();
    Ok(quote! {
        #[automatically_derived]
        impl #krate::Choice for #name {
            const OPTIONS: &'static [(
                &'static ::core::primitive::str,
                ::core::option::Option<&'static ::core::primitive::str>,
            )] = &[#((#values, #titles)),*];

            fn from_value(value: &::core::primitive::str) -> ::core::option::Option<Self> {
                match value {
                    #(#values => ::core::option::Option::Some(Self::#idents),)*
                    _ => ::core::option::Option::None,
                }
            }

            fn value(&self) -> &'static ::core::primitive::str {
                match self {
                    #(Self::#idents => #values,)*
                }
            }
        }
    })
}

/// One variant as an option.
struct Offer<'v> {
    ident: &'v Ident,
    value: String,
    title: Option<String>,
}

impl<'v> Offer<'v> {
    fn read(errors: &mut Errors, variant: &'v Variant) -> Self {
        if !matches!(variant.fields, Fields::Unit) {
            let message = "an option carries no data; make the variant a bare name, and ask for \
                           the data in a field with `show_if`";
            errors.add(variant.fields.span(), message);
        }
        let mut offer = Self {
            ident: &variant.ident,
            value: words::snake_case(&variant.ident),
            title: None,
        };
        for entry in attribute::entries(errors, &variant.attrs) {
            match entry.name().as_str() {
                "value" => {
                    offer.value = errors.take(entry.text()).unwrap_or(offer.value);
                    if offer.value.is_empty() {
                        let message =
                            "an option's value must not be empty: an empty text is no answer";
                        errors.add(entry.value_span(), message);
                    }
                }
                "title" => {
                    offer.title = errors.take(entry.text());
                    if let Some(title) = &offer.title {
                        words::check_name(errors, "title", title, entry.value_span());
                    }
                }
                _ => attribute::unknown_key(errors, &entry, "an option", &["value", "title"]),
            }
        }
        offer
    }
}

fn read_crate(errors: &mut Errors, input: &DeriveInput, mut krate: Path) -> Path {
    for entry in attribute::entries(errors, &input.attrs) {
        match entry.name().as_str() {
            "crate" => krate = errors.take(entry.path()).unwrap_or(krate),
            _ => attribute::unknown_key(errors, &entry, "a choice", &["crate"]),
        }
    }
    krate
}

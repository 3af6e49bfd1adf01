//! Derives `Choice` for an enum without data: the options of a select.

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
    let options: Vec<_> = data
        .variants
        .iter()
        .map(|variant| OptionSpec::read(&mut errors, variant))
        .collect();
    if options.is_empty() {
        let message = "a choice needs at least one option; add a variant";
        errors.add(input.ident.span(), message);
    }
    let mut seen = HashMap::new();
    for option in &options {
        if let Some(first) = seen.insert(&option.value, option.ident) {
            let message = format!(
                "`{first}` has the value `{}` already; give one of the two another `value`",
                option.value
            );
            errors.add(option.ident.span(), message);
        }
    }
    errors.finish()?;
    let are_titled = options.iter().any(|option| option.title.is_some());
    let titles = options.iter().map(|option| match &option.title {
        Some(title) => quote!(::core::option::Option::Some(#title)),
        None if are_titled => {
            let title = words::in_words(option.ident);
            quote!(::core::option::Option::Some(#title))
        }
        None => quote!(::core::option::Option::None),
    });
    let name = &input.ident;
    let idents: Vec<_> = options.iter().map(|option| option.ident).collect();
    let values: Vec<_> = options.iter().map(|option| &option.value).collect();
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

/// The option of one variant.
struct OptionSpec<'v> {
    ident: &'v Ident,
    value: String,
    title: Option<String>,
}

impl<'v> OptionSpec<'v> {
    fn read(errors: &mut Errors, variant: &'v Variant) -> Self {
        if !matches!(variant.fields, Fields::Unit) {
            let message = "an option carries no data; make the variant a bare name, and ask for \
                           the data in a field with `show_if`";
            errors.add(variant.fields.span(), message);
        }
        let mut option = Self {
            ident: &variant.ident,
            value: words::snake_case(&variant.ident),
            title: None,
        };
        for entry in attribute::entries(errors, &variant.attrs) {
            match entry.name().as_str() {
                "value" => {
                    option.value = errors.take(entry.text()).unwrap_or(option.value);
                    if option.value.is_empty() {
                        let message =
                            "an option's value must not be empty: an empty text is no answer";
                        errors.add(entry.value_span(), message);
                    }
                }
                "title" => {
                    option.title = errors.take(entry.text());
                    if let Some(title) = &option.title {
                        words::check_name(errors, "title", title, entry.value_span());
                    }
                }
                _ => attribute::unknown_key(errors, &entry, "an option", &["value", "title"]),
            }
        }
        option
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

//! `#[derive(Form)]` for Entreat. Use it through `entreat` or `entreat_core`, which re-export it.
//!
//! The macro generates a form's definition from a struct, and rejects at compile time what names
//! and literals reveal. It adds no rules: `FieldType` defines what a Rust type asks for, and the
//! loader what a definition means.

use proc_macro::TokenStream;
use syn::{Data, DeriveInput, Path, parse_macro_input, parse_quote};

mod attribute;
mod bounds;
mod choice;
mod condition;
mod errors;
mod field;
mod form;
mod json;
mod keys;
mod literal;
mod shape;
mod words;

#[doc = include_str!("../README.md")]
#[proc_macro_derive(Form, attributes(form))]
pub fn derive_form(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand_or_error(&input, &parse_quote!(::entreat_core))
}

// For programs that depend on `entreat` alone, which re-exports it as `Form`. A separate macro,
// since a macro cannot tell through which crate it was reached, and the alternative is an
// attribute on every type.
#[doc = include_str!("../README.md")]
#[proc_macro_derive(FormOfEntreat, attributes(form))]
pub fn derive_form_of_entreat(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand_or_error(&input, &parse_quote!(::entreat::core))
}

fn expand_or_error(input: &DeriveInput, krate: &Path) -> TokenStream {
    expand(input, krate)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Generates the implementation. `krate` is the path of core, unless an attribute sets it.
fn expand(input: &DeriveInput, krate: &Path) -> syn::Result<proc_macro2::TokenStream> {
    if !input.generics.params.is_empty() {
        let message = "a form is one form: `#[derive(Form)]` takes no generics; name the types";
        return Err(syn::Error::new_spanned(&input.generics, message));
    }
    match &input.data {
        Data::Struct(data) => form::expand(input, data, krate),
        Data::Enum(data) => choice::expand(input, data, krate),
        Data::Union(data) => Err(syn::Error::new(
            data.union_token.span,
            "a union cannot be a form; use a struct with named fields",
        )),
    }
}

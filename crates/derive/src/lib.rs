//! `#[derive(Form)]` for Entreat; use it through `entreat` or `entreat_core`, which re-export it.
//!
//! The macro writes a form's definition from a struct and refuses early what it can judge by
//! names and literals. It knows no rule of its own: what a type asks for is decided by its
//! `FieldType`, what a definition means by the loader.

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
    write_out(&input, &parse_quote!(::entreat_core))
}

// For programs that depend on `entreat` alone, which re-exports it as `Form`. A macro of its
// own, since a macro cannot tell through which crate it was reached, and an attribute on every
// type of every program would be a high price.
#[doc = include_str!("../README.md")]
#[proc_macro_derive(FormOfEntreat, attributes(form))]
pub fn derive_form_of_entreat(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    write_out(&input, &parse_quote!(::entreat::core))
}

fn write_out(input: &DeriveInput, krate: &Path) -> TokenStream {
    expand(input, krate)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Writes what the type implements; `krate` is where core is found unless an attribute says.
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

//! JSON that is known at compile time, as tokens that build it at run time.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Path, Type};

/// A part of a definition.
#[derive(Clone)]
pub(crate) enum Json {
    Text(String),
    Whole(i128),
    Fraction(f64),
    Flag(bool),
    List(Vec<Json>),
    Object(Vec<(&'static str, Json)>),
    /// The value of a variant, which only the type of the choice knows.
    Variant(Path, Box<Type>),
}

impl Json {
    pub(crate) fn texts<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let text = |text: &str| Self::Text(text.to_owned());
        Self::List(texts.into_iter().map(text).collect())
    }

    /// An expression of type `serde_json::Value`.
    pub(crate) fn tokens(&self, krate: &Path) -> TokenStream {
        let private = quote!(#krate::__private);
        match self {
            Self::Text(text) => quote!(#private::scalar(#text)),
            Self::Whole(number) => match (i64::try_from(*number), u64::try_from(*number)) {
                (Ok(number), _) => quote!(#private::scalar(#number)),
                (_, Ok(number)) => quote!(#private::scalar(#number)),
                // Rejected when literals are read.
                _ => quote!(#private::scalar(())),
            },
            Self::Fraction(number) => quote!(#private::scalar(#number)),
            Self::Flag(flag) => quote!(#private::scalar(#flag)),
            Self::List(items) => {
                let items = items.iter().map(|item| item.tokens(krate));
                quote!(#private::list([#(#items),*]))
            }
            Self::Object(entries) => {
                let keys = entries.iter().map(|(key, _)| key);
                let values = entries.iter().map(|(_, value)| value.tokens(krate));
                quote!(#private::object([#((#keys, #values)),*]))
            }
            Self::Variant(path, choice) => {
                let choice = choice.as_ref();
                quote_spanned!(path.span()=> #private::variant::<#choice>(&#path))
            }
        }
    }
}

//! Parses `#[form(…)]` and doc comments, without interpreting the keys.

use proc_macro2::{Span, TokenStream};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, ExprLit, Ident, Lit, Meta, Path, Token, parenthesized};

use crate::errors::Errors;
use crate::words::{did_you_mean, join_quoted};

/// One entry of `#[form(…)]`.
pub(crate) struct Entry {
    pub(crate) key: Ident,
    pub(crate) value: EntryValue,
}

pub(crate) enum EntryValue {
    /// `key`.
    Flag,
    /// `key = value`.
    Value(Expr),
    /// `key(tokens)`.
    List(TokenStream),
}

impl Entry {
    pub(crate) fn name(&self) -> String {
        self.key.to_string()
    }

    pub(crate) fn span(&self) -> Span {
        self.key.span()
    }

    /// The text of `key = "text"`.
    pub(crate) fn text(&self) -> syn::Result<String> {
        match &self.value {
            EntryValue::Value(Expr::Lit(ExprLit {
                lit: Lit::Str(text),
                ..
            })) => Ok(text.value()),
            _ => Err(self.expected("\"…\"")),
        }
    }

    /// The path of `crate = path`.
    pub(crate) fn path(&self) -> syn::Result<Path> {
        match &self.value {
            EntryValue::Value(Expr::Path(path)) if path.qself.is_none() => Ok(path.path.clone()),
            _ => Err(self.expected("path::to::entreat_core")),
        }
    }

    /// The error for a value of the wrong form.
    pub(crate) fn expected(&self, form: &str) -> syn::Error {
        let key = &self.key;
        syn::Error::new(self.value_span(), format!("write `{key} = {form}`"))
    }

    pub(crate) fn value_span(&self) -> Span {
        use syn::spanned::Spanned;
        match &self.value {
            EntryValue::Value(value) => value.span(),
            EntryValue::Flag | EntryValue::List(_) => self.span(),
        }
    }
}

impl Parse for Entry {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        // `parse_any`, because the key `crate` is a keyword.
        let key = input.call(Ident::parse_any)?;
        let value = if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            EntryValue::Value(ungroup(input.parse()?))
        } else if input.peek(syn::token::Paren) {
            let content;
            parenthesized!(content in input);
            EntryValue::List(content.parse()?)
        } else {
            EntryValue::Flag
        };
        Ok(Self { key, value })
    }
}

/// Removes the invisible groups that macros put around literals they pass on.
fn ungroup(expr: Expr) -> Expr {
    match expr {
        Expr::Group(group) => ungroup(*group.expr),
        expr => expr,
    }
}

/// All entries of the `#[form(…)]` of an item. Reports duplicate keys.
pub(crate) fn entries(errors: &mut Errors, attributes: &[Attribute]) -> Vec<Entry> {
    let mut all: Vec<Entry> = Vec::new();
    for attribute in attributes.iter().filter(|a| a.path().is_ident("form")) {
        let parser = Punctuated::<Entry, Token![,]>::parse_terminated;
        let Some(parsed) = errors.take(attribute.parse_args_with(parser)) else {
            continue;
        };
        for entry in parsed {
            if all.iter().any(|other| other.key == entry.key) {
                let message = format!("`{}` is given twice; keep one of the two", entry.key);
                errors.add(entry.span(), message);
            } else {
                all.push(entry);
            }
        }
    }
    all
}

/// Reports a key that is not valid here.
pub(crate) fn unknown_key(errors: &mut Errors, entry: &Entry, place: &str, known: &[&str]) {
    let key = entry.name();
    let hint = did_you_mean(&key, known.iter().copied());
    let hint = if hint.is_empty() && known.len() <= 8 {
        format!("; known: {}", join_quoted(known.iter().copied()))
    } else {
        hint
    };
    errors.add(
        entry.span(),
        format!("`{key}` is no attribute of {place}{hint}"),
    );
}

/// The text of doc comments, with the lines of each paragraph joined.
pub(crate) fn doc_text(attributes: &[Attribute]) -> Option<String> {
    let mut paragraphs: Vec<String> = vec![String::new()];
    for attribute in attributes.iter().filter(|a| a.path().is_ident("doc")) {
        let Meta::NameValue(meta) = &attribute.meta else {
            continue;
        };
        let Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) = &meta.value
        else {
            continue;
        };
        // Not `lines()`: an empty comment is an empty line, not none.
        for line in text.value().split('\n').map(str::trim) {
            match paragraphs.last_mut() {
                _ if line.is_empty() => paragraphs.push(String::new()),
                Some(paragraph) if !paragraph.is_empty() => {
                    paragraph.push(' ');
                    paragraph.push_str(line);
                }
                _ => paragraphs.push(line.to_owned()),
            }
        }
    }
    paragraphs.retain(|paragraph| !paragraph.is_empty());
    (!paragraphs.is_empty()).then(|| paragraphs.join("\n\n"))
}

#[cfg(test)]
mod tests {
    use super::doc_text;

    #[test]
    fn doc_comments_keep_paragraphs_and_lose_line_breaks() {
        let item: syn::ItemStruct = syn::parse_quote! {
            /// One line
            /// and its end.
            ///
            /// Another.
            struct S;
        };
        let text = doc_text(&item.attrs);
        assert_eq!(text.as_deref(), Some("One line and its end.\n\nAnother."));
        assert_eq!(doc_text(&[]), None);
    }
}

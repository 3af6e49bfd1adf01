//! Text for names, lists and suggestions.

use heck::ToSnakeCase;
use proc_macro2::Span;
use syn::Ident;
use syn::ext::IdentExt;

use crate::errors::Errors;

/// The maximum length of a title or label, in characters.
const MAX_NAME: usize = 256;

/// Converts `DeployTarget` to `deploy_target`.
pub(crate) fn snake_case(ident: &Ident) -> String {
    ident.unraw().to_string().to_snake_case()
}

/// Converts `DeployTarget` or `deploy_target` to `Deploy target`.
pub(crate) fn in_words(ident: &Ident) -> String {
    let words = snake_case(ident).replace('_', " ");
    let mut letters = words.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => ident.to_string(),
    }
}

/// Rejects an invalid id.
pub(crate) fn check_id(errors: &mut Errors, id: &str, max: usize, span: Span) {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if id.is_empty() || id.len() > max || !id.bytes().all(is_plain) {
        errors.add(
            span,
            format!(
                "`{id}` cannot be an id: give one with `id = \"…\"` that has 1 to {max} \
                 ASCII letters, digits, `_` or `-`"
            ),
        );
    }
}

/// Rejects a title or label that is empty or too long.
pub(crate) fn check_name(errors: &mut Errors, key: &str, name: &str, span: Span) {
    if name.is_empty() || name.chars().count() > MAX_NAME {
        errors.add(
            span,
            format!("`{key}` must have 1 to {MAX_NAME} characters"),
        );
    }
}

/// Joins words as `a`, `b` and `c`, each in backquotes.
pub(crate) fn join_quoted<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    join_words(words.into_iter().map(|word| format!("`{word}`")))
}

/// Joins words as a, b and c.
pub(crate) fn join_words(words: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = words.collect();
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => words.concat(),
    }
}

/// Returns `; did you mean …?` if a known word is close.
pub(crate) fn did_you_mean<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    let fold = |text: &str| text.replace('_', "").to_lowercase();
    let folded = fold(word);
    known
        .into_iter()
        .map(|candidate| (strsim::osa_distance(&folded, &fold(candidate)), candidate))
        .filter(|(distance, _)| *distance <= (word.len() / 3).clamp(1, 3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| format!("; did you mean `{candidate}`?"))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_words() {
        let words = |name| in_words(&Ident::new(name, Span::call_site()));
        assert_eq!(words("api_key"), "Api key");
        assert_eq!(words("DeployTarget"), "Deploy target");
        assert_eq!(words("HTTPServer"), "Http server");
        assert_eq!(words("_"), "_");
        assert_eq!(in_words(&Ident::new_raw("type", Span::call_site())), "Type");
    }

    #[test]
    fn a_slip_is_recognised_and_a_stranger_is_not() {
        assert_eq!(
            did_you_mean("minlength", ["min_length"]),
            "; did you mean `min_length`?"
        );
        assert_eq!(did_you_mean("regex", ["min_length"]), "");
    }
}

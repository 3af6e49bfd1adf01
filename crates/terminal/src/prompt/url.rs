//! `url`: passed on as typed.

use entreat_core::form::UrlRules;

use crate::typography::quoted_choice;

pub(super) fn hint(rules: &UrlRules) -> String {
    let schemes: Vec<_> = rules
        .policy
        .schemes()
        .map(|scheme| format!("{scheme}:"))
        .collect();
    let schemes = quoted_choice(schemes.iter().map(String::as_str));
    format!("A complete address that starts with {schemes}.")
}

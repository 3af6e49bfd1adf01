//! Shows who is signed in, with a button to sign out.

use super::token::Target;
use super::visit::Visit;
use crate::identity::Person;

/// Who is signed in.
pub(super) struct AccountView {
    pub(super) label: &'static str,
    pub(super) name: String,
    pub(super) sign_out: &'static str,
    /// The token of the form that signs out; `None` if a proxy signs people in and out.
    pub(super) csrf: Option<String>,
}

impl AccountView {
    /// `None` for people who do not sign in.
    pub(super) fn new(visit: &Visit) -> Option<Self> {
        let Some(Person::SignedIn(account)) = &visit.person else {
            return None;
        };
        let csrf = || {
            let keys = &visit.site.keys;
            keys.csrf_token(Target::Account, &visit.browser, None)
        };
        Some(Self {
            label: visit.texts.signed_in_as,
            name: account.shown_as.clone().into(),
            sign_out: visit.texts.sign_out,
            csrf: visit.has_session().then(csrf),
        })
    }
}

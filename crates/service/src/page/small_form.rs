//! Forms of a few fields: signing in and out, and those of the board.

use axum::body::{Body, Bytes, to_bytes};
use axum::http::HeaderMap;
use url::form_urlencoded;

use super::Site;
use super::guard::may_be_same_origin;
use super::token::{Browser, FormPerson, Target};

/// Maximum size of a form, in bytes. Tokens of providers are among what is posted.
const MAX_FORM: usize = 64 << 10;

/// A small form, with what was entered.
pub(super) struct SmallForm(Vec<(String, String)>);

impl SmallForm {
    /// Reads a form that was rendered for the browser that sends it; `None` if it was not, or if it
    /// is too large, too slow or cut off.
    pub(super) async fn read_own(
        site: &Site,
        target: Target,
        headers: &HeaderMap,
        body: Body,
    ) -> Option<(Browser, Self)> {
        let browser = site.browser(headers)?;
        if !may_be_same_origin(site, headers) {
            return None;
        }
        let form = Self::parse(&read_body(site, body).await?);
        let person = site
            .keys
            .person_of_form(target, &browser, form.get("_csrf"));
        (person == Some(FormPerson(None))).then_some((browser, form))
    }

    fn parse(body: &[u8]) -> Self {
        Self(form_urlencoded::parse(body).into_owned().collect())
    }

    /// A value without the space around it; empty if it is missing.
    pub(super) fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(other, _)| other == name);
        found.map_or("", |(_, value)| value.trim())
    }
}

/// Reads a small body; `None` if it is too large, too slow or cut off.
pub(super) async fn read_body(site: &Site, body: Body) -> Option<Bytes> {
    let reading = to_bytes(body, MAX_FORM);
    let body = tokio::time::timeout(site.settings.body_timeout, reading).await;
    body.ok()?.ok()
}

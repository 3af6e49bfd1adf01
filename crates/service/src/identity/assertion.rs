//! People named by a signed token in a header.
//!
//! The signature proves who wrote the header, so it counts wherever the request comes from: a proxy
//! that passes on what a client sent lets nobody in.

use std::str::FromStr;
use std::sync::Arc;

use axum::http::{HeaderMap, HeaderName};
use entreat_core::UnixTime;
use entreat_wire::issuer::Issuer;

use super::{ClaimNames, InvalidHeaderName, Person, Unidentified};

/// Which header holds the token, and what the token has to be.
#[derive(Clone, Debug)]
pub struct AssertionIdentity {
    header: HeaderName,
    issuer: Issuer,
    audience: String,
    claims: ClaimNames,
}

impl AssertionIdentity {
    /// Accepts tokens of this issuer for this audience.
    pub fn new(
        header: &str,
        issuer: Issuer,
        audience: &str,
        claims: ClaimNames,
    ) -> Result<Self, InvalidHeaderName> {
        Ok(Self {
            header: HeaderName::from_str(header).map_err(|_| InvalidHeaderName)?,
            issuer,
            audience: audience.to_owned(),
            claims,
        })
    }

    pub(crate) async fn identify(
        &self,
        headers: &HeaderMap,
        now: UnixTime,
    ) -> Result<Person, Unidentified> {
        let mut values = headers.get_all(&self.header).iter();
        let value = match (values.next(), values.next()) {
            (Some(value), None) => value,
            (None, _) => return Err(Unidentified::NoName),
            // The proxy appended its header to the client's.
            (Some(_), Some(_)) => return Err(Unidentified::SeveralNames),
        };
        let value = value.to_str().map_err(|_| Unidentified::NotText)?;
        let token = without_scheme(value).trim();
        if token.is_empty() {
            return Err(Unidentified::NoName);
        }
        let checked = self.issuer.check_assertion(token, &self.audience, now);
        let claims = checked.await.map_err(|error| {
            tracing::info!(%error, "a proxy's token was refused");
            Unidentified::InvalidToken
        })?;
        let account = self.claims.account_at_proxy(&claims);
        let account = account.ok_or(Unidentified::InvalidToken)?;
        Ok(Person::SignedIn(Arc::new(account)))
    }
}

/// The token after `Bearer`, which stands before it in `Authorization`.
fn without_scheme(value: &str) -> &str {
    match value.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token,
        _ => value,
    }
}

//! Tokens, and the requests that yield them.

use std::time::Duration;

use entreat_core::UnixTime;
use serde::{Deserialize, Serialize};
use url::form_urlencoded::Serializer;

use super::client::Client;
use super::outbound::Outbound;
use super::{SecretText, SignInError, challenge};

/// A token is renewed this long before it expires, or a quarter of its life if that is less.
const EARLY: Duration = Duration::from_secs(60);
/// The maximum length of a token, in bytes.
const MAX_TOKEN: usize = 16 << 10;

/// What a person has allowed us at a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Grant {
    pub(super) issuer: String,
    pub(super) resource: String,
    pub(super) client: Client,
    pub(super) token: SecretText,
    pub(super) refresh_token: Option<SecretText>,
    pub(super) obtained: UnixTime,
    pub(super) expires: Option<UnixTime>,
    /// The scopes that were asked for, also those that were not granted.
    pub(super) scopes: Vec<String>,
}

impl Grant {
    /// Whether the token is to be renewed before it is used.
    pub(super) fn is_due(&self, now: UnixTime) -> bool {
        self.expires.is_some_and(|expires| {
            let life = expires.since(self.obtained);
            now.after(EARLY.min(life / 4)) >= expires
        })
    }

    pub(super) fn is_expired(&self, now: UnixTime) -> bool {
        self.expires.is_some_and(|expires| now >= expires)
    }
}

/// Where and for what tokens are asked.
pub(super) struct TokenRequest<'a> {
    pub(super) endpoint: &'a str,
    pub(super) issuer: &'a str,
    pub(super) resource: &'a str,
    pub(super) client: &'a Client,
    pub(super) scopes: &'a [String],
}

/// The response of a token endpoint.
#[derive(Deserialize)]
struct TokenResponse {
    access_token: SecretText,
    token_type: String,
    expires_in: Option<serde_json::Number>,
    refresh_token: Option<SecretText>,
}

#[derive(Deserialize)]
struct ErrorResponse {
    error: String,
}

impl TokenRequest<'_> {
    /// Exchanges the code of a sign-in.
    pub(super) async fn exchange(
        &self,
        code: &SecretText,
        verifier: &SecretText,
        redirect_uri: &str,
        outbound: &Outbound<'_>,
        now: UnixTime,
    ) -> Result<Grant, SignInError> {
        let fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code.expose()),
            ("redirect_uri", redirect_uri),
            ("code_verifier", verifier.expose()),
        ];
        self.send(fields, None, outbound, now).await
    }

    /// Exchanges a refresh token. The one in the response takes its place, if there is one.
    pub(super) async fn refresh(
        &self,
        token: &SecretText,
        outbound: &Outbound<'_>,
        now: UnixTime,
    ) -> Result<Grant, SignInError> {
        let fields = vec![
            ("grant_type", "refresh_token"),
            ("refresh_token", token.expose()),
        ];
        self.send(fields, Some(token), outbound, now).await
    }

    async fn send<'a>(
        &'a self,
        mut fields: Vec<(&'static str, &'a str)>,
        refresh_token: Option<&SecretText>,
        outbound: &Outbound<'_>,
        now: UnixTime,
    ) -> Result<Grant, SignInError> {
        fields.push(("resource", self.resource));
        let authorization = self.client.authenticate(&mut fields);
        let authorization = authorization.as_ref().map(|it| it.as_str());
        let body = Serializer::new(String::new()).extend_pairs(fields).finish();
        let kind = "application/x-www-form-urlencoded";
        let reply = outbound
            .post(self.endpoint, kind, authorization, body)
            .await?;
        if !reply.status.is_success() {
            let error = serde_json::from_str::<ErrorResponse>(&reply.body);
            let code = error.ok().and_then(|it| known(&it.error));
            return Err(match code {
                Some(code) => SignInError::Refused(code),
                None => SignInError::Status(reply.status.as_u16()),
            });
        }
        let response: TokenResponse =
            serde_json::from_str(&reply.body).map_err(|_| SignInError::Malformed)?;
        if !response.token_type.eq_ignore_ascii_case("bearer") || !is_bearer(&response.access_token)
        {
            return Err(SignInError::Malformed);
        }
        let seconds = response.expires_in.and_then(|it| it.as_u64());
        let refresh_token = response.refresh_token.or_else(|| refresh_token.cloned());
        Ok(Grant {
            issuer: self.issuer.to_owned(),
            resource: self.resource.to_owned(),
            client: self.client.clone(),
            token: response.access_token,
            refresh_token,
            obtained: now,
            expires: seconds.map(|seconds| now.after(Duration::from_secs(seconds))),
            scopes: self.scopes.to_vec(),
        })
    }
}

/// Whether a token can be sent in a header (RFC 6750).
fn is_bearer(token: &SecretText) -> bool {
    let token = token.expose();
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
    !token.is_empty() && token.len() <= MAX_TOKEN && token.bytes().all(is_allowed)
}

/// The codes of errors that may be shown; others could be any text.
pub(super) fn known(code: &str) -> Option<&'static str> {
    const CODES: [&str; 13] = [
        "access_denied",
        "consent_required",
        "interaction_required",
        "invalid_client",
        "invalid_grant",
        "invalid_request",
        "invalid_scope",
        "invalid_target",
        "login_required",
        "server_error",
        "temporarily_unavailable",
        "unauthorized_client",
        "unsupported_grant_type",
    ];
    CODES.into_iter().find(|it| *it == code)
}

/// The scopes of both lists, each once.
pub(super) fn union(known: &[String], more: &[String]) -> Vec<String> {
    challenge::scopes(&[known, more].concat().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oauth::client::AuthMethod;

    fn grant(life: Option<u64>) -> Grant {
        let at = |seconds: u64| UnixTime::from_millis(seconds * 1000);
        Grant {
            issuer: String::new(),
            resource: String::new(),
            client: Client {
                id: String::new(),
                secret: None,
                method: AuthMethod::None,
            },
            token: String::new().into(),
            refresh_token: None,
            obtained: at(1000),
            expires: life.map(|life| at(1000 + life)),
            scopes: Vec::new(),
        }
    }

    #[test]
    fn a_token_is_renewed_in_time_but_not_on_every_request() {
        let at = |seconds: u64| UnixTime::from_millis(seconds * 1000);
        let hour = grant(Some(3600));
        assert!(!hour.is_due(at(1000 + 3539)));
        assert!(hour.is_due(at(1000 + 3540)));
        assert!(!hour.is_expired(at(1000 + 3599)));
        assert!(hour.is_expired(at(1000 + 3600)));
        let brief = grant(Some(40));
        assert!(!brief.is_due(at(1000 + 29)));
        assert!(brief.is_due(at(1000 + 30)));
        assert!(!grant(None).is_due(at(9_999_999)));
    }

    #[test]
    fn only_what_a_header_can_carry_is_a_token() {
        for (token, is_good) in [
            ("abc.DEF-1_2~+/==", true),
            ("", false),
            ("a b", false),
            ("a\r\nx-header: y", false),
            ("ü", false),
        ] {
            assert_eq!(is_bearer(&token.to_owned().into()), is_good, "{token:?}");
        }
        assert!(!is_bearer(&"a".repeat(MAX_TOKEN + 1).into()));
    }

    #[test]
    fn texts_of_errors_are_those_of_a_list() {
        assert_eq!(known("invalid_grant"), Some("invalid_grant"));
        assert_eq!(known("call 555-0100"), None);
    }
}

//! What the claims of a token have to be, by kind of token.
//!
//! Each kind refuses the others: a token is good for one purpose, even if its audience would do for
//! several.

use std::sync::Arc;
use std::time::Duration;

use entreat_core::UnixTime;
use serde_json::{Map, Value};

use super::token::{Kind, Token};
use super::{AccessTokenRules, Claims, IdTokenRules, TokenError};

/// How far clocks may be apart.
const LEEWAY: Duration = Duration::from_secs(60);
/// How long a logout token without an expiry is good for.
const LOGOUT_LIFETIME: Duration = Duration::from_secs(120);
/// The longest subject, as OpenID Connect has it.
const MAX_SUBJECT: usize = 255;
/// Seconds at the end of the year 9999.
const MAX_SECONDS: f64 = 253_402_300_799.0;
/// The event that a logout token reports.
const LOGOUT_EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";

type Object = Map<String, Value>;

/// A token that its issuer signed.
#[derive(Debug)]
pub(super) struct Genuine {
    kind: Kind,
    claims: Arc<Object>,
    issuer: Arc<str>,
}

impl Genuine {
    /// Takes the claims of a token whose signature matches. They must name the issuer, byte for
    /// byte.
    pub(super) fn new(kind: Kind, claims: Object, issuer: Arc<str>) -> Result<Self, TokenError> {
        if text(&claims, "iss") != Some(&issuer) {
            return Err(TokenError::Claim("iss"));
        }
        Ok(Self {
            kind,
            claims: Arc::new(claims),
            issuer,
        })
    }

    /// Takes what an issuer responds about an opaque token. It need not name itself there.
    pub(super) fn introspected(claims: Object, issuer: Arc<str>) -> Result<Self, TokenError> {
        if claims.get("iss").is_some_and(|named| *named != *issuer) {
            return Err(TokenError::Claim("iss"));
        }
        // Issuers know refresh tokens, too, and say that they are active.
        let is_bearer = |kind: &Value| {
            let kind = kind.as_str();
            kind.is_some_and(|kind| kind.eq_ignore_ascii_case("bearer") || kind == "access_token")
        };
        if claims.get("token_type").is_some_and(|it| !is_bearer(it)) || is_other_token(&claims) {
            return Err(TokenError::Malformed("an access token"));
        }
        Ok(Self {
            kind: Kind::Access,
            claims: Arc::new(claims),
            issuer,
        })
    }

    /// Checks it as an ID token.
    pub(super) fn id(&self, rules: IdTokenRules<'_>, now: UnixTime) -> Result<Claims, TokenError> {
        let claims = &*self.claims;
        let is_id_token = self.kind == Kind::Unnamed
            && !claims.contains_key("events")
            // Keycloak's tokens name their kind in a claim.
            && text(claims, "typ").is_none_or(|kind| kind == "ID");
        if !is_id_token {
            return Err(TokenError::Malformed("an ID token"));
        }
        let audience = audience(claims)?;
        if !audience.contains(&rules.client_id) {
            return Err(TokenError::Claim("aud"));
        }
        match claims.get("azp") {
            Some(party) if party == rules.client_id => {}
            None if audience.len() == 1 => {}
            _ => return Err(TokenError::Claim("azp")),
        }
        let expires = self.expires(now)?;
        self.issued(now)?.ok_or(TokenError::Claim("iat"))?;
        if text(claims, "nonce") != Some(rules.nonce) {
            return Err(TokenError::Claim("nonce"));
        }
        if let Some(max_age) = rules.max_age {
            let signed_in = not_in_future(claims, "auth_time", now)?;
            let signed_in = signed_in.ok_or(TokenError::Claim("auth_time"))?;
            if now.since(signed_in) > max_age.saturating_add(LEEWAY) {
                return Err(TokenError::Claim("auth_time"));
            }
        }
        if rules.acr.is_some() && text(claims, "acr") != rules.acr {
            return Err(TokenError::Claim("acr"));
        }
        self.passed(self.subject()?, expires)
    }

    /// Checks it as an access token.
    pub(super) fn access(
        &self,
        rules: AccessTokenRules<'_>,
        now: UnixTime,
    ) -> Result<Claims, TokenError> {
        let claims = &*self.claims;
        let is_marked = self.kind == Kind::Access;
        let may_be = is_marked || self.kind == Kind::Unnamed && !is_other_token(claims);
        if !may_be || claims.contains_key("events") {
            return Err(TokenError::Malformed("an access token"));
        }
        // It is bound to a key of the client, which a bearer does not prove to have.
        if claims.contains_key("cnf") {
            return Err(TokenError::Claim("cnf"));
        }
        let audience = audience(claims)?;
        if !audience.iter().any(|it| is_resource(it, rules.resource)) {
            let also = rules.also_audience.is_some_and(|it| audience.contains(&it));
            if !also {
                return Err(TokenError::Claim("aud"));
            }
            // Such an audience is often a client's id, which ID tokens have too.
            if !is_marked && !says_what_is_allowed(claims) {
                return Err(TokenError::Malformed("an access token"));
            }
        }
        let expires = self.expires(now)?;
        self.issued(now)?;
        self.passed(self.subject()?, expires)
    }

    /// Checks it as a logout token.
    pub(super) fn logout(&self, client_id: &str, now: UnixTime) -> Result<Claims, TokenError> {
        let claims = &*self.claims;
        let events = claims.get("events").and_then(Value::as_object);
        let is_logout = matches!(self.kind, Kind::Unnamed | Kind::Logout)
            && events.is_some_and(|events| events.get(LOGOUT_EVENT).is_some_and(Value::is_object))
            && !claims.contains_key("nonce");
        if !is_logout {
            return Err(TokenError::Malformed("a logout token"));
        }
        if !audience(claims)?.contains(&client_id) {
            return Err(TokenError::Claim("aud"));
        }
        if text(claims, "jti").is_none_or(str::is_empty) {
            return Err(TokenError::Claim("jti"));
        }
        let issued = self.issued(now)?.ok_or(TokenError::Claim("iat"))?;
        let expires = if claims.contains_key("exp") {
            self.expires(now)?
        } else {
            let expires = issued.after(LOGOUT_LIFETIME);
            not_expired(expires, now)?
        };
        let subject = if claims.contains_key("sub") {
            self.subject()?
        } else if text(claims, "sid").is_some_and(|session| !session.is_empty()) {
            ""
        } else {
            return Err(TokenError::Claim("sid"));
        };
        self.passed(subject, expires)
    }

    /// Checks it as a proxy's assertion.
    pub(super) fn assertion(&self, audience: &str, now: UnixTime) -> Result<Claims, TokenError> {
        let claims = &*self.claims;
        if self.kind == Kind::Logout || claims.contains_key("events") {
            return Err(TokenError::Malformed("an assertion"));
        }
        if !self::audience(claims)?.contains(&audience) {
            return Err(TokenError::Claim("aud"));
        }
        let expires = self.expires(now)?;
        self.issued(now)?;
        self.passed(self.subject()?, expires)
    }

    /// An estimate of the memory that it takes.
    pub(super) fn size(&self) -> usize {
        size(&self.claims)
    }

    #[expect(
        clippy::unnecessary_wraps,
        reason = "the last step of checks that return results"
    )]
    fn passed(&self, subject: &str, expires: UnixTime) -> Result<Claims, TokenError> {
        Ok(Claims {
            all: self.claims.clone(),
            issuer: self.issuer.clone(),
            subject: subject.to_owned(),
            expires,
        })
    }

    fn subject(&self) -> Result<&str, TokenError> {
        let subject = text(&self.claims, "sub").filter(|it| is_subject(it));
        subject.ok_or(TokenError::Claim("sub"))
    }

    fn expires(&self, now: UnixTime) -> Result<UnixTime, TokenError> {
        let expires = time(&self.claims, "exp")?.ok_or(TokenError::Claim("exp"))?;
        not_expired(expires, now)
    }

    /// When it was issued, if it says so; it must be good already.
    fn issued(&self, now: UnixTime) -> Result<Option<UnixTime>, TokenError> {
        not_in_future(&self.claims, "nbf", now)?;
        not_in_future(&self.claims, "iat", now)
    }
}

/// Whether a claim may name a person.
pub(super) fn is_subject(name: &str) -> bool {
    !name.is_empty() && name.len() <= MAX_SUBJECT && !name.contains(char::is_control)
}

/// Whether an audience is the resource. The MCP specification asks to write resources without a
/// slash at the end, and clients add one where a library turns them into URLs.
fn is_resource(audience: &str, resource: &str) -> bool {
    let bare = |it: &str| it.strip_suffix('/').map_or(it.len(), str::len);
    audience[..bare(audience)] == resource[..bare(resource)]
}

/// Whether a token that doesn't name its kind in its header is not an access token.
fn is_other_token(claims: &Object) -> bool {
    let is_id_token = ["nonce", "at_hash", "c_hash", "s_hash"]
        .iter()
        .any(|name| claims.contains_key(*name));
    // Keycloak's tokens name their kind in a claim.
    is_id_token || text(claims, "typ").is_some_and(|kind| kind != "Bearer")
}

/// Whether there is a claim that ID tokens do not have.
fn says_what_is_allowed(claims: &Object) -> bool {
    let names = ["scope", "scp", "roles", "permissions", "client_id"];
    names.iter().any(|name| claims.contains_key(*name))
}

fn text<'a>(claims: &'a Object, name: &str) -> Option<&'a str> {
    claims.get(name)?.as_str()
}

fn audience(claims: &Object) -> Result<Vec<&str>, TokenError> {
    let wrong = TokenError::Claim("aud");
    match claims.get("aud") {
        Some(Value::String(one)) => Ok(vec![one]),
        Some(Value::Array(several)) => {
            let texts: Option<_> = several.iter().map(Value::as_str).collect();
            texts.ok_or(wrong)
        }
        _ => Err(wrong),
    }
}

fn not_expired(expires: UnixTime, now: UnixTime) -> Result<UnixTime, TokenError> {
    if now >= expires.after(LEEWAY) {
        return Err(TokenError::Expired);
    }
    Ok(expires)
}

fn not_in_future(
    claims: &Object,
    name: &'static str,
    now: UnixTime,
) -> Result<Option<UnixTime>, TokenError> {
    let time = time(claims, name)?;
    if time.is_some_and(|time| time > now.after(LEEWAY)) {
        return Err(TokenError::Claim(name));
    }
    Ok(time)
}

/// Reads seconds since the Unix epoch, which may have a fraction but must be a number.
fn time(claims: &Object, name: &'static str) -> Result<Option<UnixTime>, TokenError> {
    let Some(value) = claims.get(name) else {
        return Ok(None);
    };
    let seconds = value.as_f64().filter(|it| (0.0..=MAX_SECONDS).contains(it));
    let seconds = seconds.ok_or(TokenError::Claim(name))?;
    let since_epoch = Duration::from_secs_f64(seconds);
    Ok(Some(UnixTime::from_millis(0).after(since_epoch)))
}

fn size(claims: &Object) -> usize {
    let members = claims.iter();
    members
        .map(|(name, value)| 64 + name.len() + of(value))
        .sum()
}

fn of(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 32,
        Value::String(text) => 32 + text.len(),
        Value::Array(values) => 32 + values.iter().map(of).sum::<usize>(),
        Value::Object(members) => 32 + size(members),
    }
}

/// Checks the claims of a token by the rules of each kind, whoever signed it.
pub(super) fn fuzz(token: &Token<'_>) {
    let Ok(claims) = token.claims() else {
        return;
    };
    let now = UnixTime::from_millis(1_700_000_000_000);
    let Ok(token) = Genuine::new(token.kind, claims, Arc::from("https://login.example")) else {
        return;
    };
    let id = IdTokenRules {
        client_id: "entreat",
        nonce: "n",
        max_age: Some(Duration::from_secs(60)),
        acr: Some("mfa"),
    };
    let access = AccessTokenRules {
        resource: "https://ask.example/mcp",
        also_audience: Some("entreat"),
    };
    let is_id = token.id(id, now).is_ok();
    let is_access = token.access(access, now).is_ok();
    let is_logout = token.logout("entreat", now).is_ok();
    let kinds = [is_id, is_access, is_logout].into_iter().filter(|it| *it);
    assert!(kinds.count() <= 1, "a token is of one kind");
    drop(token.assertion("entreat", now));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: u64 = 1_700_000_000;
    const ISSUER: &str = "https://login.example";

    fn now() -> UnixTime {
        UnixTime::from_millis(NOW * 1000)
    }

    fn genuine(kind: Kind, claims: &Value) -> Genuine {
        let claims = claims.as_object().unwrap().clone();
        Genuine::new(kind, claims, Arc::from(ISSUER)).unwrap()
    }

    fn with(mut claims: Value, changes: &Value) -> Value {
        for (name, value) in changes.as_object().unwrap() {
            claims[name] = value.clone();
        }
        // A change to null takes the claim away.
        claims
            .as_object_mut()
            .unwrap()
            .retain(|_, it| !it.is_null());
        claims
    }

    fn id_claims() -> Value {
        json!({
            "iss": ISSUER, "sub": "alice", "aud": "entreat", "nonce": "n",
            "exp": NOW + 300, "iat": NOW - 5,
        })
    }

    fn access_claims() -> Value {
        json!({
            "iss": ISSUER, "sub": "alice", "aud": ["https://ask.example/mcp", "account"],
            "exp": NOW + 300, "iat": NOW - 5, "azp": "an-agent", "scope": "mcp",
        })
    }

    fn logout_claims() -> Value {
        json!({
            "iss": ISSUER, "sid": "s1", "aud": "entreat", "jti": "j",
            "iat": NOW - 5, "events": {LOGOUT_EVENT: {}},
        })
    }

    fn id(changes: &Value) -> Result<Claims, TokenError> {
        let rules = IdTokenRules {
            client_id: "entreat",
            nonce: "n",
            max_age: None,
            acr: None,
        };
        genuine(Kind::Unnamed, &with(id_claims(), changes)).id(rules, now())
    }

    fn access(changes: &Value) -> Result<Claims, TokenError> {
        access_of(Kind::Unnamed, &with(access_claims(), changes))
    }

    fn access_of(kind: Kind, claims: &Value) -> Result<Claims, TokenError> {
        let rules = AccessTokenRules {
            resource: "https://ask.example/mcp",
            also_audience: Some("our-app"),
        };
        genuine(kind, claims).access(rules, now())
    }

    #[test]
    fn an_id_token_is_for_this_client_and_this_sign_in() {
        let claims = id(&json!({})).unwrap();
        assert_eq!(claims.subject, "alice");
        assert_eq!(&*claims.issuer, ISSUER);
        assert_eq!(claims.expires, UnixTime::from_millis((NOW + 300) * 1000));
        assert!(id(&json!({"aud": ["entreat", "other"], "azp": "entreat"})).is_ok());

        for (changes, claim) in [
            (json!({"aud": "other"}), "aud"),
            (json!({"aud": null}), "aud"),
            (json!({"aud": ["entreat", 7]}), "aud"),
            (json!({"aud": ["entreat", "other"]}), "azp"),
            (json!({"aud": ["entreat", "other"], "azp": "other"}), "azp"),
            (json!({"azp": "other"}), "azp"),
            (json!({"nonce": "m"}), "nonce"),
            (json!({"nonce": null}), "nonce"),
            (json!({"exp": null}), "exp"),
            (json!({"exp": (NOW + 300).to_string()}), "exp"),
            (json!({"exp": -1}), "exp"),
            (json!({"exp": 1e300}), "exp"),
            (json!({"iat": null}), "iat"),
            (json!({"iat": NOW + 61}), "iat"),
            (json!({"nbf": NOW + 61}), "nbf"),
            (json!({"sub": null}), "sub"),
            (json!({"sub": ""}), "sub"),
            (json!({"sub": 7}), "sub"),
            (json!({"sub": "a".repeat(256)}), "sub"),
            (json!({"sub": "alice\n"}), "sub"),
        ] {
            let refused = id(&changes).unwrap_err();
            assert_eq!(refused, TokenError::Claim(claim), "{changes}");
        }
    }

    #[test]
    fn clocks_may_be_a_minute_apart_and_no_more() {
        for (exp, iat, is_good) in [
            (NOW - 59, NOW - 100, true),
            (NOW - 60, NOW - 100, false),
            (NOW + 300, NOW + 60, true),
            (NOW + 300, NOW + 61, false),
        ] {
            let found = access(&json!({"exp": exp, "iat": iat}));
            assert_eq!(found.is_ok(), is_good, "{exp} {iat}");
        }
        assert_eq!(
            access(&json!({"exp": NOW - 60})).unwrap_err(),
            TokenError::Expired
        );
        assert!(access(&json!({"exp": 1_700_000_001.5})).is_ok());
    }

    #[test]
    fn a_fresh_sign_in_and_a_strong_one_are_required_where_asked_for() {
        let rules = IdTokenRules {
            client_id: "entreat",
            nonce: "n",
            max_age: Some(Duration::from_secs(300)),
            acr: Some("mfa"),
        };
        let check = |changes: &Value| {
            let claims = with(id_claims(), changes);
            genuine(Kind::Unnamed, &claims).id(rules, now())
        };
        assert!(check(&json!({"auth_time": NOW - 360, "acr": "mfa"})).is_ok());
        for (changes, claim) in [
            (json!({"acr": "mfa"}), "auth_time"),
            (json!({"auth_time": NOW - 361, "acr": "mfa"}), "auth_time"),
            (json!({"auth_time": NOW + 61, "acr": "mfa"}), "auth_time"),
            (json!({"auth_time": "now", "acr": "mfa"}), "auth_time"),
            (json!({"auth_time": NOW}), "acr"),
            (json!({"auth_time": NOW, "acr": "pwd"}), "acr"),
        ] {
            let refused = check(&changes).unwrap_err();
            assert_eq!(refused, TokenError::Claim(claim), "{changes}");
        }
    }

    #[test]
    fn an_access_token_is_for_this_resource_exactly() {
        assert!(access(&json!({})).is_ok());
        assert!(access(&json!({"aud": "https://ask.example/mcp/"})).is_ok());
        assert!(access(&json!({"iat": null})).is_ok());
        for audience in [
            "https://ask.example",
            "https://ask.example/mcp//",
            "https://ask.example/mcp2",
            "https://ASK.example/mcp",
            "http://ask.example/mcp",
            "https://ask.example/mcp?",
            "",
        ] {
            let refused = access(&json!({"aud": audience})).unwrap_err();
            assert_eq!(refused, TokenError::Claim("aud"), "{audience}");
        }
        assert_eq!(
            access(&json!({"cnf": {"jkt": "x"}})).unwrap_err(),
            TokenError::Claim("cnf")
        );
    }

    #[test]
    fn an_id_token_is_no_access_token_and_the_reverse() {
        let not_access = TokenError::Malformed("an access token");
        for changes in [
            json!({"nonce": "n"}),
            json!({"at_hash": "x"}),
            json!({"typ": "ID"}),
            json!({"typ": "Refresh"}),
            json!({"events": {}}),
            // An ID token of the client that stands for us, without a mark of its own.
            json!({"aud": "our-app", "scope": null}),
        ] {
            assert_eq!(access(&changes).unwrap_err(), not_access, "{changes}");
        }
        assert!(access(&json!({"aud": "our-app"})).is_ok());
        assert!(access(&json!({"typ": "Bearer"})).is_ok());
        let marked = with(access_claims(), &json!({"nonce": "n"}));
        assert!(access_of(Kind::Access, &marked).is_ok());
        for kind in [Kind::Logout, Kind::Other] {
            assert_eq!(access_of(kind, &access_claims()).unwrap_err(), not_access);
        }

        let rules = IdTokenRules {
            client_id: "entreat",
            nonce: "n",
            max_age: None,
            acr: None,
        };
        let not_id = TokenError::Malformed("an ID token");
        for kind in [Kind::Access, Kind::Logout, Kind::Other] {
            let refused = genuine(kind, &id_claims()).id(rules, now());
            assert_eq!(refused.unwrap_err(), not_id);
        }
        assert_eq!(id(&json!({"typ": "Bearer"})).unwrap_err(), not_id);
    }

    #[test]
    fn a_logout_token_names_a_session_or_a_subject_and_is_nothing_else() {
        let logout = |changes: &Value| {
            let claims = with(logout_claims(), changes);
            genuine(Kind::Logout, &claims).logout("entreat", now())
        };
        assert_eq!(logout(&json!({})).unwrap().subject, "");
        assert_eq!(logout(&json!({"sub": "alice"})).unwrap().subject, "alice");
        for changes in [
            json!({"nonce": "n"}),
            json!({"events": null}),
            json!({"events": {LOGOUT_EVENT: true}}),
            json!({"events": {"other": {}}}),
            json!({"sid": null}),
            json!({"jti": null}),
            json!({"aud": "other"}),
            json!({"iat": null}),
            json!({"iat": NOW - 180}),
            json!({"exp": NOW - 60}),
        ] {
            assert!(logout(&changes).is_err(), "{changes}");
        }
        let as_access = with(logout_claims(), &json!({"aud": "our-app", "exp": NOW + 60}));
        assert!(access_of(Kind::Unnamed, &as_access).is_err());
    }

    #[test]
    fn the_issuer_is_compared_byte_for_byte() {
        for issuer in ["https://login.example/", "https://LOGIN.example", ""] {
            let claims = with(access_claims(), &json!({ "iss": issuer }));
            let claims = claims.as_object().unwrap().clone();
            let refused = Genuine::new(Kind::Unnamed, claims, Arc::from(ISSUER));
            assert_eq!(refused.unwrap_err(), TokenError::Claim("iss"), "{issuer}");
        }
    }
}

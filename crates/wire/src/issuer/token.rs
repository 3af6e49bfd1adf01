//! Signed tokens (RFC 7515, 7519): taking one apart, strictly.
//!
//! What two readers could understand differently is refused: duplicate names, sloppy base64,
//! extensions that we would have to understand.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use entreat_core::document::{Notation, read};
use serde_json::{Map, Value};

use super::algorithm::Algorithm;
use super::{MAX_TOKEN, TokenError};

/// A token whose signature was not checked yet.
#[derive(Debug)]
pub(super) struct Token<'a> {
    pub(super) algorithm: Algorithm,
    pub(super) key_id: Option<String>,
    pub(super) kind: Kind,
    /// What is signed.
    pub(super) message: &'a [u8],
    pub(super) signature: Vec<u8>,
    claims: &'a str,
}

/// What a token says it is, by its header `typ`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It does not say.
    Unnamed,
    /// An access token by RFC 9068.
    Access,
    /// A logout token.
    Logout,
    /// Something else.
    Other,
}

impl<'a> Token<'a> {
    /// Takes a token apart. Its claims are left alone until its signature is known to match.
    pub(super) fn read(token: &'a str) -> Result<Self, TokenError> {
        if token.len() > MAX_TOKEN {
            return Err(TokenError::Malformed("short enough"));
        }
        let not_signed = TokenError::Malformed("a signed token");
        let mut parts = token.split('.');
        let (Some(header), Some(claims), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(not_signed);
        };
        let message = &token.as_bytes()[..header.len() + 1 + claims.len()];
        let header = object(header)?;
        let Some(algorithm) = header.get("alg").and_then(Value::as_str) else {
            return Err(not_signed);
        };
        let algorithm = Algorithm::named(algorithm).ok_or(TokenError::Algorithm)?;
        // `crit` names what has to be understood, and nothing is; `b64` changes what is signed;
        // `enc` and `zip` belong to encrypted tokens.
        if ["crit", "b64", "enc", "zip"]
            .iter()
            .any(|name| header.contains_key(*name))
        {
            return Err(TokenError::Malformed("free of extensions"));
        }
        // A token in a token: the outer one says nothing about the inner one's issuer.
        if header.contains_key("cty") {
            return Err(TokenError::Malformed("a token itself, but contains one"));
        }
        let key_id = match header.get("kid") {
            None => None,
            Some(Value::String(id)) => Some(id.clone()),
            Some(_) => return Err(TokenError::Malformed("of a key with a valid id")),
        };
        let kind = match header.get("typ") {
            None => Kind::Unnamed,
            Some(kind) => kind.as_str().map_or(Kind::Other, Kind::named),
        };
        Ok(Self {
            algorithm,
            key_id,
            kind,
            message,
            signature: decode(signature)?,
            claims,
        })
    }

    /// Reads the claims. Callers check the signature first.
    pub(super) fn claims(&self) -> Result<Map<String, Value>, TokenError> {
        object(self.claims)
    }
}

impl Kind {
    fn named(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        match name.strip_prefix("application/").unwrap_or(&name) {
            "jwt" => Self::Unnamed,
            "at+jwt" => Self::Access,
            "logout+jwt" => Self::Logout,
            _ => Self::Other,
        }
    }
}

fn decode(part: &str) -> Result<Vec<u8>, TokenError> {
    let decoded = URL_SAFE_NO_PAD.decode(part);
    decoded.map_err(|_| TokenError::Malformed("encoded as it should be"))
}

fn object(part: &str) -> Result<Map<String, Value>, TokenError> {
    let not_json = || TokenError::Malformed("made of JSON objects without duplicate names");
    let text = String::from_utf8(decode(part)?).map_err(|_| not_json())?;
    match read(&text, Notation::Json) {
        Ok(Value::Object(object)) => Ok(object),
        _ => Err(not_json()),
    }
}

/// Returns the issuer that a token names, unchecked, to choose who checks it.
///
/// `None` if it is not a signed token that names one: an opaque token, for example.
///
/// ```
/// use entreat_wire::issuer::named_issuer;
///
/// // {"alg":"ES256"} and {"iss":"https://issuer.example"}
/// let token = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIn0.c2ln";
/// assert_eq!(named_issuer(token).as_deref(), Some("https://issuer.example"));
/// assert_eq!(named_issuer("2YotnFZFEjr1zCsicMWpAA"), None);
/// ```
pub fn named_issuer(token: &str) -> Option<String> {
    let claims = Token::read(token).ok()?.claims().ok()?;
    Some(claims.get("iss")?.as_str()?.to_owned())
}

/// Reads bytes as a token, and its claims by the rules of each kind. For fuzz targets.
#[doc(hidden)]
pub fn fuzz(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    drop(super::keys::KeySet::read(text));
    drop(super::metadata::read(text, "https://login.example"));
    if let Ok(token) = Token::read(text) {
        super::rules::fuzz(&token);
    }
    // The claims of a token that is otherwise as it should be.
    let claims = URL_SAFE_NO_PAD.encode(bytes);
    let token = format!("eyJhbGciOiJFUzI1NiJ9.{claims}.c2ln");
    if let Ok(token) = Token::read(&token) {
        super::rules::fuzz(&token);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(header: &str, claims: &str) -> String {
        let encode = |text: &str| URL_SAFE_NO_PAD.encode(text);
        format!("{}.{}.{}", encode(header), encode(claims), encode("sig"))
    }

    fn refused(header: &str) -> TokenError {
        Token::read(&token(header, "{}")).unwrap_err()
    }

    #[test]
    fn only_algorithms_of_the_list_are_taken() {
        for name in [
            "none", "None", "HS256", "HS512", "ES512", "rs256", "RSA-OAEP", "",
        ] {
            let header = format!(r#"{{"alg":"{name}"}}"#);
            assert_eq!(refused(&header), TokenError::Algorithm, "{name}");
        }
        assert_eq!(refused("{}"), TokenError::Malformed("a signed token"));
        assert!(matches!(
            refused(r#"{"alg":["RS256"]}"#),
            TokenError::Malformed(_)
        ));
    }

    #[test]
    fn headers_that_change_what_a_token_means_are_refused() {
        for header in [
            r#"{"alg":"RS256","crit":["exp"]}"#,
            r#"{"alg":"RS256","crit":[]}"#,
            r#"{"alg":"RS256","b64":false}"#,
            r#"{"alg":"RS256","cty":"JWT"}"#,
            r#"{"alg":"RS256","enc":"A128GCM"}"#,
            r#"{"alg":"RS256","zip":"DEF"}"#,
            r#"{"alg":"RS256","kid":7}"#,
            r#"{"alg":"RS256","alg":"none"}"#,
            r#"{"alg":"none","alg":"RS256"}"#,
            r#"["RS256"]"#,
        ] {
            assert!(
                matches!(refused(header), TokenError::Malformed(_)),
                "{header}"
            );
        }
    }

    #[test]
    fn sloppy_encodings_are_refused() {
        let whole = token(r#"{"alg":"RS256"}"#, "{}");
        assert!(Token::read(&whole).is_ok());
        let long = format!("{whole}{}", "A".repeat(MAX_TOKEN));
        for text in [
            format!("{whole}="),
            format!("{whole}."),
            format!("{whole}.a.b"),
            format!(" {whole}"),
            whole.replace('.', ".."),
            long,
            String::new(),
            "a.b".to_owned(),
        ] {
            assert!(Token::read(&text).is_err(), "{text:.40}");
        }
    }

    #[test]
    fn duplicate_claims_are_refused_at_any_depth() {
        for claims in [
            r#"{"sub":"a","sub":"b"}"#,
            r#"{"act":{"sub":"a","sub":"b"}}"#,
            "[]",
        ] {
            let text = token(r#"{"alg":"RS256"}"#, claims);
            assert!(Token::read(&text).unwrap().claims().is_err(), "{claims}");
            assert_eq!(named_issuer(&text), None);
        }
    }

    #[test]
    fn kinds_are_compared_as_media_types() {
        for (name, kind) in [
            ("JWT", Kind::Unnamed),
            ("at+jwt", Kind::Access),
            ("application/AT+JWT", Kind::Access),
            ("logout+jwt", Kind::Logout),
            ("dpop+jwt", Kind::Other),
        ] {
            assert_eq!(Kind::named(name), kind, "{name}");
        }
    }
}

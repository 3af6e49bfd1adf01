//! Detects secrets in a URL, which end up in histories, logs and `Referer` headers.

/// Whether a parameter contains a secret, by its name or by the format of its value.
pub(super) fn is_secret(name: &str, value: &str) -> bool {
    !value.is_empty() && (names_a_secret(name) || is_token(value))
}

/// Whether a text has the format of a well-known kind of token.
pub(super) fn is_token(text: &str) -> bool {
    let long = text.len() >= 20;
    (long && PREFIXES.iter().any(|prefix| text.starts_with(prefix))) || is_jwt(text)
}

fn is_jwt(text: &str) -> bool {
    text.starts_with("eyJ") && text.matches('.').count() == 2 && text.len() >= 20
}

fn names_a_secret(name: &str) -> bool {
    // Normalises `api_key`, `apiKey` and `X-API-Key` to one name.
    let name: String = name
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    NAMES.contains(&name.as_str())
        || (SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
            && !HARMLESS_SUFFIXES
                .iter()
                .any(|suffix| name.ends_with(suffix)))
}

/// OAuth's `code`, `state`, `nonce` and `client_id` are absent on purpose: every login has them,
/// and they are useless on their own. So is `key`, which is usually a lookup key.
#[rustfmt::skip]
const NAMES: &[&str] = &[
    "accesskeyid", "authorization", "awsaccesskeyid", "bearer", "credential", "credentials", "jwt",
    "jsessionid", "otp", "pass", "passcode", "phpsessid", "pwd", "samlresponse", "sessionid", "sig",
    "signature", "userpass", "userpwd", "xamzcredential", "xamzsignature", "xgoogsignature",
];

const SUFFIXES: &[&str] = &[
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "authkey",
];

/// Tokens of pagination and CSRF protection, which grant no access.
const HARMLESS_SUFFIXES: &[&str] = &[
    "csrftoken",
    "xsrftoken",
    "csrfmiddlewaretoken",
    "pagetoken",
    "nexttoken",
    "synctoken",
    "continuationtoken",
    "cursortoken",
    "markertoken",
];

const PREFIXES: &[&str] = &[
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "sk-",
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "npm_",
    "pypi-",
    "hf_",
    "whsec_",
    "SG.",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_their_names() {
        for name in [
            "token",
            "access_token",
            "accessToken",
            "id-token",
            "refresh_token",
            "api_key",
            "apikey",
            "X-API-Key",
            "password",
            "user[password]",
            "passwd",
            "pwd",
            "secret",
            "client_secret",
            "private_key",
            "jwt",
            "session_id",
            "auth_token",
            "X-Amz-Signature",
        ] {
            assert!(is_secret(name, "x"), "{name}");
            assert!(!is_secret(name, ""), "{name}");
        }
    }

    #[test]
    fn ordinary_parameters_are_no_secrets() {
        for name in [
            "code",
            "state",
            "client_id",
            "nonce",
            "code_challenge",
            "scope",
            "response_type",
            "token_type",
            "page_token",
            "nextPageToken",
            "csrf_token",
            "key",
            "q",
            "id",
            "author",
            "pass_through",
            "passport",
            "tokenize",
            "secretary",
            "keyword",
            "elicitationId",
        ] {
            assert!(!is_secret(name, "x"), "{name}");
        }
    }

    #[test]
    fn secrets_are_known_by_their_look() {
        for value in [
            "ghp_0123456789abcdefghijABCDEFGHIJ012345",
            "sk-proj-0123456789abcdef",
            "AKIA0123456789ABCDEF",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
        ] {
            assert!(is_secret("q", value), "{value}");
        }
        for value in [
            "sk-short",
            "skeleton-of-a-long-word-here",
            "eyJ.x",
            "AKIAshort",
        ] {
            assert!(!is_secret("q", value), "{value}");
        }
    }
}

//! What a server says when it refuses a request: the header `WWW-Authenticate` (RFC 9110, 6750 and
//! 9728).

use http::header::WWW_AUTHENTICATE;
use http::{HeaderMap, StatusCode};

/// The maximum length of a header that is read, in bytes.
const MAX_HEADER: usize = 8 << 10;

/// Why a server refused a request, and what it says about tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Challenge {
    /// Where the metadata of the resource are.
    pub resource_metadata: Option<String>,
    /// The scopes that the request needs.
    pub scopes: Vec<String>,
    /// Whether the token was good, but not for this.
    pub lacks_scope: bool,
}

impl Challenge {
    /// Reads the challenge of a response; `None` if a token would change nothing: the status is
    /// neither 401 nor a 403 for lack of a scope.
    ///
    /// ```
    /// use entreat_wire::oauth::Challenge;
    /// use http::{HeaderMap, StatusCode};
    ///
    /// let mut headers = HeaderMap::new();
    /// let value = r#"Basic realm="a, b", Bearer error="invalid_token", scope="read write""#;
    /// headers.insert("www-authenticate", value.parse()?);
    /// let challenge = Challenge::read(StatusCode::UNAUTHORIZED, &headers).unwrap();
    /// assert_eq!(challenge.scopes, ["read", "write"]);
    /// assert_eq!(Challenge::read(StatusCode::FORBIDDEN, &headers), None);
    /// # Ok::<(), http::header::InvalidHeaderValue>(())
    /// ```
    pub fn read(status: StatusCode, headers: &HeaderMap) -> Option<Self> {
        if !matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return None;
        }
        let mut challenge = Self::default();
        for header in headers.get_all(WWW_AUTHENTICATE) {
            if let Ok(text) = header.to_str()
                && text.len() <= MAX_HEADER
            {
                challenge.read_header(text);
            }
        }
        (status == StatusCode::UNAUTHORIZED || challenge.lacks_scope).then_some(challenge)
    }

    fn read_header(&mut self, text: &str) {
        let mut is_bearer = false;
        let mut rest = text;
        loop {
            rest = rest.trim_start_matches([' ', '\t', ',']);
            let length = rest.find(|c: char| !is_token(c)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(length);
            if word.is_empty() {
                // Not a challenge: what follows cannot be told apart.
                return;
            }
            let Some(value) = after.trim_start_matches([' ', '\t']).strip_prefix('=') else {
                is_bearer = word.eq_ignore_ascii_case("bearer");
                rest = after;
                continue;
            };
            let Some((value, after)) = value_of(value.trim_start_matches([' ', '\t'])) else {
                return;
            };
            if is_bearer {
                self.note(word, value);
            }
            rest = after;
        }
    }

    /// Takes note of a parameter; the first of a name counts.
    fn note(&mut self, name: &str, value: String) {
        match name.to_ascii_lowercase().as_str() {
            "resource_metadata" if self.resource_metadata.is_none() => {
                self.resource_metadata = Some(value);
            }
            "scope" if self.scopes.is_empty() => self.scopes = scopes(&value),
            "error" => self.lacks_scope |= value == "insufficient_scope",
            _ => {}
        }
    }
}

/// The scopes of a text, each once.
pub(super) fn scopes(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for scope in text.split_ascii_whitespace() {
        if !all.iter().any(|it| it == scope) {
            all.push(scope.to_owned());
        }
    }
    all
}

/// Reads a value and returns what follows it.
fn value_of(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ', '\t']).unwrap_or(text.len());
        return Some((text[..end].to_owned(), &text[end..]));
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &quoted[at + 1..])),
            '\\' => value.push(chars.next()?.1),
            c => value.push(c),
        }
    }
    None
}

fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~/".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(status: StatusCode, values: &[&str]) -> Option<Challenge> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(WWW_AUTHENTICATE, value.parse().unwrap());
        }
        Challenge::read(status, &headers)
    }

    #[test]
    fn a_challenge_is_found_among_others_however_it_is_written() {
        let expected = Challenge {
            resource_metadata: Some("https://a.example/meta".to_owned()),
            scopes: vec!["read".to_owned(), "write".to_owned()],
            lacks_scope: false,
        };
        let bearer =
            r#"Bearer resource_metadata="https://a.example/meta", scope="read  write read""#;
        for values in [
            &[bearer][..],
            &["Basic realm=\"x\"", bearer],
            &[&format!("Negotiate YWJj==, {bearer}")],
            &[&format!(
                "Digest realm=\"a, Bearer scope=\\\"no\\\"\", {bearer}"
            )],
            &[r#"bearer scope = "read write" ,Resource_Metadata=https://a.example/meta"#],
        ] {
            let found = read(StatusCode::UNAUTHORIZED, values);
            assert_eq!(found.as_ref(), Some(&expected), "{values:?}");
        }
    }

    #[test]
    fn without_a_header_a_401_still_asks_for_a_token() {
        let found = read(StatusCode::UNAUTHORIZED, &[]);
        assert_eq!(found, Some(Challenge::default()));
        assert_eq!(read(StatusCode::FORBIDDEN, &[]), None);
        assert_eq!(read(StatusCode::OK, &["Bearer"]), None);
    }

    #[test]
    fn a_403_counts_only_if_a_scope_is_missing() {
        let lacks = r#"Bearer error="insufficient_scope", scope="admin""#;
        let found = read(StatusCode::FORBIDDEN, &[lacks]).unwrap();
        assert!(found.lacks_scope);
        assert_eq!(found.scopes, ["admin"]);
        let refused = read(StatusCode::FORBIDDEN, &[r#"Bearer error="invalid_token""#]);
        assert_eq!(refused, None);
        let of_other = read(
            StatusCode::FORBIDDEN,
            &[r#"DPoP error="insufficient_scope""#],
        );
        assert_eq!(of_other, None);
    }

    #[test]
    fn what_is_no_header_of_this_kind_is_left_alone() {
        for text in [
            "",
            ",,,",
            "\"",
            "Bearer scope=\"open",
            "Bearer =x",
            "Bearer scope=\"a\\",
            "@@@ Bearer scope=a",
        ] {
            let found = read(StatusCode::UNAUTHORIZED, &[text]);
            assert_eq!(found, Some(Challenge::default()), "{text}");
        }
        let long = format!("Bearer scope=\"{}\"", "a ".repeat(MAX_HEADER));
        let found = read(StatusCode::UNAUTHORIZED, &[&long]);
        assert_eq!(found, Some(Challenge::default()));
    }
}

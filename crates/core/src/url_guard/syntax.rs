//! Checks the raw text of a URL before a parser normalises it.
//!
//! WHATWG parsers drop tabs, trim spaces, turn backslashes into slashes and ignore surplus
//! slashes. Other programs do not, and reach another host with the same text. So text that
//! parsers interpret differently is blocked, not repaired.

use std::borrow::Cow;

use super::Reason;

/// The maximum length of an authority.
///
/// A name has at most 253 octets, and each of its characters at most twelve bytes (a code point
/// above U+FFFF, percent-encoded), so no valid name is longer. The limit bounds the quadratic
/// time of decoding Punycode.
const MAX_AUTHORITY: usize = 4096;

/// A URL whose raw text is valid.
pub(super) struct Raw<'a> {
    /// The scheme, in lower case.
    pub(super) scheme: Cow<'a, str>,
    /// The text between `//` and the path.
    pub(super) authority: &'a str,
}

impl<'a> Raw<'a> {
    /// The raw host, without user info and port.
    pub(super) fn host(&self) -> &'a str {
        let host = match self.authority.rsplit_once('@') {
            Some((_, host)) => host,
            None => self.authority,
        };
        let end = match host.find(']') {
            Some(bracket) if host.starts_with('[') => Some(bracket + 1),
            _ => host.find(':'),
        };
        end.map_or(host, |end| &host[..end])
    }

    /// Whether the URL has user info, even if empty.
    pub(super) fn has_userinfo(&self) -> bool {
        self.authority.contains('@')
    }

    /// Whether the authority is longer than any valid one.
    pub(super) fn is_oversized(&self) -> bool {
        self.authority.len() > MAX_AUTHORITY
    }
}

/// Splits the raw text of a URL.
///
/// Fails if it does not start with `scheme://authority`, or has a character that parsers
/// disagree about.
pub(super) fn read(url: &str) -> Result<Raw<'_>, Reason> {
    if let Some(fault) = fault_of(url) {
        return Err(fault);
    }
    let scheme = scheme_of(url).ok_or(Reason::Parse)?;
    let authority = authority_of(url).ok_or(Reason::NotAuthority)?;
    Ok(Raw { scheme, authority })
}

/// The scheme as a WHATWG parser reads it, in lower case.
///
/// Ignores the white space and control characters that parsers drop, so that `java\nscript:` is
/// `javascript`, as in a browser.
pub(super) fn scheme_of(url: &str) -> Option<Cow<'_, str>> {
    let text = url.trim_start_matches(|c| c <= ' ');
    let (scheme, _) = text.split_once(':')?;
    if scheme.starts_with(|c: char| c.is_ascii_lowercase())
        && scheme.bytes().all(|b| b.is_ascii_lowercase())
    {
        return Some(Cow::Borrowed(scheme));
    }
    let scheme: String = scheme
        .chars()
        .filter(|c| !matches!(c, '\t' | '\n' | '\r'))
        .map(|c| c.to_ascii_lowercase())
        .collect();
    let is_valid = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    is_valid.then_some(Cow::Owned(scheme))
}

/// Returns why the first forbidden character is forbidden.
pub(super) fn fault_of(url: &str) -> Option<Reason> {
    url.bytes().find_map(fault_of_byte)
}

/// Returns why a byte is forbidden in a URL.
pub(super) const fn fault_of_byte(byte: u8) -> Option<Reason> {
    match byte {
        0..=b' ' | 0x7f => Some(Reason::RawControl),
        b'\\' => Some(Reason::RawBackslash),
        _ => None,
    }
}

/// The text between exactly two slashes and the path.
pub(super) fn authority_of(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once(':')?;
    let rest = rest.strip_prefix("//")?;
    if rest.starts_with('/') {
        return None;
    }
    rest.split(['/', '?', '#']).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(url: &str) -> Option<Reason> {
        read(url).err()
    }

    #[test]
    fn every_control_character_space_delete_and_backslash_is_refused_anywhere() {
        for byte in (0..=0x20).chain([0x7f]) {
            let c = char::from(byte);
            for url in [
                format!("{c}https://a.com/"),
                format!("https://a.com/?q#{c}"),
            ] {
                assert_eq!(reason(&url), Some(Reason::RawControl), "{url:?}");
            }
        }
        assert_eq!(reason("https://a.com/\\"), Some(Reason::RawBackslash));
        assert_eq!(reason("https://a.com/~!$&'()*+,;=:@%7C|^`{}[]\"<>é"), None);
    }

    #[test]
    fn exactly_two_slashes_stand_before_the_authority() {
        for url in [
            "https:a.com",
            "https:/a.com",
            "https:///a.com",
            "https:////a.com",
        ] {
            assert_eq!(reason(url), Some(Reason::NotAuthority), "{url}");
        }
        for url in ["", "a.com", "//a.com", "/a", "1a://b", "é://b", "://b"] {
            assert_eq!(reason(url), Some(Reason::Parse), "{url}");
        }
    }

    #[test]
    fn scheme_is_read_as_a_browser_reads_it() {
        for (url, scheme) in [
            ("HTTPS://a", "https"),
            (" \u{1}java\n\tscript:x", "javascript"),
            ("git+ssh://a", "git+ssh"),
            ("localhost:80/", "localhost"),
        ] {
            assert_eq!(scheme_of(url).as_deref(), Some(scheme), "{url:?}");
        }
        assert_eq!(scheme_of("ht tp://a"), None);
        assert_eq!(scheme_of("/a:b"), None);
    }

    #[test]
    fn raw_host_is_what_stands_between_user_info_and_port() {
        for (url, host) in [
            ("https://a.com", "a.com"),
            ("https://u:p@x@a.com:80/p", "a.com"),
            ("https://[::1]:80?q", "[::1]"),
            ("https://a.com:#f", "a.com"),
            ("https://[::1", "["),
        ] {
            assert_eq!(read(url).unwrap().host(), host, "{url}");
        }
    }
}

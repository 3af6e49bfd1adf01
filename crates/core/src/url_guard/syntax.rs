//! What the raw text of a URL must look like, before any parser cleans it up: policy point 2.
//!
//! WHATWG parsers drop tabs, trim spaces, turn backslashes into slashes and ignore surplus
//! ones. Other programs do not, and reach another host with the same text. What parsers could
//! read differently is therefore refused, not repaired.

use std::borrow::Cow;

use super::Reason;

/// The longest authority that is parsed.
///
/// A name of 253 octets needs at most twelve bytes for each of its characters (a code point
/// above U+FFFF, percent-encoded), so no name that could pass is longer. Decoding Punycode
/// takes quadratic time; this keeps it small.
const MAX_AUTHORITY: usize = 4096;

/// A URL whose raw text is sound.
pub(super) struct Raw<'a> {
    /// The scheme, in lower case.
    pub(super) scheme: Cow<'a, str>,
    /// What stands between `//` and the path.
    pub(super) authority: &'a str,
}

impl<'a> Raw<'a> {
    /// The host as written: without user info and port, still encoded.
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

    /// Whether user info stands before the host, even an empty one.
    pub(super) fn has_userinfo(&self) -> bool {
        self.authority.contains('@')
    }

    /// Whether the authority is longer than any that could pass.
    pub(super) fn is_oversized(&self) -> bool {
        self.authority.len() > MAX_AUTHORITY
    }
}

/// Reads the raw text of a URL.
///
/// Fails if it is no `scheme://authority` or holds a character that parsers disagree about.
pub(super) fn read(url: &str) -> Result<Raw<'_>, Reason> {
    if let Some(fault) = fault_of(url) {
        return Err(fault);
    }
    let scheme = scheme_of(url).ok_or(Reason::Parse)?;
    let authority = authority_of(url).ok_or(Reason::NotAuthority)?;
    Ok(Raw { scheme, authority })
}

/// The scheme that a WHATWG parser would see, in lower case.
///
/// It sees through the white space and the control characters that parsers drop, so that
/// `java\nscript:` is known for what a browser makes of it.
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
    let sound = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    sound.then_some(Cow::Owned(scheme))
}

/// The first character that no URL may hold.
pub(super) fn fault_of(url: &str) -> Option<Reason> {
    url.bytes().find_map(fault_of_byte)
}

/// Why a byte may not stand anywhere in a URL.
pub(super) const fn fault_of_byte(byte: u8) -> Option<Reason> {
    match byte {
        0..=b' ' | 0x7f => Some(Reason::RawControl),
        b'\\' => Some(Reason::RawBackslash),
        _ => None,
    }
}

/// What stands between exactly two slashes and the path.
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

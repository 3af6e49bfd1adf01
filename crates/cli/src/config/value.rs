//! Parses values of settings; errors are sentences on what would be valid.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

use url::Url;

use super::origin::Origin;
use crate::duration;

/// An unparsed value of one layer.
#[derive(Debug)]
pub(super) struct RawValue {
    /// The setting's name, such as `limits.live`.
    pub(super) name: String,
    pub(super) text: String,
    pub(super) origin: Origin,
}

impl RawValue {
    pub(super) fn new(name: impl Into<String>, text: impl Into<String>, origin: Origin) -> Self {
        Self {
            name: name.into(),
            text: text.into(),
            origin,
        }
    }
}

/// Why a text was rejected: a sentence that says what would be valid.
pub(super) type Rejection = String;

pub(super) fn address(text: &str) -> Result<SocketAddr, Rejection> {
    // This name is loopback whatever DNS says.
    let local = text.strip_prefix("localhost:");
    let text = local.map_or_else(|| text.to_owned(), |port| format!("127.0.0.1:{port}"));
    text.parse().map_err(|_| {
        "it must be an IP address and a port, such as 127.0.0.1:7171 or [::1]:0".to_owned()
    })
}

pub(super) fn public_url(text: &str) -> Result<String, Rejection> {
    base_url(text).ok_or_else(|| {
        "it must start with https:// or http:// and have no user, query or fragment, such as \
         https://ask.example.com"
            .to_owned()
    })
}

/// Parses the collector's endpoint. OTLP defines the path that is appended to it.
pub(super) fn collector(text: &str) -> Result<String, Rejection> {
    base_url(text).ok_or_else(|| {
        "it must start with https:// or http:// and have no user, query or fragment, such as \
         http://127.0.0.1:4318"
            .to_owned()
    })
}

/// Parses a URL to which a path can be appended.
fn base_url(text: &str) -> Option<String> {
    let url = Url::parse(text).ok()?;
    let is_plain = url.username().is_empty() && url.password().is_none();
    let is_bare = url.query().is_none() && url.fragment().is_none();
    let is_web = matches!(url.scheme(), "http" | "https");
    (is_web && is_plain && is_bare).then(|| url.as_str().trim_end_matches('/').to_owned())
}

pub(super) fn flag(text: &str) -> Result<bool, Rejection> {
    text.parse()
        .map_err(|_| "it must be true or false".to_owned())
}

/// Parses a duration above zero.
pub(super) fn duration(text: &str) -> Result<Duration, Rejection> {
    let duration = duration::parse(text)?;
    if duration.is_zero() {
        return Err("it must be above 0".to_owned());
    }
    Ok(duration)
}

/// Parses a rate, or `none` for no limit.
pub(super) fn rate(text: &str) -> Result<Option<NonZeroU32>, Rejection> {
    if text == "none" {
        return Ok(None);
    }
    let rate = text.parse().map(Some);
    rate.map_err(|_| "it must be a whole number above 0, or \"none\" for no limit".to_owned())
}

/// Parses a whole number from 1 to the maximum of its type.
pub(super) fn count<T: FromStr + PartialEq + From<u8>>(
    text: &str,
    largest: &str,
) -> Result<T, Rejection> {
    let number = text.parse().ok().filter(|number| *number != T::from(0));
    number.ok_or_else(|| format!("it must be a whole number from 1 to {largest}"))
}

/// Parses a number of bytes from 1 to a maximum.
pub(super) fn bytes_up_to(text: &str, maximum: u64) -> Result<u64, Rejection> {
    let number = text.parse().ok();
    let number = number.filter(|number| (1..=maximum).contains(number));
    number.ok_or_else(|| format!("it must be a whole number from 1 to {maximum} bytes"))
}

/// Parses a whole number from 1 to `u32::MAX`, which fits every platform.
pub(super) fn size(text: &str) -> Result<usize, Rejection> {
    count::<u32>(text, "4294967295").map(|number| number as usize)
}

/// Parses a number of bytes on disk.
pub(super) fn bytes(text: &str) -> Result<u64, Rejection> {
    bytes_up_to(text, u64::MAX)
}

/// Parses a percentage.
pub(super) fn percent(text: &str) -> Result<u8, Rejection> {
    let number = text.parse().ok();
    let number = number.filter(|number| (1..=100).contains(number));
    number.ok_or_else(|| "it must be a whole number from 1 to 100, in percent".to_owned())
}

/// Parses a number of extensions.
pub(super) fn extensions(text: &str) -> Result<u8, Rejection> {
    let number = text.parse().ok().filter(|number| *number <= 100);
    number.ok_or_else(|| "it must be a whole number from 0 to 100".to_owned())
}

/// Formats a duration as it would be typed.
pub(super) fn shown(duration: Duration) -> String {
    let millis = duration.as_millis();
    for (unit, size) in [("h", 3_600_000), ("m", 60_000), ("s", 1000)] {
        if millis.is_multiple_of(size) {
            return format!("{}{unit}", millis / size);
        }
    }
    format!("{millis}ms")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_port_and_no_name_but_localhost() {
        for text in ["127.0.0.1:0", "[::1]:80", "0.0.0.0:7171", "localhost:7171"] {
            assert!(address(text).is_ok(), "{text}");
        }
        for text in [
            "",
            "7171",
            ":0",
            "127.0.0.1",
            "example.com:80",
            "localhost:",
        ] {
            assert!(address(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_public_url_is_a_place_and_nothing_more() {
        let read = |text| public_url(text).ok();
        let bare = Some("https://ask.example.com".to_owned());
        assert_eq!(read("https://ask.example.com/"), bare);
        let below = Some("http://example.com/ask".to_owned());
        assert_eq!(read("http://example.com/ask"), below);
        for text in [
            "ask.example.com",
            "ftp://example.com",
            "https://u@example.com",
            "https://u:p@example.com",
            "https://example.com/?a",
            "https://example.com/#a",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn durations_are_shown_as_they_are_typed() {
        for text in ["1h", "90m", "90s", "1500ms"] {
            assert_eq!(shown(duration(text).unwrap()), text);
        }
    }

    #[test]
    fn numbers_have_bounds() {
        assert_eq!(count::<u8>("255", "255"), Ok(255));
        for text in ["0", "256", "-1", "1.0", "", "ten"] {
            assert!(count::<u8>(text, "255").is_err(), "{text}");
        }
        assert_eq!(rate("none"), Ok(None));
        assert_eq!(rate("7"), Ok(NonZeroU32::new(7)));
        assert!(rate("0").is_err());
    }
}

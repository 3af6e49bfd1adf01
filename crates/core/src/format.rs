//! The named formats of a `text` field.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::calendar;
use crate::vocabulary::vocabulary;

vocabulary! {
    /// A named format of text.
    Format {
        /// An e-mail address, as browsers accept it.
        Email = "email",
        /// An absolute URI (RFC 3986).
        Uri = "uri",
        /// A UUID with hyphens.
        Uuid = "uuid",
        /// A host name (RFC 1123).
        Hostname = "hostname",
        /// Four decimal octets.
        Ipv4 = "ipv4",
        /// An IPv6 address without a zone.
        Ipv6 = "ipv6",
        /// An RFC 3339 `full-date`, such as `2026-02-28`.
        Date = "date",
        /// An RFC 3339 `date-time`, which has an offset.
        DateTime = "date-time",
        /// An RFC 3339 `full-time`.
        Time = "time",
    }
}

impl Format {
    /// Whether the whole text has this format.
    pub fn matches(self, text: &str) -> bool {
        match self {
            Self::Email => is_email(text),
            Self::Uri => fluent_uri::Uri::parse(text).is_ok(),
            Self::Uuid => is_uuid(text),
            Self::Hostname => is_hostname(text),
            Self::Ipv4 => text.parse::<Ipv4Addr>().is_ok(),
            Self::Ipv6 => text.parse::<Ipv6Addr>().is_ok(),
            Self::Date => calendar::parse_date(text).is_some(),
            Self::DateTime => calendar::parse_date_time(text).is_some(),
            Self::Time => calendar::is_time(text),
        }
    }
}

/// Accepts a dot-atom local part and a host name. Rejects quoted local parts and address
/// literals, as browsers do: they are usually typing errors.
fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else {
        return false;
    };
    let is_atom = |c: u8| c.is_ascii_alphanumeric() || b"!#$%&'*+/=?^_`{|}~-".contains(&c);
    local.len() <= 64
        && local
            .split('.')
            .all(|atom| !atom.is_empty() && atom.bytes().all(is_atom))
        && is_hostname(domain)
}

fn is_hostname(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_hostname_label)
}

fn is_hostname_label(label: &str) -> bool {
    let bytes = label.as_bytes();
    (1..=63).contains(&bytes.len())
        && bytes
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || *b == b'-')
        && bytes[0] != b'-'
        && bytes[bytes.len() - 1] != b'-'
        // Hyphens in positions three and four are reserved for internationalised labels.
        && (bytes.get(2..4) != Some(b"--") || label.starts_with("xn--"))
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(i, b)| match i {
            8 | 13 | 18 | 23 => b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_format(format: Format, good: &[&str], bad: &[&str]) {
        for text in good {
            assert!(format.matches(text), "{text:?} should be {}", format.name());
        }
        for text in bad {
            assert!(!format.matches(text), "{text:?} is no {}", format.name());
        }
    }

    #[test]
    fn addresses_that_mail_servers_take_are_taken() {
        assert_format(
            Format::Email,
            &[
                "a+b@example.technology",
                "o'brien@example.org",
                "x@y.example.museum",
                "a.b@c-d.io",
            ],
            &[
                "",
                "a",
                "@b.com",
                "a@",
                "a@@b.com",
                "a b@c.com",
                ".a@b.com",
                "a.@b.com",
                "a..b@c.com",
                "a@-b.com",
                "a@b..com",
                "a@b.com.",
                "Ann <a@b.com>",
                "a@b.com\n",
                "\"a b\"@c.com",
            ],
        );
    }

    #[test]
    fn other_formats_are_strict() {
        assert_format(
            Format::Hostname,
            &["example.com", "a", "xn--bcher-kva.example", "1.2.3"],
            &["", "-a", "a-", "a..b", "a_b", "a.", "ex ample", "ab--c.com"],
        );
        assert_format(
            Format::Uuid,
            &[
                "123e4567-e89b-12d3-a456-426614174000",
                "123E4567-E89B-12D3-A456-426614174000",
            ],
            &[
                "123e4567e89b12d3a456426614174000",
                "{123e4567-e89b-12d3-a456-426614174000}",
                "",
            ],
        );
        assert_format(
            Format::Ipv4,
            &["192.0.2.1"],
            &["192.0.2.256", "192.0.2", "192.0.2.01", "1.2.3.4 "],
        );
        assert_format(
            Format::Ipv6,
            &["::1", "2001:db8::8a2e:370:7334"],
            &["::1%eth0", "12345::", "1.2.3.4"],
        );
        assert_format(
            Format::Uri,
            &["https://example.com/a?b#c", "urn:isbn:12", "mailto:a@b.c"],
            &[
                "",
                "/relative",
                "example.com",
                "https://exa mple.com",
                "http://[::1",
                "https://例え.jp/",
            ],
        );
        assert_format(
            Format::Time,
            &["10:00:00Z", "10:00:00.1+02:00"],
            &["10:00:00", "10:00Z", "25:00:00Z"],
        );
    }

    #[test]
    fn names_lead_to_their_formats() {
        for (name, format) in Format::WORDS {
            assert_eq!(format.name(), *name);
        }
    }
}

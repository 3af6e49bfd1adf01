//! The owner of a host name, by the Public Suffix List.

use super::{Host, Warning, check, name};

/// A name split at its registrable domain. Names are ASCII, lower case, without trailing dot.
pub(super) struct Site<'a> {
    name: &'a str,
    suffix: &'a str,
    registrable: Option<&'a str>,
    listed: Option<psl::Type>,
}

impl<'a> Site<'a> {
    /// Parses a name; `None` if it is malformed.
    pub(super) fn read(name: &'a str) -> Option<Self> {
        if name.len() > 253 || name.split('.').any(str::is_empty) {
            return None;
        }
        let suffix = psl::suffix(name.as_bytes())?;
        Some(Self {
            name,
            suffix: psl::suffix_str(name)?,
            registrable: psl::domain_str(name),
            listed: suffix.typ(),
        })
    }

    /// The registrable domain, or the whole name if there is none.
    pub(super) fn owner(&self) -> &'a str {
        self.registrable.unwrap_or(self.name)
    }

    /// The labels to the left of the public suffix.
    ///
    /// Public suffixes are exempt from the checks of scripts: registries vet them, and several
    /// legitimate ones, such as Serbia's, look like Latin.
    pub(super) fn chosen_labels(&self) -> impl Iterator<Item = &'a str> {
        let chosen = match self.listed {
            Some(_) => self.left_of_suffix(),
            None => self.name,
        };
        chosen.split('.').filter(|label| !label.is_empty())
    }

    /// Returns the warnings about the owner of the name.
    pub(super) fn warnings(&self) -> impl Iterator<Item = Warning> {
        let is_platform = self.listed == Some(psl::Type::Private);
        [
            (self.depth() >= 4, Warning::DeepSubdomain),
            (self.has_inner_tld(), Warning::TldInSubdomain),
            (is_shortener(self.name), Warning::Shortener),
            (
                is_platform && self.registrable.is_some(),
                Warning::SharedPlatform,
            ),
            (
                self.listed.is_some() && self.registrable.is_none(),
                Warning::PublicSuffixHost,
            ),
        ]
        .into_iter()
        .filter_map(|(found, warning)| found.then_some(warning))
    }

    fn left_of_suffix(&self) -> &'a str {
        self.name
            .strip_suffix(self.suffix)
            .and_then(|left| left.strip_suffix('.'))
            .unwrap_or("")
    }

    /// The number of labels to the left of the registrable domain.
    fn depth(&self) -> usize {
        self.registrable.map_or(0, |registrable| {
            self.name.split('.').count() - registrable.split('.').count()
        })
    }

    /// Whether a label to the left of the suffix looks like a top-level domain.
    fn has_inner_tld(&self) -> bool {
        let left = self.left_of_suffix();
        let mut labels = left.split('.').peekable();
        while let Some(label) = labels.next() {
            let country_follows = labels.peek().is_some_and(|next| next.len() == 2);
            if INNER_TLDS.contains(&label)
                || label.starts_with("com-")
                || (label == "co" && country_follows)
            {
                return true;
            }
        }
        false
    }
}

/// Whether a host has another owner than the asking server.
///
/// `server` is a host, a host with a port, or a URL. One that cannot be parsed counts as another
/// owner.
pub(super) fn is_third_party(host: &Host<'_>, server: &str) -> bool {
    let text;
    let url = if server.contains("://") {
        server
    } else {
        text = format!("https://{server}");
        &text
    };
    // No valid host is longer, and parsing takes quadratic time.
    if url.len() > 4096 {
        return true;
    }
    match (host, check::parse(url)) {
        (Host::Name(host), Ok((_, Host::Name(server)))) => owner(host) != owner(&server),
        (Host::Address(host), Ok((_, Host::Address(server)))) => *host != server,
        _ => true,
    }
}

/// The registrable domain of a name, or the name itself if it has none.
pub(super) fn owner(name: &str) -> &str {
    Site::read(name).map_or(name, |site| site.owner())
}

/// Whether a host is local or private.
pub(super) fn is_private(host: &Host<'_>) -> bool {
    match host {
        Host::Name(name) => name::private_reason(name).is_some(),
        Host::Address(address) => super::check_address(*address, &super::Policy::web()).is_err(),
    }
}

fn is_shortener(name: &str) -> bool {
    SHORTENERS.iter().any(|shortener| {
        name.strip_suffix(shortener)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}

/// Generic top-level domains that people take for the end of a name. `info`, newer ones such as
/// `app`, and country codes are left out: they are common subdomains.
const INNER_TLDS: &[&str] = &["com", "net", "org", "edu", "gov", "mil", "biz"];

/// Public link shorteners, which can hide any URL.
#[rustfmt::skip]
const SHORTENERS: &[&str] = &[
    "adf.ly", "aka.ms", "amzn.to", "bit.do", "bit.ly", "bitly.com", "bl.ink", "buff.ly", "clck.ru",
    "cutt.ly", "db.tt", "dlvr.it", "fb.me", "g.co", "git.io", "goo.gl", "goo.su", "ift.tt", "is.gd",
    "j.mp", "kutt.it", "lnkd.in", "mcaf.ee", "ouo.io", "ow.ly", "po.st", "qr.ae", "rb.gy",
    "rebrand.ly", "s.id", "short.gy", "short.io", "shorte.st", "shorturl.at", "snip.ly", "soo.gd",
    "su.pr", "surl.li", "t.co", "t.ly", "tiny.cc", "tiny.one", "tinyurl.com", "tr.im", "trib.al",
    "u.to", "urlz.fr", "v.gd", "vk.cc", "wp.me", "x.co", "x.gd",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(name: &str) -> Vec<&'static str> {
        Site::read(name)
            .unwrap()
            .warnings()
            .map(|warning| warning.code())
            .collect()
    }

    fn is_third(host: &str, server: &str) -> bool {
        let (_, host) = check::parse(&format!("https://{host}/")).unwrap();
        is_third_party(&host, server)
    }

    #[test]
    fn the_owner_is_the_registrable_domain_by_either_section_of_the_list() {
        for (name, expected) in [
            ("a.b.example.com", "example.com"),
            ("www.example.co.uk", "example.co.uk"),
            ("x.alice.github.io", "alice.github.io"),
            ("github.io", "github.io"),
            ("co.uk", "co.uk"),
            ("intranet", "intranet"),
            ("a.printer.local", "printer.local"),
            ("a.example.xn--p1ai", "example.xn--p1ai"),
            ("a..b", "a..b"),
        ] {
            assert_eq!(owner(name), expected);
        }
    }

    #[test]
    fn depth_counts_from_four_labels_left_of_the_owner() {
        assert_eq!(codes("a.b.c.example.co.uk"), [""; 0]);
        assert_eq!(codes("a.b.c.d.example.co.uk"), ["deep_subdomain"]);
        assert_eq!(
            codes("a.b.c.d.alice.github.io"),
            ["deep_subdomain", "shared_platform"]
        );
        assert_eq!(codes("a.b.c.alice.github.io"), ["shared_platform"]);
    }

    #[test]
    fn endings_left_of_the_suffix_are_found() {
        for name in [
            "mcp.example.com.evil.net",
            "com-verify.net",
            "a.com-x.b.net",
            "com.xn--p1ai",
            "paypal.org.evil.io",
            "amazon.co.uk.evil.net",
            "irs.gov.evil.net",
        ] {
            assert_eq!(codes(name), ["tld_in_subdomain"], "{name}");
        }
        for name in [
            "example.com.au",
            "example.co.uk",
            "community.example.com",
            "co.example.com",
            "app.example.com",
            "uk.example.com",
            "my-com.net",
            "dotcom.net",
            "comx.net",
        ] {
            assert_eq!(codes(name), [""; 0], "{name}");
        }
    }

    #[test]
    fn platforms_and_suffixes_are_told_apart() {
        assert_eq!(codes("foo.vercel.app"), ["shared_platform"]);
        assert_eq!(codes("bucket.s3.amazonaws.com"), ["shared_platform"]);
        assert_eq!(codes("vercel.app"), ["public_suffix_host"]);
        assert_eq!(codes("co.uk"), ["public_suffix_host"]);
        assert_eq!(codes("intranet"), [""; 0]);
    }

    #[test]
    fn shorteners_are_known_by_name() {
        assert_eq!(codes("bit.ly"), ["shortener"]);
        assert_eq!(codes("www.tinyurl.com"), ["shortener"]);
        assert_eq!(codes("rabbit.ly"), [""; 0]);
        assert_eq!(codes("at.co"), [""; 0]);
    }

    #[test]
    fn servers_are_compared_by_owner() {
        assert!(!is_third("login.example.com", "mcp.example.com"));
        assert!(!is_third("example.com", "MCP.example.com:8443"));
        assert!(!is_third("example.com.", "https://mcp.example.com/mcp"));
        assert!(!is_third("192.0.2.1", "http://192.0.2.1:80/x"));
        assert!(!is_third("[::1]", "[::1]:3000"));
        assert!(!is_third("localhost", "localhost:3000"));
        assert!(is_third("example.org", "mcp.example.com"));
        assert!(is_third("bob.github.io", "alice.github.io"));
        assert!(is_third("example.com", "127.0.0.1"));
        assert!(is_third("example.com", "::not a host::"));
    }
}

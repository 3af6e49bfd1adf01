//! Collects the warnings about one URL.
//!
//! In two stages: if the raw text is ambiguous, so that parsers disagree about its host, only
//! that is reported, because warnings about the wrong host would mislead. Otherwise all warnings
//! are collected.

use std::collections::BTreeSet;

use percent_encoding::percent_decode_str;
use url::{Url, form_urlencoded};

use super::site::Site;
use super::{Action, Card, Host, Warning, check, personal, port, script, secret, site, syntax};

/// Inspects a URL that a person is asked to open.
///
/// `server` is the host of the asking server, a host with a port, or a URL. No address is
/// blocked here, since a person may be sent to a local page; use [`check_url`](super::check_url) to
/// block addresses.
///
/// ```
/// use entreat_core::url_guard::{Action, Warning, inspect};
///
/// let card = inspect("https://mcp.example.com.evil.net/", Some("mcp.example.com"));
/// assert_eq!(card.action, Action::Warn);
/// assert_eq!(card.warnings, [Warning::TldInSubdomain, Warning::ThirdPartyDomain]);
/// assert_eq!(card.highlight.as_deref(), Some("evil.net"));
/// ```
pub fn inspect(url: &str, server: Option<&str>) -> Card {
    let mut found = raw_warnings(url);
    if !found.is_empty() {
        return card(&found, None, true);
    }
    found.extend(text_warnings(url));
    let Ok(raw) = syntax::read(url) else {
        return card(&found, None, true);
    };
    if raw.has_userinfo() {
        found.insert(Warning::Userinfo);
    }
    // Decoding an overlong host could take quadratic time.
    if raw.is_oversized() {
        return card(&found, None, true);
    }
    let Ok((parsed, host)) = check::parse(url) else {
        return card(&found, None, true);
    };
    found.extend(connection_warnings(&parsed));
    found.extend(host_warnings(raw.host(), &parsed, &host));
    found.extend(content_warnings(&parsed));
    if let Some(server) = server.map(str::trim)
        && !server.is_empty()
        && site::is_third_party(&host, server)
    {
        found.insert(Warning::ThirdPartyDomain);
    }
    let highlight = match &host {
        Host::Name(name) => site::owner(name).to_owned(),
        Host::Address(_) => host.to_string(),
    };
    let has_empty_label = matches!(&host, Host::Name(name) if name.split('.').any(str::is_empty));
    card(&found, Some(highlight), has_empty_label)
}

fn card(found: &BTreeSet<Warning>, highlight: Option<String>, unusable: bool) -> Card {
    let worst = found.iter().map(Warning::action).max();
    Card {
        action: if unusable {
            Action::Reject
        } else {
            worst.unwrap_or(Action::Allow)
        },
        warnings: found.iter().copied().collect(),
        highlight,
    }
}

/// Warnings about text that parsers interpret differently.
fn raw_warnings(url: &str) -> BTreeSet<Warning> {
    let mut found: BTreeSet<Warning> = url.chars().filter_map(script::warning_of_char).collect();
    let web = syntax::scheme_of(url).is_some_and(|scheme| matches!(&*scheme, "http" | "https"));
    if !web {
        found.insert(Warning::BadScheme);
    } else if found.is_empty() && syntax::authority_of(url).is_none() {
        found.insert(Warning::NoAuthoritySlashes);
    }
    found
}

/// Warnings that need no parsing.
fn text_warnings(url: &str) -> impl Iterator<Item = Warning> {
    [
        (url.chars().nth(2000).is_some(), Warning::LongUrl),
        (has_shell_metachar(url), Warning::ShellMetachar),
    ]
    .into_iter()
    .filter_map(|(found, warning)| found.then_some(warning))
}

/// Whether the text has characters that end a quoted argument, run a command or redirect one,
/// and that no URL needs unescaped.
///
/// `&`, `;`, `'` and `(` are common in URLs. Code that starts a browser must not pass a URL
/// through a shell in any case.
fn has_shell_metachar(url: &str) -> bool {
    url.contains(['`', '|', '"', '<', '>']) || url.contains("$(") || url.contains("${")
}

fn connection_warnings(parsed: &Url) -> BTreeSet<Warning> {
    let mut found = BTreeSet::new();
    let scheme = parsed.scheme();
    if scheme != "https" {
        found.insert(Warning::NotHttps);
    }
    match parsed.port() {
        Some(port) if port::is_blocked(port, scheme) => found.insert(Warning::BlockedPort),
        // Common alternative ports of web servers.
        None | Some(8080 | 8443) => false,
        Some(_) => found.insert(Warning::OddPort),
    };
    found
}

fn host_warnings(raw: &str, parsed: &Url, host: &Host<'_>) -> BTreeSet<Warning> {
    let mut found = BTreeSet::new();
    let written = parsed.host_str().unwrap_or("");
    if script::is_rewritten(raw, written) {
        found.insert(Warning::HostNormalised);
    }
    if raw.ends_with('.') || written.ends_with('.') {
        found.insert(Warning::TrailingDot);
    }
    if site::is_private(host) {
        found.insert(Warning::PrivateHost);
    }
    match host {
        Host::Name(name) => found.extend(name_warnings(name)),
        Host::Address(_) => {
            found.insert(Warning::IpLiteral);
        }
    }
    found
}

fn name_warnings(name: &str) -> BTreeSet<Warning> {
    let mut found = BTreeSet::new();
    if name.split('.').any(|label| label.starts_with("xn--")) {
        found.insert(Warning::Punycode);
    }
    if name.split('.').any(|label| label.len() > 40) {
        found.insert(Warning::LongLabel);
    }
    if let Some(site) = Site::read(name) {
        found.extend(site.warnings());
        for label in site
            .chosen_labels()
            .filter(|label| label.starts_with("xn--"))
        {
            let (label, _) = idna::domain_to_unicode(label);
            found.extend(script::warnings_of_label(&label));
        }
    }
    found
}

/// Warnings about secrets, personal data and URLs in path, query and fragment.
fn content_warnings(parsed: &Url) -> BTreeSet<Warning> {
    let mut found = BTreeSet::new();
    for segment in parsed.path().split('/') {
        let segment = percent_decode_str(segment).decode_utf8_lossy();
        if secret::is_token(&segment) {
            found.insert(Warning::CredentialInUrl);
        }
        if personal::has_personal_data(&segment) {
            found.insert(Warning::PiiInUrl);
        }
    }
    let query = parsed.query().unwrap_or("");
    // Single-page apps put a query into the fragment: `#/page?token=x`.
    let fragment = parsed.fragment().unwrap_or("");
    let fragment = fragment
        .split_once('?')
        .map_or(fragment, |(_, query)| query);
    for text in [query, fragment] {
        for (name, value) in form_urlencoded::parse(text.as_bytes()) {
            // A parameter without `=` is a value, not a name.
            let (name, value) = match &*value {
                "" => ("", &*name),
                value => (&*name, value),
            };
            if secret::is_secret(name, value) {
                found.insert(Warning::CredentialInUrl);
            }
            if personal::is_personal(name, value) {
                found.insert(Warning::PiiInUrl);
            }
        }
    }
    if form_urlencoded::parse(query.as_bytes()).any(|(name, value)| is_url(&name) || is_url(&value))
    {
        found.insert(Warning::UrlInQuery);
    }
    found
}

/// Whether a parameter is a URL, possibly percent-encoded twice.
fn is_url(text: &str) -> bool {
    let decoded = percent_decode_str(text).decode_utf8_lossy();
    let text = decoded.trim_start();
    let has_scheme = text.match_indices("://").any(|(at, _)| {
        text[..at].ends_with(|c: char| c.is_ascii_alphanumeric()) && text.len() > at + 3
    });
    // Browsers treat these as `//host` in a redirect.
    let scheme_relative = ["//", "/\\", "\\\\", "\\/"].iter().any(|start| {
        text.strip_prefix(start)
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_alphanumeric() || c == '['))
    });
    let scripted = ["javascript:", "data:", "vbscript:"].iter().any(|scheme| {
        text.get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    });
    has_scheme || scheme_relative || scripted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn codes(url: &str) -> Vec<&'static str> {
        inspect(url, None)
            .warnings
            .iter()
            .map(Warning::code)
            .collect()
    }

    fn action(url: &str) -> Action {
        inspect(url, None).action
    }

    #[test]
    fn ordinary_urls_have_no_warnings() {
        for url in [
            "https://example.com",
            "https://example.com:443/",
            "https://example.com:8443/hook",
            "https://github.com/login/oauth/authorize?client_id=x&state=y&scope=a+b;c",
            "https://example.com/a;v=1/b'c(d)?x=1&y[]=2&z={a}#frag",
            "https://example.com/callback?code=abc&state=def",
            "https://example.com/path%20with%20space?q=1:2",
            "https://discord.com/api/webhooks/1143508721236934696/abc",
            "https://cdn.example.com/npm/react@18.2.0/index.js",
        ] {
            assert_eq!(codes(url), [""; 0], "{url}");
            assert_eq!(action(url), Action::Allow, "{url}");
        }
    }

    #[test]
    fn raw_text_that_readers_disagree_about_is_all_that_is_said() {
        for (url, expected) in [
            ("http://127.0.0.1\\@a.com", &["raw_backslash"][..]),
            ("http://a.com/ b", &["raw_control"]),
            (
                "http://a\u{200b}.com\\",
                &["invisible_char", "raw_backslash"],
            ),
            ("java\nscript:alert(`1`)", &["bad_scheme", "raw_control"]),
            ("https:a.com", &["no_authority_slashes"]),
            ("https:///a.com", &["no_authority_slashes"]),
            ("ftp://user@127.0.0.1/", &["bad_scheme"]),
            ("example.com", &["bad_scheme"]),
            ("", &["bad_scheme"]),
        ] {
            assert_eq!(codes(url), expected, "{url:?}");
            assert_eq!(action(url), Action::Reject, "{url:?}");
            assert_eq!(inspect(url, Some("x.com")).highlight, None, "{url:?}");
        }
    }

    #[test]
    fn what_is_no_url_is_rejected_without_a_code() {
        for url in [
            "https://",
            "https://[::1",
            "https://1.2.3.4.5/",
            "https://a.com:99999/",
        ] {
            assert_eq!(codes(url), [""; 0], "{url}");
            assert_eq!(action(url), Action::Reject, "{url}");
        }
        assert_eq!(action("https://example..com/"), Action::Reject);
    }

    #[test]
    fn connections_are_judged_by_scheme_and_port() {
        for (url, expected) in [
            ("http://example.com/", &["not_https"][..]),
            ("http://example.com:8080/", &["not_https"]),
            ("https://example.com:80/", &["odd_port"]),
            ("https://example.com:4444/", &["odd_port"]),
            ("https://example.com:6667/", &["blocked_port"]),
            ("https://example.com:0/", &["blocked_port"]),
        ] {
            assert_eq!(codes(url), expected, "{url}");
        }
    }

    #[test]
    fn hosts_are_judged_by_what_they_are_and_how_they_are_written() {
        for (url, expected, highlight) in [
            (
                "https://127.0.0.1/",
                &["ip_literal", "private_host"][..],
                "127.0.0.1",
            ),
            ("https://[::1]/", &["ip_literal", "private_host"], "[::1]"),
            ("https://localhost/", &["private_host"], "localhost"),
            ("https://example.com./", &["trailing_dot"], "example.com"),
            ("https://EXAMPLE。com/", &["host_normalised"], "example.com"),
            (
                "https://xn--90a3ac.xn--90a3ac/",
                &["punycode", "whole_script_confusable"],
                "xn--90a3ac.xn--90a3ac",
            ),
            ("https://a.xn--90a3ac/", &["punycode"], "a.xn--90a3ac"),
            ("https://bit.ly/abc", &["shortener"], "bit.ly"),
            ("https://@example.com/", &["userinfo"], "example.com"),
        ] {
            assert_eq!(codes(url), expected, "{url}");
            assert_eq!(
                inspect(url, None).highlight.as_deref(),
                Some(highlight),
                "{url}"
            );
        }
        let label = "a".repeat(41);
        assert_eq!(codes(&format!("https://{label}.com/")), ["long_label"]);
        assert_eq!(codes(&format!("https://{}.com/", &label[1..])), [""; 0]);
    }

    #[test]
    fn length_is_counted_in_characters() {
        let base = "https://example.com/";
        let path = "é".repeat(2000 - base.len());
        assert_eq!(codes(&format!("{base}{path}")), [""; 0]);
        assert_eq!(codes(&format!("{base}{path}é")), ["long_url"]);
    }

    #[test]
    fn shell_characters_are_rejected_wherever_they_stand() {
        for tail in ["`id`", "$(id)", "?a=${IFS}", "#|calc", "\"&calc", "<x>"] {
            let url = format!("https://example.com/{tail}");
            assert_eq!(codes(&url), ["shell_metachar"], "{url}");
            assert_eq!(action(&url), Action::Reject, "{url}");
        }
        assert_eq!(codes("https://example.com/$a?b=$1&c=(d)"), [""; 0]);
    }

    #[test]
    fn urls_in_the_query_are_found_in_any_coat() {
        for query in [
            "next=https://evil.net/",
            "next=https%3A%2F%2Fevil.net",
            "u=https%253A%252F%252Fevil.net",
            "next=//evil.net",
            "next=%2F%2Fevil.net",
            "https://evil.net",
            "next=JavaScript:alert(1)",
            "next=/%5Cevil.net",
            "a=b&c=custom-app://x",
        ] {
            assert_eq!(
                codes(&format!("https://example.com/?{query}")),
                ["url_in_query"],
                "{query}"
            );
        }
        for query in [
            "next=/home",
            "t=10:30",
            "q=a//b",
            "next=//",
            "q=://",
            "a=http:",
            "v=metadata:x",
        ] {
            assert_eq!(
                codes(&format!("https://example.com/?{query}")),
                [""; 0],
                "{query}"
            );
        }
        assert_eq!(codes("https://example.com/https://evil.net/"), [""; 0]);
    }

    #[test]
    fn secrets_and_personal_data_are_found_in_query_fragment_and_path() {
        for (tail, expected) in [
            ("?access_token=abc", &["credential_in_url"][..]),
            ("#access_token=abc&x=y", &["credential_in_url"]),
            ("#/page?token=abc", &["credential_in_url"]),
            (
                "ghp_0123456789abcdefghijABCDEFGHIJ012345",
                &["credential_in_url"],
            ),
            ("?email=alice%40example.com", &["pii_in_url"]),
            ("u/alice@example.com", &["pii_in_url"]),
            ("?card=4111+1111+1111+1111", &["pii_in_url"]),
            (
                "?password=x&ssn=123-45-6789",
                &["credential_in_url", "pii_in_url"],
            ),
            ("?token=token", &["credential_in_url"]),
            ("?token", &[]),
            ("?token=", &[]),
        ] {
            assert_eq!(
                codes(&format!("https://example.com/{tail}")),
                expected,
                "{tail}"
            );
        }
    }

    #[test]
    fn a_blank_server_is_no_server() {
        assert_eq!(inspect("https://example.com/", Some(" ")).warnings, []);
    }

    proptest! {
        #[test]
        fn any_text_is_inspected_without_a_panic(
            url in "\\PC*",
            tail in any::<String>(),
            server in any::<String>(),
        ) {
            let _ = inspect(&url, Some(&server));
            let card = inspect(&format!("https://{tail}"), Some(&url));
            prop_assert!(card.warnings.is_sorted());
            let _ = inspect(&format!("https://example.com/?{tail}#{url}"), None);
        }
    }
}

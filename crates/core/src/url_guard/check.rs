//! Checks a URL, and the addresses that its host resolves to.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;

use url::Url;

use super::{Blocked, Policy, Reason, address, check_address, name, plain, port, syntax};

/// Checks a URL without resolving its host.
///
/// Fails with the first rule that is broken: scheme, raw text, user info, parsing, port, host.
/// If the host is a name, only the name is checked; resolve it and pass the addresses to
/// [`CheckedUrl::check_addresses`].
///
/// ```
/// use entreat_core::url_guard::{Policy, check_url};
///
/// let policy = Policy::default();
/// let checked = check_url("https://api.example.com/hook?x=1", &policy)?;
/// assert!(checked.is_name());
/// assert_eq!((checked.scheme(), checked.port()), ("https", Some(443)));
///
/// let answer = ["93.184.215.14".parse().unwrap(), "10.0.0.5".parse().unwrap()];
/// let blocked = checked.check_addresses(&answer, &policy).unwrap_err();
/// assert_eq!(blocked.reason().code(), "dns_private");
/// # Ok::<(), entreat_core::url_guard::Blocked>(())
/// ```
pub fn check_url<'a>(url: &'a str, policy: &Policy) -> Result<CheckedUrl<'a>, Blocked> {
    match plain::read(url) {
        Some(plain) => check_plain(&plain, policy),
        None => check_parsed(url, policy),
    }
}

/// Checks a URL like [`check_url`], without returning its parts.
pub(crate) fn passes(url: &str, policy: &Policy) -> Result<(), Blocked> {
    match plain::read(url) {
        Some(plain) => plain_passes(&plain, policy),
        None => check_parsed(url, policy).map(drop),
    }
}

/// A URL that passed the checks that need no resolver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedUrl<'a> {
    scheme: Cow<'a, str>,
    host: Host<'a>,
    port: Option<u16>,
}

impl CheckedUrl<'_> {
    /// The host to resolve or connect to.
    pub fn host(&self) -> &Host<'_> {
        &self.host
    }

    /// Whether the host is a name, to be resolved before it is used.
    pub fn is_name(&self) -> bool {
        matches!(self.host, Host::Name(_))
    }

    /// The scheme, in lower case.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// The explicit port, or the default port of the scheme if it is known.
    pub fn port(&self) -> Option<u16> {
        self.port.or_else(|| port::default_of(&self.scheme))
    }

    /// Checks the addresses that a resolver returned for the host.
    ///
    /// Every address must pass, and an empty list fails. One private address blocks the whole
    /// list, since the owner of the name put it there. Connect to these addresses only. If the
    /// host is an address, pass that address.
    pub fn check_addresses(&self, answers: &[IpAddr], policy: &Policy) -> Result<(), Blocked> {
        if answers.is_empty() {
            return Err(Blocked::from(Reason::DnsEmpty).with_host(&self.host));
        }
        answers.iter().try_for_each(|&answer| {
            check_address(answer, policy).map_err(|blocked| {
                let reason = match blocked.reason() {
                    Reason::Loopback => Reason::DnsLoopback,
                    _ => Reason::DnsPrivate,
                };
                blocked.with_reason(reason).with_host(&self.host)
            })
        })
    }
}

/// The host of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host<'a> {
    /// A name: ASCII, lower case, without a trailing dot.
    Name(Cow<'a, str>),
    /// An address, in any notation.
    Address(IpAddr),
}

impl fmt::Display for Host<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(address) => f.write_str(&address::display(*address)),
        }
    }
}

fn check_plain<'a>(plain: &plain::Plain<'a>, policy: &Policy) -> Result<CheckedUrl<'a>, Blocked> {
    plain_passes(plain, policy)?;
    Ok(CheckedUrl {
        scheme: Cow::Borrowed(plain.scheme),
        host: Host::Name(Cow::Borrowed(plain.name)),
        port: plain.port,
    })
}

fn plain_passes(plain: &plain::Plain<'_>, policy: &Policy) -> Result<(), Blocked> {
    if !policy.allows_scheme(plain.scheme) {
        return Err(Reason::Scheme.into());
    }
    check_port(plain.port, plain.scheme, plain.name)?;
    let last = plain.last_label.as_bytes();
    name::check_public(plain.name, plain.labels, last, policy)
        .map_err(|reason| Blocked::from(reason).with_host(plain.name))
}

fn check_parsed<'a>(url: &'a str, policy: &Policy) -> Result<CheckedUrl<'a>, Blocked> {
    // First, so that `java\nscript:` is blocked for its scheme and not for the line break.
    if let Some(scheme) = syntax::scheme_of(url)
        && !policy.allows_scheme(&scheme)
    {
        return Err(Reason::Scheme.into());
    }
    let raw = syntax::read(url)?;
    if raw.has_userinfo() {
        return Err(Reason::Userinfo.into());
    }
    if raw.is_oversized() {
        return Err(Reason::NameTooLong.into());
    }
    let (parsed, host) = parse(url)?;
    check_host(raw.scheme, host, parsed.port(), policy)
}

/// Checks port and host.
fn check_host<'a>(
    scheme: Cow<'a, str>,
    host: Host<'a>,
    port: Option<u16>,
    policy: &Policy,
) -> Result<CheckedUrl<'a>, Blocked> {
    check_port(port, &scheme, &host)?;
    match &host {
        Host::Name(name) => name::check_name(name, policy).map_err(|reason| match reason {
            // Don't put kilobytes of host into the error.
            Reason::NameTooLong => reason.into(),
            _ => Blocked::from(reason).with_host(&host),
        })?,
        Host::Address(address) => check_address(*address, policy)?,
    }
    Ok(CheckedUrl { scheme, host, port })
}

fn check_port(port: Option<u16>, scheme: &str, host: impl fmt::Display) -> Result<(), Blocked> {
    match port {
        Some(port) if port::is_blocked(port, scheme) => {
            Err(Blocked::from(Reason::Port).with_host(host))
        }
        _ => Ok(()),
    }
}

/// Parses a URL by the WHATWG standard, and its host as for special schemes.
///
/// For schemes other than http, https, ws, wss and ftp, the standard leaves the host opaque:
/// `ssh://0x7f.1/` would be a name. Programs resolve such hosts anyway, so they are parsed like
/// the others.
pub(super) fn parse(url: &str) -> Result<(Url, Host<'static>), Reason> {
    let parsed = Url::parse(url).map_err(|_| Reason::Parse)?;
    let host = match parsed.host() {
        None | Some(url::Host::Domain("")) => return Err(Reason::NoHost),
        Some(url::Host::Domain(name)) if !is_special(parsed.scheme()) => {
            url::Host::parse(name).map_err(|_| Reason::Parse)?
        }
        Some(host) => host.to_owned(),
    };
    let host = match host {
        url::Host::Domain(mut name) => {
            if name.ends_with('.') {
                name.pop();
            }
            Host::Name(Cow::Owned(name))
        }
        url::Host::Ipv4(v4) => Host::Address(v4.into()),
        url::Host::Ipv6(v6) => Host::Address(v6.into()),
    };
    Ok((parsed, host))
}

fn is_special(scheme: &str) -> bool {
    matches!(scheme, "http" | "https" | "ws" | "wss" | "ftp" | "file")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn code(url: &str, policy: &Policy) -> &'static str {
        match check_url(url, policy) {
            Ok(_) => "ok",
            Err(blocked) => blocked.reason().code(),
        }
    }

    #[test]
    fn the_first_broken_rule_is_named() {
        let policy = Policy::web();
        for (url, expected) in [
            ("ftp://user@127.0.0.1:22/", "scheme"),
            ("java\nscript:alert(1)", "scheme"),
            ("localhost:80/", "scheme"),
            ("ftp://[/", "scheme"),
            (" http://127.0.0.1/", "raw_control"),
            ("https://exa mple.com/", "raw_control"),
            ("https:\\\\example.com", "raw_backslash"),
            ("https:example.com", "not_authority"),
            ("https:///example.com", "not_authority"),
            ("https://user@127.0.0.1:22/", "userinfo"),
            ("https://@example.com/", "userinfo"),
            ("https://127.0.0.1:22/", "port"),
            ("https://example.com:65536/", "parse"),
            ("https://", "parse"),
            ("example.com", "parse"),
            ("https://127.0.0.1:3000/", "loopback"),
            ("https://0x7f.1/", "loopback"),
            ("https://[::ffff:127.0.0.1]/", "loopback"),
            ("https://LOCALHOST./", "localhost"),
            ("https://kubernetes/", "single_label"),
            ("https://example..com/", "empty_label"),
            ("https://10.0.0.1/", "private_address"),
            ("https://metadata.goog./", "metadata_name"),
            ("https://example.com./", "ok"),
            ("https://example.com../", "empty_label"),
            ("https://example.com", "ok"),
            ("https://example.com:/", "ok"),
        ] {
            assert_eq!(code(url, &policy), expected, "{url:?}");
        }
    }

    #[test]
    fn hosts_of_other_schemes_are_judged_like_web_hosts() {
        let policy = Policy::new(["ssh", "ftp", "git+ssh", "javascript", "file", "blob"]);
        for (url, expected) in [
            ("ssh://example.com/", "ok"),
            ("ssh://EXAMPLE.com:22/", "ok"),
            ("ssh://example.com:25/", "port"),
            ("git+ssh://127.0.0.1/", "loopback"),
            ("git+ssh://0x7f.1/", "loopback"),
            ("ssh://[::1]/", "loopback"),
            ("ssh://LOCALHOST/", "localhost"),
            ("ssh://%6cocalhost/", "localhost"),
            ("ssh://%2Fvar%2Frun/", "parse"),
            ("ssh:///path", "not_authority"),
            ("ssh://?x", "no_host"),
            ("ssh://user@example.com/", "userinfo"),
            ("ftp://2130706433/", "loopback"),
            ("ftp://example.com:21/", "ok"),
            ("javascript:alert(1)", "not_authority"),
            ("javascript://example.com/%0aalert(1)", "ok"),
            ("file:///etc/passwd", "not_authority"),
            ("file://localhost/etc/passwd", "no_host"),
            ("blob:https://example.com/x", "not_authority"),
            ("https://example.com/", "scheme"),
        ] {
            assert_eq!(code(url, &policy), expected, "{url:?}");
        }
    }

    #[test]
    fn a_judged_url_knows_its_parts() {
        let policy = Policy::new(["https", "ssh", "foo"]);
        let checked = check_url("HTTPS://EXAMPLE.com.:08443/", &policy).unwrap();
        assert_eq!(checked.scheme(), "https");
        assert_eq!(checked.host(), &Host::Name("example.com".into()));
        assert_eq!(checked.port(), Some(8443));
        let checked = check_url("https://[2606:4700::1111]/", &policy).unwrap();
        assert!(!checked.is_name());
        assert_eq!(checked.host().to_string(), "[2606:4700::1111]");
        assert_eq!(check_url("ssh://a.com/", &policy).unwrap().port(), Some(22));
        assert_eq!(check_url("foo://a.com/", &policy).unwrap().port(), None);
    }

    #[test]
    fn an_answer_is_judged_as_a_whole() {
        let policy = Policy::web();
        let checked = check_url("https://example.com/", &policy).unwrap();
        let reason = |answers: &[&str]| {
            let answers: Vec<IpAddr> = answers.iter().map(|a| a.parse().unwrap()).collect();
            checked
                .check_addresses(&answers, &policy)
                .err()
                .map(|b| b.reason())
        };
        assert_eq!(reason(&["1.1.1.1", "2606:4700::1"]), None);
        assert_eq!(reason(&[]), Some(Reason::DnsEmpty));
        assert_eq!(reason(&["1.1.1.1", "10.0.0.1"]), Some(Reason::DnsPrivate));
        assert_eq!(reason(&["::1"]), Some(Reason::DnsLoopback));
        assert_eq!(reason(&["0.0.0.0"]), Some(Reason::DnsLoopback));
    }

    #[test]
    fn a_blocked_answer_names_the_host_that_was_asked_for() {
        let policy = Policy::web();
        let checked = check_url("https://localtest.me/", &policy).unwrap();
        let blocked = checked
            .check_addresses(&["127.0.0.1".parse().unwrap()], &policy)
            .unwrap_err();
        assert_eq!(blocked.host(), Some("localtest.me"));
        assert_eq!(
            blocked.to_string(),
            "the URL to localtest.me is blocked: the host name leads to this computer (127.0.0.0/8)"
        );
    }

    #[test]
    fn oversized_hosts_are_refused_without_being_decoded() {
        let policy = Policy::web();
        let url = format!("https://xn--{}.com/", "a".repeat(64 * 1024));
        assert_eq!(code(&url, &policy), "name_too_long");
        let url = format!("https://{}a.com/", "u@".repeat(32 * 1024));
        assert_eq!(code(&url, &policy), "userinfo");
    }

    fn url_like() -> impl Strategy<Value = String> {
        let scheme = prop_oneof![
            6 => Just("https://"), 3 => Just("http://"), 1 => Just("HTTPS://"),
            1 => Just("https:/"), 1 => Just("https:///"), 1 => Just("ftp://"),
        ];
        let label = prop_oneof![
            6 => "[a-z0-9-]{1,8}", 1 => "xn--[a-z0-9-]{0,6}", 1 => "0x[0-9a-f]{0,4}",
            1 => "[0-9]{1,4}", 1 => "[A-Za-zéа_%2]{0,5}", 1 => "[a-z]{60,66}",
            2 => prop_oneof![
                Just("localhost"), Just("internal"), Just("arpa"), Just("home"), Just("com"),
                Just("metadata"), Just("goog"), Just("")
            ].prop_map(String::from),
        ];
        let host = proptest::collection::vec(label, 1..5).prop_map(|labels| labels.join("."));
        let port = prop_oneof![
            4 => Just(String::new()), 2 => ":[0-9]{0,6}", 1 => ":(22|80|443|6667|65536)",
            1 => "@[a-z]{1,3}",
        ];
        let tail = prop_oneof![
            4 => "([/?#][ -~]{0,12})?", 2 => "[/?#][a-z0-9/=&%@:.-]{0,20}", 1 => "\\PC{0,6}",
        ];
        (scheme, host, port, tail).prop_map(|(s, h, p, t)| format!("{s}{h}{p}{t}"))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn plain_and_parsed_readings_agree(
            url in url_like(),
            private in any::<bool>(),
            localhost in any::<bool>(),
        ) {
            let policy = Policy::web().block_private(private).block_localhost(localhost);
            if let Some(plain) = plain::read(&url) {
                let quick = check_plain(&plain, &policy);
                let full = check_parsed(&url, &policy);
                prop_assert_eq!(quick.as_ref().err(), full.as_ref().err());
                if let (Ok(quick), Ok(full)) = (quick, full) {
                    prop_assert_eq!(quick.host(), full.host());
                    prop_assert_eq!(quick.scheme(), full.scheme());
                    prop_assert_eq!(quick.port(), full.port());
                }
            }
        }

        #[test]
        fn any_text_is_judged_without_a_panic(url in "\\PC*", other in any::<String>()) {
            let _ = check_url(&url, &Policy::web());
            let _ = check_url(&other, &Policy::new(["a", "ssh", "http"]));
        }
    }
}

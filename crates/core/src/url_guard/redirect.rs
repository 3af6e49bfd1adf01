//! Checks redirects: each hop, and that none leads from https to http.

use url::Url;

use super::{Blocked, Policy, Reason, check_url, syntax};

/// Checks one hop of a redirect and returns the absolute target URL.
///
/// `location` is the raw value of the header. The target must pass like any URL, and a redirect
/// from https to http is blocked. The caller resolves the host of the target and checks the
/// addresses, as for the first URL.
///
/// ```
/// use entreat_core::url_guard::{Policy, check_redirect};
///
/// let policy = Policy::web();
/// let next = check_redirect("https://example.com/a/b", "../c?d=1", &policy)?;
/// assert_eq!(next, "https://example.com/c?d=1");
/// assert!(check_redirect("https://example.com/", "//10.0.0.1/", &policy).is_err());
/// assert!(check_redirect("https://example.com/", "http://example.com/", &policy).is_err());
/// # Ok::<(), entreat_core::url_guard::Blocked>(())
/// ```
pub fn check_redirect(from: &str, location: &str, policy: &Policy) -> Result<String, Blocked> {
    let raw = syntax::read(from)?;
    // The raw text is checked before joining, which would repair what must be blocked.
    if syntax::scheme_of(location).is_some() {
        check_url(location, policy)?;
    } else if location.starts_with("//") {
        check_url(&format!("{}:{location}", raw.scheme), policy)?;
    } else if let Some(fault) = syntax::fault_of(location) {
        return Err(fault.into());
    }
    // Bounds the input of the parser; the check of `location` has bounded that already.
    if raw.is_oversized() {
        return Err(Reason::NameTooLong.into());
    }
    let target = Url::parse(from)
        .and_then(|base| base.join(location))
        .map_err(|_| Reason::Parse)?;
    let checked = check_url(target.as_str(), policy)?;
    if raw.scheme == "https" && checked.scheme() == "http" {
        return Err(Blocked::from(Reason::RedirectDowngrade).with_host(checked.host()));
    }
    drop(checked);
    Ok(target.into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hop(from: &str, location: &str) -> Result<String, &'static str> {
        check_redirect(from, location, &Policy::web()).map_err(|blocked| blocked.reason().code())
    }

    #[test]
    fn relative_locations_stay_on_the_host() {
        for (location, target) in [
            ("/x", "https://example.com/x"),
            ("x?y", "https://example.com/a/x?y"),
            ("?y", "https://example.com/a/b?y"),
            ("", "https://example.com/a/b"),
            ("./../x", "https://example.com/x"),
            ("//example.org/x", "https://example.org/x"),
            ("https://EXAMPLE.org", "https://example.org/"),
        ] {
            let result = hop("https://example.com/a/b", location);
            assert_eq!(result.as_deref(), Ok(target), "{location}");
        }
    }

    #[test]
    fn every_rule_holds_for_the_target() {
        for (location, code) in [
            ("http://169.254.169.254/", "link_local"),
            ("//10.0.0.1/", "private_address"),
            ("///10.0.0.1/", "not_authority"),
            ("//user@example.org/", "userinfo"),
            ("https://user@example.org/", "userinfo"),
            ("https:example.org", "not_authority"),
            ("https:/example.org", "not_authority"),
            ("file:///etc/passwd", "scheme"),
            ("javascript:alert(1)", "scheme"),
            ("/\\evil.net/", "raw_backslash"),
            ("\\\\evil.net/", "raw_backslash"),
            ("/a b", "raw_control"),
            ("/\t/evil.net/", "raw_control"),
            (" https://example.org/", "raw_control"),
            ("https://example.org:22/", "port"),
            ("http://example.org/", "redirect_downgrade"),
            ("HTTP://example.org/", "redirect_downgrade"),
        ] {
            assert_eq!(
                hop("HTTPS://example.com/", location),
                Err(code),
                "{location:?}"
            );
        }
    }

    #[test]
    fn http_may_lead_to_http_and_to_https() {
        assert!(hop("http://example.com/", "http://example.org/").is_ok());
        assert!(hop("http://example.com/", "https://example.org/").is_ok());
        assert!(hop("http://example.com/", "/x").is_ok());
    }

    proptest! {
        #[test]
        fn a_target_that_passes_passes_again_by_itself(location in "[ -~]{0,24}") {
            if let Ok(target) = hop("https://example.com/a", &location) {
                prop_assert!(check_url(&target, &Policy::web()).is_ok(), "{}", target);
                prop_assert!(target.starts_with("https://"));
            }
        }
    }
}

//! URLs that the guard lets pass under a field's policy.

use entreat_core::form::UrlRules;
use entreat_core::url_guard::check_url;
use fastrand::Rng;

use super::chance;

/// The most code points a URL may have where the form does not say.
pub(super) const DEFAULT_MAX: usize = 2048;

const HOSTS: [&str; 6] = [
    "example.com",
    "api.example.org",
    "status.example.net",
    "xn--bcher-kva.example.com",
    "a.co",
    "1.1.1.1",
];

const PATHS: [&str; 7] = [
    "",
    "/",
    "/v1/items",
    "/search?q=tea&page=2",
    "/a/b/c#part",
    "/käse/日本",
    "/%E2%9C%93",
];

/// A URL that the rules accept.
pub(super) fn url(rules: &UrlRules, rng: &mut Rng) -> Option<String> {
    let schemes: Vec<&str> = rules.policy.schemes().collect();
    let found = (0..40).find_map(|_| {
        let scheme = rng.choice(&schemes)?;
        let host = rng.choice(HOSTS)?;
        let port = if chance(rng, 15) { ":8443" } else { "" };
        let url = format!("{scheme}://{host}{port}{}", rng.choice(PATHS)?);
        fits(rules, &url).then_some(url)
    });
    found.or_else(|| {
        let mut shortest = schemes.iter().map(|scheme| format!("{scheme}://a.co"));
        shortest.find(|url| fits(rules, url))
    })
}

/// The most code points that the rules allow.
pub(super) fn longest(rules: &UrlRules) -> usize {
    rules.max_length.map_or(DEFAULT_MAX, |max| {
        usize::try_from(max).unwrap_or(usize::MAX)
    })
}

fn fits(rules: &UrlRules, url: &str) -> bool {
    url.chars().count() <= longest(rules) && check_url(url, &rules.policy).is_ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::value::{MADE, valid_values};

    #[test]
    fn urls_pass_the_guard_of_their_field() {
        for validation in [
            json!({}),
            json!({"allowedSchemes": ["ssh", "HTTP"]}),
            json!({"maxLength": 12}),
            json!({"blockPrivateIPs": false, "blockLocalhost": false}),
        ] {
            let urls = valid_values(json!({"type": "url", "validation": validation}));
            assert_eq!(urls.len(), MADE, "{validation}");
        }
    }
}

//! The URL guard against the test vectors of its policy.

use std::collections::BTreeSet;
use std::net::IpAddr;

use entreat_core::url_guard::{Blocked, Policy, Warning, check_redirect, check_url, inspect};
use serde::Deserialize;

#[derive(Deserialize)]
struct VerdictCase {
    url: String,
    verdict: String,
    why: String,
    dns: Option<Vec<Vec<IpAddr>>>,
    #[serde(default)]
    redirects: Vec<String>,
}

#[derive(Deserialize)]
struct WarningCase {
    url: String,
    action: String,
    warnings: BTreeSet<String>,
    why: String,
    highlight: Option<String>,
    server: Option<String>,
}

fn cases<T: for<'de> Deserialize<'de>>(text: &str) -> Vec<T> {
    text.lines()
        .map(|line| serde_json::from_str(line).expect("every line is a case"))
        .collect()
}

/// What a program that fetches the URL would do: check, resolve, follow.
fn fetch(case: &VerdictCase) -> Result<(), Blocked> {
    let policy = Policy::web();
    let public = vec![vec![IpAddr::from([93, 184, 215, 14])]];
    let answers = case.dns.as_ref().unwrap_or(&public);
    let mut url = case.url.clone();
    let mut locations = case.redirects.iter();
    loop {
        let checked = check_url(&url, &policy)?;
        if checked.is_name() {
            for answer in answers {
                checked.check_addresses(answer, &policy)?;
            }
        }
        match locations.next() {
            Some(location) => url = check_redirect(&url, location, &policy)?,
            None => return Ok(()),
        }
    }
}

#[test]
fn every_verdict_case_is_judged_as_the_policy_says() {
    let cases: Vec<VerdictCase> = cases(include_str!("vectors/url_verdicts.jsonl"));
    assert!(cases.len() >= 190);
    for case in &cases {
        let outcome = fetch(case);
        let verdict = if outcome.is_ok() { "allow" } else { "block" };
        assert_eq!(verdict, case.verdict, "{:?}: {}", case.url, case.why);
    }
}

#[test]
fn every_warning_case_gets_exactly_its_warnings() {
    let cases: Vec<WarningCase> = cases(include_str!("vectors/url_warnings.jsonl"));
    assert!(cases.len() >= 42);
    for case in &cases {
        let card = inspect(&case.url, case.server.as_deref());
        let warnings: BTreeSet<String> = card
            .warnings
            .iter()
            .map(|warning| warning.code().to_owned())
            .collect();
        assert_eq!(warnings, case.warnings, "{:?}: {}", case.url, case.why);
        assert_eq!(card.action.as_str(), case.action, "{:?}", case.url);
        if case.highlight.is_some() {
            assert_eq!(card.highlight, case.highlight, "{:?}", case.url);
        }
    }
}

#[test]
fn hostile_urls_of_any_size_are_settled() {
    let size = 64 * 1024;
    let fill = |unit: &str| unit.repeat(size / unit.len());
    for part in [
        "a",
        ".",
        "a.",
        "@",
        ":",
        "[",
        "%",
        "%41",
        "xn--",
        "xn--a.",
        "é",
        "ж.",
        "\u{1F600}",
        "a@b.",
        "1-",
        "4111-",
        "https://",
        "%25",
        "?",
        "&token=",
        "=",
        "//",
        "\u{301}",
        "ß",
        "0x",
        "$(",
        "\\",
    ] {
        let part = fill(part);
        for url in [
            part.clone(),
            format!("https://{part}"),
            format!("https://{part}.com/"),
            format!("https://example.com/{part}"),
            format!("https://example.com/?{part}"),
            format!("https://example.com/#{part}"),
        ] {
            let _ = check_url(&url, &Policy::web());
            let _ = check_redirect("https://example.com/", &url, &Policy::web());
            let _ = inspect(&url, Some(&part));
        }
    }
}

#[test]
fn warning_codes_are_those_of_the_policy() {
    // Programs rely on the codes; this list changes only together with the policy.
    let codes: BTreeSet<&str> = Warning::ALL.iter().map(Warning::code).collect();
    let promised = "bad_scheme bidi_control blocked_port confusable credential_in_url \
        deep_subdomain host_normalised invisible_char ip_literal long_label long_url mixed_script \
        no_authority_slashes not_https odd_port pii_in_url private_host public_suffix_host \
        punycode raw_backslash raw_control shared_platform shell_metachar shortener \
        third_party_domain tld_in_subdomain trailing_dot url_in_query userinfo \
        whole_script_confusable";
    assert_eq!(codes, promised.split_whitespace().collect());
}

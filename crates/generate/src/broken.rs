//! Values that break one rule of one field, and if possible no other.

use entreat_core::form::{DateRules, Kind, MultiSelectRules, NumberRules, TextRules, UrlRules};
use entreat_core::{Comparison, Field};
use fastrand::Rng;
use regex_syntax::hir::Hir;
use serde_json::{Value, json};

use super::date::Span;
use super::steer::narrowed;
use super::{broken_file, choice, date, number, text, url, value};

/// Candidates for breaking a rule at a field; none where the field does not have the rule.
/// `None` as a candidate is an absent answer.
pub(super) fn values(
    field: &Field,
    key: &str,
    tree: Option<&Hir>,
    rng: &mut Rng,
) -> Vec<Option<Value>> {
    match key {
        "required" => {
            let mut list = match (field.is_required(), field.kind()) {
                (false, _) => Vec::new(),
                (true, Kind::Text(_)) => vec![None, Some(" \u{a0}\t".into()), Some("".into())],
                (true, _) => vec![None, Some(Value::Null)],
            };
            if let Kind::File(rules) = field.kind() {
                list.extend(broken_file::values(rules, key, rng).into_iter().map(Some));
            }
            list
        }
        "readonly" if field.rendering().readonly => (0..4)
            .filter_map(|_| value::value(field, tree, rng))
            .map(Some)
            .collect(),
        _ => {
            let list = match field.kind() {
                Kind::Text(rules) => of_text(rules, key, tree, rng),
                Kind::Number(rules) => of_number(rules, key, rng),
                Kind::Boolean => of_boolean(key),
                Kind::Date(rules) => of_date(rules, key, rng),
                Kind::Select(_) => of_select(key),
                Kind::MultiSelect(rules) => of_multi_select(rules, key, rng),
                Kind::Url(rules) => of_url(rules, key, rng),
                Kind::File(rules) => broken_file::values(rules, key, rng),
            };
            list.into_iter().map(Some).collect()
        }
    }
}

fn of_text(rules: &TextRules, key: &str, tree: Option<&Hir>, rng: &mut Rng) -> Vec<Value> {
    let mut changed = rules.clone();
    let found = match (key, rules.min_length) {
        ("type", _) => return vec![7.into(), true.into(), json!(["a text"]), json!({})],
        ("minLength", Some(min)) if min > 1 => {
            changed.min_length = None;
            changed.max_length = Some(min - 1);
            text::text(&changed, tree, rng)
        }
        ("maxLength", _) => {
            let max = rules.max_length.unwrap_or(64 * 1024);
            changed.min_length = Some(max + 1);
            changed.max_length = Some(max + 8);
            text::text(&changed, tree, rng)
        }
        ("pattern", _) => {
            let pattern = rules.pattern.as_ref();
            changed.pattern = None;
            pattern.and_then(|pattern| {
                spoilt(rules, &changed, tree, rng, |text| !pattern.is_match(text))
            })
        }
        ("format", _) => {
            changed.format = None;
            rules
                .format
                .and_then(|format| spoilt(rules, &changed, tree, rng, |text| !format.matches(text)))
        }
        _ => None,
    };
    found.map(Value::from).into_iter().collect()
}

/// A text that keeps the `changed` rules and `is_bad`: another text, or one that keeps all
/// rules with one character exchanged.
fn spoilt(
    rules: &TextRules,
    changed: &TextRules,
    tree: Option<&Hir>,
    rng: &mut Rng,
    is_bad: impl Fn(&str) -> bool,
) -> Option<String> {
    (0..40).find_map(|round| {
        let candidate = if round % 2 == 0 {
            text::text(changed, tree, rng)?
        } else {
            let good = text::text(rules, tree, rng)?;
            let mut chars: Vec<char> = good.chars().collect();
            let place = rng.usize(..chars.len().max(1));
            *chars.get_mut(place)? = *rng.choice(&['!', ' ', '_', 'Q', '9', '☃', '-', '@'])?;
            chars.into_iter().collect()
        };
        (is_bad(&candidate) && text::fits(changed, &candidate)).then_some(candidate)
    })
}

fn of_number(rules: &NumberRules, key: &str, rng: &mut Rng) -> Vec<Value> {
    let mut changed = rules.clone();
    let beyond = match key {
        "type" => return vec!["twelve".into(), json!([1]), true.into(), "NaN".into()],
        "minimum" => changed.minimum.take().map(|bound| (Comparison::Lt, bound)),
        "maximum" => changed.maximum.take().map(|bound| (Comparison::Gt, bound)),
        "exclusiveMinimum" => changed
            .exclusive_minimum
            .take()
            .map(|bound| (Comparison::Lte, bound)),
        "exclusiveMaximum" => changed
            .exclusive_maximum
            .take()
            .map(|bound| (Comparison::Gte, bound)),
        "multipleOf" if changed.multiple_of.take().is_some() => {
            return (0..24)
                .filter_map(|_| number::number(&changed, rng))
                .collect();
        }
        _ => None,
    };
    let Some((comparison, bound)) = beyond else {
        return Vec::new();
    };
    let changed = narrowed(&changed, comparison, bound);
    (0..4)
        .filter_map(|_| number::number(&changed, rng))
        .collect()
}

fn of_boolean(key: &str) -> Vec<Value> {
    match key {
        "type" => vec!["yes".into(), 1.into(), "TRUE".into(), json!([true])],
        _ => Vec::new(),
    }
}

fn of_date(rules: &DateRules, key: &str, rng: &mut Rng) -> Vec<Value> {
    let span = Span::of(rules);
    let beyond = match key {
        "type" => return vec![20_260_228.into(), true.into(), json!(["2026-02-28"])],
        "format" => {
            return vec![
                "2026-02-30".into(),
                "28.02.2026".into(),
                "2026-02-28T25:00:00Z".into(),
            ];
        }
        // The span is rounded inwards, so one step outwards may not be enough.
        "minimum" => span.low.map(|low| Span {
            low: None,
            high: Some(low - 2),
        }),
        "maximum" => span.high.map(|high| Span {
            low: Some(high + 2),
            high: None,
        }),
        _ => None,
    };
    let Some(beyond) = beyond else {
        return Vec::new();
    };
    (0..4)
        .filter_map(|_| date::within(beyond, rules.has_time, rng))
        .map(Value::from)
        .collect()
}

/// Not offered by any form that a person would write.
const NO_OPTION: &str = "none-of-these-\u{2603}";

fn of_select(key: &str) -> Vec<Value> {
    match key {
        "type" => vec![7.into(), json!([NO_OPTION]), false.into()],
        "enum" => vec![NO_OPTION.into()],
        _ => Vec::new(),
    }
}

fn of_multi_select(rules: &MultiSelectRules, key: &str, rng: &mut Rng) -> Vec<Value> {
    let found = match (key, rules.min_items, rules.max_items) {
        ("type", ..) => return vec!["one".into(), 7.into(), json!([7]), json!({})],
        ("enum", ..) => choice::several(rules, rng).map(|mut chosen| {
            if let Some(last) = chosen.as_array_mut().and_then(|items| items.last_mut()) {
                *last = NO_OPTION.into();
            }
            chosen
        }),
        ("minItems", Some(min), _) => {
            choice::between(&rules.options, 1, choice::count(min.saturating_sub(1)), rng)
        }
        ("maxItems", _, Some(max)) => {
            let more = choice::count(max).saturating_add(1);
            choice::between(&rules.options, more, usize::MAX, rng)
        }
        ("uniqueItems", ..) => {
            return (0..6).filter_map(|_| repeated(rules, rng)).collect();
        }
        _ => None,
    };
    found.into_iter().collect()
}

/// A choice that stands twice, in place of another or in addition.
fn repeated(rules: &MultiSelectRules, rng: &mut Rng) -> Option<Value> {
    let mut chosen = choice::several(rules, rng)?;
    let items = chosen.as_array_mut()?;
    let first = items.first()?.clone();
    if items.len() > 1 && rng.bool() {
        *items.last_mut()? = first;
    } else {
        items.push(first);
    }
    Some(chosen)
}

fn of_url(rules: &UrlRules, key: &str, rng: &mut Rng) -> Vec<Value> {
    let scheme = rules.policy.schemes().next().unwrap_or("https").to_owned();
    let with_hosts = |hosts: &[&str]| {
        let mut hosts = hosts.to_vec();
        hosts.sort_by_key(|host| host.len());
        hosts
            .iter()
            .map(|host| format!("{scheme}://{host}/").into())
            .collect()
    };
    match key {
        "type" => vec![
            7.into(),
            json!(["https://example.com"]),
            json!({}),
            true.into(),
        ],
        "format" => vec![
            format!("{scheme}://user:pass@example.com/").into(),
            format!("{scheme}://exa mple.com/").into(),
            "not a url".into(),
            "x".into(),
        ],
        "maxLength" => {
            let Some(good) = url::url(rules, rng) else {
                return Vec::new();
            };
            let missing = url::longest(rules).saturating_sub(good.chars().count());
            let base = good.split(['?', '#']).next().unwrap_or(&good);
            // Beyond a mebibyte nobody wants the string.
            if missing > 1024 * 1024 {
                return Vec::new();
            }
            vec![format!("{base}/{}", "x".repeat(missing + 1 + good.len())).into()]
        }
        "allowedSchemes" => ["ftp", "http", "https", "gopher", "javascript"]
            .iter()
            .filter(|scheme| !rules.policy.allows_scheme(scheme))
            .map(|scheme| format!("{scheme}://example.com").into())
            .collect(),
        "blockPrivateIPs" if rules.policy.blocks_private() => with_hosts(&[
            "10.0.0.1",
            "192.168.1.20",
            "172.16.5.4",
            "169.254.169.254",
            "[fd00::1]",
            "printer.local",
        ]),
        "blockLocalhost" if rules.policy.blocks_localhost() => {
            with_hosts(&["localhost", "127.0.0.1", "[::1]", "app.localhost", "0x7f.1"])
        }
        _ => Vec::new(),
    }
}

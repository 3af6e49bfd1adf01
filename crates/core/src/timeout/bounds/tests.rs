//! Tests of bounds, invalid values, extensions and warnings.

use serde_json::json;

use super::*;

fn terms(mode: Mode, value: &Value) -> Result<Terms, TimeoutError> {
    let policy = TimeoutPolicy::default();
    policy.terms(mode, policy.read(mode, value)?)
}

#[test]
fn every_default_lies_within_its_bounds() {
    let policy = TimeoutPolicy::default();
    for mode in Mode::ALL {
        let bounds = policy.bounds(mode);
        assert!((bounds.min_ms()..=bounds.max_ms()).contains(&bounds.default_ms()));
        assert!(policy.terms(mode, Timeout::default()).is_ok());
    }
}

#[test]
fn bounds_that_leave_their_default_out_are_refused() {
    let second = Duration::from_secs;
    assert!(TimeoutBounds::new(second(30), second(1), second(60)).is_ok());
    assert!(TimeoutBounds::new(second(90), second(1), second(60)).is_err());
    assert!(TimeoutBounds::new(second(30), second(40), second(60)).is_err());
    assert!(TimeoutBounds::new(second(0), second(0), second(60)).is_err());
    assert!(TimeoutBounds::new(second(1), second(1), second(u64::MAX)).is_err());
}

#[test]
fn each_bad_value_is_told_by_its_kind_and_the_bounds() {
    let kind = |mode, value: Value| terms(mode, &value).map_err(|error| error.kind());
    for bad in [
        json!(0),
        json!(-5),
        json!(1.5),
        json!("300"),
        json!(null),
        json!([]),
        json!(1e300),
    ] {
        assert_eq!(
            kind(Mode::Form, bad.clone()),
            Err("invalid_timeout"),
            "{bad}"
        );
    }
    assert_eq!(kind(Mode::Form, json!(999)), Err("timeout_too_small"));
    assert_eq!(kind(Mode::Form, json!(300_001)), Err("timeout_too_large"));
    assert_eq!(kind(Mode::Form, json!(u64::MAX)), Err("timeout_too_large"));
    assert!(kind(Mode::Terminal, json!(600_000)).is_ok());
    assert_eq!(
        kind(Mode::Terminal, json!(600_001)),
        Err("timeout_too_large")
    );
    let object = |key: &str, value: Value| kind(Mode::Form, json!({ key: value }));
    assert_eq!(
        object("extension_duration", json!(999)),
        Err("timeout_too_small")
    );
    assert_eq!(
        object("extension_duration", json!(300_001)),
        Err("timeout_too_large")
    );
    assert_eq!(
        object("max_extensions", json!(101)),
        Err("timeout_too_large")
    );
    assert_eq!(
        object("warn_before", json!(300_000)),
        Err("timeout_too_large")
    );
    assert_eq!(
        object("extension_allowed", json!("yes")),
        Err("invalid_timeout")
    );
    assert_eq!(object("initial", json!(5000)), Err("invalid_timeout"));
}

#[test]
fn extensions_are_those_of_the_mode_where_nobody_says_otherwise() {
    let second = Duration::from_secs;
    let mut policy = TimeoutPolicy::default();
    let many = Extensions::default().with_max(10).unwrap();
    let many = many.with_duration(second(120)).unwrap();
    let many = many.with_warn_before(second(30)).unwrap();
    policy.set_extensions(Mode::Form, many);
    let terms = |mode, timeout| policy.terms(mode, timeout).unwrap();
    let form = terms(Mode::Form, Timeout::default());
    assert_eq!((form.max_extensions(), form.extension()), (10, second(120)));
    assert_eq!(form.warning(), second(30));
    let url = terms(Mode::Url, Timeout::default());
    assert_eq!((url.max_extensions(), url.extension()), (2, second(300)));
    let asked = Timeout {
        max_extensions: Some(3),
        ..Timeout::default()
    };
    assert_eq!(terms(Mode::Form, asked).max_extensions(), 3);
    policy.set_extensions(Mode::Form, many.with_allowed(false));
    let none = policy.terms(Mode::Form, Timeout::default()).unwrap();
    assert_eq!(none.max_extensions(), 0);
}

#[test]
fn the_warning_leaves_time_to_act() {
    let lead = |value| terms(Mode::Form, &value).unwrap().warning().as_secs();
    assert_eq!(lead(json!(300_000)), 60);
    assert_eq!(
        lead(json!(100_000)),
        50,
        "half, when shorter than twice `warn_before`"
    );
    assert_eq!(lead(json!(30_000)), 20, "never less than 20 s");
    assert_eq!(
        lead(json!(16_000)),
        8,
        "unless the timeout does not allow that"
    );
    let early = json!({"initial_timeout": 300_000, "warn_before": 5_000});
    assert_eq!(lead(early), 20);
}

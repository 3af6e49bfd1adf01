//! `show_if`: its definition and its effect.

use entreat_core::jiff::civil::Date;
use entreat_core::{Form, TypedForm};
use serde_json::{Value, json};

#[derive(Clone, Copy, Debug, PartialEq, Form)]
enum Kind {
    Simple,
    #[form(value = "made-up")]
    Custom,
}

#[derive(Debug, Form)]
#[expect(dead_code, reason = "the definition is what is looked at")]
struct All {
    kind: Kind,
    kinds: Vec<Kind>,
    #[form(id = "how-many")]
    count: u8,
    name: Option<String>,
    agreed: bool,
    day: Option<Date>,
    #[form(show_if(kind == Kind::Custom))]
    equals_variant: Option<String>,
    #[form(show_if(kind != "simple"))]
    not_equals_value: Option<String>,
    #[form(show_if(count < 1))]
    lt: Option<String>,
    #[form(show_if(count <= 2))]
    lte: Option<String>,
    #[form(show_if(count > 3))]
    gt: Option<String>,
    #[form(show_if(day >= "2026-01-01"))]
    gte: Option<String>,
    #[form(show_if(name.is_empty()))]
    is_empty: Option<String>,
    #[form(show_if(!name.is_empty()))]
    is_not_empty: Option<String>,
    #[form(show_if(kinds.contains(Kind::Custom)))]
    contains: Option<String>,
    #[form(show_if(name.matches("^a")))]
    regex: Option<String>,
    #[form(show_if(count.is_in([1, 2])))]
    is_in: Option<String>,
    #[form(show_if(!kind.is_in([Kind::Custom, "simple"])))]
    not_in: Option<String>,
    #[form(show_if(agreed))]
    bare: Option<String>,
    #[form(show_if(!(agreed && count == 1 && kind == "simple") || name == "x"))]
    nested: Vec<Kind>,
}

fn condition(id: &str) -> &'static Value {
    let field = crate::types::field::<All>(id);
    &field["rendering"]["conditionalDisplay"]
}

#[test]
fn every_operator_has_its_rust_spelling() {
    let test = |operator, field, value: Value| json!({"operator": operator, "field": field, "value": value});
    for (id, expected) in [
        ("equals_variant", test("equals", "kind", json!("made-up"))),
        (
            "not_equals_value",
            test("not_equals", "kind", json!("simple")),
        ),
        ("lt", test("lt", "how-many", json!(1))),
        ("lte", test("lte", "how-many", json!(2))),
        ("gt", test("gt", "how-many", json!(3))),
        ("gte", test("gte", "day", json!("2026-01-01"))),
        ("is_empty", json!({"operator": "is_empty", "field": "name"})),
        (
            "is_not_empty",
            json!({"operator": "is_not_empty", "field": "name"}),
        ),
        ("contains", test("contains", "kinds", json!("made-up"))),
        ("regex", test("regex", "name", json!("^a"))),
        ("is_in", test("in", "how-many", json!([1, 2]))),
        (
            "not_in",
            test("not_in", "kind", json!(["made-up", "simple"])),
        ),
        ("bare", test("equals", "agreed", json!(true))),
        (
            "nested",
            json!({"operator": "or", "conditions": [
                {"operator": "not", "condition": {"operator": "and", "conditions": [
                    test("equals", "agreed", json!(true)),
                    test("equals", "how-many", json!(1)),
                    test("equals", "kind", json!("simple")),
                ]}},
                test("equals", "name", json!("x")),
            ]}),
        ),
    ] {
        assert_eq!(*condition(id), expected, "{id}");
    }
}

#[derive(Form)]
struct Target {
    kind: Kind,
    #[form(show_if(kind == Kind::Custom), required)]
    name: Option<String>,
    #[form(show_if(kind == Kind::Custom))]
    note: Option<String>,
}

#[test]
fn a_hidden_field_is_none_and_a_shown_one_may_be_required() {
    let simple = Target::check(&json!({"kind": "simple", "name": "dropped"})).unwrap();
    assert_eq!(
        (simple.kind, simple.name, simple.note),
        (Kind::Simple, None, None)
    );
    let custom = Target::check(&json!({"kind": "made-up", "name": "n"})).unwrap();
    assert_eq!(
        (custom.kind, custom.name.as_deref(), custom.note),
        (Kind::Custom, Some("n"), None)
    );
    let violations = Target::check(&json!({"kind": "made-up"})).err().unwrap();
    assert_eq!(violations.to_string(), "`name` breaks `required`");
}

//! Enums as options.

use entreat_core::{Choice, Form, TypedForm};
use serde_json::json;

#[derive(Clone, Copy, Debug, PartialEq, Form)]
enum Plain {
    One,
    TwoWords,
    #[form(value = "III")]
    Three,
}

#[derive(Clone, Copy, Debug, PartialEq, Form)]
enum Titled {
    #[form(title = "Europe (Frankfurt)", value = "eu-central-1")]
    Europe,
    EastAsia,
}

#[derive(Form)]
struct Order {
    #[form(default = Plain::TwoWords, display = "radio")]
    plain: Plain,
    #[form(default = [Titled::Europe, Titled::EastAsia], max_items = 2)]
    titled: Vec<Titled>,
    #[form(default = "III", searchable)]
    spelt_out: Option<Plain>,
}

#[test]
fn variants_are_options_with_titles_for_all_or_for_none() {
    let fields = &Order::form().definition()["fields"];
    assert_eq!(fields[0]["options"], json!(["one", "two_words", "III"]));
    assert_eq!(
        fields[1]["options"],
        json!([
            {"value": "eu-central-1", "title": "Europe (Frankfurt)"},
            {"value": "east_asia", "title": "East asia"},
        ])
    );
    assert_eq!(fields[1]["type"], "multi_select");
}

#[test]
fn a_variant_or_its_value_can_be_the_default() {
    let fields = &Order::form().definition()["fields"];
    assert_eq!(fields[0]["default"], "two_words");
    assert_eq!(fields[1]["default"], json!(["eu-central-1", "east_asia"]));
    assert_eq!(fields[2]["default"], "III");
}

#[test]
fn a_value_and_its_variant_find_each_other() {
    for plain in [Plain::One, Plain::TwoWords, Plain::Three] {
        assert_eq!(Plain::from_value(plain.value()), Some(plain));
    }
    for titled in [Titled::Europe, Titled::EastAsia] {
        assert_eq!(Titled::from_value(titled.value()), Some(titled));
    }
    assert_eq!(Plain::from_value("One"), None);
}

#[test]
fn chosen_options_become_variants_in_the_order_chosen() {
    let order = Order::check(&json!({"plain": "III", "titled": ["east_asia", "eu-central-1"]}));
    let order = order.unwrap();
    assert_eq!(order.plain, Plain::Three);
    assert_eq!(order.titled, [Titled::EastAsia, Titled::Europe]);
    assert_eq!(order.spelt_out, Some(Plain::Three));
    assert!(Order::check(&json!({"plain": "four"})).is_err());
}

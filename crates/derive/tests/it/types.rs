//! Every supported field type: its definition, and the conversion of answers.

use entreat_core::jiff::Timestamp;
use entreat_core::jiff::civil::{Date, date};
use entreat_core::url::Url;
use entreat_core::{Field, Form, Moment, Number, TypedForm, Upload};
use serde_json::{Value, json};

#[derive(Debug, PartialEq, Form)]
enum Size {
    Small,
    Large,
}

/// A field in the definition of a form.
pub(crate) fn field<T: TypedForm>(id: &str) -> &'static Value {
    let form = T::form();
    let place = form.fields().iter().position(|field| field.id() == id);
    &form.definition()["fields"][place.expect("the form has the field")]
}

fn upload(name: &str) -> Value {
    json!({"filename": name, "content_type": "text/plain", "size": 2, "content": "aGk="})
}

#[derive(Form)]
struct Plain {
    text: String,
    flag: bool,
    float: f64,
    short_float: f32,
    number: Number,
    day: Date,
    instant: Timestamp,
    moment: Moment<'static>,
    link: Url,
    file: Upload<'static>,
    size: Size,
}

#[test]
fn every_plain_type_is_required_and_becomes_its_field_type() {
    for (id, type_name, validation) in [
        ("text", "text", Value::Null),
        ("flag", "boolean", Value::Null),
        ("float", "number", Value::Null),
        (
            "short_float",
            "number",
            json!({"minimum": f64::from(f32::MIN), "maximum": f64::from(f32::MAX)}),
        ),
        ("number", "number", Value::Null),
        ("day", "date", Value::Null),
        ("instant", "date", json!({"format": "date-time"})),
        ("moment", "date", json!({"format": "date-time"})),
        ("link", "url", Value::Null),
        ("file", "file", Value::Null),
        ("size", "select", Value::Null),
    ] {
        let field = field::<Plain>(id);
        assert_eq!(field["type"], type_name, "{id}");
        assert_eq!(field["required"], true, "{id}");
        let found = field.get("validation").unwrap_or(&Value::Null);
        assert_eq!(*found, validation, "{id}");
    }
}

#[test]
fn checked_answers_become_the_struct() {
    let plain = Plain::check(&json!({
        "text": "hello",
        "flag": "true",
        "float": 1,
        "short_float": 0.5,
        "number": "12",
        "day": "2026-02-28",
        "instant": "1970-01-01T01:00:00+01:00",
        "moment": "1970-01-01T01:00:00+01:00",
        "link": "https://example.com/a",
        "file": upload("a.txt"),
        "size": "large",
    }))
    .unwrap();
    assert_eq!(plain.text, "hello");
    assert!(plain.flag);
    assert_eq!((plain.float, plain.short_float), (1.0, 0.5));
    assert_eq!(plain.number, Number::from(12));
    assert_eq!(plain.day, date(2026, 2, 28));
    assert_eq!(plain.instant, Timestamp::UNIX_EPOCH);
    assert_eq!(plain.moment.as_str(), "1970-01-01T01:00:00+01:00");
    assert_eq!(plain.link.host_str(), Some("example.com"));
    assert_eq!(plain.file.to_bytes().as_deref(), Some(&b"hi"[..]));
    assert_eq!(plain.size, Size::Large);
}

#[derive(Form)]
struct Wholes {
    a: u8,
    b: u16,
    c: u32,
    d: u64,
    e: u128,
    f: usize,
    g: i8,
    h: i16,
    i: i32,
    j: i64,
    k: i128,
    l: isize,
}

#[test]
fn whole_numbers_keep_within_their_type() {
    assert_eq!(
        field::<Wholes>("a")["validation"],
        json!({"multipleOf": 1, "minimum": 0, "maximum": 255})
    );
    assert_eq!(field::<Wholes>("d")["validation"]["maximum"], u64::MAX);
    assert_eq!(field::<Wholes>("j")["validation"]["minimum"], i64::MIN);
    let all = |value: Value| -> Value {
        let answer = |name: char| (name.to_string(), value.clone());
        Value::Object(('a'..='l').map(answer).collect())
    };
    let wholes = Wholes::check(&all(json!(100))).unwrap();
    let small = (wholes.a, wholes.b, wholes.c, wholes.d, wholes.e, wholes.f);
    assert_eq!(small, (100, 100, 100, 100, 100, 100));
    let signed = (wholes.g, wholes.h, wholes.i, wholes.j, wholes.k, wholes.l);
    assert_eq!(signed, (100, 100, 100, 100, 100, 100));
    // Each refusal is the check's: no value that passes is lost in the conversion.
    for (value, passing) in [
        (json!(-1), 6),
        (json!(1e300), 0),
        (json!(1.5), 0),
        (json!(-1e300), 0),
    ] {
        let violations = Wholes::check(&all(value.clone())).err().unwrap();
        assert_eq!(violations.len(), 12 - passing, "{value}");
        assert!(!violations.to_string().contains("`type`"), "{violations}");
    }
}

#[derive(Form)]
struct Edges {
    wide: i128,
    natural: u128,
    float: f32,
}

#[test]
fn the_widest_numbers_convert_up_to_the_bound_that_the_form_states() {
    let check = |text: &str| Edges::form().check_text(text).map(Edges::from_answers);
    let edge = 2.0_f64.powi(127);
    let float = f64::from(f32::MAX);
    let text = format!(r#"{{"wide": -{edge:e}, "natural": {edge:e}, "float": {float:e}}}"#);
    let edges = check(&text).unwrap().unwrap();
    assert!(edges.wide < i128::from(i64::MIN) && edges.natural > u128::from(u64::MAX));
    assert!(edges.float.is_finite());
    assert!(check(r#"{"wide": 1e39, "natural": 1, "float": 1}"#).is_err());
    assert!(check(r#"{"wide": 1, "natural": 1, "float": 1e39}"#).is_err());
    let exact = r#"{"wide": 12345678901234567890123456789, "natural": 1, "float": 1}"#;
    assert_eq!(
        check(exact).unwrap().unwrap().wide,
        12_345_678_901_234_567_890_123_456_789
    );
}

#[derive(Form)]
struct Optional {
    text: Option<String>,
    count: Option<u8>,
    day: Option<Date>,
    link: Option<Url>,
    file: Option<Upload<'static>>,
    size: Option<Size>,
    sizes: Vec<Size>,
    perhaps_sizes: Option<Vec<Size>>,
    #[form(max_items = 3)]
    files: Vec<Upload<'static>>,
    #[form(default = 7)]
    retries: Option<u8>,
}

#[test]
fn what_is_optional_may_be_left_out() {
    let fields = Optional::form().fields();
    assert!(fields.iter().all(|field| !field.is_required()));
    let nothing = Optional::check(&json!({})).unwrap();
    assert!(nothing.text.is_none() && nothing.count.is_none() && nothing.day.is_none());
    assert!(nothing.link.is_none() && nothing.file.is_none() && nothing.size.is_none());
    assert!(nothing.sizes.is_empty() && nothing.files.is_empty());
    assert_eq!(nothing.perhaps_sizes, None);
    assert_eq!(nothing.retries, Some(7));
}

#[test]
fn what_is_optional_may_be_given() {
    let all = Optional::check(&json!({
        "text": "x", "count": 3, "day": "2026-01-01", "link": "https://example.com",
        "file": upload("one.txt"), "size": "small", "sizes": ["large", "small"],
        "perhaps_sizes": ["small"], "files": [upload("a.txt"), upload("b.txt")], "retries": "",
    }))
    .unwrap();
    assert_eq!((all.text.as_deref(), all.count), (Some("x"), Some(3)));
    assert_eq!(all.day, Some(date(2026, 1, 1)));
    assert_eq!(all.link.unwrap().as_str(), "https://example.com/");
    assert_eq!(all.file.unwrap().filename(), "one.txt");
    assert_eq!(all.size, Some(Size::Small));
    assert_eq!(all.sizes, [Size::Large, Size::Small]);
    assert_eq!(all.perhaps_sizes, Some(vec![Size::Small]));
    assert_eq!(all.files[1].filename(), "b.txt");
    assert_eq!(all.retries, None, "cleared, so not even the default");
}

#[derive(Form)]
struct Lists {
    #[form(min_items = 1)]
    some: Vec<Size>,
    #[form(required)]
    forced: Vec<Size>,
    #[form(min_items = 2)]
    none_or_two: Option<Vec<Size>>,
}

#[test]
fn a_list_with_a_least_number_is_required() {
    let required: Vec<_> = Lists::form()
        .fields()
        .iter()
        .map(Field::is_required)
        .collect();
    assert_eq!(required, [true, true, false]);
    let lists = Lists::check(&json!({"some": ["small"], "forced": ["large"]})).unwrap();
    assert_eq!((lists.some.len(), lists.forced.len()), (1, 1));
    assert_eq!(lists.none_or_two, None);
    assert!(Lists::check(&json!({"some": [], "forced": ["large"]})).is_err());
}

type Port = u16;
type Perhaps = Option<String>;

#[derive(Form)]
struct Aliases {
    #[form(min = 1, exclusive_max = 70_000)]
    port: Port,
    #[form(exclusive_min = 0, multiple_of = 5)]
    fives: u16,
    #[form(show_if(port > 1024))]
    note: Perhaps,
}

#[test]
fn an_alias_is_what_it_stands_for_and_the_tighter_bound_holds() {
    assert_eq!(
        field::<Aliases>("port")["validation"],
        json!({"minimum": 1, "exclusiveMaximum": 70_000, "multipleOf": 1, "maximum": 65_535})
    );
    assert_eq!(
        field::<Aliases>("fives")["validation"],
        json!({"exclusiveMinimum": 0, "multipleOf": 5, "maximum": 65_535})
    );
    let aliases = Aliases::check(&json!({"port": 80, "fives": 5, "note": "unseen"})).unwrap();
    assert_eq!((aliases.port, aliases.fives, aliases.note), (80, 5, None));
}

#[test]
fn answers_to_another_form_are_refused() {
    let raw = json!({"some": ["small"], "forced": ["large"]});
    let answers = Lists::form().check(&raw).unwrap();
    let misfit = Aliases::from_answers(answers).err().unwrap();
    assert_eq!((misfit.form.as_str(), misfit.field), ("lists", "port"));
}

//! The definitions that attributes generate.

use entreat_core::jiff::civil::Date;
use entreat_core::url::Url;
use entreat_core::{Field, Form, ProblemCode, TypedForm, Upload};
use serde_json::json;

/// Tells us who you are,
/// once.
///
/// It stays between us.
#[derive(Form)]
#[form(id = "sign-up", title = "Sign up")]
struct SignUp {
    /// As it is on
    /// your passport.
    #[form(
        min_length = 2,
        max_length = 40,
        pattern = "^[^0-9]+$",
        placeholder = "Ada"
    )]
    #[form(
        autocomplete = "name",
        messages(pattern = "No digits.", required = "Who?")
    )]
    name: String,
    /// Never shown: `help` speaks instead.
    #[form(
        label = "Mail",
        format = "email",
        help = "We write once.",
        input = "email"
    )]
    email_address: String,
    #[form(id = "api-key", sensitive, requires = ["email_address"])]
    api_key: Option<String>,
    #[form(
        section = "Preferences",
        default = -2.5,
        exclusive_min = -10,
        max = 0.5,
        multiple_of = 0.5,
        display = "slider"
    )]
    level: f64,
    #[form(min = "2026-01-01", max = "2026-12-31", display_format = "dd.mm.yyyy")]
    day: Date,
    #[form(schemes = ["https", "ssh"], allow_localhost, max_length = 100, test_button)]
    repository: Url,
    #[form(max_size = 1_000, mime_types = ["image/*"], extensions = [".png"], preview = false)]
    picture: Option<Upload<'static>>,
    #[form(description = "Kept as it is.", default = "v1", readonly)]
    r#type: String,
}

#[test]
fn attributes_stand_where_a_definition_has_them() {
    let definition = SignUp::form().definition();
    let expected = json!({
        "id": "sign-up",
        "title": "Sign up",
        "description": "Tells us who you are, once.\n\nIt stays between us.",
        "fields": [
            {"id": "name", "type": "text", "label": "Name", "required": true,
             "description": "As it is on your passport.",
             "validation": {"minLength": 2, "maxLength": 40, "pattern": "^[^0-9]+$",
                            "messages": {"pattern": "No digits.", "required": "Who?"}},
             "rendering": {"placeholder": "Ada", "autocomplete": "name"}},
            {"id": "email_address", "type": "text", "label": "Mail", "required": true,
             "validation": {"format": "email"},
             "rendering": {"helpText": "We write once.", "inputType": "email"}},
            {"id": "api-key", "type": "text", "label": "Api key", "sensitive": true,
             "dependencies": ["email_address"]},
            {"id": "level", "type": "number", "label": "Level", "required": true, "default": -2.5,
             "section": "Preferences",
             "validation": {"exclusiveMinimum": -10, "maximum": 0.5, "multipleOf": 0.5},
             "rendering": {"displayStyle": "slider"}},
            {"id": "day", "type": "date", "label": "Day", "required": true,
             "validation": {"minimum": "2026-01-01", "maximum": "2026-12-31"},
             "rendering": {"displayFormat": "dd.mm.yyyy"}},
            {"id": "repository", "type": "url", "label": "Repository", "required": true,
             "validation": {"allowedSchemes": ["https", "ssh"], "blockLocalhost": false,
                            "maxLength": 100},
             "rendering": {"testButton": true}},
            {"id": "picture", "type": "file", "label": "Picture",
             "validation": {"maxSize": 1000, "allowedMimeTypes": ["image/*"],
                            "allowedExtensions": [".png"]},
             "rendering": {"preview": false}},
            {"id": "type", "type": "text", "label": "Type", "required": true, "default": "v1",
             "description": "Kept as it is.", "rendering": {"readonly": true}},
        ],
    });
    assert_eq!(*definition, expected);
}

#[test]
fn fields_keep_the_order_of_the_source() {
    let ids: Vec<_> = SignUp::form().fields().iter().map(Field::id).collect();
    let expected = [
        "name",
        "email_address",
        "api-key",
        "level",
        "day",
        "repository",
        "picture",
        "type",
    ];
    assert_eq!(ids, expected);
    let first = &SignUp::form().definition()["fields"][0];
    let keys: Vec<_> = first.as_object().unwrap().keys().collect();
    let expected = [
        "id",
        "type",
        "label",
        "description",
        "required",
        "validation",
        "rendering",
    ];
    assert_eq!(keys, expected);
}

#[test]
fn renamed_and_fixed_fields_come_back_into_the_struct() {
    let sign_up = SignUp::check(&json!({
        "name": "Ada", "email_address": "ada@example.com", "api-key": "s3cret", "level": "-1.5",
        "day": "2026-05-05", "repository": "https://example.com/r",
    }))
    .unwrap();
    assert_eq!(
        (sign_up.name.as_str(), sign_up.email_address.as_str()),
        ("Ada", "ada@example.com")
    );
    assert_eq!(
        (sign_up.api_key.as_deref(), sign_up.r#type.as_str()),
        (Some("s3cret"), "v1")
    );
    assert!((sign_up.level + 1.5).abs() < f64::EPSILON);
    assert_eq!(sign_up.day.year(), 2026);
    assert_eq!(sign_up.repository.path(), "/r");
    assert!(sign_up.picture.is_none());
}

#[test]
fn sensitive_and_password_fields_are_secrets() {
    #[derive(Form)]
    struct Secrets {
        #[form(sensitive)]
        token: String,
        #[form(input = "password")]
        password: String,
        #[form(display = "password")]
        pin: Option<String>,
        name: String,
    }
    let secret: Vec<_> = Secrets::form()
        .fields()
        .iter()
        .map(Field::is_sensitive)
        .collect();
    assert_eq!(secret, [true, true, true, false]);
    let secrets = Secrets::check(&json!({"token": "t", "password": "p", "name": "n"})).unwrap();
    assert_eq!(secrets.token + &secrets.password + &secrets.name, "tpn");
    assert_eq!(secrets.pin, None);
}

#[derive(Form)]
struct Untitled {
    some_words: String,
}

#[test]
fn names_are_made_from_names() {
    let form = Untitled::form();
    assert_eq!(
        (form.id(), form.title(), form.description()),
        ("untitled", "Untitled", None)
    );
    assert_eq!(form.fields()[0].label(), "Some words");
    assert_eq!(
        Untitled::check(&json!({"some_words": "x"}))
            .unwrap()
            .some_words,
        "x"
    );
}

#[test]
fn a_form_is_loaded_once() {
    assert!(std::ptr::eq(Untitled::form(), Untitled::form()));
}

#[derive(Form)]
struct Unsound {
    #[form(pattern = "(?=a)b", default = "b")]
    code: String,
    #[form(default = "2026-02-30")]
    day: Date,
}

#[test]
fn what_only_the_loader_can_judge_is_reported_completely() {
    let problems = Unsound::try_form().unwrap_err();
    let codes: Vec<_> = problems.iter().map(|problem| problem.code).collect();
    assert!(codes.contains(&ProblemCode::BadPattern), "{problems}");
    assert!(codes.contains(&ProblemCode::BadDefault), "{problems}");
    let unused = |unsound: Unsound| (unsound.code, unsound.day);
    assert!(Unsound::try_form().is_err(), "{:p}", &unused);
}

#[test]
#[should_panic(expected = "Unsound` do not describe a valid form:\n/fields/0/validation/pattern")]
fn an_unsound_form_panics_with_its_name_and_problems() {
    Unsound::form();
}

mod facade {
    pub(crate) mod nested {
        pub(crate) use entreat_core as core;
    }
}

#[derive(Form)]
#[form(crate = facade::nested::core)]
struct Moved {
    level: Level,
}

#[derive(Debug, PartialEq, Form)]
#[form(crate = facade::nested::core)]
enum Level {
    Low,
}

#[test]
fn the_crate_can_be_reached_by_another_path() {
    assert_eq!(
        Moved::check(&json!({"level": "low"})).unwrap().level,
        Level::Low
    );
}

macro_rules! declare {
    ($name:ident, $field:ident: $type:ty, $label:literal, $default:literal, $other:expr) => {
        #[derive(Form)]
        struct $name {
            #[form(label = $label, default = $default)]
            $field: $type,
            #[form(show_if($field == $default), default = $other)]
            other: Option<u8>,
        }
    };
}

declare!(Declared, count: u8, "How many", 3, 4);

#[test]
fn a_form_can_be_declared_by_a_macro() {
    let field = &Declared::form().fields()[0];
    assert_eq!(field.label(), "How many");
    let declared = Declared::check(&json!({"count": 3})).unwrap();
    assert_eq!((declared.count, declared.other), (3, Some(4)));
}

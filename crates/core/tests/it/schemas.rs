//! Schemas: export, import, and round trips.

use entreat_core::form::CrossCheck;
use entreat_core::schema::{Era, import, json_schema, project};
use entreat_core::{Form, Kind};
use entreat_testkit::{Generator, arbitrary};
use serde_json::{Value, json};

fn form(definition: &Value) -> Form {
    Form::from_value(definition).unwrap_or_else(|problems| panic!("{problems}\n{definition:#}"))
}

fn everything() -> Form {
    form(
        &json!({"id": "all", "title": "Everything", "description": "One of each", "fields": [
        {"id": "name", "type": "text", "label": "Name", "required": true, "description": "Who",
         "validation": {"minLength": 2, "maxLength": 20, "pattern": "^[A-Z]"}},
        {"id": "mail", "type": "text", "label": "Mail", "validation": {"format": "email"}},
        {"id": "host", "type": "text", "label": "Host", "validation": {"format": "hostname"}},
        {"id": "port", "type": "number", "label": "Port", "default": 80, "section": "Network",
         "validation": {"minimum": 1, "maximum": 65535, "multipleOf": 1}},
        {"id": "ratio", "type": "number", "label": "Ratio", "validation": {"exclusiveMinimum": 0, "multipleOf": 0.5}},
        {"id": "ok", "type": "boolean", "label": "OK", "default": true},
        {"id": "day", "type": "date", "label": "Day", "validation": {"minimum": "2026-01-01"}},
        {"id": "at", "type": "date", "label": "At", "validation": {"format": "date-time"}},
        {"id": "plain", "type": "select", "label": "Plain", "options": ["a", "b"], "default": "a"},
        {"id": "titled", "type": "select", "label": "Titled", "required": true,
         "options": [{"value": "r", "title": "Red"}, {"value": "g", "title": "Green"}]},
        {"id": "tags", "type": "multi_select", "label": "Tags", "required": true, "options": ["x", "y"], "validation": {"maxItems": 2}},
        {"id": "hues", "type": "multi_select", "label": "Hues", "options": [{"value": "r", "title": "Red"}]},
        {"id": "home", "type": "url", "label": "Home"},
        {"id": "key", "type": "text", "label": "Key", "sensitive": true},
        {"id": "doc", "type": "file", "label": "Doc"},
        {"id": "fixed", "type": "text", "label": "Fixed", "default": "f", "rendering": {"readonly": true}},
        {"id": "other", "type": "text", "label": "Other", "required": true, "dependencies": ["mail"],
         "rendering": {"conditionalDisplay": {"operator": "equals", "field": "plain", "value": "b"}}},
        {"id": "more", "type": "number", "label": "More",
         "rendering": {"conditionalDisplay": {"operator": "and", "conditions": [
            {"operator": "regex", "field": "other", "value": "^x"},
            {"operator": "not_in", "field": "titled", "value": ["r"]},
            {"operator": "or", "conditions": [{"operator": "gt", "field": "port", "value": 80},
                                              {"operator": "contains", "field": "tags", "value": "x"},
                                              {"operator": "is_empty", "field": "day"}]}]}}},
    ], "validation": {
        "dependencies": {"host": {"condition": {"operator": "equals", "field": "ok", "value": true}, "action": "validate"}},
        "rules": [{"rule": "at_least_one", "fields": ["mail", "host"]},
                  {"rule": "exactly_one", "fields": ["day", "at"]},
                  {"rule": "all_or_none", "fields": ["home", "ratio"]},
                  {"rule": "compare", "left": "port", "operator": "gt", "right": "ratio"}]}}),
    )
}

#[test]
fn a_form_and_its_schemas_are_a_fixed_point() {
    let first = json_schema(&everything());
    let imported = import(&first).unwrap();
    let second = json_schema(&imported.form);
    assert_eq!(first, second, "2020-12");
    assert_eq!(json_schema(&import(&second).unwrap().form), second);
    for era in Era::ALL {
        let first = project(&everything(), era).requested_schema;
        let second = project(&import(&first).unwrap().form, era).requested_schema;
        assert_eq!(first.to_string(), second.to_string(), "{era}");
    }
}

#[test]
fn required_urls_and_fixed_choices_are_a_fixed_point_too() {
    let shown = json!({"operator": "is_empty", "field": "home"});
    let form = form(&json!({"id": "f", "title": "F", "fields": [
        {"id": "home", "type": "url", "label": "Home", "required": true},
        {"id": "tags", "type": "multi_select", "label": "Tags", "sensitive": true,
         "options": ["x", "y", "z"], "default": ["x", "y"],
         "rendering": {"hidden": true, "conditionalDisplay": shown}},
    ]}));
    let first = json_schema(&form);
    let back = import(&first).unwrap().form;
    assert_eq!(back.fields()[1].kind().name(), "multi_select");
    assert_eq!(json_schema(&back), first);
}

#[test]
fn conditions_and_rules_survive_the_way_through_a_schema() {
    let original = everything();
    let back = import(&json_schema(&original)).unwrap().form;
    let base = json!({"name": "Ann", "titled": "g", "tags": ["x"], "mail": "a@b.c", "day": "2026-05-05",
        "plain": "b", "other": "xyz", "more": 3, "ok": false, "host": "not a host"});
    for (change, value) in [
        ("name", json!("Ann")),
        ("plain", json!("a")),
        ("other", json!("")),
        ("other", json!("abc")),
        ("titled", json!("r")),
        ("mail", json!("")),
        ("ok", json!(true)),
        ("at", json!("2026-05-05T00:00:00Z")),
        ("more", json!("rubbish")),
        ("ratio", json!(1)),
        ("day", json!("2025-01-01")),
        ("fixed", json!("changed")),
    ] {
        let mut answer = base.clone();
        answer[change] = value;
        let fields = |form: &Form| match form.check(&answer) {
            Ok(answers) => Ok(Value::from(answers.reveal().to_json())),
            Err(violations) => Err(violations
                .iter()
                .map(|v| violations.field_of(v).to_owned())
                .collect::<Vec<_>>()),
        };
        assert_eq!(fields(&original), fields(&back), "{answer}");
    }
}

#[test]
fn each_era_gets_only_the_keywords_it_knows() {
    let projection = project(&everything(), Era::V2025_11_25);
    assert_eq!(
        projection.requested_schema,
        json!({
            "type": "object",
            "properties": {
                "name": {"title": "Name", "description": "Who", "type": "string", "minLength": 2, "maxLength": 20, "pattern": "^[A-Z]"},
                "mail": {"title": "Mail", "type": "string", "format": "email"},
                "host": {"title": "Host", "type": "string"},
                "port": {"title": "Port", "type": "integer", "minimum": 1, "maximum": 65535, "default": 80},
                "ratio": {"title": "Ratio", "type": "number"},
                "ok": {"title": "OK", "type": "boolean", "default": true},
                "day": {"title": "Day", "type": "string", "format": "date"},
                "at": {"title": "At", "type": "string", "format": "date-time"},
                "plain": {"title": "Plain", "type": "string", "enum": ["a", "b"], "default": "a"},
                "titled": {"title": "Titled", "type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]},
                "tags": {"title": "Tags", "type": "array", "maxItems": 2, "items": {"type": "string", "enum": ["x", "y"]}},
                "hues": {"title": "Hues", "type": "array", "items": {"anyOf": [{"const": "r", "title": "Red"}]}},
                "home": {"title": "Home", "type": "string", "format": "uri"},
                "fixed": {"title": "Fixed", "type": "string", "default": "f"},
                "other": {"title": "Other", "type": "string"},
                "more": {"title": "More", "type": "number"},
            },
            "required": ["name", "titled", "tags"],
        })
    );
    assert!(projection.needs_url);
    let lost: Vec<_> = projection
        .losses
        .iter()
        .map(|l| (l.field.as_deref().unwrap_or("-"), l.rule.as_str()))
        .collect();
    assert_eq!(
        lost,
        [
            ("host", "format"),
            ("host", "validate"),
            ("ratio", "exclusiveMinimum"),
            ("ratio", "multipleOf"),
            ("day", "minimum"),
            ("home", "allowedSchemes"),
            ("home", "blockPrivateIPs"),
            ("home", "blockLocalhost"),
            ("key", "sensitive"),
            ("doc", "file"),
            ("fixed", "readonly"),
            ("other", "conditionalDisplay"),
            ("other", "dependencies"),
            ("more", "conditionalDisplay"),
            ("-", "at_least_one"),
            ("-", "exactly_one"),
            ("-", "all_or_none"),
            ("-", "compare"),
        ]
    );

    let newest = project(&everything(), Era::V2026_07_28);
    assert_eq!(
        newest.requested_schema["properties"]["name"].get("pattern"),
        None
    );
    assert!(newest.losses.iter().any(|l| l.rule == "pattern"));

    let oldest = project(&everything(), Era::V2025_06_18);
    let properties = &oldest.requested_schema["properties"];
    assert_eq!(
        properties["titled"],
        json!({"title": "Titled", "type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]})
    );
    assert_eq!(
        properties["ok"],
        json!({"title": "OK", "type": "boolean", "default": true})
    );
    assert_eq!(properties["port"].get("default"), None);
    assert_eq!(properties.get("tags"), None);
    assert!(
        oldest.needs_url,
        "a required multi-select cannot be asked in the first era"
    );
}

/// The elicitation schemas of the MCP specification, by version.
#[test]
fn the_examples_of_the_mcp_specification_come_back_as_they_went_in() {
    let flat = [
        json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}),
        json!({"type": "object", "properties": {
            "name": {"type": "string", "description": "Your full name"},
            "email": {"type": "string", "format": "email", "description": "Your email address"},
            "age": {"type": "number", "minimum": 18, "description": "Your age"}}, "required": ["name", "email"]}),
        json!({"type": "object", "properties": {"x": {"type": "boolean", "title": "Display Name", "description": "D", "default": false}}}),
        json!({"type": "object", "properties": {"x": {"type": "number", "title": "T", "minimum": 0, "maximum": 100}}}),
        json!({"type": "object", "properties": {"x": {"type": "integer", "title": "T", "minimum": 0, "maximum": 100}}}),
        json!({"type": "object", "properties": {"x": {"type": "string", "title": "T", "description": "D", "minLength": 3, "maxLength": 50}}}),
        json!({"type": "object", "properties": {"x": {"type": "string", "title": "T", "enum": ["option1", "option2"], "enumNames": ["Option 1", "Option 2"]}}}),
    ];
    let modern = [
        json!({"type": "object", "properties": {
            "name": {"type": "string", "title": "Name", "minLength": 3, "maxLength": 50, "pattern": "^[A-Za-z]+$", "format": "email", "default": "user@example.com"},
            "age": {"type": "number", "title": "T", "minimum": 0, "maximum": 100, "default": 50},
            "status": {"type": "boolean", "default": false}}}),
        json!({"type": "object", "properties": {"color": {"type": "string", "title": "Color Selection", "description": "Choose your favorite color",
            "enum": ["Red", "Green", "Blue"], "default": "Red"}}}),
        json!({"type": "object", "properties": {"color": {"type": "string", "title": "Color Selection",
            "oneOf": [{"const": "#FF0000", "title": "Red"}, {"const": "#00FF00", "title": "Green"}], "default": "#FF0000"}}}),
        json!({"type": "object", "properties": {"colors": {"type": "array", "title": "Color Selection", "minItems": 1, "maxItems": 2,
            "items": {"type": "string", "enum": ["Red", "Green", "Blue"]}, "default": ["Red", "Green"]}}}),
        json!({"type": "object", "properties": {"colors": {"type": "array", "title": "Color Selection", "minItems": 1, "maxItems": 2,
            "items": {"anyOf": [{"const": "#FF0000", "title": "Red"}, {"const": "#00FF00", "title": "Green"}]}, "default": ["#FF0000"]}}}),
        json!({"type": "object", "properties": {"when": {"type": "string", "format": "date"}, "at": {"type": "string", "format": "date-time"},
            "link": {"type": "string", "format": "uri"}}}),
    ];
    for schema in flat {
        let import = import(&schema).unwrap();
        assert_eq!(
            project(&import.form, Era::V2025_06_18).requested_schema,
            schema
        );
        assert_eq!(import.notices, []);
    }
    for schema in modern {
        let import = import(&schema).unwrap();
        assert_eq!(
            project(&import.form, Era::V2025_11_25).requested_schema,
            schema
        );
        // One of the examples has a default that breaks its own pattern.
        assert!(
            import
                .notices
                .iter()
                .all(|notice| notice.pointer == "/properties/name/default")
        );
    }
}

#[test]
fn unknown_keywords_and_formats_are_kept_and_noted() {
    let schema = json!({"type": "object", "$comment": "c", "x-vendor": {"deep": [1]}, "minProperties": 1, "properties": {
        "phone": {"type": "string", "format": "phone", "x-mask": "000", "title": ""},
        "zip": {"type": "string", "pattern": "^(?=.*[0-9])"},
        "address": {"type": "object", "title": "Address", "properties": {"city": {"type": "string"}}},
        "level": {"type": "integer", "enum": [1, 2]},
        "free": {},
    }, "required": ["phone"]});
    let import = import(&schema).unwrap();
    assert_eq!(
        project(&import.form, Era::V2025_11_25).requested_schema,
        schema
    );
    let places: Vec<_> = import.notices.iter().map(|n| n.pointer.as_str()).collect();
    assert_eq!(
        places,
        [
            "/properties/phone",
            "/properties/address",
            "/properties/level",
            "/properties/free",
            "/minProperties",
            "/properties/zip/pattern"
        ]
    );
    let answer = json!({"phone": "anything", "zip": "x", "address": r#"{"city": "Bern"}"#, "level": 1, "free": [1, 2]});
    let answers = import.form.check(&answer).unwrap();
    assert_eq!(
        answers.reveal().to_json()["address"],
        json!({"city": "Bern"}),
        "JSON text arrives as what it says"
    );
    assert!(
        import
            .form
            .check(&json!({"phone": "x", "address": "{"}))
            .is_err()
    );
}

#[test]
fn an_imported_form_may_exceed_an_authors_limits() {
    let properties: serde_json::Map<String, Value> = (0..300)
        .map(|i| (format!("field {i} of / all"), json!({"type": "boolean"})))
        .collect();
    let schema = json!({"type": "object", "properties": properties});
    let form = import(&schema).unwrap().form;
    assert_eq!(form.fields().len(), 300);
    assert_eq!(project(&form, Era::V2025_11_25).requested_schema, schema);
    let empty = import(&json!({"type": "object", "properties": {}}))
        .unwrap()
        .form;
    assert_eq!(empty.fields().len(), 0);
    assert!(
        empty
            .check(&json!({}))
            .unwrap()
            .reveal()
            .to_json()
            .is_empty()
    );
}

#[test]
fn whatever_the_form_its_schemas_are_fixed_points() {
    for seed in 0..1_500 {
        let form = form(&arbitrary::form(seed));
        let first = json_schema(&form);
        let back = import(&first).unwrap().form;
        assert_eq!(json_schema(&back), first, "seed {seed}, 2020-12");
        for era in Era::ALL {
            let first = project(&form, era).requested_schema;
            let back = import(&first).unwrap().form;
            assert_eq!(
                project(&back, era).requested_schema,
                first,
                "seed {seed}, {era}"
            );
        }
    }
}

#[test]
fn a_form_that_went_through_its_schema_judges_as_before() {
    let mut cases = 0;
    for seed in 0..1_000 {
        let form = form(&arbitrary::form(seed));
        let back = import(&json_schema(&form)).unwrap().form;
        // What a schema cannot express is lost in the round trip.
        let is_lossy = form
            .fields()
            .iter()
            .any(|f| matches!(f.kind(), Kind::File(_) | Kind::Url(_)))
            || form
                .rules()
                .iter()
                .any(|rule| matches!(rule.check(), CrossCheck::Compare(..)));
        if is_lossy {
            continue;
        }
        let mut generator = Generator::new(&form, seed);
        let mut answers: Vec<Value> = (0..4).filter_map(|_| generator.valid()).collect();
        let rules = generator.breakable();
        answers.extend(rules.iter().filter_map(|rule| generator.breaking(rule)));
        answers.retain(|answer| answer.get("form_id").is_none());
        for answer in answers {
            cases += 1;
            let verdict = |form: &Form| match form.check(&answer) {
                Ok(answers) => Ok(Value::from(answers.reveal().to_json())),
                Err(violations) => Err(violations
                    .iter()
                    .map(|v| violations.field_of(v).to_owned())
                    .collect::<Vec<_>>()),
            };
            assert_eq!(
                verdict(&form),
                verdict(&back),
                "seed {seed}: {answer}\n{}\n{}",
                form.definition(),
                back.definition()
            );
        }
    }
    assert!(cases > 1_000, "{cases}");
}

#[test]
fn a_default_that_nobody_fills_in_is_not_in_the_schema() {
    let form = form(
        &json!({"id": "f", "title": "F", "allow_partial": true, "fields": [
        {"id": "host", "type": "text", "label": "Host", "required": true, "default": "localhost"},
        {"id": "user", "type": "text", "label": "User", "default": "root"},
        {"id": "day", "type": "date", "label": "Day"},
    ], "validation": {"rules": [{"rule": "all_or_none", "fields": ["host", "day"]}]}}),
    );
    let schema = json_schema(&form);
    assert!(schema["properties"]["host"].get("default").is_none());
    assert_eq!(schema["properties"]["user"]["default"], "root");
    let back = import(&schema).unwrap().form;
    let answer = json!({"day": "2026-02-28"});
    for form in [&form, &back] {
        let violations = form.check(&answer).unwrap_err();
        let fields: Vec<_> = violations.iter().map(|v| violations.field_of(v)).collect();
        assert_eq!(fields, ["host"]);
    }
}

#[test]
fn sections_survive_the_way_through_a_schema() {
    let schema = json_schema(&everything());
    assert_eq!(schema["properties"]["port"]["x-section"], "Network");
    let import = import(&schema).unwrap();
    let port = import.form.field("port").unwrap();
    assert_eq!(port.section(), Some("Network"));
    for era in Era::ALL {
        let projection = project(&everything(), era).requested_schema;
        assert!(!projection.to_string().contains("x-section"), "{era}");
    }
}

#[test]
fn what_is_no_heading_stays_in_the_schema() {
    for heading in [json!(""), json!(7)] {
        let schema = json!({"type": "object",
            "properties": {"a": {"type": "string", "x-section": heading}}});
        let form = import(&schema).unwrap().form;
        assert_eq!(form.fields()[0].section(), None);
        assert_eq!(json_schema(&form)["properties"]["a"]["x-section"], heading);
    }
}

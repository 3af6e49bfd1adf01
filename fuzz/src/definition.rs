//! Definitions in all notations: whatever loads is a form that everything works on.

use entreat_core::document::Notation;
use entreat_core::schema::{Era, import, json_schema, project};
use entreat_core::{Catalogue, Form};
use entreat_testkit::Generator;
use serde_json::{Value, json};

use super::Meter;

/// The search for an answer is not held to the bounds; it is kept to small forms.
const SMALL: usize = 4096;

/// Loads a definition. The first byte chooses the notation, the rest is the text.
pub fn run(data: &[u8], meter: &mut Meter) {
    let Some((choice, text)) = data.split_first() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(text) else {
        return;
    };
    let notation = match choice % 3 {
        0 => Notation::Json,
        1 => Notation::Yaml,
        _ => Notation::Toml,
    };
    let form = match meter.call("Form::from_text", || Form::from_text(text, notation)) {
        Ok(form) => form,
        Err(problems) => {
            meter.call("Problems::to_string", || problems.to_string());
            return;
        }
    };
    let mut answers = vec![json!({})];
    if text.len() <= SMALL {
        let mut generator = Generator::new(&form, 7);
        answers.extend(generator.valid());
    }
    // What such a mark promises is the importer's word; by hand it can say anything.
    let is_imported = form
        .metadata()
        .is_some_and(|data| data.get("entreat:imported").is_some());
    let sameness = if is_imported {
        Sameness::Nothing
    } else {
        Sameness::All
    };
    go_round(&form, sameness, meter);
    for answer in &answers {
        check(&form, answer, meter);
    }
}

/// Which schemas come back as they were written.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Sameness {
    All,
    /// Those of the MCP eras. Of a nested type under a condition, the full schema does not
    /// tell whether the condition shows the field or switches its rules on.
    Projections,
    Nothing,
}

/// Takes the form through its definition and through schemas, and asserts that it survives.
pub(crate) fn go_round(form: &Form, sameness: Sameness, meter: &mut Meter) {
    let again = meter.call("Form::from_value", || Form::from_value(form.definition()));
    again.expect("a form's own definition is sound");
    let schema = meter.call("json_schema", || json_schema(form));
    let back = meter.call("import", || import(&schema)).map(|i| i.form);
    let back = back.expect("what a form writes can be imported");
    let again = meter.call("json_schema", || json_schema(&back));
    if sameness == Sameness::All {
        assert_same(&schema, &again, "2020-12");
    }
    for era in Era::ALL {
        let schema = meter
            .call("project", || project(form, era))
            .requested_schema;
        let back = meter.call("import", || import(&schema)).map(|i| i.form);
        let back = back.expect("what a form projects to can be imported");
        let again = meter
            .call("project", || project(&back, era))
            .requested_schema;
        if sameness != Sameness::Nothing {
            assert_same(&schema, &again, era.version());
        }
    }
}

/// Checks an answer in every way and renders what is wrong with it.
pub(crate) fn check(form: &Form, answer: &Value, meter: &mut Meter) {
    meter.call("Form::normalise", || form.normalise(answer));
    if let Err(violations) = meter.call("Form::check", || form.check(answer)) {
        let english = Catalogue::default().messages(["en"]);
        meter.call("Violations::errors", || violations.errors(&english));
    }
    let text = answer.to_string();
    let _ = meter.call("Form::check_text", || form.check_text(&text).is_ok());
}

fn assert_same(first: &Value, second: &Value, what: &str) {
    assert!(
        first == second,
        "a schema changes on its way round ({what}):\n{first:#}\n{second:#}"
    );
}

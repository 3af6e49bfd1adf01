//! Runs every example of the form reference and checks that the pages are complete.
//!
//! The words after a code block's language say how to check it; see [`Reader::run`]. A block of
//! JSON, YAML or TOML without such a word is an error: nothing goes unchecked. Rust blocks are
//! doctests of the crate, console blocks are run by the tests of the CLI.

use std::collections::BTreeSet;

use entreat_core::document::{Notation, read};
use entreat_core::schema::{Era, import, json_schema, project};
use entreat_core::url_guard::{Reason, Warning};
use entreat_core::{
    Catalogue, CheckSettings, Constraint, Field, Form, ReferenceKind, Unknown, ValidatorError,
    Validators, Violations,
};
use serde_json::{Value, json};

const FORMS: &str = include_str!("../../../../docs/forms.md");
const URLS: &str = include_str!("../../../../docs/urls.md");

struct Block<'d> {
    /// The line of its opening fence, counted from 1.
    line: usize,
    language: &'d str,
    words: Vec<&'d str>,
    text: String,
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut open: Option<Block<'_>> = None;
    for (i, line) in page.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(block), None) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, Some(info)) => {
                let mut words = info.split_whitespace();
                open = Some(Block {
                    line: i + 1,
                    language: words.next().unwrap_or(""),
                    words: words.collect(),
                    text: String::new(),
                });
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a code block is not closed");
    blocks
}

impl Block<'_> {
    #[track_caller]
    fn tree(&self) -> Value {
        let notation = match self.language {
            "json" => Notation::Json,
            "yaml" => Notation::Yaml,
            "toml" => Notation::Toml,
            other => panic!("line {}: {other} is no notation", self.line),
        };
        read(&self.text, notation).unwrap_or_else(|problems| {
            panic!("line {}: the example cannot be read: {problems}", self.line)
        })
    }

    /// The arguments of a block, such as the rules that must be broken.
    fn argument(&self) -> &str {
        self.words.get(1).copied().unwrap_or("")
    }

    fn settings(&self) -> CheckSettings {
        let mut settings = CheckSettings::default();
        for word in &self.words {
            match *word {
                "unknown=ignore" => settings.unknown = Unknown::Ignore,
                "reference=url" => settings.references.push(ReferenceKind::Url),
                _ => {}
            }
        }
        settings
    }

    #[track_caller]
    fn assert_eq(&self, found: &Value) {
        assert_eq!(self.tree(), *found, "line {}: found {found:#}", self.line);
    }
}

/// The state of the page so far.
#[derive(Default)]
struct Reader {
    form: Option<Form>,
    values: Option<(Value, Value)>,
    violations: Option<Violations>,
    /// Definitions that loaded.
    definitions: Vec<Value>,
    /// Rules that an example broke.
    broken: BTreeSet<String>,
}

impl Reader {
    fn run(&mut self, block: &Block<'_>) {
        let line = block.line;
        let kind = block.words.first().copied().unwrap_or("");
        match (block.language, kind) {
            // Run elsewhere, or not code at all.
            ("rust" | "console" | "text", "") => {}
            // A definition that loads.
            (_, "form") => {
                let definition = block.tree();
                let form = Form::with_validators(&definition, &validators());
                let form = form.unwrap_or_else(|problems| panic!("line {line}: {problems}"));
                self.form = Some(form);
                self.definitions.push(definition);
            }
            // A definition that is rejected, with exactly these problems.
            (_, "problem") => {
                let problems = Form::with_validators(&block.tree(), &validators()).unwrap_err();
                let found = problems.iter().map(|p| format!("{}:{}", p.pointer, p.code));
                let found: BTreeSet<_> = found.collect();
                let expected = block.argument().split(',').map(str::to_owned).collect();
                assert_eq!(found, expected, "line {line}");
            }
            // Answers to the last form, as text and as a tree.
            ("json", "valid") => {
                let form = self.form(line);
                let answers = form.check_text_with(&block.text, &block.settings());
                let answers = answers.unwrap_or_else(|error| panic!("line {line}: {error:?}"));
                let values = Value::from(answers.reveal().to_json());
                let missing = answers.missing().map(Field::id).collect();
                let tree = block.tree();
                let again = form.check_with(&tree, &block.settings()).unwrap();
                assert_eq!(values, Value::from(again.reveal().to_json()), "line {line}");
                self.values = Some((values, missing));
            }
            // The values of the last valid answers, and the missing fields.
            ("json", "values") => block.assert_eq(&self.values.as_ref().unwrap().0),
            ("json", "missing") => block.assert_eq(&self.values.as_ref().unwrap().1),
            // Answers that break exactly these rules.
            ("json", "invalid") => {
                let tree = block.tree();
                let violations = self.form(line).check_with(&tree, &block.settings());
                let Err(violations) = violations else {
                    panic!("line {line}: these answers are valid");
                };
                let found = violations.iter().map(|violation| {
                    let rule = violation.constraint().key();
                    self.broken.insert(rule.to_owned());
                    format!("{}:{rule}", violations.field_of(violation))
                });
                let found: Vec<_> = found.collect();
                assert_eq!(found.join(","), block.argument(), "line {line}");
                self.violations = Some(violations);
            }
            // The errors of the last invalid answers, in English by default.
            ("json", "errors") => {
                let messages = Catalogue::default().messages([block.argument(), "en"]);
                let violations = self.violations.as_ref().unwrap();
                block.assert_eq(&json!(violations.errors(&messages)));
            }
            // The last form as JSON Schema, and as the schema of an MCP version.
            ("json", "schema") => block.assert_eq(&json_schema(self.form(line))),
            ("json", "projection") => {
                let era = block.argument().parse::<Era>().unwrap();
                block.assert_eq(&json!(project(self.form(line), era)));
            }
            // A schema that becomes the form.
            ("json", "import") => self.form = Some(import(&block.tree()).unwrap().form),
            (language, kind) => panic!("line {line}: what is a `{language} {kind}`?"),
        }
    }

    fn form(&self, line: usize) -> &Form {
        self.form
            .as_ref()
            .unwrap_or_else(|| panic!("line {line}: no form stands before this"))
    }
}

/// The validator that the reference shows.
fn validators() -> Validators {
    let mut validators = Validators::default();
    validators.register("not_reserved", |answers| match answers.get("user") {
        Some(user) if user.as_str() == Some("root") => {
            Err(ValidatorError::new("user", "That name is taken"))
        }
        _ => Ok(()),
    });
    validators
}

fn run_all() -> Reader {
    let mut reader = Reader::default();
    for block in blocks(FORMS) {
        reader.run(&block);
    }
    reader
}

#[test]
fn every_example_does_what_the_page_says() {
    let reader = run_all();
    assert!(reader.definitions.len() > 20);
}

#[test]
fn every_rule_is_broken_by_an_example_and_stands_in_a_table() {
    let reader = run_all();
    for rule in Constraint::KEYS {
        assert!(reader.broken.contains(*rule), "no example breaks `{rule}`");
        assert!(FORMS.contains(&format!("`{rule}`")), "{rule}");
    }
}

/// Every word of the form language, by location.
const LANGUAGE: &[(&str, &str)] = &[
    (
        "form",
        "id title description fields validation metadata timeout allow_partial",
    ),
    (
        "timeout",
        "initial_timeout extension_allowed extension_duration max_extensions warn_before",
    ),
    (
        "field",
        "id type label description required default sensitive options validation rendering \
         accessibility dependencies",
    ),
    (
        "type",
        "text number boolean date select multi_select url file",
    ),
    (
        "default",
        "text number boolean date select multi_select url",
    ),
    (
        "options",
        "select:plain select:titled multi_select:plain multi_select:titled",
    ),
    (
        "validation",
        "text:minLength text:maxLength text:pattern text:format text:messages \
         number:minimum number:maximum number:exclusiveMinimum number:exclusiveMaximum \
         number:multipleOf select:enum multi_select:minItems multi_select:maxItems \
         multi_select:uniqueItems url:format url:allowedSchemes url:blockPrivateIPs \
         url:blockLocalhost url:maxLength file:maxSize file:allowedMimeTypes \
         file:allowedExtensions file:minItems file:maxItems date:format date:minimum date:maximum",
    ),
    (
        "format",
        "text:email text:uri text:uuid text:hostname text:ipv4 text:ipv6 text:date \
         text:date-time text:time date:date date:date-time url:uri",
    ),
    (
        "rendering",
        "placeholder helpText displayStyle readonly hidden autocomplete inputType rows step \
         searchable gridColumn gridRow breakAfter conditionalDisplay validationTrigger \
         debounceMs acceptAttribute dragAndDrop preview testButton displayFormat enableTime \
         savedTo",
    ),
    (
        "displayStyle",
        "boolean:checkbox boolean:toggle boolean:radio select:dropdown select:radio \
         select:segmented multi_select:checkbox multi_select:multiselect_dropdown \
         multi_select:chips number:slider text:text text:password text:email text:tel",
    ),
    (
        "inputType",
        "text password email tel url number date time datetime_local",
    ),
    ("validationTrigger", "on_change on_blur on_submit"),
    (
        "accessibility",
        "ariaLabel ariaDescribedBy tabIndex required invalid",
    ),
    (
        "operator",
        "equals not_equals in not_in contains gt gte lt lte regex is_empty is_not_empty and or \
         not",
    ),
    ("formValidation", "dependencies rules custom_validators"),
    ("action", "show hide enable disable validate"),
    ("rule", "compare at_least_one exactly_one all_or_none"),
    ("compare", "lt lte eq ne gte gt"),
    ("ruleKey", "rule left operator right fields message"),
];

#[test]
fn every_word_of_the_language_stands_in_an_example() {
    let mut found = BTreeSet::new();
    for definition in run_all().definitions {
        collect_form(&definition, &mut found);
    }
    for (place, words) in LANGUAGE {
        for word in words.split_whitespace() {
            let known = found.contains(&format!("{place} {word}"));
            assert!(known, "no example has `{word}` ({place})");
        }
    }
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn collect_form(form: &Value, found: &mut BTreeSet<String>) {
    let mut add = |place: &str, word: &str| {
        found.insert(format!("{place} {word}"));
    };
    for (key, _) in members(form) {
        add("form", key);
    }
    for (key, _) in members(&form["timeout"]) {
        add("timeout", key);
    }
    for (key, _) in members(&form["validation"]) {
        add("formValidation", key);
    }
    for rule in items(&form["validation"]["rules"]) {
        add("rule", rule["rule"].as_str().unwrap());
        add("compare", rule["operator"].as_str().unwrap_or(""));
        for (key, _) in members(rule) {
            add("ruleKey", key);
        }
    }
    for (_, actions) in members(&form["validation"]["dependencies"]) {
        let one = std::slice::from_ref(actions);
        for action in actions.as_array().map_or(one, Vec::as_slice) {
            add("action", action["action"].as_str().unwrap());
            collect_condition(&action["condition"], &mut add);
        }
    }
    for field in items(&form["fields"]) {
        collect_field(field, &mut add);
    }
}

fn collect_field(field: &Value, add: &mut impl FnMut(&str, &str)) {
    let kind = field["type"].as_str().unwrap();
    add("type", kind);
    for (key, _) in members(field) {
        add("field", key);
        if key == "default" {
            add("default", kind);
        }
    }
    for option in items(&field["options"]) {
        let style = if option.is_string() {
            "plain"
        } else {
            "titled"
        };
        add("options", &format!("{kind}:{style}"));
    }
    for (key, value) in members(&field["validation"]) {
        add("validation", &format!("{kind}:{key}"));
        if key == "format" {
            add("format", &format!("{kind}:{}", value.as_str().unwrap()));
        }
    }
    for (key, value) in members(&field["rendering"]) {
        add("rendering", key);
        match (key.as_str(), value.as_str()) {
            ("displayStyle", Some(word)) => add("displayStyle", &format!("{kind}:{word}")),
            ("inputType" | "validationTrigger", Some(word)) => add(key, word),
            ("conditionalDisplay", _) => collect_condition(value, add),
            _ => {}
        }
    }
    for (key, _) in members(&field["accessibility"]) {
        add("accessibility", key);
    }
}

fn collect_condition(condition: &Value, add: &mut impl FnMut(&str, &str)) {
    add("operator", condition["operator"].as_str().unwrap());
    for part in items(&condition["conditions"]) {
        collect_condition(part, add);
    }
    if condition["condition"].is_object() {
        collect_condition(&condition["condition"], add);
    }
}

#[test]
fn the_page_about_urls_tells_every_reason_and_every_warning() {
    for reason in Reason::ALL {
        let row = format!(
            "| `{}` | `{}` | {reason} |",
            reason.code(),
            reason.constraint()
        );
        assert!(URLS.contains(&row), "missing: {row}");
    }
    for warning in Warning::ALL {
        let row = format!(
            "| `{}` | {} | {} |",
            warning.code(),
            warning.action().as_str(),
            warning.message()
        );
        assert!(URLS.contains(&row), "missing: {row}");
    }
}

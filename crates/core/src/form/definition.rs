//! Reads a definition into a form, or collects every problem in it.
//!
//! Two passes: first each field on its own, then everything that refers to other fields.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value};

use super::findings::Findings;
use super::kind::Kind;
use super::reader::{Object, Reader, join_quoted};
use super::rendering::{Accessibility, Rendering};
use super::rules::CrossRule;
use super::{Field, FieldTable, Inner};
use crate::answer::Answer;
use crate::check::CheckSettings;
use crate::condition::Condition;
use crate::parse::Source;
use crate::problem::{ProblemCode, Problems};
use crate::schema::imported::ImportMetadata;
use crate::timeout::Timeout;
use crate::validator::{NamedValidator, Validators};
use crate::violation::Constraint;

const MAX_FIELDS: usize = 100;
const MAX_NAME: usize = 256;

pub(super) const FORM_KEYS: &[&str] = &[
    "id",
    "title",
    "description",
    "fields",
    "validation",
    "metadata",
    "timeout",
    "allow_partial",
];

/// The keys of a field, in the order people usually write them.
pub(crate) const FIELD_KEYS: &[&str] = &[
    "id",
    "type",
    "label",
    "description",
    "required",
    "default",
    "sensitive",
    "section",
    "options",
    "validation",
    "rendering",
    "accessibility",
    "dependencies",
];

static EMPTY: LazyLock<Object> = LazyLock::new(Map::new);

pub(super) fn read(definition: &Value, validators: &Validators) -> Result<Inner, Problems> {
    let mut reader = Reader::new(ImportMetadata::of(definition).is_some());
    match read_form(&mut reader, definition, validators) {
        Some(inner) if reader.has_no_problems() => Ok(inner),
        _ => Err(reader.into_problems()),
    }
}

fn read_form<'v>(
    reader: &mut Reader<'v>,
    definition: &'v Value,
    validators: &Validators,
) -> Option<Inner> {
    let object = reader.object(definition)?;
    reader.check_keys(object, FORM_KEYS);
    let id = reader.required_text(object, "id", usize::MAX);
    check_id(reader, id, 128);
    let title = reader.required_text(object, "title", MAX_NAME);
    let description = reader.text_at(object, "description");
    reader.object_at(object, "metadata");
    let timeout = object
        .get("timeout")
        .map(|value| reader.within("timeout", |r| Timeout::read(r, value)));
    let allow_partial = reader.flag_at(object, "allow_partial");
    let drafts = read_fields(reader, object)?;
    let index = index_fields(reader, &drafts);
    let table = FieldTable {
        index: &index,
        ids: drafts.iter().map(|draft| draft.id.clone()).collect(),
        kinds: drafts.iter().map(|draft| draft.kind.as_ref()).collect(),
    };
    let mut links: Vec<Links> = reader.within("fields", |reader| {
        drafts
            .iter()
            .enumerate()
            .map(|(i, draft)| reader.within(i, |r| read_links(r, draft, i, &table)))
            .collect()
    });
    let mut rules = Vec::new();
    let mut form_validators = Vec::new();
    if let Some(validation) = reader.object_at(object, "validation") {
        reader.within("validation", |reader| {
            reader.check_keys(validation, &["dependencies", "rules", "custom_validators"]);
            read_actions(reader, validation, &table, &mut links);
            rules = read_rules(reader, validation, &table);
            form_validators = read_validators(reader, validation, validators);
        });
    }
    let conditional = order_conditions(reader, &links, &table);
    let nested = ImportMetadata::of(definition)
        .map(ImportMetadata::nested)
        .unwrap_or_default();
    let names: Vec<&str> = form_validators
        .iter()
        .map(|validator| &*validator.name)
        .collect();
    let mut fields = Vec::with_capacity(drafts.len());
    for (i, (draft, links)) in drafts.into_iter().zip(links).enumerate() {
        let step = draft.step;
        let field = reader.within("fields", |reader| {
            reader.within(step, |reader| {
                finish_field(reader, draft, links, &names, &nested)
            })
        });
        if let Some(mut field) = field {
            let reported_here = |(n, rule): (usize, &CrossRule)| (rule.anchor == i).then_some(n);
            field.rules = rules.iter().enumerate().filter_map(reported_here).collect();
            fields.push(field);
        }
    }
    if !reader.has_no_problems() {
        return None;
    }
    let is_independent = |field: &Field| {
        let is_conditional = !field.active_when.is_empty() || !field.checked_when.is_empty();
        !field.is_fixed() && !is_conditional && field.dependencies.is_empty()
    };
    Some(Inner {
        is_plain: rules.is_empty() && fields.iter().all(is_independent),
        with_default: (0..fields.len())
            .filter(|position| fields[*position].default.is_some())
            .collect(),
        definition: definition.clone(),
        id: id?.into(),
        title: title?.into(),
        description: description.map(Box::from),
        fields,
        index,
        rules,
        validators: form_validators,
        timeout: timeout.unwrap_or_default(),
        allow_partial: allow_partial.unwrap_or(false),
        conditional,
    })
}

fn check_id(reader: &mut Reader<'_>, id: Option<&str>, max: usize) {
    let Some(id) = id.filter(|id| !id.is_empty() && !reader.imported) else {
        return;
    };
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if !id.bytes().all(is_plain) || id.len() > max {
        let message =
            format!("An id must have 1 to {max} characters, each a letter, a digit, `_` or `-`.");
        reader.report_at("id", ProblemCode::BadValue, message);
    }
}

/// A field after the first pass, without its references to other fields.
struct Draft<'v> {
    /// Its index in the definition's list.
    step: usize,
    object: &'v Object,
    id: Arc<str>,
    label: Box<str>,
    kind: Option<Kind>,
    rendering: Rendering,
    accessibility: Accessibility,
}

fn read_fields<'v>(reader: &mut Reader<'v>, object: &'v Object) -> Option<Vec<Draft<'v>>> {
    reader.require(object, "fields", "A form needs `fields`.");
    let fields = reader.list_at(object, "fields")?;
    reader.within("fields", |reader| {
        if !reader.imported && fields.is_empty() {
            let message = "A form needs at least one field.";
            reader.report(ProblemCode::Empty, message);
        }
        if !reader.imported && fields.len() > MAX_FIELDS {
            let message = format!(
                "A form can have at most {MAX_FIELDS} fields; this one has {}.",
                fields.len()
            );
            reader.report(ProblemCode::TooLong, message);
            // Don't report every problem of a hundred thousand fields.
            return None;
        }
        let read = |(i, field)| reader.within(i, |reader| read_field(reader, field, i));
        Some(fields.iter().enumerate().filter_map(read).collect())
    })
}

fn read_field<'v>(reader: &mut Reader<'v>, value: &'v Value, step: usize) -> Option<Draft<'v>> {
    let object = reader.object(value)?;
    reader.check_keys_with(object, FIELD_KEYS, |key| {
        let rule = Kind::rule_meant(key)?;
        Some(format!("Put the rule `{rule}` into `validation`."))
    });
    let id = reader.required_text(object, "id", usize::MAX);
    check_id(reader, id, 64);
    let label = reader.required_text(object, "label", MAX_NAME);
    if !object.contains_key("type") {
        let types = join_quoted(Kind::NAMES);
        let message = format!("A field needs a `type`: one of {types}.");
        reader.report_at("type", ProblemCode::MissingKey, message);
    }
    let validation = reader.object_at(object, "validation").unwrap_or(&EMPTY);
    let name = reader.text_at(object, "type");
    let kind = name.and_then(|name| Kind::read(reader, name, object, validation));
    let rendering = match (&kind, reader.object_at(object, "rendering")) {
        (Some(kind), Some(hints)) => {
            reader.within("rendering", |reader| Rendering::read(reader, hints, kind))
        }
        _ => Rendering::default(),
    };
    let accessibility = match reader.object_at(object, "accessibility") {
        Some(hints) => reader.within("accessibility", |r| Accessibility::read(r, hints)),
        None => Accessibility::default(),
    };
    Some(Draft {
        step,
        object,
        id: id?.into(),
        label: label.unwrap_or_default().into(),
        kind,
        rendering,
        accessibility,
    })
}

fn index_fields(reader: &mut Reader<'_>, drafts: &[Draft<'_>]) -> HashMap<Arc<str>, usize> {
    let mut index = HashMap::with_capacity(drafts.len());
    for (position, draft) in drafts.iter().enumerate() {
        if index.contains_key(&draft.id) {
            let message = format!("Another field already has the id `{}`.", draft.id);
            reader.within("fields", |reader| {
                reader.within(draft.step, |reader| {
                    reader.report_at("id", ProblemCode::DuplicateId, message);
                });
            });
        } else {
            index.insert(draft.id.clone(), position);
        }
    }
    index
}

/// A field's references to other fields.
#[derive(Default)]
struct Links {
    dependencies: Vec<usize>,
    /// Separate from `enabled_when`: a field can be shown but disabled.
    shown_when: Vec<Condition>,
    enabled_when: Vec<Condition>,
    checked_when: Vec<Condition>,
}

impl Links {
    fn active_when(&self) -> impl Iterator<Item = &Condition> {
        self.shown_when.iter().chain(&self.enabled_when)
    }

    fn is_always_active(&self) -> bool {
        self.active_when().next().is_none()
    }
}

fn read_links<'v>(
    reader: &mut Reader<'v>,
    draft: &Draft<'v>,
    position: usize,
    table: &FieldTable<'_>,
) -> Links {
    let mut links = Links::default();
    if let Some(ids) = reader.texts_at(draft.object, "dependencies") {
        reader.within("dependencies", |reader| {
            for (i, id) in ids {
                match table.find(reader, i, id) {
                    Some((other, _)) if other == position => {
                        let message = "A field cannot depend on itself.";
                        reader.report_at(i, ProblemCode::Cycle, message);
                    }
                    Some((other, _)) if links.dependencies.contains(&other) => {
                        let message = format!("`{id}` is listed twice.");
                        reader.report_at(i, ProblemCode::DuplicateId, message);
                    }
                    Some((other, _)) => links.dependencies.push(other),
                    None => {}
                }
            }
        });
    }
    let hints = draft.object.get("rendering").and_then(Value::as_object);
    if let Some(condition) = hints.and_then(|hints| hints.get("conditionalDisplay")) {
        links
            .shown_when
            .extend(reader.within("rendering", |reader| {
                reader.within("conditionalDisplay", |reader| {
                    Condition::read(reader, condition, table)
                })
            }));
    }
    links
}

#[derive(Clone, Copy)]
enum Action {
    Show,
    Hide,
    Enable,
    Disable,
    Validate,
}

const ACTIONS: &[(&str, Action)] = &[
    ("show", Action::Show),
    ("enable", Action::Enable),
    ("hide", Action::Hide),
    ("disable", Action::Disable),
    ("validate", Action::Validate),
];

/// Reads `validation.dependencies`: one action or a list of actions per field.
fn read_actions<'v>(
    reader: &mut Reader<'v>,
    validation: &'v Object,
    table: &FieldTable<'_>,
    links: &mut [Links],
) {
    let Some(dependencies) = reader.object_at(validation, "dependencies") else {
        return;
    };
    reader.within("dependencies", |reader| {
        for (id, value) in dependencies {
            let target = table.find(reader, id.as_str(), id);
            reader.within(id.as_str(), |reader| {
                let mut read = |reader: &mut Reader<'v>, value| {
                    let action = read_action(reader, value, table);
                    if let (Some((position, _)), Some((action, condition))) = (target, action) {
                        let links = &mut links[position];
                        match action {
                            Action::Show => links.shown_when.push(condition),
                            Action::Hide => {
                                links.shown_when.push(Condition::Not(Box::new(condition)));
                            }
                            Action::Enable => links.enabled_when.push(condition),
                            Action::Disable => {
                                links.enabled_when.push(Condition::Not(Box::new(condition)));
                            }
                            Action::Validate => links.checked_when.push(condition),
                        }
                    }
                };
                match value {
                    Value::Array(list) => {
                        for (i, value) in list.iter().enumerate() {
                            reader.within(i, |reader| read(reader, value));
                        }
                    }
                    value => read(reader, value),
                }
            });
        }
    });
}

fn read_action<'v>(
    reader: &mut Reader<'v>,
    value: &'v Value,
    table: &FieldTable<'_>,
) -> Option<(Action, Condition)> {
    let object = reader.object(value)?;
    reader.check_keys(object, &["condition", "action"]);
    for key in ["condition", "action"] {
        reader.require(object, key, format_args!("`{key}` is required here."));
    }
    let action = reader.word_at(object, "action", ACTIONS);
    let condition = object.get("condition")?;
    let condition = reader.within("condition", |r| Condition::read(r, condition, table));
    Some((action?, condition?))
}

fn read_rules<'v>(
    reader: &mut Reader<'v>,
    validation: &'v Object,
    table: &FieldTable<'_>,
) -> Vec<CrossRule> {
    let rules = reader.list_at(validation, "rules").unwrap_or_default();
    reader.within("rules", |reader| {
        let read = |(i, rule)| reader.within(i, |r| CrossRule::read(r, rule, table));
        rules.iter().enumerate().filter_map(read).collect()
    })
}

fn read_validators<'v>(
    reader: &mut Reader<'v>,
    validation: &'v Object,
    registered: &Validators,
) -> Vec<NamedValidator> {
    let names = reader.texts_at(validation, "custom_validators");
    reader.within("custom_validators", |reader| {
        let mut found = Vec::new();
        for (i, name) in names.unwrap_or_default() {
            match registered.find(name) {
                Some(validator) => found.push(validator),
                None => reader.within(i, |reader| {
                    let message = format!("No validator `{name}` is registered.");
                    let known = registered.names();
                    reader.report_unknown(ProblemCode::UnknownValidator, message, name, &known);
                }),
            }
        }
        found
    })
}

/// Sorts the conditional fields topologically, each after those its conditions refer to. Reports
/// cycles.
fn order_conditions(
    reader: &mut Reader<'_>,
    links: &[Links],
    table: &FieldTable<'_>,
) -> Vec<usize> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let references = |position: usize| {
        let mut others = Vec::new();
        for condition in links[position].active_when() {
            condition.each_field(&mut |other| others.push(other));
        }
        others
    };
    let mut marks = vec![Mark::New; links.len()];
    let mut order = Vec::new();
    for start in 0..links.len() {
        if marks[start] != Mark::New || links[start].is_always_active() {
            continue;
        }
        // Depth-first without recursion: an imported form may chain thousands of fields.
        let mut stack = vec![(start, references(start))];
        marks[start] = Mark::Open;
        while let Some((position, others)) = stack.last_mut() {
            let position = *position;
            let Some(other) = others.pop() else {
                marks[position] = Mark::Done;
                order.push(position);
                stack.pop();
                continue;
            };
            match marks[other] {
                Mark::Done => {}
                Mark::New if links[other].is_always_active() => marks[other] = Mark::Done,
                Mark::New => {
                    marks[other] = Mark::Open;
                    stack.push((other, references(other)));
                }
                Mark::Open => {
                    let first = stack.iter().position(|(p, _)| *p == other).unwrap_or(0);
                    let cycle: Vec<&str> = stack[first..]
                        .iter()
                        .map(|(position, _)| *position)
                        .chain([other])
                        .map(|position| &*table.ids[position])
                        .collect();
                    let message = format!(
                        "Conditions depend on each other in a cycle: {}.",
                        cycle.join(" → ")
                    );
                    reader.within("fields", |reader| {
                        reader.report_at(other, ProblemCode::Cycle, message);
                    });
                }
            }
        }
    }
    order
}

fn finish_field<'v>(
    reader: &mut Reader<'v>,
    draft: Draft<'v>,
    links: Links,
    validators: &[&str],
    nested: &HashSet<&str>,
) -> Option<Field> {
    let object = draft.object;
    let required = reader.flag_at(object, "required").unwrap_or(false);
    let sensitive = reader.flag_at(object, "sensitive").unwrap_or(false);
    let description = reader.text_at(object, "description").map(Box::from);
    let section = reader.nonempty_text_at(object, "section", MAX_NAME);
    let messages = read_messages(reader, object, validators);
    let mut kind = draft.kind?;
    if let Kind::Text(rules) = &mut kind {
        rules.is_json = nested.contains(&*draft.id);
    }
    let sensitive = sensitive || draft.rendering.masks();
    if draft.rendering.saved_to.is_some() && !sensitive {
        let message = "`savedTo` is only for a sensitive field.";
        reader.within("rendering", |reader| {
            reader.report_at("savedTo", ProblemCode::NotApplicable, message);
        });
    }
    let default = object
        .get("default")
        .and_then(|value| reader.within("default", |r| read_default(r, value, &kind, required)));
    if required && draft.rendering.is_fixed() && default.is_none() && !reader.imported {
        let message = "A required field that nobody can fill in needs a `default`.";
        reader.report(ProblemCode::Unanswerable, message);
    }
    let takes_nothing = match &kind {
        Kind::Text(rules) => rules.max_length == Some(0),
        Kind::MultiSelect(rules) => rules.max_items == Some(0),
        Kind::Number(_)
        | Kind::Boolean
        | Kind::Date(_)
        | Kind::Select(_)
        | Kind::Url(_)
        | Kind::File(_) => false,
    };
    if required && takes_nothing && !reader.imported {
        let message = "A required field must have room for an answer.";
        reader.report(ProblemCode::Unanswerable, message);
    }
    Some(Field {
        id: draft.id,
        label: draft.label,
        description,
        section: section.map(Box::from),
        required,
        sensitive,
        kind,
        default,
        rendering: draft.rendering,
        accessibility: draft.accessibility,
        messages,
        dependencies: links.dependencies,
        shown_by: links.shown_when.len(),
        active_when: [links.shown_when, links.enabled_when].concat(),
        checked_when: links.checked_when,
        rules: Vec::new(),
    })
}

/// Reads `validation.messages`: the author's message for each rule.
fn read_messages<'v>(
    reader: &mut Reader<'v>,
    field: &'v Object,
    validators: &[&str],
) -> HashMap<Box<str>, Arc<str>> {
    let Some(validation) = field.get("validation").and_then(Value::as_object) else {
        return HashMap::new();
    };
    reader.within("validation", |reader| {
        let Some(messages) = reader.object_at(validation, "messages") else {
            return HashMap::new();
        };
        reader.within("messages", |reader| {
            let known: Vec<_> = Constraint::KEYS.iter().chain(validators).copied().collect();
            reader.check_keys(messages, &known);
            let read = |key: &'v String| {
                let message = reader.text_at(messages, key)?;
                Some((key.as_str().into(), message.into()))
            };
            messages.keys().filter_map(read).collect()
        })
    })
}

/// Reads a default and reports the rules of the field that it breaks. An empty default means none.
fn read_default(
    reader: &mut Reader<'_>,
    value: &Value,
    kind: &Kind,
    required: bool,
) -> Option<Answer<'static>> {
    if Source::is_empty(&value) {
        return None;
    }
    if kind.file_rules().is_some() {
        let message = "A file field cannot have a default.";
        reader.report(ProblemCode::BadDefault, message);
        return None;
    }
    let settings = CheckSettings::default();
    let mut findings = Findings::new(&settings);
    let mut answer = None;
    if let Err(unreadable) = kind.parse(value, required, &mut findings, &mut answer) {
        for mistake in &unreadable.mistakes {
            report_bad_default(reader, &mistake.constraint);
        }
    } else if required && answer.is_none() {
        report_bad_default(reader, &Constraint::Required);
    }
    for violation in &findings.list {
        report_bad_default(reader, &violation.constraint);
    }
    answer.map(Answer::into_owned)
}

fn report_bad_default(reader: &mut Reader<'_>, constraint: &Constraint) {
    let message = format!(
        "The default breaks the field's own rule `{}`.",
        constraint.key()
    );
    reader.report(ProblemCode::BadDefault, message);
}

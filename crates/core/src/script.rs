//! Scripts: text and questions for a terminal, step by step.

use serde_json::{Value, json};

use crate::check::Progress;
use crate::condition::Condition;
use crate::form::reader::{Object, Reader};
use crate::form::{Field, FieldTable, Form};
use crate::problem::{ProblemCode, Problems};

/// An ordered list of texts to show and fields to ask. The fields are a form.
///
/// ```
/// use entreat_core::Script;
/// use serde_json::json;
///
/// let script = Script::from_value(&json!([
///     {"say": "This takes a minute."},
///     {"ask": {"id": "name", "type": "text", "label": "Your name", "required": true}},
///     {"say": "Hello, Ada!",
///      "condition": {"operator": "equals", "field": "name", "value": "Ada"}},
/// ]))?;
/// let ada = json!({"name": "Ada"});
/// let progress = script.form().progress(&ada, &Default::default());
/// assert_eq!(script.steps().filter(|step| progress.includes(step)).count(), 3);
/// # Ok::<(), entreat_core::Problems>(())
/// ```
#[derive(Clone, Debug)]
pub struct Script {
    form: Form,
    steps: Vec<StoredStep>,
    definition: Value,
}

#[derive(Clone, Debug)]
enum StoredStep {
    Say(Box<str>, Option<Condition>),
    /// The index of the field in the form.
    Ask(usize),
}

/// One step of a script.
#[derive(Clone, Copy, Debug)]
pub enum ScriptStep<'s> {
    /// A text to show, always or while the condition holds.
    Say(&'s str, Option<&'s Condition>),
    /// A field to ask, while its conditions hold.
    Ask(&'s Field),
}

/// Allows a form of the maximum size with a text before and after each field.
const MAX_STEPS: usize = 300;

impl Script {
    /// Loads a script: a list of `{"say": text}` and `{"ask": field}`, each with an optional
    /// `condition`.
    ///
    /// Fails with every problem of the script.
    pub fn from_value(definition: &Value) -> Result<Self, Problems> {
        let steps = definition
            .as_array()
            .filter(|steps| steps.len() <= MAX_STEPS);
        let Some(steps) = steps else {
            let message = format!("A script is a list of at most {MAX_STEPS} steps.");
            return Err(Problems::one("", ProblemCode::WrongType, message));
        };
        let mut reader = Reader::new(false);
        let shapes: Vec<Option<Shape<'_>>> = steps
            .iter()
            .enumerate()
            .map(|(i, step)| reader.within(i, |reader| Shape::read(reader, step)))
            .collect();
        let asked: Vec<usize> = (0..steps.len())
            .filter(|i| matches!(shapes[*i], Some(Shape::Ask(..))))
            .collect();
        if asked.is_empty() && reader.has_no_problems() {
            reader.report(ProblemCode::Empty, "A script asks at least once.");
        }
        if !reader.has_no_problems() {
            return Err(reader.into_problems());
        }
        let form = read_form(&shapes)
            .map_err(|problems| problems.map_pointers(|pointer| step_pointer(pointer, &asked)))?;
        let table = FieldTable::new(&form);
        let mut next_field = 0;
        let mut stored = Vec::with_capacity(steps.len());
        for (i, shape) in shapes.iter().enumerate() {
            match shape {
                Some(Shape::Say(text, condition)) => {
                    let condition = condition.and_then(|condition| {
                        reader.within(i, |reader| {
                            reader.within("condition", |r| Condition::read(r, condition, &table))
                        })
                    });
                    stored.push(StoredStep::Say((*text).into(), condition));
                }
                Some(Shape::Ask(..)) => {
                    stored.push(StoredStep::Ask(next_field));
                    next_field += 1;
                }
                None => {}
            }
        }
        if !reader.has_no_problems() {
            return Err(reader.into_problems());
        }
        Ok(Self {
            form,
            steps: stored,
            definition: definition.clone(),
        })
    }

    /// The fields that the script asks, as a form.
    pub fn form(&self) -> &Form {
        &self.form
    }

    /// The steps in order.
    pub fn steps(&self) -> impl ExactSizeIterator<Item = ScriptStep<'_>> {
        self.steps.iter().map(|step| match step {
            StoredStep::Say(text, condition) => ScriptStep::Say(text, condition.as_ref()),
            StoredStep::Ask(index) => ScriptStep::Ask(&self.form.fields()[*index]),
        })
    }

    /// The definition that the script was loaded from.
    pub fn definition(&self) -> &Value {
        &self.definition
    }
}

impl Progress<'_> {
    /// Whether the current answers include a step of the script.
    pub fn includes(&self, step: &ScriptStep<'_>) -> bool {
        match step {
            ScriptStep::Say(_, condition) => condition.is_none_or(|c| self.holds(c)),
            ScriptStep::Ask(field) => self.active().any(|active| active.id() == field.id()),
        }
    }
}

/// A step before its conditions are read.
enum Shape<'v> {
    Say(&'v str, Option<&'v Value>),
    Ask(&'v Object, Option<&'v Value>),
}

impl<'v> Shape<'v> {
    fn read(reader: &mut Reader<'v>, step: &'v Value) -> Option<Self> {
        let object = reader.object(step)?;
        reader.check_keys(object, &["say", "ask", "condition"]);
        let condition = object.get("condition");
        match (object.get("say"), object.get("ask")) {
            (Some(_), None) => Some(Self::Say(reader.text_at(object, "say")?, condition)),
            (None, Some(_)) => {
                let field = reader.object_at(object, "ask")?;
                let has_own = field
                    .get("rendering")
                    .is_some_and(|rendering| rendering.get("conditionalDisplay").is_some());
                if has_own && condition.is_some() {
                    let message = "The field has a `conditionalDisplay` of its own.";
                    reader.report_at("condition", ProblemCode::Contradiction, message);
                }
                Some(Self::Ask(field, condition))
            }
            (Some(_), Some(_)) | (None, None) => {
                let message = "A step either says or asks something.";
                reader.report(ProblemCode::MissingKey, message);
                None
            }
        }
    }
}

fn read_form(shapes: &[Option<Shape<'_>>]) -> Result<Form, Problems> {
    let fields: Vec<Value> = shapes
        .iter()
        .filter_map(|shape| match shape.as_ref()? {
            Shape::Say(..) => None,
            Shape::Ask(field, condition) => {
                let mut field = Value::Object((*field).clone());
                if let Some(condition) = condition {
                    field["rendering"]["conditionalDisplay"] = (*condition).clone();
                }
                Some(field)
            }
        })
        .collect();
    Form::from_value(&json!({"id": "script", "title": "Script", "fields": fields}))
}

/// Converts a pointer into the form to a pointer into the script.
fn step_pointer(pointer: &str, asked: &[usize]) -> String {
    let Some(rest) = pointer.strip_prefix("/fields/") else {
        return pointer
            .strip_prefix("/fields")
            .unwrap_or(pointer)
            .to_owned();
    };
    let (index, rest) = rest.split_once('/').unwrap_or((rest, ""));
    let step = index.parse().ok().and_then(|index: usize| asked.get(index));
    let Some(step) = step else {
        return pointer.to_owned();
    };
    match rest {
        "" => format!("/{step}/ask"),
        rest => format!("/{step}/ask/{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(script: &Value) -> Vec<(String, ProblemCode)> {
        let problems = Script::from_value(script).unwrap_err();
        problems
            .iter()
            .map(|p| (p.pointer.clone(), p.code))
            .collect()
    }

    #[test]
    fn problems_are_told_where_they_stand_in_the_script() {
        let script = json!([
            {"say": "Hello"},
            {"ask": {"id": "a", "type": "text", "label": "A", "validation": {"minLenght": 2}}},
            {"say": "x", "condition": {"operator": "equals", "field": "b", "value": "y"}},
        ]);
        assert_eq!(
            problems(&script),
            [(
                "/1/ask/validation/minLenght".to_owned(),
                ProblemCode::UnknownKey
            )]
        );
        let script = json!([
            {"ask": {"id": "a", "type": "text", "label": "A"}},
            {"say": "x", "condition": {"operator": "equals", "field": "b", "value": "y"}},
        ]);
        assert_eq!(
            problems(&script),
            [("/1/condition/field".to_owned(), ProblemCode::UnknownField)]
        );
        assert_eq!(
            problems(&json!([{"say": "x", "ask": {}}, {}, 5])),
            [
                ("/0".to_owned(), ProblemCode::MissingKey),
                ("/1".to_owned(), ProblemCode::MissingKey),
                ("/2".to_owned(), ProblemCode::WrongType),
            ]
        );
        assert_eq!(
            problems(&json!([{"say": "x"}])),
            [(String::new(), ProblemCode::Empty)]
        );
        assert_eq!(
            problems(&json!({})),
            [(String::new(), ProblemCode::WrongType)]
        );
    }

    #[test]
    fn conditions_decide_what_is_said_and_asked() {
        let script = Script::from_value(&json!([
            {"ask": {"id": "deploy", "type": "boolean", "label": "Deploy?", "required": true}},
            {"say": "Careful now.",
             "condition": {"operator": "equals", "field": "deploy", "value": true}},
            {"ask": {"id": "when", "type": "date", "label": "When?"},
             "condition": {"operator": "equals", "field": "deploy", "value": true}},
        ]))
        .unwrap();
        let taken = |answers: Value| {
            let progress = script
                .form()
                .progress(&answers, &crate::CheckSettings::default());
            script
                .steps()
                .map(|step| progress.includes(&step))
                .collect::<Vec<_>>()
        };
        assert_eq!(taken(json!({})), [true, false, false]);
        assert_eq!(taken(json!({"deploy": true})), [true, true, true]);
        assert_eq!(taken(json!({"deploy": false})), [true, false, false]);
    }
}

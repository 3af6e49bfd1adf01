//! Answers on their way into a store and out again: secrets are sealed before, opened after.

use std::sync::Arc;

use entreat_core::form::FileRules;
use entreat_core::{Answers, ElicitationId, Form, Kind, SEALED};
use serde_json::{Map, Value};
use zeroize::{Zeroize as _, Zeroizing};

use crate::record::{Held, Payload};
use crate::vault::{Secret, Vault, VaultError};

impl Payload {
    /// The result of a form.
    pub(crate) fn of_answers(vault: &Vault, id: ElicitationId, answers: &Answers<'_>) -> Self {
        let text = to_text(&answers.sealed());
        let form = answers.form();
        if !has_secrets(form) {
            return Self { text, sealed: None };
        }
        let mut open = answers.reveal().to_json();
        let secrets: Vec<_> = sensitive(form)
            .filter_map(|field| Some((field, Zeroizing::new(to_text(&open.remove(field)?)))))
            .collect();
        Self::with_secrets(vault, id, text, &secrets)
    }

    /// What a person has typed so far.
    pub(crate) fn of_draft(
        vault: &Vault,
        id: ElicitationId,
        form: &Form,
        mut draft: Map<String, Value>,
    ) -> Self {
        let secrets: Vec<_> = sensitive(form)
            .filter_map(|field| {
                let value = std::mem::replace(draft.get_mut(field)?, SEALED.into());
                Some((field, Zeroizing::new(to_text(&value))))
            })
            .collect();
        Self::with_secrets(vault, id, to_text(&draft), &secrets)
    }

    /// A result that came from elsewhere.
    pub(crate) fn of_result(text: Box<str>) -> Self {
        Self { text, sealed: None }
    }

    fn with_secrets(
        vault: &Vault,
        id: ElicitationId,
        text: Box<str>,
        secrets: &[(&str, Zeroizing<Box<str>>)],
    ) -> Self {
        let sealed = (!secrets.is_empty()).then(|| {
            let fields = secrets.iter();
            Box::new(vault.seal(id, fields.map(|(field, text)| (*field, text.as_bytes()))))
        });
        Self { text, sealed }
    }

    /// The secrets, open.
    pub(crate) fn open(
        &self,
        vault: &Vault,
        id: ElicitationId,
    ) -> Result<Vec<(Box<str>, Secret)>, VaultError> {
        match &self.sealed {
            Some(sealed) => vault.open(id, sealed),
            None => Ok(Vec::new()),
        }
    }

    /// The payload as JSON, with these secrets in their places.
    pub(crate) fn to_json(&self, secrets: &[(Box<str>, Secret)]) -> Value {
        let mut value: Value = serde_json::from_str(&self.text).unwrap_or_default();
        if let Some(members) = value.as_object_mut() {
            for (field, secret) in secrets {
                if let Some(place) = members.get_mut(&**field) {
                    *place = serde_json::from_slice(secret.expose()).unwrap_or_default();
                }
            }
        }
        value
    }
}

/// JSON text without the space between its parts: what is kept fits on a line.
pub(crate) fn compact(text: &str) -> Box<str> {
    let mut in_text = false;
    let mut is_escaped = false;
    let is_part = |c: &char| {
        if in_text {
            in_text = is_escaped || *c != '"';
            is_escaped = !is_escaped && *c == '\\';
            return true;
        }
        in_text = *c == '"';
        !c.is_ascii_whitespace()
    };
    text.chars().filter(is_part).collect::<String>().into()
}

/// The size of answers as the limit counts it: JSON without files, as long as these stay within
/// what their fields allow. A draft is kept unchecked, so that has to be looked at here.
pub(crate) fn counted_size(form: &Form, text: &str) -> usize {
    let files = || {
        let fields = form.fields().iter();
        fields.filter_map(|field| match field.kind() {
            Kind::File(rules) => Some((field.id(), file_room(rules))),
            _ => None,
        })
    };
    if files().next().is_none() {
        return text.len();
    }
    let mut value: Map<String, Value> = serde_json::from_str(text).unwrap_or_default();
    let mut beyond = 0;
    for (field, room) in files() {
        let size = value.remove(field).map_or(0, |file| to_text(&file).len());
        beyond += size.saturating_sub(room);
    }
    to_text(&value).len() + beyond
}

/// How much JSON the files of a field may come to: base64, and a name and a type for each.
fn file_room(rules: &FileRules) -> usize {
    const NAMES: u64 = 4096;
    let each = (rules.max_size / 3 + 1)
        .saturating_mul(4)
        .saturating_add(NAMES);
    usize::try_from(each.saturating_mul(rules.max_items)).unwrap_or(usize::MAX)
}

/// The answers of a submission, whatever envelope they came in.
pub(crate) fn sent_answers<'a>(form: &Form, answers: &'a Value) -> Option<&'a Map<String, Value>> {
    let members = answers.as_object()?;
    let inner = members.get("responses").and_then(Value::as_object);
    Some(
        inner
            .filter(|_| form.field("responses").is_none())
            .unwrap_or(members),
    )
}

/// Those answers of a submission that are a field's.
pub(crate) fn known_answers(form: &Form, answers: &Value) -> Map<String, Value> {
    let sent = sent_answers(form, answers).into_iter().flatten();
    sent.filter(|(id, _)| form.field(id).is_some())
        .map(|(id, value)| (id.clone(), value.clone()))
        .collect()
}

impl Held {
    /// The draft as it was typed, secrets included.
    pub(crate) fn draft(
        &self,
        vault: &Vault,
        id: ElicitationId,
    ) -> Result<Map<String, Value>, VaultError> {
        let Some(draft) = &self.draft else {
            return Ok(Map::new());
        };
        match draft.to_json(&draft.open(vault, id)?) {
            Value::Object(members) => Ok(members),
            _ => Ok(Map::new()),
        }
    }
}

/// What was held, to be changed.
pub(crate) fn editable(held: Option<&Arc<Held>>) -> Held {
    held.map(|held| Held::clone(held)).unwrap_or_default()
}

fn has_secrets(form: &Form) -> bool {
    sensitive(form).next().is_some()
}

fn sensitive(form: &Form) -> impl Iterator<Item = &str> {
    let fields = form.fields().iter();
    fields
        .filter(|field| field.is_sensitive())
        .map(entreat_core::Field::id)
}

fn to_text(value: &impl serde::Serialize) -> Box<str> {
    // Most answers are short: written on the stack, they are allocated once, at their length.
    let mut room = [0; 256];
    let mut left = &mut room[..];
    let is_short = serde_json::to_writer(&mut left, value).is_ok();
    let unused = left.len();
    let length = room.len() - unused;
    let text = if is_short {
        str::from_utf8(&room[..length]).unwrap_or_default().into()
    } else {
        // Maps with text keys and JSON values: nothing in them can fail to serialise.
        serde_json::to_string(value).unwrap_or_default().into()
    };
    room[..length].zeroize();
    text
}

#[cfg(test)]
mod tests {
    use super::compact;

    #[test]
    fn only_the_space_between_parts_goes() {
        let text = "{ \"a b\" :\n [1.50 ,\t\"\\\" \\\\\" , \" x \" ] }\r\n";
        assert_eq!(&*compact(text), r#"{"a b":[1.50,"\" \\"," x "]}"#);
    }
}

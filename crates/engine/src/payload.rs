//! Answers on their way into a store and out again: secrets are sealed before, opened after.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use entreat_core::form::FileRules;
use entreat_core::{Answers, ElicitationId, Form, Kind, SEALED};
use serde::{Serialize, Serializer, ser::SerializeMap as _};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use zeroize::{Zeroize as _, Zeroizing};

use crate::record::{Held, Payload};
use crate::room::HeldPlace;
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
        draft: &Map<String, Value>,
    ) -> Self {
        let secrets: Vec<_> = sensitive(form)
            .filter_map(|field| Some((field, Zeroizing::new(to_text(draft.get(field)?)))))
            .collect();
        let is_secret = |id: &str| secrets.iter().any(|(field, _)| *field == id);
        // Written without a copy: a draft may hold files.
        let text = to_text(&Written(draft, is_secret));
        Self::with_secrets(vault, id, text, &secrets)
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

/// A draft as it is kept: with a placeholder for each secret.
struct Written<'d, F>(&'d Map<String, Value>, F);

impl<F: Fn(&str) -> bool> Serialize for Written<'_, F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(draft, is_secret) = self;
        let mut map = serializer.serialize_map(Some(draft.len()))?;
        for (id, value) in *draft {
            if is_secret(id) {
                map.serialize_entry(id, SEALED)?;
            } else {
                map.serialize_entry(id, value)?;
            }
        }
        map.end()
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
    // Not copied: they are what is large.
    let mut members: HashMap<Cow<'_, str>, &RawValue> =
        serde_json::from_str(text).unwrap_or_default();
    let mut beyond = 0;
    for (field, room) in files() {
        let size = members.remove(field).map_or(0, |file| file.get().len());
        beyond += size.saturating_sub(room);
    }
    let others = members.iter();
    let length = |(name, value): (&Cow<'_, str>, &&RawValue)| {
        // With its colon, and a comma or the brace that takes its place.
        to_text(name).len() + value.get().len() + 2
    };
    others.map(length).sum::<usize>() + 1 + usize::from(members.is_empty()) + beyond
}

/// How much JSON the files of a field may come to: base64, and a name and a type for each.
fn file_room(rules: &FileRules) -> usize {
    const NAMES: u64 = 4096;
    let each = (rules.max_size / 3 + 1)
        .saturating_mul(4)
        .saturating_add(NAMES);
    usize::try_from(each.saturating_mul(rules.max_items)).unwrap_or(usize::MAX)
}

/// Those answers of a submission that are a field's.
pub(crate) fn known_answers(form: &Form, answers: &Value) -> Map<String, Value> {
    let sent = form.answers_in(answers).into_iter().flatten();
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

/// What was held, to be changed; it takes room of its own then.
pub(crate) fn editable(held: Option<&Arc<Held>>) -> Held {
    Held {
        place: HeldPlace::default(),
        ..held.map(|held| Held::clone(held)).unwrap_or_default()
    }
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

fn to_text(value: &impl Serialize) -> Box<str> {
    // Most answers are short: written on the stack, they are allocated once, at their length.
    let mut room = [0; 256];
    let mut left = &mut room[..];
    let is_short = serde_json::to_writer(&mut left, value).is_ok();
    let unused = left.len();
    let length = room.len() - unused;
    let text = if is_short {
        str::from_utf8(&room[..length]).unwrap_or_default().into()
    } else {
        let mut length = Length(0);
        let _ = serde_json::to_writer(&mut length, value);
        let mut text = Vec::with_capacity(length.0);
        // Maps with text keys and JSON values: nothing in them can fail to serialise.
        let _ = serde_json::to_writer(&mut text, value);
        String::from_utf8(text).unwrap_or_default().into()
    };
    room[..length].zeroize();
    text
}

/// Counts what is written, so that room for all of it can be made at once: to grow would leave
/// copies behind, of secrets and of files.
struct Length(usize);

impl io::Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
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

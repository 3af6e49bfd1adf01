//! Answers as the store keeps them: text with placeholders, and sealed secrets.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use entreat_core::form::FileRules;
use entreat_core::{Answers, ElicitationId, Form, SEALED};
use serde::{Serialize, Serializer, ser::SerializeMap as _};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use zeroize::{Zeroize as _, Zeroizing};

use crate::answer_memory::MemoryPermit;
use crate::record::{AnswerState, Payload};
use crate::vault::{Secret, Vault, VaultError};

impl Payload {
    /// A form's result.
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

    /// A form's draft.
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
        // Serialised without a copy: a draft may contain files.
        let text = to_text(&RedactedDraft(draft, is_secret));
        Self::with_secrets(vault, id, text, &secrets)
    }

    /// A result without a form.
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

    /// Decrypts the secrets.
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

    /// Returns the payload as JSON, with placeholders replaced by these secrets.
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

/// Serialises a draft with a placeholder for each secret.
struct RedactedDraft<'d, F>(&'d Map<String, Value>, F);

impl<F: Fn(&str) -> bool> Serialize for RedactedDraft<'_, F> {
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

/// Removes whitespace between JSON tokens, so that the text fits on one line.
pub(crate) fn compact(text: &str) -> Box<str> {
    let mut in_string = false;
    let mut is_escaped = false;
    let is_significant = |c: &char| {
        if in_string {
            in_string = is_escaped || *c != '"';
            is_escaped = !is_escaped && *c == '\\';
            return true;
        }
        in_string = *c == '"';
        !c.is_ascii_whitespace()
    };
    text.chars()
        .filter(is_significant)
        .collect::<String>()
        .into()
}

/// Returns the size of answers as the size limit counts it: JSON without files, plus whatever
/// exceeds the files' own limits, which nothing has checked yet in a draft.
pub(crate) fn counted_size(form: &Form, text: &str) -> usize {
    let files = || {
        let fields = form.fields().iter();
        fields.filter_map(|field| Some((field.id(), max_file_json(field.kind().file_rules()?))))
    };
    if files().next().is_none() {
        return text.len();
    }
    // Borrowed: files are large.
    let mut members: HashMap<Cow<'_, str>, &RawValue> =
        serde_json::from_str(text).unwrap_or_default();
    let mut beyond = 0;
    for (field, limit) in files() {
        let size = members.remove(field).map_or(0, |file| file.get().len());
        beyond += size.saturating_sub(limit);
    }
    let others = members.iter();
    let length = |(name, value): (&Cow<'_, str>, &&RawValue)| {
        // With the colon, and a comma or brace.
        to_text(name).len() + value.get().len() + 2
    };
    others.map(length).sum::<usize>() + 1 + usize::from(members.is_empty()) + beyond
}

/// The maximum JSON size of a field's files: base64, with a name and a type each.
fn max_file_json(rules: &FileRules) -> usize {
    const NAMES: u64 = 4096;
    let each = (rules.max_size / 3 + 1)
        .saturating_mul(4)
        .saturating_add(NAMES);
    usize::try_from(each.saturating_mul(rules.max_items)).unwrap_or(usize::MAX)
}

/// Returns the answers to known fields.
pub(crate) fn known_answers(form: &Form, answers: &Value) -> Map<String, Value> {
    let sent = form.answers_in(answers).into_iter().flatten();
    sent.filter(|(id, _)| form.field(id).is_some())
        .map(|(id, value)| (id.clone(), value.clone()))
        .collect()
}

impl AnswerState {
    /// Returns the draft, secrets included.
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

/// Copies the stored answers for an edit, without their memory permit.
pub(crate) fn editable(held: Option<&Arc<AnswerState>>) -> AnswerState {
    AnswerState {
        memory: MemoryPermit::default(),
        ..held
            .map(|held| AnswerState::clone(held))
            .unwrap_or_default()
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
    // Most answers are short: serialised on the stack, then allocated once at their exact length.
    let mut buffer = [0; 256];
    let mut left = &mut buffer[..];
    let is_short = serde_json::to_writer(&mut left, value).is_ok();
    let unused = left.len();
    let length = buffer.len() - unused;
    let text = if is_short {
        str::from_utf8(&buffer[..length]).unwrap_or_default().into()
    } else {
        let mut length = ByteCounter(0);
        let _ = serde_json::to_writer(&mut length, value);
        let mut text = Vec::with_capacity(length.0);
        // Maps with string keys and JSON values cannot fail to serialise.
        let _ = serde_json::to_writer(&mut text, value);
        String::from_utf8(text).unwrap_or_default().into()
    };
    buffer[..length].zeroize();
    text
}

/// Counts bytes, so that the buffer can be allocated at once: growing it would leave copies of
/// secrets in freed memory.
struct ByteCounter(usize);

impl io::Write for ByteCounter {
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

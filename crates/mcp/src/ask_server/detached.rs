//! A question that nobody waits for, as its status is read: from this engine, or from the service
//! that keeps it.

use entreat_core::{Answers, CancelReason, CheckSettings, Form, Presented, ReferenceKind, Status};
use entreat_engine::Snapshot;
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::call::errors_in;
use crate::workspace::SecretTarget;

/// The member of a question's metadata that tells where its secret is saved.
const SECRET_TO: &str = "dev.entreat/secret_to";
/// The member of a question's metadata that tells on whose behalf it is asked.
const PRINCIPAL: &str = "dev.entreat/principal";

/// What became of a question so far.
pub(crate) struct Record {
    pub(super) id: String,
    pub(super) status: Status,
    pub(super) reason: Option<CancelReason>,
    pub(super) shown: Presented,
    /// What was wrong with the last answer.
    pub(super) errors: Vec<String>,
    pub(super) secret_to: Option<SecretTarget>,
    pub(super) answers: Option<Answers<'static>>,
}

/// The metadata of a question.
pub(super) fn metadata(principal: &str, secret_to: Option<&SecretTarget>) -> Value {
    let mut metadata = json!({ PRINCIPAL: principal });
    if let Some(target) = secret_to {
        metadata[SECRET_TO] = json!(target);
    }
    metadata
}

fn secret_in(metadata: Option<&Value>) -> Option<SecretTarget> {
    SecretTarget::deserialize(metadata?.get(SECRET_TO)?).ok()
}

impl Record {
    pub(super) fn of(snapshot: &Snapshot) -> Result<Self, String> {
        let extras = snapshot.record().request.extras.as_ref();
        let answers = snapshot.answers().transpose();
        Ok(Self {
            id: snapshot.id().to_string(),
            status: snapshot.status(),
            reason: match snapshot.outcome() {
                Some(entreat_core::Outcome::Cancelled(reason)) => Some(reason),
                _ => None,
            },
            shown: snapshot.lifecycle().presented(),
            errors: errors_in(snapshot),
            secret_to: secret_in(extras.and_then(|it| it.metadata.as_ref())),
            answers: answers.map_err(|error| error.to_string())?,
        })
    }

    /// Reads a record of the control API; `None` if it belongs to another principal.
    pub(crate) fn read(record: &Value, form: &Value, principal: &str) -> Option<Self> {
        let metadata = record.get("metadata");
        if metadata?.get(PRINCIPAL)?.as_str()? != principal {
            return None;
        }
        let errors = record["previousErrors"].as_array();
        let message = |error: &Value| Some(error["message"].as_str()?.to_owned());
        Some(Self {
            id: record["elicitationId"].as_str()?.to_owned(),
            status: Status::deserialize(&record["status"]).ok()?,
            reason: CancelReason::deserialize(&record["reason"]).ok(),
            shown: match record["shown"] {
                Value::Bool(true) => Presented::Yes,
                Value::Bool(false) => Presented::No,
                _ => Presented::Unknown,
            },
            errors: errors.into_iter().flatten().filter_map(message).collect(),
            secret_to: secret_in(metadata),
            answers: answers_in(&record["result"], form),
        })
    }
}

/// Reads answers that the service has checked.
fn answers_in(result: &Value, form: &Value) -> Option<Answers<'static>> {
    if result.is_null() {
        return None;
    }
    let form = Form::from_value(form).ok()?;
    let mut result = result.clone();
    if let Some(members) = result.as_object_mut() {
        // An absent member would get the field's default.
        for field in form.fields() {
            members.entry(field.id()).or_insert(Value::Null);
        }
    }
    let settings = CheckSettings {
        references: ReferenceKind::ALL.to_vec(),
        ..CheckSettings::default()
    };
    let answers = form.check_with(&result, &settings).ok()?;
    Some(answers.into_owned())
}

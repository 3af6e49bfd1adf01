//! Endpoints for the script: the state of a question, and saving a draft while typing.

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use entreat_engine::{ActError, Snapshot};
use serde_json::{Map, Value, json};

use super::field::Presence;
use super::frame::Clock;
use super::posted::Posted;
use super::question::{by_field, check_settings, is_over};
use super::sanitize::sanitize;
use super::visit::{QuestionVisit, Visit};
use crate::http::json;

/// `GET …/state`: whether the question is live, and the remaining time.
pub(super) async fn state(question: QuestionVisit) -> Response {
    respond(&state_of(&question.visit, &question.snapshot))
}

/// `POST …/draft`: saves the draft, and returns active fields and errors.
pub(super) async fn draft(question: QuestionVisit, headers: HeaderMap, body: Body) -> Response {
    let mut posted = match Posted::read(&question, &headers, body).await {
        Ok(posted) => posted,
        Err(response) => return response,
    };
    match save(&question, &mut posted).await {
        Ok(state) => respond(&state),
        Err(error) if is_over(&error) => respond(&json!({"live": false})),
        Err(ActError::NotFound) => question.visit.site.not_found(question.visit.texts),
        Err(ActError::TooLarge { .. }) => {
            let state = json!({"live": true, "complaint": question.visit.texts.too_large});
            json(StatusCode::PAYLOAD_TOO_LARGE, state.to_string())
        }
        Err(error) => question.visit.internal_error(&error),
    }
}

async fn save(question: &QuestionVisit, posted: &mut Posted) -> Result<Value, ActError> {
    let elicitation = question.elicitation();
    let values = question.save_draft(posted).await?;
    if posted.action().0 == "extend" {
        match elicitation.extend(None).await {
            Ok(_) | Err(ActError::Extension(_)) => {}
            Err(error) => return Err(error),
        }
    }
    let snapshot = elicitation.status().await?;
    let mut state = state_of(&question.visit, &snapshot);
    state["fields"] = field_states(question, values);
    Ok(state)
}

/// The presence of all fields, and the errors of those that were answered.
fn field_states(question: &QuestionVisit, values: Map<String, Value>) -> Value {
    let tree = Value::Object(values);
    let settings = check_settings();
    let progress = question.form().progress(&tree, &settings);
    let errors = progress.errors(&question.visit.messages);
    let errors = errors.iter().map(|error| (&*error.field, &*error.message));
    let mut sentences = by_field(errors);
    let fields = question.form().fields().iter().enumerate();
    fields
        .filter(|(_, field)| !field.rendering().hidden)
        .map(|(place, field)| {
            let error = sentences.remove(field.id()).unwrap_or_default();
            json!({
                "place": place,
                "presence": Presence::of(field, &progress).as_str(),
                "error": sanitize(&error),
            })
        })
        .collect()
}

fn state_of(visit: &Visit, snapshot: &Snapshot) -> Value {
    let clock = Clock::new(snapshot, visit.site.engine.now(), visit.texts);
    json!({
        "live": snapshot.lifecycle().is_live(),
        "left": clock.left_ms,
        "warn": clock.warn_ms,
        "extend": clock.can_extend,
    })
}

fn respond(state: &Value) -> Response {
    json(StatusCode::OK, state.to_string())
}

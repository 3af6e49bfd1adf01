//! Endpoints for the script: the state of a question, and saving a draft while typing.

use std::collections::HashSet;

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
use super::texts::Texts;
use super::visit::{QuestionVisit, Refused, Visit};
use crate::http::json;

/// `GET …/state`: whether the question is live, and the remaining time.
pub(super) async fn state(question: QuestionVisit) -> Response {
    respond(&state_of(&question.visit, &question.snapshot))
}

/// `POST …/draft`: saves the draft, and returns active fields and errors.
pub(super) async fn draft(
    question: Result<QuestionVisit, Refused>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let mut question = match question {
        Ok(question) => question,
        Err(refused) => {
            let texts = refused.texts();
            return match refused.save_typed(&headers, body).await {
                (true, _) => signed_out(texts),
                (false, response) => response,
            };
        }
    };
    let mut posted = match Posted::read(&question, &headers, body).await {
        Ok(posted) => posted,
        Err(response) => return response,
    };
    if question.is_of_others(&posted) {
        question.save_for_author(&mut posted).await;
        return signed_out(Some(question.visit.texts));
    }
    match save(&question, &mut posted).await {
        Ok(state) => respond(&state),
        Err(error) if is_over(&error) => respond(&json!({"live": false})),
        Err(ActError::NotFound) => question.visit.not_found(None),
        Err(ActError::TooLarge { .. }) => {
            let state = json!({"live": true, "complaint": question.visit.texts.too_large});
            json(StatusCode::PAYLOAD_TOO_LARGE, state.to_string())
        }
        Err(error) => question.visit.internal_error(&error),
    }
}

/// What was typed is saved, but for somebody who is not signed in any more.
fn signed_out(texts: Option<&'static Texts>) -> Response {
    let complaint = texts.map_or("", |texts| texts.signed_out_meanwhile);
    let state = json!({"live": true, "complaint": complaint});
    json(StatusCode::FORBIDDEN, state.to_string())
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
    let (fields, others) = field_states(question, values, posted, &snapshot);
    state["fields"] = fields;
    state["others"] = others;
    Ok(state)
}

/// The presence of all fields, and the errors of those that were answered; of all if the page was
/// checked. Also the errors that belong to no field.
fn field_states(
    question: &QuestionVisit,
    values: Map<String, Value>,
    posted: &Posted,
    snapshot: &Snapshot,
) -> (Value, Value) {
    let tree = Value::Object(values);
    let settings = check_settings();
    let form = question.form();
    let progress = form.progress(&tree, &settings);
    let mut errors: Vec<(String, String)> = if posted.is_checked() {
        let errors = question.all_errors(&tree, snapshot).into_iter();
        errors.map(|error| (error.field, error.message)).collect()
    } else {
        let errors = progress.errors(&question.visit.messages).into_iter();
        errors.map(|error| (error.field, error.message)).collect()
    };
    // Secrets that are not valid are still in their inputs, though not in the draft.
    let secrets = posted.invalid_secrets.iter();
    let secrets = secrets.map(|(place, message)| (form.fields()[*place].id(), message));
    let ids: HashSet<&str> = secrets.clone().map(|(id, _)| id).collect();
    errors.retain(|(id, _)| !ids.contains(&**id));
    errors.extend(secrets.map(|(id, message)| (id.to_owned(), message.clone())));
    let mut sentences = by_field(errors.iter().map(|(id, message)| (&**id, &**message)));
    let fields = form.fields().iter().enumerate();
    let fields = fields
        .filter(|(_, field)| !field.rendering().hidden)
        .map(|(place, field)| {
            let errors = sentences.remove(field.id()).unwrap_or_default();
            let errors: Vec<_> = errors.iter().map(|error| sanitize(error)).collect();
            json!({
                "place": place,
                "presence": Presence::of(field, &progress).as_str(),
                "errors": errors,
            })
        })
        .collect();
    let others = errors.iter().filter(|(id, _)| form.field(id).is_none());
    let others = others.map(|(_, message)| sanitize(message)).collect();
    (fields, others)
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

//! What the script asks: how a question stands, and what follows from what was typed so far.

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use entreat_engine::{ActError, Snapshot};
use serde_json::{Map, Value, json};

use super::field::Presence;
use super::frame::Clock;
use super::posted::Posted;
use super::question::{by_field, check_settings, is_over};
use super::shown::shown;
use super::visit::{Asked, Visit};
use crate::http::json;

/// `GET …/state`: whether it is still open, and for how long.
pub(super) async fn state(asked: Asked) -> Response {
    tell(&standing(&asked.visit, &asked.snapshot))
}

/// `POST …/draft`: keeps what was typed, and tells what it means for the form.
pub(super) async fn draft(asked: Asked, headers: HeaderMap, body: Body) -> Response {
    let mut posted = match Posted::read(&asked, &headers, body).await {
        Ok(posted) => posted,
        Err(response) => return response,
    };
    match keep(&asked, &mut posted).await {
        Ok(told) => tell(&told),
        Err(error) if is_over(&error) => tell(&json!({"live": false})),
        Err(ActError::NotFound) => asked.visit.site.not_found(asked.visit.words),
        Err(ActError::TooLarge { .. }) => {
            let told = json!({"live": true, "complaint": asked.visit.words.too_large});
            json(StatusCode::PAYLOAD_TOO_LARGE, told.to_string())
        }
        Err(error) => asked.visit.broken(&error),
    }
}

async fn keep(asked: &Asked, posted: &mut Posted) -> Result<Value, ActError> {
    let elicitation = asked.elicitation();
    let values = asked.keep(posted).await?;
    if posted.action().0 == "extend" {
        match elicitation.extend(None).await {
            Ok(_) | Err(ActError::Extension(_)) => {}
            Err(error) => return Err(error),
        }
    }
    let snapshot = elicitation.status().await?;
    let mut told = standing(&asked.visit, &snapshot);
    told["fields"] = consequences(asked, values);
    Ok(told)
}

/// Which fields take part now, and what is wrong with those that were answered.
fn consequences(asked: &Asked, values: Map<String, Value>) -> Value {
    let tree = Value::Object(values);
    let settings = check_settings();
    let progress = asked.form().progress(&tree, &settings);
    let errors = progress.errors(&asked.visit.messages);
    let errors = errors.iter().map(|error| (&*error.field, &*error.message));
    let mut sentences = by_field(errors);
    let fields = asked.form().fields().iter().enumerate();
    fields
        .filter(|(_, field)| !field.rendering().hidden)
        .map(|(place, field)| {
            let error = sentences.remove(field.id()).unwrap_or_default();
            json!({
                "place": place,
                "presence": Presence::of(field, &progress).as_str(),
                "error": shown(&error),
            })
        })
        .collect()
}

fn standing(visit: &Visit, snapshot: &Snapshot) -> Value {
    let clock = Clock::new(snapshot, visit.site.engine.now(), visit.words);
    json!({
        "live": snapshot.lifecycle().is_live(),
        "left": clock.left_ms,
        "warn": clock.warn_ms,
        "extend": clock.can_extend,
    })
}

fn tell(told: &Value) -> Response {
    json(StatusCode::OK, told.to_string())
}

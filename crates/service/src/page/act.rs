//! What a person does on the page of a question. Each act ends with a redirect to a page that can
//! be looked at again.

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use entreat_core::{CancelReason, Kind, Presented, ReferenceKind};
use entreat_engine::ActError;
use serde_json::{Map, Value, json};

use super::closing;
use super::field::Presence;
use super::file_view::{kept, location};
use super::posted::Posted;
use super::question::{Look, check_settings, is_over, page, page_with};
use super::visit::Asked;

pub(super) async fn act(asked: Asked, headers: HeaderMap, body: Body) -> Response {
    let posted = match Posted::read(&asked, &headers, body).await {
        Ok(posted) => posted,
        Err(response) => return response,
    };
    match perform(&asked, &posted, &headers).await {
        Ok(response) => response,
        Err(error) if is_over(&error) => {
            let answers = posted.answers(asked.form(), &Map::new());
            closing::late(&asked, answers)
        }
        Err(ActError::NotFound) => asked.visit.site.not_found(asked.visit.words),
        Err(error) => asked.visit.broken(&error),
    }
}

async fn perform(
    asked: &Asked,
    posted: &Posted,
    headers: &HeaderMap,
) -> Result<Response, ActError> {
    let here = asked.visit.here();
    let to = |rest: &str| asked.visit.send_to(&format!("{here}{rest}"));
    let elicitation = asked.elicitation();
    let (word, argument) = posted.action();
    match word {
        "decline" => {
            elicitation.decline_as(Presented::Yes).await?;
            asked.forget_files().await;
            return Ok(to(""));
        }
        "cancel" => {
            elicitation
                .cancel_as(CancelReason::UserCancelled, Presented::Yes)
                .await?;
            asked.forget_files().await;
            return Ok(to(""));
        }
        _ => {}
    }
    let before = elicitation.drafted().await?;
    let mut answers = posted.answers(asked.form(), &before);
    asked.amend(&mut answers, &before, word, argument);
    // A review has no fields; what it sends was kept before.
    let is_of_fields = !posted.shown().is_empty() || !answers.is_empty();
    let mut after = before.clone();
    if is_of_fields {
        let drafted = elicitation.draft(&Value::Object(answers.clone())).await;
        after.extend(answers);
        if let Err(ActError::TooLarge { .. }) = drafted {
            let look = Look {
                complaint: Some(asked.visit.words.too_large),
                ..Look::default()
            };
            return Ok(page_with(asked, &after, look, StatusCode::PAYLOAD_TOO_LARGE).await);
        }
        drafted?;
        asked.let_go(&before, &after).await;
    }
    if !posted.refused.is_empty() {
        let look = Look {
            refused: posted.refused.clone(),
            ..Look::default()
        };
        return Ok(page_with(asked, &after, look, StatusCode::UNPROCESSABLE_ENTITY).await);
    }
    let place = place_of(argument).unwrap_or_default();
    match word {
        "extend" => match elicitation.extend(None).await {
            Ok(_) if argument == "review" => Ok(to("/review")),
            Ok(_) => Ok(to("?extended")),
            Err(ActError::Extension(_)) => Ok(to("?not-extended")),
            Err(error) => Err(error),
        },
        "test" => Ok(to(&format!("?test={place}#q{place}"))),
        "forget" | "remove" => Ok(to(&format!("#q{place}"))),
        "review" => Ok(to(asked.after_review(&after, posted))),
        "send" => asked.send(&after, headers).await,
        // Whatever else: what was typed is kept, and what follows from it is shown.
        _ => Ok(to(asked.after_step(&after, posted))),
    }
}

impl Asked {
    /// Takes out what a button says is to go.
    fn amend(
        &self,
        answers: &mut Map<String, Value>,
        before: &Map<String, Value>,
        word: &str,
        argument: &str,
    ) {
        let field = place_of(argument).and_then(|place| self.form().fields().get(place));
        let Some(field) = field else {
            return;
        };
        let (_, rest) = argument.split_once('.').unwrap_or_default();
        match word {
            "forget" => {
                answers.insert(field.id().to_owned(), Value::Null);
            }
            "remove" => {
                let before = answers.get(field.id()).or_else(|| before.get(field.id()));
                let others = kept(before).filter(|file| location(file) != Some(rest));
                let others: Vec<Value> = others.cloned().collect();
                answers.insert(field.id().to_owned(), others.into());
            }
            _ => {}
        }
    }

    /// Where it goes on after a review was asked for.
    fn after_review(&self, answers: &Map<String, Value>, posted: &Posted) -> &'static str {
        let tree = Value::Object(answers.clone());
        let new = self.newly_shown(&tree, posted);
        let errors = match self.form().check_with(&tree, &check_settings()) {
            Ok(_) => return "/review",
            Err(violations) => violations.errors(&self.visit.messages),
        };
        // Questions that were not on the page cannot have been answered.
        let is_new = |field: &str| new.contains(&field);
        if !new.is_empty() && errors.iter().all(|error| is_new(&error.field)) {
            return "?step";
        }
        "?check"
    }

    fn after_step(&self, answers: &Map<String, Value>, posted: &Posted) -> &'static str {
        let tree = Value::Object(answers.clone());
        if self.newly_shown(&tree, posted).is_empty() {
            ""
        } else {
            "?step"
        }
    }

    /// The fields that became active by what was sent.
    fn newly_shown(&self, answers: &Value, posted: &Posted) -> Vec<&str> {
        let settings = check_settings();
        let progress = self.form().progress(answers, &settings);
        let shown = posted.shown();
        let fields = self.form().fields().iter().enumerate();
        fields
            .filter(|(place, field)| {
                !shown.contains(place)
                    && !field.rendering().readonly
                    && Presence::of(field, &progress) == Presence::Active
            })
            .map(|(_, field)| field.id())
            .collect()
    }

    /// Sends the answers: an attempt, which the engine counts.
    async fn send(
        &self,
        answers: &Map<String, Value>,
        headers: &HeaderMap,
    ) -> Result<Response, ActError> {
        let visit = &self.visit;
        let here = visit.here();
        let form = self.form();
        let fixed = |id: &str| {
            form.field(id)
                .is_some_and(|field| field.rendering().readonly)
        };
        let kept = answers;
        let mut answers: Map<String, Value> = kept.clone();
        answers.retain(|id, _| !fixed(id));
        let mut elicitation = self.elicitation();
        if let Some(uploads) = &visit.site.uploads {
            match uploads
                .deliver(self.id, form, answers, &visit.site.url)
                .await
            {
                Ok(delivered) => answers = delivered,
                Err(error) => {
                    tracing::error!(%error, "files could not be delivered");
                    return Ok(visit.refuse(StatusCode::INTERNAL_SERVER_ERROR, visit.words.failed));
                }
            }
            elicitation = elicitation.vouching_for(ReferenceKind::Url);
        }
        let submission = submission(self, headers);
        match elicitation
            .submit_with(&Value::Object(answers), Some(submission))
            .await
        {
            Err(ActError::Invalid(refusal)) if refusal.retry_allowed => {
                // What was refused is the draft now, with files as they were to be handed over;
                // the page shows them where they are kept.
                let is_file = |id: &str| {
                    form.field(id)
                        .is_some_and(|f| matches!(f.kind(), Kind::File(_)))
                };
                let files: Map<String, Value> = kept
                    .clone()
                    .into_iter()
                    .filter(|(id, _)| is_file(id))
                    .collect();
                if !files.is_empty() {
                    self.elicitation().draft(&Value::Object(files)).await?;
                }
                Ok(visit.send_to(&format!("{here}?check")))
            }
            Ok(_) | Err(ActError::Invalid(_)) => Ok(visit.send_to(&here)),
            Err(ActError::TooLarge { .. }) => {
                let look = Look {
                    complaint: Some(visit.words.too_large),
                    ..Look::default()
                };
                Ok(page(self, look).await)
            }
            Err(error) => Err(error),
        }
    }
}

/// The place of the field that a button is about, which stands before what it is about there.
fn place_of(argument: &str) -> Option<usize> {
    argument.split('.').next()?.parse().ok()
}

/// What the page says about a submission.
fn submission(asked: &Asked, headers: &HeaderMap) -> Value {
    let agent = headers
        .get(header::USER_AGENT)
        .and_then(|agent| agent.to_str().ok());
    let agent: String = agent.unwrap_or_default().chars().take(256).collect();
    json!({
        "submitted_at": asked.visit.site.engine.now(),
        "user_agent": agent,
    })
}

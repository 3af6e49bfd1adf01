//! What a person does on the page of a question. Each act ends with a redirect to a page that can
//! be looked at again.

use std::collections::HashSet;

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use entreat_core::{CancelReason, Presented, ReferenceKind};
use entreat_engine::ActError;
use serde_json::{Map, Value, json};

use super::closing;
use super::field::Presence;
use super::keep::place_of;
use super::posted::Posted;
use super::question::{Look, check_settings, is_over, page, page_with};
use super::visit::Asked;

pub(super) async fn act(asked: Asked, headers: HeaderMap, body: Body) -> Response {
    let mut posted = match Posted::read(&asked, &headers, body).await {
        Ok(posted) => posted,
        Err(response) => return response,
    };
    match perform(&asked, &mut posted, &headers).await {
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
    posted: &mut Posted,
    headers: &HeaderMap,
) -> Result<Response, ActError> {
    let here = asked.visit.here();
    let to = |rest: &str| asked.visit.send_to(&format!("{here}{rest}"));
    let elicitation = asked.elicitation();
    let (word, argument) = posted.action();
    let (word, argument) = (word.to_owned(), argument.to_owned());
    let (word, argument) = (&*word, &*argument);
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
    // A review has no fields; what it sends was kept before.
    let after = if posted.is_empty() && !matches!(word, "forget" | "remove") {
        elicitation.drafted().await?
    } else {
        match asked.keep(posted).await {
            Err(ActError::TooLarge { .. }) => return asked.refuse_size(posted).await,
            kept => kept?,
        }
    };
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
        "send" => asked.send(after, headers).await,
        // Whatever else: what was typed is kept, and what follows from it is shown.
        _ => Ok(to(asked.after_step(&after, posted))),
    }
}

impl Asked {
    /// The page with what was sent and is too large to be kept.
    async fn refuse_size(&self, posted: &Posted) -> Result<Response, ActError> {
        let mut values = self.elicitation().drafted().await?;
        let answers = posted.answers(self.form(), &values);
        values.extend(answers);
        let look = Look {
            complaint: Some(self.visit.words.too_large),
            ..Look::default()
        };
        Ok(page_with(self, &values, look, StatusCode::PAYLOAD_TOO_LARGE).await)
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
        if !new.is_empty() && errors.iter().all(|error| new.contains(&*error.field)) {
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
    fn newly_shown(&self, answers: &Value, posted: &Posted) -> HashSet<&str> {
        let settings = check_settings();
        let progress = self.form().progress(answers, &settings);
        let shown = posted.shown(self.form());
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

    /// Sends what was typed: an attempt, which the engine counts. What somebody types or uploads
    /// at the same moment, in another tab as it may be, is sent too or comes too late.
    async fn send(
        &self,
        mut draft: Map<String, Value>,
        headers: &HeaderMap,
    ) -> Result<Response, ActError> {
        for _ in 0..SENDS {
            match self.try_to_send(&draft, headers).await {
                Err(ActError::DraftChanged) => draft = self.elicitation().drafted().await?,
                sent => return sent,
            }
        }
        // Somebody else is busy with it: a look at what it has become.
        Ok(self.visit.send_to(&format!("{}/review", self.visit.here())))
    }

    async fn try_to_send(
        &self,
        draft: &Map<String, Value>,
        headers: &HeaderMap,
    ) -> Result<Response, ActError> {
        let visit = &self.visit;
        let here = visit.here();
        let form = self.form();
        let fixed = |id: &str| {
            form.field(id)
                .is_some_and(|field| field.rendering().readonly)
        };
        let mut answers = draft.clone();
        answers.retain(|id, _| !fixed(id));
        let mut elicitation = self.elicitation();
        if let Some(uploads) = &visit.site.uploads {
            let delivered = uploads.deliver(self.id, form, answers, &visit.site.url);
            match delivered.await {
                Ok(delivered) => answers = delivered,
                Err(error) => {
                    if elicitation.drafted().await? != *draft {
                        // A file was taken out at this very moment.
                        return Err(ActError::DraftChanged);
                    }
                    tracing::error!(%error, "files could not be delivered");
                    return Ok(visit.refuse(StatusCode::INTERNAL_SERVER_ERROR, visit.words.failed));
                }
            }
            elicitation = elicitation.vouching_for(ReferenceKind::Url);
        }
        let submission = submission(self, headers);
        let answers = Value::Object(answers);
        match elicitation
            .submit_draft(draft, &answers, Some(submission))
            .await
        {
            Err(ActError::Invalid(refusal)) if refusal.retry_allowed => {
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

/// So often a draft is sent that others change at the same time: by then, all files that can be
/// on their way at once have arrived.
const SENDS: usize = 64;

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

//! Form posts to a question's page. Each ends with a redirect, so that pages can be reloaded.

use std::collections::{BTreeSet, HashSet};

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use entreat_core::{CancelReason, Presented, ReferenceKind};
use entreat_engine::{ActError, Elicitation};
use serde_json::{Map, Value, json};

use super::closing;
use super::draft::field_index;
use super::field::Presence;
use super::posted::Posted;
use super::question::{AnswerError, ViewOptions, check_settings, is_over, page, page_with};
use super::visit::{QuestionVisit, Refused};

pub(super) async fn handle(
    question: Result<QuestionVisit, Refused>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let mut question = match question {
        Ok(question) => question,
        Err(refused) => return refused.save_typed(&headers, body).await.1,
    };
    let mut posted = match Posted::read(&question, &headers, body).await {
        Ok(posted) => posted,
        Err(response) => return response,
    };
    if question.is_of_others(&posted) {
        question.save_for_author(&mut posted).await;
        return question.visit.redirect_to(&question.visit.here());
    }
    match perform(&mut question, &mut posted, &headers).await {
        Ok(response) => response,
        Err(error) if is_over(&error) => {
            let answers = posted.answers(question.form(), &Map::new());
            closing::late(&question, answers)
        }
        Err(ActError::NotFound) => question.visit.not_found(None),
        Err(error) => question.visit.internal_error(&error),
    }
}

async fn perform(
    question: &mut QuestionVisit,
    posted: &mut Posted,
    headers: &HeaderMap,
) -> Result<Response, ActError> {
    let here = question.visit.here();
    let to = |rest: &str| question.visit.redirect_to(&format!("{here}{rest}"));
    let elicitation = question.elicitation();
    let (word, argument) = posted.action();
    let (word, argument) = (word.to_owned(), argument.to_owned());
    let (word, argument) = (&*word, &*argument);
    match word {
        "decline" => {
            elicitation.decline_as(Presented::Yes).await?;
            question.remove_files().await;
            return Ok(to(""));
        }
        "cancel" => {
            elicitation
                .cancel_as(CancelReason::UserCancelled, Presented::Yes)
                .await?;
            question.remove_files().await;
            return Ok(to(""));
        }
        _ => {}
    }
    // A review has no fields; its answers are already in the draft.
    let after = if posted.is_empty() && !matches!(word, "forget" | "remove") {
        question.read_draft().await?
    } else {
        match question.save_draft(posted).await {
            Err(ActError::TooLarge { .. }) => return question.too_large_page(posted).await,
            kept => kept?,
        }
    };
    let extended = if word == "extend" {
        Some(is_extended(&elicitation).await?)
    } else {
        None
    };
    let refused = question.refused(posted);
    if !refused.is_empty() {
        let texts = question.visit.texts;
        let notice = |extended| {
            if extended {
                texts.extended
            } else {
                texts.not_extended
            }
        };
        let options = ViewOptions {
            check: matches!(word, "review" | "send"),
            notice: extended.map(notice),
            refused,
            ..ViewOptions::default()
        };
        if extended == Some(true) {
            question.snapshot = elicitation.status().await?;
        }
        return Ok(page_with(question, &after, options, StatusCode::UNPROCESSABLE_ENTITY).await);
    }
    let place = field_index(argument).unwrap_or_default();
    match word {
        "extend" => Ok(to(match extended {
            Some(true) if argument == "review" => "/review",
            Some(true) => "?extended",
            _ => "?not-extended",
        })),
        "test" => Ok(to(&format!("?test={place}#q{place}"))),
        "forget" | "remove" => Ok(to(&format!("#q{place}"))),
        "review" => Ok(to(question.after_review(&after, posted))),
        #[cfg(feature = "sign-in")]
        "send" if !super::sign_in::is_recent(question) => Ok(to("/again")),
        "send" => question.submit(after, headers).await,
        // Any other action saves the draft and shows the fields that became active.
        _ => Ok(to(question.after_step(&after, posted))),
    }
}

/// Whether there was more time to get.
async fn is_extended(elicitation: &Elicitation) -> Result<bool, ActError> {
    match elicitation.extend(None).await {
        Ok(_) => Ok(true),
        Err(ActError::Extension(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

impl QuestionVisit {
    /// What was not kept, and why, by field index.
    fn refused(&self, posted: &Posted) -> Vec<(usize, String)> {
        let mut refused = posted.refused.clone();
        for (place, message) in &posted.invalid_secrets {
            refused.push((*place, message.clone()));
        }
        let places: BTreeSet<usize> = posted.invalid_secrets.iter().map(|(at, _)| *at).collect();
        let not_kept = self.visit.texts.secret_not_kept;
        refused.extend(places.into_iter().map(|place| (place, not_kept.to_owned())));
        refused
    }

    /// The page with the submitted values, which are too large to store.
    async fn too_large_page(&self, posted: &Posted) -> Result<Response, ActError> {
        let mut values = self.read_draft().await?;
        let answers = posted.answers(self.form(), &values);
        values.extend(answers);
        let options = ViewOptions {
            form_error: Some(self.visit.texts.too_large),
            ..ViewOptions::default()
        };
        Ok(page_with(self, &values, options, StatusCode::PAYLOAD_TOO_LARGE).await)
    }

    /// Where to redirect after a review was requested.
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

    /// The fields that became active through this post.
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

    /// Submits the draft, which counts as an attempt. Edits and uploads that happen concurrently,
    /// for example in another tab, are either included or rejected as late.
    async fn submit(
        &self,
        mut draft: Map<String, Value>,
        headers: &HeaderMap,
    ) -> Result<Response, ActError> {
        if self.only_lacks_answers(&draft) {
            return Ok(self
                .visit
                .redirect_to(&format!("{}?check", self.visit.here())));
        }
        for _ in 0..MAX_SUBMIT_ATTEMPTS {
            match self.try_submit(&draft, headers).await {
                Err(ActError::DraftChanged) => draft = self.read_draft().await?,
                sent => return sent,
            }
        }
        // The draft keeps changing: show its current state.
        Ok(self
            .visit
            .redirect_to(&format!("{}/review", self.visit.here())))
    }

    /// Whether nothing is wrong but that answers are missing. Somebody who pressed “Send” too early
    /// has not used up an attempt.
    fn only_lacks_answers(&self, draft: &Map<String, Value>) -> bool {
        let tree = Value::Object(draft.clone());
        let Err(violations) = self.form().check_with(&tree, &check_settings()) else {
            return false;
        };
        let errors = violations.errors(&self.visit.messages);
        errors
            .into_iter()
            .map(AnswerError::from)
            .all(|error| error.is_absence())
    }

    async fn try_submit(
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
                    if self.read_draft().await? != *draft {
                        // A file was removed concurrently.
                        return Err(ActError::DraftChanged);
                    }
                    tracing::error!(%error, "files could not be delivered");
                    return Ok(
                        visit.error_page(StatusCode::INTERNAL_SERVER_ERROR, visit.texts.failed)
                    );
                }
            }
            elicitation = elicitation.accepting_references(ReferenceKind::Url);
        }
        let submission = submission(self, headers);
        let answers = Value::Object(answers);
        match elicitation
            .submit_draft(draft, &answers, Some(submission))
            .await
        {
            Err(ActError::Invalid(refusal)) if refusal.retry_allowed => {
                Ok(visit.redirect_to(&format!("{here}?check")))
            }
            Ok(_) | Err(ActError::Invalid(_)) => Ok(visit.redirect_to(&here)),
            Err(ActError::TooLarge { .. }) => {
                let options = ViewOptions {
                    form_error: Some(visit.texts.too_large),
                    ..ViewOptions::default()
                };
                Ok(page(self, options).await)
            }
            Err(error) => Err(error),
        }
    }
}

/// Maximum number of retries when the draft changes concurrently: by then, all concurrent uploads
/// have arrived.
const MAX_SUBMIT_ATTEMPTS: usize = 64;

/// Metadata of a submission.
fn submission(question: &QuestionVisit, headers: &HeaderMap) -> Value {
    let agent = headers
        .get(header::USER_AGENT)
        .and_then(|agent| agent.to_str().ok());
    let agent: String = agent.unwrap_or_default().chars().take(256).collect();
    json!({
        "submitted_at": question.visit.site.engine.now(),
        "user_agent": agent,
    })
}

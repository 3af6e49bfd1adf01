//! Methods that change an elicitation.

use std::time::Duration;

use entreat_core::CancelReason;
use entreat_engine::Elicitation;
use serde_json::json;
use serde_json::value::RawValue;

use super::MAX_RESPONDENT;
use super::answer::{Work, to_text};
use super::error::RpcError;
use super::method::Call;
use super::params::Param;
use super::shape::Shape;

pub(super) const ID: Param = Param::required("elicitationId", Shape::Id, "Which elicitation.");

pub(super) const SUBMIT: &[Param] = &[
    ID,
    Param::required("responses", Shape::Object, "The answers by field id."),
    Param::optional(
        "form_id",
        Shape::Text(128),
        "The id of the form that is answered; must be the form's.",
    ),
    Param::optional(
        "partial",
        Shape::Flag,
        "Store a partial answer as a draft; uses no attempt.",
    ),
    Param::optional(
        "metadata",
        Shape::SmallObject(16 * 1024),
        "About the submission: `submitted_at`, `user_agent`, `session_id`.",
    ),
];

pub(super) fn submit(call: &Call<'_>) -> Result<Work, RpcError> {
    let elicitation = call.elicitation()?;
    let params = &call.params;
    let responses = params.raw("responses").unwrap_or(RawValue::NULL).to_owned();
    let form_id = params.text("form_id").map(|id| Box::<str>::from(&*id));
    let is_partial = params.flag("partial");
    let metadata = params.value("metadata");
    Ok(Work::later(async move {
        if let Some(form_id) = form_id {
            check_form_id(&elicitation, &form_id).await?;
        }
        if is_partial {
            let part = serde_json::from_str(responses.get()).unwrap_or_default();
            let drafted = elicitation.draft(&part).await?;
            return to_text(&json!({
                "status": drafted.status,
                "missing": drafted.missing,
                "errors": drafted.errors,
            }));
        }
        let settled = elicitation.submit_text(&responses, metadata).await?;
        to_text(&json!({"status": settled.status()}))
    }))
}

/// Rejects answers to another form. Ignores errors, such as another asker's elicitation: the
/// submission that follows reports them.
async fn check_form_id(elicitation: &Elicitation, form_id: &str) -> Result<(), RpcError> {
    match elicitation.form_id().await {
        Ok(asked) if asked.as_deref() != Some(form_id) => {
            Err(RpcError::other_form(asked.as_deref(), form_id))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

pub(super) const COMPLETE: &[Param] = &[
    ID,
    Param::optional("result", Shape::Any, "The result; null if there is none."),
];

pub(super) fn complete(call: &Call<'_>) -> Result<Work, RpcError> {
    let elicitation = call.elicitation()?;
    let result = call
        .params
        .raw("result")
        .unwrap_or(RawValue::NULL)
        .to_owned();
    Ok(Work::later(async move {
        let settled = elicitation.complete_text(&result).await?;
        to_text(&json!({"status": settled.status()}))
    }))
}

pub(super) const DECLINE: &[Param] = &[ID];

pub(super) fn decline(call: &Call<'_>) -> Result<Work, RpcError> {
    let elicitation = call.elicitation()?;
    Ok(Work::later(async move {
        to_text(&elicitation.decline().await?)
    }))
}

pub(super) const CANCEL: &[Param] = &[
    ID,
    Param::optional(
        "reason",
        Shape::Word(reasons),
        "The reason; defaults to `asker_cancelled`.",
    ),
];

pub(super) fn reasons() -> Vec<&'static str> {
    CancelReason::ALL.iter().map(|r| r.as_str()).collect()
}

pub(super) fn cancel(call: &Call<'_>) -> Result<Work, RpcError> {
    let elicitation = call.elicitation()?;
    let operator = call.session.operator();
    let word = call.params.text("reason");
    let requested = CancelReason::ALL
        .into_iter()
        .find(|reason| Some(reason.as_str()) == word.as_deref());
    let reason = requested.unwrap_or(CancelReason::AskerCancelled);
    Ok(Work::later(async move {
        let cancelled = match operator {
            Some(operator) => operator.cancel(elicitation.id(), reason).await?,
            None => elicitation.cancel(reason).await?,
        };
        to_text(&cancelled)
    }))
}

pub(super) const EXTEND: &[Param] = &[
    ID,
    Param::optional(
        "extensionDuration",
        Shape::Count {
            least: 1,
            most: u64::MAX,
        },
        "How much more time, in milliseconds; by default, the longest extension.",
    ),
];

pub(super) fn extend(call: &Call<'_>) -> Result<Work, RpcError> {
    let elicitation = call.elicitation()?;
    let operator = call.session.operator();
    let by = call.params.count("extensionDuration");
    let by = by.map(Duration::from_millis);
    Ok(Work::later(async move {
        let extended = match operator {
            Some(operator) => operator.extend(elicitation.id(), by).await?,
            None => elicitation.extend(by).await?,
        };
        to_text(&json!({
            "newTimeoutAt": extended.deadline,
            "extensionsRemaining": extended.extensions_left,
        }))
    }))
}

pub(super) const REASSIGN: &[Param] = &[
    ID,
    Param::required(
        "respondent",
        Shape::Text(MAX_RESPONDENT),
        "Who may answer from now on.",
    ),
];

pub(super) fn reassign(call: &Call<'_>) -> Result<Work, RpcError> {
    let elicitation = call.elicitation()?;
    let operator = call.session.operator();
    let respondent = call.params.text("respondent").unwrap_or_default();
    if respondent.is_empty() {
        let message = "`respondent` must name somebody.";
        return Err(RpcError::param("respondent", "invalid_param", message));
    }
    let respondent = respondent.into_owned();
    let uploads = call.rpc.uploads.clone();
    Ok(Work::later(async move {
        let id = elicitation.id();
        let reassigned = match operator {
            Some(operator) => operator.reassign(id, &respondent).await?,
            None => elicitation.reassign(&respondent).await?,
        };
        if let Some(uploads) = uploads {
            uploads.remove_of_dropped_draft(id).await;
        }
        to_text(&reassigned)
    }))
}

impl Call<'_> {
    /// The elicitation that the call names. A malformed id is reported as not found.
    pub(super) fn elicitation(&self) -> Result<Elicitation, RpcError> {
        let id = self.params.text("elicitationId").unwrap_or_default();
        let id = id.parse().map_err(|_| RpcError::not_found())?;
        tracing::Span::current().record("elicitation.id", tracing::field::display(id));
        Ok(self.session.asker().elicitation(id))
    }
}

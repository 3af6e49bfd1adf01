//! Methods that read elicitations, and the one that waits.

use std::time::Duration;

use entreat_core::{ElicitationId, Mode, SEALED, Status};
use entreat_engine::{MAX_PAGE, StatusFilter, Subject};
use serde_json::json;

use super::act::ID;
use super::answer::{Work, to_text};
use super::create::modes;
use super::error::RpcError;
use super::method::Call;
use super::params::Param;
use super::shape::Shape;

pub(super) const STATUS: &[Param] = &[ID];

pub(super) fn status(call: &Call<'_>) -> Result<Work, RpcError> {
    let elicitation = call.elicitation()?;
    let operator = call.session.operator();
    Ok(Work::later(async move {
        let status = match operator {
            Some(operator) => operator.status(elicitation.id()).await?,
            None => elicitation.status().await?,
        };
        to_text(&status)
    }))
}

pub(super) const QUESTION: &[Param] = &[ID];

/// What is asked, for clients that present questions. Not part of the record: forms can be large,
/// and most readers of a record wrote the form themselves.
pub(super) fn question(call: &Call<'_>) -> Result<Work, RpcError> {
    let elicitation = call.elicitation()?;
    Ok(Work::later(async move {
        let snapshot = elicitation.status().await?;
        let request = &snapshot.record().request;
        let lifecycle = snapshot.lifecycle();
        let mut asked = json!({
            "elicitationId": snapshot.id(),
            "mode": request.mode,
            "status": snapshot.status(),
            "timeoutAt": lifecycle.deadline().as_millis(),
            "extensionsRemaining": lifecycle.extensions_left(),
            "asker": &*request.asker,
            "textFormat": request.text_format().as_str(),
        });
        match &request.subject {
            Subject::Form(form) => asked["formDefinition"] = form.definition().clone(),
            Subject::Url(url) => asked["url"] = (&**url).into(),
        }
        if let Some(extras) = &request.extras {
            if let Some(message) = extras.message() {
                asked["message"] = message.into();
            }
            if let Some(script) = &extras.script {
                asked["script"] = script.clone();
            }
        }
        // Sealed answers must be entered again.
        let mut draft = snapshot.draft();
        draft.retain(|_, answer| answer != SEALED);
        if lifecycle.is_live() && !draft.is_empty() {
            asked["draft"] = draft.into();
        }
        to_text(&asked)
    }))
}

pub(super) const LIST: &[Param] = &[
    Param::optional(
        "status",
        Shape::Word(statuses),
        "Only questions with this status.",
    ),
    Param::optional(
        "limit",
        Shape::Count {
            least: 1,
            most: MAX_PAGE as u64,
        },
        "The maximum number; defaults to 50.",
    ),
    Param::optional(
        "cursor",
        Shape::Text(256),
        "Where to continue: the `nextCursor` of the previous page.",
    ),
];

/// The default page size.
const DEFAULT_PAGE: u64 = 50;

pub(super) fn statuses() -> Vec<&'static str> {
    Status::ALL.iter().map(|status| status.as_str()).collect()
}

pub(super) fn list(call: &Call<'_>) -> Result<Work, RpcError> {
    let word = call.params.text("status");
    let which = Status::ALL
        .into_iter()
        .find(|status| Some(status.as_str()) == word.as_deref())
        .map_or(StatusFilter::All, StatusFilter::Only);
    let limit = call.params.count("limit").unwrap_or(DEFAULT_PAGE);
    let limit = usize::try_from(limit).unwrap_or(MAX_PAGE);
    let before = match call.params.text("cursor") {
        Some(cursor) => Some(read_cursor(&cursor)?),
        None => None,
    };
    let asker = call.session.asker().clone();
    let operator = call.session.operator();
    Ok(Work::later(async move {
        let page = match operator {
            Some(operator) => operator.list(which, limit, before).await?,
            None => asker.list(which, limit, before).await?,
        };
        to_text(&page)
    }))
}

fn read_cursor(cursor: &str) -> Result<ElicitationId, RpcError> {
    cursor.parse().map_err(|_| {
        let message = "`cursor` must be the `nextCursor` of an earlier page.";
        RpcError::param("cursor", "invalid_param", message)
    })
}

pub(super) const AWAIT: &[Param] = &[
    ID,
    Param::optional(
        "timeout",
        Shape::Count {
            least: 0,
            most: u64::MAX,
        },
        "The maximum time to wait, in milliseconds; by default, until it settles.",
    ),
];

/// Longer waits are cut to this; by then the elicitation has settled or a proxy has given up.
const MAX_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) fn wait(call: &Call<'_>) -> Result<Work, RpcError> {
    let elicitation = call.elicitation()?;
    call.session.asker().charge()?;
    let Some(limit) = call.params.count("timeout") else {
        return Ok(Work::Waiting(elicitation.outcome()));
    };
    let limit = Duration::from_millis(limit).min(MAX_WAIT);
    Ok(Work::WaitingWithTimeout(Box::pin(async move {
        to_text(&elicitation.outcome_within(limit).await?)
    })))
}

pub(super) const TIMEOUT_CONFIG: &[Param] = &[Param::optional(
    "mode",
    Shape::Word(modes),
    "The mode; defaults to `inline`.",
)];

pub(super) fn timeout_config(call: &Call<'_>) -> Result<Work, RpcError> {
    let asker = call.session.asker();
    asker.charge()?;
    let mode = call.params.text("mode");
    let mode: Mode = mode.and_then(|word| word.parse().ok()).unwrap_or_default();
    Ok(Work::done(to_text(&asker.timeout_config(mode))))
}

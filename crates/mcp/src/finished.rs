//! What a call came to, and how it is kept for whoever brings the same state again.

use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, GetPromptResponse, InputRequiredResult, ReadResourceResponse};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::wire::InputRequired;

/// Larger outcomes are not kept beyond this process.
const LARGEST: usize = 1 << 20;

/// What a call came to.
#[derive(Clone)]
pub(crate) enum Finished<R> {
    Result(Result<R, ErrorData>),
    Asks(InputRequired),
    /// It goes on behind a link, in this process.
    Linked(Result<R, ErrorData>),
}

/// An outcome in the form in which a store keeps it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredOutcome {
    Result(Value),
    Error(ErrorData),
    Asks(Value),
}

/// The result of a request that may ask.
pub(crate) trait Keepable:
    From<InputRequiredResult> + Clone + Send + Sync + 'static
{
    /// As JSON; `None` if it is no end.
    fn to_kept(&self) -> Option<Value>;

    fn from_kept(value: Value) -> Option<Self>;
}

macro_rules! keepable {
    ($($name:ident)*) => {
        $(impl Keepable for $name {
            fn to_kept(&self) -> Option<Value> {
                match self {
                    Self::Complete(result) => serde_json::to_value(result).ok(),
                    _ => None,
                }
            }

            fn from_kept(value: Value) -> Option<Self> {
                serde_json::from_value(value).ok().map(Self::Complete)
            }
        })*
    };
}

keepable! { CallToolResponse GetPromptResponse ReadResourceResponse }

impl<R> Finished<R> {
    pub(crate) fn error(error: ErrorData) -> Self {
        Self::Result(Err(error))
    }
}

impl<R: Keepable> Finished<R> {
    /// As text; `None` if it is not to be kept: links end with this process.
    pub(crate) fn text(&self) -> Option<Vec<u8>> {
        let kept = match self {
            Self::Result(Ok(result)) => StoredOutcome::Result(result.to_kept()?),
            Self::Result(Err(error)) => StoredOutcome::Error(error.clone()),
            Self::Asks(whole) => StoredOutcome::Asks(whole.clone().into_value()),
            Self::Linked(_) => return None,
        };
        let text = serde_json::to_vec(&kept).ok()?;
        (text.len() <= LARGEST).then_some(text)
    }

    /// Reads it back; `None` if that is not what it is.
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        Some(match serde_json::from_slice(text).ok()? {
            StoredOutcome::Result(result) => Self::Result(Ok(R::from_kept(result)?)),
            StoredOutcome::Error(error) => Self::Result(Err(error)),
            StoredOutcome::Asks(whole) => Self::Asks(InputRequired::from_value(&whole)?),
        })
    }
}

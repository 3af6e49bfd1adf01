//! The outcome of a call, and how it is stored for a client that repeats a request state.

use entreat_wire::message::InputRequired;
use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, GetPromptResponse, InputRequiredResult, ReadResourceResponse};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Larger outcomes are kept in memory only, in bytes.
const MAX_STORED: usize = 1 << 20;

#[derive(Clone)]
pub(crate) enum CallOutcome<R> {
    Result(Result<R, ErrorData>),
    InputRequired(InputRequired),
    /// The call continues behind a link, in this process.
    Linked(Result<R, ErrorData>),
}

/// The stored form of an outcome.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredOutcome {
    Result(Value),
    Error(ErrorData),
    Asks(Value),
}

/// The result of a request that may ask.
pub(crate) trait Storable:
    From<InputRequiredResult> + Clone + Send + Sync + 'static
{
    /// Returns the JSON of a complete result; `None` if it is not complete.
    fn to_stored(&self) -> Option<Value>;

    fn from_stored(value: Value) -> Option<Self>;
}

macro_rules! storable {
    ($($name:ident)*) => {
        $(impl Storable for $name {
            fn to_stored(&self) -> Option<Value> {
                match self {
                    Self::Complete(result) => serde_json::to_value(result).ok(),
                    _ => None,
                }
            }

            fn from_stored(value: Value) -> Option<Self> {
                serde_json::from_value(value).ok().map(Self::Complete)
            }
        })*
    };
}

storable! { CallToolResponse GetPromptResponse ReadResourceResponse }

impl<R> CallOutcome<R> {
    pub(crate) fn error(error: ErrorData) -> Self {
        Self::Result(Err(error))
    }
}

impl<R: Storable> CallOutcome<R> {
    /// Serializes the outcome; `None` if it is not to be stored. Links end with this process.
    pub(crate) fn to_bytes(&self) -> Option<Vec<u8>> {
        let stored = match self {
            Self::Result(Ok(result)) => StoredOutcome::Result(result.to_stored()?),
            Self::Result(Err(error)) => StoredOutcome::Error(error.clone()),
            Self::InputRequired(result) => StoredOutcome::Asks(result.clone().into_value()),
            Self::Linked(_) => return None,
        };
        let text = serde_json::to_vec(&stored).ok()?;
        (text.len() <= MAX_STORED).then_some(text)
    }

    /// Parses a stored outcome.
    pub(crate) fn from_bytes(text: &[u8]) -> Option<Self> {
        Some(match serde_json::from_slice(text).ok()? {
            StoredOutcome::Result(result) => Self::Result(Ok(R::from_stored(result)?)),
            StoredOutcome::Error(error) => Self::Result(Err(error)),
            StoredOutcome::Asks(result) => Self::InputRequired(InputRequired::from_value(&result)?),
        })
    }
}

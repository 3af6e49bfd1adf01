//! How a dialogue ended.

/// What the person decided.
///
/// Decline is a decision, cancel the lack of one. An asker may ask again after a cancel, so
/// the two never share a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The draft passed the form's check and can be sent.
    Answered,
    /// The person declined to answer.
    Declined,
    /// The person cancelled, or the input ended.
    Cancelled,
}

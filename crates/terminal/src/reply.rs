//! How a dialogue ended.

/// What the person decided.
///
/// Decline is a decision, cancel the lack of one. An asker may ask again after a cancel, so
/// the two never share a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The draft is to be sent, and passed the form's check.
    Answered,
    /// The person refuses to answer.
    Declined,
    /// The person left, or the input ended.
    Cancelled,
}

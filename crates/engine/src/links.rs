//! Where a person can answer: a seam, so that whoever asks can send people to a page without
//! knowing how it is served.

use entreat_core::ElicitationId;

/// Knows the pages of elicitations.
pub trait Links: Send + Sync {
    /// The address of the page, if it can be reached.
    fn page(&self, id: ElicitationId) -> Option<String>;

    /// Whether a question has to say who may answer it: nobody could open the page of one that
    /// does not.
    fn needs_respondent(&self) -> bool {
        false
    }
}

//! Where a person can answer: a seam, so that whoever asks can send people to a page without
//! knowing how it is served, or by whom.

use std::pin::Pin;

use entreat_core::ElicitationId;

use crate::elicitation::Elicitation;

/// An address that is being found out.
pub type Opening = Pin<Box<dyn Future<Output = Option<String>> + Send>>;

/// Knows the pages of elicitations.
pub trait Links: Send + Sync {
    /// The address of the page, if it can be reached and is known.
    fn page(&self, id: ElicitationId) -> Option<String>;

    /// The address of the page of a question that is being asked. Where pages are served by
    /// another program, it is told of the question first; doing so again is doing so once.
    fn open(&self, question: Elicitation) -> Opening {
        Box::pin(std::future::ready(self.page(question.id())))
    }

    /// Whether a question has to say who may answer it: nobody could open the page of one that
    /// does not.
    fn needs_respondent(&self) -> bool {
        false
    }
}

//! URLs of question pages: an interface that hides how and by whom pages are served.

use std::pin::Pin;

use entreat_core::ElicitationId;

use crate::elicitation::Elicitation;

/// A future that resolves to the URL of a page.
pub type PageUrlFuture = Pin<Box<dyn Future<Output = Option<String>> + Send>>;

/// Provides the URLs of question pages.
pub trait Links: Send + Sync {
    /// Returns the URL of the page, if it is known and pages are reachable.
    fn page(&self, id: ElicitationId) -> Option<String>;

    /// Returns the URL of the page of a live question. If another program serves pages, registers
    /// the question there first; idempotent.
    fn open(&self, question: Elicitation) -> PageUrlFuture {
        Box::pin(std::future::ready(self.page(question.id())))
    }

    /// Whether a question must name its respondent, because otherwise nobody could open its page.
    fn needs_respondent(&self) -> bool {
        false
    }
}

//! URLs of question pages: an interface that hides how and by whom pages are served.

use std::pin::Pin;

use entreat_core::ElicitationId;

use crate::elicitation::Elicitation;

/// A future that resolves to the URL of a page.
pub type PageUrlFuture = Pin<Box<dyn Future<Output = Result<String, NoPage>> + Send>>;

/// Why a question has no page, in words for the asker.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoPage(pub String);

/// A link to the inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboxLink {
    /// The URL.
    pub url: String,
    /// Whether the URL contains a token that lets people in.
    pub is_secret: bool,
}

/// Provides the URLs of question pages.
pub trait Links: Send + Sync {
    /// Returns the URL of the page, if it is known and pages are reachable.
    fn page(&self, id: ElicitationId) -> Option<String>;

    /// Returns the URL of the page of a live question. If another program serves pages, registers
    /// the question there first; idempotent.
    fn open(&self, question: Elicitation) -> PageUrlFuture {
        let page = self.page(question.id());
        let page = page.ok_or_else(|| NoPage("pages cannot be reached".to_owned()));
        Box::pin(std::future::ready(page))
    }

    /// Returns the link to the inbox of the person who answers, if pages are reachable.
    fn inbox(&self) -> Option<InboxLink> {
        None
    }

    /// Whether a question must name its respondent, because otherwise nobody could open its page.
    fn needs_respondent(&self) -> bool {
        false
    }

    /// Whether pages can ask the respondent to sign in again.
    fn can_ask_to_sign_in(&self) -> bool {
        false
    }
}

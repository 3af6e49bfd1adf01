//! Asks to visit URLs: consent, opening, and completion.

use std::sync::Arc;
use std::time::Duration;

use entreat_wire::message::ElicitResult;
use entreat_wire::presenter::{Consent, UrlCard, VisitReply};
use tokio::sync::watch;

use super::queue::{Decision, QuestionError, QuestionQueue};

/// How long a server may take to continue before a prompt shows what it waits for.
const GRACE: Duration = Duration::from_millis(500);

/// A URL whose completion the server may report. Dropped, reports are ignored.
pub(super) struct UrlVisit {
    queue: Arc<QuestionQueue>,
    id: Option<String>,
    done: watch::Receiver<bool>,
}

impl QuestionQueue {
    pub(super) fn card(&self, server: &str, message: &str, url: &str) -> UrlCard {
        let origin = self.settings.server_url.as_deref();
        UrlCard::new(server, origin, message, url)
    }

    /// Asks for consent, and opens the URL if granted.
    pub(super) async fn ask_url(
        &self,
        server: &str,
        message: &str,
        url: &str,
    ) -> Result<ElicitResult, QuestionError> {
        let decision = self.consent(&self.card(server, message, url)).await?;
        Ok(self.record_decision(decision))
    }

    pub(super) async fn consent(&self, card: &UrlCard) -> Result<Decision, QuestionError> {
        match self.presenter.consent(card).await? {
            Consent::Open if !card.may_be_opened() => Err(QuestionError::Unsafe),
            Consent::Open => {
                self.presenter.open(card).await?;
                Ok(Decision::Accepted)
            }
            Consent::Decline => Ok(Decision::Declined),
            Consent::Cancel => Ok(Decision::Cancelled),
        }
    }

    /// Registers a URL, so that the server can report its completion.
    pub(super) fn expect_completion(self: &Arc<Self>, id: Option<&str>) -> UrlVisit {
        let sender = watch::Sender::new(false);
        let done = sender.subscribe();
        if let Some(id) = id {
            self.visits.lock().insert(id.to_owned(), sender);
        }
        UrlVisit {
            queue: self.clone(),
            id: id.map(str::to_owned),
            done,
        }
    }

    /// Handles the server's report that a URL is complete. Unknown ids are ignored.
    pub(super) fn mark_done(&self, id: &str) {
        if let Some(sender) = self.visits.lock().get(id) {
            sender.send_replace(true);
        }
    }

    /// Waits until an opened URL is complete, while holding the turn.
    pub(super) async fn until_done(
        &self,
        card: &UrlCard,
        visit: &mut UrlVisit,
    ) -> Result<Decision, QuestionError> {
        loop {
            let followed = tokio::select! {
                biased;
                () = visit.done() => return Ok(Decision::Accepted),
                followed = self.presenter.opened(card) => followed?,
            };
            match followed {
                VisitReply::Done => return Ok(Decision::Accepted),
                VisitReply::Cancel => return Ok(Decision::Cancelled),
                VisitReply::Again => match self.consent(card).await? {
                    Decision::Accepted => {}
                    refused => return Ok(refused),
                },
            }
        }
    }

    /// Waits until the person is done with a URL that the server has consent for. Yields to
    /// questions; cancelling abandons the call.
    pub(super) async fn follow_up(
        &self,
        card: UrlCard,
        mut visit: UrlVisit,
        mut calls_ended: watch::Receiver<u64>,
    ) {
        // Many servers continue immediately; avoid a flickering prompt.
        tokio::time::sleep(GRACE).await;
        loop {
            let turn = self.idle_turn().await;
            let ended = tokio::select! {
                biased;
                _ = calls_ended.changed() => return,
                () = self.question_waiting() => None,
                ended = self.until_done(&card, &mut visit) => Some(ended),
            };
            drop(turn);
            match ended {
                None => {}
                Some(Ok(Decision::Cancelled | Decision::Declined)) => {
                    self.record_decision(Decision::Cancelled);
                    self.abandoned.send_modify(|times| *times += 1);
                    return;
                }
                Some(_) => return,
            }
        }
    }
}

impl UrlVisit {
    async fn done(&mut self) {
        if self.done.wait_for(|done| *done).await.is_err() {
            // Without an id, completion cannot be reported.
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for UrlVisit {
    fn drop(&mut self) {
        if let Some(id) = &self.id {
            self.queue.visits.lock().remove(id);
        }
    }
}

//! URLs: consent, opening, and when the person is done there.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::desk::{Decision, Desk, DeskError};
use super::present::{Consent, Followed, UrlCard};
use crate::wire::ElicitResult;

/// So long a server may take to go on before the person is shown what it waits for.
const GRACE: Duration = Duration::from_millis(500);

/// Waits for the server to say that a URL is done. Dropped, the server's word is ignored.
pub(super) struct Visit {
    desk: Arc<Desk>,
    id: Option<String>,
    done: watch::Receiver<bool>,
}

impl Desk {
    pub(super) fn card(&self, server: &str, message: &str, url: &str) -> UrlCard {
        let origin = self.settings.server_url.as_deref();
        UrlCard::new(server, origin, message, url)
    }

    /// Asks for consent, and opens the URL if it is given.
    pub(super) async fn ask_url(
        &self,
        server: &str,
        message: &str,
        url: &str,
    ) -> Result<ElicitResult, DeskError> {
        let decision = self.consent(&self.card(server, message, url)).await?;
        Ok(self.decided(decision))
    }

    pub(super) async fn consent(&self, card: &UrlCard) -> Result<Decision, DeskError> {
        match self.present.consent(card).await? {
            Consent::Open if !card.may_be_opened() => Err(DeskError::Unsafe),
            Consent::Open => {
                self.present.open(card).await?;
                Ok(Decision::Accepted)
            }
            Consent::Decline => Ok(Decision::Declined),
            Consent::Cancel => Ok(Decision::Cancelled),
        }
    }

    /// From now on the server may say that this is done.
    pub(super) fn expect(self: &Arc<Self>, id: Option<&str>) -> Visit {
        let teller = watch::Sender::new(false);
        let done = teller.subscribe();
        if let Some(id) = id {
            self.visits.lock().insert(id.to_owned(), teller);
        }
        Visit {
            desk: self.clone(),
            id: id.map(str::to_owned),
            done,
        }
    }

    /// The server says that a URL is done. Of one that nobody waits for nothing is known.
    pub(super) fn completed(&self, id: &str) {
        if let Some(teller) = self.visits.lock().get(id) {
            teller.send_replace(true);
        }
    }

    /// Waits, with the person's attention, until an opened URL is done.
    pub(super) async fn until_done(
        &self,
        card: &UrlCard,
        visit: &mut Visit,
    ) -> Result<Decision, DeskError> {
        loop {
            let followed = tokio::select! {
                biased;
                () = visit.done() => return Ok(Decision::Accepted),
                followed = self.present.opened(card) => followed?,
            };
            match followed {
                Followed::Done => return Ok(Decision::Accepted),
                Followed::Cancel => return Ok(Decision::Cancelled),
                Followed::Again => match self.consent(card).await? {
                    Decision::Accepted => {}
                    refused => return Ok(refused),
                },
            }
        }
    }

    /// Waits until the person is done with a URL whose consent the server knows already.
    /// Questions go first, and giving up is giving up the call.
    pub(super) async fn linger(
        &self,
        card: UrlCard,
        mut visit: Visit,
        mut calls_ended: watch::Receiver<u64>,
    ) {
        // Many servers go on at once, and a prompt that flickers helps nobody.
        tokio::time::sleep(GRACE).await;
        loop {
            let turn = self.idle_turn().await;
            let ended = tokio::select! {
                biased;
                _ = calls_ended.changed() => return,
                () = self.wanted() => None,
                ended = self.until_done(&card, &mut visit) => Some(ended),
            };
            drop(turn);
            match ended {
                None => {}
                Some(Ok(Decision::Cancelled | Decision::Declined)) => {
                    self.decided(Decision::Cancelled);
                    self.given_up.send_modify(|times| *times += 1);
                    return;
                }
                Some(_) => return,
            }
        }
    }
}

impl Visit {
    async fn done(&mut self) {
        if self.done.wait_for(|done| *done).await.is_err() {
            // Without an id nobody can say so.
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        if let Some(id) = &self.id {
            self.desk.visits.lock().remove(id);
        }
    }
}

//! Removes files that are no longer needed.

use std::io;
use std::pin::pin;
use std::time::Duration;

use entreat_core::{ElicitationId, Outcome};
use entreat_engine::{ActError, Snapshot};

use super::{Inner, Uploads, blocking};

/// Interval of sweeps.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);

/// Which files of an elicitation are still needed.
enum Need {
    /// It is live, or its status is unknown.
    All,
    /// It was answered: only pending downloads.
    Downloads,
    /// It no longer exists, or settled without an answer.
    Nothing,
}

impl Uploads {
    /// Removes files that are no longer needed: partial files of an earlier run, files of
    /// elicitations that were purged or settled without an answer, and those that were delivered
    /// inline.
    pub async fn sweep(&self) {
        self.sweep_with(false).await;
    }

    /// With `is_first`, nobody can have begun to upload yet: files of drafts that were dropped while
    /// no service was running can be told from those of drafts that are yet to be saved.
    async fn sweep_with(&self, is_first: bool) {
        let inner = self.0.clone();
        let found = blocking(move || Ok(inner.folder.elicitations()?)).await;
        let elicitations = match found {
            Ok(elicitations) => elicitations,
            Err(error) => {
                tracing::warn!(%error, "the uploads folder cannot be read");
                return;
            }
        };
        for id in elicitations {
            let need = self.0.need(id, is_first).await;
            self.in_background(move |inner| inner.clean(id, &need))
                .await;
        }
    }

    /// Sweeps now and every minute, until `end` resolves.
    pub async fn sweep_until(&self, end: impl Future<Output = ()>) {
        let mut end = pin!(end);
        let mut is_first = true;
        loop {
            self.sweep_with(is_first).await;
            is_first = false;
            tokio::select! {
                () = &mut end => return,
                () = tokio::time::sleep(SWEEP_INTERVAL) => {}
            }
        }
    }
}

/// Whether an elicitation is live, and nobody has typed anything yet.
pub(super) fn is_without_draft(snapshot: &Snapshot) -> bool {
    snapshot.lifecycle().is_live() && snapshot.record().answer_state.is_none()
}

impl Inner {
    async fn need(&self, id: ElicitationId, is_first: bool) -> Need {
        let status = self.engine.elicitation(id).status().await;
        if let Ok(snapshot) = &status {
            let request = &snapshot.record().request;
            self.limits.attribute(id, &request.asker);
            if is_first && request.is_reassigned() && is_without_draft(snapshot) {
                return Need::Nothing;
            }
        }
        match status.map(|snapshot| snapshot.outcome()) {
            Ok(Some(Outcome::Completed)) => Need::Downloads,
            Ok(Some(Outcome::Declined | Outcome::Cancelled(_) | Outcome::TimedOut)) => {
                Need::Nothing
            }
            Err(ActError::NotFound) => Need::Nothing,
            // Removes nothing while the store is unavailable.
            Ok(None) | Err(_) => Need::All,
        }
    }

    fn clean(&self, id: ElicitationId, need: &Need) -> io::Result<()> {
        self.folder.remove_leftovers(id)?;
        match need {
            Need::All => {}
            Need::Downloads => {
                for upload in self.folder.uploads(id)? {
                    if !self.folder.is_download(id, upload) {
                        self.remove(id, upload)?;
                    }
                }
                self.folder.remove_if_empty(id);
            }
            Need::Nothing => self.remove_all(id)?,
        }
        Ok(())
    }
}

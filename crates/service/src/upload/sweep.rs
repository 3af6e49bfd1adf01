//! Removing what nobody needs any more.

use std::io;
use std::pin::pin;
use std::time::Duration;

use entreat_core::{ElicitationId, Outcome};
use entreat_engine::ActError;

use super::{Inner, Uploads, blocking};

/// How often the folder is looked through.
const PATROL: Duration = Duration::from_secs(60);

/// What is still needed of an elicitation's files.
enum Need {
    /// It is open, or nobody knows.
    All,
    /// It was answered: what the asker has still to fetch.
    Downloads,
    /// It is gone, or was settled without an answer.
    Nothing,
}

impl Uploads {
    /// Removes what nobody needs any more: half-done files of an earlier run, files of
    /// elicitations that are gone or were settled without an answer, and of those that were
    /// answered what the asker got with the answer.
    pub async fn sweep(&self) {
        let inner = self.0.clone();
        let found = blocking(move || Ok(inner.folder.elicitations()?)).await;
        let elicitations = match found {
            Ok(elicitations) => elicitations,
            Err(error) => {
                tracing::warn!(%error, "the folder of uploads cannot be looked through");
                return;
            }
        };
        for id in elicitations {
            let need = self.0.need(id).await;
            self.in_background(move |inner| inner.tidy(id, &need)).await;
        }
    }

    /// Sweeps now, and then every minute, until it is to end.
    pub async fn tend(&self, end: impl Future<Output = ()>) {
        let mut end = pin!(end);
        loop {
            self.sweep().await;
            tokio::select! {
                () = &mut end => return,
                () = tokio::time::sleep(PATROL) => {}
            }
        }
    }
}

impl Inner {
    async fn need(&self, id: ElicitationId) -> Need {
        let looked = self.engine.elicitation(id).status().await;
        if let Ok(snapshot) = &looked {
            let asker = &snapshot.record().request.asker;
            self.limits.attribute(id, asker);
        }
        match looked.map(|snapshot| snapshot.outcome()) {
            Ok(Some(Outcome::Completed)) => Need::Downloads,
            Ok(Some(Outcome::Declined | Outcome::Cancelled(_) | Outcome::TimedOut)) => {
                Need::Nothing
            }
            Err(ActError::NotFound) => Need::Nothing,
            // Nothing is lost while the store does not answer.
            Ok(None) | Err(_) => Need::All,
        }
    }

    fn tidy(&self, id: ElicitationId, need: &Need) -> io::Result<()> {
        self.folder.remove_leftovers(id)?;
        match need {
            Need::All => {}
            Need::Downloads => {
                for upload in self.folder.uploads(id)? {
                    if !self.folder.is_out(id, upload) {
                        self.forget(id, upload)?;
                    }
                }
                self.folder.remove_if_empty(id);
            }
            Need::Nothing => self.forget_all(id)?,
        }
        Ok(())
    }
}

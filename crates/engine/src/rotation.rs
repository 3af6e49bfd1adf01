//! New keys for old secrets.

use crate::elicitation::Access;
use crate::engine::{Engine, Inner};
use crate::error::ActError;
use crate::payload::editable;
use crate::record::{Held, Record};
use crate::store::{Query, Which};
use crate::vault::VaultError;

/// So many records are looked at at a time.
const PAGE: usize = 128;

impl Engine {
    /// Wraps the key of every sealed answer with the newest key of the ring, and returns how
    /// many elicitations that concerned. When it has succeeded, older keys can be taken out of
    /// the ring.
    ///
    /// Answers stay sealed all the while, and elicitations can be asked and answered.
    pub async fn rotate_keys(&self) -> Result<usize, ActError> {
        let inner = &self.inner;
        let mut rotated = 0;
        let mut before = None;
        loop {
            let query = Query {
                asker: None,
                which: Which::All,
                before,
                limit: PAGE,
            };
            let page = inner.store.list(query).await?;
            let Some(last) = page.last() else {
                break;
            };
            before = Some(last.id);
            for record in page {
                // Not from the page: a list need not hold what was answered.
                if let Ok(record) = inner.load(&Access::Host, record.id).await
                    && inner
                        .replace_held(record, |record| inner.rewrapped(record))
                        .await?
                {
                    rotated += 1;
                }
            }
        }
        inner.keep_proof(&[]).await?;
        Ok(rotated)
    }
}

impl Inner {
    /// What is held, under the newest key; `None` if it is already.
    fn rewrapped(&self, record: &Record) -> Result<Option<Held>, VaultError> {
        let mut held = editable(record.held.as_ref());
        let mut changed = false;
        for payload in [&mut held.draft, &mut held.result].into_iter().flatten() {
            if let Some(sealed) = &mut payload.sealed
                && let Some(anew) = self.vault.rewrap(record.id, sealed)?
            {
                **sealed = anew;
                changed = true;
            }
        }
        Ok(changed.then_some(held))
    }
}

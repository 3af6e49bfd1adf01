//! Key rotation: rewraps the keys of stored secrets.

use crate::elicitation::Access;
use crate::engine::{Engine, Inner};
use crate::error::ActError;
use crate::key_proof;
use crate::payload::editable;
use crate::record::{AnswerState, Record};
use crate::store::{Query, StatusFilter};
use crate::vault::VaultError;

/// Records per page.
const PAGE: usize = 128;

impl Engine {
    /// Rewraps the key of every sealed answer with the sealing key of the ring. Returns the number
    /// of elicitations changed. On success, older keys can be removed from the ring.
    ///
    /// Runs online: answers stay sealed, and questions can be asked and answered meanwhile.
    pub async fn rotate_keys(&self) -> Result<usize, ActError> {
        let inner = &self.inner;
        // Not those that another engine seals with from now on.
        let before_rotation = key_proof::versions(&*inner.store).await?;
        let mut rotated = 0;
        let mut before = None;
        loop {
            let query = Query {
                asker: None,
                respondents: None,
                which: StatusFilter::All,
                before,
                limit: PAGE,
            };
            let page = inner.store.list(query).await?;
            let Some(last) = page.last() else {
                break;
            };
            before = Some(last.id);
            for record in page {
                // Loaded again: records of a list may lack their answers.
                if let Ok(record) = inner.load(&Access::Host, record.id).await
                    && inner
                        .replace_answer(record, |record| inner.rewrapped(record))
                        .await?
                {
                    rotated += 1;
                }
            }
        }
        key_proof::retire(&*inner.store, &inner.vault, &before_rotation).await?;
        Ok(rotated)
    }
}

impl Inner {
    /// Returns the answers with keys wrapped by the sealing key; `None` if they already are.
    fn rewrapped(&self, record: &Record) -> Result<Option<AnswerState>, VaultError> {
        let mut held = editable(record.answer_state.as_ref());
        let mut changed = false;
        let aside = held.set_aside.iter_mut().map(|of| &mut of.draft);
        let payloads = [&mut held.draft, &mut held.result].into_iter().flatten();
        for payload in payloads.chain(aside) {
            if let Some(sealed) = &mut payload.sealed
                && let Some(rewrapped) = self.vault.rewrap(record.id, sealed)?
            {
                **sealed = rewrapped;
                changed = true;
            }
        }
        Ok(changed.then_some(held))
    }
}

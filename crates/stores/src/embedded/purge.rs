//! Deletes records past retention, in small batches.
//!
//! A reader finds the records, and the writer deletes them between other jobs. Ids start with the
//! time of creation, which precedes settlement, so the search covers ids up to the given time.
//! Unarchived rows need no search and are deleted first.

use std::sync::Arc;

use entreat_core::{ElicitationId, UnixTime};
use entreat_engine::StoreError;
use rusqlite::{Connection, params};
use tokio::sync::mpsc;

use super::batch::milliseconds;
use super::job::{Job, Ticket};
use super::{Shared, closed, readers};

const ATTEMPT: &str = "purge elicitations";

/// Maximum number of records per batch: about a millisecond of the writer's time.
const MAX_BATCH: usize = 256;
/// Maximum bytes per batch, because a large result is deleted page by page.
const MAX_BATCH_BYTES: i64 = 4 << 20;

/// Deletes up to `limit` records that settled before this time.
pub(super) async fn run(
    shared: Arc<Shared>,
    low_priority: mpsc::Sender<Job>,
    settled_before: UnixTime,
    limit: usize,
) -> Result<usize, StoreError> {
    let mut purged = 0;
    let mut after = None;
    while purged < limit {
        let max = MAX_BATCH.min(limit - purged);
        let mut ids = shared.unarchived.settled_before(settled_before, max);
        if ids.is_empty() {
            ids = readers::read(shared.clone(), ATTEMPT, move |_, connection| {
                find(connection, after, settled_before, max).map_err(readers::failed(ATTEMPT))
            })
            .await?;
            let Some(last) = ids.last().copied() else {
                break;
            };
            after = Some(last);
        }
        let (ticket, answer) = Ticket::new();
        let job = Job::Purge {
            ids,
            settled_before,
            ticket,
        };
        low_priority.send(job).await.map_err(|_| closed(ATTEMPT))?;
        purged += answer.await.unwrap_or_else(|_| Err(closed(ATTEMPT)))?;
    }
    Ok(purged)
}

fn find(
    connection: &Connection,
    after: Option<ElicitationId>,
    settled_before: UnixTime,
    max: usize,
) -> rusqlite::Result<Vec<ElicitationId>> {
    let mut statement = connection.prepare_cached(
        "SELECT id, length(request) + length(state) FROM settled
         WHERE id > ?1 AND id < ?2 AND settled_at < ?3 ORDER BY id",
    )?;
    let after = after.as_ref().map_or(&[][..], |id| id.as_bytes());
    let until = ElicitationId::earliest(settled_before);
    let mut rows = statement.query(params![
        after,
        until.as_bytes(),
        milliseconds(settled_before)
    ])?;
    let (mut ids, mut bytes) = (Vec::new(), 0);
    while ids.len() < max
        && bytes < MAX_BATCH_BYTES
        && let Some(row) = rows.next()?
    {
        ids.push(ElicitationId::from_bytes(row.get(0)?));
        bytes += row.get::<_, i64>(1)?;
    }
    Ok(ids)
}

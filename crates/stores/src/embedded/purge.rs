//! Forgets what settled long ago, a little at a time.
//!
//! A reader finds the records, the writer removes them between other callers' steps. Ids begin
//! with the time of creation, and nothing settles before it was created, so that the search
//! begins at the oldest and ends at the moment in question. Those that linger among the live ones
//! are known without a search, and go first.

use std::sync::Arc;

use entreat_core::{ElicitationId, UnixTime};
use entreat_engine::StoreError;
use rusqlite::{Connection, params};
use tokio::sync::mpsc;

use super::batch::milliseconds;
use super::job::{Job, Ticket};
use super::{Shared, closed, readers};

const ATTEMPT: &str = "purge elicitations";

/// So many records are removed in one go: about a millisecond of the writer's time.
const PORTION: usize = 256;
/// And no more than so many bytes, for a large result is removed page by page.
const PORTION_BYTES: i64 = 4 << 20;

/// Removes up to `limit` records that settled before that moment.
pub(super) async fn run(
    shared: Arc<Shared>,
    unhurried: mpsc::Sender<Job>,
    settled_before: UnixTime,
    limit: usize,
) -> Result<usize, StoreError> {
    let mut purged = 0;
    let mut after = None;
    while purged < limit {
        let most = PORTION.min(limit - purged);
        let mut ids = shared.lingering.settled_before(settled_before, most);
        if ids.is_empty() {
            ids = readers::read(shared.clone(), ATTEMPT, move |_, connection| {
                find(connection, after, settled_before, most).map_err(readers::failed(ATTEMPT))
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
        unhurried.send(job).await.map_err(|_| closed(ATTEMPT))?;
        purged += answer.await.unwrap_or_else(|_| Err(closed(ATTEMPT)))?;
    }
    Ok(purged)
}

fn find(
    connection: &Connection,
    after: Option<ElicitationId>,
    settled_before: UnixTime,
    most: usize,
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
    while ids.len() < most
        && bytes < PORTION_BYTES
        && let Some(row) = rows.next()?
    {
        ids.push(ElicitationId::from_bytes(row.get(0)?));
        bytes += row.get::<_, i64>(1)?;
    }
    Ok(ids)
}

//! Claims on disk.
//!
//! They are not cached: callers remember their own claims of this process.

use std::sync::Arc;

use entreat_core::UnixTime;
use entreat_engine::StoreError;
use entreat_engine::store::{Claim, ClaimKey};
use rusqlite::{Connection, OptionalExtension as _, Row, Statement, params};

use super::batch::milliseconds;
use super::job::Ticket;
use super::writer::WriteFailure;
use crate::record::RecordError;
use crate::sum::{self, Sum};

const FIND: &str = "SELECT inputs, expires, outcome, sum FROM claim WHERE key = ?1";

/// An operation on claims.
pub(super) enum ClaimJob {
    Claim(Claim, Ticket<Option<Claim>>),
    End(ClaimKey, Vec<u8>, Ticket<()>),
    Release(ClaimKey, [u8; 16], Ticket<()>),
    Purge(UnixTime, usize, Ticket<usize>),
}

impl ClaimJob {
    pub(super) fn publish(self) {
        match self {
            Self::Claim(_, ticket) => ticket.send(),
            Self::End(_, _, ticket) | Self::Release(_, _, ticket) => ticket.send(),
            Self::Purge(_, _, ticket) => ticket.send(),
        }
    }

    pub(super) fn fail(self, failure: &WriteFailure) {
        match self {
            Self::Claim(_, ticket) => ticket.fail(failure),
            Self::End(_, _, ticket) | Self::Release(_, _, ticket) => ticket.fail(failure),
            Self::Purge(_, _, ticket) => ticket.fail(failure),
        }
    }
}

/// Prepared statements for claims.
pub(super) struct Claims<'c> {
    claim: Statement<'c>,
    first: Statement<'c>,
    end: Statement<'c>,
    release: Statement<'c>,
    purge: Statement<'c>,
}

impl<'c> Claims<'c> {
    pub(super) fn prepare(connection: &'c Connection) -> rusqlite::Result<Self> {
        let prepare = |sql| connection.prepare(sql);
        Ok(Self {
            claim: prepare(
                "INSERT INTO claim (key, inputs, expires, sum) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT DO NOTHING",
            )?,
            first: prepare(FIND)?,
            end: prepare(
                "UPDATE claim SET outcome = ?2, sum = ?3 WHERE key = ?1 AND outcome IS NULL",
            )?,
            release: prepare(
                "DELETE FROM claim WHERE key = ?1 AND inputs = ?2 AND outcome IS NULL",
            )?,
            purge: prepare(
                "DELETE FROM claim WHERE key IN
                     (SELECT key FROM claim WHERE expires <= ?1 ORDER BY expires LIMIT ?2)",
            )?,
        })
    }

    /// Executes a job within a transaction and stores its answer in it.
    pub(super) fn write(&mut self, job: &mut ClaimJob) -> rusqlite::Result<()> {
        match job {
            ClaimJob::Claim(claim, ticket) => ticket.answer = Some(self.claim(claim)?),
            ClaimJob::End(key, outcome, ticket) => {
                ticket.answer = Some(self.end(key, outcome)?);
            }
            ClaimJob::Release(key, inputs, ticket) => {
                self.release.execute(params![&*key, &*inputs])?;
                ticket.answer = Some(Ok(()));
            }
            ClaimJob::Purge(expired_by, limit, ticket) => {
                let limit = i64::try_from(*limit).unwrap_or(i64::MAX);
                let until = milliseconds(*expired_by);
                ticket.answer = Some(Ok(self.purge.execute(params![until, limit])?));
            }
        }
        Ok(())
    }

    fn claim(&mut self, claim: &Claim) -> rusqlite::Result<Result<Option<Claim>, StoreError>> {
        let expires = milliseconds(claim.expires);
        let sum = sum::of_claim(&claim.key, &claim.inputs, expires, None);
        let inserted = self
            .claim
            .execute(params![claim.key, claim.inputs, expires, sum])?;
        if inserted == 1 {
            return Ok(Ok(None));
        }
        self.first(claim.key)
    }

    fn end(&mut self, key: &ClaimKey, outcome: &[u8]) -> rusqlite::Result<Result<(), StoreError>> {
        let first = match self.first(*key)? {
            Ok(Some(first)) => first,
            Ok(None) => return Ok(Ok(())),
            Err(error) => return Ok(Err(error)),
        };
        let expires = milliseconds(first.expires);
        let sum = sum::of_claim(key, &first.inputs, expires, Some(outcome));
        self.end.execute(params![key, outcome, sum])?;
        Ok(Ok(()))
    }

    fn first(&mut self, key: ClaimKey) -> rusqlite::Result<Result<Option<Claim>, StoreError>> {
        query(&mut self.first, key)
    }
}

/// Reads a claim, if there is one.
pub(super) fn find(
    connection: &Connection,
    key: ClaimKey,
) -> rusqlite::Result<Result<Option<Claim>, StoreError>> {
    query(&mut *connection.prepare_cached(FIND)?, key)
}

fn query(
    statement: &mut Statement<'_>,
    key: ClaimKey,
) -> rusqlite::Result<Result<Option<Claim>, StoreError>> {
    type Columns = ([u8; 16], i64, Option<Vec<u8>>, Option<Sum>);
    let columns = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
    let found: Option<Columns> = statement.query_row([key], columns).optional()?;
    let Some((inputs, expires, outcome, sum)) = found else {
        return Ok(Ok(None));
    };
    if sum != Some(sum::of_claim(&key, &inputs, expires, outcome.as_deref())) {
        return Ok(Err(StoreError::Unavailable {
            attempt: "read a claim",
            source: Box::new(RecordError::Damaged),
        }));
    }
    Ok(Ok(Some(Claim {
        key,
        inputs,
        expires: UnixTime::from_millis(expires.unsigned_abs()),
        outcome: outcome.map(Arc::from),
    })))
}

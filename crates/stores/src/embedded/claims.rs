//! Claims on disk.
//!
//! They are not cached: callers remember their own claims of this process.

use std::sync::Arc;

use entreat_core::UnixTime;
use entreat_engine::StoreError;
use entreat_engine::store::{Claim, ClaimKey, Holder};
use rusqlite::{Connection, OptionalExtension as _, Row, Statement, params};

use super::batch::milliseconds;
use super::job::Ticket;
use super::writer::WriteFailure;
use crate::record::RecordError;
use crate::sum::{self, Sum};

const FIND: &str = "SELECT inputs, expires, holder, outcome, sum FROM claim WHERE key = ?1";

/// An operation on claims.
pub(super) enum ClaimJob {
    Claim(Claim, Ticket<Option<Claim>>),
    TakeOver(Claim, Option<Holder>, Ticket<bool>),
    End(ClaimKey, Option<Holder>, Vec<u8>, Ticket<bool>),
    Release(ClaimKey, [u8; 16], Option<Holder>, Ticket<()>),
    Purge(UnixTime, usize, Ticket<usize>),
}

impl ClaimJob {
    pub(super) fn publish(self) {
        match self {
            Self::Claim(_, ticket) => ticket.send(),
            Self::TakeOver(_, _, ticket) | Self::End(_, _, _, ticket) => ticket.send(),
            Self::Release(_, _, _, ticket) => ticket.send(),
            Self::Purge(_, _, ticket) => ticket.send(),
        }
    }

    pub(super) fn fail(self, failure: &WriteFailure) {
        match self {
            Self::Claim(_, ticket) => ticket.fail(failure),
            Self::TakeOver(_, _, ticket) | Self::End(_, _, _, ticket) => ticket.fail(failure),
            Self::Release(_, _, _, ticket) => ticket.fail(failure),
            Self::Purge(_, _, ticket) => ticket.fail(failure),
        }
    }
}

/// Prepared statements for claims.
pub(super) struct Claims<'c> {
    claim: Statement<'c>,
    first: Statement<'c>,
    take_over: Statement<'c>,
    end: Statement<'c>,
    release: Statement<'c>,
    purge: Statement<'c>,
}

impl<'c> Claims<'c> {
    pub(super) fn prepare(connection: &'c Connection) -> rusqlite::Result<Self> {
        let prepare = |sql| connection.prepare(sql);
        Ok(Self {
            claim: prepare(
                "INSERT INTO claim (key, inputs, expires, holder, sum)
                 VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
            )?,
            first: prepare(FIND)?,
            take_over: prepare("UPDATE claim SET holder = ?2, sum = ?3 WHERE key = ?1")?,
            end: prepare(
                "UPDATE claim SET outcome = ?2, sum = ?3 WHERE key = ?1 AND outcome IS NULL",
            )?,
            release: prepare(
                "DELETE FROM claim
                 WHERE key = ?1 AND inputs = ?2 AND holder IS ?3 AND outcome IS NULL",
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
            ClaimJob::TakeOver(claim, from, ticket) => {
                ticket.answer = Some(self.take_over(claim, *from)?);
            }
            ClaimJob::End(key, holder, outcome, ticket) => {
                ticket.answer = Some(self.end(key, *holder, outcome)?);
            }
            ClaimJob::Release(key, inputs, holder, ticket) => {
                let holder = holder.map(to_bytes);
                self.release.execute(params![&*key, &*inputs, holder])?;
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
        let holder = claim.holder.map(to_bytes);
        let sum = sum::of_claim(&claim.key, &claim.inputs, expires, holder, None);
        let row = params![claim.key, claim.inputs, expires, holder, sum];
        let inserted = self.claim.execute(row)?;
        if inserted == 1 {
            return Ok(Ok(None));
        }
        self.first(claim.key)
    }

    fn take_over(
        &mut self,
        claim: &Claim,
        from: Option<Holder>,
    ) -> rusqlite::Result<Result<bool, StoreError>> {
        let first = match self.open(claim.key, from)? {
            Ok(Some(first)) if first.inputs == claim.inputs => first,
            Ok(_) => return Ok(Ok(false)),
            Err(error) => return Ok(Err(error)),
        };
        let holder = claim.holder.map(to_bytes);
        let expires = milliseconds(first.expires);
        let sum = sum::of_claim(&claim.key, &first.inputs, expires, holder, None);
        self.take_over.execute(params![claim.key, holder, sum])?;
        Ok(Ok(true))
    }

    fn end(
        &mut self,
        key: &ClaimKey,
        holder: Option<Holder>,
        outcome: &[u8],
    ) -> rusqlite::Result<Result<bool, StoreError>> {
        let first = match self.open(*key, holder)? {
            Ok(Some(first)) => first,
            Ok(None) => return Ok(Ok(false)),
            Err(error) => return Ok(Err(error)),
        };
        let expires = milliseconds(first.expires);
        let holder = holder.map(to_bytes);
        let sum = sum::of_claim(key, &first.inputs, expires, holder, Some(outcome));
        self.end.execute(params![key, outcome, sum])?;
        Ok(Ok(true))
    }

    /// Returns a claim if it has this holder and no outcome.
    fn open(
        &mut self,
        key: ClaimKey,
        holder: Option<Holder>,
    ) -> rusqlite::Result<Result<Option<Claim>, StoreError>> {
        let is_open = |claim: &Claim| claim.holder == holder && claim.outcome.is_none();
        Ok(self.first(key)?.map(|first| first.filter(is_open)))
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
    type Columns = (
        [u8; 16],
        i64,
        Option<[u8; 16]>,
        Option<Vec<u8>>,
        Option<Sum>,
    );
    let columns = |row: &Row<'_>| row.try_into();
    let found: Option<Columns> = statement.query_row([key], columns).optional()?;
    let Some((inputs, expires, holder, outcome, sum)) = found else {
        return Ok(Ok(None));
    };
    let expected = sum::of_claim(&key, &inputs, expires, holder, outcome.as_deref());
    if sum != Some(expected) {
        return Ok(Err(StoreError::Unavailable {
            attempt: "read a claim",
            source: Box::new(RecordError::Damaged),
        }));
    }
    Ok(Ok(Some(Claim {
        key,
        inputs,
        expires: UnixTime::from_millis(expires.unsigned_abs()),
        holder: holder.map(from_bytes),
        outcome: outcome.map(Arc::from),
    })))
}

fn to_bytes(holder: Holder) -> [u8; 16] {
    let both = u128::from(holder.node) << 64 | u128::from(holder.epoch);
    both.to_be_bytes()
}

fn from_bytes(bytes: [u8; 16]) -> Holder {
    let [node, epoch] = [&bytes[..8], &bytes[8..]].map(|half| {
        half.iter()
            .fold(0, |number, byte| number << 8 | u64::from(*byte))
    });
    Holder { node, epoch }
}

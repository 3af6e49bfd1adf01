//! Executes many jobs in one transaction.
//!
//! A job with a version conflict fails alone. When the database fails, the whole transaction is
//! rolled back, and the caller of [`Batch::write`] fails all of its jobs.

use std::collections::HashMap;
use std::iter;
use std::sync::Arc;

use entreat_core::{ElicitationId, UnixTime};
use entreat_engine::store::{Created, Respondents};
use entreat_engine::{Record, StoreError, Version};
use rusqlite::{Connection, OptionalExtension, Row, Statement, params};

use super::batch_size::{Stopwatch, Timing};
use super::claims::Claims;
use super::job::Job;
use super::unarchived::{Settlement, Unarchived};
use crate::forms::{Digest, StoredForm};
use crate::record::RecordError;
use crate::sum;

/// The writer's prepared statements.
pub(super) struct Batch<'c> {
    begin: Statement<'c>,
    commit: Statement<'c>,
    rollback: Statement<'c>,
    create: Statement<'c>,
    key_of: Statement<'c>,
    take_key: Statement<'c>,
    free_key: Statement<'c>,
    step: Statement<'c>,
    settle: Statement<'c>,
    archive: Statement<'c>,
    reassign: Statement<'c>,
    delete_live: Statement<'c>,
    step_settled: Statement<'c>,
    version: Statement<'c>,
    purge: Statement<'c>,
    use_form: Statement<'c>,
    release_form: Statement<'c>,
    free_form: Statement<'c>,
    note: Statement<'c>,
    find_note: Statement<'c>,
    claims: Claims<'c>,
    forms: FormUses,
    unarchived: &'c Unarchived,
}

/// Changes of forms' reference counts in this transaction; written once per form instead of once
/// per record.
#[derive(Default)]
struct FormUses {
    more: HashMap<Digest, (i64, Arc<StoredForm>)>,
    fewer: HashMap<Digest, i64>,
}

impl<'c> Batch<'c> {
    pub(super) fn prepare(
        connection: &'c Connection,
        unarchived: &'c Unarchived,
    ) -> rusqlite::Result<Self> {
        let prepare = |sql| connection.prepare(sql);
        Ok(Self {
            begin: prepare("BEGIN IMMEDIATE")?,
            commit: prepare("COMMIT")?,
            rollback: prepare("ROLLBACK")?,
            create: prepare(
                "INSERT INTO live (id, version, asker, key, form, request, state, respondent)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING",
            )?,
            key_of: prepare(
                "SELECT id, EXISTS (SELECT 1 FROM live WHERE id = first.id
                                    AND asker = ?1 AND key = ?2
                                    UNION ALL SELECT 1 FROM settled WHERE id = first.id
                                    AND asker = ?1 AND key = ?2)
                 FROM idempotency AS first WHERE asker = ?1 AND key = ?2",
            )?,
            take_key: prepare("INSERT INTO idempotency (asker, key, id) VALUES (?1, ?2, ?3)")?,
            free_key: prepare("DELETE FROM idempotency WHERE asker = ?1 AND key = ?2")?,
            step: prepare(
                "UPDATE OR FAIL live SET version = ?3, state = ?4 WHERE id = ?1 AND version = ?2",
            )?,
            settle: prepare(
                "INSERT OR FAIL INTO settled
                     (id, version, status, settled_at, asker, key, form, request, state,
                      respondent)
                 SELECT id, ?3, ?5, ?6, asker, key, form, request, ?4, respondent
                 FROM live WHERE id = ?1 AND version = ?2",
            )?,
            archive: prepare(
                "INSERT OR FAIL INTO settled
                     (id, version, status, settled_at, asker, key, form, request, state,
                      respondent)
                 SELECT id, version, ?3, ?4, asker, key, form, request, state, respondent
                 FROM live WHERE id = ?1 AND version = ?2",
            )?,
            reassign: prepare("UPDATE live SET respondent = ?2 WHERE id = ?1")?,
            delete_live: prepare("DELETE FROM live WHERE id = ?1")?,
            step_settled: prepare(
                "UPDATE settled SET version = ?3, state = ?4, status = ?5, settled_at = ?6
                 WHERE id = ?1 AND version = ?2",
            )?,
            version: prepare(
                "SELECT version FROM live WHERE id = ?1
                 UNION ALL SELECT version FROM settled WHERE id = ?1",
            )?,
            purge: prepare(
                "DELETE FROM settled WHERE id = ?1 AND settled_at < ?2
                 RETURNING asker, key, form",
            )?,
            use_form: prepare(
                "INSERT INTO form (digest, uses, definition) VALUES (?1, ?2, ?3)
                 ON CONFLICT DO UPDATE SET uses = uses + excluded.uses",
            )?,
            release_form: prepare("UPDATE form SET uses = uses - ?2 WHERE digest = ?1")?,
            free_form: prepare("DELETE FROM form WHERE digest = ?1 AND uses <= 0")?,
            note: prepare(
                "INSERT INTO note (name, text, sum) VALUES (?1, ?2, ?3)
                 ON CONFLICT DO UPDATE SET text = excluded.text, sum = excluded.sum",
            )?,
            find_note: prepare("SELECT text FROM note WHERE name = ?1")?,
            claims: Claims::prepare(connection)?,
            forms: FormUses::default(),
            unarchived,
        })
    }

    /// Executes jobs in one transaction and commits it. Moves the jobs into `done`, even on
    /// failure; their answers are only valid on success.
    pub(super) fn write(
        &mut self,
        first: Job,
        rest: impl Iterator<Item = Job>,
        done: &mut Vec<Job>,
    ) -> rusqlite::Result<Timing> {
        let watch = Stopwatch::start();
        self.forms.more.clear();
        self.forms.fewer.clear();
        if let Err(error) = self.begin.execute([]) {
            done.push(first);
            return Err(error);
        }
        for mut job in iter::once(first).chain(rest) {
            let outcome = self.perform(&mut job);
            done.push(job);
            outcome?;
        }
        self.count_forms()?;
        let work = watch.elapsed();
        self.commit.execute([])?;
        let disk = watch.elapsed().saturating_sub(work);
        Ok(Timing { work, disk })
    }

    fn perform(&mut self, job: &mut Job) -> rusqlite::Result<()> {
        match job {
            Job::Create {
                record,
                form,
                request,
                state,
                ticket,
            } => ticket.answer = Some(self.create(record, form.as_ref(), request, state)?),
            Job::Commit {
                record,
                state,
                in_place,
                was_live,
                ticket,
            } => {
                *in_place &= self.unarchived.has_room();
                ticket.answer = Some(self.commit(record, state, *in_place, was_live)?);
            }
            Job::Archive { id, settlement } => self.archive(*id, *settlement)?,
            Job::Purge {
                ids,
                settled_before,
                ticket,
            } => ticket.answer = Some(Ok(self.purge(ids, *settled_before)?)),
            Job::Claims(job) => self.claims.write(job)?,
            Job::Note { name, text, ticket } => {
                self.save_note(name, text)?;
                ticket.answer = Some(Ok(()));
            }
            Job::ReplaceNote {
                name,
                expected,
                text,
                ticket,
            } => {
                let found = self.find_note.query_row([*name], |row| row.get(0));
                let is_expected = found.optional()? == *expected;
                if is_expected {
                    self.save_note(name, text)?;
                }
                ticket.answer = Some(Ok(is_expected));
            }
        }
        Ok(())
    }

    fn save_note(&mut self, name: &str, text: &str) -> rusqlite::Result<()> {
        let sum = sum::of_note(name, text);
        self.note.execute(params![name, text, sum])?;
        Ok(())
    }

    /// Rolls back a failed transaction, if the database has not done so itself.
    pub(super) fn roll_back(&mut self, connection: &Connection) {
        if !connection.is_autocommit()
            && let Err(error) = self.rollback.execute([])
        {
            tracing::error!(%error, "a failed transaction cannot be rolled back");
        }
    }

    fn create(
        &mut self,
        record: &Record,
        form: Option<&Arc<StoredForm>>,
        request: &[u8],
        state: &[u8],
    ) -> rusqlite::Result<Result<Created, StoreError>> {
        let (id, asker) = (record.id.as_bytes(), &*record.request.asker);
        let extras = record.request.extras.as_ref();
        let key = extras.and_then(|extras| extras.idempotency_key.as_deref());
        if let Some(key) = key {
            let columns = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
            let first = self.key_of.query_row(params![asker, key], columns);
            if let Some((first, is_its_own)) = first.optional()? {
                let id = ElicitationId::from_bytes(first);
                return Ok(if is_its_own {
                    Ok(Created::Existing(id))
                } else {
                    let source = Box::new(RecordError::Damaged);
                    Err(StoreError::Unreadable { id, source })
                });
            }
        }
        let digest = form.map(|form| &form.digest);
        let version = record.version.0;
        let respondent = record.request.respondent().map(Respondents::key);
        let row = params![id, version, asker, key, digest, request, state, respondent];
        let inserted = self.create.execute(row)?;
        if inserted == 0 {
            // A duplicate id means that the source of randomness is broken.
            return self.stale(record).map(Err);
        }
        if let Some(key) = key {
            self.take_key.execute(params![asker, key, id])?;
        }
        if let Some(form) = form {
            let uses = self.forms.more.entry(form.digest);
            uses.or_insert_with(|| (0, form.clone())).0 += 1;
        }
        Ok(Ok(Created::New))
    }

    fn commit(
        &mut self,
        record: &Record,
        state: &[u8],
        in_place: bool,
        was_live: &mut bool,
    ) -> rusqlite::Result<Result<(), StoreError>> {
        let (id, version) = (record.id.as_bytes(), record.version.0);
        let expected = version.wrapping_sub(1);
        let settlement = Settlement::of(record);
        if in_place || settlement.is_none() {
            let row = params![id, expected, version, state];
            *was_live = self.step.execute(row)? == 1;
            // Again with each later step, which is cheaper than to know whether it is the first.
            if *was_live && record.request.is_reassigned() {
                let respondent = record.request.respondent().map(Respondents::key);
                self.reassign.execute(params![id, respondent])?;
            }
        }
        // A record that has not settled is never in `settled`.
        let Some(settlement) = settlement.filter(|_| !*was_live) else {
            return self.unless_stale(*was_live, record);
        };
        let (status, at) = (settlement.status.as_str(), milliseconds(settlement.at));
        let row = params![id, expected, version, state, status, at];
        if self.settle.execute(row)? == 1 {
            self.delete_live.execute([id])?;
            *was_live = true;
            return Ok(Ok(()));
        }
        let is_done = self.step_settled.execute(row)? == 1;
        self.unless_stale(is_done, record)
    }

    fn unless_stale(
        &mut self,
        is_done: bool,
        record: &Record,
    ) -> rusqlite::Result<Result<(), StoreError>> {
        if is_done {
            Ok(Ok(()))
        } else {
            self.stale(record).map(Err)
        }
    }

    /// Moves a settled record from `live` to `settled`.
    fn archive(&mut self, id: ElicitationId, settlement: Settlement) -> rusqlite::Result<()> {
        let (status, at) = (settlement.status.as_str(), milliseconds(settlement.at));
        let id = id.as_bytes();
        let row = params![id, settlement.version.0, status, at];
        // A later step may have moved it already.
        if self.archive.execute(row)? == 1 {
            self.delete_live.execute([id])?;
        }
        Ok(())
    }

    /// Returns why a step did not find its expected version.
    fn stale(&mut self, record: &Record) -> rusqlite::Result<StoreError> {
        let id = record.id;
        let found = self.version.query_row([id.as_bytes()], |row| row.get(0));
        Ok(match found.optional()? {
            Some(found) => StoreError::Conflict {
                id,
                expected: Version(record.version.0.wrapping_sub(1)),
                found: Version(found),
            },
            None => StoreError::Missing(id),
        })
    }

    fn purge(&mut self, ids: &[ElicitationId], before: UnixTime) -> rusqlite::Result<usize> {
        let mut count = 0;
        for id in ids {
            if let Some(settlement) = self.unarchived.get(*id) {
                self.archive(*id, settlement)?;
            }
            let mut rows = self
                .purge
                .query(params![id.as_bytes(), milliseconds(before)])?;
            let Some(row) = rows.next()? else {
                continue;
            };
            let asker = row.get_ref(0)?.as_str()?;
            if let Some(key) = row.get_ref(1)?.as_str_or_null()? {
                self.free_key.execute(params![asker, key])?;
            }
            if let Some(digest) = row.get::<_, Option<Digest>>(2)? {
                *self.forms.fewer.entry(digest).or_default() += 1;
            }
            // Until the end, or the deletion would be rolled back.
            while rows.next()?.is_some() {}
            count += 1;
        }
        Ok(count)
    }

    /// Updates the reference counts of forms and deletes unused ones.
    fn count_forms(&mut self) -> rusqlite::Result<()> {
        for (digest, (more, form)) in &self.forms.more {
            self.use_form
                .execute(params![digest, more, form.definition])?;
        }
        for (digest, fewer) in &self.forms.fewer {
            self.release_form.execute(params![digest, fewer])?;
            self.free_form.execute(params![digest])?;
        }
        Ok(())
    }
}

/// Converts a time to an SQLite integer, saturating.
pub(super) fn milliseconds(at: UnixTime) -> i64 {
    i64::try_from(at.as_millis()).unwrap_or(i64::MAX)
}

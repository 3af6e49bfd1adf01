//! The schema and its migrations.
//!
//! A record is in `live` until it settles and moves to `settled` soon after, so that opening and
//! purging each scan only the rows they need. Primary keys are ids, which start with the time, so
//! that new rows are appended.

use entreat_engine::store::Respondents;
use rusqlite::{Connection, params};

use crate::forms::Digest;
use crate::record;
use crate::sum::{self, Columns};

/// Migrations from each version to the next; never changed once released.
const MIGRATIONS: &[Step] = &[
    Step::sql(include_str!("schema/1.sql")),
    Step::sql(include_str!("schema/2.sql")),
    Step::sql(include_str!("schema/3.sql")),
    Step {
        sql: include_str!("schema/4.sql"),
        then: add_sums,
    },
    Step {
        sql: include_str!("schema/5.sql"),
        then: add_respondents,
    },
    Step::sql(include_str!("schema/6.sql")),
];

struct Step {
    sql: &'static str,
    /// Runs after the SQL.
    then: fn(&Connection) -> rusqlite::Result<()>,
}

impl Step {
    const fn sql(sql: &'static str) -> Self {
        Self {
            sql,
            then: |_| Ok(()),
        }
    }
}

/// SQLite's application id of our files: "Entr" in ASCII.
pub(super) const APPLICATION: i32 = 0x456e_7472;

/// Why a file could not be migrated.
pub(super) enum Refusal {
    /// It belongs to another program.
    Foreign,
    /// It is empty.
    Empty,
    /// A newer Entreat wrote it.
    Newer {
        found: i32,
        known: i32,
    },
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for Refusal {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// The format of a file.
pub(super) enum Format {
    Current,
    Older,
    Newer { found: i32, known: i32 },
    Foreign,
}

/// Determines the format of a file.
pub(super) fn format(connection: &Connection) -> rusqlite::Result<Format> {
    format_among(connection, MIGRATIONS)
}

fn format_among(connection: &Connection, steps: &[Step]) -> rusqlite::Result<Format> {
    let number = |pragma: &str| connection.query_row(pragma, [], |row| row.get::<_, i32>(0));
    let application = number("PRAGMA application_id")?;
    let found = number("PRAGMA user_version")?;
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let known = i32::try_from(steps.len()).unwrap_or(i32::MAX);
    Ok(
        if application != APPLICATION && (tables > 0 || application != 0) {
            Format::Foreign
        } else if found > known {
            Format::Newer { found, known }
        } else if found < known {
            Format::Older
        } else {
            Format::Current
        },
    )
}

/// Migrates a file, one transaction per step. An empty file becomes a store if allowed.
pub(super) fn migrate(connection: &Connection, may_create: bool) -> Result<(), Refusal> {
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if tables == 0 && !may_create {
        return Err(Refusal::Empty);
    }
    apply(connection, MIGRATIONS)
}

fn apply(connection: &Connection, steps: &[Step]) -> Result<(), Refusal> {
    match format_among(connection, steps)? {
        Format::Current => return Ok(()),
        Format::Older => {}
        Format::Newer { found, known } => return Err(Refusal::Newer { found, known }),
        Format::Foreign => return Err(Refusal::Foreign),
    }
    let version: i32 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    for (step, next) in steps.iter().zip(1..) {
        if next > version {
            let transaction = connection.unchecked_transaction()?;
            transaction.execute_batch(step.sql)?;
            (step.then)(&transaction)?;
            transaction.pragma_update(None, "application_id", APPLICATION)?;
            transaction.pragma_update(None, "user_version", next)?;
            transaction.commit()?;
        }
    }
    Ok(())
}

/// Adds checksums to existing rows.
fn add_sums(connection: &Connection) -> rusqlite::Result<()> {
    type Claim = (Vec<u8>, Vec<u8>, i64, Option<Vec<u8>>);
    for table in ["live", "settled"] {
        add_record_sums(connection, table)?;
    }
    let mut notes = connection.prepare("SELECT name, text FROM note")?;
    let notes = notes.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    // Collected before any is updated; there are few.
    for (name, text) in notes.collect::<rusqlite::Result<Vec<(String, String)>>>()? {
        let sum = sum::of_note(&name, &text);
        connection.execute(
            "UPDATE note SET sum = ?2 WHERE name = ?1",
            params![name, sum],
        )?;
    }
    let mut claims = connection.prepare("SELECT key, inputs, expires, outcome FROM claim")?;
    let claims = claims.query_map([], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
    })?;
    for (key, inputs, expires, outcome) in claims.collect::<rusqlite::Result<Vec<Claim>>>()? {
        let sum = sum::of_claim(&key, &inputs, expires, None, outcome.as_deref());
        connection.execute(
            "UPDATE claim SET sum = ?2 WHERE key = ?1",
            params![key, sum],
        )?;
    }
    Ok(())
}

fn add_record_sums(connection: &Connection, table: &str) -> rusqlite::Result<()> {
    /// One row at a time, because answers may be large.
    type Row = (
        [u8; 16],
        u32,
        String,
        Option<String>,
        Option<Digest>,
        Vec<u8>,
        Vec<u8>,
    );
    let mut next = connection.prepare(&format!(
        "SELECT id, version, asker, key, form, request, state FROM {table}
         WHERE id > ?1 ORDER BY id LIMIT 1"
    ))?;
    let mut update = connection.prepare(&format!(
        "UPDATE {table} SET request = ?2, state = ?3 WHERE id = ?1"
    ))?;
    let mut after = Vec::new();
    loop {
        let mut rows = next.query([&after])?;
        let Some(row) = rows.next()? else {
            return Ok(());
        };
        let (id, version, asker, key, form, mut request, mut state): Row = row.try_into()?;
        drop(rows);
        let columns = Columns {
            id: &id,
            version,
            asker: &asker,
            key: key.as_deref(),
            form: form.as_ref(),
        };
        columns.append_request_sum(&mut request);
        sum::append_state_sum(&id, version, &mut state);
        update.execute(params![id, request, state])?;
        after = id.to_vec();
    }
}

/// Adds the respondents of existing questions, so that the inbox finds them. Rows that cannot be
/// decoded stay as they are; whoever reads them reports why.
fn add_respondents(connection: &Connection) -> rusqlite::Result<()> {
    for table in ["live", "settled"] {
        let mut next = connection.prepare(&format!(
            "SELECT id, version, asker, key, form, request FROM {table}
             WHERE id > ?1 ORDER BY id LIMIT 1"
        ))?;
        let mut update =
            connection.prepare(&format!("UPDATE {table} SET respondent = ?2 WHERE id = ?1"))?;
        let mut after = Vec::new();
        loop {
            type Row = (
                [u8; 16],
                u32,
                String,
                Option<String>,
                Option<Digest>,
                Vec<u8>,
            );
            let mut rows = next.query([&after])?;
            let Some(row) = rows.next()? else {
                break;
            };
            let (id, version, asker, key, form, request): Row = row.try_into()?;
            drop(rows);
            let columns = Columns {
                id: &id,
                version,
                asker: &asker,
                key: key.as_deref(),
                form: form.as_ref(),
            };
            let respondent = columns.request(&request).and_then(record::respondent_of);
            if let Ok(Some(respondent)) = respondent {
                update.execute(params![id, Respondents::key(&respondent)])?;
            }
            after = id.to_vec();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(connection: &Connection) -> i32 {
        connection
            .query_row("PRAGMA user_version", [], |row| row.get(0))
            .expect("the pragma is known")
    }

    #[test]
    fn a_file_takes_only_the_steps_that_it_lacks() {
        let connection = Connection::open_in_memory().unwrap();
        let steps = ["CREATE TABLE a (x)", "ALTER TABLE a ADD COLUMN y"].map(Step::sql);
        assert!(apply(&connection, &steps[..1]).is_ok());
        assert_eq!(version(&connection), 1);
        assert!(apply(&connection, &steps).is_ok());
        assert_eq!(version(&connection), 2);
        assert!(apply(&connection, &steps).is_ok());
    }

    #[test]
    fn the_first_release_is_brought_up_to_date_with_what_it_keeps() {
        let connection = Connection::open_in_memory().unwrap();
        assert!(apply(&connection, &MIGRATIONS[..1]).is_ok());
        let note = "INSERT INTO note VALUES ('a', 'b')";
        connection.execute(note, []).unwrap();
        assert!(migrate(&connection, true).is_ok());
        assert_eq!(version(&connection), 6);
        let text: String = connection
            .query_row("SELECT text FROM note", [], |row| row.get(0))
            .unwrap();
        assert_eq!(text, "b");
        assert!(connection.prepare("SELECT outcome FROM claim").is_ok());
    }

    #[test]
    fn a_step_that_fails_leaves_the_file_as_it_was() {
        let connection = Connection::open_in_memory().unwrap();
        let steps = [
            "CREATE TABLE a (x)",
            "CREATE TABLE b (x); CREATE TABLE a (x)",
        ]
        .map(Step::sql);
        assert!(matches!(
            apply(&connection, &steps),
            Err(Refusal::Sqlite(_))
        ));
        assert_eq!(version(&connection), 1);
        assert!(connection.prepare("SELECT * FROM b").is_err());
    }

    #[test]
    fn a_newer_file_is_refused_and_so_is_another_programs() {
        let connection = Connection::open_in_memory().unwrap();
        let steps = ["CREATE TABLE a (x)", "CREATE TABLE b (x)"].map(Step::sql);
        assert!(apply(&connection, &steps).is_ok());
        let refused = apply(&connection, &steps[..1]);
        assert!(matches!(
            refused,
            Err(Refusal::Newer { found: 2, known: 1 })
        ));

        let foreign = Connection::open_in_memory().unwrap();
        foreign.execute_batch("CREATE TABLE theirs (x)").unwrap();
        assert!(matches!(apply(&foreign, &steps), Err(Refusal::Foreign)));
    }
}

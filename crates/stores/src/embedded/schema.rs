//! The tables, and how an older file gets them.
//!
//! A record lies in `live` until it settles and in `settled` soon after: opening reads the one,
//! purging the other, and neither passes over rows that it does not want. Keys are ids, which
//! begin with the time, so that new rows are appended.

use rusqlite::Connection;

/// What takes a file from one version to the next; never changed once released.
const STEPS: &[&str] = &[
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
];

/// Tells our files from those of other programs: "Entr" in ASCII.
const APPLICATION: i32 = 0x456e_7472;

/// What a file was before it was brought up to date, if it could not be.
pub(super) enum Refusal {
    /// Another program's.
    Foreign,
    /// A newer Entreat's.
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

/// Brings a file up to date, each step all or nothing.
pub(super) fn migrate(connection: &Connection) -> Result<(), Refusal> {
    apply(connection, STEPS)
}

fn apply(connection: &Connection, steps: &[&str]) -> Result<(), Refusal> {
    let number = |pragma: &str| connection.query_row(pragma, [], |row| row.get::<_, i32>(0));
    let application = number("PRAGMA application_id")?;
    let version = number("PRAGMA user_version")?;
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if application != APPLICATION && (tables > 0 || application != 0) {
        return Err(Refusal::Foreign);
    }
    let known = i32::try_from(steps.len()).unwrap_or(i32::MAX);
    if version > known {
        return Err(Refusal::Newer {
            found: version,
            known,
        });
    }
    for (step, next) in steps.iter().zip(1..) {
        if next > version {
            let transaction = connection.unchecked_transaction()?;
            transaction.execute_batch(step)?;
            transaction.pragma_update(None, "application_id", APPLICATION)?;
            transaction.pragma_update(None, "user_version", next)?;
            transaction.commit()?;
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
        let steps = ["CREATE TABLE a (x)", "ALTER TABLE a ADD COLUMN y"];
        assert!(apply(&connection, &steps[..1]).is_ok());
        assert_eq!(version(&connection), 1);
        assert!(apply(&connection, &steps).is_ok());
        assert_eq!(version(&connection), 2);
        assert!(apply(&connection, &steps).is_ok());
    }

    #[test]
    fn the_first_release_is_brought_up_to_date_with_what_it_keeps() {
        let connection = Connection::open_in_memory().unwrap();
        assert!(apply(&connection, &STEPS[..1]).is_ok());
        let note = "INSERT INTO note VALUES ('a', 'b')";
        connection.execute(note, []).unwrap();
        assert!(migrate(&connection).is_ok());
        assert_eq!(version(&connection), 3);
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
        ];
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
        let steps = ["CREATE TABLE a (x)", "CREATE TABLE b (x)"];
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

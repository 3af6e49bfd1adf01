//! One tool against every kind of client: each protocol version, each set of capabilities, both
//! transports, and every outcome of a question.
//!
//! The client is rmcp's own. On stdio, the server runs in a separate process for each cell. A rule
//! says what has to happen in a cell; `--nocapture` prints the table of what did happen.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests: a panic is a failed test"
)]

mod axes;
mod cell;
mod child;
mod person;
mod rule;
mod world;

use std::fmt::Write as _;
use std::time::Duration;

use entreat_core::schema::Era;
use futures_util::future::join_all;

use axes::{Ending, Kind, Transport};
use rule::Seen;

/// A cell that takes longer hangs. rmcp itself waits up to seven seconds for handlers of a closed
/// connection, and nothing else waits for real time.
const HANGS: Duration = Duration::from_secs(60);

#[expect(clippy::print_stdout, reason = "the table is for whoever looks")]
#[tokio::test]
async fn one_tool_asks_every_kind_of_client_to_every_ending() {
    // All cells run concurrently, so that their waits overlap.
    let rows = rows().map(|(era, kind, transport)| async move {
        let cells = Ending::ALL.map(|ending| cell(era, kind, transport, ending));
        let name = format!("{} | {} | {}", era.version(), kind.name(), transport.name());
        (name, join_all(cells).await)
    });
    let mut table = String::from("| era | client | transport |");
    for ending in Ending::ALL {
        write!(table, " {} |", ending.name()).unwrap();
    }
    table.push_str("\n|---|---|---|---|---|---|---|---|---|\n");
    let mut wrong = String::new();
    for (row, cells) in join_all(rows).await {
        write!(table, "| {row} |").unwrap();
        for (ending, cell) in Ending::ALL.into_iter().zip(cells) {
            match cell {
                Ok(seen) => write!(table, " {seen} |").unwrap(),
                Err(why) => {
                    table.push_str(" WRONG |");
                    writeln!(wrong, "{row} | {}: {why}", ending.name()).unwrap();
                }
            }
        }
        table.push('\n');
    }
    println!("{table}");
    assert!(wrong.is_empty(), "{table}\n{wrong}");
}

/// What was observed in a cell, if it matches the rule.
async fn cell(era: Era, kind: Kind, transport: Transport, ending: Ending) -> Result<Seen, String> {
    let expected = rule::expected(era, kind, ending);
    let cell = cell::run(era, kind, transport, ending, &expected);
    match tokio::time::timeout(HANGS, cell).await {
        Ok(seen) if seen == expected => Ok(seen),
        Ok(seen) => Err(format!("{seen:?}, expected {expected:?}")),
        Err(_) => Err("it hangs".to_owned()),
    }
}

fn rows() -> impl Iterator<Item = (Era, Kind, Transport)> {
    let with_kinds = |era| Kind::ALL.into_iter().map(move |kind| (era, kind));
    let clients = Era::ALL.into_iter().flat_map(with_kinds);
    clients.flat_map(|(era, kind)| {
        let transports = Transport::ALL.into_iter();
        transports.map(move |transport| (era, kind, transport))
    })
}

//! Access to elicitations, in a store on this machine or at a running service.

use std::fmt;
use std::io::{self, Write};

use anyhow::Context as _;
use entreat::engine::ElicitationPage;
use entreat::{
    ActError, CancelReason, ElicitationId, Outcome, Snapshot, Status, StatusFilter, UnixTime,
};
use serde_json::{Value, json};

use crate::context::{Context, Exit};
use crate::environment::Environment;
use crate::output;
use crate::remote::{Remote, RemoteArgs, RemoteError, text};
use crate::store::{StoreArgs, StoreLocation};

/// Selects a store or a service.
#[derive(clap::Args)]
pub(crate) struct QuestionsArgs {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    remote: RemoteArgs,
}

impl QuestionsArgs {
    /// Returns the named service, or else the store.
    pub(crate) fn questions(&self, environment: &Environment) -> anyhow::Result<Questions> {
        Ok(match self.remote.service(environment)? {
            Some(service) => Questions::Served(service),
            None => Questions::Stored(self.store.location(environment)?),
        })
    }
}

/// A store or a service with elicitations.
pub(crate) enum Questions {
    Stored(StoreLocation),
    Served(Remote),
}

/// An elicitation as a store or a service knows it.
pub(crate) enum Record {
    Stored(Box<Snapshot>),
    Served(Value),
}

/// A page of elicitations, newest first.
pub(crate) enum RecordPage {
    Stored(ElicitationPage),
    Served(Value),
}

/// The result of a change that is possible until a question has settled.
pub(crate) enum Changed {
    Done(Record),
    /// It had settled before, in this state.
    AlreadySettled(String),
    NotFound,
}

impl Questions {
    /// Returns a page of elicitations.
    pub(crate) async fn list(
        &self,
        which: StatusFilter,
        limit: u8,
        cursor: Option<ElicitationId>,
    ) -> anyhow::Result<RecordPage> {
        match self {
            Self::Stored(location) => {
                let opened = location.open().await?;
                let page = opened.engine.list(None, which, limit.into(), cursor).await;
                opened.close().await;
                let page = page.context("cannot list the questions")?;
                Ok(RecordPage::Stored(page))
            }
            Self::Served(service) => {
                let page = match which {
                    StatusFilter::All => served(service, None, limit, cursor).await?,
                    StatusFilter::Only(status) => {
                        served(service, Some(status), limit, cursor).await?
                    }
                    StatusFilter::Live => {
                        let open = [Status::Pending, Status::Active];
                        merged(service, &open, limit, cursor).await?
                    }
                    StatusFilter::Settled => {
                        let settled = [
                            Status::Completed,
                            Status::Declined,
                            Status::Cancelled,
                            Status::Timeout,
                        ];
                        merged(service, &settled, limit, cursor).await?
                    }
                };
                Ok(RecordPage::Served(page))
            }
        }
    }

    /// Returns an elicitation, if it exists.
    pub(crate) async fn status(&self, id: ElicitationId) -> anyhow::Result<Option<Record>> {
        match self {
            Self::Stored(location) => {
                let opened = location.open().await?;
                let found = opened.engine.elicitation(id).status().await;
                opened.close().await;
                match found {
                    Err(ActError::NotFound) => Ok(None),
                    found => Ok(Some(Record::Stored(Box::new(found?)))),
                }
            }
            Self::Served(service) => {
                let params = json!({"elicitationId": id});
                match service.call("elicitation/status", params).await? {
                    Err(RemoteError::NotFound) => Ok(None),
                    found => Ok(Some(Record::Served(found?))),
                }
            }
        }
    }

    /// Cancels an elicitation.
    pub(crate) async fn cancel(
        &self,
        id: ElicitationId,
        reason: CancelReason,
    ) -> anyhow::Result<Changed> {
        match self {
            Self::Stored(location) => {
                let opened = location.open().await?;
                let cancelled = opened.engine.elicitation(id).cancel(reason).await;
                opened.close().await;
                Changed::of_stored(cancelled)
            }
            Self::Served(service) => {
                let params = json!({"elicitationId": id, "reason": reason});
                Changed::of_served(service.call("elicitation/cancel", params).await?)
            }
        }
    }

    /// Makes an elicitation one for another respondent.
    pub(crate) async fn reassign(
        &self,
        id: ElicitationId,
        respondent: &str,
    ) -> anyhow::Result<Changed> {
        match self {
            Self::Stored(location) => {
                let opened = location.open().await?;
                let reassigned = opened.engine.elicitation(id).reassign(respondent).await;
                opened.close().await;
                Changed::of_stored(reassigned)
            }
            Self::Served(service) => {
                let params = json!({"elicitationId": id, "respondent": respondent});
                Changed::of_served(service.call("elicitation/reassign", params).await?)
            }
        }
    }
}

impl Changed {
    /// Says what became of a question: `done` if it was changed, and its record if that is wanted.
    pub(crate) fn report(
        self,
        id: ElicitationId,
        done: fmt::Arguments<'_>,
        is_json: bool,
        context: &mut Context,
        out: &mut dyn Write,
    ) -> anyhow::Result<Exit> {
        match self {
            Self::Done(record) => {
                context.say(done);
                if is_json {
                    record.print_json(out)?;
                }
                Ok(Exit::Success)
            }
            Self::AlreadySettled(state) => {
                context.say(format_args!("entreat: {id} is already settled: {state}"));
                Ok(Exit::Findings)
            }
            Self::NotFound => Ok(context.report_missing(id)),
        }
    }

    fn of_stored(changed: Result<Snapshot, ActError>) -> anyhow::Result<Self> {
        match changed {
            Ok(snapshot) => Ok(Self::Done(Record::Stored(Box::new(snapshot)))),
            Err(ActError::NotFound) => Ok(Self::NotFound),
            Err(ActError::Settled { outcome }) => Ok(Self::AlreadySettled(describe(outcome))),
            // Its deadline has just passed.
            Err(ActError::TimedOut { .. }) => Ok(Self::AlreadySettled(describe(Outcome::TimedOut))),
            Err(error) => Err(error.into()),
        }
    }

    fn of_served(changed: Result<Value, RemoteError>) -> anyhow::Result<Self> {
        match changed {
            Ok(record) => Ok(Self::Done(Record::Served(record))),
            Err(RemoteError::NotFound) => Ok(Self::NotFound),
            Err(RemoteError::Settled { state }) => Ok(Self::AlreadySettled(state)),
            Err(error) => Err(error.into()),
        }
    }
}

/// Returns a page of a service's elicitations.
async fn served(
    service: &Remote,
    status: Option<Status>,
    limit: u8,
    cursor: Option<ElicitationId>,
) -> anyhow::Result<Value> {
    let mut params = json!({"limit": limit});
    if let Some(status) = status {
        params["status"] = status.as_str().into();
    }
    if let Some(cursor) = cursor {
        params["cursor"] = cursor.to_string().into();
    }
    let page = service.call("elicitation/list", params).await?;
    page.context("cannot list the questions")
}

/// Returns a page of a service's elicitations of several statuses; a service lists one at a time.
async fn merged(
    service: &Remote,
    statuses: &[Status],
    limit: u8,
    cursor: Option<ElicitationId>,
) -> anyhow::Result<Value> {
    let mut records = Vec::new();
    let mut has_more = false;
    for status in statuses {
        let mut page = served(service, Some(*status), limit, cursor).await?;
        has_more |= page["nextCursor"].is_string();
        if let Some(Value::Array(more)) = page.get_mut("elicitations").map(Value::take) {
            records.extend(more);
        }
    }
    // Ids are ordered by time. A question that changes between the calls is on two pages.
    records.sort_by(|one, other| id_of(other).cmp(&id_of(one)));
    records.dedup_by(|one, other| id_of(one) == id_of(other));
    has_more |= records.len() > usize::from(limit);
    records.truncate(usize::from(limit));
    let last = records.last().and_then(id_of).filter(|_| has_more);
    let mut page = json!({});
    if let Some(last) = last {
        page["nextCursor"] = last.into();
    }
    page["elicitations"] = records.into();
    Ok(page)
}

fn id_of(record: &Value) -> Option<&str> {
    record["elicitationId"].as_str()
}

fn describe(outcome: Outcome) -> String {
    let status = outcome.status().as_str();
    match outcome {
        Outcome::Cancelled(reason) => format!("{status}: {reason}"),
        Outcome::Completed | Outcome::Declined | Outcome::TimedOut => status.to_owned(),
    }
}

impl Record {
    /// Prints it as JSON.
    pub(crate) fn print_json(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Stored(snapshot) => output::document(out, snapshot),
            Self::Served(record) => output::document(out, record),
        }
    }

    /// Prints it for people, one property per line.
    pub(crate) fn print(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let mut line = |name: &str, value: &str| writeln!(out, "{name:<10}{value}");
        let record = match self {
            Self::Stored(snapshot) => &serde_json::to_value(snapshot)?,
            Self::Served(record) => record,
        };
        line("id", &text(record, "elicitationId"))?;
        let status = text(record, "status");
        match record.get("reason") {
            Some(_) => line("status", &format!("{status}: {}", text(record, "reason")))?,
            None => line("status", &status)?,
        }
        if let Self::Stored(snapshot) = self {
            let request = &snapshot.record().request;
            line("question", &output::subject(&request.subject))?;
            let message = request.extras.as_ref().and_then(|e| e.message.as_ref());
            if let Some(message) = message {
                line("message", &output::sanitize(message))?;
            }
            line("asker", &output::sanitize(&request.asker))?;
        } else {
            for key in ["question", "asker"] {
                if record.get(key).is_some() {
                    line(key, &text(record, key))?;
                }
            }
        }
        if record.get("respondent").is_some() {
            line("for", &text(record, "respondent"))?;
        }
        line("mode", &text(record, "mode"))?;
        let shown = match &record["shown"] {
            Value::Bool(true) => "yes",
            Value::Bool(false) => "no",
            _ => "unknown",
        };
        line("shown", shown)?;
        for (name, key) in [
            ("asked", "createdAt"),
            ("deadline", "timeoutAt"),
            ("settled", "settledAt"),
        ] {
            if let Some(time) = time(record, key) {
                line(name, &time)?;
            }
        }
        if record.get("settledBy").is_some() {
            line("by", &text(&record["settledBy"], "name"))?;
        }
        match record["attempts"].as_u64() {
            None | Some(0) => {}
            Some(attempts) => {
                line(
                    "attempts",
                    &format!("{attempts} of {}", record["retryLimit"]),
                )?;
            }
        }
        match (self, record.get("result")) {
            (_, None) => {}
            (Self::Stored(_), Some(result)) => {
                line("result", &output::sanitize(&result.to_string()))?;
            }
            // A service reveals the secrets to its asker.
            (Self::Served(_), Some(_)) => {
                line(
                    "result",
                    "present; use --json to show it, including secrets",
                )?;
            }
        }
        if let Some(missing) = record["missing"].as_array() {
            let missing: Vec<_> = missing.iter().filter_map(Value::as_str).collect();
            line("missing", &output::sanitize(&missing.join(", ")))?;
        }
        Ok(())
    }
}

const HEAD: [&str; 5] = ["ID", "STATUS", "ASKED", "ASKER", "QUESTION"];
/// Maximum width of a cell with somebody else's words, in characters.
const MAX_CELL: usize = 60;

impl RecordPage {
    /// Prints it as JSON.
    pub(crate) fn print_json(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Stored(page) => output::document(out, page),
            Self::Served(page) => output::document(out, page),
        }
    }

    /// Prints it as a table and returns the number of rows.
    pub(crate) fn print(&self, out: &mut dyn Write) -> io::Result<usize> {
        match self {
            Self::Stored(page) => {
                let rows: Vec<_> = page.elicitations.iter().map(stored_row).collect();
                output::table(out, HEAD, &rows)?;
                Ok(rows.len())
            }
            Self::Served(page) => {
                let records: &[Value] = page["elicitations"].as_array().map_or(&[], Vec::as_slice);
                // A service names the askers to operators; others see their own questions.
                if records.iter().any(|record| record.get("asker").is_some()) {
                    let rows: Vec<_> = records.iter().map(operators_row).collect();
                    output::table(out, HEAD, &rows)?;
                } else {
                    let rows: Vec<_> = records.iter().map(askers_row).collect();
                    output::table(out, ["ID", "STATUS", "ASKED", "QUESTION"], &rows)?;
                }
                Ok(records.len())
            }
        }
    }

    /// Returns the cursor of the next page.
    pub(crate) fn next(&self) -> Option<String> {
        match self {
            Self::Stored(page) => page.next.map(|id| id.to_string()),
            Self::Served(page) => page["nextCursor"]
                .as_str()
                .map(|id| output::sanitize(id).into()),
        }
    }
}

fn stored_row(elicitation: &Snapshot) -> [String; 5] {
    let request = &elicitation.record().request;
    [
        elicitation.id().to_string(),
        elicitation.status().as_str().to_owned(),
        output::time(elicitation.lifecycle().created()),
        short(&output::sanitize(&request.asker)),
        short(&output::subject(&request.subject)),
    ]
}

fn operators_row(record: &Value) -> [String; 5] {
    let [id, status, asked, question] = askers_row(record);
    [id, status, asked, short(&text(record, "asker")), question]
}

fn askers_row(record: &Value) -> [String; 4] {
    [
        text(record, "elicitationId"),
        text(record, "status"),
        time(record, "createdAt").unwrap_or_default(),
        short(&text(record, "question")),
    ]
}

/// Cuts a cell, so that a row fits on a line.
fn short(text: &str) -> String {
    output::cut(text, MAX_CELL).into_owned()
}

/// Formats a timestamp of a record.
fn time(record: &Value, key: &str) -> Option<String> {
    let millis = record[key].as_u64()?;
    Some(output::time(UnixTime::from_millis(millis)))
}

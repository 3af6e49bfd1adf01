//! One message as a line of the trace.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;
use std::time::Duration;

use entreat_core::UnixTime;
use entreat_core::jiff::Timestamp;
use serde_json::Value;

use super::redact::redact;
use super::{Direction, Side, TracedMessage};
use crate::envelope::{Envelope, Kind};
use crate::json::quoted;

/// Longer messages are named without their content.
const MAX_SHOWN: usize = 64 << 10;
/// How many requests without a response are remembered.
const MAX_OPEN: usize = 10_000;
/// The longest id that is written.
const MAX_ID: usize = 256;

/// Makes lines. Knows the requests that are open, to say how long they took.
#[derive(Default)]
pub(super) struct Lines {
    open: HashMap<Key, VecDeque<Request>>,
}

/// Where a request went, and its id.
type Key = (Side, Direction, Box<str>);

struct Request {
    at: Duration,
    method: Box<str>,
}

impl Lines {
    /// The line for a message.
    pub(super) fn of(&mut self, message: &TracedMessage) -> String {
        let (side, direction) = (message.side, message.direction);
        let mut line = format!(
            r#"{{"time":"{}","side":"{}","direction":"{}""#,
            time(message.at),
            match side {
                Side::Client => "client",
                Side::Server => "server",
            },
            match direction {
                Direction::In => "in",
                Direction::Out => "out",
            }
        );
        // Writing to a string cannot fail.
        match Envelope::read(&message.text).map(|envelope| envelope.kind) {
            Ok(Kind::Request { id, method, .. }) => {
                self.note(side, direction, id, message.elapsed, &method);
                let _ = write!(line, r#","kind":"request","method":{}"#, quoted(&method));
                write_id(&mut line, id);
            }
            Ok(Kind::Notification { method, .. }) => {
                let _ = write!(
                    line,
                    r#","kind":"notification","method":{}"#,
                    quoted(&method)
                );
            }
            Ok(Kind::Response { id, error, .. }) => {
                let kind = if error.is_some() { "error" } else { "result" };
                let _ = write!(line, r#","kind":"{kind}""#);
                let request = self.answered(side, direction, id);
                if let Some(request) = &request {
                    let _ = write!(line, r#","method":{}"#, quoted(&request.method));
                }
                write_id(&mut line, id);
                if let Some(request) = &request {
                    let took = message.elapsed.saturating_sub(request.at);
                    let millis = took.as_secs_f64() * 1e3;
                    let _ = write!(line, r#","durationMs":{millis:.3}"#);
                }
            }
            Ok(Kind::Batch) => line.push_str(r#","kind":"batch""#),
            Err(_) => line.push_str(r#","kind":"unreadable""#),
        }
        let _ = write!(line, r#","size":{}"#, message.text.len());
        if message.text.len() <= MAX_SHOWN
            && let Ok(mut message) = serde_json::from_slice::<Value>(&message.text)
        {
            redact(&mut message);
            let _ = write!(line, r#","message":{message}"#);
        }
        line.push_str("}\n");
        line
    }

    fn note(&mut self, side: Side, direction: Direction, id: &str, at: Duration, method: &str) {
        if self.open.len() >= MAX_OPEN {
            self.open.clear();
        }
        let requests = self.open.entry((side, direction, id.into())).or_default();
        if requests.len() < MAX_OPEN {
            requests.push_back(Request {
                at,
                method: method.into(),
            });
        }
    }

    /// The oldest open request that a response may be for: it came the other way.
    fn answered(&mut self, side: Side, direction: Direction, id: &str) -> Option<Request> {
        let asked = match direction {
            Direction::In => Direction::Out,
            Direction::Out => Direction::In,
        };
        let key = (side, asked, id.into());
        let requests = self.open.get_mut(&key)?;
        let request = requests.pop_front();
        if requests.is_empty() {
            self.open.remove(&key);
        }
        request
    }
}

/// The line that says how many messages are missing.
pub(super) fn dropped(at: UnixTime, count: u64) -> String {
    format!("{{\"time\":\"{}\",\"dropped\":{count}}}\n", time(at))
}

fn write_id(line: &mut String, id: &str) {
    if id.len() <= MAX_ID {
        let _ = write!(line, r#","id":{id}"#);
    }
}

fn time(at: UnixTime) -> String {
    let millis = i64::try_from(at.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millisecond(millis).map_or_else(
        |_| millis.to_string(),
        |time| time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(lines: &mut Lines, side: Side, direction: Direction, ms: u64, text: &str) -> Value {
        let line = lines.of(&TracedMessage {
            at: UnixTime::from_millis(1_800_000_000_000 + ms),
            elapsed: Duration::from_millis(ms),
            side,
            direction,
            text: text.as_bytes().into(),
        });
        assert_eq!(line.matches('\n').count(), 1, "{line}");
        serde_json::from_str(&line).unwrap()
    }

    #[test]
    fn a_response_says_what_it_is_for_and_how_long_that_took() {
        let mut lines = Lines::default();
        let (client, server) = (Side::Client, Side::Server);
        let call = r#"{"id":1,"method":"tools/call","params":{"name":"t"}}"#;
        let first = line(&mut lines, client, Direction::In, 0, call);
        assert_eq!(first["time"], "2027-01-15T08:00:00.000Z");
        assert_eq!(first["message"]["params"]["name"], "t");
        line(&mut lines, server, Direction::Out, 1, call);
        // The server's own request has the same id.
        let push = r#"{"id":1,"method":"roots/list"}"#;
        line(&mut lines, server, Direction::In, 2, push);
        let roots = r#"{"id":1,"result":{"roots":[]}}"#;
        let answer = line(&mut lines, server, Direction::Out, 5, roots);
        assert_eq!(
            (&answer["method"], &answer["durationMs"]),
            (&"roots/list".into(), &3.0.into())
        );
        let failed = r#"{"id":1,"error":{"code":-1,"message":"no"}}"#;
        let answer = line(&mut lines, server, Direction::In, 11, failed);
        assert_eq!(
            (&answer["kind"], &answer["method"], &answer["durationMs"]),
            (&"error".into(), &"tools/call".into(), &10.0.into())
        );
        let answer = line(&mut lines, client, Direction::Out, 12, failed);
        assert_eq!(answer["durationMs"], 12.0);
        let late = line(&mut lines, client, Direction::Out, 13, failed);
        assert!(late.get("method").is_none() && late.get("durationMs").is_none());
    }

    #[test]
    fn what_is_long_or_no_message_has_a_line_without_content() {
        let mut lines = Lines::default();
        let long = format!(
            r#"{{"method":"notifications/message","params":{{"data":"{}"}}}}"#,
            "x".repeat(MAX_SHOWN)
        );
        let found = line(&mut lines, Side::Server, Direction::In, 0, &long);
        assert_eq!(found["size"], long.len());
        assert!(found.get("message").is_none());
        let found = line(&mut lines, Side::Server, Direction::In, 0, "\u{7}not json");
        assert_eq!(found["kind"], "unreadable");
        assert!(found.get("message").is_none());
    }
}

//! Keeps a server that cannot stay up from being started over and over.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use entreat_core::UnixTime;
use parking_lot::Mutex;

use super::live::Route;
use crate::gateway::Gateway;
use crate::session::Person;
use crate::side::Closed;
use crate::union::Source;

/// So many ends within a minute open the circuit.
const TOO_MANY: usize = 5;
const WINDOW: Duration = Duration::from_secs(60);
/// How long the server is left alone then.
const REST: Duration = Duration::from_secs(60);

/// A circuit for each server and principal: who can end a server must not keep it from others.
/// Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Circuits(Arc<Mutex<HashMap<(String, String), Circuit>>>);

impl Circuits {
    /// Whether a server may be started now.
    pub(super) fn admits(&self, server: &str, person: &Person, now: UnixTime) -> bool {
        self.with(server, person, |circuit| circuit.admits(now))
    }

    /// Notes that a server ended by itself or could not be started, and why.
    pub(super) fn note_end(&self, gateway: &Gateway, server: &str, person: &Person, why: String) {
        let now = gateway.page_asker.asker.engine().now();
        if let Some(observer) = &gateway.observer {
            observer.of(server).note_down(now, why);
        }
        self.with(server, person, |circuit| circuit.note_end(now));
    }

    /// Until when a server is left alone, whoever it is for.
    pub(super) fn open_until(&self, server: &str, now: UnixTime) -> Option<UnixTime> {
        let circuits = self.0.lock();
        let circuits = circuits.iter().filter(|((name, _), _)| name == server);
        let open = circuits.filter_map(|(_, circuit)| circuit.open_until(now));
        open.max()
    }

    fn with<T>(&self, server: &str, person: &Person, work: impl FnOnce(&mut Circuit) -> T) -> T {
        let key = (server.to_owned(), person.principal.clone());
        work(self.0.lock().entry(key).or_default())
    }

    /// How a union connects to a server: not while it keeps ending.
    pub(crate) fn guard(&self, gateway: &Arc<Gateway>, route: &Route, person: &Person) -> Source {
        let circuit = Guarded {
            circuits: self.clone(),
            gateway: gateway.clone(),
            name: route.name.clone(),
            person: person.clone(),
        };
        let (ended, connect) = (circuit.clone(), route.connect.clone());
        Source {
            name: route.name.clone(),
            connect: Arc::new(move || {
                if !circuit.admits() {
                    return Err(io::Error::other("it keeps ending; try again in a minute"));
                }
                let connected = connect();
                if let Err(error) = &connected {
                    circuit.note_end(not_started(error));
                }
                connected
            }),
            ended: Arc::new(move |closed| ended.note_end(words(closed))),
        }
    }
}

/// The circuit of one server for one principal.
#[derive(Clone)]
struct Guarded {
    circuits: Circuits,
    gateway: Arc<Gateway>,
    name: String,
    person: Person,
}

impl Guarded {
    fn now(&self) -> UnixTime {
        self.gateway.page_asker.asker.engine().now()
    }

    fn admits(&self) -> bool {
        self.circuits.admits(&self.name, &self.person, self.now())
    }

    fn note_end(&self, why: String) {
        self.circuits
            .note_end(&self.gateway, &self.name, &self.person, why);
    }
}

/// Why a server could not be started, in words.
pub(super) fn not_started(error: &io::Error) -> String {
    format!("it cannot be started: {error}")
}

/// How a server ended, in words.
pub(super) fn words(closed: Closed) -> String {
    match closed {
        Closed::Exited(Some(status)) => format!("it has exited: {status}"),
        Closed::Exited(None) => "it has exited".to_owned(),
        Closed::Here => "its connection has ended".to_owned(),
    }
}

/// Counts how often a server ended by itself.
#[derive(Debug, Default)]
pub(super) struct Circuit {
    ends: VecDeque<UnixTime>,
    open_until: Option<UnixTime>,
}

impl Circuit {
    /// Whether the server may be started now.
    pub(super) fn admits(&mut self, now: UnixTime) -> bool {
        if self.open_until.is_some_and(|until| now < until) {
            return false;
        }
        self.open_until = None;
        true
    }

    /// Until when the server is left alone.
    fn open_until(&self, now: UnixTime) -> Option<UnixTime> {
        self.open_until.filter(|until| now < *until)
    }

    /// Notes that the server ended by itself or could not be started.
    pub(super) fn note_end(&mut self, now: UnixTime) {
        while self
            .ends
            .front()
            .is_some_and(|end| now.since(*end) >= WINDOW)
        {
            self.ends.pop_front();
        }
        self.ends.push_back(now);
        if self.ends.len() >= TOO_MANY {
            self.ends.clear();
            self.open_until = Some(now.after(REST));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_ends_within_a_minute_are_too_many() {
        let mut circuit = Circuit::default();
        let start = UnixTime::from_millis(1_000_000);
        let at = |seconds| start.after(Duration::from_secs(seconds));
        for second in [0, 10, 20, 30, 70] {
            assert!(circuit.admits(at(second)));
            circuit.note_end(at(second));
        }
        // The first two were more than a minute ago.
        assert!(circuit.admits(at(70)));
        circuit.note_end(at(71));
        assert!(circuit.admits(at(71)));
        circuit.note_end(at(72));
        assert!(!circuit.admits(at(72)));
        assert!(!circuit.admits(at(131)));
        assert!(circuit.admits(at(132)));
    }
}

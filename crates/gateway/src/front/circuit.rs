//! Keeps a server that cannot stay up from being started over and over.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use entreat_core::UnixTime;
use parking_lot::Mutex;

use super::live::Route;
use crate::gateway::Gateway;
use crate::union::Source;

/// So many ends within a minute open the circuit.
const TOO_MANY: usize = 5;
const WINDOW: Duration = Duration::from_secs(60);
/// How long the server is left alone then.
const REST: Duration = Duration::from_secs(60);

/// A circuit for each server. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Circuits(Arc<Mutex<HashMap<String, Circuit>>>);

impl Circuits {
    /// Whether a server may be started now.
    pub(super) fn admits(&self, server: &str, now: UnixTime) -> bool {
        let mut circuits = self.0.lock();
        circuits.entry(server.to_owned()).or_default().admits(now)
    }

    /// Notes that a server ended by itself or could not be started.
    pub(super) fn note_end(&self, server: &str, now: UnixTime) {
        let mut circuits = self.0.lock();
        circuits.entry(server.to_owned()).or_default().note_end(now);
    }

    /// How a union connects to a server: not while it keeps ending.
    pub(crate) fn guard(&self, gateway: &Arc<Gateway>, route: &Route) -> Source {
        let now = {
            let gateway = gateway.clone();
            move || gateway.desk.asker.engine().now()
        };
        let (circuits, name, connect) = (self.clone(), route.name.clone(), route.connect.clone());
        let guarded = {
            let now = now.clone();
            move || {
                if !circuits.admits(&name, now()) {
                    return Err(io::Error::other("it keeps ending; try again in a minute"));
                }
                connect().inspect_err(|_| circuits.note_end(&name, now()))
            }
        };
        let (circuits, name) = (self.clone(), route.name.clone());
        Source {
            name: route.name.clone(),
            connect: Arc::new(guarded),
            ended: Arc::new(move || circuits.note_end(&name, now())),
        }
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

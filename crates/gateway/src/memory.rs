//! Memory for what clients leave here: open calls, results that nobody has fetched, messages that
//! nobody has read. Each principal has a share.

use std::sync::Arc;

use entreat_engine::shares::{Permit, Shares};

use crate::client::ClientSender;
use crate::log::LineThrottle;
use crate::session::Person;

/// What a small message costs besides its text: its call, its tasks, its entries in tables.
const OVERHEAD: usize = 4 << 10;
/// What is left for a client's own messages when something else takes memory.
const SPARE: usize = 64 << 10;
/// Streams take memory in steps of this size; the first is free.
const STEP: usize = 64 << 10;

type Principal = Arc<str>;

/// Memory that was taken; released when dropped.
pub(crate) type Reservation = Permit<Principal>;

/// The memory of a gateway.
#[derive(Debug)]
pub(crate) struct Memory {
    shared: Shares<Principal>,
    /// For the client on a connection of its own, which may use all.
    alone: Shares<Principal>,
    log: Arc<LogLines>,
}

/// Log lines about memory.
#[derive(Debug, Default)]
struct LogLines {
    full: LineThrottle,
    unread: LineThrottle,
}

/// The memory of one principal. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    shares: Shares<Principal>,
    principal: Principal,
    log: Arc<LogLines>,
}

impl Memory {
    /// So many bytes in total, of which one principal gets so many percent.
    pub(crate) fn new(all: usize, percent: u8) -> Self {
        let percent = usize::from(percent.min(100));
        let each = all / 100 * percent + all % 100 * percent / 100;
        Self {
            shared: Shares::new(all, each),
            alone: Shares::new(all, all),
            log: Arc::default(),
        }
    }

    pub(crate) fn of(&self, principal: &str) -> Account {
        Account {
            shares: self.shared.clone(),
            principal: principal.into(),
            log: self.log.clone(),
        }
    }

    /// The memory of the person behind a client.
    pub(crate) fn for_client(&self, client: &ClientSender, person: &Person) -> Account {
        if client.is_alone() {
            return Account {
                shares: self.alone.clone(),
                principal: person.principal.as_str().into(),
                log: self.log.clone(),
            };
        }
        self.of(&person.principal)
    }
}

impl Account {
    /// Takes memory for something that a client did not send, and that must not keep out what it
    /// sends; `None` if there is not enough for both.
    pub(crate) fn reserve_leaving_spare(&self, bytes: usize) -> Option<Reservation> {
        drop(self.reserve(bytes.saturating_add(SPARE))?);
        self.reserve(bytes)
    }

    /// Takes memory for something that is kept; `None` if there is not enough.
    pub(crate) fn reserve(&self, bytes: usize) -> Option<Reservation> {
        let bytes = bytes.saturating_add(OVERHEAD);
        let taken = self.shares.take_many(self.principal.clone(), bytes, 0);
        taken
            .inspect_err(|full| {
                if let Some(count) = self.log.full.count() {
                    let principal = &*self.principal;
                    tracing::warn!(principal, %full, count, "no memory");
                }
            })
            .ok()
    }
}

/// The memory of a queue that grows and shrinks.
#[derive(Debug, Default)]
pub(crate) struct QueueReservation {
    account: Option<Account>,
    taken: usize,
    reservation: Option<Reservation>,
}

impl QueueReservation {
    /// A queue that counts.
    pub(crate) fn of(account: Account) -> Self {
        Self {
            account: Some(account),
            ..Self::default()
        }
    }

    /// Notes that a queue was given up, since nobody reads it.
    pub(crate) fn log_unread(&self) {
        let log = self.account.as_ref().map(|account| &account.log.unread);
        if let Some(count) = log.map_or(Some(1), LineThrottle::count) {
            tracing::warn!(count, "a client does not read its stream, which was closed");
        }
    }

    /// Takes memory for this many bytes in place of what was taken before. Returns whether there is
    /// enough, which there always is for less.
    pub(crate) fn resize(&mut self, bytes: usize) -> bool {
        let Some(account) = &self.account else {
            return true;
        };
        let steps = bytes / STEP * STEP;
        if steps == self.taken {
            return true;
        }
        if steps == 0 {
            self.reservation = None;
        } else {
            let principal = account.principal.clone();
            match account.shares.take_many(principal, steps, self.taken) {
                Ok(reservation) => self.reservation = Some(reservation),
                Err(_) => return false,
            }
        }
        self.taken = steps;
        true
    }
}

/// A number of bytes, such as `16 MiB`.
pub(crate) fn in_words(bytes: usize) -> String {
    match bytes {
        _ if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ if bytes >= 1 << 10 && bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_takes_what_it_holds_and_leaves_the_rest_to_others() {
        let memory = Memory::new(40 * STEP, 25);
        let mut greedy = QueueReservation::of(memory.of("a"));
        assert!(greedy.resize(STEP - 1));
        assert_eq!(memory.shared.taken(), 0);
        assert!(greedy.resize(10 * STEP) && greedy.resize(3 * STEP + 1));
        assert_eq!(memory.shared.taken(), 3 * STEP);
        assert!(!greedy.resize(11 * STEP));
        assert_eq!(memory.shared.taken(), 3 * STEP);
        assert!(memory.of("a").reserve(8 * STEP).is_none());
        assert!(memory.of("b").reserve(8 * STEP).is_some());
        drop(greedy);
        assert_eq!(memory.shared.taken(), 0);
    }
}

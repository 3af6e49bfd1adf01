//! How long the gateway waits, and how much it allows.

use std::time::Duration;

use crate::approvals::{ApprovalAction, ApprovalRule};

/// Settings of a gateway.
#[derive(Clone, Debug)]
pub struct GatewaySettings {
    /// Whether Entreat asks what the client cannot show.
    pub fulfils: bool,
    /// A reply to a native question that comes sooner than this was not read by a person.
    pub reading_time: Duration,
    /// How long a native question stays alone with a client that has never answered one, before a
    /// page opens too.
    pub native_silence: Duration,
    /// How long a tool call without progress reports stays open while a person answers on a page,
    /// before it is answered with the link.
    pub patience: Duration,
    /// How long a request of 2026-07-28 is held while a person answers on a page, and how long
    /// `resume_question` waits.
    pub hold: Duration,
    /// How long several questions of an older server are collected before a client of 2026-07-28
    /// gets them.
    pub gather: Duration,
    /// The interval of progress reports while a person answers.
    pub progress_every: Duration,
    /// How long a server may take to respond to `server/discover`.
    pub discover: Duration,
    /// How long a server may take to respond to `initialize`.
    pub initialize: Duration,
    /// How long the answer for several servers waits for those that are slow.
    pub stragglers: Duration,
    /// How many entries a page of a list of several servers has.
    pub page: usize,
    /// How long a call of a client of 2026-07-28 is kept between its rounds.
    pub park: Duration,
    /// How often a server may ask, per minute.
    pub questions_per_minute: u32,
    /// How often a form is shown while its answers are invalid.
    pub attempts: u32,
    /// How often a call goes through rounds, or is repeated after URLs were visited.
    pub rounds: u32,
    /// How many calls of one session may be parked at once.
    pub parked: usize,
    /// Memory for open calls, results that nobody has fetched and messages that nobody has read, in
    /// bytes.
    pub memory: usize,
    /// How much of it one principal may use, in percent. A single client over stdio may use all.
    pub principal_share: u8,
    /// Which calls of tools a person has to approve. The first rule that matches decides.
    pub approvals: Vec<ApprovalRule>,
    /// Root folders that are offered to servers in addition to the client's.
    pub roots: Vec<Root>,
}

/// A root folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// Its URI, with the scheme `file`.
    pub uri: String,
    /// Its name.
    pub name: Option<String>,
}

impl GatewaySettings {
    /// Whether calls of tools may have to be approved.
    pub(crate) fn needs_approval(&self) -> bool {
        let mut rules = self.approvals.iter();
        rules.any(|rule| rule.action != ApprovalAction::Allow)
    }
}

impl Default for GatewaySettings {
    fn default() -> Self {
        Self {
            fulfils: true,
            reading_time: Duration::from_millis(300),
            native_silence: Duration::from_secs(30),
            patience: Duration::from_secs(45),
            hold: Duration::from_secs(25),
            gather: Duration::from_millis(50),
            progress_every: Duration::from_secs(10),
            discover: Duration::from_secs(5),
            initialize: Duration::from_secs(30),
            stragglers: Duration::from_secs(10),
            page: 1_000,
            park: Duration::from_secs(3600),
            questions_per_minute: 20,
            attempts: 3,
            rounds: 10,
            parked: 10_000,
            memory: 1 << 30,
            principal_share: 25,
            approvals: Vec::new(),
            roots: Vec::new(),
        }
    }
}

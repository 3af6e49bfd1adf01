//! Calls of tools that wait until a person approves them.
//!
//! Rules decide which calls wait. A call that waits is parked with its own parameters, and those
//! are what runs: nothing that a client sends later replaces them. The question goes the ways of
//! every question, and no tool of ours answers it, so that a model alone cannot approve.

mod arguments;
mod gate;
mod glob;
mod question;
mod rule;
mod tools;
mod when;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use entreat_core::UnixTime;
use entreat_wire::digest::{CanonicalBytes, Digest};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use self::arguments::{Tree, Unreadable};
use self::question::{ApprovalQuestion, CallToApprove};
use self::rule::{Subject, decide};
use crate::call::Call;
use crate::capability;
use crate::recipient::Recipient;

use crate::json::RawObject;
use crate::meta::CLIENT_INFO;
use crate::modern::declared;
use crate::policy::is_name;
use crate::reply::{Reply, tool_text};
use crate::session::{Pair, Session};

pub(crate) use self::gate::Gate;
pub use self::glob::{Glob, InvalidGlob};
pub use self::rule::{ApprovalAction, ApprovalRule, Validity};
use self::tools::KnownTools;
pub use self::when::{InvalidCondition, When};

/// The largest call that a person is asked about, in bytes of its parameters.
const MAX_CALL: usize = 1 << 20;
/// The maximum number of calls of a session that wait at once: each may open a page.
const MAX_WAITING: usize = 100;
/// The maximum number of approvals that count for repetitions.
const MAX_APPROVED: usize = 10_000;

/// Calls that were approved, and whose repetitions need no second asking for a while.
#[derive(Default)]
pub(crate) struct Approved(Mutex<HashMap<Digest, UnixTime>>);

impl Approved {
    fn has(&self, call: Digest, now: UnixTime) -> bool {
        self.0.lock().get(&call).is_some_and(|until| now < *until)
    }

    fn note(&self, call: Digest, now: UnixTime, valid: Duration) {
        let mut approved = self.0.lock();
        if approved.len() >= MAX_APPROVED {
            approved.retain(|_, until| now < *until);
        }
        if approved.len() >= MAX_APPROVED
            && let Some(soonest) = approved.iter().min_by_key(|(_, until)| **until)
        {
            let soonest = *soonest.0;
            approved.remove(&soonest);
        }
        approved.insert(call, now.after(valid));
    }
}

/// What a session knows and allows of calls that wait.
pub(crate) struct Approvals {
    tools: KnownTools,
    /// A place for each call that may wait.
    places: Arc<Semaphore>,
}

impl Default for Approvals {
    fn default() -> Self {
        Self {
            tools: KnownTools::default(),
            places: Arc::new(Semaphore::new(MAX_WAITING)),
        }
    }
}

/// What becomes of a call.
enum Judgement {
    Passes,
    Refused(Reply),
    Waits(Box<Gate>),
}

impl Session {
    /// Whether calls of tools may have to be approved.
    pub(crate) fn needs_approval(&self) -> bool {
        self.settings().needs_approval()
    }

    /// Notes what a list of tools says, for the questions about their calls.
    pub(crate) fn note_tools(&self, result: &str) {
        if self.needs_approval() {
            self.approvals.tools.note(result);
        }
    }

    /// Takes a call of a tool that does not run at once: it is refused, or waits for a person.
    /// Returns whether it was taken.
    pub(crate) fn holds_for_approval(self: &Arc<Self>, call: &Arc<Call>, params: &str) -> bool {
        if !self.needs_approval() {
            return false;
        }
        match self.judge(params) {
            Judgement::Passes => false,
            Judgement::Refused(reply) => {
                call.reply(&reply);
                true
            }
            Judgement::Waits(gate) => {
                self.hold(call, params, *gate);
                true
            }
        }
    }

    #[expect(
        clippy::too_many_lines,
        reason = "one check after the other, each in words"
    )]
    fn judge(self: &Arc<Self>, params: &str) -> Judgement {
        let invalid =
            |what: &str| Judgement::Refused(Reply::invalid_params(&format!("params: {what}")));
        let Some(object) = RawObject::parse(params) else {
            return invalid("is not an object, or names a member twice");
        };
        let Some(tool_name) = object.string("name") else {
            return invalid("there is no name of a tool");
        };
        if !is_name(&tool_name) {
            return invalid("the name of the tool is too long");
        }
        let state = self.state.lock();
        let own_name = state.upstream_name.clone();
        let client = state.client.name.clone();
        drop(state);
        let tool = self.approvals.tools.get(&tool_name);
        let is_large = params.len() > MAX_CALL;
        let arguments = object.get("arguments").unwrap_or("{}");
        let call = Subject {
            server: &self.fallback_name,
            own_name: own_name.as_deref(),
            tool: &tool_name,
            arguments: (!is_large).then_some(arguments),
            is_destructive: tool.is_destructive(),
        };
        let rules = &self.settings().approvals;
        let Some(rule) = decide(rules, &call) else {
            return Judgement::Passes;
        };
        let refused = |text: &str| {
            if let Some(count) = self.count_for_log("a call was refused") {
                let server = &self.fallback_name;
                tracing::info!(%server, tool = %tool_name, count, "a call was refused");
            }
            Judgement::Refused(Reply::Result(tool_text(
                text,
                true,
                self.is_modern_client(),
            )))
        };
        if rule.action == ApprovalAction::Deny {
            return refused(&format!(
                "The call was not run: a rule of the person who uses this server forbids such calls \
                 of `{tool_name}`. Nobody was asked. Do not try to get around the rule; tell the \
                 person if you need this."
            ));
        }
        let unreadable = |why: Unreadable| {
            refused(&format!(
                "The call was not run: it needs a person's approval, and its arguments cannot be \
                 shown to one: {why}."
            ))
        };
        if is_large {
            return refused(
                "The call was not run: it needs a person's approval, and its arguments are larger \
                 than 1 MiB, which nobody can check. Make several smaller calls.",
            );
        }
        let mut others = object.clone();
        others.retain(|name| {
            !matches!(
                name,
                "name" | "arguments" | "_meta" | "inputResponses" | "requestState"
            )
        });
        let others = others.to_string();
        let read = || Ok((Tree::read(arguments)?, Tree::read(&others)?));
        let (arguments, others) = match read() {
            Ok(read) => read,
            Err(why) => return unreadable(why),
        };
        let digest = {
            let mut canonical = CanonicalBytes::default();
            canonical.text(&self.person.principal);
            canonical.text(&self.fallback_name);
            canonical.text(own_name.as_deref().unwrap_or_default());
            canonical.text(&tool_name);
            arguments.digest_into(&mut canonical);
            others.digest_into(&mut canonical);
            canonical.digest()
        };
        if rule.valid != Validity::Once && self.gateway.approved.has(digest, self.engine().now()) {
            return Judgement::Passes;
        }
        let too_many = || {
            refused(
                "The call was not run: too many calls wait for a person's approval already. Wait \
                 for their results first.",
            )
        };
        let Ok(place) = self.approvals.places.clone().try_acquire_owned() else {
            return too_many();
        };
        let client = client.or_else(|| {
            let meta = object.object("_meta")?;
            capability::name_of(&meta.object(CLIENT_INFO)?)
        });
        let question = ApprovalQuestion::new(&CallToApprove {
            server: &self.fallback_name,
            own_name: own_name.as_deref(),
            tool_name: &tool_name,
            tool: &tool,
            client: client.as_deref(),
            arguments: &arguments,
            others: &others,
            who: rule.who.as_deref(),
            timeout: rule.timeout,
        });
        let question = match question {
            Ok(question) => question,
            Err(why) => return unreadable(why),
        };
        let Some(reservation) = self.memory.reserve(question.size()) else {
            return too_many();
        };
        Judgement::Waits(Box::new(Gate {
            session: self.clone(),
            _place: place,
            _reservation: reservation,
            tool: tool_name,
            question,
            digest,
            valid: rule.valid,
        }))
    }

    /// Parks a call until it is decided. Each pair of eras goes on in its own way.
    fn hold(self: &Arc<Self>, call: &Arc<Call>, params: &str, gate: Gate) {
        let pair = self.state.lock().pair;
        match pair {
            Pair::Undecided | Pair::Legacy => self.hold_legacy(call, gate),
            Pair::Raised => self.hold_raised(call, gate),
            Pair::Lowered => self.hold_lowered(call, gate),
            Pair::Modern => {
                if let Err(busy) = self.note_call(call) {
                    return call.reply(&busy);
                }
                let begun = self.begin_rounds(call, declared(params), params, None, Some(gate));
                if let Err(busy) = begun {
                    self.reply(call, &busy);
                }
            }
        }
    }

    fn hold_legacy(self: &Arc<Self>, call: &Arc<Call>, gate: Gate) {
        if let Err(busy) = self.note_call(call) {
            return call.reply(&busy);
        }
        call.client.leave();
        let (session, call) = (self.clone(), call.clone());
        self.spawn(async move {
            let recipient = Recipient::of_call(&session, &call);
            match gate.pass(&recipient).await {
                Ok(()) => session.send_again(&call).await,
                Err(reply) => session.reply(&call, &reply),
            }
        });
    }
}

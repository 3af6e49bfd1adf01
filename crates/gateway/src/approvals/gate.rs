//! Asks a person about one call, and says in words for a model what they decided.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use entreat_core::UnixTime;
use entreat_wire::digest::Digest;
use entreat_wire::message::CREATE;
use tokio::sync::OwnedSemaphorePermit;

use super::Validity;
use super::question::{ApprovalQuestion, Decision, NativeAnswer, decision, native_decision};
use crate::ask::ask_on_page;
use crate::client_first::{Shows, client_first};
use crate::memory::Reservation;
use crate::observe::QuestionWatch;
use crate::page_asker::PageDecision;
use crate::recipient::Recipient;
use crate::reply::{Reply, tool_text};
use crate::session::Session;

/// What stands between a call and its server.
pub(crate) struct Gate {
    pub(super) session: Arc<Session>,
    /// Its place among the calls that may wait.
    pub(super) _place: OwnedSemaphorePermit,
    /// The memory of its question.
    pub(super) _reservation: Reservation,
    pub(super) tool: String,
    pub(super) question: ApprovalQuestion,
    /// What the approval is for: the principal, server, tool and arguments.
    pub(super) digest: Digest,
    pub(super) valid: Validity,
}

/// How the question ended.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Decided(Decision),
    /// Seen, and not decided.
    Dismissed,
    TimedOut,
    /// Nobody waits for the decision any more.
    Withdrawn,
    /// There is no way to ask anybody.
    Unasked(String),
}

impl Gate {
    /// Returns once the call may run; the error is its result, if it may not.
    pub(crate) async fn pass(mut self, recipient: &Recipient) -> Result<(), Reply> {
        self.session.know_tools().await;
        let tool = self.session.approvals.tools.get(&self.tool);
        self.question.add_missing_words(&tool);
        let verdict = {
            let _alive = recipient.keep_alive();
            self.ask(recipient).await
        };
        // Without the arguments and the reason.
        let name = verdict.name();
        tracing::info!(tool = %self.tool, decision = name, "a person was asked to approve a call");
        if let Some(observed) = &self.session.observed {
            observed.metrics.approval(name);
        }
        let refusal = match verdict {
            Verdict::Decided(Decision::Approved) => {
                if let Validity::For(valid) = self.valid {
                    let now = recipient.now();
                    self.session.gateway.approved.note(self.digest, now, valid);
                }
                return Ok(());
            }
            verdict => self.words(&verdict),
        };
        let is_modern = self.session.is_modern_client();
        Err(Reply::Result(tool_text(&refusal, true, is_modern)))
    }

    async fn ask(&self, recipient: &Recipient) -> Verdict {
        let deadline = recipient.now().after(self.question.timeout);
        let has_own_way = recipient.has_own_way();
        // Only a page knows who answers.
        let is_native = recipient.capabilities().form
            && !recipient.distrusts_native()
            && self.question.who.is_none();
        let native = is_native.then(|| self.question.native(!has_own_way));
        let Some(params) = native.flatten() else {
            return self.ask_on_page(recipient, deadline).await;
        };
        let native = pin!(self.ask_native(recipient, &params, deadline));
        let page = has_own_way.then_some(|| self.ask_on_page(recipient, deadline));
        client_first(recipient, Shows::Form, native, page)
            .await
            .unwrap_or_else(Verdict::Unasked)
    }

    /// Has the client ask in its own form. An error says why its answer does not count.
    async fn ask_native(
        &self,
        recipient: &Recipient,
        params: &str,
        deadline: UnixTime,
    ) -> Result<Verdict, String> {
        let asked = recipient.now();
        let reply = tokio::select! {
            biased;
            reply = recipient.push(CREATE, params) => reply,
            () = recipient.sleep(deadline.since(asked)) => return Ok(Verdict::TimedOut),
        };
        if recipient.cancelled().is_cancelled() {
            return Ok(Verdict::Withdrawn);
        }
        let Reply::Result(result) = reply else {
            recipient.distrust_native();
            return Err("the client cannot show the question".to_owned());
        };
        // A round goes out when its questions are gathered.
        let gather = if recipient.has_rounds() {
            recipient.settings().gather
        } else {
            Duration::ZERO
        };
        if recipient.now().since(asked) < recipient.settings().reading_time + gather {
            tracing::info!("the client answered faster than a person reads");
            recipient.distrust_native();
            return Err("the client answered faster than a person reads".to_owned());
        }
        match native_decision(&result) {
            NativeAnswer::Decided(decision) => {
                recipient.note_answered();
                Ok(Verdict::Decided(decision))
            }
            NativeAnswer::Dismissed => {
                recipient.note_answered();
                Ok(Verdict::Dismissed)
            }
            NativeAnswer::Invalid => Err("the client's answer is not valid".to_owned()),
        }
    }

    /// Asks on our page, which the person reaches by the first way that this client has.
    async fn ask_on_page(&self, recipient: &Recipient, deadline: UnixTime) -> Verdict {
        let left = deadline.since(recipient.now());
        let Some(question) = self.question.on_page(left) else {
            return Verdict::Unasked("the question cannot be shown".to_owned());
        };
        // Counted by its decision.
        let watch = QuestionWatch::new(None);
        match ask_on_page(recipient, &self.question.title, question, &watch).await {
            Ok(PageDecision::Answered(answers)) => {
                decision(&answers).map_or(Verdict::Dismissed, Verdict::Decided)
            }
            Ok(PageDecision::Declined | PageDecision::Cancelled | PageDecision::Invalid) => {
                Verdict::Dismissed
            }
            Ok(PageDecision::TimedOut) => Verdict::TimedOut,
            Ok(PageDecision::Withdrawn) => Verdict::Withdrawn,
            Err(error) => {
                self.session.warn("an approval reached nobody", &error);
                Verdict::Unasked(error.to_string())
            }
        }
    }

    /// What a model reads of a call that does not run.
    fn words(&self, verdict: &Verdict) -> String {
        let tool = &self.tool;
        let advice = "Do not repeat it unless the person asks you to.";
        match verdict {
            Verdict::Decided(Decision::Refused {
                reason: Some(reason),
            }) => format!(
                "The call was not run: a person was asked to approve this call of `{tool}`, and \
                 said no. Their reason: {reason}"
            ),
            Verdict::Decided(Decision::Refused { reason: None } | Decision::Approved) => format!(
                "The call was not run: a person was asked to approve this call of `{tool}`, and \
                 said no. {advice}"
            ),
            Verdict::Dismissed => format!(
                "The call was not run: a person was asked to approve this call of `{tool}`, and \
                 closed the question without a decision. {advice}"
            ),
            Verdict::TimedOut => format!(
                "The call was not run: a person was asked to approve this call of `{tool}`, and \
                 did not decide in time. {advice}"
            ),
            Verdict::Withdrawn => format!(
                "The call was not run: the question whether to approve this call of `{tool}` was \
                 withdrawn."
            ),
            Verdict::Unasked(why) => format!(
                "The call was not run: this call of `{tool}` needs a person's approval, and nobody \
                 could be asked: {why}."
            ),
        }
    }
}

impl Verdict {
    fn name(&self) -> &'static str {
        match self {
            Self::Decided(Decision::Approved) => "approved",
            Self::Decided(Decision::Refused { .. }) => "refused",
            Self::Dismissed => "dismissed",
            Self::TimedOut => "timed_out",
            Self::Withdrawn => "withdrawn",
            Self::Unasked(_) => "not_asked",
        }
    }
}

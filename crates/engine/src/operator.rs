//! Operators: manage the questions of all askers, and read no answers.

use std::time::Duration;

use entreat_core::{CancelReason, ElicitationId};

use crate::asker::{Asker, ElicitationPage, MAX_PAGE};
use crate::elicitation::{Access, Elicitation, Extended};
use crate::error::ActError;
use crate::record::Actor;
use crate::snapshot::Snapshot;
use crate::store::{Query, StatusFilter};

/// Manages the questions of all askers. Its snapshots contain no answers, drafts or secrets, nor
/// what an asker attached to its question.
///
/// ```
/// use entreat_engine::{Ask, Engine, Operator, StatusFilter};
///
/// # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
/// # runtime.block_on(async {
/// let engine = Engine::builder().start().await?;
/// engine.asker("robot").ask(Ask::inline("Name?")?).await?;
///
/// let operator = Operator::new(engine.asker("operator"));
/// let page = operator.list(StatusFilter::Live, 50, None).await?;
/// let record = serde_json::to_value(&page.elicitations[0])?;
/// assert_eq!((&record["asker"], &record["question"]), (&"robot".into(), &"Name?".into()));
/// # engine.shutdown().await;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Operator {
    asker: Asker,
    actor: Actor,
}

impl Operator {
    /// Acts under this name and within these limits; its own questions play no role.
    pub fn new(asker: Asker) -> Self {
        let name = asker.name();
        let actor = Actor {
            account: name.into(),
            name: name.into(),
            is_operator: true,
        };
        Self { asker, actor }
    }

    /// Acts as this person, within these limits.
    pub fn person(asker: Asker, account: &str, name: &str) -> Self {
        let actor = Actor {
            account: account.into(),
            name: name.into(),
            is_operator: true,
        };
        Self { asker, actor }
    }

    /// Returns who acts.
    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// Lists the questions of all askers that are older than `before`, newest first.
    pub async fn list(
        &self,
        which: StatusFilter,
        limit: usize,
        before: Option<ElicitationId>,
    ) -> Result<ElicitationPage, ActError> {
        let limit = limit.min(MAX_PAGE);
        self.select(Query {
            asker: None,
            respondents: None,
            which,
            before,
            limit,
        })
        .await
    }

    /// Returns the page that a query selects, newest first. Its limit is not capped: what is open
    /// is in memory, and read in one pass.
    pub async fn select(&self, query: Query) -> Result<ElicitationPage, ActError> {
        self.asker.charge()?;
        let page = self.asker.engine().select(query).await?;
        let elicitations = page.elicitations.into_iter();
        Ok(ElicitationPage {
            elicitations: elicitations.map(Snapshot::for_operator).collect(),
            next: page.next,
        })
    }

    /// Returns the current state of a question.
    pub async fn status(&self, id: ElicitationId) -> Result<Snapshot, ActError> {
        self.asker.charge()?;
        let inner = &self.asker.engine().inner;
        let record = inner.load_current(&Access::Host, id).await?;
        Ok(Snapshot::brief(record).for_operator())
    }

    /// Cancels a question.
    pub async fn cancel(
        &self,
        id: ElicitationId,
        reason: CancelReason,
    ) -> Result<Snapshot, ActError> {
        let cancelled = self.question(id)?.cancel(reason).await?;
        self.log(id, "cancelled");
        Ok(cancelled.for_operator())
    }

    /// Extends the deadline of a question by at most what its terms grant, which is the default.
    pub async fn extend(
        &self,
        id: ElicitationId,
        by: Option<Duration>,
    ) -> Result<Extended, ActError> {
        let extended = self.question(id)?.extend(by).await?;
        self.log(id, "extended");
        Ok(extended)
    }

    /// Makes it a question for someone else; see [`Elicitation::reassign`].
    pub async fn reassign(
        &self,
        id: ElicitationId,
        respondent: &str,
    ) -> Result<Snapshot, ActError> {
        let reassigned = self.question(id)?.reassign(respondent).await?;
        self.log(id, "reassigned");
        Ok(reassigned.for_operator())
    }

    /// The account, because a name may be changed by whoever has it.
    fn log(&self, id: ElicitationId, act: &'static str) {
        let operator = &*self.actor.account;
        tracing::info!(operator, elicitation.id = %id, act, "an operator changed a question");
    }

    /// The host's handle, charged to the operator.
    fn question(&self, id: ElicitationId) -> Result<Elicitation, ActError> {
        self.asker.charge()?;
        let question = self.asker.engine().elicitation(id);
        Ok(question.acting(self.actor.clone()))
    }
}

//! Operators: manage the questions of all askers, and read no answers.

use std::time::Duration;

use entreat_core::{CancelReason, ElicitationId};

use crate::asker::{Asker, ElicitationPage};
use crate::elicitation::{Access, Elicitation, Extended};
use crate::error::ActError;
use crate::snapshot::Snapshot;
use crate::store::StatusFilter;

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
pub struct Operator(Asker);

impl Operator {
    /// Acts under this name and within these limits; its own questions play no role.
    pub fn new(asker: Asker) -> Self {
        Self(asker)
    }

    /// Lists the questions of all askers that are older than `before`, newest first.
    pub async fn list(
        &self,
        which: StatusFilter,
        limit: usize,
        before: Option<ElicitationId>,
    ) -> Result<ElicitationPage, ActError> {
        self.0.charge()?;
        let page = self.0.engine().list(None, which, limit, before).await?;
        Ok(ElicitationPage {
            elicitations: page
                .elicitations
                .into_iter()
                .map(Snapshot::for_operator)
                .collect(),
            next: page.next,
        })
    }

    /// Returns the current state of a question.
    pub async fn status(&self, id: ElicitationId) -> Result<Snapshot, ActError> {
        self.0.charge()?;
        let inner = &self.0.engine().inner;
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
        Ok(cancelled.for_operator())
    }

    /// Extends the deadline of a question by at most what its terms grant, which is the default.
    pub async fn extend(
        &self,
        id: ElicitationId,
        by: Option<Duration>,
    ) -> Result<Extended, ActError> {
        self.question(id)?.extend(by).await
    }

    /// The host's handle, charged to the operator.
    fn question(&self, id: ElicitationId) -> Result<Elicitation, ActError> {
        self.0.charge()?;
        Ok(self.0.engine().elicitation(id))
    }
}

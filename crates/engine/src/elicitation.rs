//! A handle to one elicitation: status, submission, drafts, decline, cancel, extend.

mod draft;

use std::sync::Arc;
use std::time::Duration;

use entreat_core::{
    Answer, Answers, CancelReason, Change, CheckSettings, Command, Effect, ElicitationId, Form,
    Kind, Mode, Presented, ReferenceKind, Step, UnixTime, Verdict, Violations,
};
use futures_util::future::join_all;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::ask::INLINE_FIELD;
use crate::engine::{Engine, Inner};
use crate::error::{ActError, Refusal};
use crate::limits::Account;
use crate::payload::{counted_size, editable, known_answers};
use crate::record::{Actor, AnswerState, Payload, Record, Subject};
use crate::refusals::UrlUse;
use crate::resolver::{AskerResolver, Resolver, Unresolved, UrlError, resolve_and_check};
use crate::snapshot::Snapshot;
use crate::step::keep_answer;
use crate::submission::Submission;
use crate::wait::Wait;

pub use self::draft::Drafted;

/// A handle to one elicitation. Cheap to clone; dropping it changes nothing.
///
/// [`Asker::ask`](crate::Asker::ask) and [`Asker::elicitation`](crate::Asker::elicitation) return
/// the asker's handle, which reads results with secrets. [`Engine::elicitation`] returns the
/// host's, which presents and answers the question.
#[derive(Clone)]
pub struct Elicitation {
    engine: Engine,
    id: ElicitationId,
    access: Access,
    typist: Option<Arc<str>>,
    actor: Option<Arc<Actor>>,
    accepted_references: Vec<ReferenceKind>,
}

/// Who accesses an elicitation.
#[derive(Clone)]
pub(crate) enum Access {
    /// The program itself.
    Host,
    /// The program on behalf of whom the elicitation is for: as long as it is.
    Respondent(Option<Arc<str>>),
    /// The engine's own task, which is never dropped halfway: its commits have low priority.
    Engine,
    /// An asker or one of its principals, who sees only its own.
    Asker(Account),
}

impl Access {
    pub(crate) fn admits(&self, record: &Record) -> bool {
        match self {
            Self::Host | Self::Engine => true,
            Self::Respondent(name) => record.request.respondent() == name.as_deref(),
            Self::Asker(account) => account.owns(&record.request),
        }
    }

    pub(crate) fn is_asker(&self) -> bool {
        matches!(self, Self::Asker(_))
    }
}

/// An extended deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extended {
    /// The new deadline.
    pub deadline: UnixTime,
    /// How many extensions are left.
    pub extensions_left: u8,
}

impl Elicitation {
    pub(crate) fn new(engine: Engine, id: ElicitationId, access: Access) -> Self {
        Self {
            engine,
            id,
            access,
            typist: None,
            actor: None,
            accepted_references: Vec::new(),
        }
    }

    /// Names the browser or terminal that submits, followed by a dot and the person, if that is
    /// known: `BROWSER.PERSON`. The name is stored with drafts and answers, so that a draft is shown
    /// only to its author. Of several people who may answer, each has a draft.
    #[must_use]
    pub fn typed_by(mut self, typist: &str) -> Self {
        self.typist = Some(typist.into());
        self
    }

    /// Names the person who acts. Whoever settles the question is stored with it.
    #[must_use]
    pub fn acting(mut self, actor: Actor) -> Self {
        self.actor = Some(Arc::new(actor));
        self
    }

    /// Ends this handle's access as soon as the question is for somebody else than this respondent:
    /// it is not found from then on. Whoever begins to send an answer while a question becomes
    /// somebody else's doesn't answer it.
    #[must_use]
    pub fn while_for(mut self, respondent: Option<&str>) -> Self {
        if matches!(self.access, Access::Host) {
            self.access = Access::Respondent(respondent.map(Arc::from));
        }
        self
    }

    /// Accepts file references of this kind, which the host itself created. Ignored on an asker's
    /// handle: references from outside are untrusted.
    #[must_use]
    pub fn accepting_references(mut self, kind: ReferenceKind) -> Self {
        self.accepted_references.push(kind);
        self
    }

    /// Returns the id.
    pub fn id(&self) -> ElicitationId {
        self.id
    }

    /// Returns the current state and result. Secrets are included for the asker and sealed for the
    /// host.
    pub async fn status(&self) -> Result<Snapshot, ActError> {
        self.charge()?;
        self.current().await
    }

    async fn current(&self) -> Result<Snapshot, ActError> {
        let record = self.inner().load_current(&self.access, self.id).await?;
        self.inner().deliver(&self.access, record).await
    }

    /// Waits until the elicitation settles.
    pub fn outcome(&self) -> Wait {
        Wait::new(self.engine.inner.clone(), self.access.clone(), self.id)
    }

    /// Waits until the elicitation settles, the limit passes or the engine shuts down, and returns
    /// the state at that moment.
    pub async fn outcome_within(&self, limit: Duration) -> Result<Snapshot, ActError> {
        let time_is_up = self.inner().clock.sleep(limit);
        tokio::select! {
            settled = self.outcome() => match settled {
                Err(ActError::ShuttingDown) => {}
                settled => return settled,
            },
            () = time_is_up => {}
        }
        // Boxed, to keep waiting futures small. Not charged: the wait already was.
        Box::pin(self.current()).await
    }

    /// Records that the question was displayed, which does not yet start it.
    pub async fn show(&self) -> Result<Snapshot, ActError> {
        self.apply(Command::Show).await
    }

    /// Records that a person started to answer.
    pub async fn open(&self) -> Result<Snapshot, ActError> {
        self.apply(Command::Open).await
    }

    /// Submits answers, bare or in the form's envelope.
    ///
    /// Invalid answers fail with [`ActError::Invalid`] and use up an attempt; they are stored as
    /// the draft, so that the person can correct them.
    pub async fn submit(&self, answers: &Value) -> Result<Snapshot, ActError> {
        self.submit_with(answers, None).await
    }

    /// Submits answers and returns them typed, secrets included, for an asker that answers its own
    /// question and would otherwise parse them again.
    pub async fn submit_and_read<'a>(&self, answers: &'a Value) -> Result<Answers<'a>, ActError> {
        let (_, read) = self.answer(Submission::Parsed(answers), None, None).await?;
        Ok(read)
    }

    /// Submits answers, with the client's information about the submission.
    pub async fn submit_with(
        &self,
        answers: &Value,
        submission: Option<Value>,
    ) -> Result<Snapshot, ActError> {
        let (snapshot, _) = self
            .answer(Submission::Parsed(answers), submission, None)
            .await?;
        Ok(snapshot)
    }

    /// Submits answers derived from `draft`, as returned by [`read_draft`](Self::read_draft) or
    /// [`edit_draft`](Self::edit_draft).
    ///
    /// Fails with [`ActError::DraftChanged`] and changes nothing if the draft has changed since:
    /// derive the answers again, so that concurrent edits and uploads are not lost. Invalid answers
    /// leave the draft unchanged.
    pub async fn submit_draft(
        &self,
        draft: &Map<String, Value>,
        answers: &Value,
        submission: Option<Value>,
    ) -> Result<Snapshot, ActError> {
        let submitted = Submission::Parsed(answers);
        let (snapshot, _) = self.answer(submitted, submission, Some(draft)).await?;
        Ok(snapshot)
    }

    /// Submits answers as JSON text, which keeps integers up to 38 digits; a [`Value`] is limited
    /// to 64 bits.
    pub async fn submit_text(
        &self,
        answers: &RawValue,
        submission: Option<Value>,
    ) -> Result<Snapshot, ActError> {
        let (snapshot, _) = self
            .answer(Submission::Text(answers), submission, None)
            .await?;
        Ok(snapshot)
    }

    async fn answer<'a>(
        &self,
        submitted: Submission<'a>,
        submission: Option<Value>,
        draft: Option<&Map<String, Value>>,
    ) -> Result<(Snapshot, Answers<'a>), ActError> {
        self.charge()?;
        let record = self.inner().load(&self.access, self.id).await?;
        let form = form_of(&record)?;
        let settings = self.check_settings(&record);
        let inner = self.inner();
        let began = inner.clock.elapsed();
        let checked = submitted.check(form, &settings);
        let ended = inner.clock.elapsed();
        inner.observer.validated(ended.saturating_sub(began));
        let mut now = inner.timeline.at(ended);
        let checked = match checked {
            Ok(answers) if has_urls(&answers) => {
                let resolver = inner.resolver_for(&record.request.asker);
                let warn = |error: &UrlError| {
                    let asker = &record.request.asker;
                    inner
                        .refusals
                        .url(asker, UrlUse::Answer, error, inner.now());
                };
                let judged = judge_answered_urls(&resolver, form, answers, &warn).await;
                // DNS lookups take up to seconds, and the deadline may have passed.
                now = inner.now();
                judged
            }
            other => other,
        };
        match checked {
            Ok(valid) => {
                let accepted = self.accept(record, now, &valid, submission, draft);
                Ok((accepted.await?, valid))
            }
            Err(violations) => {
                let refused = match draft {
                    Some(draft) => self.refuse_draft(record, now, draft, &violations).await,
                    None => {
                        self.refuse(record, now, &submitted.value(), &violations)
                            .await
                    }
                };
                let refusal = refused?;
                Err(ActError::Invalid(Box::new(refusal)))
            }
        }
    }

    async fn accept(
        &self,
        record: Record,
        now: UnixTime,
        answers: &Answers<'_>,
        submission: Option<Value>,
        draft: Option<&Map<String, Value>>,
    ) -> Result<Snapshot, ActError> {
        let payload = Payload::of_answers(&self.inner().vault, self.id, answers);
        check_size(&record, Some(answers.form()), &payload)?;
        let held = Arc::new(AnswerState {
            result: Some(payload),
            missing: answers.missing().map(|field| field.id().into()).collect(),
            submission: submission.map(Box::new),
            typist: self.typist.as_deref().map(Box::from),
            settled_by: self.settler(),
            ..AnswerState::default()
        });
        let command = Command::Submit(Verdict::Valid);
        let keep = |record: &Record, _: &_| {
            draft.map_or(Ok(()), |draft| self.check_draft(record, draft))?;
            Ok(Some(held.clone()))
        };
        let record = self
            .inner()
            .step(&self.access, record, command, now, keep)
            .await?;
        Ok(Snapshot::sealed(record))
    }

    /// Stores invalid answers as the draft, without invalid secrets, and returns the errors.
    async fn refuse(
        &self,
        record: Record,
        now: UnixTime,
        answers: &Value,
        violations: &Violations,
    ) -> Result<Refusal, ActError> {
        let inner = self.inner();
        let form = form_of(&record)?;
        let mut draft = known_answers(form, answers);
        violations.drop_secrets(&mut draft);
        let draft = Payload::of_draft(&inner.vault, self.id, form, &draft);
        check_size(&record, Some(form), &draft)?;
        let keep = |record: &Record, errors| {
            let set_aside = self.own_state(record).set_aside;
            Ok(AnswerState {
                draft: Some(draft.clone()),
                errors: Some(errors),
                typist: self.typist.as_deref().map(Box::from),
                set_aside,
                ..AnswerState::default()
            })
        };
        self.count_refusal(record, now, violations, keep).await
    }

    /// Drops invalid secrets from an invalid draft and returns the errors.
    async fn refuse_draft(
        &self,
        record: Record,
        now: UnixTime,
        draft: &Map<String, Value>,
        violations: &Violations,
    ) -> Result<Refusal, ActError> {
        let inner = self.inner();
        let keep = |record: &Record, errors| {
            self.check_draft(record, draft)?;
            let mut held = self.own_state(record);
            let mut left = draft.clone();
            violations.drop_secrets(&mut left);
            if left != *draft {
                let form = form_of(record)?;
                held.draft = Some(Payload::of_draft(&inner.vault, self.id, form, &left));
            }
            held.errors = Some(errors);
            held.typist = held
                .typist
                .or_else(|| self.typist.as_deref().map(Box::from));
            Ok(held)
        };
        self.count_refusal(record, now, violations, keep).await
    }

    /// Uses up an attempt; `keep` builds the new answer state from the errors as JSON text.
    async fn count_refusal(
        &self,
        record: Record,
        now: UnixTime,
        violations: &Violations,
        keep: impl Fn(&Record, Box<str>) -> Result<AnswerState, ActError>,
    ) -> Result<Refusal, ActError> {
        let inner = self.inner();
        let errors = violations.errors(&inner.settings.messages);
        let text: Box<str> = serde_json::to_string(&errors).unwrap_or_default().into();
        let mut change = Change::Refused;
        let command = Command::Submit(Verdict::Invalid);
        let keep = |record: &Record, step: &Step| {
            change = step.change;
            let mut held = keep(record, text.clone())?;
            if change == Change::Exhausted {
                held.settled_by = self.settler();
            }
            Ok(Some(Arc::new(held)))
        };
        let step = inner.step(&self.access, record, command, now, keep);
        let record = step.await?;
        Ok(Refusal {
            errors,
            retry_allowed: change == Change::Refused,
            retry_limit: record.lifecycle.attempt_limit(),
            retry_count: record.lifecycle.attempts(),
        })
    }

    /// Completes a question of inline or url mode with a result obtained elsewhere.
    pub async fn complete(&self, result: &Value) -> Result<Snapshot, ActError> {
        self.complete_with(Submission::Parsed(result)).await
    }

    /// Completes a question of inline or url mode with JSON text, which keeps all digits.
    pub async fn complete_text(&self, result: &RawValue) -> Result<Snapshot, ActError> {
        self.complete_with(Submission::Text(result)).await
    }

    async fn complete_with(&self, result: Submission<'_>) -> Result<Snapshot, ActError> {
        let inner = self.inner();
        let record = inner.load(&self.access, self.id).await?;
        match record.request.mode {
            Mode::Inline => {
                let mut answers = Map::new();
                answers.insert(INLINE_FIELD.to_owned(), result.value().into_owned());
                return self.submit(&Value::Object(answers)).await;
            }
            Mode::Url => self.charge()?,
            mode @ (Mode::Form | Mode::Terminal) => return Err(ActError::WrongMode(mode)),
        }
        let payload = Payload::of_result(result.text());
        check_size(&record, None, &payload)?;
        let held = Arc::new(AnswerState {
            result: Some(payload),
            settled_by: self.settler(),
            ..AnswerState::default()
        });
        let keep = |_: &Record, _: &_| Ok(Some(held.clone()));
        let record = inner
            .step(&self.access, record, Command::Complete, inner.now(), keep)
            .await?;
        Ok(Snapshot::sealed(record))
    }

    /// Declines: the respondent decided not to answer.
    pub async fn decline(&self) -> Result<Snapshot, ActError> {
        self.decline_as(Presented::Unknown).await
    }

    /// Declines, stating whether the question was presented.
    pub async fn decline_as(&self, presented: Presented) -> Result<Snapshot, ActError> {
        self.apply(Command::Decline { presented }).await
    }

    /// Cancels: the elicitation ends without the respondent's decision.
    pub async fn cancel(&self, reason: CancelReason) -> Result<Snapshot, ActError> {
        self.cancel_as(reason, Presented::Unknown).await
    }

    /// Cancels, stating whether the question was presented.
    pub async fn cancel_as(
        &self,
        reason: CancelReason,
        presented: Presented,
    ) -> Result<Snapshot, ActError> {
        self.apply(Command::Cancel { reason, presented }).await
    }

    /// Extends the deadline by at most what the terms grant, which is the default.
    pub async fn extend(&self, by: Option<Duration>) -> Result<Extended, ActError> {
        let snapshot = self.apply(Command::Extend(by)).await?;
        let lifecycle = snapshot.lifecycle();
        Ok(Extended {
            deadline: lifecycle.deadline(),
            extensions_left: lifecycle.extensions_left(),
        })
    }

    /// Applies a command that leaves the answers unchanged.
    async fn apply(&self, command: Command) -> Result<Snapshot, ActError> {
        self.charge()?;
        let record = self.inner().load(&self.access, self.id).await?;
        let inner = self.inner();
        let keep = |record: &Record, step: &Step| {
            let settles = step.change.effects().contains(&Effect::Settle);
            let Some(settler) = self.settler().filter(|_| settles) else {
                return keep_answer(record, step);
            };
            let mut held = editable(record.answer_state.as_ref());
            held.settled_by = Some(settler);
            Ok(Some(Arc::new(held)))
        };
        let record = inner
            .step(&self.access, record, command, inner.now(), keep)
            .await?;
        Ok(Snapshot::sealed(record))
    }

    /// Makes it a question for someone else. The draft is dropped: it is the first person's. Fails
    /// with [`ActError::Settled`] if there is nothing left to answer.
    pub async fn reassign(&self, respondent: &str) -> Result<Snapshot, ActError> {
        self.charge()?;
        let reassigned = self.inner().reassign(&self.access, self.id, respondent);
        Ok(Snapshot::sealed(reassigned.await?))
    }

    /// What to store about who settles it.
    fn settler(&self) -> Option<Box<Actor>> {
        self.actor.as_deref().cloned().map(Box::new)
    }

    /// The stored answers, with the draft of the person who types.
    fn own_state(&self, record: &Record) -> AnswerState {
        let mut held = editable(record.answer_state.as_ref());
        if let Some(typist) = &self.typist {
            held.turn_to(typist);
        }
        held
    }

    /// Returns the form's id; `None` if the question is a URL. Not charged, because an answer
    /// follows.
    pub async fn form_id(&self) -> Result<Option<String>, ActError> {
        let record = self.inner().load(&self.access, self.id).await?;
        let form = record.request.subject.form();
        Ok(form.map(|form| form.id().to_owned()))
    }

    fn check_settings(&self, record: &Record) -> CheckSettings {
        let mut settings = CheckSettings {
            unknown: record.request.unknown,
            ..CheckSettings::default()
        };
        match self.access {
            Access::Host | Access::Respondent(_) => {
                settings.references.clone_from(&self.accepted_references);
            }
            Access::Engine | Access::Asker(_) => {}
        }
        settings
    }

    fn inner(&self) -> &Arc<Inner> {
        &self.engine.inner
    }

    fn charge(&self) -> Result<(), ActError> {
        match &self.access {
            Access::Host | Access::Respondent(_) | Access::Engine => Ok(()),
            Access::Asker(account) => {
                let inner = self.inner();
                let charged = inner.charge(account, inner.now());
                charged.map_err(|retry_after| ActError::RateLimited { retry_after })
            }
        }
    }
}

impl std::fmt::Debug for Elicitation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Elicitation").field(&self.id).finish()
    }
}

fn form_of(record: &Record) -> Result<&Form, ActError> {
    match &record.request.subject {
        Subject::Form(form) => Ok(form),
        Subject::Url(_) => Err(ActError::WrongMode(record.request.mode)),
    }
}

fn has_urls(answers: &Answers<'_>) -> bool {
    answers
        .iter()
        .any(|(_, answer)| matches!(answer, Answer::Url(_)))
}

fn check_size(record: &Record, form: Option<&Form>, payload: &Payload) -> Result<(), ActError> {
    let limit = usize::try_from(record.request.size_limit).unwrap_or(usize::MAX);
    let secrets = payload.sealed.as_ref().map_or(0, |sealed| sealed.size());
    if payload.text.len() + secrets <= limit {
        return Ok(());
    }
    let size = secrets + form.map_or(payload.text.len(), |form| counted_size(form, &payload.text));
    if size <= limit {
        return Ok(());
    }
    Err(ActError::TooLarge { size, limit })
}

impl Inner {
    /// Returns what the caller may see. Wipes secrets on delivery if the asker requested that.
    pub(crate) async fn deliver(
        &self,
        access: &Access,
        record: Record,
    ) -> Result<Snapshot, ActError> {
        let result = record
            .answer_state
            .as_ref()
            .and_then(|held| held.result.as_ref());
        let Some(result) = result.filter(|result| result.sealed.is_some() && access.is_asker())
        else {
            return Ok(Snapshot::sealed(record));
        };
        let secrets = result.open(&self.vault, record.id)?;
        if record.request.wipe {
            self.replace_answer(record.clone(), |record| Ok(wiped(record)))
                .await?;
        }
        Ok(Snapshot::open(record, secrets))
    }

    /// Returns the resolver, limited to this asker's share of lookups.
    pub(crate) fn resolver_for<'a>(&'a self, asker: &'a str) -> AskerResolver<'a> {
        AskerResolver {
            asker,
            resolver: &*self.resolver,
        }
    }
}

/// Resolves the hosts of answered URLs and rejects those that the field's policy blocks.
pub(crate) async fn judge_answered_urls<'a>(
    resolver: &dyn Resolver,
    form: &Form,
    answers: Answers<'a>,
    warn: &(impl Fn(&UrlError) + Sync),
) -> Result<Answers<'a>, Violations> {
    let urls: Vec<_> = answers
        .iter()
        .filter_map(|(field, answer)| match field.kind() {
            Kind::Url(rules) => Some((field.id(), answer.as_str()?, &rules.policy)),
            Kind::Text(_)
            | Kind::Number(_)
            | Kind::Boolean
            | Kind::Date(_)
            | Kind::Select(_)
            | Kind::MultiSelect(_)
            | Kind::File(_) => None,
        })
        .collect();
    if urls.is_empty() {
        return Ok(answers);
    }
    let judge = |(field, url, policy)| async move {
        let judged = resolve_and_check(resolver, url, policy, Unresolved::Accept).await;
        match judged.inspect_err(warn) {
            Err(UrlError::Blocked(blocked)) => Some((field, url, blocked)),
            Ok(_) | Err(_) => None,
        }
    };
    let blocked: Vec<_> = join_all(urls.into_iter().map(judge)).await;
    let blocked: Vec<_> = blocked.into_iter().flatten().collect();
    match Violations::of_blocked_urls(form, &blocked) {
        Some(violations) => Err(violations),
        None => Ok(answers),
    }
}

/// Returns the answers without secrets; `None` if there are none.
fn wiped(record: &Record) -> Option<AnswerState> {
    let mut held = editable(record.answer_state.as_ref());
    held.draft = None;
    held.set_aside.clear();
    held.result.as_mut()?.sealed.take()?;
    Some(held)
}

impl Record {
    /// Whether the result has secrets.
    pub(crate) fn has_secrets(&self) -> bool {
        let result = self
            .answer_state
            .as_ref()
            .and_then(|held| held.result.as_ref());
        result.is_some_and(|result| result.sealed.is_some())
    }
}

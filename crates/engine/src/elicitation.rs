//! One elicitation, to be shown, answered, watched and ended.

mod draft;

use std::sync::Arc;
use std::time::Duration;

use entreat_core::{
    Answer, Answers, CancelReason, Change, CheckSettings, Command, ElicitationId, Form, Kind, Mode,
    Presented, ReferenceKind, UnixTime, Verdict, Violations,
};
use futures_util::future::join_all;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::ask::INLINE_FIELD;
use crate::engine::{Engine, Inner};
use crate::error::{ActError, Refusal};
use crate::given::Given;
use crate::limits::Account;
use crate::payload::{counted_size, editable, known_answers};
use crate::record::{Held, Payload, Record, Subject};
use crate::resolver::{OnAccountOf, Resolver, Unresolved, UrlError, judge_resolved};
use crate::snapshot::Snapshot;
use crate::step::keep_held;
use crate::wait::Wait;

pub use self::draft::Drafted;

/// One elicitation. Cheap to clone; dropping it changes nothing.
///
/// Made by [`Asker::ask`](crate::Asker::ask) and [`Asker::elicitation`](crate::Asker::elicitation)
/// for the asker, who sees results with their secrets, and by [`Engine::elicitation`] for those
/// who show and answer it.
#[derive(Clone)]
pub struct Elicitation {
    engine: Engine,
    id: ElicitationId,
    access: Access,
    typist: Option<Arc<str>>,
    vouched: Vec<ReferenceKind>,
}

/// Whose eyes see an elicitation.
#[derive(Clone)]
pub(crate) enum Access {
    /// The program itself.
    Host,
    /// The engine, whose own task is never dropped halfway.
    Engine,
    /// An asker, or a principal on whose behalf it asks, who sees its own and no others.
    Asker(Account),
}

impl Access {
    pub(crate) fn admits(&self, record: &Record) -> bool {
        match self {
            Self::Host | Self::Engine => true,
            Self::Asker(account) => account.owns(&record.request),
        }
    }

    pub(crate) fn is_asker(&self) -> bool {
        matches!(self, Self::Asker(_))
    }
}

/// A deadline that was moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extended {
    /// Where it stands now.
    pub deadline: UnixTime,
    /// How often it can still be moved.
    pub extensions_left: u8,
}

impl Elicitation {
    pub(crate) fn new(engine: Engine, id: ElicitationId, access: Access) -> Self {
        Self {
            engine,
            id,
            access,
            typist: None,
            vouched: Vec::new(),
        }
    }

    /// Names the browser or terminal that drafts and answers come from; it is stored with them, so
    /// that a draft can be shown to nobody but who typed it.
    #[must_use]
    pub fn typed_by(mut self, typist: &str) -> Self {
        self.typist = Some(typist.into());
        self
    }

    /// Accepts file references of this kind, which the host made itself and vouches for. Has no
    /// effect for an asker: nobody vouches for what comes from outside.
    #[must_use]
    pub fn vouching_for(mut self, kind: ReferenceKind) -> Self {
        self.vouched.push(kind);
        self
    }

    /// Its name.
    pub fn id(&self) -> ElicitationId {
        self.id
    }

    /// How it stands: for the asker with the result, secrets included; for others with secrets
    /// sealed.
    pub async fn status(&self) -> Result<Snapshot, ActError> {
        self.charge()?;
        self.current().await
    }

    async fn current(&self) -> Result<Snapshot, ActError> {
        let record = self.inner().load_current(&self.access, self.id).await?;
        self.inner().deliver(&self.access, record).await
    }

    /// Waits until it has settled.
    pub fn outcome(&self) -> Wait {
        Wait::new(self.engine.inner.clone(), self.access.clone(), self.id)
    }

    /// Waits until it has settled, at most so long or until the engine is shut down; then tells
    /// how it stands.
    pub async fn outcome_within(&self, limit: Duration) -> Result<Snapshot, ActError> {
        let time_is_up = self.inner().clock.sleep(limit);
        tokio::select! {
            settled = self.outcome() => match settled {
                Err(ActError::ShuttingDown) => {}
                settled => return settled,
            },
            () = time_is_up => {}
        }
        // In a box, so that those who wait do not carry room for it; and free, for it ends a
        // wait that was let in.
        Box::pin(self.current()).await
    }

    /// Notes that the question was on a screen. That alone begins nothing.
    pub async fn show(&self) -> Result<Snapshot, ActError> {
        self.plain(Command::Show).await
    }

    /// Notes that a person began.
    pub async fn open(&self) -> Result<Snapshot, ActError> {
        self.plain(Command::Open).await
    }

    /// Answers. The answers are bare or in their envelope, as the form takes them.
    ///
    /// Answers that break rules are [`ActError::Invalid`] and use up an attempt; they are kept
    /// as a draft, so that nothing is typed twice.
    pub async fn submit(&self, answers: &Value) -> Result<Snapshot, ActError> {
        self.submit_with(answers, None).await
    }

    /// Answers, and hands out what was read: for the asker's own program, which would otherwise
    /// read it a second time. Secrets are in it.
    pub async fn submit_and_read<'a>(&self, answers: &'a Value) -> Result<Answers<'a>, ActError> {
        let (_, read) = self.answer(Given::Tree(answers), None, None).await?;
        Ok(read)
    }

    /// Answers, with what the respondent's program says about the submission.
    pub async fn submit_with(
        &self,
        answers: &Value,
        submission: Option<Value>,
    ) -> Result<Snapshot, ActError> {
        let (snapshot, _) = self.answer(Given::Tree(answers), submission, None).await?;
        Ok(snapshot)
    }

    /// Answers with what was typed: `answers` were made of `draft`, as
    /// [`drafted`](Self::drafted) or [`edit_draft`](Self::edit_draft) told it.
    ///
    /// If the draft is another one by now, nothing happens and the error is
    /// [`ActError::DraftChanged`]: make the answers anew, so that nothing that was typed or
    /// uploaded meanwhile is left out. Answers that break rules leave the draft as it is.
    pub async fn submit_draft(
        &self,
        draft: &Map<String, Value>,
        answers: &Value,
        submission: Option<Value>,
    ) -> Result<Snapshot, ActError> {
        let given = Given::Tree(answers);
        let (snapshot, _) = self.answer(given, submission, Some(draft)).await?;
        Ok(snapshot)
    }

    /// Answers with JSON text, whose whole numbers keep up to 38 digits; a tree has lost those
    /// beyond 64 bits.
    pub async fn submit_text(
        &self,
        answers: &RawValue,
        submission: Option<Value>,
    ) -> Result<Snapshot, ActError> {
        let (snapshot, _) = self.answer(Given::Text(answers), submission, None).await?;
        Ok(snapshot)
    }

    async fn answer<'a>(
        &self,
        given: Given<'a>,
        submission: Option<Value>,
        draft: Option<&Map<String, Value>>,
    ) -> Result<(Snapshot, Answers<'a>), ActError> {
        self.charge()?;
        let record = self.inner().load(&self.access, self.id).await?;
        let form = form_of(&record)?;
        let settings = self.check_settings(&record);
        let inner = self.inner();
        let began = inner.clock.elapsed();
        let checked = given.check(form, &settings);
        let ended = inner.clock.elapsed();
        inner.observer.validated(ended.saturating_sub(began));
        let mut now = inner.timeline.at(ended);
        let checked = match checked {
            Ok(answers) if has_urls(&answers) => {
                let resolver = inner.resolver_for(&record.request.asker);
                let judged = judge_answered_urls(&resolver, form, answers).await;
                // Look-ups may take seconds, and a late answer loses.
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
                    None => self.refuse(record, now, &given.tree(), &violations).await,
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
        let held = Arc::new(Held {
            result: Some(payload),
            missing: answers.missing().map(|field| field.id().into()).collect(),
            submission: submission.map(Box::new),
            typist: self.typist.as_deref().map(Box::from),
            ..Held::default()
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

    /// Keeps answers that break rules as a draft, and says what is wrong with them.
    async fn refuse(
        &self,
        record: Record,
        now: UnixTime,
        answers: &Value,
        violations: &Violations,
    ) -> Result<Refusal, ActError> {
        let inner = self.inner();
        let form = form_of(&record)?;
        let draft = known_answers(form, answers);
        let draft = Payload::of_draft(&inner.vault, self.id, form, &draft);
        check_size(&record, Some(form), &draft)?;
        let keep = |_: &Record, errors| {
            Ok(Held {
                draft: Some(draft.clone()),
                errors: Some(errors),
                typist: self.typist.as_deref().map(Box::from),
                ..Held::default()
            })
        };
        self.count_refusal(record, now, violations, keep).await
    }

    /// Leaves a draft that breaks rules as it is, and says what is wrong with it.
    async fn refuse_draft(
        &self,
        record: Record,
        now: UnixTime,
        draft: &Map<String, Value>,
        violations: &Violations,
    ) -> Result<Refusal, ActError> {
        let keep = |record: &Record, errors| {
            self.check_draft(record, draft)?;
            let mut held = editable(record.held.as_ref());
            held.errors = Some(errors);
            Ok(held)
        };
        self.count_refusal(record, now, violations, keep).await
    }

    /// Uses up an attempt; `keep` says what is held then, given the errors as text.
    async fn count_refusal(
        &self,
        record: Record,
        now: UnixTime,
        violations: &Violations,
        keep: impl Fn(&Record, Box<str>) -> Result<Held, ActError>,
    ) -> Result<Refusal, ActError> {
        let inner = self.inner();
        let errors = violations.errors(&inner.settings.messages);
        let text: Box<str> = serde_json::to_string(&errors).unwrap_or_default().into();
        let mut change = Change::Refused;
        let command = Command::Submit(Verdict::Invalid);
        let keep = |record: &Record, step: &entreat_core::Step| {
            change = step.change;
            Ok(Some(Arc::new(keep(record, text.clone())?)))
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

    /// Brings a result from elsewhere: for inline and url modes.
    pub async fn complete(&self, result: &Value) -> Result<Snapshot, ActError> {
        self.bring(Given::Tree(result)).await
    }

    /// Brings a result from elsewhere as JSON text, of which every digit is kept.
    pub async fn complete_text(&self, result: &RawValue) -> Result<Snapshot, ActError> {
        self.bring(Given::Text(result)).await
    }

    async fn bring(&self, result: Given<'_>) -> Result<Snapshot, ActError> {
        let inner = self.inner();
        let record = inner.load(&self.access, self.id).await?;
        match record.request.mode {
            Mode::Inline => {
                let mut answers = Map::new();
                answers.insert(INLINE_FIELD.to_owned(), result.tree().into_owned());
                return self.submit(&Value::Object(answers)).await;
            }
            Mode::Url => self.charge()?,
            mode @ (Mode::Form | Mode::Terminal) => return Err(ActError::WrongMode(mode)),
        }
        let payload = Payload::of_result(result.text());
        check_size(&record, None, &payload)?;
        let held = Arc::new(Held {
            result: Some(payload),
            ..Held::default()
        });
        let keep = |_: &Record, _: &_| Ok(Some(held.clone()));
        let record = inner
            .step(&self.access, record, Command::Complete, inner.now(), keep)
            .await?;
        Ok(Snapshot::sealed(record))
    }

    /// The respondent decides not to answer.
    pub async fn decline(&self) -> Result<Snapshot, ActError> {
        self.decline_as(Presented::Unknown).await
    }

    /// The respondent, or a client in its place, decides not to answer.
    pub async fn decline_as(&self, presented: Presented) -> Result<Snapshot, ActError> {
        self.plain(Command::Decline { presented }).await
    }

    /// Ends it without a decision.
    pub async fn cancel(&self, reason: CancelReason) -> Result<Snapshot, ActError> {
        self.cancel_as(reason, Presented::Unknown).await
    }

    /// Ends it without a decision, by a client that can tell whether it was shown.
    pub async fn cancel_as(
        &self,
        reason: CancelReason,
        presented: Presented,
    ) -> Result<Snapshot, ActError> {
        self.plain(Command::Cancel { reason, presented }).await
    }

    /// Moves the deadline, by as much as the terms grant or by less.
    pub async fn extend(&self, by: Option<Duration>) -> Result<Extended, ActError> {
        let snapshot = self.plain(Command::Extend(by)).await?;
        let lifecycle = snapshot.lifecycle();
        Ok(Extended {
            deadline: lifecycle.deadline(),
            extensions_left: lifecycle.extensions_left(),
        })
    }

    /// A command that leaves the answers as they are.
    async fn plain(&self, command: Command) -> Result<Snapshot, ActError> {
        self.charge()?;
        let record = self.inner().load(&self.access, self.id).await?;
        let inner = self.inner();
        let record = inner
            .step(&self.access, record, command, inner.now(), keep_held)
            .await?;
        Ok(Snapshot::sealed(record))
    }

    /// The id of the form that is asked; `None` if it is no form. Charges nothing: whoever wants
    /// to know is about to answer.
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
            Access::Host => settings.references.clone_from(&self.vouched),
            Access::Engine | Access::Asker(_) => {}
        }
        settings
    }

    fn inner(&self) -> &Arc<Inner> {
        &self.engine.inner
    }

    fn charge(&self) -> Result<(), ActError> {
        match &self.access {
            Access::Host | Access::Engine => Ok(()),
            Access::Asker(account) => account
                .charge_request(self.inner().now())
                .map_err(|retry_after| ActError::RateLimited { retry_after }),
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
    /// The elicitation as the caller may see it; secrets that were to be wiped are.
    pub(crate) async fn deliver(
        &self,
        access: &Access,
        record: Record,
    ) -> Result<Snapshot, ActError> {
        let result = record.held.as_ref().and_then(|held| held.result.as_ref());
        let Some(result) = result.filter(|result| result.sealed.is_some() && access.is_asker())
        else {
            return Ok(Snapshot::sealed(record));
        };
        let secrets = result.open(&self.vault, record.id)?;
        if record.request.wipe {
            self.replace_held(record.clone(), |record| Ok(wiped(record)))
                .await?;
        }
        Ok(Snapshot::open(record, secrets))
    }

    /// The resolver, as this asker may use it.
    pub(crate) fn resolver_for<'a>(&'a self, asker: &'a str) -> OnAccountOf<'a> {
        OnAccountOf {
            asker,
            resolver: &*self.resolver,
        }
    }
}

/// Looks the hosts of answered URLs up, and refuses those that lead where they must not.
pub(crate) async fn judge_answered_urls<'a>(
    resolver: &dyn Resolver,
    form: &Form,
    answers: Answers<'a>,
) -> Result<Answers<'a>, Violations> {
    let urls: Vec<_> = answers
        .iter()
        .filter_map(|(field, answer)| match (field.kind(), answer) {
            (Kind::Url(rules), Answer::Url(url)) => Some((field.id(), &**url, &rules.policy)),
            _ => None,
        })
        .collect();
    if urls.is_empty() {
        return Ok(answers);
    }
    let judge = |(field, url, policy)| async move {
        let judged = judge_resolved(resolver, url, policy, Unresolved::Accept).await;
        match judged {
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

/// What is held without its secrets; `None` if there are none.
fn wiped(record: &Record) -> Option<Held> {
    let mut held = editable(record.held.as_ref());
    held.draft = None;
    held.result.as_mut()?.sealed.take()?;
    Some(held)
}

impl Record {
    /// Whether there are secrets in the result.
    pub(crate) fn has_secrets(&self) -> bool {
        let result = self.held.as_ref().and_then(|held| held.result.as_ref());
        result.is_some_and(|result| result.sealed.is_some())
    }
}

//! Records for tests of stores.
//!
//! Steps are decided by the real lifecycle; a step that it rejects fails the test.

use std::sync::Arc;

use entreat_core::{
    Command, ElicitationId, Lifecycle, Mode, Presented, Timeout, TimeoutPolicy, UnixTime, Unknown,
    Verdict,
};
use entreat_engine::{
    AnswerState, Channel, Delivery, Entry, Extras, Payload, Record, Request, Subject, Version,
};

use crate::samples;

/// Returns a pending record with the form [`samples::minimal`], asked at `now` with a timeout of
/// five minutes. The number distinguishes ids of the same time.
///
/// ```
/// use entreat_core::UnixTime;
/// use entreat_testkit::records;
///
/// let asked = UnixTime::from_millis(1_706_889_000_000);
/// let record = records::pending("asker", asked, 1);
/// let answered = records::answered(&record, asked, r#"{"name":"Ada"}"#);
/// assert_eq!(answered.version, record.version.next());
/// assert!(!answered.lifecycle.is_live());
/// ```
pub fn pending(asker: &str, now: UnixTime, number: u64) -> Record {
    thread_local! {
        // Loaded once, as in a service: a million records may share one form.
        static FORM: entreat_core::Form = samples::minimal();
    }
    pending_with(
        asker,
        now,
        number,
        Timeout::default(),
        FORM.with(Clone::clone),
    )
}

/// Returns a pending record with a form and a timeout.
#[expect(
    clippy::panic,
    reason = "a test that asks for an impossible timeout fails"
)]
pub fn pending_with(
    asker: &str,
    now: UnixTime,
    number: u64,
    timeout: Timeout,
    form: entreat_core::Form,
) -> Record {
    let terms = TimeoutPolicy::default()
        .terms(Mode::Form, timeout)
        .unwrap_or_else(|error| panic!("{error}"));
    Record::from(Entry {
        id: id(now, number),
        version: Version::default(),
        lifecycle: Lifecycle::new(now, terms, 3),
        request: Request {
            asker: asker.into(),
            subject: Subject::Form(form),
            mode: Mode::Form,
            channel: Channel::Page,
            unknown: Unknown::Error,
            durable: true,
            wipe: false,
            size_limit: 1 << 20,
            extras: None,
        },
        answer_state: None,
        author: 0,
    })
}

/// Returns the id of a number at a time. Its bits are spread like random ones.
pub fn id(asked: UnixTime, number: u64) -> ElicitationId {
    let mut random = [0; 10];
    random[..2].copy_from_slice(&number.to_be_bytes()[6..]);
    let spread = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    random[2..].copy_from_slice(&spread.to_be_bytes());
    ElicitationId::new(asked, random)
}

/// Adds an idempotency key to a record.
pub fn with_key(mut record: Record, key: &str) -> Record {
    record.to_mut().request.extras = Some(Arc::new(Extras {
        idempotency_key: Some(key.into()),
        ..Extras::default()
    }));
    record
}

/// Returns the next version of a record, after this command.
#[expect(
    clippy::panic,
    reason = "a test that asks for an impossible step fails"
)]
pub fn step(record: &Record, command: Command, now: UnixTime) -> Record {
    let mut next = record.clone();
    let step = record
        .lifecycle
        .decide(&command, now)
        .unwrap_or_else(|rejection| panic!("{command:?} of {}: {rejection}", record.id));
    next.to_mut().lifecycle.apply(&step);
    next.to_mut().version = record.version.next();
    next
}

/// Returns the next version, with a draft.
pub fn drafted(record: &Record, now: UnixTime, text: &str) -> Record {
    let mut next = step(record, Command::Draft, now);
    next.to_mut().answer_state = Some(Arc::new(AnswerState {
        draft: Some(payload(text)),
        ..AnswerState::default()
    }));
    next
}

/// Returns the next version, with a pending delivery at this time or none.
pub fn with_delivery(record: &Record, next_attempt: Option<UnixTime>) -> Record {
    let mut next = record.clone();
    let mut held = record.answer_state.as_deref().cloned().unwrap_or_default();
    held.delivery = next_attempt.map(|next| Box::new(Delivery { attempts: 1, next }));
    let entry = next.to_mut();
    entry.version = record.version.next();
    entry.answer_state = Some(Arc::new(held));
    next
}

/// Returns the next version, with an answer.
pub fn answered(record: &Record, now: UnixTime, text: &str) -> Record {
    let mut next = step(record, Command::Submit(Verdict::Valid), now);
    next.to_mut().answer_state = Some(Arc::new(AnswerState {
        result: Some(payload(text)),
        ..AnswerState::default()
    }));
    next
}

/// Returns the next version, declined.
pub fn declined(record: &Record, now: UnixTime) -> Record {
    let presented = Presented::Yes;
    step(record, Command::Decline { presented }, now)
}

/// Answers without secrets.
pub fn payload(text: &str) -> Payload {
    Payload {
        text: text.into(),
        sealed: None,
    }
}

/// Asserts that two records are equal in everything that is stored.
///
/// Forms are equal if their definitions are.
#[track_caller]
pub fn assert_same(left: &Record, right: &Record) {
    assert_eq!(left.id, right.id);
    assert_eq!(left.version, right.version);
    assert_eq!(left.lifecycle, right.lifecycle);
    assert_eq!(left.answer_state, right.answer_state);
    assert_eq!(left.author, right.author);
    let (one, other) = (&left.request, &right.request);
    match (&one.subject, &other.subject) {
        (Subject::Form(one), Subject::Form(other)) => {
            assert_eq!(one.definition(), other.definition());
        }
        (Subject::Url(one), Subject::Url(other)) => assert_eq!(one, other),
        (one, other) => assert_eq!(format!("{one:?}"), format!("{other:?}")),
    }
    assert_eq!(one.asker, other.asker);
    assert_eq!((one.mode, one.channel), (other.mode, other.channel));
    assert_eq!(one.unknown, other.unknown);
    assert_eq!((one.durable, one.wipe), (other.durable, other.wipe));
    assert_eq!(one.size_limit, other.size_limit);
    assert_eq!(one.extras, other.extras);
}

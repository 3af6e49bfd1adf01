//! Arbitrary sequences of commands at arbitrary times.

use std::time::Duration;

use entreat_core::{
    CancelReason, Change, Command, ExtensionRefusal, Lifecycle, Mode, Outcome, Presented,
    Rejection, State, Step, Timeout, TimeoutPolicy, UnixTime, Verdict,
};
use proptest::prelude::*;

const ASKED: UnixTime = UnixTime::from_millis(1_706_889_000_000);

fn lifecycle(mode: Mode) -> Lifecycle {
    let terms = TimeoutPolicy::default()
        .terms(mode, Timeout::default())
        .unwrap();
    Lifecycle::new(ASKED, terms, 3)
}

fn after(seconds: u64) -> UnixTime {
    ASKED.after(Duration::from_secs(seconds))
}

fn carry_out(
    question: &mut Lifecycle,
    command: Command,
    at: UnixTime,
) -> Result<Change, Rejection> {
    let step = question.decide(&command, at)?;
    question.apply(&step);
    Ok(step.change)
}

const DECLINE: Command = Command::Decline {
    presented: Presented::Unknown,
};
const CANCEL: Command = Command::Cancel {
    reason: CancelReason::UserCancelled,
    presented: Presented::Unknown,
};

#[test]
fn an_extension_moves_the_deadline_from_where_it_stands() {
    let mut question = lifecycle(Mode::Form);
    assert_eq!(question.deadline(), after(300));
    carry_out(&mut question, Command::Extend(None), after(10)).unwrap();
    assert_eq!(question.deadline(), after(600));
    let short = Some(Duration::from_secs(30));
    carry_out(&mut question, Command::Extend(short), after(400)).unwrap();
    assert_eq!(question.deadline(), after(630));
    assert_eq!(question.extensions_left(), 0);
    assert_eq!(
        carry_out(&mut question, Command::Extend(short), after(410)),
        Err(Rejection::Extension(ExtensionRefusal::NoneLeft))
    );
}

#[test]
fn an_extension_beyond_the_terms_is_refused_with_its_reason() {
    let mut question = lifecycle(Mode::Form);
    let long = Some(Duration::from_secs(301));
    assert_eq!(
        carry_out(&mut question, Command::Extend(long), after(1)),
        Err(Rejection::Extension(ExtensionRefusal::TooLong))
    );
    let policy = TimeoutPolicy::default();
    let request = Timeout {
        extension_allowed: Some(false),
        ..Timeout::default()
    };
    let terms = policy.terms(Mode::Form, request).unwrap();
    assert_eq!(
        Lifecycle::new(ASKED, terms, 3).decide(&Command::Extend(None), after(1)),
        Err(Rejection::Extension(ExtensionRefusal::NotAllowed))
    );
}

#[test]
fn a_late_answer_is_rejected_even_before_the_timer_fires() {
    let mut question = lifecycle(Mode::Form);
    let answer = Command::Submit(Verdict::Valid);
    assert!(question.decide(&answer, after(299)).is_ok());
    assert_eq!(question.decide(&answer, after(300)), Err(Rejection::Late));
    carry_out(&mut question, Command::Expire, after(300)).unwrap();
    assert_eq!(question.decide(&answer, after(301)), Err(Rejection::Late));
    assert_eq!(
        question.decide(&Command::Extend(None), after(301)),
        Err(Rejection::Settled {
            outcome: Outcome::TimedOut
        })
    );
}

#[test]
fn a_limit_of_three_attempts_allows_exactly_three() {
    let wrong = Command::Submit(Verdict::Invalid);
    let mut question = lifecycle(Mode::Form);
    assert_eq!(
        carry_out(&mut question, wrong, after(1)),
        Ok(Change::Refused)
    );
    assert_eq!(
        carry_out(&mut question, wrong, after(2)),
        Ok(Change::Refused)
    );
    let mut other = question;
    let right = Command::Submit(Verdict::Valid);
    assert_eq!(carry_out(&mut other, right, after(3)), Ok(Change::Answered));
    assert_eq!(
        carry_out(&mut question, wrong, after(3)),
        Ok(Change::Exhausted)
    );
    let reason = CancelReason::MaxRetriesExceeded;
    assert_eq!(question.outcome(), Some(Outcome::Cancelled(reason)));
}

#[test]
fn looking_begins_nothing_and_a_draft_does() {
    let mut question = lifecycle(Mode::Form);
    carry_out(&mut question, Command::Show, after(1)).unwrap();
    assert_eq!(question.state(), State::Pending);
    assert_eq!(question.presented(), Presented::Yes);
    carry_out(&mut question, Command::Draft, after(2)).unwrap();
    assert_eq!(question.state(), State::Active { since: after(2) });
    carry_out(&mut question, Command::Open, after(3)).unwrap();
    assert_eq!(question.state(), State::Active { since: after(2) });
}

#[test]
fn each_deadline_is_warned_of_once() {
    let mut question = lifecycle(Mode::Form);
    let timer = question.timer().unwrap();
    assert_eq!((timer.at, timer.command), (after(240), Command::Warn));
    assert_eq!(
        carry_out(&mut question, Command::Warn, after(239)),
        Err(Rejection::NotDue)
    );
    carry_out(&mut question, Command::Warn, after(240)).unwrap();
    assert_eq!(
        carry_out(&mut question, Command::Warn, after(241)),
        Err(Rejection::NotDue)
    );
    assert_eq!(question.timer().unwrap().command, Command::Expire);
    carry_out(&mut question, Command::Extend(None), after(250)).unwrap();
    assert_eq!(question.timer().unwrap().at, after(540));
}

#[test]
fn what_comes_after_the_end_is_told_how_it_ended() {
    for (end, outcome) in [
        (Command::Submit(Verdict::Valid), Outcome::Completed),
        (Command::Complete, Outcome::Completed),
        (DECLINE, Outcome::Declined),
        (CANCEL, Outcome::Cancelled(CancelReason::UserCancelled)),
    ] {
        let mut question = lifecycle(Mode::Form);
        carry_out(&mut question, end, after(1)).unwrap();
        for command in [
            Command::Open,
            Command::Draft,
            Command::Complete,
            DECLINE,
            CANCEL,
        ] {
            assert_eq!(
                question.decide(&command, after(2)),
                Err(Rejection::Settled { outcome })
            );
        }
    }
}

#[test]
fn a_channel_that_doubts_does_not_undo_what_is_known() {
    let mut question = lifecycle(Mode::Form);
    let unseen = Command::Decline {
        presented: Presented::No,
    };
    let mut seen = question;
    carry_out(&mut question, unseen, after(1)).unwrap();
    assert_eq!(question.presented(), Presented::No);
    carry_out(&mut seen, Command::Open, after(1)).unwrap();
    carry_out(&mut seen, unseen, after(2)).unwrap();
    assert_eq!(seen.presented(), Presented::Yes);
}

#[test]
fn steps_of_others_count_as_the_one_that_matters_most() {
    let asked = lifecycle(Mode::Form);
    let mut warned = asked;
    for (command, at) in [(Command::Draft, 1), (Command::Warn, 240)] {
        carry_out(&mut warned, command, after(at)).unwrap();
    }
    let change = |now: &Lifecycle, then: Option<&Lifecycle>| {
        now.step_since(then, after(500)).map(|step| step.change)
    };
    assert_eq!(change(&warned, Some(&asked)), Some(Change::Warned));
    let mut again = warned;
    carry_out(&mut again, Command::Extend(None), after(250)).unwrap();
    let deadline = after(600);
    let extended = Some(Change::Extended { deadline });
    assert_eq!(change(&again, Some(&warned)), extended);
    carry_out(&mut again, Command::Warn, after(540)).unwrap();
    assert_eq!(change(&again, Some(&warned)), Some(Change::Warned));
    let mut done = again;
    carry_out(&mut done, Command::Submit(Verdict::Valid), after(550)).unwrap();
    assert_eq!(change(&done, Some(&asked)), Some(Change::Answered));
    assert!(change(&done, None).is_some());
    assert_eq!(change(&done, Some(&done)), None);
}

fn any_command() -> impl Strategy<Value = Command> {
    let presented = prop_oneof![
        Just(Presented::Unknown),
        Just(Presented::Yes),
        Just(Presented::No)
    ];
    let reason = proptest::sample::select(&CancelReason::ALL[..]);
    prop_oneof![
        1 => Just(Command::Show),
        1 => Just(Command::Open),
        4 => Just(Command::Draft),
        2 => Just(Command::Submit(Verdict::Valid)),
        6 => Just(Command::Submit(Verdict::Invalid)),
        1 => Just(Command::Complete),
        1 => presented.clone().prop_map(|presented| Command::Decline { presented }),
        1 => (reason, presented).prop_map(|(reason, presented)| Command::Cancel { reason, presented }),
        6 => proptest::option::of(0..400_u64)
            .prop_map(|by| Command::Extend(by.map(Duration::from_secs))),
        3 => Just(Command::Warn),
        3 => Just(Command::Expire),
    ]
}

/// The number of steps in a run of the property: a million in CI.
const SEQUENCES: u32 = 20_000;
const COMMANDS: usize = 50;

proptest! {
    #![proptest_config(ProptestConfig { cases: SEQUENCES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_settles_at_most_once_and_its_log_replays(
        limit in 0..6_u8,
        mode in proptest::sample::select(&Mode::ALL[..]),
        // Mostly forward, sometimes back: commands are decided on several threads.
        commands in proptest::collection::vec((any_command(), -5_000..60_000_i64), COMMANDS),
    ) {
        let terms = TimeoutPolicy::default().terms(mode, Timeout::default()).unwrap();
        let first = Lifecycle::new(ASKED, terms, limit);
        let mut question = first;
        let mut log: Vec<Step> = Vec::new();
        let mut settled = 0;
        let mut now = ASKED;
        for (command, elapsed) in commands {
            now = UnixTime::from_millis(now.as_millis().saturating_add_signed(elapsed));
            let before = question;
            match question.decide(&command, now) {
                Ok(step) => {
                    question.apply(&step);
                    log.push(step);
                    // Who sees both states and not the step has the same to do.
                    let seen = question.step_since(Some(&before), now);
                    prop_assert_eq!(seen.is_none(), question == before);
                    prop_assert!(seen.is_none_or(|seen| {
                        seen.change.effects() == step.change.effects() && seen.at == now
                    }), "{:?} is seen as {:?}", step, seen);
                    prop_assert!(before.is_live(), "{command:?} changed what was final");
                    prop_assert!(question.deadline() >= before.deadline());
                    prop_assert!(question.attempts() <= limit.max(1));
                    prop_assert!(question.extensions() <= terms.max_extensions());
                    if !question.is_live() {
                        settled += 1;
                        prop_assert_eq!(question.timer(), None);
                        let is_timeout = question.outcome() == Some(Outcome::TimedOut);
                        prop_assert_eq!(is_timeout, now >= before.deadline());
                    }
                }
                Err(rejection) => {
                    prop_assert_eq!(question, before);
                    let is_final = matches!(rejection, Rejection::Settled { .. });
                    prop_assert!(!is_final || !before.is_live());
                }
            }
        }
        prop_assert!(settled <= 1);
        let mut replayed = first;
        for step in &log {
            replayed.apply(step);
        }
        prop_assert_eq!(replayed, question);
        let kept: Lifecycle = serde_json::from_value(serde_json::to_value(question).unwrap()).unwrap();
        prop_assert_eq!(kept, question);
    }
}

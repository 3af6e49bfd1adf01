//! Conversations with a person whose lines come through a channel, on a simulated clock.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use entreat::core::{Catalogue, Form};
use entreat::engine::{Clock, Resolver};
use entreat::{Ask, Asker, Outcome, Snapshot, Status};
use entreat_testkit::{ScriptedResolver, VirtualClock};
use serde_json::json;
use tokio::sync::mpsc;

use super::*;

/// What is on the screen.
#[derive(Clone, Default)]
struct Screen(Arc<Mutex<String>>);

impl io::Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = std::str::from_utf8(bytes).unwrap();
        self.0.lock().unwrap().push_str(text);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// One question, asked over a channel.
struct World {
    engine: Engine,
    asker: Asker,
    question: Elicitation,
    conversation: Option<Conversation>,
    terminal: Option<Terminal>,
    /// The input ends when this is dropped.
    person: Option<mpsc::Sender<io::Result<Option<String>>>>,
    screen: Screen,
}

impl World {
    async fn new(fields: Value, clock: impl Clock, resolver: impl Resolver + 'static) -> Self {
        let form = json!({"id": "f", "title": "Some questions", "fields": fields});
        let form = Form::from_value(&form).unwrap();
        let engine = Engine::builder()
            .clock(clock)
            .resolver(resolver)
            .start()
            .await
            .unwrap();
        let asker = engine.asker("test");
        let ask = Ask::terminal(form.clone()).size_limit(1000);
        let question = asker.ask(ask).await.unwrap();
        let (person, lines) = mpsc::channel(9);
        let screen = Screen::default();
        let messages = Catalogue::default().messages(["en"]);
        let conversation = Conversation {
            engine: engine.clone(),
            elicitation: question.clone(),
            events: asker.subscribe(),
            question: TerminalQuestion::new(form, messages),
        };
        Self {
            terminal: Some(Terminal::from_lines(lines, screen.clone())),
            person: Some(person),
            conversation: Some(conversation),
            screen,
            engine,
            asker,
            question,
        }
    }

    async fn of(fields: Value) -> Self {
        let clock = VirtualClock::new(UnixTime::from_millis(1_700_000_000_000));
        Self::new(fields, clock, ScriptedResolver::new()).await
    }

    fn types(&self, lines: &[&'static str]) {
        let person = self.person.as_ref().unwrap();
        for line in lines {
            person.try_send(Ok(Some((*line).to_owned()))).unwrap();
        }
    }

    /// Starts; nobody sends a signal.
    fn begin(&mut self) -> tokio::task::JoinHandle<anyhow::Result<Ending>> {
        let conversation = self.conversation.take().unwrap();
        let mut terminal = self.terminal.take().unwrap();
        tokio::spawn(async move {
            conversation
                .run(&mut terminal, std::future::pending())
                .await
        })
    }

    /// Waits until the screen shows this.
    async fn sees(&self, words: &str) {
        while !self.screen().contains(words) {
            tokio::task::yield_now().await;
        }
    }

    /// Waits until the question has this status.
    async fn stands(&self, is_so: impl Fn(&Snapshot) -> bool) {
        let host = self.engine.elicitation(self.question.id());
        while !is_so(&host.status().await.unwrap()) {
            tokio::task::yield_now().await;
        }
    }

    fn screen(&self) -> String {
        self.screen.0.lock().unwrap().clone()
    }

    async fn outcome(&self) -> Snapshot {
        self.question.outcome().await.unwrap()
    }
}

fn name() -> Value {
    json!([{"id": "name", "type": "text", "label": "Name", "required": true}])
}

#[tokio::test]
async fn each_answer_is_kept_as_a_draft_before_the_next_is_given() {
    let mut world = World::of(json!([
        {"id": "name", "type": "text", "label": "Name", "required": true},
        {"id": "key", "type": "text", "label": "Key", "sensitive": true},
    ]))
    .await;
    let talk = world.begin();
    world.sees("Name").await;
    world.stands(|seen| seen.status() == Status::Pending).await;
    world.types(&["Ada"]);
    world.stands(|seen| seen.status() == Status::Active).await;
    world
        .stands(|seen| seen.record().answer_state.is_some())
        .await;
    let drafted = world.question.read_draft().await.unwrap();
    assert_eq!(Value::from(drafted), json!({"name": "Ada"}));
    world.types(&["hunter2", ""]);
    assert_eq!(talk.await.unwrap().unwrap(), Ending::Settled);
    let result = world.outcome().await.result();
    assert_eq!(result, Some(json!({"name": "Ada", "key": "hunter2"})));
}

#[tokio::test]
async fn what_only_the_engine_can_refuse_is_asked_again_until_the_attempts_are_used_up() {
    let resolver = ScriptedResolver::new()
        .answers("a.example.com", &["10.0.0.1"])
        .answers("b.example.com", &["127.0.0.1"])
        .answers("c.example.com", &["169.254.169.254"]);
    let clock = VirtualClock::new(UnixTime::from_millis(1_700_000_000_000));
    let url = json!([{"id": "url", "type": "url", "label": "Address", "required": true}]);
    let mut world = World::new(url, clock, resolver).await;
    let talk = world.begin();
    world.types(&["https://a.example.com/", "https://b.example.com/"]);
    world.stands(|seen| seen.lifecycle().attempts() == 2).await;
    world.types(&["https://c.example.com/"]);
    talk.await.unwrap().unwrap();
    let settled = world.outcome().await;
    let reason = CancelReason::MaxRetriesExceeded;
    assert_eq!(settled.outcome(), Some(Outcome::Cancelled(reason)));
    let refusals = world.screen().matches("were not accepted").count();
    assert_eq!(refusals, 2, "{}", world.screen());
}

#[tokio::test]
async fn an_answer_that_is_refused_once_may_be_mended() {
    let resolver = ScriptedResolver::new().answers("a.example.com", &["10.0.0.1"]);
    let clock = VirtualClock::new(UnixTime::from_millis(1_700_000_000_000));
    let url = json!([{"id": "url", "type": "url", "label": "Address", "required": true}]);
    let mut world = World::new(url, clock, resolver).await;
    let talk = world.begin();
    world.types(&["https://a.example.com/", "https://b.example.com/"]);
    talk.await.unwrap().unwrap();
    let result = world.outcome().await.result();
    assert_eq!(result, Some(json!({"url": "https://b.example.com/"})));
}

#[tokio::test]
async fn answers_that_are_too_large_can_be_shortened() {
    let mut world = World::of(name()).await;
    let talk = world.begin();
    world.types(&[Box::leak("x".repeat(2000).into_boxed_str())]);
    world.sees("Shorten them").await;
    world.types(&["Ada"]);
    talk.await.unwrap().unwrap();
    let result = world.outcome().await.result();
    assert_eq!(result, Some(json!({"name": "Ada"})));
}

#[tokio::test]
async fn a_deadline_ends_the_prompts_and_what_is_typed_then_goes_nowhere() {
    let clock = VirtualClock::new(UnixTime::from_millis(1_700_000_000_000));
    let mut world = World::new(name(), clock.clone(), ScriptedResolver::new()).await;
    let mut events = world.asker.subscribe();
    let talk = world.begin();
    world.sees("> ").await;

    clock.advance(Duration::from_secs(541));
    while !matches!(events.next().await, Some(SubscriptionItem::Event(event))
        if event.step().is_some_and(|step| step.change == Change::Warned))
    {}
    // The conversation hears it too, whichever of the two is first.
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    world.types(&[""]);
    world.sees("Time is running out: 59 seconds left.").await;

    // The prompt again: the empty line was no answer.
    world.sees("left. Type :extend to ask for more.\n> ").await;
    clock.advance(Duration::from_secs(60));
    let ending = talk.await.unwrap().unwrap();
    assert_eq!(ending, Ending::Settled);
    assert_eq!(world.outcome().await.outcome(), Some(Outcome::TimedOut));
    let screen = world.screen();
    assert!(screen.ends_with("> \n"), "{screen}");
    drop(world.person.take());
    assert_eq!(world.screen(), screen);
}

#[tokio::test]
async fn a_signal_cancels() {
    let mut world = World::of(name()).await;
    let conversation = world.conversation.take().unwrap();
    let mut terminal = world.terminal.take().unwrap();
    let signal = async { Exit::Interrupted };
    let ending = conversation.run(&mut terminal, signal).await;
    assert_eq!(ending.unwrap(), Ending::Signal(Exit::Interrupted));
    let reason = CancelReason::UserCancelled;
    let outcome = world.outcome().await.outcome();
    assert_eq!(outcome, Some(Outcome::Cancelled(reason)));
    drop(world.person.take());
}

#[tokio::test]
async fn a_console_that_breaks_leaves_no_open_question() {
    let mut world = World::of(name()).await;
    let talk = world.begin();
    let person = world.person.as_ref().unwrap();
    let broken = io::Error::other("the cable is cut");
    person.try_send(Err(broken)).unwrap();
    let error = talk.await.unwrap().unwrap_err();
    assert_eq!(
        format!("{error:#}"),
        "cannot use the terminal: the cable is cut"
    );
    assert!(world.outcome().await.outcome().is_some());
}

#[tokio::test]
async fn the_end_of_the_input_is_told_from_a_cancel() {
    for (lines, expected) in [
        (&[":cancel"][..], Ending::Settled),
        (&["::"], Ending::InputEnded),
    ] {
        let mut world = World::of(json!([
            {"id": "name", "type": "text", "label": "Name", "required": true},
            {"id": "age", "type": "number", "label": "Age", "required": true},
        ]))
        .await;
        let talk = world.begin();
        world.types(lines);
        drop(world.person.take());
        assert_eq!(talk.await.unwrap().unwrap(), expected);
        let reason = CancelReason::UserCancelled;
        let outcome = world.outcome().await.outcome();
        assert_eq!(outcome, Some(Outcome::Cancelled(reason)));
    }
}

#[tokio::test]
async fn where_nobody_ever_says_anything_the_question_stays_open() {
    let mut world = World::of(name()).await;
    let talk = world.begin();
    drop(world.person.take());
    assert_eq!(talk.await.unwrap().unwrap(), Ending::NoInput);
    world.stands(|seen| seen.outcome().is_none()).await;
}

#[tokio::test]
async fn more_time_can_be_asked_for_until_there_is_none() {
    let clock = VirtualClock::new(UnixTime::from_millis(1_700_000_000_000));
    let mut world = World::new(name(), clock, ScriptedResolver::new()).await;
    let talk = world.begin();
    world.types(&[":extend"]);
    world.sees("You now have 15 minutes.").await;
    world.types(&[":extend"]);
    world.sees("You now have 20 minutes.").await;
    world.types(&[":extend"]);
    world
        .sees("This question can't be extended any further.")
        .await;
    world.types(&["Ada"]);
    assert_eq!(talk.await.unwrap().unwrap(), Ending::Settled);
    assert_eq!(world.outcome().await.lifecycle().extensions(), 2);
}

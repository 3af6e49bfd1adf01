//! The terminal as programs use it, with lines from a channel.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use entreat_core::Script;
use entreat_terminal::{
    CardReply, FormReply, OpenedReply, PromptChannel, PromptEvent, PromptNotice, Terminal,
    TerminalQuestion, UrlCard,
};
use futures_util::FutureExt as _;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::script::{english, fields, german};

#[derive(Clone, Default)]
struct Screen(Arc<Mutex<String>>);

impl io::Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = std::str::from_utf8(bytes).expect("text");
        self.0.lock().expect("nobody panics").push_str(text);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

type Keyboard = mpsc::Sender<io::Result<Option<String>>>;

fn terminal() -> (Terminal, Keyboard, Screen) {
    let (keyboard, lines) = mpsc::channel(9);
    let screen = Screen::default();
    (
        Terminal::from_lines(lines, screen.clone()),
        keyboard,
        screen,
    )
}

fn type_in(keyboard: &Keyboard, lines: &[&str]) {
    for line in lines {
        keyboard
            .try_send(Ok(Some((*line).to_owned())))
            .expect("room");
    }
}

impl Screen {
    fn text(&self) -> String {
        self.0.lock().expect("nobody panics").clone()
    }
}

fn name() -> TerminalQuestion {
    let form = fields(json!([
        {"id": "name", "type": "text", "label": "Name", "required": true}]));
    TerminalQuestion::new(form, english()).asker("door")
}

#[tokio::test]
async fn a_prompt_that_was_closed_leaves_its_line_to_the_next_one() {
    let (mut terminal, keyboard, screen) = terminal();
    {
        let question = name();
        let mut channel = PromptChannel::disconnected();
        let mut closed = std::pin::pin!(terminal.fill(&question, &mut channel));
        while !screen.text().ends_with("> ") {
            assert!(closed.as_mut().now_or_never().is_none());
            tokio::task::yield_now().await;
        }
    }
    // The next output starts at the margin.
    terminal.notice("The server withdrew it\u{1b}[2J.").unwrap();
    assert!(
        screen.text().ends_with("> \nThe server withdrew it.\n"),
        "{}",
        screen.text()
    );
    type_in(&keyboard, &["Ada"]);
    let filled = terminal
        .fill(&name(), &mut PromptChannel::disconnected())
        .await
        .unwrap();
    let expected = json!({"name": "Ada"});
    assert_eq!(
        filled,
        FormReply::Answered(expected.as_object().unwrap().clone())
    );
}

#[tokio::test]
async fn whoever_asks_hears_of_the_first_line_and_of_each_answer() {
    let (mut terminal, keyboard, _) = terminal();
    let (mut handle, mut channel) = PromptChannel::pair();
    type_in(&keyboard, &["", "Ada"]);
    terminal.fill(&name(), &mut channel).await.unwrap();
    drop(channel);
    assert_eq!(handle.next().await, Some(PromptEvent::Started));
    assert_eq!(
        handle.next().await,
        Some(PromptEvent::DraftChanged(json!({"name": "Ada"})))
    );
    assert_eq!(handle.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn deadlines_are_told_in_the_language_of_the_question() {
    let (mut terminal, keyboard, screen) = terminal();
    let (handle, mut channel) = PromptChannel::pair();
    let form = fields(json!([{"id": "name", "type": "text", "label": "Name"}]));
    let question = TerminalQuestion::new(form, german());
    let question = question.deadline(Instant::now() + Duration::from_secs(300), 1);
    handle.notify(PromptNotice::ExpiryWarning(Duration::from_secs(59)));
    type_in(&keyboard, &["Ada"]);
    terminal.fill(&question, &mut channel).await.unwrap();
    let screen = screen.text();
    for words in [
        "Sie haben 5 Minuten. Mit :extend bitten Sie um mehr.\n",
        ":extend   um mehr Zeit bitten\n",
        "Die Zeit läuft ab: noch 59 Sekunden. Mit :extend bitten Sie um mehr.\n> ",
    ] {
        assert!(screen.contains(words), "{words}\n{screen}");
    }
}

#[tokio::test(start_paused = true)]
async fn deadlines_are_told_between_lines_and_put_off_by_a_command() {
    let (mut terminal, keyboard, screen) = terminal();
    let (mut handle, mut channel) = PromptChannel::pair();
    let question = name().deadline(Instant::now() + Duration::from_secs(300), 1);
    handle.notify(PromptNotice::ExpiryWarning(Duration::from_secs(59)));
    type_in(&keyboard, &[":extend"]);
    let granted = async {
        while handle.next().await != Some(PromptEvent::ExtensionRequested) {}
        handle.notify(PromptNotice::Deadline {
            at: Instant::now() + Duration::from_secs(600),
            extensions_left: 0,
        });
        type_in(&keyboard, &[":extend", "Ada"]);
    };
    let (filled, ()) = tokio::join!(terminal.fill(&question, &mut channel), granted);
    assert!(matches!(filled.unwrap(), FormReply::Answered(_)));
    let screen = screen.text();
    for words in [
        "You have 5 minutes. Type :extend to ask for more.\n",
        "Time is running out: 59 seconds left. Type :extend to ask for more.\n> ",
        "You now have 10 minutes.\n> ",
        "This question can't be extended any further.\n> ",
    ] {
        assert!(screen.contains(words), "{words}\n{screen}");
    }
}

#[tokio::test]
async fn decline_cancel_and_the_end_of_the_input_stay_apart() {
    for (lines, filled) in [
        (&[":decline"][..], FormReply::Declined),
        (&[":cancel"], FormReply::Cancelled),
        (&[], FormReply::Cancelled),
    ] {
        let (mut terminal, keyboard, _) = terminal();
        type_in(&keyboard, lines);
        drop(keyboard);
        let reply = terminal
            .fill(&name(), &mut PromptChannel::disconnected())
            .await
            .unwrap();
        assert_eq!(reply, filled);
        assert_eq!(terminal.is_attended(), !lines.is_empty());
    }
}

fn card() -> UrlCard {
    UrlCard {
        asker: "files\u{1b}[2J".to_owned(),
        message: "Sign in.\n> open\u{202e}".to_owned(),
        url: "https://login.example.com/x?y=1".to_owned(),
        host: "example.com".to_owned(),
        warnings: vec!["The connection is not encrypted.".to_owned()],
        may_be_opened: true,
    }
}

#[tokio::test]
async fn an_address_is_opened_by_its_own_word_alone() {
    for (lines, reply) in [
        (&["", "yes", "o", "open"][..], CardReply::Open),
        (&[":decline"], CardReply::Decline),
        (&["cancel"], CardReply::Cancel),
        (&[""], CardReply::Cancel),
    ] {
        let (mut terminal, keyboard, screen) = terminal();
        type_in(&keyboard, lines);
        drop(keyboard);
        assert_eq!(terminal.card(&card()).await.unwrap(), reply, "{lines:?}");
        assert!(!screen.text().contains(['\u{1b}', '\u{202e}']));
        if reply == CardReply::Open {
            insta::assert_snapshot!(screen.text());
        }
    }
}

#[tokio::test]
async fn after_opening_one_is_done_or_opens_again_or_leaves() {
    for (lines, reply) in [
        (&["", "done"][..], OpenedReply::Done),
        (&["again"], OpenedReply::Again),
        (&[":cancel"], OpenedReply::Cancel),
        (&[], OpenedReply::Cancel),
    ] {
        let (mut terminal, keyboard, _) = terminal();
        type_in(&keyboard, lines);
        drop(keyboard);
        assert_eq!(terminal.opened(&card()).await.unwrap(), reply, "{lines:?}");
    }
}

#[tokio::test]
async fn notices_and_what_a_script_says_come_in_their_place() {
    let script = Script::from_value(&json!([
        {"say": "Hello."},
        {"ask": {"id": "name", "type": "text", "label": "Name", "required": true}},
        {"say": "Hello, Ada!",
         "condition": {"operator": "equals", "field": "name", "value": "Ada"}},
        {"say": "Hello, stranger!",
         "condition": {"operator": "not_equals", "field": "name", "value": "Ada"}},
    ]))
    .unwrap();
    let question =
        TerminalQuestion::of_script(&script, english()).notice("A part cannot be shown.");
    let (mut terminal, keyboard, screen) = terminal();
    type_in(&keyboard, &["Ada"]);
    terminal
        .fill(&question, &mut PromptChannel::disconnected())
        .await
        .unwrap();
    let screen = screen.text();
    let place = |words: &str| {
        screen
            .find(words)
            .unwrap_or_else(|| panic!("{words}\n{screen}"))
    };
    assert!(place("A part cannot be shown.") < place("│ Hello.\n"));
    assert!(place("│ Hello.\n") < place("│ Name"));
    assert!(place("│ Name") < place("│ Hello, Ada!"));
    assert!(!screen.contains("stranger"));
}

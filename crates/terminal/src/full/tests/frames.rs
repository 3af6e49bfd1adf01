//! Complete screens, as snapshots.

use entreat_core::{Catalogue, Form, TextFormat};
use ratatui_core::style::{Color, Modifier};
use serde_json::json;

use super::{Sitting, deadline, every, question, style};
use crate::full::card::CardScreen;
use crate::full::event::Key;
use crate::question::{TerminalQuestion, TerminalStyle, UrlCard};
use crate::texts::Texts;

fn asked() -> TerminalQuestion {
    let mut question = question(&every()).message("Version 7 is ready.");
    question.time = None;
    question
}

#[test]
fn every_type_while_the_person_is_at_it() {
    let mut sitting = Sitting::of(&asked());
    for (field, typed) in [
        ("text", "web"),
        ("lines", "one line"),
        ("secret", "hunter2"),
        ("number", "0"),
        ("boolean", "y"),
        ("select", "a"),
        ("multi_select", " "),
    ] {
        sitting.type_in(typed);
        insta::assert_snapshot!(format!("at_{field}"), sitting.screen());
        let leave = if field == "select" {
            Key::Enter
        } else {
            Key::Tab
        };
        sitting.press(&[leave]);
    }
    sitting.press(&[Key::BackTab, Key::Tab]);
    sitting.press(&[Key::Down, Key::Right]);
    insta::assert_snapshot!("at_date", sitting.screen());
    sitting.press(&[Key::Tab]).type_in("http://a@example.com/");
    insta::assert_snapshot!("at_url", sitting.screen());
    sitting
        .press(&[Key::Ctrl('u'), Key::Tab])
        .type_in("/none.pem")
        .press(&[Key::Enter]);
    insta::assert_snapshot!("at_file", sitting.screen());
    sitting
        .press(&[Key::Ctrl('u'), Key::Tab])
        .type_in("Many users");
    sitting.press(&[Key::Ctrl('r')]);
    insta::assert_snapshot!("review", sitting.screen());
}

/// A form in two sections, with Markdown.
fn formatted() -> TerminalQuestion {
    let form = Form::from_value(&json!({
        "id": "f", "title": "Deploy", "description": "Runs `deploy`,\nthen *waits*.",
        "fields": [
            {"id": "a", "type": "boolean", "label": "Go", "description": "**No** way back."},
            {"id": "b", "type": "text", "label": "Host", "section": "Network",
             "rendering": {"conditionalDisplay":
                 {"operator": "equals", "field": "a", "value": true}}},
            {"id": "c", "type": "number", "label": "Port"},
            {"id": "d", "type": "text", "label": "Note", "section": "Afterwards"},
        ],
    }))
    .unwrap();
    question(&form).message("- build\n- test\n\n```diff\n-port: 80\n+port: 8080\n```")
}

#[test]
fn formatted_texts_and_sections_stand_behind_bars() {
    let mut sitting = Sitting::of(&formatted());
    insta::assert_snapshot!("sections", sitting.screen());
    sitting.press(&[Key::Ctrl('r')]);
    insta::assert_snapshot!("sections_review", sitting.screen());
    let added = formatted();
    let frame = Sitting::of(&added).model.view();
    let spans: Vec<_> = frame.lines.iter().flat_map(|line| &line.spans).collect();
    let style = |text: &str| {
        let span = spans.iter().find(|span| span.content.contains(text));
        span.map(|span| span.style).unwrap()
    };
    assert_eq!(style("+port").fg, Some(Color::Green));
    assert_eq!(style("-port").fg, Some(Color::Red));
    assert!(style("waits").add_modifier.contains(Modifier::ITALIC));
    assert!(style("Network").add_modifier.contains(Modifier::BOLD));
}

#[test]
fn texts_of_others_are_shown_as_they_are() {
    let question = formatted().text_format(TextFormat::Plain);
    let screen = Sitting::of(&question).screen();
    for text in [
        "```diff",
        "Runs `deploy`,",
        "then *waits*.",
        "**No** way back.",
    ] {
        assert!(screen.contains(text), "{text}: {screen}");
    }
}

#[test]
fn errors_stand_beside_their_fields() {
    let mut sitting = Sitting::of(&asked());
    sitting
        .type_in("x")
        .press(&[Key::Tab, Key::Tab, Key::Tab])
        .type_in("x");
    sitting.press(&[Key::Ctrl('r')]);
    insta::assert_snapshot!("errors", sitting.screen());
}

#[test]
fn forty_columns_and_ten_rows_are_enough() {
    let mut sitting = Sitting::sized(&asked(), style(), (40, 10));
    insta::assert_snapshot!("narrow_begin", sitting.screen());
    sitting.press(&[Key::Ctrl('r')]);
    insta::assert_snapshot!("narrow_errors", sitting.screen());
    sitting
        .type_in("web")
        .press(&[Key::Tab; 4])
        .type_in("n")
        .press(&[Key::Tab]);
    insta::assert_snapshot!("narrow_select", sitting.screen());
    sitting.press(&[Key::Enter, Key::Char(' '), Key::Ctrl('r')]);
    insta::assert_snapshot!("narrow_review", sitting.screen());
    sitting.press(&[Key::PageUp]);
    insta::assert_snapshot!("narrow_review_above", sitting.screen());
}

#[test]
fn without_unicode_there_is_ascii_alone() {
    let plain = TerminalStyle {
        unicode: false,
        ..style()
    };
    let question = asked().message("Grüße – 日本");
    let mut sitting = Sitting::sized(&question, plain, (80, 24));
    sitting
        .type_in("zoë")
        .press(&[Key::Tab, Key::Tab])
        .type_in("secret");
    let screen = sitting.screen().replace('█', "_");
    assert!(screen.is_ascii(), "{screen}");
    insta::assert_snapshot!("ascii", screen);
}

#[test]
fn without_colour_there_are_no_colours() {
    let grey = TerminalStyle {
        colour: false,
        ..style()
    };
    let colours = |style: TerminalStyle| {
        let mut sitting = Sitting::sized(&deadline(asked()), style, (80, 24));
        sitting.press(&[Key::Ctrl('r'), Key::Tab]);
        let frame = sitting.model.view();
        let spans = frame.lines.iter().flat_map(|line| line.spans.iter());
        spans
            .filter_map(|span| span.style.fg)
            .collect::<Vec<Color>>()
    };
    assert!(colours(style()).contains(&Color::Red));
    assert_eq!(colours(grey), []);
}

#[test]
fn time_left_stands_above_and_ways_out_below() {
    let mut sitting = Sitting::of(&deadline(asked()));
    sitting.hear(crate::full::event::Event::TimeLeft(
        std::time::Duration::from_secs(61),
    ));
    let screen = sitting.screen();
    assert!(
        screen.lines().next().unwrap().ends_with("1:01 left"),
        "{screen}"
    );
    let ways_out = screen.lines().next_back().unwrap();
    assert_eq!(ways_out, "Ctrl-X decline   Esc cancel   Ctrl-T more time");
}

fn card() -> UrlCard {
    UrlCard {
        asker: "files".to_owned(),
        message: "Sign in, please. See https://elsewhere.example/".to_owned(),
        url: format!("https://login.example.com/{}", "a/".repeat(50)),
        host: "example.com".to_owned(),
        warnings: vec!["The connection is not encrypted.".to_owned()],
        may_be_opened: true,
    }
}

#[test]
fn a_card_shows_the_whole_address_and_its_host() {
    let card = card();
    let german = Texts::of(&Catalogue::default().messages(["de"]));
    for (name, size, is_opened, texts) in [
        ("card", (80, 24), false, Texts::ENGLISH),
        ("card_narrow", (40, 10), false, Texts::ENGLISH),
        ("card_opened", (80, 24), true, Texts::ENGLISH),
        ("card_german", (80, 24), false, german),
    ] {
        let mut page = CardScreen::new(&card, style(), texts, is_opened);
        page.size = size;
        let lines = page.view().lines;
        let rows = lines
            .iter()
            .map(|line| line.to_string().trim_end().to_owned());
        insta::assert_snapshot!(name, rows.collect::<Vec<_>>().join("\n"));
    }
}

#[test]
fn consent_takes_its_own_key() {
    use crate::full::card::{CardAction, key_on_card, key_when_opened};
    use crate::question::{CardReply, OpenedReply};
    let reply = |key| match key_on_card(key, true) {
        Some(CardAction::Reply(reply)) => Some(reply),
        _ => None,
    };
    assert_eq!(reply(Key::Enter), None);
    assert_eq!(reply(Key::Char('y')), None);
    assert_eq!(reply(Key::Char('o')), Some(CardReply::Open));
    assert_eq!(reply(Key::Ctrl('x')), Some(CardReply::Decline));
    for key in [Key::Escape, Key::Ctrl('c'), Key::Ctrl('d')] {
        assert_eq!(reply(key), Some(CardReply::Cancel));
        assert_eq!(
            key_when_opened(key),
            Some(CardAction::Reply(OpenedReply::Cancel))
        );
    }
    assert_eq!(key_when_opened(Key::Enter), None);
    assert_eq!(key_on_card(Key::Char('c'), true), Some(CardAction::Copy));
    assert_eq!(key_on_card(Key::Char('o'), false), None);
}

#[test]
fn german_is_spoken_on_the_whole_screen() {
    let mut german = asked();
    german.messages = Catalogue::default().messages(["de"]);
    let mut sitting = Sitting::of(&deadline(german));
    sitting.hear(crate::full::event::Event::TimeLeft(
        std::time::Duration::from_secs(61),
    ));
    sitting.type_in("x").press(&[Key::Ctrl('r')]);
    insta::assert_snapshot!("german", sitting.screen());
    sitting.type_in("yz").press(&[Key::Tab; 5]);
    insta::assert_snapshot!("german_select", sitting.screen());
    sitting.press(&[
        Key::Enter,
        Key::Char(' '),
        Key::BackTab,
        Key::BackTab,
        Key::Char('j'),
    ]);
    sitting.press(&[Key::Ctrl('r')]);
    insta::assert_snapshot!("german_review", sitting.screen());
}

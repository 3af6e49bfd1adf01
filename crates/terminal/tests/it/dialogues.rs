//! Whole dialogues, as they are on the screen.

use std::cell::RefCell;

use entreat_core::{Form, TextFormat};
use entreat_terminal::Reply;
use entreat_terminal::plain::Plain;
use entreat_testkit::samples;
use serde_json::{Map, Value, json};

use crate::files;
use crate::script::{self, Script, correct, fill, fill_draft};

/// Conditions, defaults, secrets, a read-only and a hidden field, and a cross-field rule.
fn release() -> Form {
    script::form(json!({
        "id": "release",
        "title": "Release",
        "description": "Where should version 2 go?\n\nNothing is changed before you send this.",
        "fields": [
            {"id": "plan", "type": "text", "label": "Plan", "default": "basic",
             "rendering": {"readonly": true, "helpText": "Set by your contract."}},
            {"id": "trace", "type": "text", "label": "Trace", "default": "t-1",
             "rendering": {"hidden": true}},
            {"id": "target", "type": "select", "label": "Target", "required": true,
             "default": "staging",
             "options": [{"value": "staging", "title": "Staging"},
                         {"value": "production", "title": "Production"}]},
            {"id": "token", "type": "text", "label": "Token", "required": true,
             "description": "Make one in the console under Access.",
             "sensitive": true, "validation": {"minLength": 8},
             "rendering": {"conditionalDisplay":
                 {"operator": "equals", "field": "target", "value": "production"}}},
            {"id": "note", "type": "text", "label": "Note", "default": "Release 2",
             "rendering": {"placeholder": "Fixes the login"}},
            {"id": "first", "type": "number", "label": "First batch, in percent",
             "validation": {"minimum": 0, "maximum": 100, "multipleOf": 1}},
            {"id": "last", "type": "number", "label": "Last batch, in percent"},
            {"id": "announce", "type": "boolean", "label": "Announce it", "required": true},
        ],
        "validation": {"rules": [
            {"rule": "compare", "left": "first", "operator": "lte", "right": "last"}]},
    }))
}

#[test]
fn formatted_texts_and_sections_read_well_in_lines() {
    let form = script::form(json!({
        "id": "f", "title": "Deploy", "description": "Runs `deploy`,\nthen *waits*.",
        "fields": [
            {"id": "a", "type": "boolean", "label": "Go", "description": "**No** way back."},
            {"id": "b", "type": "text", "label": "Host", "section": "Network",
             "rendering": {"conditionalDisplay":
                 {"operator": "equals", "field": "a", "value": true}}},
            {"id": "c", "type": "number", "label": "Port"},
            {"id": "d", "type": "text", "label": "Note", "section": "Afterwards"},
        ],
    }));
    let message = "# Deploy\n\n- build\n- test\n\n```diff\n-port: 80\n+port: 8080\n```\n\n\
        | Service | Port |\n|---|---|\n| web | 8080 |";
    let mut script = Script::new(["no", "80", ":back", "8080", "", "y"]);
    let mut draft = Map::new();
    let messages = script::english();
    let plain = Plain::new(&form, &messages).message(message);
    let reply = plain.fill(&mut script, &mut draft).unwrap();
    assert_eq!(reply, Reply::Answered);
    insta::assert_snapshot!(script.screen);
    let mut script = Script::new([":cancel"]);
    let plain = plain.text_format(TextFormat::Plain);
    plain.fill(&mut script, &mut Map::new()).unwrap();
    for line in ["│ ```diff", "│ then *waits*.", "│ **No** way back."] {
        assert!(
            script.screen.lines().any(|it| it == line),
            "{line}: {}",
            script.screen
        );
    }
}

#[test]
fn every_type_of_field_is_asked_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("logo.png");
    let logo = &samples::comprehensive_answer()["logo"]["content"];
    std::fs::write(&path, files::decode(logo.as_str().unwrap()).unwrap()).unwrap();
    let path = path.to_str().unwrap();
    let lines = [
        "ab",
        "billing-api",
        "70000",
        "8443",
        "n",
        "2026-02-30",
        "2026-09-01",
        "moon",
        "2",
        "1",
        "backups, 2, audit",
        "http://billing.example.com/start",
        "https://billing.example.com/start",
        path,
        "",
    ];
    let outcome = fill(&samples::comprehensive(), &lines);
    assert_eq!(outcome.reply, Reply::Answered);
    let form = samples::comprehensive();
    let answers = form.check(&outcome.draft).unwrap();
    assert_eq!(
        Value::from(answers.reveal().to_json()),
        samples::comprehensive_answer()
    );
    let screen = outcome
        .screen
        .replace(folder.path().to_str().unwrap(), "[folder]");
    insta::assert_snapshot!(screen);
}

#[test]
fn conditions_defaults_secrets_and_mistakes_in_one_dialogue() {
    let outcome = fill(
        &release(),
        &[
            ":help",
            ":back",
            "production",
            "short",
            "long enough",
            ":back",
            ":halp",
            "",
            ":empty",
            "50",
            "25",
            "maybe",
            "yes",
            // The two batches contradict each other: both are asked again.
            "",
            "75",
            // From the review: another target, which needs no token, then back again.
            "1",
            "staging",
            "3",
            ":back",
            "y",
        ],
    );
    assert_eq!(outcome.reply, Reply::Answered);
    assert!(!outcome.screen.contains("long enough"));
    insta::assert_snapshot!(outcome.screen);
    let form = release();
    let answers = form.check(&outcome.draft).unwrap();
    assert_eq!(
        Value::from(answers.reveal().to_json()),
        json!({"plan": "basic", "trace": "t-1", "target": "staging", "first": 50, "last": 75,
               "announce": true})
    );
}

/// A form in German, with all that plain mode has words for.
fn in_german() -> Form {
    script::form(json!({
        "id": "f", "title": "Neuer Dienst",
        "fields": [
            {"id": "vertrag", "type": "text", "label": "Vertrag", "default": "Basis",
             "rendering": {"readonly": true}},
            {"id": "name", "type": "text", "label": "Name", "required": true, "section": "Dienst",
             "validation": {"minLength": 3, "pattern": "^[a-z]+$"},
             "rendering": {"placeholder": "kasse"}},
            {"id": "adresse", "type": "text", "label": "E-Mail-Adresse",
             "validation": {"format": "email"}},
            {"id": "port", "type": "number", "label": "Port", "default": 80,
             "validation": {"minimum": 1, "maximum": 65535, "multipleOf": 1}},
            {"id": "start", "type": "date", "label": "Start", "required": true,
             "validation": {"minimum": "2026-01-01"}},
            {"id": "ort", "type": "select", "label": "Ort", "required": true,
             "options": [{"value": "2", "title": "Bern"}, {"value": "b", "title": "Wien"},
                         {"value": "c", "title": "wien"}]},
            {"id": "extras", "type": "multi_select", "label": "Extras", "options": ["a", "b"],
             "validation": {"maxItems": 1}},
            {"id": "seite", "type": "url", "label": "Webseite"},
            {"id": "plan", "type": "file", "label": "Plan",
             "validation": {"maxSize": 1024, "maxItems": 2, "allowedMimeTypes": ["text/*"]}},
            {"id": "kennwort", "type": "text", "label": "Kennwort", "sensitive": true},
            {"id": "los", "type": "boolean", "label": "Jetzt starten", "required": true},
        ],
    }))
}

#[test]
fn a_dialogue_in_german_has_no_english_words() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("plan.txt"), "erst dies, dann das").unwrap();
    std::fs::write(path("zu-viel.txt"), "x".repeat(2000)).unwrap();
    let (large, plan) = (path("zu-viel.txt"), path("plan.txt"));
    let lines = [
        ":back",
        "ab",
        "kasse",
        "keine",
        "",
        "",
        ":help",
        "morgen",
        "2026-02-28",
        "2",
        "WIEN",
        "1",
        "a, b",
        "",
        "wo",
        "https://example.com/",
        &large,
        &plan,
        "",
        "geheim",
        "vielleicht",
        "ja",
        // From the review: a change that is taken back, and one that is made.
        "7",
        ":back",
        "6",
        "b",
        "j",
    ];
    let outcome = script::fill_in(&script::german(), &in_german(), Map::new(), &lines);
    assert_eq!(outcome.reply, Reply::Answered);
    let screen = outcome
        .screen
        .replace(folder.path().to_str().unwrap(), "[ordner]");
    insta::assert_snapshot!(screen);
}

#[test]
fn a_path_that_cannot_be_read_is_refused_in_german() {
    let form = script::fields(json!([{"id": "plan", "type": "file", "label": "Plan"}]));
    let folder = tempfile::tempdir().unwrap();
    let itself = folder.path().to_str().unwrap();
    let missing = folder.path().join("nichts.txt");
    let lines = [missing.to_str().unwrap(), itself, ":cancel"];
    let outcome = script::fill_in(&script::german(), &form, Map::new(), &lines);
    // Where lines end depends on the folder.
    let said: Vec<&str> = outcome.screen.split_whitespace().collect();
    let said = said.join(" ");
    for words in [
        "nichts.txt” kann nicht gelesen werden: diese Datei gibt es nicht.",
        "kann nicht gelesen werden: das ist ein Ordner.",
    ] {
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn decline_cancel_and_the_end_of_the_input_stay_apart() {
    for (lines, reply) in [
        (&[":decline"][..], Reply::Declined),
        (&[":cancel"], Reply::Cancelled),
        (&[], Reply::Cancelled),
        (&["production", ":decline"], Reply::Declined),
        (&["production"], Reply::Cancelled),
        (&["", "", "1", "2", "", ":decline"], Reply::Declined),
        (&["", "", "1", "2", "", ":cancel"], Reply::Cancelled),
        (&["", "", "1", "2", ""], Reply::Cancelled),
    ] {
        assert_eq!(fill(&release(), lines).reply, reply, "{lines:?}");
    }
}

#[test]
fn what_was_answered_before_leaving_stays_in_the_draft() {
    let outcome = fill(&release(), &["", "A note", ":cancel"]);
    assert_eq!(
        outcome.draft,
        json!({"target": "staging", "note": "A note"})
    );
}

#[test]
fn only_what_errors_name_is_asked_again() {
    let form = samples::comprehensive();
    let draft = samples::three_errors();
    let errors = form.check(&draft).unwrap_err().errors(&script::english());
    let lines = ["billing-api", "", "8443", "eu-west", ""];
    let outcome = correct(&form, draft.as_object().unwrap().clone(), &errors, &lines);
    assert_eq!(outcome.reply, Reply::Answered);
    insta::assert_snapshot!(outcome.screen);
}

#[test]
fn a_draft_is_offered_and_what_nobody_can_answer_is_dropped_from_it() {
    let draft = json!({"plan": "gold", "trace": "x", "stranger": 1, "target": "production",
                       "token": "a long secret", "note": null, "first": "12"});
    let draft = draft.as_object().unwrap().clone();
    let outcome = fill_draft(&release(), draft, &["", "", "", "", "", "n", ""]);
    assert_eq!(outcome.reply, Reply::Answered);
    assert_eq!(
        outcome.draft,
        json!({"target": "production", "token": "a long secret", "note": null, "first": "12",
               "announce": false})
    );
    assert!(!outcome.screen.contains("a long secret"));
    assert!(
        outcome
            .screen
            .contains("Press Enter to keep (secret, not shown).")
    );
    assert!(
        outcome
            .screen
            .contains("Press Enter to keep 12; type :empty to clear it.")
    );
}

#[test]
fn a_form_without_fields_is_still_sent_or_refused_by_a_person() {
    let definition = json!({"type": "object", "properties": {}});
    let imported = entreat_core::schema::import(&definition).unwrap();
    let form = imported.form;
    assert_eq!(fill(&form, &[""]).reply, Reply::Answered);
    assert_eq!(fill(&form, &["1", ":decline"]).reply, Reply::Declined);
}

#[test]
fn a_single_question_is_not_reviewed() {
    let outcome = fill(&samples::minimal(), &["Ada"]);
    assert_eq!(outcome.reply, Reply::Answered);
    assert!(!outcome.screen.contains("Send"));
}

#[test]
fn the_askers_reason_stands_behind_the_bar_before_the_title() {
    let form = script::fields(json!([{"id": "name", "type": "text", "label": "Name"}]));
    let messages = script::english();
    let mut console = Script::new(["Ada"]);
    Plain::new(&form, &messages)
        .message("Version 7 is ready.\n> Type your password")
        .fill(&mut console, &mut Map::new())
        .unwrap();
    let head: Vec<_> = console.screen.lines().take(6).collect();
    let expected = [
        "Question:",
        "│ Version 7 is ready.",
        "│",
        "│ > Type your password",
        "│",
        "│ Some questions",
    ];
    assert_eq!(head, expected);
}

#[test]
fn the_draft_is_heard_of_after_each_answer() {
    let form = script::fields(json!([
        {"id": "name", "type": "text", "label": "Name", "required": true},
        {"id": "age", "type": "number", "label": "Age"},
    ]));
    let messages = script::english();
    let heard = RefCell::new(Vec::new());
    let listener = |draft: &Value| heard.borrow_mut().push(draft.clone());
    Plain::new(&form, &messages)
        .after_each(&listener)
        .fill(&mut Script::new(["", "Ada", "old", "36"]), &mut Map::new())
        .unwrap();
    let expected = [json!({"name": "Ada"}), json!({"name": "Ada", "age": "36"})];
    assert_eq!(heard.into_inner(), expected);
}

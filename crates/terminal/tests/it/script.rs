//! A console that types from a list and records everything on the screen.

use std::collections::VecDeque;
use std::io;

use entreat_core::{Catalogue, FieldError, Form, Messages};
use entreat_terminal::plain::Plain;
use entreat_terminal::{Console, Reply};
use serde_json::{Map, Value};

pub(crate) struct Script {
    lines: VecDeque<String>,
    pub(crate) screen: String,
}

impl Script {
    pub(crate) fn new<'l>(lines: impl IntoIterator<Item = &'l str>) -> Self {
        Self {
            lines: lines.into_iter().map(str::to_owned).collect(),
            screen: String::new(),
        }
    }

    fn next(&mut self, prompt: &str, shown: impl FnOnce(&str) -> &str) -> Option<String> {
        let line = self.lines.pop_front();
        let shown = line.as_deref().map_or("[end of input]", shown);
        self.screen.extend([prompt, shown, "\n"]);
        line
    }
}

impl Console for Script {
    fn say(&mut self, line: &str) -> io::Result<()> {
        self.screen.extend([line, "\n"]);
        Ok(())
    }

    fn read_line(&mut self, prompt: &str) -> io::Result<Option<String>> {
        Ok(self.next(prompt, |line| line))
    }

    fn read_secret(&mut self, prompt: &str) -> io::Result<Option<String>> {
        Ok(self.next(prompt, |_| "[typed unseen]"))
    }
}

/// The result of a dialogue.
pub(crate) struct Outcome {
    pub(crate) reply: Reply,
    pub(crate) draft: Value,
    pub(crate) screen: String,
}

pub(crate) fn english() -> Messages {
    Catalogue::default().messages(["en"])
}

pub(crate) fn german() -> Messages {
    Catalogue::default().messages(["de"])
}

pub(crate) fn form(definition: Value) -> Form {
    Form::from_value(&definition).unwrap()
}

/// A form of these fields.
pub(crate) fn fields(fields: Value) -> Form {
    form(serde_json::json!({"id": "f", "title": "Some questions", "fields": fields}))
}

pub(crate) fn fill(form: &Form, lines: &[&str]) -> Outcome {
    fill_draft(form, Map::new(), lines)
}

pub(crate) fn fill_draft(form: &Form, draft: Map<String, Value>, lines: &[&str]) -> Outcome {
    fill_in(&english(), form, draft, lines)
}

pub(crate) fn fill_in(
    messages: &Messages,
    form: &Form,
    mut draft: Map<String, Value>,
    lines: &[&str],
) -> Outcome {
    let mut script = Script::new(lines.iter().copied());
    let plain = Plain::new(form, messages).asker("Deploy server");
    let reply = plain.fill(&mut script, &mut draft).unwrap();
    outcome(form, reply, draft, script)
}

pub(crate) fn correct(
    form: &Form,
    mut draft: Map<String, Value>,
    errors: &[FieldError],
    lines: &[&str],
) -> Outcome {
    let mut script = Script::new(lines.iter().copied());
    let messages = english();
    let plain = Plain::new(form, &messages);
    let reply = plain.correct(&mut script, &mut draft, errors).unwrap();
    outcome(form, reply, draft, script)
}

fn outcome(form: &Form, reply: Reply, draft: Map<String, Value>, script: Script) -> Outcome {
    let draft = Value::from(draft);
    if reply == Reply::Answered {
        assert!(form.check(&draft).is_ok(), "{draft}");
        assert!(script.lines.is_empty(), "not typed: {:?}", script.lines);
    }
    Outcome {
        reply,
        draft,
        screen: script.screen,
    }
}

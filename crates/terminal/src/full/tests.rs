//! The model and its frames, without a terminal.

mod any;
mod fields;
mod frames;
mod hostile;
mod inline;
mod moves;

use entreat_core::jiff::civil::date;
use entreat_core::{Catalogue, Form, Kind};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::event::{Completion, Effect, Event, Key};
use super::model::Model;
use crate::prompt::file::fetch;
use crate::question::{FormReply, Mode, TerminalQuestion, TerminalStyle};
use crate::texts::Texts;

/// A person at a screen.
struct Sitting {
    model: Model,
    form: Form,
    done: Option<FormReply>,
    begun: usize,
    drafts: Vec<Value>,
    extensions: usize,
}

fn style() -> TerminalStyle {
    TerminalStyle {
        mode: Mode::Full,
        colour: true,
        unicode: true,
    }
}

fn form(fields: &Value) -> Form {
    let form = json!({"id": "f", "title": "Some questions", "fields": fields});
    Form::from_value(&form).unwrap()
}

fn question(form: &Form) -> TerminalQuestion {
    let messages = Catalogue::default().messages(["en"]);
    TerminalQuestion::new(form.clone(), messages).asker("Deploy robot")
}

impl Sitting {
    fn new(fields: &Value) -> Self {
        Self::of(&question(&form(fields)))
    }

    fn of(question: &TerminalQuestion) -> Self {
        Self::sized(question, style(), (80, 24))
    }

    fn sized(question: &TerminalQuestion, style: TerminalStyle, size: (usize, usize)) -> Self {
        Self {
            model: Model::new(question, style, size, date(2026, 2, 10)),
            form: question.form.clone(),
            done: None,
            begun: 0,
            drafts: Vec::new(),
            extensions: 0,
        }
    }

    fn hear(&mut self, event: Event) {
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            for effect in self.model.update(event) {
                match effect {
                    Effect::Started => self.begun += 1,
                    Effect::DraftChanged(draft) => self.drafts.push(draft),
                    Effect::RequestExtension => self.extensions += 1,
                    Effect::Complete { index, typed } => {
                        events.push(Event::Completed(Completion {
                            index,
                            path: typed.clone(),
                            typed,
                            names: Vec::new(),
                            is_file: true,
                        }));
                    }
                    Effect::Fetch { index, path } => {
                        let Kind::File(rules) = self.form.fields()[index].kind() else {
                            panic!("only files are fetched");
                        };
                        let fetched = fetch(rules, &path, &Texts::ENGLISH.refusals);
                        events.push(Event::Fetched { index, fetched });
                    }
                    Effect::Done(filled) => self.done = Some(filled),
                }
            }
        }
    }

    fn press(&mut self, keys: &[Key]) -> &mut Self {
        for key in keys {
            self.hear(Event::Key(*key));
        }
        self
    }

    fn type_in(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            self.hear(Event::Key(Key::Char(c)));
        }
        self
    }

    /// The screen as text, with `█` where the cursor is.
    fn screen(&self) -> String {
        let frame = self.model.view();
        let mut rows = Vec::new();
        for (row, line) in frame.lines.iter().enumerate() {
            let text: String = line.spans.iter().map(|span| &*span.content).collect();
            let mut cells: Vec<char> = text.chars().collect();
            if let Some((column, at)) = frame.cursor
                && at == row
            {
                cells.resize(cells.len().max(column + 1), ' ');
                cells[column] = '█';
            }
            let text: String = cells.into_iter().collect();
            rows.push(text.trim_end().to_owned());
        }
        rows.join("\n")
    }

    /// The submitted answers, as the form reads them.
    fn sent(&self) -> Value {
        let Some(FormReply::Answered(answers)) = &self.done else {
            panic!("nothing was sent:\n{}", self.screen());
        };
        let answers = Value::from(answers.clone());
        let checked = self.form.check(&answers).expect("what is sent is valid");
        Value::from(checked.reveal().to_json())
    }

    /// Reviews and sends.
    fn send(&mut self) -> Value {
        self.press(&[Key::Ctrl('r'), Key::Enter]);
        self.sent()
    }
}

/// Every kind of question.
fn every() -> Form {
    Form::from_value(&json!({
        "id": "every", "title": "A new machine", "description": "Every kind of question.",
        "fields": [
            {"id": "name", "type": "text", "label": "Name", "required": true,
             "description": "How it is called in the network.", "validation": {"minLength": 2}},
            {"id": "notes", "type": "text", "label": "Notes", "rendering": {"rows": 3}},
            {"id": "token", "type": "text", "label": "Token", "sensitive": true},
            {"id": "cores", "type": "number", "label": "Cores", "default": 4,
             "validation": {"minimum": -8, "maximum": 64}},
            {"id": "backup", "type": "boolean", "label": "Back it up", "required": true},
            {"id": "region", "type": "select", "label": "Region", "required": true, "options": [
                {"value": "eu", "title": "Europe"}, {"value": "us", "title": "America"}]},
            {"id": "roles", "type": "multi_select", "label": "Roles", "required": true,
             "options": ["web", "mail", "database"]},
            {"id": "start", "type": "date", "label": "First day"},
            {"id": "hook", "type": "url", "label": "Hook"},
            {"id": "key", "type": "file", "label": "Key file", "validation": {"maxSize": 100}},
            {"id": "why", "type": "text", "label": "Why so many cores?", "required": true,
             "rendering": {"conditionalDisplay":
                 {"operator": "gt", "field": "cores", "value": 16}}},
            {"id": "owner", "type": "text", "label": "Owner", "default": "operations",
             "rendering": {"readonly": true}},
            {"id": "secret", "type": "text", "label": "Unseen", "default": "x",
             "rendering": {"hidden": true}},
        ],
    }))
    .unwrap()
}

fn deadline(question: TerminalQuestion) -> TerminalQuestion {
    question.deadline(Instant::now() + std::time::Duration::from_secs(299), 2)
}

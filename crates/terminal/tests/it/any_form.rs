//! Random forms, answered by a person who knows the answers.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use entreat_core::Form;
use entreat_terminal::plain::Plain;
use entreat_terminal::{Console, Reply};
use entreat_testkit::{Generator, arbitrary};
use proptest::prelude::*;
use serde_json::{Map, Value};

use crate::files;
use crate::script::english;

/// How often the person answers the same question before giving up.
const PATIENCE: usize = 16;

/// Reads the screen and types the wanted answer to each question.
struct Respondent<'f> {
    form: &'f Form,
    wanted: &'f Value,
    folder: &'f Path,
    /// The field that was asked last, and the remaining lines for it.
    asked: Option<usize>,
    lines: Vec<String>,
    times: HashMap<Option<usize>, usize>,
    gives_up: &'static str,
    screen: String,
}

impl Respondent<'_> {
    fn notice(&mut self, line: &str) {
        // The labels of these forms are `TerminalQuestion` and the position of the field.
        if let Some(place) = line.strip_prefix("│ Question ") {
            self.asked = place.parse().ok();
            self.lines = self
                .asked
                .map_or_else(Vec::new, |place| self.lines_for(place));
        } else if line == "Your answers:" {
            self.asked = None;
            self.lines = Vec::new();
        }
    }

    fn lines_for(&self, place: usize) -> Vec<String> {
        let field = &self.form.fields()[place];
        let escaped = |text: &str| match text.strip_prefix(':') {
            Some(rest) => format!("::{rest}"),
            None => text.to_owned(),
        };
        match self.wanted.get(field.id()) {
            None if field.is_required() => vec![":empty".to_owned()],
            None => vec![String::new()],
            Some(Value::Null) => vec![":empty".to_owned()],
            Some(Value::String(text)) if text.is_empty() => vec![":empty".to_owned()],
            Some(Value::String(text)) => vec![escaped(text)],
            Some(Value::Array(items)) if items.is_empty() => vec![":empty".to_owned()],
            Some(Value::Array(items)) if field.takes_many() => {
                let mut lines: Vec<_> = items.iter().map(|file| self.path(place, file)).collect();
                lines.push(String::new());
                lines
            }
            Some(Value::Array(items)) => {
                let items: Vec<_> = items.iter().filter_map(Value::as_str).collect();
                vec![escaped(&items.join(","))]
            }
            Some(file @ Value::Object(_)) => vec![self.path(place, file)],
            Some(scalar) => vec![scalar.to_string()],
        }
    }

    /// Writes an upload to a file whose path can be typed; if that is not possible, the path is
    /// typed anyway and leads to an error.
    fn path(&self, place: usize, upload: &Value) -> String {
        let name = upload["filename"].as_str().unwrap_or("none");
        let content = upload["content"].as_str().unwrap_or_default();
        // A hostile name may lead anywhere; nothing is written outside of the folder.
        if Path::new(name).file_name() != Some(name.as_ref()) {
            return "no such file".to_owned();
        }
        let folder = self.folder.join(place.to_string());
        let path = folder.join(name);
        if let Some(bytes) = files::decode(content) {
            let _ = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, bytes));
        }
        path.to_string_lossy().into_owned()
    }
}

impl Console for Respondent<'_> {
    fn say(&mut self, line: &str) -> io::Result<()> {
        self.screen += line;
        self.screen.push('\n');
        self.notice(line);
        Ok(())
    }

    fn read_line(&mut self, _: &str) -> io::Result<Option<String>> {
        let times = self.times.entry(self.asked).or_default();
        *times += 1;
        if *times > PATIENCE {
            return Ok((!self.gives_up.is_empty()).then(|| self.gives_up.to_owned()));
        }
        let line = match self.lines.len() {
            0 => String::new(),
            _ => self.lines.remove(0),
        };
        self.screen.extend(["> ", &line, "\n"]);
        Ok(Some(line))
    }

    fn read_secret(&mut self, prompt: &str) -> io::Result<Option<String>> {
        self.read_line(prompt)
    }
}

fn converse(form: &Form, wanted: &Value, gives_up: &'static str) -> (Reply, Value, String) {
    let folder = tempfile::tempdir().unwrap();
    let mut respondent = Respondent {
        form,
        wanted,
        folder: folder.path(),
        asked: None,
        lines: Vec::new(),
        times: HashMap::new(),
        gives_up,
        screen: String::new(),
    };
    let mut draft = Map::new();
    let messages = english();
    let plain = Plain::new(form, &messages);
    let reply = plain.fill(&mut respondent, &mut draft).unwrap();
    (reply, draft.into(), respondent.screen)
}

/// Whether all answers to a form can be typed line by line, in order.
fn can_be_typed(form: &Form, wanted: &Value) -> bool {
    let is_plain = form.fields().iter().all(|field| {
        field.active_when().is_empty()
            && field.checked_when().is_empty()
            && field.kind().name() != "file"
    });
    let is_line = |value: &Value| value.as_str().is_none_or(|text| !text.contains('\n'));
    is_plain && wanted.as_object().unwrap().values().all(is_line)
}

fn revealed(form: &Form, answers: &Value) -> Value {
    form.check(answers).unwrap().reveal().to_json().into()
}

#[test]
fn what_is_typed_comes_back_as_it_was_meant() {
    let (mut typed, mut answered) = (0, 0);
    for seed in 0..600 {
        let form = Form::from_value(&arbitrary::form(seed)).unwrap();
        let Some(wanted) = Generator::new(&form, seed).valid() else {
            continue;
        };
        let (reply, draft, screen) = converse(&form, &wanted, ":decline");
        answered += usize::from(reply == Reply::Answered);
        if can_be_typed(&form, &wanted) {
            typed += 1;
            assert_eq!(reply, Reply::Answered, "seed {seed}: {wanted}\n{screen}");
            assert_eq!(
                revealed(&form, &draft),
                revealed(&form, &wanted),
                "{screen}"
            );
        }
    }
    // File types are detected by their bytes and conditions may depend on later answers, so not
    // every valid answer can be typed in order; most can.
    assert!(
        typed > 50 && answered > 400,
        "{typed} typed, {answered} answered"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_dialogue_ends_and_what_is_sent_is_valid(seed: u64, answer_seed: u64, kind in 0..3_u8) {
        let form = Form::from_value(&arbitrary::form(seed)).unwrap();
        let mut generator = Generator::new(&form, answer_seed);
        let hostile = match kind {
            0 => None,
            1 => generator.hostile().into_iter().find(Value::is_object),
            _ => Some(Value::Object(Map::new())),
        };
        let wanted = match hostile {
            Some(answer) => answer,
            None => match generator.valid() {
                Some(answer) => answer,
                None => return Ok(()),
            },
        };
        let gives_up = [":decline", ":cancel", ""][usize::from(kind)];
        let (reply, draft, screen) = converse(&form, &wanted, gives_up);
        match reply {
            Reply::Answered => prop_assert!(form.check(&draft).is_ok(), "{screen}"),
            Reply::Declined => prop_assert_eq!(gives_up, ":decline"),
            Reply::Cancelled => prop_assert_ne!(gives_up, ":decline"),
        }
    }
}

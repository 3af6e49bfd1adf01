//! `file`: a path, completed by Tab, read when the person goes on.
//!
//! Reads nothing itself: that takes time, and is an effect.

use ratatui::text::{Line, Span};
use serde_json::Value;

use super::{Drawn, Editor, Said, Sheet, draw_edit};
use crate::full::edit::Edit;
use crate::full::event::{Completion, Key};
use crate::full::ink::cut;
use crate::prompt::file::Fetched;
use crate::safe_text::one_line;
use crate::typography::size;

/// The most names that are shown to go on with.
const MOST_NAMES: usize = 8;

pub(crate) struct FileEditor {
    edit: Edit,
    /// Uploads, read whole.
    files: Vec<Value>,
    /// What the path may go on with.
    names: Vec<String>,
    most: u64,
}

impl FileEditor {
    pub(crate) fn new(most: u64) -> Self {
        Self {
            edit: Edit::new(false),
            files: Vec::new(),
            names: Vec::new(),
            most,
        }
    }

    fn takes_many(&self) -> bool {
        self.most > 1
    }

    fn path(&self) -> String {
        self.edit.text().to_owned()
    }
}

impl Editor for FileEditor {
    fn load(&mut self, answer: &Value) {
        self.files = match answer {
            Value::Array(files) => files.clone(),
            Value::Object(_) => vec![answer.clone()],
            _ => Vec::new(),
        };
    }

    fn answer(&self) -> Option<Value> {
        if self.takes_many() {
            return (!self.files.is_empty()).then(|| self.files.clone().into());
        }
        self.files.first().cloned()
    }

    fn key(&mut self, key: Key) -> Said {
        let has_path = self.pending().is_some();
        match key {
            Key::Tab if has_path => Said::Complete(self.path()),
            Key::Enter if has_path => Said::Fetch(self.path()),
            Key::Enter => Said::Next,
            Key::Backspace | Key::Delete if self.edit.is_empty() => {
                Said::of_edit(Some(self.files.pop().is_some()))
            }
            key => {
                if self.edit.key(key).is_none() {
                    return Said::Nothing;
                }
                // The answer is what was read, not what is typed.
                self.names.clear();
                Said::Moved
            }
        }
    }

    fn paste(&mut self, text: &str) -> Said {
        self.names.clear();
        self.edit.insert(text.trim());
        Said::Moved
    }

    fn pending(&self) -> Option<&str> {
        Some(self.edit.text()).filter(|path| !path.trim().is_empty())
    }

    fn completed(&mut self, completion: &Completion) -> Said {
        if self.edit.text() != completion.typed {
            return Said::Nothing;
        }
        if completion.is_file && completion.path == completion.typed {
            return Said::Fetch(self.path());
        }
        self.edit.set(&completion.path);
        self.names.clone_from(&completion.names);
        Said::Moved
    }

    fn fetched(&mut self, fetched: Fetched) {
        if let Fetched::Whole(upload) = fetched {
            if !self.takes_many() {
                self.files.clear();
            }
            self.files.push(upload);
            self.edit.clear();
            self.names.clear();
        }
    }

    fn draw(&self, sheet: Sheet) -> Drawn {
        let ink = sheet.ink;
        let file = |upload: &Value| {
            let name = one_line(upload["filename"].as_str().unwrap_or_default());
            let size = size(upload["size"].as_u64().unwrap_or_default());
            Line::from(vec![
                Span::raw(cut(&name, sheet.width.saturating_sub(14))),
                Span::styled(format!(" ({size})"), ink.dim()),
            ])
        };
        let mut rows: Vec<_> = self.files.iter().map(file).collect();
        let path = draw_edit(&self.edit, sheet, false);
        let cursor = path.cursor.map(|(row, column)| (row + rows.len(), column));
        rows.extend(path.rows);
        let names = self.names.iter().take(MOST_NAMES);
        let name = |name: &String| {
            let name = cut(&one_line(name), sheet.wide.saturating_sub(4));
            Line::from(vec![Span::styled("  ", ink.dim()), Span::raw(name)])
        };
        let mut below: Vec<_> = names.map(name).collect();
        if self.names.len() > MOST_NAMES {
            let more = format!("  and {} more", self.names.len() - MOST_NAMES);
            below.push(Line::from(Span::styled(more, ink.dim())));
        }
        let help = match (self.files.is_empty(), self.takes_many()) {
            (true, _) => "Type a path; Tab completes it, Enter takes the file.",
            (false, true) => "Another path, or Enter to go on; Delete takes the last file away.",
            (false, false) => "Enter goes on; Delete takes the file away, a path replaces it.",
        };
        Drawn {
            rows,
            cursor,
            below,
            help,
        }
    }
}

//! `file`: a path, completed with Tab and read when the person moves on.
//!
//! Reads nothing itself: I/O is an effect.

use ratatui_core::text::{Line, Span};
use serde_json::Value;

use super::{DrawContext, Editor, KeyOutcome, RenderedField, draw_edit};
use crate::full::edit::Edit;
use crate::full::event::{Completion, Key};
use crate::full::theme::truncate;
use crate::prompt::file::FetchedFile;
use crate::safe_text::one_line;

/// The maximum number of completions shown.
const MAX_NAMES: usize = 8;

pub(crate) struct FileEditor {
    edit: Edit,
    /// Uploads, fully read.
    files: Vec<Value>,
    /// Completions of the path.
    names: Vec<String>,
    max_files: u64,
}

impl FileEditor {
    pub(crate) fn new(max_files: u64) -> Self {
        Self {
            edit: Edit::new(false),
            files: Vec::new(),
            names: Vec::new(),
            max_files,
        }
    }

    fn takes_many(&self) -> bool {
        self.max_files > 1
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

    fn key(&mut self, key: Key) -> KeyOutcome {
        let has_path = self.pending().is_some();
        match key {
            Key::Tab if has_path => KeyOutcome::Complete(self.path()),
            Key::Enter if has_path => KeyOutcome::Fetch(self.path()),
            Key::Enter => KeyOutcome::Next,
            Key::Backspace | Key::Delete if self.edit.is_empty() => {
                KeyOutcome::from_edit(Some(self.files.pop().is_some()))
            }
            key => {
                if self.edit.key(key).is_none() {
                    return KeyOutcome::Ignored;
                }
                // The answer is the file that was read, not the typed path.
                self.names.clear();
                KeyOutcome::Moved
            }
        }
    }

    fn paste(&mut self, text: &str) -> KeyOutcome {
        self.names.clear();
        self.edit.insert(text.trim());
        KeyOutcome::Moved
    }

    fn pending(&self) -> Option<&str> {
        Some(self.edit.text()).filter(|path| !path.trim().is_empty())
    }

    fn completed(&mut self, completion: &Completion) -> KeyOutcome {
        if self.edit.text() != completion.typed {
            return KeyOutcome::Ignored;
        }
        if completion.is_file && completion.path == completion.typed {
            return KeyOutcome::Fetch(self.path());
        }
        self.edit.set(&completion.path);
        self.names.clone_from(&completion.names);
        KeyOutcome::Moved
    }

    fn fetched(&mut self, fetched: FetchedFile) {
        if let FetchedFile::Whole(upload) = fetched {
            if !self.takes_many() {
                self.files.clear();
            }
            self.files.push(upload);
            self.edit.clear();
            self.names.clear();
        }
    }

    fn draw(&self, context: DrawContext<'_>) -> RenderedField {
        let theme = context.theme;
        let file = |upload: &Value| {
            let name = one_line(upload["filename"].as_str().unwrap_or_default());
            let size = upload["size"].as_u64().unwrap_or_default();
            let size = context.messages.size(size);
            Line::from(vec![
                Span::raw(truncate(&name, context.width.saturating_sub(14))),
                Span::styled(format!(" ({size})"), theme.dim()),
            ])
        };
        let mut rows: Vec<_> = self.files.iter().map(file).collect();
        let path = draw_edit(&self.edit, context, false);
        let cursor = path.cursor.map(|(row, column)| (row + rows.len(), column));
        rows.extend(path.rows);
        let names = self.names.iter().take(MAX_NAMES);
        let name = |name: &String| {
            let name = truncate(&one_line(name), context.full_width.saturating_sub(4));
            Line::from(vec![Span::styled("  ", theme.dim()), Span::raw(name)])
        };
        let mut below: Vec<_> = names.map(name).collect();
        if self.names.len() > MAX_NAMES {
            let more = (context.texts.more_names)(self.names.len() - MAX_NAMES);
            let more = format!("  {more}");
            below.push(Line::from(Span::styled(more, theme.dim())));
        }
        let help = match (self.files.is_empty(), self.takes_many()) {
            (true, _) => context.texts.help.first_file,
            (false, true) => context.texts.help.more_files,
            (false, false) => context.texts.help.one_file,
        };
        let texts = context.texts.keys;
        let keys = match (self.pending().is_some(), self.files.is_empty()) {
            (true, _) => vec![("Tab", texts.complete), ("Enter", texts.add)],
            (false, true) => Vec::new(),
            (false, false) => vec![("Enter", texts.send), ("Delete", texts.clear)],
        };
        RenderedField {
            rows,
            cursor,
            below,
            help,
            keys,
        }
    }
}

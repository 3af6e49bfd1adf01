//! A list of options with type-to-search.
//!
//! Built for ten thousand options: they are filtered when the query changes, and only visible ones
//! are drawn.

use entreat_core::form::Options;

use super::event::Key;
use crate::safe_text::one_line;

pub(crate) struct List {
    items: Vec<Item>,
    query: String,
    /// Indices of the items that match the query.
    found: Vec<usize>,
    /// The highlighted position in `found`.
    highlighted: usize,
}

struct Item {
    value: String,
    /// Sanitized for display.
    title: String,
    /// Lower-case title and value.
    search_text: String,
}

/// A visible row of a list.
pub(crate) struct ListRow<'l> {
    pub(crate) value: &'l str,
    pub(crate) title: &'l str,
    pub(crate) is_highlighted: bool,
}

/// Rows that the page keys move by.
const PAGE_ROWS: usize = 10;

impl List {
    pub(crate) fn new(options: &Options) -> Self {
        let items: Vec<Item> = options
            .iter()
            .map(|(value, title)| Item {
                value: value.to_owned(),
                title: one_line(title),
                search_text: format!("{}\n{}", title.to_lowercase(), value.to_lowercase()),
            })
            .collect();
        Self {
            found: (0..items.len()).collect(),
            items,
            query: String::new(),
            highlighted: 0,
        }
    }

    /// Highlights a value.
    pub(crate) fn highlight(&mut self, value: &str) {
        let highlighted = self
            .found
            .iter()
            .position(|i| self.items[*i].value == value);
        self.highlighted = highlighted.unwrap_or(self.highlighted);
    }

    pub(crate) fn highlighted(&self) -> Option<&str> {
        let index = self.found.get(self.highlighted)?;
        Some(&self.items[*index].value)
    }

    pub(crate) fn query(&self) -> &str {
        &self.query
    }

    pub(crate) fn found(&self) -> usize {
        self.found.len()
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn title<'l>(&'l self, value: &'l str) -> &'l str {
        let item = self.items.iter().find(|item| item.value == value);
        item.map_or(value, |item| &item.title)
    }

    /// Moves or searches; returns whether the list uses the key.
    pub(crate) fn key(&mut self, key: Key) -> bool {
        let last = self.found.len().saturating_sub(1);
        match key {
            Key::Up if self.highlighted > 0 => self.highlighted -= 1,
            Key::Down if self.highlighted < last => self.highlighted += 1,
            Key::PageUp => self.highlighted = self.highlighted.saturating_sub(PAGE_ROWS),
            Key::PageDown => self.highlighted = (self.highlighted + PAGE_ROWS).min(last),
            Key::Home => self.highlighted = 0,
            Key::End => self.highlighted = last,
            Key::Char(c) => {
                self.query.push(c);
                self.search();
            }
            Key::Backspace if !self.query.is_empty() => {
                self.query.pop();
                self.search();
            }
            Key::Ctrl('u') if !self.query.is_empty() => {
                self.query.clear();
                self.search();
            }
            Key::Ctrl('w') if !self.query.is_empty() => {
                let kept = self.query.trim_end().rfind(char::is_whitespace);
                self.query.truncate(kept.map_or(0, |at| at + 1));
                self.search();
            }
            _ => return false,
        }
        true
    }

    pub(crate) fn type_in(&mut self, text: &str) {
        self.query.extend(text.chars().filter(|c| !c.is_control()));
        self.search();
    }

    /// Clears the query and keeps the highlighted item.
    pub(crate) fn stop_searching(&mut self) {
        if self.query.is_empty() {
            return;
        }
        let highlighted = self.found.get(self.highlighted).copied();
        self.query.clear();
        self.search();
        self.highlighted = highlighted.unwrap_or(0);
    }

    fn search(&mut self) {
        let query = self.query.to_lowercase();
        let search_text: Vec<&str> = query.split_whitespace().collect();
        let fits = |i: &usize| {
            search_text
                .iter()
                .all(|word| self.items[*i].search_text.contains(word))
        };
        self.found = (0..self.items.len()).filter(fits).collect();
        self.highlighted = 0;
    }

    /// Returns up to `rows` rows around the highlighted one.
    pub(crate) fn window(&self, rows: usize) -> impl Iterator<Item = ListRow<'_>> {
        let first = self
            .highlighted
            .saturating_sub(rows / 2)
            .min(self.found.len().saturating_sub(rows));
        let found = self.found.iter().enumerate().skip(first).take(rows);
        found.map(|(i, index)| ListRow {
            value: &self.items[*index].value,
            title: &self.items[*index].title,
            is_highlighted: i == self.highlighted,
        })
    }
}

#[cfg(test)]
mod tests {
    use entreat_core::Form;
    use serde_json::json;

    use super::*;

    fn list(count: usize) -> List {
        let options: Vec<String> = (0..count).map(|i| format!("option {i}")).collect();
        let form = Form::from_value(&json!({"id": "f", "title": "F", "fields": [
            {"id": "a", "type": "select", "label": "A", "options": options}]}))
        .unwrap();
        List::new(form.fields()[0].kind().options().unwrap())
    }

    #[test]
    fn a_search_is_cut_like_a_line() {
        let mut list = list(100);
        list.type_in("opt  99 ");
        assert!(list.key(Key::Ctrl('w')));
        assert_eq!((list.query(), list.found()), ("opt  ", 100));
        list.type_in("x");
        assert_eq!(list.found(), 0);
        assert!(list.key(Key::Ctrl('u')));
        assert_eq!((list.query(), list.found()), ("", 100));
        assert!(!list.key(Key::Ctrl('u')));
        list.type_in("9");
        assert!(list.key(Key::Ctrl('w')));
        assert_eq!(list.query(), "");
    }

    #[test]
    fn typing_finds_and_removing_what_was_typed_finds_more() {
        let mut list = list(10_000);
        for c in "9 opt 77".chars() {
            list.key(Key::Char(c));
        }
        assert_eq!(list.highlighted(), Some("option 779"));
        assert_eq!(list.window(5).count(), 5);
        list.key(Key::Down);
        let pointed = list.highlighted().map(str::to_owned);
        list.stop_searching();
        assert_eq!(
            (list.found(), list.highlighted()),
            (10_000, pointed.as_deref())
        );
    }

    #[test]
    fn nothing_found_points_at_nothing() {
        let mut list = list(3);
        list.type_in("zzz");
        assert_eq!((list.highlighted(), list.window(5).count()), (None, 0));
        for key in [Key::Down, Key::Up, Key::PageDown, Key::End, Key::PageUp] {
            list.key(key);
        }
        assert_eq!(list.highlighted(), None);
    }
}

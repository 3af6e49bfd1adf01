//! A list of options that is searched by typing.
//!
//! Made for ten thousand of them: they are looked through when the words change, and only those
//! on the screen are drawn.

use entreat_core::form::Options;

use super::event::Key;
use crate::safe_text::one_line;

pub(crate) struct List {
    items: Vec<Item>,
    query: String,
    /// Places of the items that fit what was typed.
    found: Vec<usize>,
    /// Which of those found is pointed at.
    at: usize,
}

struct Item {
    value: String,
    /// As it may be shown.
    title: String,
    /// What is searched.
    words: String,
}

/// A row of a list.
pub(crate) struct Seen<'l> {
    pub(crate) value: &'l str,
    pub(crate) title: &'l str,
    pub(crate) is_pointed_at: bool,
}

/// How far one key goes in a long list.
const PAGE: usize = 10;

impl List {
    pub(crate) fn new(options: &Options) -> Self {
        let items: Vec<Item> = options
            .iter()
            .map(|(value, title)| Item {
                value: value.to_owned(),
                title: one_line(title),
                words: format!("{}\n{}", title.to_lowercase(), value.to_lowercase()),
            })
            .collect();
        Self {
            found: (0..items.len()).collect(),
            items,
            query: String::new(),
            at: 0,
        }
    }

    /// Points at a value.
    pub(crate) fn point_at(&mut self, value: &str) {
        let at = self
            .found
            .iter()
            .position(|i| self.items[*i].value == value);
        self.at = at.unwrap_or(self.at);
    }

    pub(crate) fn pointed_at(&self) -> Option<&str> {
        let place = self.found.get(self.at)?;
        Some(&self.items[*place].value)
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

    /// Moves or searches; whether the key was one of the list's.
    pub(crate) fn key(&mut self, key: Key) -> bool {
        let last = self.found.len().saturating_sub(1);
        match key {
            Key::Up if self.at > 0 => self.at -= 1,
            Key::Down if self.at < last => self.at += 1,
            Key::PageUp => self.at = self.at.saturating_sub(PAGE),
            Key::PageDown => self.at = (self.at + PAGE).min(last),
            Key::Home => self.at = 0,
            Key::End => self.at = last,
            Key::Char(c) => {
                self.query.push(c);
                self.search();
            }
            Key::Backspace if !self.query.is_empty() => {
                self.query.pop();
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

    /// Everything is found again; what was pointed at still is.
    pub(crate) fn stop_searching(&mut self) {
        if self.query.is_empty() {
            return;
        }
        let at = self.found.get(self.at).copied();
        self.query.clear();
        self.search();
        self.at = at.unwrap_or(0);
    }

    fn search(&mut self) {
        let query = self.query.to_lowercase();
        let words: Vec<&str> = query.split_whitespace().collect();
        let fits = |i: &usize| words.iter().all(|word| self.items[*i].words.contains(word));
        self.found = (0..self.items.len()).filter(fits).collect();
        self.at = 0;
    }

    /// So many rows around the one that is pointed at.
    pub(crate) fn window(&self, rows: usize) -> impl Iterator<Item = Seen<'_>> {
        let first = self
            .at
            .saturating_sub(rows / 2)
            .min(self.found.len().saturating_sub(rows));
        let found = self.found.iter().enumerate().skip(first).take(rows);
        found.map(|(i, place)| Seen {
            value: &self.items[*place].value,
            title: &self.items[*place].title,
            is_pointed_at: i == self.at,
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
    fn typing_finds_and_removing_what_was_typed_finds_more() {
        let mut list = list(10_000);
        for c in "9 opt 77".chars() {
            list.key(Key::Char(c));
        }
        assert_eq!(list.pointed_at(), Some("option 779"));
        assert_eq!(list.window(5).count(), 5);
        list.key(Key::Down);
        let pointed = list.pointed_at().map(str::to_owned);
        list.stop_searching();
        assert_eq!(
            (list.found(), list.pointed_at()),
            (10_000, pointed.as_deref())
        );
    }

    #[test]
    fn nothing_found_points_at_nothing() {
        let mut list = list(3);
        list.type_in("zzz");
        assert_eq!((list.pointed_at(), list.window(5).count()), (None, 0));
        for key in [Key::Down, Key::Up, Key::PageDown, Key::End, Key::PageUp] {
            list.key(key);
        }
        assert_eq!(list.pointed_at(), None);
    }
}

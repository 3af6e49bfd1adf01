//! What the tools, prompts and resources of several upstreams are called.
//!
//! Names are `upstream__name`, always, so that they don't depend on what else is there. They are
//! resolved by a table of what was listed, never by splitting: a cut name has lost its end.

use std::collections::HashMap;
use std::fmt::Write as _;

use entreat_wire::digest::Digest;
use serde_json::Value;

use crate::links::PART_RESUME;
use crate::memory::Reservation;

/// Between the name of an upstream and that of its tool.
const SEPARATOR: &str = "__";
/// The longest name that models and clients accept.
const MAX_NAME: usize = 64;
/// How many characters of a longer name are kept, before `_` and its hash.
const KEPT: usize = MAX_NAME - 9;
/// The scheme of the resources of apps, by which their hosts know them.
const APP: &str = "ui://";

/// The name of an upstream's tool or prompt in the union.
pub(super) fn joined(upstream: &str, name: &str) -> String {
    let full = format!("{upstream}{SEPARATOR}{name}");
    if full.chars().count() <= MAX_NAME {
        return full;
    }
    let hash = Digest::of(&Value::from(full.as_str())).to_bytes();
    let mut cut: String = full.chars().take(KEPT).collect();
    cut.push('_');
    for byte in &hash[..4] {
        // Writing to a string cannot fail.
        let _ = write!(cut, "{byte:02x}");
    }
    cut
}

/// Which names there are, and whose they are. What is listed first keeps a name.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// What each upstream has listed, in their order, and the memory of that.
    listed: Vec<(Vec<String>, Option<Reservation>)>,
    owners: HashMap<String, (usize, String)>,
}

impl Table {
    /// Notes all names of an upstream, in place of those that it had. Returns the first name that
    /// two upstreams would have, if there is one.
    pub(super) fn set(
        &mut self,
        upstreams: &[&str],
        index: usize,
        names: Vec<String>,
        reservation: Reservation,
    ) -> Option<String> {
        self.listed.resize_with(upstreams.len(), Default::default);
        if let Some(listed) = self.listed.get_mut(index) {
            *listed = (names, Some(reservation));
        }
        self.owners.clear();
        let mut left_out = None;
        for (index, (upstream, (names, _))) in upstreams.iter().zip(&self.listed).enumerate() {
            for name in names {
                if name == PART_RESUME {
                    continue;
                }
                let known = joined(upstream, name);
                let owner = (index, name.clone());
                let first = self.owners.entry(known).or_insert_with(|| owner.clone());
                if *first != owner && left_out.is_none() {
                    left_out = Some(joined(upstream, name));
                }
            }
        }
        left_out
    }

    /// Whose a name is, and what it is called there.
    pub(super) fn owner(&self, name: &str) -> Option<(usize, String)> {
        self.owners.get(name).cloned()
    }

    /// What an upstream's name is in the union; `None` if another has that already.
    pub(super) fn known(&self, upstream: &str, index: usize, name: &str) -> Option<String> {
        let known = joined(upstream, name);
        let owner = self.owners.get(&known)?;
        (*owner == (index, name.to_owned())).then_some(known)
    }
}

/// What the URIs of each upstream begin with: its name, as far as that can be a scheme.
#[derive(Debug)]
pub(super) struct Labels(Vec<String>);

impl Labels {
    pub(super) fn new<'a>(upstreams: impl IntoIterator<Item = &'a str>) -> Self {
        let mut labels: Vec<String> = Vec::new();
        for name in upstreams {
            // Schemes have no case, no `_`, and begin with a letter.
            let mut label = name.to_ascii_lowercase().replace('_', ".");
            if !label.starts_with(|first: char| first.is_ascii_lowercase()) {
                label.insert_str(0, "u.");
            }
            let mut unique = label.clone();
            let mut number = 2;
            while labels.contains(&unique) {
                unique = format!("{label}.{number}");
                number += 1;
            }
            labels.push(unique);
        }
        Self(labels)
    }

    pub(super) fn get(&self, index: usize) -> &str {
        self.0.get(index).map_or("", String::as_str)
    }

    /// Whose a URI is, and what it is there.
    pub(super) fn owner(&self, uri: &str) -> Option<(usize, String)> {
        let (scheme, rest) = match uri.strip_prefix(APP) {
            Some(rest) => (APP, rest),
            None => ("", uri),
        };
        let (label, rest) = rest.split_once('+')?;
        // Clients write schemes in lower case.
        let label = label.to_ascii_lowercase();
        let index = self.0.iter().position(|known| *known == label)?;
        Some((index, format!("{scheme}{rest}")))
    }
}

/// An upstream's URI, or template of URIs, in the union.
pub(super) fn labelled(label: &str, uri: &str) -> String {
    match uri.strip_prefix(APP) {
        Some(rest) => format!("{APP}{label}+{rest}"),
        None => format!("{label}+{uri}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Memory;

    #[test]
    fn names_have_at_most_64_characters_and_stay_apart() {
        assert_eq!(joined("files", "read"), "files__read");
        let exact = "x".repeat(57);
        assert_eq!(joined("files", &exact), format!("files__{exact}"));
        let long = |end: &str| joined("files", &format!("{}{end}", "é".repeat(60)));
        assert_eq!(long("a").chars().count(), MAX_NAME);
        assert!(long("a").starts_with(&format!("files__{}_", "é".repeat(48))));
        assert_ne!(long("a"), long("b"));
        assert_eq!(long("a"), long("a"));
    }

    #[test]
    fn a_name_that_is_taken_is_refused() {
        let upstreams = ["a", "a_"];
        let mut table = Table::default();
        let memory = Memory::new(1 << 20, 100).of("");
        let reservation = || memory.reserve(0).unwrap();
        assert_eq!(
            table.set(
                &upstreams,
                1,
                vec!["x".to_owned(), "y".to_owned()],
                reservation()
            ),
            None
        );
        assert_eq!(table.owner("a___x"), Some((1, "x".to_owned())));
        // The first upstream keeps its names, whoever lists first.
        let left_out = table.set(&upstreams, 0, vec!["_x".to_owned()], reservation());
        assert_eq!(left_out.as_deref(), Some("a___x"));
        assert_eq!(table.owner("a___x"), Some((0, "_x".to_owned())));
        assert_eq!(table.known("a_", 1, "x"), None);
        assert_eq!(table.known("a_", 1, "y"), Some("a___y".to_owned()));
        table.set(&upstreams, 0, Vec::new(), reservation());
        assert_eq!(table.owner("a___x"), Some((1, "x".to_owned())));
        assert_eq!(table.owner("a____x"), None);
    }

    #[test]
    fn uris_come_back_as_they_were() {
        let names = ["files", "My_Notes", "my.notes", "2nd"];
        let labels = Labels::new(names);
        let found: Vec<_> = (0..4).map(|index| labels.get(index)).collect();
        assert_eq!(found, ["files", "my.notes", "my.notes.2", "u.2nd"]);
        for (index, uri) in [
            (0, "file:///a+b"),
            (1, "x"),
            (2, "ui://app/main+1"),
            (3, "{+path}"),
        ] {
            let known = labelled(labels.get(index), uri);
            assert_eq!(
                labels.owner(&known),
                Some((index, uri.to_owned())),
                "{known}"
            );
        }
        assert_eq!(labelled("files", "ui://app"), "ui://files+app");
        assert_eq!(labels.owner("FILES+a:b"), Some((0, "a:b".to_owned())));
        for foreign in ["file:///a", "other+file:///a", "ui://app", ""] {
            assert_eq!(labels.owner(foreign), None, "{foreign}");
        }
    }
}

//! The text files of the checkout: what git tracks, and what it would if asked.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;

use crate::shell;

/// Text files by their path from the root, with forward slashes.
#[derive(Debug, Default)]
pub(super) struct Tree {
    texts: BTreeMap<String, String>,
    /// Files that are not text: they can be linked to, and no rule reads them.
    others: Vec<String>,
}

/// Reads every file that git tracks or does not ignore.
pub(super) fn read(root: &Path) -> Result<Tree> {
    let listed = shell::git(root, &["ls-files", "-z", "-co", "--exclude-standard"])?;
    let mut tree = Tree::default();
    for path in listed.split_terminator('\0') {
        // A tracked file that was deleted is still listed, and a submodule is a folder.
        let Ok(bytes) = std::fs::read(root.join(path)) else {
            continue;
        };
        match String::from_utf8(bytes) {
            Ok(text) => _ = tree.texts.insert(path.to_owned(), text),
            Err(_) => tree.others.push(path.to_owned()),
        }
    }
    Ok(tree)
}

impl Tree {
    /// Every text file with its path.
    pub(super) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The text of one file.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }

    /// Whether a file or a folder with this path from the root exists.
    pub(super) fn holds(&self, path: &str) -> bool {
        self.texts.keys().chain(&self.others).any(|file| {
            file.strip_prefix(path)
                .is_some_and(|rest| path.is_empty() || rest.is_empty() || rest.starts_with('/'))
        })
    }

    /// A tree for a test.
    #[cfg(test)]
    pub(super) fn with(files: &[(&str, &str)]) -> Self {
        let own = |(path, text): &(&str, &str)| ((*path).to_owned(), (*text).to_owned());
        Self {
            texts: files.iter().map(own).collect(),
            others: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_exists_by_what_is_in_it() {
        let tree = Tree::with(&[("docs/guide/start.md", "")]);
        assert!(tree.holds("docs/guide/start.md"));
        assert!(tree.holds("docs/guide"));
        assert!(tree.holds(""));
        assert!(!tree.holds("docs/gui"));
    }
}

//! The text files of the checkout: tracked, or untracked and not ignored.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;

use crate::shell;

/// Text files by path from the root, with forward slashes.
#[derive(Debug, Default)]
pub(super) struct Tree {
    texts: BTreeMap<String, String>,
    /// Files that are not text: valid link targets, read by no rule.
    others: Vec<String>,
}

/// Reads every file that git tracks or does not ignore.
pub(super) fn read(root: &Path) -> Result<Tree> {
    let listed = shell::git(root, &["ls-files", "-z", "-co", "--exclude-standard"])?;
    let mut tree = Tree::default();
    for path in listed.split_terminator('\0') {
        // A deleted file may still be tracked, and a submodule is a folder.
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
    /// Returns every text file with its path.
    pub(super) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Returns the text of a file.
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

    /// Creates a tree for a test.
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

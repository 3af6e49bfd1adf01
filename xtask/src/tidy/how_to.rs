//! `docs/how-to-add.md` names only existing files, and every file that handles field types.

use super::Violation;
use super::tree::Tree;

const PAGE: &str = "docs/how-to-add.md";

/// A file that mentions all of these matches on field types.
const TYPES: [[&str; 2]; 3] = [
    ["Kind::Boolean", "Self::Boolean"],
    ["Kind::Url(", "Self::Url("],
    ["Kind::File(", "Self::File("],
];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    // A missing page is reported by the rule on links.
    let Some(page) = tree.text(PAGE) else {
        return Vec::new();
    };
    let mut violations = Vec::new();
    for (index, line) in page.lines().enumerate() {
        // Every second part of a line is between backticks.
        let words = line.split('`').skip(1).step_by(2);
        for path in words.filter(|word| word.contains('.') && !word.contains(['(', ' '])) {
            if tree.text(path).is_none() {
                violations.push(violation(index + 1, format!("there is no file {path}")));
            }
        }
    }
    // Its files may be named in other sections for other reasons.
    let types = page
        .split("\n## ")
        .find(|section| section.starts_with("A field type"));
    let types = types.unwrap_or_default();
    let is_source = |path: &str| path.starts_with("crates/") && path.contains("/src/");
    for (path, text) in tree.files().filter(|(path, _)| is_source(path)) {
        let knows_types = TYPES
            .iter()
            .all(|spellings| spellings.iter().any(|spelling| text.contains(spelling)));
        if knows_types && !types.contains(&format!("`{path}`")) {
            let remedy = format!("`A field type` does not name {path}");
            violations.push(violation(1, remedy));
        }
    }
    violations
}

fn violation(line: usize, remedy: String) -> Violation {
    Violation {
        path: PAGE.to_owned(),
        line,
        rule: "how to add",
        remedy,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_gone_and_types_that_are_known_elsewhere_are_found() {
        let knows = "Kind::Boolean => 1, Kind::Url(_) => 2, Kind::File(_) => 3";
        let tree = Tree::with(&[
            (
                PAGE,
                "# How\n## A field type\n| `crates/a/src/b.rs` | `run(a)` |\n| `gone.rs` |\n\n\
                 ## A language\n| `crates/a/src/c.rs` |\n",
            ),
            ("crates/a/src/b.rs", knows),
            ("crates/a/src/c.rs", knows),
        ]);
        let found: Vec<String> = check(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "docs/how-to-add.md:4: how to add: there is no file gone.rs",
                "docs/how-to-add.md:1: how to add: `A field type` does not name crates/a/src/c.rs",
            ]
        );
    }
}

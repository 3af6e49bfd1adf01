//! Every test named in `docs/threats.md` exists: `file::name` is an attack on the programs, and
//! `crate/file::name` one of a crate's integration tests.

use super::Violation;
use super::tree::Tree;

const PAGE: &str = "docs/threats.md";
const ATTACKS: &str = "crates/cli/tests/attack";

/// Looks for the test of each `file::name` on the page.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let page = tree.text(PAGE).unwrap_or_default();
    let named = page.lines().enumerate().flat_map(|(index, line)| {
        // Every second part of a line is between backticks.
        let words = line.split('`').skip(1).step_by(2);
        let tests = words.filter_map(|word| word.split_once("::"));
        tests.map(move |test| (index + 1, test))
    });
    let missing = named.filter(|(_, (file, name))| {
        let source = tree.text(&path_of(file));
        !source.is_some_and(|text| text.contains(&format!("fn {name}(")))
    });
    let violation = |(line, (file, name)): (usize, (&str, &str))| Violation {
        path: PAGE.to_owned(),
        line,
        rule: "threats",
        remedy: format!("there is no test `{name}` in {}", path_of(file)),
    };
    missing.map(violation).collect()
}

fn path_of(file: &str) -> String {
    match file.split_once('/') {
        Some((krate, file)) => format!("crates/{krate}/tests/it/{file}.rs"),
        None => format!("{ATTACKS}/{file}.rs"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_is_not_there_is_refused_where_it_is_named() {
        let tree = Tree::with(&[
            (
                PAGE,
                "# Threats\n| a | `b` | `pages::it_holds`, `pages::it_does_not`, `stores/all::too` |\n",
            ),
            (
                "crates/stores/tests/it/all.rs",
                "async fn too(store: Store) {}\n",
            ),
            ("crates/cli/tests/attack/pages.rs", "fn it_holds() {}\n"),
        ]);
        let found: Vec<String> = check(&tree).iter().map(ToString::to_string).collect();
        let expected = "docs/threats.md:2: threats: there is no test `it_does_not` in \
                        crates/cli/tests/attack/pages.rs";
        assert_eq!(found, [expected]);
    }
}

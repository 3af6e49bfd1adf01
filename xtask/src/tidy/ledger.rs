//! Every third-party crate has a row in `docs/dependencies.md`: its purpose and the alternatives.

use std::collections::BTreeMap;

use super::Violation;
use super::members::Members;
use super::tree::Tree;

const RULE: &str = "dependencies";
const LEDGER: &str = "docs/dependencies.md";

/// Compares the manifests with the ledger, in both directions.
pub(super) fn check(members: &Members, tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut report = |path: &str, line: usize, remedy: String| {
        violations.push(Violation {
            path: path.to_owned(),
            line,
            rule: RULE,
            remedy,
        });
    };
    let used = used(members);
    let mut rows: BTreeMap<&str, usize> = BTreeMap::new();
    for (line, row) in rows_of(tree.text(LEDGER).unwrap_or_default()) {
        let name = row.name;
        if !used.contains_key(name) {
            report(
                LEDGER,
                line,
                format!("remove the row of `{name}`: no manifest names it"),
            );
        }
        if !row.complete {
            report(
                LEDGER,
                line,
                format!("say what `{name}` is for and what was rejected"),
            );
        }
        if let Some(first) = rows.insert(name, line) {
            report(
                LEDGER,
                line,
                format!("`{name}` has a row already, on line {first}"),
            );
        }
    }
    for (name, (manifest, line)) in used {
        if !rows.contains_key(name) {
            report(manifest, line, format!("give `{name}` a row in {LEDGER}"));
        }
    }
    violations
}

/// Returns third-party crates, each with the first manifest line that names it.
fn used(members: &Members) -> BTreeMap<&str, (&str, usize)> {
    let mut used = BTreeMap::new();
    for member in members.workspace.iter().chain(&members.fuzz) {
        for dependency in member
            .dependencies
            .iter()
            .filter(|dependency| !dependency.local)
        {
            let place = (member.manifest.as_str(), dependency.line);
            used.entry(dependency.name.as_str()).or_insert(place);
        }
    }
    used
}

/// A row of the ledger.
struct Row<'a> {
    name: &'a str,
    /// Whether it has three cells, none of them empty.
    complete: bool,
}

/// Returns the rows whose first cell is a name in backticks, each with its line number.
fn rows_of(ledger: &str) -> impl Iterator<Item = (usize, Row<'_>)> {
    ledger.lines().enumerate().filter_map(|(index, line)| {
        let cells: Vec<&str> = line.strip_prefix('|')?.split('|').map(str::trim).collect();
        let name = cells.first()?.strip_prefix('`')?.strip_suffix('`')?;
        // The trailing bar adds an empty cell.
        let complete = cells.len() == 4 && cells[..3].iter().all(|cell| !cell.is_empty());
        Some((index + 1, Row { name, complete }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::members::{Dependency, Member, Purpose};

    fn found(ledger: &str) -> Vec<String> {
        let dependency = |name: &str, local, line| Dependency {
            name: name.to_owned(),
            purpose: Purpose::Product,
            local,
            line,
        };
        let member = |name: &str, dependencies| Member {
            name: name.to_owned(),
            manifest: format!("{name}/Cargo.toml"),
            dependencies,
        };
        let members = Members {
            workspace: vec![member(
                "core",
                vec![
                    dependency("entreat-derive", true, 4),
                    dependency("url", false, 5),
                ],
            )],
            fuzz: vec![member("fuzz", vec![dependency("libfuzzer-sys", false, 3)])],
        };
        let tree = Tree::with(&[(LEDGER, ledger)]);
        check(&members, &tree)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    const WHOLE: &str = "| crate | what for | rejected |\n|---|---|---|\n\
        | `url` | addresses | by hand: wrong |\n| `libfuzzer-sys` | fuzzing | afl: needs root |\n";

    #[test]
    fn a_whole_ledger_is_fine() {
        assert_eq!(found(WHOLE), [""; 0]);
    }

    #[test]
    fn a_dependency_without_a_row_is_refused_where_it_is_named() {
        assert_eq!(
            found(&WHOLE.replace("| `url`", "| url")),
            ["core/Cargo.toml:5: dependencies: give `url` a row in docs/dependencies.md"]
        );
        assert_eq!(found("").len(), 2);
    }

    #[test]
    fn a_row_that_outlived_its_dependency_is_refused() {
        assert_eq!(
            found(&format!("{WHOLE}| `rand` | dice | none |\n")),
            [
                "docs/dependencies.md:5: dependencies: remove the row of `rand`: no manifest names it"
            ]
        );
    }

    #[test]
    fn a_row_says_everything_once() {
        let twice = found(&format!("{WHOLE}| `url` | again | |\n"));
        assert_eq!(
            twice,
            [
                "docs/dependencies.md:5: dependencies: say what `url` is for and what was rejected",
                "docs/dependencies.md:5: dependencies: `url` has a row already, on line 3",
            ]
        );
    }
}

//! Line rules for Rust files.
//!
//! Works on lines, not syntax: a parser would be exact, but slow to build for a check that runs
//! before every commit. Code that a rule misreads can be written another way.

use super::{OWN_PATTERNS, Violation};

/// The folder without `async`.
const PURE: &str = "crates/core/src/";

/// Notes that belong in an issue.
const NOTES: &[&str] = &["TODO", "FIXME", "XXX", "todo!", "unimplemented!"];

/// Whether a file is Rust source.
pub(super) fn is_rust(path: &str) -> bool {
    path.strip_suffix(".rs").is_some()
}

/// Applies all line rules.
pub(super) fn check(path: &str, text: &str) -> Vec<Violation> {
    if !is_rust(path) {
        return Vec::new();
    }
    let mut violations = Vec::new();
    let mut report = |line: usize, rule: &'static str, remedy: &str| {
        let (path, remedy) = (path.to_owned(), remedy.to_owned());
        violations.push(Violation {
            path,
            line,
            rule,
            remedy,
        });
    };
    if is_module(path) && !text.starts_with("//!") {
        report(
            1,
            "module-docs",
            "begin the file with `//!`: what it is, what it refuses to do",
        );
    }
    if path.starts_with(OWN_PATTERNS) {
        return violations;
    }
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let code = code_of(line);
        if path.starts_with(PURE) && is_async(code) {
            report(
                number,
                "pure-core",
                "core decides and never waits: move what waits to engine",
            );
        }
        if code.contains("#[allow(") || code.contains("#![allow(") {
            report(
                number,
                "allow",
                "write `#[expect(…, reason = \"…\")]`: it ends with its cause",
            );
        }
        if code.contains("#[ignore") {
            report(number, "ignore", "make the test pass, or remove it");
        }
        if is_ignored_example(line) {
            report(
                number,
                "ignore",
                "let the example compile: mark it `no_run` at most",
            );
        }
        for note in NOTES.iter().filter(|note| has_word(line, note)) {
            report(
                number,
                "note",
                &format!("do what `{note}` stands for, or file it as an issue"),
            );
        }
    }
    violations
}

/// Whether a file is a module under `src/`; tests, benchmarks and fixtures need no module docs.
fn is_module(path: &str) -> bool {
    path.starts_with("src/") || path.contains("/src/")
}

/// Returns the part of a line before a comment, so that comments may mention forbidden code.
fn code_of(line: &str) -> &str {
    if line.trim_start().starts_with("//") {
        return "";
    }
    line.split(" //").next().unwrap_or(line)
}

fn is_async(code: &str) -> bool {
    ["async fn", "async move", "async {", ".await"]
        .iter()
        .any(|marker| code.contains(marker))
}

/// Whether a line opens a doc example that is marked `ignore`.
fn is_ignored_example(line: &str) -> bool {
    let line = line.trim_start();
    let docs = line
        .strip_prefix("///")
        .or_else(|| line.strip_prefix("//!"));
    let fence = docs.and_then(|docs| docs.trim_start().strip_prefix("```"));
    fence.is_some_and(|flags| flags.split([',', ' ']).any(|flag| flag == "ignore"))
}

/// Whether the word occurs as a whole word.
fn has_word(line: &str, word: &str) -> bool {
    let continues = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + word.len()..].chars().next();
        // `todo!` needs no boundary after it.
        let ends = word.ends_with('!') || !after.is_some_and(continues);
        !before.is_some_and(continues) && ends
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(path: &str, body: &str) -> Vec<(usize, &'static str)> {
        let found = check(path, &format!("//! A file.\n{body}"));
        found
            .into_iter()
            .map(|violation| (violation.line, violation.rule))
            .collect()
    }

    fn cli(body: &str) -> Vec<(usize, &'static str)> {
        rules("crates/cli/src/main.rs", body)
    }

    #[test]
    fn waiting_is_refused_in_the_core_alone() {
        for body in [
            "async fn ask() {}",
            "    let x = y.await;",
            "spawn(async move { 1 })",
        ] {
            assert_eq!(
                rules("crates/core/src/form.rs", body),
                [(2, "pure-core")],
                "{body}"
            );
            assert_eq!(rules("crates/engine/src/engine.rs", body), [], "{body}");
        }
    }

    #[test]
    fn prose_may_name_what_code_may_not_do() {
        assert_eq!(
            rules(
                "crates/core/src/lib.rs",
                "//! No `async fn`, no `#[allow(…)]`."
            ),
            []
        );
        assert_eq!(
            rules("crates/core/src/lib.rs", "let a = 1; // never x.await"),
            []
        );
    }

    #[test]
    fn a_lint_is_expected_and_never_allowed() {
        assert_eq!(cli("#[allow(dead_code)]"), [(2, "allow")]);
        assert_eq!(cli("#![allow(dead_code)]"), [(2, "allow")]);
        assert_eq!(cli("#[expect(dead_code, reason = \"soon\")]"), []);
    }

    #[test]
    fn a_test_or_an_example_is_never_ignored() {
        assert_eq!(cli("#[ignore]"), [(2, "ignore")]);
        assert_eq!(cli("#[ignore = \"slow\"]"), [(2, "ignore")]);
        assert_eq!(cli("/// ```ignore"), [(2, "ignore")]);
        assert_eq!(cli("    /// ```rust,ignore"), [(2, "ignore")]);
        assert_eq!(cli("/// ```no_run"), []);
    }

    #[test]
    fn notes_to_oneself_are_refused_as_whole_words() {
        assert_eq!(cli("// TODO: later"), [(2, "note")]);
        assert_eq!(cli("// FIXME"), [(2, "note")]);
        assert_eq!(cli("let a = 1; // XXX"), [(2, "note")]);
        assert_eq!(cli("todo!()"), [(2, "note")]);
        assert_eq!(cli("unimplemented!(\"x\")"), [(2, "note")]);
        assert_eq!(cli("let MASTODON = \"XXXX\"; mastodon!()"), []);
    }

    #[test]
    fn a_module_begins_with_what_it_is() {
        let found = check(
            "crates/cli/src/command/form.rs",
            "use std::fmt;\n//! Late.\n",
        );
        assert_eq!(found[0].rule, "module-docs");
        assert_eq!(check("crates/derive/tests/ui/bad.rs", "fn main() {}\n"), []);
    }

    #[test]
    fn the_rules_may_spell_out_their_own_words() {
        assert_eq!(rules("xtask/src/tidy/source.rs", "\"TODO\""), []);
        assert_eq!(rules("xtask/src/test.rs", "// TODO"), [(2, "note")]);
    }
}

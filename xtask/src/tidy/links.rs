//! Links between files of the checkout have existing targets.

use pulldown_cmark::{Event, Parser, Tag};

use super::Violation;
use super::tree::Tree;

/// Checks every relative link of a Markdown file.
pub(super) fn check(path: &str, text: &str, tree: &Tree) -> Vec<Violation> {
    if path.strip_suffix(".md").is_none() {
        return Vec::new();
    }
    let mut violations = Vec::new();
    for (event, range) in Parser::new(text).into_offset_iter() {
        let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = event else {
            continue;
        };
        let found = match resolve(path, &dest_url) {
            LinkTarget::Elsewhere => true,
            LinkTarget::Outside => false,
            LinkTarget::Inside(target) => tree.holds(&target),
        };
        if !found {
            violations.push(Violation {
                path: path.to_owned(),
                line: text[..range.start].matches('\n').count() + 1,
                rule: "links",
                remedy: format!("point `{dest_url}` at a file that exists"),
            });
        }
    }
    violations
}

/// The target of a link.
enum LinkTarget {
    /// A URL or a fragment of the same page: not checked.
    Elsewhere,
    /// A path from the root of the checkout.
    Inside(String),
    /// A path outside the checkout.
    Outside,
}

fn resolve(path: &str, link: &str) -> LinkTarget {
    let file = link.split(['#', '?']).next().unwrap_or_default();
    if file.is_empty() || link.contains("://") || link.starts_with("mailto:") {
        return LinkTarget::Elsewhere;
    }
    // A leading slash means the root, as on code hosts.
    let (start, steps) = match file.strip_prefix('/') {
        Some(steps) => ("", steps),
        None => (path.rsplit_once('/').map_or("", |(folder, _)| folder), file),
    };
    let mut parts: Vec<&str> = start.split('/').filter(|part| !part.is_empty()).collect();
    for step in steps.split('/') {
        match step {
            "" | "." => {}
            ".." => {
                if parts.pop().is_none() {
                    return LinkTarget::Outside;
                }
            }
            name => parts.push(name),
        }
    }
    LinkTarget::Inside(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(text: &str) -> Vec<String> {
        let tree = Tree::with(&[
            ("README.md", ""),
            ("docs/start.md", ""),
            ("docs/guide/forms.md", ""),
            ("crates/core/src/lib.rs", ""),
        ]);
        let found = check("docs/start.md", text, &tree);
        found
            .iter()
            .map(|violation| format!("{}: {}", violation.line, violation.remedy))
            .collect()
    }

    #[test]
    fn a_link_to_nowhere_is_refused_with_its_line() {
        let text = "# Start\n\nSee [forms](guide/form.md).\n";
        assert_eq!(
            broken(text),
            ["3: point `guide/form.md` at a file that exists"]
        );
        assert_eq!(broken("[x]\n\n[x]: nowhere.md\n").len(), 1);
        assert_eq!(broken("![shot](shot.png)").len(), 1);
        assert_eq!(broken("[out](../../other/README.md)").len(), 1);
    }

    #[test]
    fn links_to_files_folders_and_parts_of_pages_hold() {
        for link in [
            "guide/forms.md#time",
            "../README.md",
            "guide/",
            "./start.md",
            "#here",
            "/crates/core",
        ] {
            assert_eq!(broken(&format!("[x]({link})")), [""; 0], "{link}");
        }
    }

    #[test]
    fn addresses_and_code_are_not_followed() {
        assert_eq!(
            broken("[x](https://example.org/none.md) [y](mailto:a@example.org)"),
            [""; 0]
        );
        assert_eq!(
            broken("`[x](none.md)`\n\n```md\n[x](none.md)\n```\n"),
            [""; 0]
        );
    }
}

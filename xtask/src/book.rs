//! `cargo xtask book`: the documentation as a book, with search, light and dark.
//!
//! The pages are those of the checkout, in the same folders, so that links hold in both; only the
//! table of contents is made here. mdBook does the rest, and every link of the result is followed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use pulldown_cmark::{Event, Parser, Tag};

use crate::shell::{self, say};

/// The parts of the book, and the pages of each.
const PARTS: [(&str, &[&str]); 4] = [
    (
        "Using Entreat",
        &[
            "README.md",
            "docs/forms.md",
            "docs/asking.md",
            "docs/clients.md",
            "docs/mcp.md",
            "docs/gateway.md",
            "docs/approvals.md",
            "docs/embedding.md",
            "docs/answering.md",
            "docs/terminal.md",
            "docs/page.md",
            "docs/board.md",
            "docs/urls.md",
        ],
    ),
    (
        "Running a service",
        &[
            "docs/service.md",
            "docs/identity.md",
            "docs/identity-mcp.md",
            "docs/sign-in-out.md",
            "docs/control-api.md",
            "docs/extension.md",
            "docs/limits.md",
            "docs/platforms.md",
            "packaging/README.md",
            "SECURITY.md",
            "docs/threats.md",
        ],
    ),
    (
        "Working on Entreat",
        &[
            "ARCHITECTURE.md",
            "docs/how-to-add.md",
            "docs/testing.md",
            "docs/performance.md",
            "docs/dependencies.md",
            "docs/decisions.md",
        ],
    ),
    ("Releases", &["CHANGELOG.md"]),
];

const SETTINGS: &str = r#"[book]
title = "Entreat"
language = "en"

[output.html]
default-theme = "light"
preferred-dark-theme = "navy"
no-section-label = true
"#;

/// Makes the book, and fails if one of its links leads nowhere.
pub(crate) fn run(root: &Path) -> Result<()> {
    let book = root.join("target/book");
    stage(root, &book)?;
    let mdbook = mdbook(root)?;
    shell::run(Command::new(mdbook).arg("build").current_dir(&book))?;
    let broken = broken_links(&book)?;
    if !broken.is_empty() {
        bail!("links of the book lead nowhere:\n{}", broken.join("\n"));
    }
    say("the book is in target/book/book/index.html");
    Ok(())
}

/// The program, installed into the build folder unless it is there.
fn mdbook(root: &Path) -> Result<PathBuf> {
    let tools = root.join("target/tools");
    let program = tools.join("bin/mdbook");
    if !shell::works(Command::new(&program).arg("--version")) {
        say("mdbook is missing; installing it into target/tools (some minutes, once)");
        let install = ["install", "mdbook", "--locked", "--root"];
        shell::run(shell::cargo(root, &install).arg(&tools))?;
    }
    Ok(program)
}

/// Copies the pages, and what they link to, to where mdBook reads them.
fn stage(root: &Path, book: &Path) -> Result<()> {
    let source = book.join("src");
    if book.exists() {
        fs::remove_dir_all(book)?;
    }
    let mut contents = vec!["# Summary".to_owned()];
    let mut wanted = BTreeSet::new();
    for (part, pages) in PARTS {
        contents.push(format!("\n# {part}\n"));
        for page in pages {
            let text = fs::read_to_string(root.join(page))
                .with_context(|| format!("cannot read {page}"))?;
            contents.push(format!("- [{}]({page})", title(&text).unwrap_or(page)));
            wanted.insert((*page).to_owned());
            wanted.extend(
                links(&text)
                    .iter()
                    .filter_map(|link| target(page, link))
                    .map(|(path, _)| path),
            );
        }
    }
    for path in wanted {
        copy(&root.join(&path), &source.join(&path))?;
    }
    fs::write(source.join("SUMMARY.md"), contents.join("\n"))?;
    fs::write(book.join("book.toml"), SETTINGS)?;
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    if from.is_dir() {
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
    } else if from.exists() {
        fs::create_dir_all(to.parent().context("a page lies in a folder")?)?;
        fs::copy(from, to)?;
    }
    Ok(())
}

/// The first heading.
fn title(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.strip_prefix("# "))
}

fn links(text: &str) -> Vec<String> {
    let link = |event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            Some(dest_url.into_string())
        }
        _ => None,
    };
    Parser::new(text).filter_map(link).collect()
}

/// The file that a link of a page leads to, from the root, and the place in it; `None` for
/// addresses elsewhere.
fn target(page: &str, link: &str) -> Option<(String, Option<String>)> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (file, place) = match link.split_once('#') {
        Some((file, place)) => (file, Some(place.to_owned())),
        None => (link, None),
    };
    if file.is_empty() {
        return Some((page.to_owned(), place));
    }
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for step in file.split('/') {
        match step {
            "" | "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    Some((parts.join("/"), place))
}

/// Follows the links of every page, to the headings that they name.
fn broken_links(book: &Path) -> Result<Vec<String>> {
    let made = book.join("book");
    let mut ids: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let pages: Vec<&str> = PARTS
        .iter()
        .flat_map(|(_, pages)| pages.iter().copied())
        .collect();
    for page in &pages {
        let html = fs::read_to_string(made.join(html_of(page)))?;
        let found = html
            .split(" id=\"")
            .skip(1)
            .filter_map(|rest| rest.split('"').next());
        ids.insert((*page).to_owned(), found.map(str::to_owned).collect());
    }
    let mut broken = Vec::new();
    for page in pages {
        let text = fs::read_to_string(book.join("src").join(page))?;
        for link in links(&text) {
            let Some((path, place)) = target(page, &link) else {
                continue;
            };
            let exists = match (ids.get(&path), place) {
                (Some(ids), Some(place)) => ids.contains(&place),
                (Some(_), None) => true,
                (None, _) => made.join(&path).exists(),
            };
            if !exists {
                broken.push(format!("{page}: {link}"));
            }
        }
    }
    Ok(broken)
}

/// Where mdBook puts a page: the README of a folder becomes its index.
fn html_of(page: &str) -> String {
    let stem = page.strip_suffix(".md").unwrap_or(page);
    match stem.strip_suffix("README") {
        Some(folder) => format!("{folder}index.html"),
        None => format!("{stem}.html"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_of_the_docs_is_in_the_book() {
        let root = shell::root().unwrap();
        let in_book: BTreeSet<&str> = PARTS
            .iter()
            .flat_map(|(_, pages)| pages.iter().copied())
            .collect();
        for entry in fs::read_dir(root.join("docs")).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.strip_suffix(".md").is_some() {
                let page = format!("docs/{name}");
                assert!(
                    in_book.contains(page.as_str()),
                    "add {page} to a part of the book"
                );
            }
        }
    }

    #[test]
    fn links_are_followed_from_the_folder_of_their_page() {
        let led = |page, link| target(page, link);
        let to =
            |path: &str, place: Option<&str>| Some((path.to_owned(), place.map(str::to_owned)));
        assert_eq!(
            led("docs/mcp.md", "service.md#settings"),
            to("docs/service.md", Some("settings"))
        );
        assert_eq!(
            led("docs/threats.md", "../SECURITY.md"),
            to("SECURITY.md", None)
        );
        assert_eq!(led("docs/mcp.md", "#eras"), to("docs/mcp.md", Some("eras")));
        assert_eq!(led("README.md", "https://example.com/"), None);
    }

    #[test]
    fn the_readme_of_a_folder_is_its_index() {
        assert_eq!(html_of("README.md"), "index.html");
        assert_eq!(html_of("packaging/README.md"), "packaging/index.html");
        assert_eq!(html_of("docs/forms.md"), "docs/forms.html");
    }
}

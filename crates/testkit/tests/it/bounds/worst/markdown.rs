//! Texts with Markdown.

use super::Case;

/// What blocks and inlines are made of.
const PARTS: [&str; 34] = [
    "a", "\n", " ", "    ", "- ", "-", "1. ", "> ", "*", "**", "_", "*a_ ", "`", "```\n", "[", "]",
    "[a]", "[a]: u\n", "](u)", "![", "<", "<a ", "<!--", "<?", "</", "&", "&amp;", "\\", "|", "|-",
    "|\n", "# ", "---\n", "a\n",
];

/// Texts of about this length.
pub(crate) fn cases(bytes: usize) -> impl Iterator<Item = Case> {
    let pairs = PARTS.iter().flat_map(move |first| {
        PARTS.iter().flat_map(move |second| {
            let both = [*first, second].concat();
            let each = [up_to(bytes / 2, first), up_to(bytes / 2, second)];
            [
                (format!("{first:?} {second:?}"), up_to(bytes, &both)),
                (format!("{first:?}, then {second:?}"), each.concat()),
            ]
        })
    });
    // Tables whose rows the parser fills up: one, or many.
    let tables = [16, 100, 1000, 10_000]
        .into_iter()
        .flat_map(move |columns| {
            let head = format!("{}\n{}\n", "|a".repeat(columns), "|-".repeat(columns));
            let rows = up_to(bytes.saturating_sub(head.len()), "|\n");
            let table = format!("{head}{}\n", "|\n".repeat(columns));
            [
                (format!("a table of {columns} columns"), head + &rows),
                (format!("tables of {columns} columns"), up_to(bytes, &table)),
            ]
        });
    // A long address, and many references to it.
    let definition = format!("\n\n[a]: https://example.com/{}", "a".repeat(bytes / 2));
    let references = up_to(bytes / 2 - 32, "[a] ") + &definition;
    pairs
        .chain(tables)
        .chain([("references".to_owned(), references)])
        .map(|(name, text)| (name, text.into_bytes()))
}

fn up_to(bytes: usize, part: &str) -> String {
    part.repeat(bytes / part.len())
}

//! Which Markdown is let through, what becomes of the rest, and what it costs.

use super::*;

/// Writes blocks in a short notation: one tag for everything that is let through.
fn shown(text: &str) -> String {
    match TextFormat::Markdown.read(text) {
        Some(blocks) => blocks_shown(&blocks),
        None => "as it is".to_owned(),
    }
}

fn blocks_shown(blocks: &[Block]) -> String {
    let shown = blocks.iter().map(|block| match block {
        Block::Paragraph(runs) => format!("p[{}]", runs_shown(runs)),
        Block::Quote(blocks) => format!("quote[{}]", blocks_shown(blocks)),
        Block::Code { text, is_diff } => {
            format!("{}[{text}]", if *is_diff { "diff" } else { "code" })
        }
        Block::List { first, items } => {
            let items: Vec<_> = items.iter().map(|item| blocks_shown(item)).collect();
            let first = first.map(|first| first.to_string()).unwrap_or_default();
            format!("list{first}[{}]", items.join("|"))
        }
        Block::Table { head, rows } => {
            let row = |cells: &Vec<Vec<Run>>| {
                let cells: Vec<_> = cells.iter().map(|cell| runs_shown(cell)).collect();
                cells.join(",")
            };
            let rows: Vec<_> = std::iter::once(head).chain(rows).map(row).collect();
            format!("table[{}]", rows.join("|"))
        }
    });
    shown.collect::<Vec<_>>().join(" ")
}

fn runs_shown(runs: &[Run]) -> String {
    let shown = runs.iter().map(|run| {
        let mut text = run.text.clone();
        for (is_on, tag) in [
            (run.style.code, "c"),
            (run.style.emphasis, "i"),
            (run.style.strong, "b"),
        ] {
            if is_on {
                text = format!("<{tag}>{text}</{tag}>");
            }
        }
        text
    });
    shown.collect()
}

#[test]
fn what_is_let_through() {
    for (text, expected) in [
        (
            "one *two* __three__ `four`",
            "p[one <i>two</i> <b>three</b> <c>four</c>]",
        ),
        (
            "***both*** **`code`**",
            "p[<b><i>both</i></b> <b><c>code</c></b>]",
        ),
        (
            "*one*\n\ntwo\nthree  \nfour",
            "p[<i>one</i>] p[two\nthree\nfour]",
        ),
        (
            "- a\n- b\n  1. c\n  2. d",
            "list[p[a]|p[b] list1[p[c]|p[d]]]",
        ),
        ("7) a\n\n8) b\n\n   c", "list7[p[a]|p[b] p[c]]"),
        ("> a\n> b", "quote[p[a\nb]]"),
        (
            "```rust\nfn *a*() {\n\n    1 }\n```",
            "code[fn *a*() {\n\n    1 }]",
        ),
        ("~~~ Diff\n-a\n+b\n~~~", "diff[-a\n+b]"),
        ("```patch\n```", "diff[]"),
        (
            "| a | *b* |\n|---|:-:|\n| 1 | |\n| x\\|y | 2 |",
            "table[a,<i>b</i>|1|x|y,2]",
        ),
    ] {
        assert_eq!(shown(text), expected, "{text:?}");
    }
}

#[test]
fn everything_else_becomes_text() {
    for (text, expected) in [
        ("# One\nTwo\n===", "p[<b>One</b>] p[<b>Two</b>]"),
        (
            "[a *b*](https://example.com)",
            "p[a <i>b</i> (https://example.com)]",
        ),
        (
            "[x](javascript:alert(1) \"title\")",
            "p[x (javascript:alert(1))]",
        ),
        (
            "<https://example.com> <a@example.com>",
            "p[https://example.com a@example.com]",
        ),
        (
            "![*alt* text](https://example.com/p.png)",
            "p[<i>alt</i> text]",
        ),
        ("[![alt](p.png)](u)", "p[alt (u)]"),
        (
            "*a* <b onclick=x>c</b> &amp; \\*",
            "p[<i>a</i> <b onclick=x>c</b> & *]",
        ),
        (
            "*a*\n\n<script>\nb()\n</script>",
            "p[<i>a</i>] p[<script>\nb()\n</script>]",
        ),
        ("*a*\n\n* * *", "p[<i>a</i>] p[* * *]"),
        (
            "*a*[^1] ~~b~~ $c$\n\n[^1]: d",
            "p[<i>a</i>[^1] ~~b~~ $c$] p[[^1]: d]",
        ),
        ("- [x] a", "list[p[[x] a]]"),
        (
            "*a* [b] [c][b]\n\n[b]: https://example.com 'd'",
            "p[<i>a</i> [b] [c][b]] p[[b]: https://example.com 'd']",
        ),
        (
            "*a*\n\n    let b;\n\n      c",
            "p[<i>a</i>] p[let b;\n\n  c]",
        ),
    ] {
        assert_eq!(shown(text), expected, "{text:?}");
    }
}

#[test]
fn a_text_without_formatting_is_shown_as_it_is() {
    for text in [
        "",
        "Version 7 is ready.\nDeploy it?\n\n\nPlease answer.",
        "    Dedented by nobody.\n\n    Not code.",
        "snake_case, 2 * 3 * 4, a < b && c > d, #1, 50%, C:\\Users\\ada",
        "https://example.com/a_b_c?d=[e]",
        "<b>not bold</b>",
        "----\n\na | b",
        "[1]: https://example.com",
    ] {
        assert_eq!(shown(text), "as it is", "{text:?}");
    }
    let long = "*a* ".repeat(MAX_LENGTH / 4);
    assert_ne!(shown(&long), "as it is");
    assert_eq!(shown(&(long + " ")), "as it is");
}

#[test]
fn nesting_ends_and_no_text_is_lost() {
    fn depth(blocks: &[Block]) -> usize {
        let below = blocks.iter().map(|block| match block {
            Block::Quote(blocks) => 1 + depth(blocks),
            Block::List { items, .. } => {
                1 + items.iter().map(|item| depth(item)).max().unwrap_or(0)
            }
            Block::Paragraph(_) | Block::Code { .. } | Block::Table { .. } => 0,
        });
        below.max().unwrap_or(0)
    }
    for open in ["> ", "- ", "1. ", "> - "] {
        assert_eq!(shown(&format!("{}*deep*", open.repeat(5000))), "as it is");
        let text = format!("{}deep\n\nend", open.repeat(12));
        let blocks = TextFormat::Markdown.read(&text).unwrap();
        assert_eq!(depth(&blocks), MAX_NESTING, "{open:?}");
        let shown = blocks_shown(&blocks);
        assert!(
            shown.contains("p[deep]") && shown.ends_with(" p[end]"),
            "{shown}"
        );
    }
}

#[test]
fn lines_of_a_diff_are_told_apart() {
    for (line, expected) in [
        ("+added", DiffLine::Added),
        ("+", DiffLine::Added),
        ("-removed", DiffLine::Removed),
        ("--- a/file", DiffLine::Position),
        ("+++ b/file", DiffLine::Position),
        ("--flag", DiffLine::Removed),
        ("@@ -1 +1 @@", DiffLine::Position),
        (" same", DiffLine::Context),
        ("", DiffLine::Context),
    ] {
        assert_eq!(DiffLine::of(line), expected, "{line:?}");
    }
}

//! Writes an asker's text as HTML, with its formatting.
//!
//! The core decides what is let through; no tag here takes an attribute from the text.

use std::borrow::Cow;
use std::fmt;

use askama::filters::Escaper as _;
use entreat_core::TextFormat;
use entreat_core::markdown::{Block, DiffLine, Run};

use super::sanitize::SanitizedHtml;

/// An asker's text. Displayed as HTML, escaped: use it with `|safe`.
pub(super) struct Prose<'a> {
    text: Cow<'a, str>,
    blocks: Option<Vec<Block>>,
}

impl<'a> Prose<'a> {
    pub(super) fn new(text: impl Into<Cow<'a, str>>, format: TextFormat) -> Self {
        let text = text.into();
        Self {
            blocks: format.read(&text),
            text,
        }
    }

    /// The element around it: a paragraph, unless there are blocks in it.
    pub(super) fn tag(&self) -> &'static str {
        if self.blocks.is_some() { "div" } else { "p" }
    }

    /// The class of the element around it, after other classes.
    pub(super) fn class(&self) -> &'static str {
        if self.blocks.is_some() { " prose" } else { "" }
    }
}

impl fmt::Display for Prose<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.blocks {
            Some(list) => blocks(out, list),
            None => escaped(out, &self.text),
        }
    }
}

fn escaped(out: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    SanitizedHtml.write_escaped_str(out, text)
}

fn blocks(out: &mut fmt::Formatter<'_>, blocks: &[Block]) -> fmt::Result {
    blocks.iter().try_for_each(|it| block(out, it))
}

fn block(out: &mut fmt::Formatter<'_>, block: &Block) -> fmt::Result {
    match block {
        Block::Paragraph(list) => {
            out.write_str("<p>")?;
            runs(out, list)?;
            out.write_str("</p>")
        }
        Block::List { first: None, items } => list(out, "<ul>", items, "</ul>"),
        Block::List {
            first: Some(first),
            items,
        } => list(out, &format!("<ol start=\"{first}\">"), items, "</ol>"),
        Block::Quote(quoted) => {
            out.write_str("<blockquote>")?;
            blocks(out, quoted)?;
            out.write_str("</blockquote>")
        }
        Block::Code { text, is_diff } => {
            out.write_str("<pre><code>")?;
            for line in text.split('\n') {
                code_line(out, line, *is_diff)?;
            }
            out.write_str("</code></pre>")
        }
        Block::Table { head, rows } => table(out, head, rows),
    }
}

fn list(out: &mut fmt::Formatter<'_>, start: &str, items: &[Vec<Block>], end: &str) -> fmt::Result {
    out.write_str(start)?;
    for item in items {
        out.write_str("<li>")?;
        match &item[..] {
            // Most items have no need for a paragraph of their own.
            [Block::Paragraph(first), rest @ ..]
                if !matches!(rest.first(), Some(Block::Paragraph(_))) =>
            {
                runs(out, first)?;
                blocks(out, rest)?;
            }
            item => blocks(out, item)?,
        }
        out.write_str("</li>")?;
    }
    out.write_str(end)
}

/// A line has an element of its own, so that the rest of a long one is indented: it cannot pass for
/// another line. In a diff, the sign at its start says the same as its colour.
fn code_line(out: &mut fmt::Formatter<'_>, line: &str, is_diff: bool) -> fmt::Result {
    let name = match DiffLine::of(line) {
        _ if !is_diff => "span",
        DiffLine::Added => "ins",
        DiffLine::Removed => "del",
        DiffLine::Position => "i",
        DiffLine::Context => "span",
    };
    write!(out, "<{name}>")?;
    escaped(out, line)?;
    write!(out, "\n</{name}>")
}

fn table(out: &mut fmt::Formatter<'_>, head: &[Vec<Run>], rows: &[Vec<Vec<Run>>]) -> fmt::Result {
    out.write_str("<div class=\"wide\" tabindex=\"0\"><table><thead><tr>")?;
    for cell in head {
        // An empty heading would be announced as one.
        let (start, end) = match cell[..] {
            [] => ("<td>", "</td>"),
            [..] => ("<th scope=\"col\">", "</th>"),
        };
        out.write_str(start)?;
        runs(out, cell)?;
        out.write_str(end)?;
    }
    out.write_str("</tr></thead><tbody>")?;
    for row in rows {
        out.write_str("<tr>")?;
        for cell in row {
            out.write_str("<td>")?;
            runs(out, cell)?;
            out.write_str("</td>")?;
        }
        out.write_str("</tr>")?;
    }
    out.write_str("</tbody></table></div>")
}

fn runs(out: &mut fmt::Formatter<'_>, runs: &[Run]) -> fmt::Result {
    for run in runs {
        let tags = [
            (run.style.strong, "strong"),
            (run.style.emphasis, "em"),
            (run.style.code, "code"),
        ];
        for (_, tag) in tags.iter().filter(|(is_on, _)| *is_on) {
            write!(out, "<{tag}>")?;
        }
        escaped(out, &run.text)?;
        for (_, tag) in tags.iter().rev().filter(|(is_on, _)| *is_on) {
            write!(out, "</{tag}>")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(text: &str) -> String {
        Prose::new(text, TextFormat::Markdown).to_string()
    }

    #[test]
    fn each_block_has_its_element() {
        for (text, expected) in [
            (
                "a **b** *c*\n`d`",
                "<p>a <strong>b</strong> <em>c</em>\n<code>d</code></p>",
            ),
            (
                "***`a`***",
                "<p><strong><em><code>a</code></em></strong></p>",
            ),
            (
                "- a\n- b\n\n  c",
                "<ul><li>a</li><li><p>b</p><p>c</p></li></ul>",
            ),
            (
                "3. a\n   - b",
                "<ol start=\"3\"><li>a<ul><li>b</li></ul></li></ol>",
            ),
            ("> a", "<blockquote><p>a</p></blockquote>"),
            (
                "```\na\n  b\n```",
                "<pre><code><span>a\n</span><span>  b\n</span></code></pre>",
            ),
            (
                "```diff\n@@ 1 @@\n-a\n+b\n c\n```",
                "<pre><code><i>@@ 1 @@\n</i><del>-a\n</del><ins>+b\n</ins><span> c\n</span>\
                 </code></pre>",
            ),
            (
                "| |b|\n|-|-|\n|c|\n",
                "<div class=\"wide\" tabindex=\"0\"><table><thead><tr><td></td><th scope=\"col\">b</th></tr>\
                 </thead><tbody><tr><td>c</td></tr></tbody></table></div>",
            ),
        ] {
            assert_eq!(html(text), expected, "{text:?}");
        }
    }

    #[test]
    fn text_is_escaped_in_every_block_and_loses_what_hides() {
        let hostile = "<b onclick=x>&\"'\u{202e}\u{200b}";
        let safe = "&#60;b onclick=x&#62;&#38;&#34;&#39;";
        assert_eq!(html(hostile), safe);
        for around in [
            "*{}*",
            "# {}",
            "- {}",
            "1. {}",
            "> {}",
            "`{}`",
            "```\n{}\n```",
            "```diff\n+{}\n```",
            "|{}|\n|-|\n|{}|",
            "[{}](/)",
            "![{}](/)",
            "**{}**",
        ] {
            let html = html(&around.replace("{}", hostile));
            assert!(html.contains(safe), "{around:?}: {html}");
            assert!(!html.contains("<b "), "{around:?}: {html}");
            assert!(
                !html.contains(['\u{202e}', '\u{200b}']),
                "{around:?}: {html}"
            );
        }
        // As entities, too.
        assert_eq!(html("&lt;b&gt;&#x202e;"), "<p>&#60;b&#62;</p>");
    }

    #[test]
    fn a_text_without_formatting_is_one_paragraph() {
        for (text, format) in [
            ("a\nb\n\nc", TextFormat::Markdown),
            ("*a*", TextFormat::Plain),
        ] {
            let prose = Prose::new(text, format);
            assert_eq!((prose.tag(), prose.class()), ("p", ""));
            assert_eq!(prose.to_string(), text);
        }
        let prose = Prose::new("*a*", TextFormat::Markdown);
        assert_eq!((prose.tag(), prose.class()), ("div", " prose"));
    }
}

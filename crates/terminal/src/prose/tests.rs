//! How formatted texts look in a terminal, and that nothing in them acts on it.

use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

use super::*;

fn shown_at(text: &str, width: usize) -> String {
    let rows = rows(text, TextFormat::Markdown, width).expect("it has formatting");
    let lines = rows.iter().map(|row| {
        let line: String = row.iter().map(|piece| &*piece.text).collect();
        assert!(line.width() <= width, "{line:?} is wider than {width}");
        line.trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn every_block_reads_well_without_colours() {
    insta::assert_snapshot!(shown_at(
        "# Deploy\n\nVersion *7* is **ready**,\nsee `CHANGES.md`.\n\n\
         1. Build, which takes a good while on this machine\n2. Test\n   - unit\n   - browser\n\n\
         > Careful:\n> no way back.\n\n```sh\nfor x in *; do\n\techo $x\ndone\n```\n\n\
         ```diff\n@@ -1 +1 @@\n-port: 80\n+port: 8080\n```\n\n\
         | Service | Port |\n|---|---|\n| web | 8080 |\n| db | |\n\n[more](https://example.com)",
        40,
    ));
}

#[test]
fn a_table_that_is_too_wide_becomes_a_list_of_its_cells() {
    let table = "| Service | Description |\n|-|-|\n| web | It serves the pages |\n| db | |";
    assert_eq!(
        shown_at(table, 20),
        "Service: web\nDescription: It\nserves the pages\n\nService: db"
    );
}

#[test]
fn tones_follow_the_text_across_rows() {
    let rows = rows("one **two three** four", TextFormat::Markdown, 9).unwrap();
    let piece = |text: &str, tone| Piece {
        text: text.to_owned(),
        tone,
    };
    assert_eq!(
        rows,
        [
            vec![piece("one ", Tone::Normal), piece("two", Tone::Strong)],
            vec![piece("", Tone::Normal), piece("three", Tone::Strong)],
            vec![piece("four", Tone::Normal)],
        ]
    );
}

#[test]
fn a_text_without_formatting_is_left_to_others() {
    assert_eq!(rows("a\nb", TextFormat::Markdown, 20), None);
    assert_eq!(rows("*a*", TextFormat::Plain, 20), None);
}

#[test]
fn escape_sequences_have_no_way_in() {
    for text in [
        "*a*\u{1b}[2J\u{1b}]0;title\u{7}b",
        "*a*&#27;[2J&#x9b;2Jb",
        "```\n\u{1b}[2J&#27;\n```",
        "|&#27;[2J|\n|-|\n|\u{202e}a&#x202e;|",
        "[&#27;](&#27;[2J)",
    ] {
        let shown = shown_at(text, 40);
        let is_forbidden = |c: char| c != '\n' && entreat_core::is_unsafe_to_display(c);
        assert!(!shown.contains(is_forbidden), "{text:?}: {shown:?}");
    }
}

proptest! {
    #[test]
    fn no_row_is_too_wide_whatever_the_text(
        text in "(\\PC|[-*_`>|#0-9. \n\t]|1\\. |- |> |```\n|\n\\|-\\|-\\|\n|日本|👩‍🚀){1,80}",
        width in 1..40usize,
    ) {
        for row in rows(&text, TextFormat::Markdown, width).unwrap_or_default() {
            let line: String = row.iter().map(|piece| &*piece.text).collect();
            // Where not even one character fits, one is shown.
            let widest = line.graphemes(true).map(UnicodeWidthStr::width).max();
            prop_assert!(line.width() <= width.max(widest.unwrap_or(0)), "{line:?} at {width}");
        }
    }
}

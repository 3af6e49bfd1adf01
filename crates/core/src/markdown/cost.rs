//! Which texts the parser reads in linear time and memory.
//!
//! It is linear but for two things, found by doubling texts made of every pair of marks: a line of
//! a paragraph is compared with every open list and quote, and short rows of a table are filled up.
//! Both are judged beforehand, by bounds that no text written by people comes near.

/// How far into a line markers of lists and quotes may stand, in columns. Every open list or quote
/// takes at least one column, so this bounds how many are open.
const MAX_COLUMNS: usize = 64;

/// Whether lists or quotes may nest too deeply.
pub(super) fn is_too_deep(text: &str) -> bool {
    lines(text).any(|line| marked_columns(line.as_bytes()) > MAX_COLUMNS)
}

/// Whether the cells of tables, filled up, are at most a few times as many as characters.
pub(super) fn may_have_tables(text: &str) -> bool {
    let pipes = |line: &str| line.bytes().filter(|byte| *byte == b'|').count();
    let most = lines(text).map(pipes).max().unwrap_or(0) + 1;
    most.saturating_mul(lines(text).count()) <= 4 * text.len() + 4096
}

/// Lines end as in Markdown.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\n', '\r'])
}

/// The columns up to the last marker that could open a list or a quote.
fn marked_columns(line: &[u8]) -> usize {
    let (mut columns, mut marked) = (0, 0);
    let mut rest = line;
    loop {
        let length = match rest {
            [b' ' | b'>', ..] => 1,
            [b'\t', ..] => {
                columns += 3;
                1
            }
            [b'-' | b'+' | b'*', after @ ..] if is_blank(after) => 1,
            [b'0'..=b'9', ..] => {
                let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
                match &rest[digits..] {
                    [b'.' | b')', after @ ..] if is_blank(after) => digits + 1,
                    _ => return marked,
                }
            }
            _ => return marked,
        };
        columns += length;
        if !matches!(rest[0], b' ' | b'\t') {
            marked = columns;
        }
        rest = &rest[length..];
    }
}

fn is_blank(after: &[u8]) -> bool {
    matches!(after, [] | [b' ' | b'\t', ..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_found_however_they_are_mixed() {
        for (line, columns) in [
            ("", 0),
            ("    code", 0),
            ("- a - b", 1),
            ("-a", 0),
            ("---", 0),
            ("-", 1),
            ("  >>- 12) + a", 11),
            ("\t* a", 5),
            ("1. 2.a", 2),
            ("2026", 0),
        ] {
            assert_eq!(marked_columns(line.as_bytes()), columns, "{line:?}");
        }
    }

    #[test]
    fn what_people_write_is_within_bounds() {
        let list = "- a\n  - b\n    - c\n      > d\n";
        let code = format!("```\n{}x\n```\n", " ".repeat(200));
        let table = format!("|{}\n|{}\n", "a|".repeat(12), "-|".repeat(12));
        let text = [list, &*code, &*table, &"|1|2|3|4|5|6|\n".repeat(100)].concat();
        assert!(!is_too_deep(&text) && may_have_tables(&text));
        assert!(is_too_deep(&"- ".repeat(40)) && is_too_deep(&">".repeat(70)));
        let wide = format!("{}\n{}\n", "|a".repeat(1000), "|-".repeat(1000));
        assert!(!may_have_tables(&(wide + &"|\n".repeat(1000))));
    }
}

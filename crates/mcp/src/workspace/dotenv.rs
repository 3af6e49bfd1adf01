//! Sets one variable in the text of a dotenv file.

/// Why a text is not changed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DotenvError {
    /// A line is neither empty, nor a comment, nor an assignment; counted from 1.
    Line(usize),
    /// The value has characters that cannot be written.
    Value,
}

/// Returns the text with the variable set to the value, or `None` if the variable is set already
/// and must not be replaced. All other lines stay as they are.
pub(super) fn set(
    text: &str,
    name: &str,
    value: &str,
    replace: bool,
) -> Result<Option<String>, DotenvError> {
    let value = quoted(value)?;
    let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut changed = String::with_capacity(text.len() + name.len() + value.len() + 4);
    let mut is_set = false;
    let mut rest = text;
    let mut line = 1;
    while !rest.is_empty() {
        let entry = Entry::first(rest).ok_or(DotenvError::Line(line))?;
        let (whole, after) = rest.split_at(entry.length);
        if entry.name != Some(name) {
            changed.push_str(whole);
        } else if !replace {
            return Ok(None);
        } else if !is_set {
            // A further assignment of the same name would override this one, and goes.
            is_set = true;
            changed.push_str(entry.lead);
            changed.push_str(name);
            changed.push('=');
            changed.push_str(&value);
            changed.push_str(line_end);
        }
        line += whole.matches('\n').count();
        rest = after;
    }
    if !is_set {
        if !changed.is_empty() && !changed.ends_with('\n') {
            changed.push_str(line_end);
        }
        for part in [name, "=", &value, line_end] {
            changed.push_str(part);
        }
    }
    Ok(Some(changed))
}

/// An assignment, a comment or an empty line.
struct Entry<'a> {
    /// Its length in bytes, with the line's end.
    length: usize,
    name: Option<&'a str>,
    /// What stands before the name: spaces, `export`.
    lead: &'a str,
}

impl<'a> Entry<'a> {
    /// The first entry of a text; `None` if the line is not one.
    fn first(text: &'a str) -> Option<Self> {
        let line_length = text.find('\n').map_or(text.len(), |end| end + 1);
        let line = &text[..line_length];
        let content = line.trim_start();
        if content.trim_end().is_empty() || content.starts_with('#') {
            return Some(Self {
                length: line_length,
                name: None,
                lead: "",
            });
        }
        let exported = content
            .strip_prefix("export")
            .filter(|it| it.starts_with([' ', '\t']));
        let content = exported.map_or(content, str::trim_start);
        let lead = &line[..line.len() - content.len()];
        let (name, value) = content.split_once('=')?;
        let name = name.trim_end();
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        if name.is_empty() || !name.chars().all(is_name) {
            return None;
        }
        let before = line.len() - value.len();
        Some(Self {
            length: before + value_length(&text[before..]),
            name: Some(name),
            lead,
        })
    }
}

/// The length of a value with the rest of its last line. A quoted value may have several lines.
fn value_length(text: &str) -> usize {
    let line_end = |from: usize| {
        text[from..]
            .find('\n')
            .map_or(text.len(), |end| from + end + 1)
    };
    let start = text.len() - text.trim_start_matches([' ', '\t']).len();
    let quote = text[start..].chars().next();
    let Some(quote) = quote.filter(|it| matches!(it, '"' | '\'' | '`')) else {
        return line_end(0);
    };
    let mut is_escaped = false;
    for (place, character) in text[start + 1..].char_indices() {
        if is_escaped {
            is_escaped = false;
        } else if character == '\\' && quote == '"' {
            is_escaped = true;
        } else if character == quote {
            return line_end(start + 1 + place);
        }
    }
    // Never closed: parsers take the line as it is.
    line_end(0)
}

/// The value in quotes. Single quotes where possible: nothing is special in them.
fn quoted(value: &str) -> Result<String, DotenvError> {
    let is_control = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    let value = value.replace("\r\n", "\n");
    if value.contains(is_control) {
        return Err(DotenvError::Value);
    }
    if !value.contains(['\'', '\n', '\\']) {
        return Ok(format!("'{value}'"));
    }
    let mut text = String::from("\"");
    for character in value.chars() {
        match character {
            '\n' => text.push_str("\\n"),
            '"' | '\\' | '$' | '`' => text.extend(['\\', character]),
            other => text.push(other),
        }
    }
    text.push('"');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(text: &str, value: &str) -> String {
        set(text, "KEY", value, true).unwrap().unwrap()
    }

    #[test]
    fn a_variable_is_added_at_the_end() {
        assert_eq!(replaced("", "v"), "KEY='v'\n");
        assert_eq!(replaced("A=1", "v"), "A=1\nKEY='v'\n");
        assert_eq!(replaced("A=1\r\n", "v"), "A=1\r\nKEY='v'\r\n");
        assert_eq!(replaced("# KEY=x\n\n", "v"), "# KEY=x\n\nKEY='v'\n");
    }

    #[test]
    fn only_the_named_variable_changes() {
        let text = "# head\nA = \"1\n2 KEY=no\"\n  export KEY=old # why\nKEYS=x\nb.c-d='KEY=z'\n";
        let expected = "# head\nA = \"1\n2 KEY=no\"\n  export KEY='v'\nKEYS=x\nb.c-d='KEY=z'\n";
        assert_eq!(replaced(text, "v"), expected);
        assert_eq!(
            replaced("KEY=\"a\nb\"\nB=2\nKEY=c\n", "v"),
            "KEY='v'\nB=2\n"
        );
        assert_eq!(replaced("KEY=\"never closed\nB=2\n", "v"), "KEY='v'\nB=2\n");
    }

    #[test]
    fn an_existing_value_is_left_alone_unless_it_may_be_replaced() {
        assert_eq!(set("KEY=old\n", "KEY", "v", false), Ok(None));
        assert_eq!(
            set("A=1\n", "KEY", "v", false),
            Ok(Some("A=1\nKEY='v'\n".into()))
        );
    }

    #[test]
    fn other_files_are_refused() {
        assert_eq!(
            set("A=1\nfn main() {\n", "KEY", "v", true),
            Err(DotenvError::Line(2))
        );
        assert_eq!(
            set("A='1\n2'\n[table]\n", "KEY", "v", true),
            Err(DotenvError::Line(3))
        );
        assert_eq!(
            set("echo hi; X=1\n", "KEY", "v", true),
            Err(DotenvError::Line(1))
        );
        assert_eq!(set("", "KEY", "a\0b", true), Err(DotenvError::Value));
    }

    #[test]
    fn values_are_quoted_so_that_nothing_is_expanded() {
        for (value, written) in [
            ("sk-1 $HOME `id` \"q\"", "'sk-1 $HOME `id` \"q\"'"),
            ("it's", "\"it's\""),
            ("it's $5", "\"it's \\$5\""),
            ("a\nb", "\"a\\nb\""),
            ("a\\b", "\"a\\\\b\""),
            ("", "''"),
        ] {
            assert_eq!(quoted(value).unwrap(), written);
        }
    }
}

//! Patterns for the names of servers and tools.

use std::fmt;
use std::str::FromStr;

/// The longest pattern, in characters.
const MAX_PATTERN: usize = 256;

/// A pattern for names: `*` stands for any number of characters, `?` for exactly one. All other
/// characters stand for themselves.
///
/// ```
/// let glob: entreat_gateway::Glob = "delete_*".parse()?;
/// assert!(glob.matches("delete_file"));
/// assert!(!glob.matches("undelete_file"));
/// # Ok::<(), entreat_gateway::InvalidGlob>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob(Box<[char]>);

/// Why a text is no pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidGlob {
    /// It has no characters.
    #[error("it is empty; `*` matches every name")]
    Empty,
    /// It is too long.
    #[error("it has more than {MAX_PATTERN} characters")]
    TooLong,
}

impl Glob {
    /// Whether the pattern matches the whole name.
    pub fn matches(&self, name: &str) -> bool {
        let pattern = &*self.0;
        // Which beginnings of the pattern match what was read: one pass over the name, at a cost
        // that the longest pattern bounds. Going back to the last `*` would take longer the longer
        // the name is.
        let mut reached = vec![false; pattern.len() + 1];
        reached[0] = true;
        pass_stars(pattern, &mut reached);
        let mut next = reached.clone();
        for c in name.chars() {
            next.fill(false);
            for (at, wanted) in pattern.iter().enumerate() {
                if !reached[at] {
                    continue;
                }
                match wanted {
                    '*' => next[at] = true,
                    '?' => next[at + 1] = true,
                    wanted if *wanted == c => next[at + 1] = true,
                    _ => {}
                }
            }
            pass_stars(pattern, &mut next);
            std::mem::swap(&mut reached, &mut next);
        }
        reached[pattern.len()]
    }
}

/// A `*` may stand for nothing.
fn pass_stars(pattern: &[char], reached: &mut [bool]) {
    for (at, wanted) in pattern.iter().enumerate() {
        if *wanted == '*' && reached[at] {
            reached[at + 1] = true;
        }
    }
}

impl FromStr for Glob {
    type Err = InvalidGlob;

    fn from_str(text: &str) -> Result<Self, InvalidGlob> {
        let pattern: Box<[char]> = text.chars().take(MAX_PATTERN + 1).collect();
        match pattern.len() {
            0 => Err(InvalidGlob::Empty),
            length if length > MAX_PATTERN => Err(InvalidGlob::TooLong),
            _ => Ok(Self(pattern)),
        }
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|c| write!(f, "{c}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks_stand_for_characters() {
        for (pattern, name, is_match) in [
            ("*", "", true),
            ("*", "anything", true),
            ("delete_*", "delete_", true),
            ("delete_*", "delete_file", true),
            ("delete_*", "Delete_file", false),
            ("*_file", "delete_file", true),
            ("*_file", "delete_files", false),
            ("a*b*c", "abc", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "acb", false),
            ("?", "é", true),
            ("?", "", false),
            ("??", "a", false),
            ("*?", "a", true),
            ("a.c", "abc", false),
            ("[ab]", "a", false),
            ("[ab]", "[ab]", true),
            ("a", "a\n", false),
        ] {
            let glob: Glob = pattern.parse().unwrap();
            assert_eq!(glob.matches(name), is_match, "{pattern} {name:?}");
            assert_eq!(glob.to_string(), pattern);
        }
    }

    #[test]
    fn a_pattern_that_would_backtrack_ends_soon() {
        let glob: Glob = "*a".repeat(128).parse().unwrap();
        assert!(!glob.matches(&"a".repeat(100_000).replace("aa", "ab")));
        assert_eq!("".parse::<Glob>(), Err(InvalidGlob::Empty));
        assert_eq!("a".repeat(257).parse::<Glob>(), Err(InvalidGlob::TooLong));
    }
}

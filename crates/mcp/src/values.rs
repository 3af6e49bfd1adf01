//! Counts what a message consists of, before it is read.
//!
//! A value of one byte takes many times that in memory: a few megabytes of `0,` would become
//! hundreds. So messages of more values than anybody has use for are refused as they come.

/// A message has at most so many values. Read, they take some tens of megabytes.
pub(crate) const MOST_VALUES: usize = 500_000;

/// Counts the values of JSON text that comes in pieces. Text that is not JSON counts for
/// something too, which does not matter: nobody can read it.
#[derive(Debug, Default)]
pub(crate) struct Values {
    count: usize,
    in_string: bool,
    is_escaped: bool,
}

/// A message has more than [`MOST_VALUES`].
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the message has more than {MOST_VALUES} values")]
pub(crate) struct TooManyValues;

impl Values {
    /// Counts what is in one piece of the text.
    pub(crate) fn read(&mut self, piece: &[u8]) -> Result<(), TooManyValues> {
        for byte in piece {
            if self.in_string {
                match byte {
                    _ if self.is_escaped => self.is_escaped = false,
                    b'\\' => self.is_escaped = true,
                    b'"' => self.in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                // Each is followed by a value, or the end of an empty list or object.
                b',' | b':' | b'[' | b'{' => self.count += 1,
                _ => {}
            }
        }
        if self.count > MOST_VALUES {
            return Err(TooManyValues);
        }
        Ok(())
    }

    /// Counts a whole text.
    pub(crate) fn check(text: &[u8]) -> Result<(), TooManyValues> {
        Self::default().read(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_however_the_text_is_cut() {
        let text = br#"{"a,[{\"\\":[1,"b:\\",{}],"c":null}"#;
        for cut in 0..text.len() {
            let mut values = Values::default();
            values.read(&text[..cut]).unwrap();
            values.read(&text[cut..]).unwrap();
            assert_eq!(values.count, 8, "{cut}");
            assert!(!values.in_string);
        }
    }

    #[test]
    fn too_many_are_refused_and_long_texts_are_not() {
        assert_eq!(
            Values::check(&b"0,".repeat(MOST_VALUES + 1)),
            Err(TooManyValues)
        );
        assert_eq!(
            Values::check(&b"[".repeat(MOST_VALUES + 1)),
            Err(TooManyValues)
        );
        assert_eq!(Values::check(&b"0,".repeat(MOST_VALUES)), Ok(()));
        let long = [b"\"", &*b",".repeat(2 * MOST_VALUES), b"\""].concat();
        assert_eq!(Values::check(&long), Ok(()));
    }
}

//! Counts the JSON values of a message before it is parsed.
//!
//! A one-byte value takes many times its size in memory: a few megabytes of `0,` would take
//! hundreds. Messages with too many values are refused while they arrive.

/// The maximum number of values in a message. Parsed, they take some tens of megabytes.
pub const MAX_VALUES: usize = 500_000;

/// Counts the values in chunks of JSON text. The count is arbitrary for text that is not JSON,
/// which fails to parse anyway.
#[derive(Debug, Default)]
pub struct ValueCounter {
    count: usize,
    in_string: bool,
    is_escaped: bool,
}

/// A message has more than [`MAX_VALUES`] values.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the message has more than {MAX_VALUES} values")]
pub struct TooManyValues;

impl ValueCounter {
    /// Counts the values in a chunk.
    pub fn read(&mut self, piece: &[u8]) -> Result<(), TooManyValues> {
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
                // Each is followed by a value, or closes an empty array or object.
                b',' | b':' | b'[' | b'{' => self.count += 1,
                _ => {}
            }
        }
        if self.count > MAX_VALUES {
            return Err(TooManyValues);
        }
        Ok(())
    }

    /// Counts the values of a complete text.
    pub fn check(text: &[u8]) -> Result<(), TooManyValues> {
        // No text has more values than bytes, so most are not looked at.
        if text.len() <= MAX_VALUES {
            return Ok(());
        }
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
            let mut values = ValueCounter::default();
            values.read(&text[..cut]).unwrap();
            values.read(&text[cut..]).unwrap();
            assert_eq!(values.count, 8, "{cut}");
            assert!(!values.in_string);
        }
    }

    #[test]
    fn too_many_are_refused_and_long_texts_are_not() {
        assert_eq!(
            ValueCounter::check(&b"0,".repeat(MAX_VALUES + 1)),
            Err(TooManyValues)
        );
        assert_eq!(
            ValueCounter::check(&b"[".repeat(MAX_VALUES + 1)),
            Err(TooManyValues)
        );
        assert_eq!(ValueCounter::check(&b"0,".repeat(MAX_VALUES)), Ok(()));
        let long = [b"\"", &*b",".repeat(2 * MAX_VALUES), b"\""].concat();
        assert_eq!(ValueCounter::check(&long), Ok(()));
    }
}

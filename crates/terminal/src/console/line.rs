//! Reads one line of text, with a length limit.

use std::io::{self, BufRead, Read as _};

/// The maximum line length; a longer answer could not be sent anyway.
const MAX_BYTES: usize = 1 << 20;

/// Reads the next line, without the line ending; `None` at the end of the input.
///
/// A line that is too long or not UTF-8 is skipped and reported as an error of kind `InvalidData`,
/// which never contains what was typed.
pub(crate) fn read(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let limit = MAX_BYTES as u64 + 1;
    if input.by_ref().take(limit).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
    } else if line.len() > MAX_BYTES {
        input.skip_until(b'\n')?;
        return Err(unreadable("the line is longer than 1 MB"));
    }
    match String::from_utf8(line) {
        Ok(line) => Ok(Some(line)),
        Err(_) => Err(unreadable("the line is not UTF-8")),
    }
}

fn unreadable(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_without_their_ends_and_the_last_needs_none() {
        let mut input: &[u8] = b"a \r\n\nb";
        assert_eq!(read(&mut input).unwrap().as_deref(), Some("a "));
        assert_eq!(read(&mut input).unwrap().as_deref(), Some(""));
        assert_eq!(read(&mut input).unwrap().as_deref(), Some("b"));
        assert_eq!(read(&mut input).unwrap(), None);
    }

    #[test]
    fn a_line_that_is_no_text_is_passed_over() {
        let mut long = vec![b'x'; MAX_BYTES + 5];
        long.extend(b"\n\xff\nnext\n");
        let mut input = &long[..];
        for _ in 0..2 {
            let error = read(&mut input).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        }
        assert_eq!(read(&mut input).unwrap().as_deref(), Some("next"));
    }
}

//! Reads files and standard input, whole or line by line, up to a limit.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, IsTerminal as _, Read, Write};
use std::path::PathBuf;

use anyhow::{Context as _, bail, ensure};
use entreat_core::document::Notation;

use crate::context::Context;
use crate::output;

/// The largest answer that is read. Answers carry files, so they may be larger than forms.
pub(crate) const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Where something is read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Standard input, written `-`.
    Stdin,
    /// A file.
    File(PathBuf),
}

/// Whether it is clear without reading that stdin is empty: it is the null device or an empty file.
/// A pipe may yet bring something.
pub(crate) fn stdin_is_empty() -> bool {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return false;
    }
    #[cfg(unix)]
    {
        use std::os::fd::AsFd as _;
        use std::os::unix::fs::FileTypeExt as _;

        let metadata = stdin.as_fd().try_clone_to_owned();
        let metadata = metadata.and_then(|stdin| File::from(stdin).metadata());
        metadata.is_ok_and(|found| {
            found.file_type().is_char_device() || (found.is_file() && found.len() == 0)
        })
    }
    #[cfg(not(unix))]
    {
        false
    }
}

impl From<OsString> for Source {
    fn from(name: OsString) -> Self {
        if name == "-" {
            Self::Stdin
        } else {
            Self::File(name.into())
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdin => f.write_str("stdin"),
            Self::File(path) => f.write_str(&output::sanitize_path(path)),
        }
    }
}

impl Source {
    /// Returns the source as written on the command line.
    pub(crate) fn argument(&self) -> String {
        match self {
            Self::Stdin => "-".to_owned(),
            Self::File(path) => path.to_string_lossy().into_owned(),
        }
    }

    /// Reads text of at most `limit` bytes, without a byte order mark.
    pub(crate) fn read(&self, limit: usize, context: &mut Context) -> anyhow::Result<String> {
        let mut bytes = Vec::new();
        let max = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        self.open(context)?
            .take(max)
            .read_to_end(&mut bytes)
            .with_context(|| format!("cannot read {self}"))?;
        ensure!(
            bytes.len() <= limit,
            "{self} is too large: the limit is {limit} bytes"
        );
        let mut text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => bail!(
                "{self} is not UTF-8 text: see byte {}",
                error.utf8_error().valid_up_to() + 1
            ),
        };
        if text.starts_with(BYTE_ORDER_MARK) {
            text.drain(..BYTE_ORDER_MARK.len_utf8());
        }
        Ok(text)
    }

    /// Opens the source to be read line by line.
    pub(crate) fn lines(&self, limit: usize, context: &mut Context) -> anyhow::Result<Lines> {
        Ok(Lines::new(self.open(context)?, limit))
    }

    fn open(&self, context: &mut Context) -> anyhow::Result<Box<dyn Read>> {
        let opened = match self {
            Self::Stdin => context.stdin(),
            Self::File(path) => File::open(path).map(|file| Box::new(file) as Box<dyn Read>),
        };
        opened.with_context(|| format!("cannot read {self}"))
    }

    /// Returns the notation of the file name's extension.
    pub(crate) fn notation(&self) -> Option<Notation> {
        let Self::File(path) = self else {
            return None;
        };
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "json" => Some(Notation::Json),
            "yaml" | "yml" => Some(Notation::Yaml),
            "toml" => Some(Notation::Toml),
            _ => None,
        }
    }
}

/// Fails if standard input is named more than once.
pub(crate) fn refuse_stdin_twice<'s>(
    sources: impl IntoIterator<Item = &'s Source>,
) -> anyhow::Result<()> {
    let count = sources
        .into_iter()
        .filter(|source| **source == Source::Stdin)
        .count();
    ensure!(count < 2, "stdin (`-`) can be used only once");
    Ok(())
}

/// Guesses the notation of a text without a known extension. TOML and YAML cannot be distinguished
/// by the first character, so TOML has to be named.
pub(crate) fn guess_notation(text: &str) -> Notation {
    match text.trim_start().as_bytes().first() {
        Some(b'{' | b'[') => Notation::Json,
        _ => Notation::Yaml,
    }
}

/// Reads lines of bounded length.
pub(crate) struct Lines {
    reader: BufReader<Box<dyn Read>>,
    limit: usize,
    line: Vec<u8>,
    number: u64,
}

/// Why a line cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadLine {
    /// It is longer than this many bytes.
    TooLong(usize),
    /// It is not UTF-8.
    NotText,
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong(limit) => write!(f, "too long: the limit is {limit} bytes"),
            Self::NotText => f.write_str("not UTF-8 text"),
        }
    }
}

impl Lines {
    fn new(source: Box<dyn Read>, limit: usize) -> Self {
        Self {
            reader: BufReader::new(source),
            limit,
            line: Vec::new(),
            number: 0,
        }
    }

    /// Returns the number of the line last read; the first is 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Reads the next line without its line ending, or `None` after the last. Flushes `out` before
    /// it blocks: whoever sends the lines may wait for the verdict about the one before.
    pub(crate) fn next(
        &mut self,
        out: &mut dyn Write,
    ) -> io::Result<Option<Result<&str, BadLine>>> {
        if !self.reader.buffer().contains(&b'\n') {
            out.flush()?;
        }
        self.line.clear();
        let mut length = 0usize;
        loop {
            let available = match self.reader.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if available.is_empty() {
                if length == 0 {
                    return Ok(None);
                }
                break;
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            // One more than the limit, for a carriage return.
            let room = (self.limit + 1).saturating_sub(self.line.len());
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            let used = end.map_or(part.len(), |end| end + 1);
            length = length.saturating_add(part.len());
            self.reader.consume(used);
            if end.is_some() {
                break;
            }
        }
        self.number += 1;
        Ok(Some(self.text(length)))
    }

    fn text(&self, mut length: usize) -> Result<&str, BadLine> {
        let mut line = self.line.as_slice();
        if line.len() == length
            && let Some(without) = line.strip_suffix(b"\r")
        {
            line = without;
            length -= 1;
        }
        if length > self.limit {
            return Err(BadLine::TooLong(self.limit));
        }
        let text = str::from_utf8(line).map_err(|_| BadLine::NotText)?;
        let is_first = self.number == 1;
        Ok(text
            .strip_prefix(BYTE_ORDER_MARK)
            .filter(|_| is_first)
            .unwrap_or(text))
    }
}

/// Formats a JSON error with the right line number: the parser counts every line as the first.
pub(crate) fn at_line(number: u64, error: &serde_json::Error) -> String {
    let text = error.to_string();
    let column = error.column();
    match text.strip_suffix(&format!(" at line 1 column {column}")) {
        Some(text) => format!("line {number}, column {column}: {text}"),
        None => format!("line {number}: {text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &'static [u8], limit: usize) -> Vec<Result<String, BadLine>> {
        let mut lines = Lines::new(Box::new(text), limit);
        let mut found = Vec::new();
        while let Some(line) = lines.next(&mut io::sink()).unwrap() {
            found.push(line.map(ToOwned::to_owned));
        }
        found
    }

    #[test]
    fn lines_come_without_their_endings_and_the_last_needs_none() {
        assert_eq!(
            lines(b"a\r\n\nb", 9),
            [Ok("a".into()), Ok(String::new()), Ok("b".into())]
        );
        assert_eq!(lines(b"a\n", 9), [Ok("a".into())]);
        assert_eq!(lines(b"", 9), []);
    }

    #[test]
    fn a_line_over_the_limit_is_passed_over_and_the_next_is_read() {
        assert_eq!(
            lines(b"1234\n12345\n1234\r\n123\xff\nend", 4),
            [
                Ok("1234".into()),
                Err(BadLine::TooLong(4)),
                Ok("1234".into()),
                Err(BadLine::NotText),
                Ok("end".into()),
            ]
        );
    }

    #[test]
    fn a_byte_order_mark_counts_for_nothing_at_the_start_only() {
        let found = lines("\u{feff}a\n\u{feff}b".as_bytes(), 9);
        assert_eq!(found, [Ok("a".into()), Ok("\u{feff}b".into())]);
    }

    #[test]
    fn wrong_json_in_a_line_is_told_by_the_lines_own_number() {
        let error = serde_json::from_str::<serde_json::Value>("{").unwrap_err();
        let text = at_line(7, &error);
        assert!(text.starts_with("line 7, column 1: EOF"), "{text}");
    }

    #[test]
    fn notation_is_told_by_the_ending_in_any_case() {
        let notation = |name: &str| Source::from(OsString::from(name)).notation();
        assert_eq!(notation("a/b.YML"), Some(Notation::Yaml));
        assert_eq!(notation("form.toml"), Some(Notation::Toml));
        assert_eq!(notation("form.txt"), None);
        assert_eq!(notation("-"), None);
        assert_eq!(guess_notation("\n {"), Notation::Json);
        assert_eq!(guess_notation("id: x"), Notation::Yaml);
    }
}

//! Reads server-sent events as the HTML standard says, of bounded length.
//!
//! What the standard ignores is ignored: unknown fields, comments, lines without a colon, bytes that
//! are not UTF-8. An event that is too long is skipped, and what comes after it is read.

use bytes::{Buf as _, Bytes, BytesMut};
use memchr::memchr2;

/// How much is kept of the beginning of an event's data that is too long.
pub const HEAD: usize = 64 << 10;

/// How much is kept of the end of an event's data that is too long.
pub const TAIL: usize = 1 << 10;

/// The longest name of a field that means anything.
const LONGEST_NAME: usize = b"event".len();

/// The longest value of a field other than `data`. A longer one is as good as absent.
const LONGEST_VALUE: usize = 4 << 10;

/// An event, as far as it has the fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerEvent {
    /// What kind of event it is; a message if it does not say.
    pub kind: Option<String>,
    /// Its data: the lines of it, with newlines in between.
    pub data: Option<Data>,
    /// Where to go on after it, if the stream breaks. An empty one takes back those before.
    pub id: Option<String>,
    /// How many milliseconds to wait before going on.
    pub retry: Option<u64>,
}

/// The data of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    /// All of it.
    Whole(Bytes),
    /// It is too long, and was skipped.
    TooLong {
        /// Its first [`HEAD`] bytes.
        head: Bytes,
        /// Its last bytes, at most [`TAIL`].
        tail: Bytes,
    },
}

/// Reads events from chunks of a stream.
#[derive(Debug)]
pub struct EventParser {
    longest: usize,
    place: Place,
    /// The last byte was a carriage return, which a line feed may belong to.
    after_return: bool,
    is_first_line: bool,
    event: ServerEvent,
    has_data: bool,
    data: BytesMut,
    /// The end of data that is too long.
    tail: Option<BytesMut>,
}

/// Where in a line the next byte is.
#[derive(Debug)]
enum Place {
    /// In the name of a field, of which this much is known.
    Name(Vec<u8>),
    /// Right after the colon, where one space is skipped.
    Start(Field),
    /// In a value, of which this much is known, unless it is of `data`.
    Value(Field, Vec<u8>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Data,
    Event,
    Id,
    Retry,
    Ignored,
}

impl EventParser {
    /// Returns a parser of events with up to `longest` bytes of data.
    pub fn new(longest: usize) -> Self {
        Self {
            longest,
            place: Place::Name(Vec::new()),
            after_return: false,
            is_first_line: true,
            event: ServerEvent::default(),
            has_data: false,
            data: BytesMut::new(),
            tail: None,
        }
    }

    /// How many bytes of an incomplete event are kept.
    pub fn kept(&self) -> usize {
        self.data.len()
    }

    /// Reads from a chunk up to the end of an event, and returns that. `None` says that the chunk
    /// was read completely.
    pub fn read(&mut self, chunk: &mut Bytes) -> Option<ServerEvent> {
        while let Some(&first) = chunk.first() {
            if std::mem::take(&mut self.after_return) && first == b'\n' {
                chunk.advance(1);
                continue;
            }
            let end = memchr2(b'\n', b'\r', chunk);
            self.read_part(&chunk[..end.unwrap_or(chunk.len())]);
            let Some(end) = end else {
                break;
            };
            self.after_return = chunk[end] == b'\r';
            chunk.advance(end + 1);
            if let Some(event) = self.end_line() {
                return Some(event);
            }
        }
        // Even an empty part keeps the memory of its connection's buffer, as long as the stream lasts.
        *chunk = Bytes::new();
        None
    }

    /// Reads a part of a line.
    fn read_part(&mut self, mut part: &[u8]) {
        while let Some(&first) = part.first() {
            match &mut self.place {
                Place::Name(name) => {
                    let colon = part
                        .iter()
                        .take(LONGEST_NAME + 4)
                        .position(|it| *it == b':');
                    let length = colon.unwrap_or(part.len());
                    // A byte order mark may stand before the first name.
                    if name.len() + length > LONGEST_NAME + 3 {
                        self.place = Place::Value(Field::Ignored, Vec::new());
                        continue;
                    }
                    name.extend_from_slice(&part[..length]);
                    if colon.is_none() {
                        return;
                    }
                    part = &part[length + 1..];
                    self.place = Place::Start(self.field());
                }
                Place::Start(field) => {
                    if first == b' ' {
                        part = &part[1..];
                    }
                    self.place = Place::Value(*field, Vec::new());
                    self.begin_value();
                }
                Place::Value(Field::Data, _) => {
                    self.add_data(part);
                    return;
                }
                Place::Value(Field::Ignored, _) => return,
                Place::Value(field, value) => {
                    if value.len() + part.len() > LONGEST_VALUE {
                        *field = Field::Ignored;
                    } else {
                        value.extend_from_slice(part);
                    }
                    return;
                }
            }
        }
    }

    /// The field whose name was read.
    fn field(&self) -> Field {
        let Place::Name(name) = &self.place else {
            return Field::Ignored;
        };
        let mut name = name.as_slice();
        if self.is_first_line {
            name = name.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(name);
        }
        match name {
            b"data" => Field::Data,
            b"event" => Field::Event,
            b"id" => Field::Id,
            b"retry" => Field::Retry,
            _ => Field::Ignored,
        }
    }

    fn begin_value(&mut self) {
        if let Place::Value(Field::Data, _) = self.place {
            if self.has_data {
                self.add_data(b"\n");
            }
            self.has_data = true;
        }
    }

    fn add_data(&mut self, part: &[u8]) {
        if self.tail.is_none() && self.data.len() + part.len() <= self.longest {
            return self.data.extend_from_slice(part);
        }
        let tail = self.tail.get_or_insert_with(|| {
            let mut tail = BytesMut::new();
            add_to_tail(&mut tail, &self.data);
            // Gives back the memory of the rest.
            self.data = BytesMut::from(&self.data[..self.data.len().min(HEAD)]);
            tail
        });
        add_to_tail(tail, part);
        let missing = (HEAD - self.data.len()).min(part.len());
        self.data.extend_from_slice(&part[..missing]);
    }

    /// Ends a line; returns the event that an empty one ends.
    fn end_line(&mut self) -> Option<ServerEvent> {
        if let Place::Name(name) = &self.place
            && name.is_empty()
        {
            self.is_first_line = false;
            return self.end_event();
        }
        // A name alone is a field with an empty value.
        if let Place::Name(_) = &self.place {
            self.place = Place::Start(self.field());
        }
        if let Place::Start(field) = self.place {
            self.place = Place::Value(field, Vec::new());
            self.begin_value();
        }
        self.is_first_line = false;
        let line = std::mem::replace(&mut self.place, Place::Name(Vec::new()));
        let Place::Value(field, value) = line else {
            return None;
        };
        let text = || String::from_utf8_lossy(&value).into_owned();
        match field {
            Field::Event => self.event.kind = Some(text()),
            Field::Id if value.contains(&0) => {}
            Field::Id => self.event.id = Some(text()),
            Field::Retry if value.iter().all(u8::is_ascii_digit) => {
                self.event.retry = text().parse().ok().or(self.event.retry);
            }
            Field::Data | Field::Retry | Field::Ignored => {}
        }
        None
    }

    fn end_event(&mut self) -> Option<ServerEvent> {
        let mut event = std::mem::take(&mut self.event);
        let data = std::mem::take(&mut self.data).freeze();
        let tail = self.tail.take();
        if std::mem::take(&mut self.has_data) {
            event.data = Some(match tail {
                None => Data::Whole(data),
                Some(tail) => Data::TooLong {
                    head: data,
                    tail: Bytes::copy_from_slice(&tail[tail.len().saturating_sub(TAIL)..]),
                },
            });
        }
        (event != ServerEvent::default()).then_some(event)
    }
}

/// Adds to what is kept of an end, which grows up to twice as long before it is cut.
fn add_to_tail(tail: &mut BytesMut, part: &[u8]) {
    tail.extend_from_slice(&part[part.len().saturating_sub(TAIL)..]);
    if tail.len() > 2 * TAIL {
        tail.advance(tail.len() - TAIL);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn events(longest: usize, chunks: &[&[u8]]) -> Vec<ServerEvent> {
        let mut parser = EventParser::new(longest);
        let mut events = Vec::new();
        for chunk in chunks {
            let mut chunk = Bytes::copy_from_slice(chunk);
            while let Some(event) = parser.read(&mut chunk) {
                events.push(event);
            }
        }
        events
    }

    fn data(text: &str) -> Data {
        Data::Whole(Bytes::copy_from_slice(text.as_bytes()))
    }

    #[test]
    fn fields_are_read_as_the_standard_says() {
        let text = "\u{feff}data: a\n: comment\ndata:b\ndata\nunknown: x\nno colon at all\n\
            event: message\nid: 1\nid: 2\nretry: 10\nretry: soon\n\n\
            id\ndata:  c \n\n\n\nevent: ping\n\nid: a\0b\nretry: 7\n\ndata: never ended";
        let expected = [
            ServerEvent {
                kind: Some("message".into()),
                data: Some(data("a\nb\n")),
                id: Some("2".into()),
                retry: Some(10),
            },
            ServerEvent {
                data: Some(data(" c ")),
                id: Some(String::new()),
                ..ServerEvent::default()
            },
            ServerEvent {
                kind: Some("ping".into()),
                ..ServerEvent::default()
            },
            ServerEvent {
                retry: Some(7),
                ..ServerEvent::default()
            },
        ];
        for end in ["\n", "\r\n", "\r"] {
            let text = text.replace('\n', end);
            for cut in 0..=text.len() {
                let (first, second) = text.as_bytes().split_at(cut);
                let found = events(100, &[first, second]);
                let expected: Vec<_> = expected.to_vec();
                assert_eq!(found, expected, "{end:?} cut at {cut}");
            }
        }
    }

    #[test]
    fn what_is_too_long_is_skipped_and_the_rest_is_read() {
        let long = "x".repeat(200_000);
        let text =
            format!("data: {{\"id\":7,\ndata: {long}\ndata: \"end\"}}\n\n:{long}\ndata: a\n\n");
        for size in [1, 7, 1_000, text.len()] {
            let chunks: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            let found = events(100_000, &chunks);
            let [first, second] = &*found else {
                panic!("{} events", found.len());
            };
            let Some(Data::TooLong { head, tail }) = &first.data else {
                panic!("{size}");
            };
            assert!(head.starts_with(b"{\"id\":7,\nxxx"));
            assert_eq!(head.len(), HEAD);
            assert!(tail.ends_with(b"xxx\n\"end\"}"));
            assert_eq!(tail.len(), TAIL);
            assert_eq!(second.data, Some(data("a")));
        }
    }

    #[test]
    fn no_line_of_any_kind_grows_what_is_kept() {
        for name in [
            "data: ",
            ":",
            "id: ",
            "event: ",
            "retry: ",
            "x",
            "unknown: ",
        ] {
            let mut parser = EventParser::new(1_000);
            let mut first = Bytes::copy_from_slice(name.as_bytes());
            assert_eq!(parser.read(&mut first), None);
            for _ in 0..1_000 {
                let mut more = Bytes::from_static(&[b'7'; 1_000]);
                assert_eq!(parser.read(&mut more), None);
                let value = match &parser.place {
                    Place::Name(text) | Place::Value(_, text) => text.len(),
                    Place::Start(_) => 0,
                };
                let tail = parser.tail.as_ref().map_or(0, BytesMut::len);
                assert!(parser.data.capacity() <= 2 * HEAD && value <= LONGEST_VALUE);
                assert!(tail <= 3 * TAIL);
            }
        }
    }

    proptest! {
        #[test]
        fn events_do_not_depend_on_how_bytes_are_cut(
            bytes in prop::collection::vec(
                prop_oneof![
                    Just(b'\n'), Just(b'\r'), Just(b':'), Just(b' '), any::<u8>(),
                    prop::sample::select(b"dataeventidretry0".to_vec()),
                ],
                0..200,
            ),
            words in prop::collection::vec(
                prop::sample::select(vec!["data:", "id: 1", "\n", "\r\n", "\n\n", "event:m", "\u{feff}", "x"]),
                0..20,
            ),
            size in 1..20_usize,
        ) {
            let text = [words.concat().as_bytes(), &bytes, words.concat().as_bytes()].concat();
            let whole = events(20, &[&text]);
            let chunks: Vec<&[u8]> = text.chunks(size).collect();
            prop_assert_eq!(events(20, &chunks), whole);
        }
    }
}

//! What a client sends, taken apart: single messages, or a batch of them.
//!
//! This is the only place that says what of a client is a message, how many a batch may have, and
//! what whoever sent something else gets. The responses to a batch are put together by
//! [`ClientSender::for_batch`].

use bytes::Bytes;
use entreat_wire::values::ValueCounter;
use serde_json::value::RawValue;

use crate::client::ClientSender;
use crate::envelope::{self, Envelope, Kind, NotAMessage, RawId};
use crate::reply::Reply;
use crate::side::lines::{Line, MAX_MESSAGE, Overlong};

/// The maximum number of messages in a batch.
const MAX_BATCH: usize = 100;

/// What a client has sent.
pub(crate) enum Incoming {
    /// A single message, or something that [`message`] refuses.
    One(Bytes),
    /// Several, which go on one by one, since few servers take batches.
    Several {
        messages: Vec<Bytes>,
        /// Where the responses go, which come back together.
        via: ClientSender,
    },
    /// Nothing that goes on: whoever waits for it has an error.
    Nothing,
}

impl Incoming {
    /// Takes apart what a client has sent; `via` is where the responses go.
    pub(crate) fn read(text: Bytes, via: &ClientSender) -> Self {
        if ValueCounter::check(&text).is_err() {
            let id = Overlong::read(&text, &[]).id;
            refuse(via, id, "the message has too many values");
            return Self::Nothing;
        }
        if !envelope::is_batch(&text) {
            return Self::One(text);
        }
        let Ok(batch) = Envelope::read(&text) else {
            return Self::One(text);
        };
        let messages = match split(&batch) {
            Ok(messages) => messages,
            Err(why) => {
                refuse(via, None, why);
                return Self::Nothing;
            }
        };
        let is_silent = |message: &&&RawValue| match Envelope::read(message.get().as_bytes()) {
            Ok(it) => matches!(it.kind, Kind::Response { .. } | Kind::Notification { .. }),
            Err(error) => error == NotAMessage::NotJson,
        };
        let silent = messages.iter().filter(is_silent).count();
        let messages = messages.into_iter();
        let messages: Vec<Bytes> = messages
            .map(|message| Bytes::copy_from_slice(message.get().as_bytes()))
            .collect();
        Self::Several {
            via: via.for_batch(messages.len() - silent),
            messages,
        }
    }

    /// Takes what came on a connection. A message that is too long becomes an error for whoever
    /// waits for it: the client, or whoever has asked the client.
    pub(crate) fn of_line(line: Line, via: &ClientSender) -> Self {
        let found = match line {
            Line::Message(text) => return Self::read(text, via),
            Line::TooLong { head, tail } => Overlong::read(&head, &tail),
        };
        match found.id {
            Some(id) if found.has_method => refuse(via, Some(id), TOO_LONG),
            Some(id) => {
                let error = Reply::invalid_request(TOO_LONG);
                return Self::One(error.to_message(&id).into());
            }
            None => {}
        }
        Self::Nothing
    }
}

const TOO_LONG: &str = "the message is longer than 16 MiB";
// What the text says.
const _: () = assert!(MAX_MESSAGE == 16 << 20);

/// The messages of a batch, or why it is not taken.
pub(crate) fn split<'a>(batch: &Envelope<'a>) -> Result<Vec<&'a RawValue>, &'static str> {
    let messages: Vec<&RawValue> = serde_json::from_str(batch.text).unwrap_or_default();
    if !(1..=MAX_BATCH).contains(&messages.len()) {
        return Err("a batch has between 1 and 100 messages");
    }
    Ok(messages)
}

/// The envelope of a single message; `None` if it is none, of which the client has been told.
pub(crate) fn message<'a>(text: &'a [u8], via: &ClientSender) -> Option<Envelope<'a>> {
    match Envelope::read(text) {
        // One within another.
        Ok(Envelope {
            kind: Kind::Batch, ..
        })
        | Err(NotAMessage::NotRpc) => refuse_invalid(via),
        Ok(envelope) => return Some(envelope),
        Err(NotAMessage::NotJson) => {
            tracing::debug!("skipped a line of the client that is not JSON");
        }
    }
    None
}

fn refuse_invalid(via: &ClientSender) {
    refuse(via, None, "Invalid request");
}

fn refuse(via: &ClientSender, id: Option<RawId>, text: &str) {
    let id = id.unwrap_or_else(|| RawId::new("null"));
    let error = Reply::invalid_request(text);
    via.reply(&id, &error);
}

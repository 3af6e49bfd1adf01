//! Reads bodies: single messages, and streams of events.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use entreat_wire::http::sse::{Data, EventParser};
use entreat_wire::http::{ExchangeError, Response};
use http::HeaderValue;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::verdict::failure;
use crate::memory::{Account, GrowingReservation};
use crate::side::lines::Overlong;
use crate::side::{Failure, too_many_values};

/// A message that is longer than this takes one of the slots, and memory of its principal, while it
/// is received.
const SHORT: usize = 64 << 10;
/// How many messages that are not short may be received at once.
const SLOTS: usize = 8;

/// How long a stream may stay open after its response.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// How much it may still send.
const DRAINED: usize = 64 << 10;

/// Why a body cannot be read to its end.
#[derive(Debug)]
pub(super) enum ReadError {
    Exchange(ExchangeError),
    /// The share of the principal is used up.
    NoMemory,
}

impl From<ExchangeError> for ReadError {
    fn from(error: ExchangeError) -> Self {
        Self::Exchange(error)
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Exchange(error) => failure(error),
            ReadError::NoMemory => Self::NoMemory,
        }
    }
}

/// What bounds the memory for messages that are being received. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    places: Arc<Semaphore>,
    /// Whose memory they take, once that is known.
    account: Arc<OnceLock<Account>>,
}

/// A place for a message that is being received, and its memory.
#[derive(Debug)]
pub(super) struct Slot {
    _place: Option<OwnedSemaphorePermit>,
    memory: GrowingReservation,
}

impl Slots {
    pub(super) fn new() -> Self {
        Self {
            places: Arc::new(Semaphore::new(SLOTS)),
            account: Arc::default(),
        }
    }

    /// Makes the messages count towards the memory of a principal.
    pub(super) fn count_memory(&self, account: Account) {
        // A connection has one session.
        let _ = self.account.set(account);
    }

    /// Makes room for so many bytes of a message. Waits for a slot if the message has none yet and
    /// is not short.
    async fn make_room(&self, slot: &mut Option<Slot>, bytes: usize) -> Result<(), ReadError> {
        if slot.is_none() && bytes > SHORT {
            let account = self.account.get().cloned();
            *slot = Some(Slot {
                // Never closed.
                _place: self.places.clone().acquire_owned().await.ok(),
                memory: account.map(GrowingReservation::of).unwrap_or_default(),
            });
        }
        let has_memory = slot.as_mut().is_none_or(|it| it.memory.resize(bytes));
        has_memory.then_some(()).ok_or(ReadError::NoMemory)
    }

    /// Reads a body up to `limit` bytes, of not too many values.
    pub(super) async fn body(
        &self,
        mut response: Response,
        limit: usize,
    ) -> Result<Body, ReadError> {
        let mut body = BytesMut::new();
        let mut slot = None;
        while let Some(chunk) = response.chunk().await? {
            if chunk.len() > limit - body.len() {
                return Err(ExchangeError::TooLong(limit).into());
            }
            self.make_room(&mut slot, body.len() + chunk.len()).await?;
            body.extend_from_slice(&chunk);
        }
        if too_many_values(&body).is_some() {
            return Err(ExchangeError::TooLong(limit).into());
        }
        Ok(Body {
            text: body.freeze(),
            slot,
        })
    }
}

/// A body, and its slot for as long as nobody else keeps count of it.
#[derive(Debug, Default)]
pub(super) struct Body {
    pub(super) text: Bytes,
    pub(super) slot: Option<Slot>,
}

/// Something on a stream that has data.
#[derive(Debug)]
pub(super) enum Item {
    /// A message, if it is one.
    Message(Bytes),
    /// A message that was too long, or had too many values.
    TooLong(Overlong),
    /// An event of another kind.
    Other(String),
}

/// The events of a response.
#[derive(Debug)]
pub(super) struct Events {
    response: Response,
    parser: EventParser,
    chunk: Bytes,
    slot: Option<Slot>,
    slots: Slots,
    place: Place,
}

/// Where a stream is, and how to go on from there.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    /// The last event's id.
    pub(super) last_id: Option<HeaderValue>,
    /// How long to wait before going on, as the server says.
    pub(super) retry: Option<Duration>,
    /// Whether something came since the stream was opened.
    pub(super) has_moved: bool,
}

impl Events {
    /// Reads a response from this place on.
    pub(super) fn new(response: Response, longest: usize, slots: &Slots, place: Place) -> Self {
        Self {
            response: response.without_headers(),
            parser: EventParser::new(longest),
            chunk: Bytes::new(),
            slot: None,
            slots: slots.clone(),
            place: Place {
                has_moved: false,
                ..place
            },
        }
    }

    /// Returns the next item; `None` at the end. Ask for it when the one before was passed on: its
    /// slot is given back.
    pub(super) async fn next(&mut self) -> Result<Option<Item>, ReadError> {
        loop {
            if self.parser.kept() == 0 {
                self.slot = None;
            }
            // It lets go of the chunk at its end.
            while let Some(event) = self.parser.read(&mut self.chunk) {
                self.place.has_moved = true;
                if let Some(id) = event.id {
                    // An empty one takes back those before.
                    let id = (!id.is_empty()).then(|| HeaderValue::from_str(&id).ok());
                    self.place.last_id = id.flatten();
                }
                if let Some(retry) = event.retry {
                    self.place.retry = Some(Duration::from_millis(retry));
                }
                let is_message = event
                    .kind
                    .as_deref()
                    .is_none_or(|kind| matches!(kind, "message" | ""));
                match (event.data, event.kind) {
                    // It only has an id, from which to go on.
                    (None, _) => {}
                    (Some(Data::Whole(data)), _) if data.trim_ascii().is_empty() => {}
                    (Some(_), Some(kind)) if !is_message => return Ok(Some(Item::Other(kind))),
                    (Some(Data::Whole(data)), _) => {
                        return Ok(Some(match too_many_values(&data) {
                            None => Item::Message(data),
                            Some(found) => Item::TooLong(found),
                        }));
                    }
                    (Some(Data::TooLong { head, tail }), _) => {
                        return Ok(Some(Item::TooLong(Overlong::read(&head, &tail))));
                    }
                }
            }
            let Some(chunk) = self.response.chunk().await? else {
                return Ok(None);
            };
            let bytes = self.parser.kept() + chunk.len();
            self.slots.make_room(&mut self.slot, bytes).await?;
            self.chunk = chunk;
        }
    }

    /// Where the stream is.
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// Reads to the end, so that the connection can be used again. Gives up soon.
    pub(super) async fn drain(mut self) {
        drop(self.slot.take());
        let mut left = DRAINED.saturating_sub(self.chunk.len());
        let end = async {
            while let Ok(Some(chunk)) = self.response.chunk().await {
                left = left.saturating_sub(chunk.len());
                if left == 0 {
                    return;
                }
            }
        };
        // Dropping the response closes the connection.
        let _ = timeout(DRAIN_TIMEOUT, end).await;
    }
}

//! Bodies of requests: bounded in size, in number of values, in time, and in how many are read at
//! once.

use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::response::Response;
use bytes::Bytes;
use entreat_engine::fair_queue::FairQueue;
use entreat_wire::values::ValueCounter;
use futures_util::StreamExt as _;
use http::{HeaderMap, StatusCode, header};

use super::http::refuse;
use super::live::FrontSettings;
use crate::memory::{Account, in_words};
use crate::session::Person;

/// Bodies up to this size are read without a permit.
const SMALL: usize = 64 << 10;
/// How many larger ones are read at once, in total and of one principal.
const LARGE: usize = 8;
const LARGE_EACH: usize = 2;
/// How many times the longest message is read of a body that is too long, and thrown away: many
/// clients read no response before they have sent all.
const THROWN_AWAY: usize = 3;
/// The longest pause in such a body.
const PAUSE: Duration = Duration::from_secs(1);

/// Reads bodies.
pub(super) struct Bodies {
    large: FairQueue<String>,
    longest: usize,
    timeout: Duration,
}

impl Bodies {
    pub(super) fn new(settings: &FrontSettings) -> Self {
        Self {
            large: FairQueue::new(LARGE, LARGE_EACH),
            longest: settings.max_message,
            timeout: settings.body_timeout,
        }
    }

    /// Reads a body. Only so many large ones are read at once, and of one principal not all of them,
    /// since each may take its time.
    pub(super) async fn read(
        &self,
        person: &Person,
        memory: &Account,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<Bytes, Response> {
        let length = headers.get(header::CONTENT_LENGTH);
        let length = length.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
        let mut body = body.into_data_stream();
        if length.is_some_and(|length| length > self.longest) {
            return Err(self.too_large(headers, &mut body).await);
        }
        let mut read = Vec::with_capacity(length.unwrap_or_default().min(SMALL));
        if !self.read_up_to(&mut body, &mut read, SMALL).await? {
            // It may be a long wait, and others of the same principal may wait too.
            let Some(_reservation) = memory.reserve(read.len()) else {
                let text = "too many large messages are on their way; try again later";
                return Err(refuse(StatusCode::SERVICE_UNAVAILABLE, text));
            };
            let permit = self.large.acquire(person.principal.clone()).await;
            // The wait for a turn does not count.
            if !self.read_up_to(&mut body, &mut read, self.longest).await? {
                drop((read, permit));
                return Err(self.too_large(headers, &mut body).await);
            }
            if ValueCounter::check(&read).is_err() {
                let text = "the message has too many values";
                return Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, text));
            }
        }
        Ok(read.into())
    }

    /// Reads a body until it ends or is longer than this. Returns whether it has ended.
    async fn read_up_to(
        &self,
        body: &mut BodyDataStream,
        read: &mut Vec<u8>,
        limit: usize,
    ) -> Result<bool, Response> {
        let reading = async {
            while read.len() <= limit {
                match body.next().await {
                    Some(Ok(data)) => read.extend_from_slice(&data),
                    Some(Err(_)) => {
                        return Err(refuse(StatusCode::BAD_REQUEST, "the body broke off"));
                    }
                    None => return Ok(true),
                }
            }
            Ok(false)
        };
        match tokio::time::timeout(self.timeout, reading).await {
            Ok(read) => read,
            Err(_) => Err(refuse(
                StatusCode::REQUEST_TIMEOUT,
                "the body took too long to arrive",
            )),
        }
    }

    /// Refuses a body that is too long, after what comes still of it.
    async fn too_large(&self, headers: &HeaderMap, body: &mut BodyDataStream) -> Response {
        let mut left = THROWN_AWAY * self.longest;
        let reading = async {
            while let Ok(Some(Ok(data))) = tokio::time::timeout(PAUSE, body.next()).await
                && data.len() <= left
            {
                left -= data.len();
            }
        };
        // A client that expects to be told whether to send it reads the response first.
        if !headers.contains_key(header::EXPECT) {
            // The response is the same.
            let _ = tokio::time::timeout(self.timeout, reading).await;
        }
        let text = format!("the message is longer than {}", in_words(self.longest));
        refuse(StatusCode::PAYLOAD_TOO_LARGE, &text)
    }
}

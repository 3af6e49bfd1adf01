//! Cancellations of requests: how they are read, written, and passed on to a peer that knows the
//! request by another id.

use crate::envelope::{self, RawId};
use crate::json::{RawObject, quoted};

/// The method of the notification.
pub(crate) const CANCELLED: &str = "notifications/cancelled";

/// The member that names the request.
const REQUEST_ID: &str = "requestId";

/// Says that a request is cancelled.
#[derive(Clone)]
pub(crate) struct Cancellation<'a> {
    /// The request, by its id at whoever gets this.
    pub(crate) id: RawId,
    params: RawObject<'a>,
}

impl<'a> Cancellation<'a> {
    /// Reads the parameters of the notification; `None` if they name no request.
    pub(crate) fn read(params: &'a str) -> Option<Self> {
        let params = RawObject::parse(params)?;
        let id = RawId::new(params.get(REQUEST_ID)?);
        Some(Self { id, params })
    }

    /// Names the request by its id at another peer; whatever else the cancellation says stays.
    pub(crate) fn passed_on_as(mut self, id: &RawId) -> Self {
        self.params.set(REQUEST_ID, id.as_str().to_owned());
        self.id = id.clone();
        self
    }

    /// The parameters of the notification.
    pub(crate) fn params(&self) -> String {
        self.params.to_string()
    }

    /// The notification.
    pub(crate) fn to_message(&self) -> Vec<u8> {
        envelope::notification(CANCELLED, &self.params())
    }
}

impl Cancellation<'static> {
    /// Cancels a request.
    pub(crate) fn of(id: &RawId) -> Self {
        let unnamed = Self {
            id: id.clone(),
            params: RawObject::default(),
        };
        unnamed.passed_on_as(id)
    }

    /// Cancels a request for a reason that people read.
    pub(crate) fn because(id: &RawId, reason: &str) -> Self {
        let mut cancellation = Self::of(id);
        cancellation.params.set("reason", quoted(reason));
        cancellation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_else_a_cancellation_says_is_passed_on() {
        let params = r#"{"reason":"enough","requestId":"a","n":1.0}"#;
        let cancellation = Cancellation::read(params).unwrap();
        assert_eq!(cancellation.id, RawId::text("a"));
        assert_eq!(
            cancellation.passed_on_as(&RawId::number(7)).params(),
            r#"{"reason":"enough","requestId":7,"n":1.0}"#
        );
        assert!(Cancellation::read(r#"{"reason":"enough"}"#).is_none());
        assert_eq!(
            Cancellation::because(&RawId::number(7), "it \"ends\"").params(),
            r#"{"requestId":7,"reason":"it \"ends\""}"#
        );
    }
}

//! States of upstreams of 2026-07-28 that pass through the gateway with rounds which the client
//! answers itself.
//!
//! Towards a single client they pass as they are, marked only if they could be taken for ours.
//! Where several people share a gateway, they are sealed: the upstream may know all of them by one
//! credential, so that nobody else can tell whose round it is.

use std::time::Duration;

use crate::call::Method;
use crate::flow::{Sealed, TICKET};
use crate::json::{RawObject, quoted};
use crate::reply::Reply;
use crate::session::Session;

/// Begins a state of an upstream that begins as ours do: there is another gateway behind this one.
const FOREIGN: &str = "entreat1~";
/// How long a client may take to answer a round. How long its state is good is for the upstream to
/// say; this only ends what was forgotten.
const LIFETIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);

impl Session {
    /// Returns a round for the client with a state that is safe to pass; `None` if it passes as it
    /// is.
    pub(crate) fn with_outbound_state(
        &self,
        method: Method,
        params: &str,
        result: &str,
    ) -> Option<String> {
        if self.client.is_alone() {
            return with_foreign_state(result);
        }
        let mut result = RawObject::parse(result)?;
        // A round without a state has nothing that somebody else could use.
        let state = result.get("requestState").filter(|it| *it != "null")?;
        let sealed = Sealed::Relayed(state.to_owned());
        let binding = self.binding(method.name(), &RawObject::parse(params)?);
        let expires = self.engine().now().after(LIFETIME);
        let sealed = self.gateway.sealer.seal(&binding, expires, &sealed);
        result.set("requestState", quoted(&format!("{TICKET}{sealed}")));
        Some(result.to_string())
    }

    /// Returns the parameters of a request with the upstream's own state; `None` if they have none,
    /// or one of ours. The error is for a state that was not given to this principal for this call.
    pub(crate) fn with_inbound_state(
        &self,
        method: Method,
        params: &str,
    ) -> Result<Option<String>, Reply> {
        if self.client.is_alone() {
            return Ok(with_restored_state(params));
        }
        let refused = || Reply::invalid_state();
        if !method.may_ask() {
            return Ok(None);
        }
        let Some(mut object) = RawObject::parse(params) else {
            // Of two states, the upstream could read the other one.
            let text = "params: is not an object, or names a member twice";
            return Err(Reply::invalid_params(text));
        };
        if object.get("requestState").is_none_or(|it| it == "null") {
            return Ok(None);
        }
        let state = object.string("requestState");
        let Some(sealed) = state.as_deref().and_then(|it| it.strip_prefix(TICKET)) else {
            return Err(refused());
        };
        let binding = self.binding(method.name(), &object);
        match self.gateway.sealer.open(sealed, &binding) {
            Ok(opened) => match opened.contents {
                Sealed::Relayed(state) => {
                    object.set("requestState", state);
                    Ok(Some(object.to_string()))
                }
                Sealed::Parked(_) => Ok(None),
            },
            Err(reason) => {
                self.warn("a request state was rejected", reason);
                Err(refused())
            }
        }
    }
}

/// Marks the state in a result as the upstream's, if it could be taken for ours.
fn with_foreign_state(result: &str) -> Option<String> {
    memchr::memmem::find(result.as_bytes(), b"entreat1")?;
    let mut result = RawObject::parse(result)?;
    let state = result.string("requestState")?;
    if !state.starts_with(TICKET) && !state.starts_with(FOREIGN) {
        return None;
    }
    result.set("requestState", quoted(&format!("{FOREIGN}{state}")));
    Some(result.to_string())
}

/// Restores the upstream's state in the parameters of a request, if it was marked.
fn with_restored_state(params: &str) -> Option<String> {
    memchr::memmem::find(params.as_bytes(), FOREIGN.as_bytes())?;
    let mut params = RawObject::parse(params)?;
    let state = params.string("requestState")?;
    let state = state.strip_prefix(FOREIGN)?;
    params.set("requestState", quoted(state));
    Some(params.to_string())
}

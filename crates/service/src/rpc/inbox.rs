//! The method that returns the link to the inbox.

use serde_json::json;

use super::answer::{Work, to_text};
use super::error::RpcError;
use super::method::Call;
use crate::askers::Role;

pub(super) fn link(call: &Call<'_>) -> Result<Work, RpcError> {
    call.session.asker().charge()?;
    let links = call.rpc.links.as_ref();
    let link = links.and_then(|links| links.inbox());
    let link = link.ok_or_else(RpcError::no_inbox)?;
    // Whoever has a secret link and is on this machine sees and answers the questions of all
    // askers, so it is only for those who can do so anyway.
    if link.is_secret && call.session.role() != Role::Local {
        return Err(RpcError::not_your_inbox());
    }
    Ok(Work::done(to_text(&json!({"url": link.url}))))
}

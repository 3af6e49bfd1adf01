//! What an upstream lists of its tools, on which its calls may depend.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{Pair, Session};
use crate::json::{RawObject, quoted};
use crate::policy::UNREADABLE;
use crate::reply::Reply;

/// How many pages of a list of tools are read.
const MAX_PAGES: usize = 100;
/// How long an upstream that has not listed its tools is not asked for them again.
const LIST_AGAIN: Duration = Duration::from_secs(30);

impl Session {
    /// Refuses a call of a tool that the upstream must not offer.
    pub(super) async fn refuse_call(self: &Arc<Self>, pair: Pair, params: &str) -> Option<Reply> {
        if pair != Pair::Undecided && self.must_list() {
            // The client knows the tools from before; what they are now is not known here.
            Box::pin(self.try_list(pair)).await;
        }
        if self.is_resume(params) {
            return None;
        }
        self.policy.refuse_call(params)
    }

    /// Whether all of the tools were listed once.
    pub(crate) fn has_listed(&self) -> bool {
        self.has_listed.load(Ordering::Relaxed)
    }

    /// Whether a call has to wait until the upstream has listed its tools.
    pub(crate) fn must_list(&self) -> bool {
        self.policy.needs_list() && !self.has_listed()
    }

    /// Has the upstream list its tools, unless it did not do so a moment ago: without its list, its
    /// calls are refused.
    async fn try_list(self: &Arc<Self>, pair: Pair) {
        let failed = *self.list_failed.lock();
        if failed.is_some_and(|at| self.engine().now().since(at) < LIST_AGAIN) {
            return;
        }
        tokio::select! {
            biased;
            () = self.list_tools(pair) => {}
            () = self.sleep(self.settings().stragglers) => {}
        }
        if self.must_list() {
            let server = &self.fallback_name;
            tracing::warn!(
                server,
                "the server does not list its tools, so none is called"
            );
            *self.list_failed.lock() = Some(self.engine().now());
        }
    }

    async fn list_tools(self: &Arc<Self>, pair: Pair) {
        let mut params = "{}".to_owned();
        let modern = matches!(pair, Pair::Modern | Pair::Raised).then(|| self.client_meta());
        for _ in 0..MAX_PAGES {
            let stamped = modern
                .as_ref()
                .map(|client_meta| client_meta.applied_to(&params));
            let listing = self.request("tools/list", stamped.as_deref().unwrap_or(&params));
            let Reply::Result(page) = listing.await else {
                return;
            };
            self.take_tools(&page);
            let cursor = RawObject::parse(&page).and_then(|page| page.string("nextCursor"));
            let Some(cursor) = cursor else {
                return;
            };
            params = format!(r#"{{"cursor":{}}}"#, quoted(&cursor));
        }
    }

    /// Takes a page of the list of tools; returns it without those that are not offered.
    pub(crate) fn take_tools(&self, result: &str) -> Option<String> {
        self.note_tools(result);
        if !self.client.is_alone() {
            // Tools whose annotations are invalid are the client's to leave out.
            self.param_headers.learn(result);
        }
        let is_last =
            RawObject::parse(result).is_none_or(|page| page.string("nextCursor").is_none());
        if is_last {
            self.has_listed.store(true, Ordering::Relaxed);
        }
        let filtered = self.policy.filtered(&self.fallback_name, result);
        if filtered.as_deref() == Some(UNREADABLE) {
            self.warn("a list of tools cannot be read", "none of them is offered");
        }
        filtered
    }
}

//! What an upstream lists of its tools, on which its calls may depend.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use memchr::memmem;
use parking_lot::Mutex;
use serde_json::value::RawValue;

use super::{Pair, Session};
use crate::json::{RawObject, quoted};
use crate::policy::{UNREADABLE, is_name};
use crate::reply::Reply;

/// How many pages of a list of tools are read.
const MAX_PAGES: usize = 100;
/// How long an upstream that has not listed its tools is not asked for them again.
const LIST_AGAIN: Duration = Duration::from_secs(30);
/// The maximum number of tools of which it is remembered that their results have a schema.
const MAX_STRUCTURED: usize = 2_000;

/// The tools whose results have a schema, as lists of tools go by. Clients check it, and drop a
/// result without structured content unless it is an error.
#[derive(Default)]
pub(crate) struct StructuredTools(Mutex<Structured>);

#[derive(Default)]
struct Structured {
    names: HashSet<String>,
    /// Whether there were more than are remembered.
    is_full: bool,
}

impl StructuredTools {
    /// Notes a list of tools, which may be one of several pages.
    fn note(&self, result: &str) {
        let has_schemas = memmem::find(result.as_bytes(), b"\"outputSchema\"").is_some();
        if !has_schemas && self.0.lock().names.is_empty() {
            return;
        }
        let list = RawObject::parse(result);
        let tools = list.as_ref().and_then(|list| list.get("tools"));
        let Some(Ok(tools)) = tools.map(serde_json::from_str::<Vec<&RawValue>>) else {
            return;
        };
        let mut known = self.0.lock();
        for tool in tools {
            let Some(tool) = RawObject::parse(tool.get()) else {
                continue;
            };
            let Some(name) = tool.string("name").filter(|name| is_name(name)) else {
                continue;
            };
            if tool
                .get("outputSchema")
                .is_none_or(|schema| schema == "null")
            {
                known.names.remove(&name);
            } else if known.names.len() < MAX_STRUCTURED {
                known.names.insert(name);
            } else {
                known.is_full = true;
            }
        }
    }

    fn has(&self, tool: &str) -> bool {
        let known = self.0.lock();
        known.is_full || known.names.contains(tool)
    }
}

impl Session {
    /// Refuses a call of a tool that the upstream must not offer.
    pub(super) async fn refuse_call(self: &Arc<Self>, pair: Pair, params: &str) -> Option<Reply> {
        if pair != Pair::Undecided && self.must_list() {
            // The client knows the tools from before; what they are now is not known here.
            Box::pin(self.try_list(pair)).await;
            if self.must_list() {
                let server = &self.fallback_name;
                tracing::warn!(
                    server,
                    "the server does not list its tools, so none is called"
                );
            }
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

    /// Has the upstream list its tools, if the client has not: a result of ours, or a question about
    /// a call, depends on what it says of them.
    pub(crate) async fn know_tools(self: &Arc<Self>) {
        if !self.has_listed() {
            let pair = self.state.lock().pair;
            Box::pin(self.try_list(pair)).await;
        }
    }

    /// Whether the results of a tool have a schema, which a result of ours in their place has not.
    pub(crate) fn is_structured(&self, tool: &str) -> bool {
        self.structured.has(tool)
    }

    /// Has the upstream list its tools, unless it did not do so a moment ago.
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
        if !self.has_listed() {
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
        self.structured.note(result);
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

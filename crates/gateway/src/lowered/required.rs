//! A call at a server of 2025, sent again after the URLs that it requires were visited.
//!
//! 2026-07-28 has no error -32042: its client gets the URLs as questions, and the call goes on here.

use std::collections::HashSet;
use std::sync::Arc;

use entreat_wire::message::ElicitRequest;
use futures_util::future::join_all;
use serde_json::Value;

use super::NotedCall;
use crate::ask::{Question, answer};
use crate::face::Face;
use crate::flow::Flow;
use crate::json::RawObject;
use crate::reply::{Reply, code, error_code};
use crate::session::Session;

/// The maximum number of URLs that one call may require.
const MAX_URLS: usize = 10;

impl Session {
    /// Calls the server; repeats the call after URLs that it requires were visited.
    pub(super) async fn call_parked(
        self: &Arc<Self>,
        flow: &Arc<Flow>,
        method: &str,
        params: &str,
    ) -> Reply {
        let mut allowed = HashSet::new();
        let mut repeats = 0;
        loop {
            let noted = NotedCall::new(self, flow);
            let reply = self
                .request_noting(method, params, |id| noted.note(id))
                .await;
            drop(noted);
            self.answers_used(&reply, flow.take_answers());
            let Reply::Error(error) = &reply else {
                return reply;
            };
            if error_code(error) != Some(i64::from(code::URL_REQUIRED)) {
                return reply;
            }
            repeats += 1;
            let visited = self.visit_modern(flow, error, &mut allowed).await;
            if let Err(reply) = visited {
                return reply;
            }
            if repeats > self.settings().rounds {
                return not_visited(error);
            }
        }
    }

    /// Asks the client to visit the URLs of an error, except for those that were allowed before:
    /// there, the person is not done yet. Returns what the call ends with if it is not to be sent
    /// again.
    async fn visit_modern(
        self: &Arc<Self>,
        flow: &Arc<Flow>,
        error: &str,
        allowed: &mut HashSet<String>,
    ) -> Result<(), Reply> {
        let parsed: Value = serde_json::from_str(error).unwrap_or_default();
        let urls = parsed["data"]["elicitations"].as_array();
        let urls = urls.cloned().unwrap_or_default();
        if urls.is_empty() || urls.len() > MAX_URLS {
            return Err(not_visited(error));
        }
        let face = Face::of(flow);
        let asked = urls.iter().map(|url| {
            let text = |name: &str| url[name].as_str().unwrap_or_default();
            let is_allowed = allowed.contains(text("url"));
            let request = ElicitRequest::url(text("message"), text("url"), None);
            let visited = url["elicitationId"].as_str().map(|id| self.visited(id));
            let question = Question {
                raw: request.clone().into_params().to_string(),
                request,
            };
            let face = &face;
            async move {
                if !is_allowed {
                    let result = match answer(face, &question).await {
                        Reply::Result(result) => result,
                        error @ Reply::Error(_) => return Err(error),
                    };
                    let action = RawObject::parse(&result).and_then(|it| it.string("action"));
                    if action.is_none_or(|action| action != "accept") {
                        return Err(not_visited(error));
                    }
                }
                let _open = face.page_opened();
                let reported = async {
                    let is_reported = match visited {
                        Some(visited) => visited.await.is_ok(),
                        None => false,
                    };
                    if !is_reported {
                        // Nobody reports it, or to another call.
                        std::future::pending::<()>().await;
                    }
                };
                // The server says when; if it does not, the call is tried again all the same.
                tokio::select! {
                    biased;
                    () = reported => {}
                    () = face.sleep(face.settings().hold) => {}
                }
                Ok(())
            }
        });
        for visited in join_all(asked).await {
            visited?;
        }
        let urls = urls.iter().filter_map(|url| url["url"].as_str());
        allowed.extend(urls.map(str::to_owned));
        Ok(())
    }
}

/// The end of a call that requires URLs which were not visited: 2026-07-28 has no code for that.
fn not_visited(error: &str) -> Reply {
    let words = RawObject::parse(error).and_then(|error| error.string("message"));
    let words = words.unwrap_or_else(|| "a URL has to be visited first".to_owned());
    let message = format!("{words} (the person did not visit what the call requires)");
    Reply::failed(&message, "url_required")
}

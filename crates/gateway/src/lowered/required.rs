//! A parked call at a server of 2025: sent under an id of ours, and again after the URLs that it
//! requires were visited.
//!
//! 2026-07-28 has no error -32042: its client gets the URLs as questions, and the call goes on here.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use entreat_wire::message::ElicitRequest;
use futures_util::future::join_all;

use super::{Noted, Stage, lowered_params, requires_urls};
use crate::ask::{Question, answer};
use crate::envelope::params_of;
use crate::flow::Flow;
use crate::json::{RawObject, quoted};
use crate::recipient::Recipient;
use crate::reply::{Reply, action_in};
use crate::session::{Session, params_with_token};
use crate::visits::required_urls;

impl Session {
    /// Waits for the response of the server; repeats the call after URLs that it requires were
    /// visited.
    pub(super) async fn call_parked(
        self: &Arc<Self>,
        flow: &Arc<Flow>,
        message: &Bytes,
        stage: Stage,
    ) -> Reply {
        let mut reply = match stage {
            Stage::Held(gate) => match Box::pin((*gate).pass(&Recipient::of_flow(flow))).await {
                Ok(()) => Box::pin(self.call_first(flow, message)).await,
                Err(refusal) => return refusal,
            },
            Stage::New => Box::pin(self.call_first(flow, message)).await,
            Stage::Open(id, response) => {
                let _noted = Noted {
                    session: self,
                    id: Some(id.clone()),
                };
                self.response(id, response).await
            }
            Stage::Replied(reply) => reply,
        };
        let mut allowed = HashSet::new();
        let mut repeats = 0;
        loop {
            self.answers_used(&reply, flow.take_answers());
            let Reply::Error(error) = &reply else {
                return reply;
            };
            if !requires_urls(error) {
                return reply;
            }
            repeats += 1;
            let visited = Box::pin(self.visit_modern(flow, error, &mut allowed)).await;
            if let Err(reply) = visited {
                return reply;
            }
            if repeats > self.settings().rounds {
                return not_visited(error);
            }
            reply = Box::pin(self.call_again(flow, message)).await;
        }
    }

    /// Sends a call that the server does not have yet.
    async fn call_first(self: &Arc<Self>, flow: &Arc<Flow>, message: &Bytes) -> Reply {
        self.set_level(flow).await;
        self.call_again(flow, message).await
    }

    /// Sends a call to the server under an id of ours.
    async fn call_again(self: &Arc<Self>, flow: &Arc<Flow>, message: &Bytes) -> Reply {
        let object = RawObject::parse(params_of(message)).unwrap_or_default();
        let meta = object.parsed_object("_meta");
        let has_token = meta
            .as_ref()
            .is_some_and(|meta| meta.get("progressToken").is_some());
        let mut params = lowered_params(object, meta);
        if has_token {
            params = params_with_token(&params, &quoted(&flow.handle)).unwrap_or(params);
        }
        let mut noted = Noted {
            session: self,
            id: None,
        };
        let place = self.state.lock().next_place();
        self.request_noting(flow.method.name(), &params, |id| {
            self.lowered.note(place, id, flow);
            noted.id = Some(id.clone());
        })
        .await
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
        let urls = required_urls(error);
        if urls.is_empty() {
            return Err(not_visited(error));
        }
        let recipient = Recipient::of_flow(flow);
        let asked = urls.iter().map(|url| {
            let is_allowed = allowed.contains(&url.url);
            let request = ElicitRequest::url(&url.message, &url.url, None);
            let visited = url.elicitation_id.as_deref().map(|id| self.visited(id));
            let question = Question {
                raw: request.clone().into_params().to_string(),
                request,
            };
            let recipient = &recipient;
            async move {
                if !is_allowed {
                    let result = match answer(recipient, &question).await {
                        Reply::Result(result) => result,
                        error @ Reply::Error(_) => return Err(error),
                    };
                    let action = action_in(&result);
                    if action.is_none_or(|action| action != "accept") {
                        return Err(not_visited(error));
                    }
                }
                let _open = recipient.page_opened();
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
                    () = recipient.sleep(recipient.settings().hold) => {}
                }
                Ok(())
            }
        });
        for visited in join_all(asked).await {
            visited?;
        }
        allowed.extend(urls.into_iter().map(|url| url.url));
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

//! One upstream of several, as its session sees the client: what it sends goes to the client of the
//! union, in the union's words.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::Union;
use super::listen::Listen;
use super::names::labelled;
use super::open::OpenRequest;
use super::rewrite::Rewriter;
use crate::call::Method;
use crate::cancellation::CANCELLED;
use crate::client::ClientSender;
use crate::envelope::{self, Envelope, Kind, RawId};
use crate::json::{RawObject, quoted};
use crate::reply::Reply;
use crate::session::Session;

/// One upstream of a union, while a session with it lasts.
pub(super) struct MemberContext {
    pub(super) union: Weak<Union>,
    pub(super) index: usize,
    pub(super) rewriter: Rewriter,
    /// Set once the session exists.
    pub(super) session: OnceLock<Weak<Session>>,
}

/// Sends messages of one upstream to the client of the union. Cheap to clone.
#[derive(Clone)]
pub(crate) struct MemberSender(Arc<Inner>);

struct Inner {
    context: Arc<MemberContext>,
    /// Where the client of the union is.
    client: ClientSender,
    ending: Ending,
}

/// What becomes of the response.
enum Ending {
    /// There is none.
    None,
    /// It goes to the client.
    Relayed {
        id: RawId,
        method: Method,
        is_over: AtomicBool,
        open: Mutex<Option<OpenRequest>>,
    },
    /// The union takes it.
    Captured(Mutex<Option<oneshot::Sender<Reply>>>),
    /// It ends one part of a stream of notifications.
    Listening(Arc<Listen>),
}

/// What becomes of a message.
enum Change {
    Pass,
    Drop,
    Send(Vec<u8>),
}

impl MemberSender {
    /// A sender for what belongs to no request.
    pub(super) fn general(context: Arc<MemberContext>, client: ClientSender) -> Self {
        Self::new(context, client, Ending::None)
    }

    /// A sender for a request of the client.
    pub(super) fn relayed(
        context: Arc<MemberContext>,
        client: ClientSender,
        id: RawId,
        method: Method,
        open: OpenRequest,
    ) -> Self {
        let ending = Ending::Relayed {
            id,
            method,
            is_over: AtomicBool::new(false),
            open: Mutex::new(Some(open)),
        };
        Self::new(context, client, ending)
    }

    /// A sender for a request of the union itself.
    pub(super) fn captured(
        context: Arc<MemberContext>,
        client: ClientSender,
        reply: oneshot::Sender<Reply>,
    ) -> Self {
        Self::new(context, client, Ending::Captured(Mutex::new(Some(reply))))
    }

    /// A sender for a part of a stream of notifications.
    pub(super) fn listening(context: Arc<MemberContext>, listen: Arc<Listen>) -> Self {
        let client = listen.client.clone();
        Self::new(context, client, Ending::Listening(listen))
    }

    fn new(context: Arc<MemberContext>, client: ClientSender, ending: Ending) -> Self {
        Self(Arc::new(Inner {
            context,
            client,
            ending,
        }))
    }

    /// Where the client is.
    pub(crate) fn client(&self) -> &ClientSender {
        &self.0.client
    }

    /// Whether the end of the client's stream cancels.
    pub(crate) fn is_of_call(&self) -> bool {
        match self.0.ending {
            Ending::Relayed { .. } | Ending::Listening(_) => true,
            Ending::None | Ending::Captured(_) => false,
        }
    }

    /// A message as the client gets it; `None` if it gets none.
    pub(crate) fn translated(&self, message: Vec<u8>) -> Option<Vec<u8>> {
        match self.changed(&message) {
            Change::Pass => Some(message),
            Change::Drop => None,
            Change::Send(message) => Some(message),
        }
    }

    fn changed(&self, message: &[u8]) -> Change {
        let context = &self.0.context;
        let Some(union) = context.union.upgrade() else {
            return Change::Drop;
        };
        let Ok(envelope) = Envelope::read(message) else {
            return Change::Drop;
        };
        match &envelope.kind {
            Kind::Request { id, method, params } => {
                let params = params.unwrap_or("{}");
                Change::Send(union.ask_client(context, &RawId::new(id), method, params))
            }
            Kind::Notification { method, params } => {
                let params = params.unwrap_or("{}");
                match (
                    &self.0.ending,
                    self.notification(&union, &envelope, method, params),
                ) {
                    (Ending::Listening(listen), Change::Send(message)) => {
                        listen.deliver(message);
                        Change::Drop
                    }
                    (_, change) => change,
                }
            }
            // Refuses what is no request.
            Kind::Response { .. } => Change::Pass,
            // Answers no batch: none is sent.
            Kind::Batch => Change::Drop,
        }
    }

    fn notification(
        &self,
        union: &Union,
        envelope: &Envelope<'_>,
        method: &str,
        params: &str,
    ) -> Change {
        let context = &self.0.context;
        let changed = match method {
            CANCELLED => {
                return match union.withdrawn(context, params) {
                    Some(params) => Change::Send(envelope.with_params(&params)),
                    None => Change::Drop,
                };
            }
            "notifications/subscriptions/acknowledged" => {
                if let Ending::Listening(listen) = &self.0.ending {
                    listen.acknowledged(context, params);
                }
                return Change::Drop;
            }
            "notifications/resources/updated" => context.rewriter.uri(params, "uri"),
            "notifications/elicitation/complete" => RawObject::parse(params).and_then(|params| {
                let mut params = params;
                let id = params.string("elicitationId")?;
                params.set("elicitationId", quoted(&context.rewriter.visit(&id)));
                Some(params.to_string())
            }),
            "notifications/message" => context.rewriter.log(params),
            _ => None,
        };
        let Ending::Listening(listen) = &self.0.ending else {
            return match changed {
                Some(params) => Change::Send(envelope.with_params(&params)),
                None => Change::Pass,
            };
        };
        let params = changed.as_deref().unwrap_or(params);
        Change::Send(envelope::notification(method, &listen.stamped(params)))
    }

    /// Takes the response; returns it if it is for the client.
    pub(crate) fn response(&self, message: Vec<u8>) -> Option<Vec<u8>> {
        match &self.0.ending {
            Ending::None => Some(message),
            Ending::Relayed {
                method,
                is_over,
                open,
                ..
            } => {
                is_over.store(true, Ordering::Relaxed);
                drop(open.lock().take());
                Some(self.relayed_response(*method, message))
            }
            Ending::Captured(reply) => {
                let reply = reply.lock().take()?;
                // Nobody waits any more if the client has cancelled.
                drop(reply.send(reply_of(&message)?));
                None
            }
            Ending::Listening(listen) => {
                listen.ended(&self.0.context);
                None
            }
        }
    }

    /// Takes note that there is no response, since the client has cancelled the request.
    pub(crate) fn forgo(&self) {
        // What the union itself asks, and parts of streams, are no requests of the client.
        if let Ending::Relayed { is_over, .. } = &self.0.ending
            && !is_over.swap(true, Ordering::Relaxed)
        {
            self.client().forgo();
        }
    }

    fn relayed_response(&self, method: Method, message: Vec<u8>) -> Vec<u8> {
        let rewriter = &self.0.context.rewriter;
        let changed = Envelope::read(&message).ok().and_then(|envelope| {
            let Kind::Response { id, result, error } = envelope.kind else {
                return None;
            };
            match (result, error) {
                (Some(result), _) => Some(envelope.with_result(&rewriter.result(method, result)?)),
                (None, error) => {
                    let error = rewriter.error(error?)?;
                    Some(envelope::error(&RawId::new(id), &error))
                }
            }
        });
        changed.unwrap_or(message)
    }
}

fn reply_of(message: &[u8]) -> Option<Reply> {
    let envelope = Envelope::read(message).ok()?;
    match envelope.kind {
        Kind::Response { result, error, .. } => Some(Reply::of_response(result, error)),
        Kind::Request { .. } | Kind::Notification { .. } | Kind::Batch => None,
    }
}

impl Listen {
    /// Takes what one upstream will deliver.
    fn acknowledged(&self, context: &MemberContext, params: &str) {
        let params: serde_json::Value = serde_json::from_str(params).unwrap_or_default();
        let uris = params["notifications"]["resourceSubscriptions"].as_array();
        let uris = uris.into_iter().flatten().filter_map(|uri| uri.as_str());
        let uris = uris
            .map(|uri| labelled(&context.rewriter.label, uri))
            .collect();
        self.acknowledge(uris);
    }
}

impl Drop for Inner {
    /// A request whose session has ended without a response gets an error all the same, unless the
    /// client has cancelled it: then nobody waits for a response.
    fn drop(&mut self) {
        let Ending::Relayed {
            id, is_over, open, ..
        } = &self.ending
        else {
            return;
        };
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        let is_cancelled = open.lock().as_ref().is_none_or(OpenRequest::is_cancelled);
        if is_cancelled {
            self.client.forgo();
        } else {
            let gone = Reply::upstream_exited_meanwhile();
            self.client.reply(id, &gone);
        }
    }
}

impl fmt::Debug for MemberSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemberSender").finish_non_exhaustive()
    }
}

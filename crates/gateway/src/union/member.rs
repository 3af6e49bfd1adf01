//! Keeps a session with each upstream of a union: connects, makes the handshake, and begins anew
//! when it ends.

use std::fmt;
use std::io;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use entreat_wire::backoff::Backoff;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::{oneshot, watch};

use super::handshake::Handshake;
use super::listen::Listen;
use super::member_sender::{MemberContext, MemberSender};
use super::rewrite::Rewriter;
use super::{LISTS, Union};
use crate::cancellation::{CANCELLED, Cancellation};
use crate::client::ClientSender;
use crate::envelope::{self, RawId};
use crate::gateway::Upstream;
use crate::json::quoted;
use crate::log::cut;
use crate::reply::Reply;
use crate::session::{MAX_HANDSHAKE, Session};
use crate::side::Closed;

/// The pauses before an upstream that has ended is connected to again.
const PAUSES: Backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(30));
/// How long an upstream has to last for its end to be the first one again.
const LASTED: Duration = Duration::from_secs(60);

/// An upstream of a union: how it is connected to, and what is done when it ends by itself.
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) connect: Arc<dyn Fn() -> io::Result<Upstream> + Send + Sync>,
    pub(crate) ended: Arc<dyn Fn(Closed) + Send + Sync>,
}

/// An upstream, with the state of its session.
pub(super) struct Member {
    pub(super) source: Source,
    pub(super) status: watch::Sender<Status>,
}

/// Whether an upstream can be asked.
#[derive(Clone)]
pub(super) enum Status {
    /// It is being connected to, or soon will be.
    Starting,
    Up(Arc<ConnectedMember>),
    /// It does not work, for this reason; it is tried again.
    Down(Arc<str>),
}

/// How a session with an upstream has ended.
struct End {
    reason: String,
    /// Whether its handshake was done.
    was_up: bool,
}

/// A session with an upstream whose handshake is done.
pub(super) struct ConnectedMember {
    pub(super) session: Arc<Session>,
    pub(super) context: Arc<MemberContext>,
    pub(super) description: ServerDescription,
    /// Whether it knows that the client is ready.
    is_told: Mutex<bool>,
    /// Streams of notifications of the client, by their ids there.
    pub(super) listens: Mutex<Vec<(RawId, Weak<Listen>)>>,
}

/// What an upstream says of itself.
#[derive(Clone, Debug, Default)]
pub(super) struct ServerDescription {
    pub(super) capabilities: Value,
    pub(super) instructions: Option<String>,
}

impl ServerDescription {
    pub(super) fn read(result: &str) -> Self {
        let mut result: Value = serde_json::from_str(result).unwrap_or_default();
        Self {
            instructions: result["instructions"].as_str().map(str::to_owned),
            capabilities: result["capabilities"].take(),
        }
    }

    /// Whether it declares a capability.
    pub(super) fn has(&self, capability: &str) -> bool {
        self.capabilities.get(capability).is_some()
    }
}

impl Member {
    pub(super) fn new(source: Source) -> Self {
        Self {
            source,
            status: watch::Sender::new(Status::Starting),
        }
    }

    pub(super) fn up(&self) -> Option<Arc<ConnectedMember>> {
        match &*self.status.borrow() {
            Status::Up(up) => Some(up.clone()),
            Status::Starting | Status::Down(_) => None,
        }
    }

    /// Goes on without it, if it is still being connected to.
    pub(super) fn leave_out(&self) {
        self.status.send_if_modified(|status| {
            let is_starting = matches!(status, Status::Starting);
            if is_starting {
                *status = Status::Down("it does not respond".into());
            }
            is_starting
        });
    }

    /// Waits while it is being connected to.
    pub(super) async fn settled(&self) -> Status {
        let mut status = self.status.subscribe();
        let settled = status.wait_for(|status| !matches!(status, Status::Starting));
        // The member holds the sender.
        settled
            .await
            .map_or(Status::Starting, |status| status.clone())
    }
}

impl ConnectedMember {
    /// Cancels a request of the client or of the union.
    pub(super) async fn cancel(&self, cancellation: &Cancellation<'_>) {
        self.notify(CANCELLED, &cancellation.params()).await;
    }

    pub(super) async fn notify(&self, method: &str, params: &str) {
        let message = envelope::notification(method, params);
        let client = self.session.client.clone();
        if !self.session.take_aside(message.into(), &client).await {
            let server = &self.context.rewriter.name;
            tracing::debug!(%server, method, "dropped a notification: the server does not read");
        }
    }

    /// Tells it once that the client is ready.
    pub(super) async fn tell_initialized(&self) {
        let was_told = std::mem::replace(&mut *self.is_told.lock(), true);
        if !was_told {
            self.notify("notifications/initialized", "{}").await;
        }
    }
}

/// Cancels a request of the union when dropped.
struct AskGuard<'a> {
    session: &'a Arc<Session>,
    id: Option<RawId>,
}

impl Drop for AskGuard<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else {
            return;
        };
        let session = self.session.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let message = Cancellation::of(&id).to_message();
                let client = session.client.clone();
                session.from_client(message.into(), &client).await;
            });
        }
    }
}

impl Union {
    /// Sends a request of ours to one upstream. What belongs to it goes to `client`. Dropping the
    /// future cancels it.
    pub(super) async fn ask(
        &self,
        session: &Arc<Session>,
        context: &Arc<MemberContext>,
        client: &ClientSender,
        method: &str,
        params: &str,
    ) -> Reply {
        let (sender, reply) = oneshot::channel();
        let id = self.new_id();
        let mut guard = AskGuard {
            session,
            id: Some(id.clone()),
        };
        {
            let sender = MemberSender::captured(context.clone(), client.clone(), sender);
            let request = envelope::request(&id, method, params);
            session
                .from_client(request.into(), &ClientSender::Member(sender))
                .await;
        }
        let reply = reply.await;
        guard.id = None;
        reply.unwrap_or_else(|_| Reply::upstream_exited_meanwhile())
    }

    /// Keeps a session with an upstream until the union ends.
    pub(super) async fn keep(self: Arc<Self>, index: usize) {
        let Some(member) = self.members.get(index) else {
            return;
        };
        let mut pauses = PAUSES;
        loop {
            let began = self.now();
            let Some(End { reason, was_up }) = self.attend(member, index).await else {
                return;
            };
            let name = &member.source.name;
            let lasted = self.now().since(began);
            if lasted >= LASTED {
                pauses.reset();
            }
            tracing::warn!(server = %name, %reason, "a server is not available");
            // What has worked is back in a moment, as a rule.
            let status = if was_up && pauses.is_fresh() {
                Status::Starting
            } else {
                Status::Down(reason.into())
            };
            member.status.send_replace(status);
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return,
                () = self.sleep(pauses.next_pause()) => {}
            }
        }
    }

    /// Connects to an upstream, and attends to its session while it lasts. Returns how it has
    /// ended; `None` if the union has.
    async fn attend(self: &Arc<Self>, member: &Member, index: usize) -> Option<End> {
        let name = &member.source.name;
        let mut upstream = match (member.source.connect)() {
            Ok(upstream) => upstream,
            Err(error) => {
                return Some(End {
                    reason: error.to_string(),
                    was_up: false,
                });
            }
        };
        let context = Arc::new(MemberContext {
            union: Arc::downgrade(self),
            index,
            rewriter: Rewriter {
                name: name.clone(),
                label: self.labels.get(index).to_owned(),
            },
            session: OnceLock::new(),
        });
        let general = MemberSender::general(context.clone(), self.client.clone());
        let session = Session::new(
            self.gateway.clone(),
            ClientSender::Member(general),
            &upstream,
            self.person.clone(),
        );
        session.become_part();
        // Nothing was sent before.
        let _ = context.session.set(Arc::downgrade(&session));
        let greeting = async {
            match self.greet(&session, &context).await {
                Ok(description) => {
                    let up = Arc::new(ConnectedMember {
                        session: session.clone(),
                        context: context.clone(),
                        description,
                        is_told: Mutex::new(false),
                        listens: Mutex::default(),
                    });
                    self.come_up(member, up).await;
                    std::future::pending().await
                }
                Err(reason) => reason,
            }
        };
        let (reason, closed) = tokio::select! {
            biased;
            () = self.stop.cancelled() => (None, None),
            closed = session.read_upstream(&mut upstream.receiver) => {
                (Some("it has exited".to_owned()), Some(closed))
            }
            reason = greeting => (Some(reason), None),
        };
        let was_up = member.up().is_some();
        if was_up && reason.is_some() {
            // Nothing is sent to it any more.
            member.status.send_replace(Status::Starting);
        }
        session.end().await;
        self.withdraw_all(&context);
        if let Some(closed) = closed {
            (member.source.ended)(closed);
        } else {
            if let (Some(observed), Some(reason)) = (&session.observed, &reason) {
                observed.note_down(self.now(), reason.clone());
            }
            upstream.close().await;
        }
        Some(End {
            reason: reason?,
            was_up,
        })
    }

    /// Makes the handshake of the client's era.
    async fn greet(
        &self,
        session: &Arc<Session>,
        context: &Arc<MemberContext>,
    ) -> Result<ServerDescription, String> {
        let Some(handshake) = self.handshake.get() else {
            return Err("nobody has begun".to_owned());
        };
        let (method, params) = match handshake {
            Handshake::Legacy { params, .. } => ("initialize", params.clone()),
            Handshake::Modern { meta } => ("server/discover", format!(r#"{{"_meta":{meta}}}"#)),
        };
        let asked = tokio::select! {
            biased;
            reply = self.ask(session, context, &self.client, method, &params) => reply,
            () = self.sleep(self.gateway.settings.initialize) => {
                return Err("it does not respond".to_owned());
            }
        };
        match asked {
            Reply::Result(result) if result.len() > MAX_HANDSHAKE => {
                Err("its handshake is larger than 256 KiB".to_owned())
            }
            Reply::Result(result) => Ok(ServerDescription::read(&result)),
            Reply::Error(error) => {
                let error: Value = serde_json::from_str(&error).unwrap_or_default();
                let message = error["message"]
                    .as_str()
                    .unwrap_or("it refuses the handshake");
                Err(cut(message))
            }
        }
    }

    /// Takes an upstream whose handshake is done, and restores what the client has set.
    async fn come_up(&self, member: &Member, up: Arc<ConnectedMember>) {
        let index = up.context.index;
        // Before any call of the client.
        let is_ready = self.client_settings.lock().is_initialized;
        if is_ready {
            up.tell_initialized().await;
        }
        let (is_ready, level, uris) = {
            // Within the lock, so that whatever is set from now on finds the upstream.
            let settings = self.client_settings.lock();
            member.status.send_replace(Status::Up(up.clone()));
            let subscriptions = settings.subscriptions.get(&index);
            let uris = subscriptions.map(|it| it.uris().clone());
            (
                settings.is_initialized,
                settings.level.clone(),
                uris.unwrap_or_default(),
            )
        };
        if is_ready {
            up.tell_initialized().await;
        }
        if let Some(level) = level.filter(|_| up.description.has("logging")) {
            let params = format!(r#"{{"level":{}}}"#, quoted(&level));
            self.restore(&up, "logging/setLevel", &params).await;
        }
        for uri in uris {
            let params = format!(r#"{{"uri":{}}}"#, quoted(&uri));
            self.restore(&up, "resources/subscribe", &params).await;
        }
        let listens = self.listens.lock().clone();
        for listen in listens {
            self.extend(&up, &listen).await;
        }
        // Whoever has asked before was answered without it.
        if self.is_answered() && LISTS.iter().any(|list| up.description.has(list)) {
            self.announce(&up);
        }
    }

    async fn restore(&self, up: &ConnectedMember, method: &str, params: &str) {
        let asked = self.ask(&up.session, &up.context, &self.client, method, params);
        let reply = tokio::select! {
            biased;
            reply = asked => reply,
            () = self.sleep(self.gateway.settings.stragglers) => return,
        };
        if let Reply::Error(error) = reply {
            self.warn(
                up.context.index,
                "a setting of the client was refused",
                error,
            );
        }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

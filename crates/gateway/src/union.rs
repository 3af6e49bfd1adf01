//! Several upstreams as one server.
//!
//! A union has a session with each upstream (`session.rs`), so that every pair of versions works as
//! it does alone. What the client sends goes to the session of the upstream whose tool, prompt or
//! resource it names; what upstreams send goes to the client, with their names, URIs and ids made
//! the union's. Only lists and the handshake are put together here.

mod handshake;
mod listen;
mod lists;
mod member;
mod member_sender;
mod names;
mod open;
mod pushes;
mod rewrite;
mod route;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use entreat_core::UnixTime;
use entreat_engine::LogThrottle;
use entreat_wire::message::CREATE;
use parking_lot::Mutex;
use tokio::io::AsyncRead;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::handshake::Handshake;
use self::listen::Listen;
use self::lists::{List, Unread};
use self::member::{ConnectedMember, Member};
use self::member_sender::MemberContext;
use self::names::{Labels, Table};
use self::open::OpenRequests;
use self::pushes::{Pushed, Pushes};
use crate::cancellation::{CANCELLED, Cancellation};
use crate::client::ClientSender;
use crate::envelope::{self, Envelope, Kind, RawId};
use crate::gateway::Gateway;
use crate::incoming::{self, Incoming};
use crate::json::RawObject;
use crate::log::cut;
use crate::memory::Account;
use crate::random;
use crate::reply::Reply;
use crate::session::{MAX_ID, Person, Session};
use crate::side::lines::LineSource;
use crate::subscriptions::Subscriptions;

pub(crate) use self::member::Source;
pub(crate) use self::member_sender::MemberSender;

/// The lists that may change.
const LISTS: [&str; 3] = ["tools", "prompts", "resources"];
/// The maximum number of requests of a client that are open at once.
const MAX_OPEN: usize = 10_000;

/// A client in front of several upstreams.
pub(crate) struct Union {
    gateway: Arc<Gateway>,
    person: Person,
    /// The memory of the principal.
    memory: Account,
    /// Where messages go that belong to no request of the client.
    client: ClientSender,
    members: Vec<Member>,
    labels: Labels,
    /// How the client has begun, once it has.
    handshake: OnceLock<Handshake>,
    tools: Mutex<Table>,
    prompts: Mutex<Table>,
    /// When the names of tools and of prompts were last read for a call.
    looked_up: Mutex<[Option<UnixTime>; 2]>,
    unread: Unread,
    client_settings: Mutex<ClientSettings>,
    open: OpenRequests,
    /// Requests of upstreams to the client.
    pushes: Mutex<Pushes>,
    listens: Mutex<Vec<Arc<Listen>>>,
    /// Log lines about what upstreams do wrong.
    log: LogThrottle<(usize, &'static str)>,
    prefix: String,
    counter: AtomicU64,
    pub(crate) tasks: TaskTracker,
    stop: CancellationToken,
}

/// What a client of 2025 has set, for upstreams that begin anew.
#[derive(Default)]
struct ClientSettings {
    is_initialized: bool,
    /// Whether the client was told what there is.
    is_answered: bool,
    level: Option<String>,
    /// The resources that it subscribes to, by upstream.
    subscriptions: BTreeMap<usize, Subscriptions>,
}

impl Union {
    /// Puts a client in front of these upstreams. They are connected to when it begins.
    pub(crate) fn new(
        gateway: Arc<Gateway>,
        client: ClientSender,
        sources: Vec<Source>,
        person: Person,
    ) -> Arc<Self> {
        let labels = Labels::new(sources.iter().map(|source| source.name.as_str()));
        let digits = random::name::<8>(gateway.page_asker.asker.engine());
        Arc::new(Self {
            memory: gateway.memory.for_client(&client, &person),
            gateway,
            person,
            client,
            members: sources.into_iter().map(Member::new).collect(),
            labels,
            handshake: OnceLock::new(),
            tools: Mutex::default(),
            prompts: Mutex::default(),
            looked_up: Mutex::default(),
            unread: Unread::default(),
            client_settings: Mutex::default(),
            open: OpenRequests::default(),
            pushes: Mutex::default(),
            listens: Mutex::default(),
            log: LogThrottle::default(),
            prefix: format!("u-{digits}-"),
            counter: AtomicU64::new(0),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        })
    }

    /// Takes the messages of a client until it closes its side.
    pub(crate) async fn run<R: AsyncRead + Send + Unpin>(
        self: &Arc<Self>,
        mut source: LineSource<R>,
    ) {
        loop {
            match source.next().await {
                Ok(Some(line)) => {
                    let incoming = Incoming::of_line(line, &self.client);
                    self.take(incoming, &self.client).await;
                }
                Ok(None) => return,
                Err(error) => return tracing::warn!(%error, "reading from the client failed"),
            }
        }
    }

    /// Ends everything: open requests get errors, upstreams are closed.
    pub(crate) async fn end(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Whether a new connection to an upstream would be spoken to in a way that serves it better.
    pub(crate) fn is_outdated(&self) -> bool {
        self.all_up().iter().any(|up| up.session.is_outdated())
    }

    /// Whether anything is open that somebody waits for, or may come back to.
    pub(crate) fn is_busy(&self) -> bool {
        !self.open.is_empty() || self.all_up().iter().any(|up| up.session.is_busy())
    }

    /// The session with the upstream of this name, if it can be asked.
    pub(crate) fn session_with(&self, name: &str) -> Option<Arc<Session>> {
        let member = self.members.iter().find(|it| it.source.name == name)?;
        Some(member.up()?.session.clone())
    }

    /// Whether tools are known whose arguments are repeated in headers.
    pub(crate) fn has_param_headers(&self) -> bool {
        let ups = self.all_up();
        ups.iter().any(|up| !up.session.param_headers.is_empty())
    }

    /// The session with the upstream that has a tool, and the tool's own name.
    pub(crate) fn session_of_tool(&self, name: &str) -> Option<(Arc<Session>, String)> {
        let (index, own) = self.tools.lock().owner(name)?;
        Some((self.up(index)?.session.clone(), own))
    }

    /// Writes to the log what an upstream does wrong: one line for each reason in some seconds.
    fn warn(&self, index: usize, what: &'static str, detail: impl fmt::Display) {
        if tracing::enabled!(tracing::Level::WARN)
            && let Some(count) = self.log.count((index, what), self.now())
        {
            let (server, detail) = (self.name(index), cut(detail));
            tracing::warn!(server, %detail, count, "{what}");
        }
    }

    fn now(&self) -> UnixTime {
        self.gateway.page_asker.asker.engine().now()
    }

    async fn sleep(&self, time: Duration) {
        self.gateway.page_asker.asker.engine().sleep(time).await;
    }

    fn new_id(&self) -> RawId {
        let number = self.counter.fetch_add(1, Ordering::Relaxed);
        RawId::text(&format!("{}{number}", self.prefix))
    }

    /// Runs work that ends with the union.
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        // Boxed: whatever wraps a future has room for it several times.
        let work = Box::pin(work);
        self.tasks.spawn(async move {
            stop.run_until_cancelled(work).await;
        });
    }

    fn is_modern(&self) -> bool {
        matches!(self.handshake.get(), Some(Handshake::Modern { .. }))
    }

    fn is_answered(&self) -> bool {
        self.client_settings.lock().is_answered
    }

    fn note_answered(&self) {
        self.client_settings.lock().is_answered = true;
    }

    /// An upstream, if it can be asked.
    fn up(&self, index: usize) -> Option<Arc<ConnectedMember>> {
        self.members.get(index)?.up()
    }

    fn all_up(&self) -> Vec<Arc<ConnectedMember>> {
        self.members.iter().filter_map(Member::up).collect()
    }

    fn name(&self, index: usize) -> &str {
        let member = self.members.get(index);
        member.map_or("", |member| member.source.name.as_str())
    }

    fn upstream_names(&self) -> Vec<&str> {
        let members = self.members.iter();
        members.map(|member| member.source.name.as_str()).collect()
    }

    /// The names of a list, if its entries have names.
    fn names(&self, list: List) -> Option<&Mutex<Table>> {
        match list {
            List::Tools => Some(&self.tools),
            List::Prompts => Some(&self.prompts),
            List::Resources | List::Templates => None,
        }
    }

    /// Waits while upstreams are being connected to, for a while. Whoever asks next does not wait
    /// for them again: they are announced once they are up.
    async fn settled(&self) {
        let all = futures_util::future::join_all(self.members.iter().map(Member::settled));
        tokio::select! {
            biased;
            _ = all => {}
            () = self.sleep(self.gateway.settings.stragglers) => {
                self.members.iter().for_each(Member::leave_out);
            }
        }
    }

    // ---- from the client

    /// Takes what the client has sent; `via` is where the response to a request goes.
    pub(crate) async fn from_client(self: &Arc<Self>, text: Bytes, via: &ClientSender) {
        self.take(Incoming::read(text, via), via).await;
    }

    async fn take(self: &Arc<Self>, incoming: Incoming, via: &ClientSender) {
        match incoming {
            Incoming::One(text) => self.client_sent(&text, via).await,
            Incoming::Several { messages, via } => {
                for text in messages {
                    self.client_sent(&text, &via).await;
                }
            }
            Incoming::Nothing => {}
        }
    }

    /// Takes a single message of the client.
    async fn client_sent(self: &Arc<Self>, text: &[u8], via: &ClientSender) {
        let Some(envelope) = incoming::message(text, via) else {
            return;
        };
        match &envelope.kind {
            // It was refused: messages are taken apart before.
            Kind::Batch => {}
            Kind::Response { id, .. } => self.client_replied(&RawId::new(id), &envelope, via).await,
            Kind::Notification { method, params } => {
                self.client_notified(method, params.unwrap_or("{}")).await;
            }
            Kind::Request { id, method, params } => {
                let params = params.unwrap_or("{}");
                let id = RawId::new(id);
                if self.open.len() >= MAX_OPEN {
                    let busy = Reply::too_many_requests();
                    return via.reply(&id, &busy);
                }
                let Some(reservation) = self.memory.reserve(text.len()) else {
                    let busy = Reply::too_many_calls();
                    return via.reply(&id, &busy);
                };
                let open = self.open.open(&id, reservation);
                self.client_asked(open, &id, method, params, via).await;
            }
        }
    }

    async fn client_replied(&self, id: &RawId, envelope: &Envelope<'_>, via: &ClientSender) {
        let Some(pushed) = self.pushes.lock().take(id) else {
            return tracing::debug!(%id, "dropped a response to no request");
        };
        if let Some(session) = pushed.session.upgrade() {
            let message = envelope.with_id(&pushed.id);
            if !session.take_aside(message.into(), via).await {
                self.warn(
                    pushed.upstream,
                    "dropped an answer",
                    "the server does not read",
                );
            }
        }
    }

    async fn client_notified(self: &Arc<Self>, method: &str, params: &str) {
        match method {
            CANCELLED => self.client_cancelled(params).await,
            "notifications/initialized" => {
                let ups = {
                    let mut settings = self.client_settings.lock();
                    settings.is_initialized = true;
                    self.all_up()
                };
                for up in ups {
                    up.tell_initialized().await;
                }
            }
            "notifications/roots/list_changed" => {
                for up in self.all_up() {
                    up.notify(method, params).await;
                }
            }
            "notifications/progress" => self.client_reported(params).await,
            _ => tracing::debug!(method, "dropped a notification that is for no server"),
        }
    }

    async fn client_cancelled(&self, params: &str) {
        let Some(cancellation) = Cancellation::read(params) else {
            return;
        };
        let upstreams = self.open.cancel(&cancellation.id);
        for up in self.all_up() {
            // A call between its rounds is open nowhere here.
            if upstreams.is_empty() || upstreams.contains(&up.context.index) {
                up.cancel(&cancellation).await;
            }
        }
    }

    /// Passes a progress report of the client on what an upstream has asked it.
    async fn client_reported(&self, params: &str) {
        let Some(mut params) = RawObject::parse(params) else {
            return;
        };
        let found = params.get("progressToken").and_then(|token| {
            let all = self.pushes.lock();
            let pushed = all.get(&RawId::new(token))?;
            Some((pushed.session.upgrade()?, pushed.token.clone()?))
        });
        let Some((session, token)) = found else {
            return tracing::debug!("dropped a progress report of no open request");
        };
        params.set("progressToken", token);
        let message = envelope::notification("notifications/progress", &params.to_string());
        let client = session.client.clone();
        // Without room, it is not needed: newer ones follow.
        let _ = session.take_aside(message.into(), &client).await;
    }

    // ---- to the client

    /// A request of an upstream, as the client gets it.
    fn ask_client(
        &self,
        context: &MemberContext,
        id: &RawId,
        method: &str,
        params: &str,
    ) -> Vec<u8> {
        let known = self.new_id();
        let mut changed = None;
        if method == CREATE {
            changed = context.rewriter.question(params);
        }
        let mut token = None;
        let text = changed.as_deref().unwrap_or(params);
        if memchr::memmem::find(text.as_bytes(), b"progressToken").is_some()
            && let Some(mut object) = RawObject::parse(text).map(RawObject::into_owned)
            && let Some(mut meta) = object.object("_meta").map(RawObject::into_owned)
            && let Some(old) = meta.get("progressToken").map(str::to_owned)
        {
            if old.len() > MAX_ID {
                // Nobody can report on it.
                meta.remove("progressToken");
            } else {
                meta.set("progressToken", known.as_str().to_owned());
                token = Some(old);
            }
            object.set("_meta", meta.to_string());
            changed = Some(object.to_string());
        }
        let pushed = Pushed {
            upstream: context.index,
            session: context.session.get().cloned().unwrap_or_default(),
            id: id.clone(),
            token,
        };
        self.pushes.lock().insert(known.clone(), pushed);
        envelope::request(&known, method, changed.as_deref().unwrap_or(params))
    }

    /// An upstream cancels a request of its own: returns what to tell the client.
    fn withdrawn(&self, context: &MemberContext, params: &str) -> Option<String> {
        let cancellation = Cancellation::read(params)?;
        let id = cancellation.id.clone();
        let known = self.pushes.lock().take_own(context.index, id)?;
        Some(cancellation.passed_on_as(&known).params())
    }

    /// Withdraws what an upstream has asked whose session has ended.
    fn withdraw_all(&self, context: &MemberContext) {
        let withdrawn = self.pushes.lock().take_all(context.index);
        for known in withdrawn {
            let cancellation = Cancellation::because(&known, "The server has exited");
            self.client.push(cancellation.to_message());
        }
    }
}

/// Waits for something that may never be.
async fn until(event: Option<impl Future<Output = ()>>) {
    match event {
        Some(event) => event.await,
        None => std::future::pending().await,
    }
}

impl fmt::Debug for Union {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Union").finish_non_exhaustive()
    }
}

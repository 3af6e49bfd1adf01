//! Sessions of clients over HTTP, each with an upstream of its own.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use entreat_core::UnixTime;
use entreat_engine::shares::{Permit, Shares};
use futures_util::FutureExt as _;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::circuit::{Circuits, not_started, words};
use super::stream::Stream;
use crate::capability::Capabilities;
use crate::client::ClientSender;
use crate::gateway::{Gateway, Upstream};
use crate::memory::Account;
use crate::observe::{Observer, SessionSummary, UpstreamStatus};
use crate::random;
use crate::reply::Reply;
use crate::session::{Person, Session};
use crate::union::Union;

/// Connects to an upstream server, or starts it.
pub type Connect = Arc<dyn Fn() -> io::Result<Upstream> + Send + Sync>;

/// How many streams of a session are kept for a client that comes back to read the rest.
const MAX_KEPT_STREAMS: usize = 32;

/// An upstream server behind a path.
#[derive(Clone)]
pub struct Route {
    /// Its name, which is the last segment of its path.
    pub name: String,
    /// Connects to it.
    pub connect: Connect,
    /// The maximum number of connections of one principal at once.
    pub per_principal: usize,
}

/// Limits on the clients of a gateway over HTTP.
#[derive(Clone, Debug)]
pub struct FrontSettings {
    /// The maximum number of sessions, in all.
    pub sessions: usize,
    /// The maximum number of sessions of one principal.
    pub sessions_per_principal: usize,
    /// How long a session of 2025 may be idle.
    pub idle: Duration,
    /// How long a connection to an upstream is kept for clients of 2026-07-28.
    pub pooled: Duration,
    /// The longest message of a client, in bytes.
    pub max_message: usize,
    /// How long the body of a request may take to arrive.
    pub body_timeout: Duration,
}

impl Default for FrontSettings {
    fn default() -> Self {
        Self {
            sessions: 10_000,
            sessions_per_principal: 64,
            idle: Duration::from_secs(30 * 60),
            pooled: Duration::from_secs(5 * 60),
            max_message: crate::side::lines::MAX_MESSAGE,
            body_timeout: Duration::from_secs(60),
        }
    }
}

/// All sessions.
pub(super) struct Sessions {
    gateway: Arc<Gateway>,
    pub(super) settings: FrontSettings,
    /// Held while a session starts, so that each is counted by the next.
    starting: Mutex<()>,
    /// By id.
    legacy: Mutex<HashMap<Box<str>, Arc<LiveSession>>>,
    /// Clients of 2026-07-28 have none: those that are alike share one.
    modern: Mutex<HashMap<ClientClass, Arc<LiveSession>>>,
    shares: Shares<String>,
    /// Connections of principals to each server, by its name.
    connections: Mutex<HashMap<String, Shares<String>>>,
    circuits: Circuits,
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// Which clients of 2026-07-28 an upstream cannot tell apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ClientClass {
    pub(super) route: String,
    pub(super) principal: String,
    pub(super) capabilities: Capabilities,
}

/// What a path leads to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target<'a> {
    One(&'a Route),
    /// All upstreams, as one server.
    All(&'a [Route]),
}

impl Target<'_> {
    /// What tells its sessions from those of other paths: no upstream has an empty name.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::One(route) => &route.name,
            Self::All(_) => "",
        }
    }

    fn routes(&self) -> &[Route] {
        match self {
            Self::One(route) => std::slice::from_ref(route),
            Self::All(routes) => routes,
        }
    }
}

/// What a client has in front of it.
#[derive(Clone)]
pub(super) enum Service {
    One(Arc<Session>),
    All(Arc<Union>),
}

impl Service {
    /// Takes messages, which goes on if this future is dropped. Those that have to wait for a server
    /// take memory; without any, they are refused.
    pub(super) async fn take(&self, messages: Vec<Bytes>, via: ClientSender) {
        let reservation = match self {
            Self::One(session) if session.makes_clients_wait() => {
                let Some(reservation) = session
                    .memory
                    .reserve(messages.iter().map(Bytes::len).sum())
                else {
                    return session.refuse_all(&messages, &via);
                };
                Some(reservation)
            }
            // A union takes memory for each message that waits.
            Self::One(_) | Self::All(_) => None,
        };
        let service = self.clone();
        let mut taking = Box::pin(async move {
            let _reservation = reservation;
            for message in messages {
                match &service {
                    Self::One(session) => session.from_client(message, &via).await,
                    Self::All(union) => union.from_client(message, &via).await,
                }
            }
        });
        // Most messages go on at once. What has to wait does so in a task of its own.
        if (&mut taking).now_or_never().is_some() {
            return;
        }
        let tasks = match self {
            Self::One(session) => &session.tasks,
            Self::All(union) => &union.tasks,
        };
        // It fails only if the runtime shuts down.
        let _ = tasks.spawn(taking).await;
    }

    /// The session with the upstream of this name; `own` is that of the path.
    fn session_with(&self, own: &str, name: &str) -> Option<Arc<Session>> {
        match self {
            Self::One(session) => (own == name).then(|| session.clone()),
            Self::All(union) => union.session_with(name),
        }
    }

    /// Whether tools are known whose arguments are repeated in headers.
    pub(super) fn has_param_headers(&self) -> bool {
        match self {
            Self::One(session) => !session.param_headers.is_empty(),
            Self::All(union) => union.has_param_headers(),
        }
    }

    /// The session with the upstream that may have a tool, and the tool's own name.
    pub(super) fn session_of_tool(&self, name: &str) -> Option<(Arc<Session>, String)> {
        match self {
            Self::One(session) => Some((session.clone(), name.to_owned())),
            Self::All(union) => union.session_of_tool(name),
        }
    }

    /// Whether a new session would speak to an upstream in a way that serves it better.
    fn is_outdated(&self) -> bool {
        match self {
            Self::One(session) => session.is_outdated(),
            Self::All(union) => union.is_outdated(),
        }
    }

    fn is_busy(&self) -> bool {
        match self {
            Self::One(session) => session.is_busy(),
            Self::All(union) => union.is_busy(),
        }
    }
}

/// A session, while it lasts.
pub(super) struct LiveSession {
    pub(super) id: Box<str>,
    pub(super) route: String,
    pub(super) person: Person,
    pub(super) service: Service,
    /// For what belongs to no request.
    pub(super) general: Stream,
    streams: Mutex<Streams>,
    used: Mutex<UnixTime>,
    stop: CancellationToken,
    _permits: SessionPermits,
}

/// What a session takes of its principal's shares until everything of it has ended.
struct SessionPermits {
    _session: Permit<String>,
    _connections: Vec<Permit<String>>,
}

#[derive(Default)]
struct Streams {
    next: u64,
    open: BTreeMap<u64, Stream>,
}

impl Sessions {
    pub(super) fn new(gateway: Arc<Gateway>, settings: FrontSettings) -> Self {
        Self {
            // Twice, for those that are ending.
            shares: Shares::new(settings.sessions, 2 * settings.sessions_per_principal),
            connections: Mutex::default(),
            gateway,
            settings,
            starting: Mutex::default(),
            legacy: Mutex::default(),
            modern: Mutex::default(),
            circuits: Circuits::default(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        }
    }

    /// Takes over what an earlier process has left in the store.
    pub(super) fn recover(&self) {
        let (gateway, stop) = (self.gateway.clone(), self.stop.clone());
        self.tasks.spawn(async move {
            stop.run_until_cancelled(gateway.recover()).await;
        });
    }

    /// Finds a session. For another principal or on another route, it doesn't exist.
    pub(super) fn find(&self, id: &str, route: &str, person: &Person) -> Option<Arc<LiveSession>> {
        let live = self.legacy.lock().get(id).cloned()?;
        (live.route == route && live.person.principal == person.principal).then(|| {
            live.touch(self.now());
            live
        })
    }

    fn now(&self) -> UnixTime {
        self.gateway.page_asker.asker.engine().now()
    }

    /// The memory of a principal.
    pub(super) fn memory_of(&self, person: &Person) -> Account {
        self.gateway.memory.of(&person.principal)
    }

    /// Begins a session of 2025.
    pub(super) fn begin(
        self: &Arc<Self>,
        target: Target<'_>,
        person: &Person,
    ) -> Result<Arc<LiveSession>, Reply> {
        let _turn = self.starting.lock();
        let id = random::name::<32>(self.gateway.page_asker.asker.engine());
        let live = self.start(
            target,
            person,
            id.into(),
            Stream::general().counted(&self.memory_of(person)),
            self.settings.idle,
        )?;
        self.legacy.lock().insert(live.id.clone(), live.clone());
        Ok(live)
    }

    /// The session that requests of 2026-07-28 of a class share.
    pub(super) fn shared(
        self: &Arc<Self>,
        target: Target<'_>,
        person: &Person,
        capabilities: Capabilities,
    ) -> Result<Arc<LiveSession>, Reply> {
        let class = ClientClass {
            route: target.name().to_owned(),
            principal: person.principal.clone(),
            capabilities,
        };
        let known = || self.modern.lock().get(&class).cloned();
        let is_usable = |live: &Arc<LiveSession>| {
            if live.service.is_outdated() && !live.service.is_busy() {
                live.stop.cancel();
            }
            !live.is_ending()
        };
        if let Some(live) = known().filter(is_usable) {
            live.touch(self.now());
            return Ok(live);
        }
        let _turn = self.starting.lock();
        // Another request may have started it meanwhile.
        if let Some(live) = known().filter(is_usable) {
            live.touch(self.now());
            return Ok(live);
        }
        let live = self.start(
            target,
            person,
            "".into(),
            Stream::closed(),
            self.settings.pooled,
        )?;
        self.modern.lock().insert(class, live.clone());
        Ok(live)
    }

    fn start(
        self: &Arc<Self>,
        target: Target<'_>,
        person: &Person,
        id: Box<str>,
        general: Stream,
        idle: Duration,
    ) -> Result<Arc<LiveSession>, Reply> {
        let client = ClientSender::Stream(general.clone());
        let (permits, service, upstream) = match target {
            Target::One(route) => {
                let (permits, upstream) = self.connect(route, person)?;
                let session = Session::new(self.gateway.clone(), client, &upstream, person.clone());
                (permits, Service::One(session), Some(upstream))
            }
            Target::All(routes) => {
                let permits = self.permits(target, person)?;
                let sources = routes
                    .iter()
                    .map(|route| self.circuits.guard(&self.gateway, route, person));
                let sources = sources.collect();
                let union = Union::new(self.gateway.clone(), client, sources, person.clone());
                (permits, Service::All(union), None)
            }
        };
        let live = Arc::new(LiveSession {
            id,
            route: target.name().to_owned(),
            person: person.clone(),
            service,
            general,
            streams: Mutex::default(),
            used: Mutex::new(self.now()),
            stop: self.stop.child_token(),
            _permits: permits,
        });
        let (sessions, running) = (self.clone(), live.clone());
        self.tasks
            .spawn(async move { sessions.run(running, upstream, idle).await });
        Ok(live)
    }

    /// Connects to an upstream for a session of its own.
    fn connect(&self, route: &Route, person: &Person) -> Result<(SessionPermits, Upstream), Reply> {
        let name = &route.name;
        if !self.circuits.admits(name, person, self.now()) {
            let message = format!("the server {name:?} keeps ending; try again in a minute");
            return Err(Reply::failed(&message, "upstream_down"));
        }
        let permits = self.permits(Target::One(route), person)?;
        let upstream = (route.connect)().map_err(|error| {
            tracing::warn!(server = %name, %error, "the server cannot be started");
            let why = not_started(&error);
            self.circuits.note_end(&self.gateway, name, person, why);
            let message = format!("the server {name:?} cannot be started: {error}");
            Reply::failed(&message, "upstream_unreachable")
        })?;
        Ok((permits, upstream))
    }

    /// Reserves a session for a principal; the longest idle one of its own gives way.
    fn permits(&self, target: Target<'_>, person: &Person) -> Result<SessionPermits, Reply> {
        let principal = &person.principal;
        let mut connections = Vec::new();
        for route in target.routes() {
            let on_route = |live: &&Arc<LiveSession>| {
                live.person.principal == *principal && live.uses(route) && !live.is_ending()
            };
            if self.all().iter().filter(on_route).count() >= route.per_principal
                && !self.evict(|live| on_route(&live))
            {
                let name = &route.name;
                let message = format!(
                    "too many connections to the server {name:?} are in use; try again later"
                );
                return Err(Reply::busy(&message));
            }
            // Twice, for those that are ending: a server may take its time for that.
            let mut all = self.connections.lock();
            let shares = all
                .entry(route.name.clone())
                .or_insert_with(|| Shares::new(usize::MAX, 2 * route.per_principal));
            connections.push(shares.take(principal.clone()).map_err(|_| {
                let name = &route.name;
                let message = format!(
                    "too many connections to the server {name:?} have not ended yet; try again later"
                );
                Reply::busy(&message)
            })?);
        }
        let busy = || Reply::busy("too many sessions are open; try again later");
        let is_own =
            |live: &Arc<LiveSession>| live.person.principal == *principal && !live.is_ending();
        if self.all().iter().filter(|live| is_own(live)).count()
            >= self.settings.sessions_per_principal
            && !self.evict(is_own)
        {
            return Err(busy());
        }
        let session = self.shares.take(principal.clone()).map_err(|_| busy())?;
        Ok(SessionPermits {
            _session: session,
            _connections: connections,
        })
    }

    fn all(&self) -> Vec<Arc<LiveSession>> {
        let mut all: Vec<_> = self.legacy.lock().values().cloned().collect();
        all.extend(self.modern.lock().values().cloned());
        all
    }

    /// Ends the longest idle session of those that a predicate accepts. Returns whether there was
    /// one.
    fn evict(&self, is_candidate: impl Fn(&Arc<LiveSession>) -> bool) -> bool {
        let all = self.all();
        let idle = all
            .iter()
            .filter(|live| is_candidate(live) && !live.is_ending() && !live.is_busy())
            .min_by_key(|live| *live.used.lock());
        match idle {
            Some(live) => {
                live.end();
                true
            }
            None => false,
        }
    }

    async fn run(
        self: Arc<Self>,
        live: Arc<LiveSession>,
        upstream: Option<Upstream>,
        idle: Duration,
    ) {
        let mut upstream = upstream;
        let reading = async {
            match (&live.service, &mut upstream) {
                (Service::One(session), Some(upstream)) => {
                    session.read_upstream(&mut upstream.receiver).await
                }
                // A union outlives its upstreams.
                (Service::One(_) | Service::All(_), _) => std::future::pending().await,
            }
        };
        let ended = tokio::select! {
            biased;
            () = live.stop.cancelled() => None,
            closed = reading => Some(closed),
            () = self.idle(&live, idle) => None,
        };
        live.stop.cancel();
        self.legacy.lock().remove(&live.id);
        self.modern
            .lock()
            .retain(|_, other| !Arc::ptr_eq(other, &live));
        // Boxed, as all that comes after: the task of an idle session has no room for it.
        match &live.service {
            Service::One(session) => Box::pin(session.end()).await,
            Service::All(union) => Box::pin(union.end()).await,
        }
        live.general.end();
        for stream in live.streams.lock().open.values() {
            stream.end();
        }
        match (ended, upstream) {
            (Some(closed), _) => {
                let (name, why) = (&live.route, words(closed));
                self.circuits
                    .note_end(&self.gateway, name, &live.person, why);
            }
            (None, Some(upstream)) => {
                Box::pin(upstream.close()).await;
            }
            (None, None) => {}
        }
    }

    /// Waits until a session has been idle for long enough. One that does something never is.
    async fn idle(&self, live: &LiveSession, idle: Duration) {
        loop {
            let rest = live.used.lock().after(idle).since(self.now());
            if rest.is_zero() {
                return;
            }
            self.gateway.page_asker.asker.engine().sleep(rest).await;
            if live.is_busy() {
                live.touch(self.now());
            }
        }
    }

    /// What goes on behind a route.
    pub(super) fn status(&self, route: &str) -> UpstreamStatus {
        let mut summary = SessionSummary::default();
        for live in self.all() {
            if live.is_ending() {
                continue;
            }
            let Some(session) = live.service.session_with(&live.route, route) else {
                continue;
            };
            summary.sessions += 1;
            summary.children += usize::from(session.upstream.is_child());
            summary.era = session.upstream_era().or(summary.era);
        }
        summary.retry_at = self.circuits.open_until(route, self.now());
        match &self.gateway.observer {
            Some(observer) => observer.of(route).status(route, summary),
            None => Observer::new().of(route).status(route, summary),
        }
    }

    /// Ends all sessions, and waits until their servers are gone.
    pub(super) async fn close(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl LiveSession {
    fn touch(&self, now: UnixTime) {
        *self.used.lock() = now;
    }

    fn is_busy(&self) -> bool {
        self.service.is_busy() || self.general.is_read()
    }

    /// Whether it has a connection to an upstream.
    fn uses(&self, route: &Route) -> bool {
        match self.service {
            Service::One(_) => self.route == route.name,
            Service::All(_) => true,
        }
    }

    fn is_ending(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Ends the session.
    pub(super) fn end(&self) {
        self.stop.cancel();
    }

    /// Keeps a stream for a client that comes back, and numbers it.
    pub(super) fn keep(&self, stream: &Stream) -> u64 {
        let mut streams = self.streams.lock();
        streams.next += 1;
        let number = streams.next;
        streams.open.insert(number, stream.clone());
        while streams.open.len() > MAX_KEPT_STREAMS {
            // Those that were read to their end, then those that nobody came back for, oldest first.
            let find = |is_it: fn(&Stream) -> bool| streams.open.iter().find(|it| is_it(it.1));
            let over = find(Stream::is_over).or_else(|| find(Stream::is_left));
            let Some(over) = over.map(|(number, _)| *number) else {
                break;
            };
            streams.open.remove(&over);
        }
        number
    }

    /// Finds a stream by its number; the general one has number 0.
    pub(super) fn stream(&self, number: u64) -> Option<Stream> {
        if number == 0 {
            return Some(self.general.clone());
        }
        self.streams.lock().open.get(&number).cloned()
    }
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Route")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

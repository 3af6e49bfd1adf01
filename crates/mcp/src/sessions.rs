//! Sessions of the eras of 2025 over HTTP: whose each is, and how many there may be.
//!
//! rmcp keeps sessions by their ids alone. Here a session belongs to the principal that began it,
//! and is unknown to everybody else. When a principal has its share of sessions, the one that it
//! has left alone the longest makes way for the new one; nobody's sessions make way for another's.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use entreat_engine::shares::{Place, Shares};
use futures_util::Stream;
use http::request::Parts;
use parking_lot::Mutex;
use rmcp::model::{ClientJsonRpcMessage, Extensions, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError,
};
use rmcp::transport::streamable_http_server::session::{
    RestoreOutcome, ServerSseMessage, SessionId, SessionManager, SessionState, SessionStore,
    SessionStoreError,
};

use crate::mcp::McpSettings;

tokio::task_local! {
    /// The request that is being answered: rmcp does not tell the manager of sessions.
    static VISIT: Arc<Visit>;
}

/// The sessions of one service.
pub(crate) struct Sessions {
    local: LocalSessionManager,
    table: Arc<Table>,
    /// Whether sessions of other processes can be restored.
    has_store: bool,
}

/// Why a session cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionsError {
    #[error("there is no such session")]
    Unknown,
    #[error("there are too many sessions")]
    Full,
    #[error(transparent)]
    Local(#[from] LocalSessionManagerError),
}

/// Whose sessions there are.
struct Table {
    places: Shares<Arc<str>>,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    sessions: HashMap<SessionId, Session>,
    /// Counts what happens, so that the longest idle session is known without a clock.
    turn: u64,
}

struct Session {
    principal: Arc<str>,
    /// How many requests are under way in it, streams included.
    open: usize,
    /// When the last of them ended.
    left: u64,
    _place: Place<Arc<str>>,
}

/// A request over HTTP, as long as anything of it is under way: whose it is, and in which session.
pub(crate) struct Visit {
    principal: Arc<str>,
    session: OnceLock<(Arc<Table>, SessionId)>,
    refusal: OnceLock<Refusal>,
}

/// Why a request is refused, whatever rmcp answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    UnknownSession,
    TooManySessions,
    TooManyValues,
    SlowBody,
}

impl Visit {
    pub(crate) fn of(principal: String) -> Self {
        Self {
            principal: principal.into(),
            session: OnceLock::new(),
            refusal: OnceLock::new(),
        }
    }

    pub(crate) fn principal(&self) -> &Arc<str> {
        &self.principal
    }

    /// The visit that a request of MCP came by.
    pub(crate) fn of_request(extensions: &Extensions) -> Option<Arc<Self>> {
        let parts = extensions.get::<Parts>()?;
        parts.extensions.get::<Arc<Self>>().cloned()
    }

    /// Answers the request, so that the manager of sessions knows whose it is.
    pub(crate) async fn scope<F: Future>(self: &Arc<Self>, answering: F) -> F::Output {
        VISIT.scope(self.clone(), answering).await
    }

    pub(crate) fn refusal(&self) -> Option<Refusal> {
        self.refusal.get().copied()
    }

    pub(crate) fn refuse(&self, refusal: Refusal) {
        // The first reason is the one that counts.
        let _ = self.refusal.set(refusal);
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        if let Some((table, id)) = self.session.get() {
            let mut held = table.held.lock();
            held.turn += 1;
            let turn = held.turn;
            if let Some(session) = held.sessions.get_mut(id) {
                session.open = session.open.saturating_sub(1);
                session.left = turn;
            }
        }
    }
}

impl Table {
    /// Whether a session is the visitor's. If so, the visit is under way in it.
    fn enter(self: &Arc<Self>, id: &SessionId, visit: &Visit) -> bool {
        let mut held = self.held.lock();
        let own = |it: &&mut Session| it.principal == visit.principal;
        let Some(session) = held.sessions.get_mut(id).filter(own) else {
            return false;
        };
        if visit.session.set((self.clone(), id.clone())).is_ok() {
            session.open += 1;
        }
        true
    }

    /// Adds a session, in which the visit is under way.
    fn add(self: &Arc<Self>, id: &SessionId, visit: &Visit, place: Place<Arc<str>>) {
        let session = Session {
            principal: visit.principal.clone(),
            open: 0,
            left: 0,
            _place: place,
        };
        self.held.lock().sessions.insert(id.clone(), session);
        self.enter(id, visit);
    }

    fn remove(&self, id: &SessionId) {
        // Dropped after the lock.
        let _removed = self.held.lock().sessions.remove(id);
    }

    /// The session that a principal has left alone the longest.
    fn longest_idle(&self, principal: &str) -> Option<SessionId> {
        let held = self.held.lock();
        let idle = held.sessions.iter();
        let idle = idle.filter(|(_, it)| it.open == 0 && *it.principal == *principal);
        let longest = idle.min_by_key(|(_, it)| it.left);
        longest.map(|(id, _)| id.clone())
    }
}

impl Sessions {
    pub(crate) fn new(settings: &McpSettings, has_store: bool) -> Self {
        let mut local = LocalSessionManager::default();
        local.session_config.keep_alive = Some(settings.session_idle);
        let table = Table {
            places: settings.shares(settings.sessions),
            held: Mutex::default(),
        };
        Self {
            local,
            table: Arc::new(table),
            has_store,
        }
    }

    /// A place for one more session of the visitor's, for which an idle one of theirs may end.
    async fn place(&self, visit: &Visit) -> Result<Place<Arc<str>>, SessionsError> {
        loop {
            let full = match self.table.places.take(visit.principal.clone()) {
                Ok(place) => return Ok(place),
                Err(full) => full,
            };
            let Some(idle) = self.table.longest_idle(&visit.principal) else {
                tracing::warn!(%full, "a session was refused");
                visit.refuse(Refusal::TooManySessions);
                return Err(SessionsError::Full);
            };
            self.end(&idle).await?;
        }
    }

    async fn end(&self, id: &SessionId) -> Result<(), SessionsError> {
        self.table.remove(id);
        Ok(self.local.close_session(id).await?)
    }

    /// Refuses what is not the visitor's.
    fn enter(&self, id: &SessionId) -> Result<(), SessionsError> {
        let visit = visit()?;
        if self.table.enter(id, &visit) {
            return Ok(());
        }
        visit.refuse(Refusal::UnknownSession);
        Err(SessionsError::Unknown)
    }
}

/// The request that is being answered.
fn visit() -> Result<Arc<Visit>, SessionsError> {
    VISIT
        .try_with(Arc::clone)
        .map_err(|_| SessionsError::Unknown)
}

impl SessionManager for Sessions {
    type Error = SessionsError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), SessionsError> {
        let visit = visit()?;
        let place = self.place(&visit).await?;
        let (id, transport) = self.local.create_session().await?;
        self.table.add(&id, &visit, place);
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionsError> {
        self.enter(id)?;
        Ok(self.local.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionsError> {
        let visit = visit()?;
        Ok(self.table.enter(id, &visit) && self.local.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionsError> {
        // Without a visitor, it ends by itself.
        if let Ok(visit) = visit()
            && !self.table.enter(id, &visit)
        {
            let is_here = self.local.has_session(id).await?;
            if is_here || !self.has_store {
                visit.refuse(Refusal::UnknownSession);
            }
            return Ok(());
        }
        self.end(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        self.enter(id)?;
        Ok(self.local.create_stream(id, message).await?)
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), SessionsError> {
        self.enter(id)?;
        Ok(self.local.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        self.enter(id)?;
        Ok(self.local.create_standalone_stream(id).await?)
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        self.enter(id)?;
        Ok(self.local.resume(id, last_event_id).await?)
    }

    async fn restore_session(
        &self,
        id: SessionId,
    ) -> Result<RestoreOutcome<Self::Transport>, SessionsError> {
        let visit = visit()?;
        if self.local.has_session(&id).await? {
            return Ok(RestoreOutcome::NotSupported);
        }
        let place = self.place(&visit).await?;
        let restored = self.local.restore_session(id.clone()).await?;
        self.table.add(&id, &visit, place);
        Ok(restored)
    }
}

/// A store of sessions that several processes share, in which each has its own by principal.
pub(crate) struct OwnSessions(pub(crate) Arc<dyn SessionStore>);

type Stored<'a, T> = Pin<Box<dyn Future<Output = Result<T, SessionStoreError>> + Send + 'a>>;

impl OwnSessions {
    /// The name of a visitor's session, under which nobody else finds it.
    fn own(id: &str) -> Result<String, SessionStoreError> {
        let owner = blake3::hash(visit()?.principal.as_bytes());
        Ok(format!("{id}.{}", &owner.to_hex()[..32]))
    }
}

impl SessionStore for OwnSessions {
    fn load<'a, 'b, 'c>(&'a self, id: &'b str) -> Stored<'c, Option<SessionState>>
    where
        'a: 'c,
        'b: 'c,
    {
        Box::pin(async move { self.0.load(&Self::own(id)?).await })
    }

    fn store<'a, 'b, 'c, 'd>(&'a self, id: &'b str, state: &'c SessionState) -> Stored<'d, ()>
    where
        'a: 'd,
        'b: 'd,
        'c: 'd,
    {
        Box::pin(async move { self.0.store(&Self::own(id)?, state).await })
    }

    fn delete<'a, 'b, 'c>(&'a self, id: &'b str) -> Stored<'c, ()>
    where
        'a: 'c,
        'b: 'c,
    {
        Box::pin(async move { self.0.delete(&Self::own(id)?).await })
    }
}

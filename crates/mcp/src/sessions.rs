//! HTTP sessions of the 2025 protocol versions: ownership and limits.
//!
//! rmcp looks sessions up by id alone. Here a session belongs to the principal that created it, and
//! does not exist for others. A principal at its share replaces its own longest-idle session;
//! sessions of one principal are never evicted for another.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use entreat_engine::shares::{Permit, Shares};
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
    /// The request being handled, which rmcp does not pass to the session manager.
    static CURRENT: Arc<RequestScope>;
}

/// The sessions of one service.
pub(crate) struct Sessions {
    local: LocalSessionManager,
    table: Arc<SessionTable>,
    /// Whether sessions of other processes can be restored.
    has_store: bool,
}

/// Why a session is not available.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionsError {
    #[error("there is no such session")]
    Unknown,
    #[error("there are too many sessions")]
    Full,
    #[error(transparent)]
    Local(#[from] LocalSessionManagerError),
}

/// The owners of sessions.
struct SessionTable {
    places: Shares<Arc<str>>,
    map: Mutex<SessionMap>,
}

#[derive(Default)]
struct SessionMap {
    sessions: HashMap<SessionId, Session>,
    /// A logical clock, which orders sessions by last use.
    tick: u64,
}

struct Session {
    principal: Arc<str>,
    /// The number of requests in flight, streams included.
    open: usize,
    /// The tick at which the last request ended.
    last_used: u64,
    _place: Permit<Arc<str>>,
}

/// The lifetime of an HTTP request, including its handler and response body: its principal and
/// session.
pub(crate) struct RequestScope {
    principal: Arc<str>,
    session: OnceLock<(Arc<SessionTable>, SessionId)>,
    refusal: OnceLock<Refusal>,
}

/// Why a request is refused, overriding rmcp's response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    UnknownSession,
    TooManySessions,
    TooManyValues,
    SlowBody,
}

impl RequestScope {
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

    /// Returns the HTTP request that an MCP request arrived in.
    pub(crate) fn of_request(extensions: &Extensions) -> Option<Arc<Self>> {
        let parts = extensions.get::<Parts>()?;
        parts.extensions.get::<Arc<Self>>().cloned()
    }

    /// Handles the request with its scope visible to the session manager.
    pub(crate) async fn run<F: Future>(self: &Arc<Self>, response: F) -> F::Output {
        CURRENT.scope(self.clone(), response).await
    }

    pub(crate) fn refusal(&self) -> Option<Refusal> {
        self.refusal.get().copied()
    }

    pub(crate) fn refuse(&self, refusal: Refusal) {
        // The first reason wins.
        let _ = self.refusal.set(refusal);
    }
}

impl Drop for RequestScope {
    fn drop(&mut self) {
        if let Some((table, id)) = self.session.get() {
            let mut map = table.map.lock();
            map.tick += 1;
            let tick = map.tick;
            if let Some(session) = map.sessions.get_mut(id) {
                session.open = session.open.saturating_sub(1);
                session.last_used = tick;
            }
        }
    }
}

impl SessionTable {
    /// Enters a session if it belongs to the request's principal; returns whether it does.
    fn enter(self: &Arc<Self>, id: &SessionId, scope: &RequestScope) -> bool {
        let mut map = self.map.lock();
        let own = |it: &&mut Session| it.principal == scope.principal;
        let Some(session) = map.sessions.get_mut(id).filter(own) else {
            return false;
        };
        if scope.session.set((self.clone(), id.clone())).is_ok() {
            session.open += 1;
        }
        true
    }

    /// Adds a session and enters it.
    fn add(self: &Arc<Self>, id: &SessionId, scope: &RequestScope, place: Permit<Arc<str>>) {
        let session = Session {
            principal: scope.principal.clone(),
            open: 0,
            last_used: 0,
            _place: place,
        };
        self.map.lock().sessions.insert(id.clone(), session);
        self.enter(id, scope);
    }

    fn remove(&self, id: &SessionId) {
        // Dropped after the lock is released.
        let _removed = self.map.lock().sessions.remove(id);
    }

    /// Returns the principal's session that has been idle the longest.
    fn longest_idle(&self, principal: &str) -> Option<SessionId> {
        let map = self.map.lock();
        let idle = map.sessions.iter();
        let idle = idle.filter(|(_, it)| it.open == 0 && *it.principal == *principal);
        let longest = idle.min_by_key(|(_, it)| it.last_used);
        longest.map(|(id, _)| id.clone())
    }
}

impl Sessions {
    pub(crate) fn new(settings: &McpSettings, has_store: bool) -> Self {
        let mut local = LocalSessionManager::default();
        local.session_config.keep_alive = Some(settings.session_idle);
        let table = SessionTable {
            places: settings.shares(settings.sessions),
            map: Mutex::default(),
        };
        Self {
            local,
            table: Arc::new(table),
            has_store,
        }
    }

    /// Acquires a permit for a session, ending the principal's longest-idle one if necessary.
    async fn place(&self, scope: &RequestScope) -> Result<Permit<Arc<str>>, SessionsError> {
        loop {
            let full = match self.table.places.take(scope.principal.clone()) {
                Ok(place) => return Ok(place),
                Err(full) => full,
            };
            let Some(idle) = self.table.longest_idle(&scope.principal) else {
                tracing::warn!(%full, "a session was rejected");
                scope.refuse(Refusal::TooManySessions);
                return Err(SessionsError::Full);
            };
            self.end(&idle).await?;
        }
    }

    async fn end(&self, id: &SessionId) -> Result<(), SessionsError> {
        self.table.remove(id);
        Ok(self.local.close_session(id).await?)
    }

    /// Enters a session, or refuses the request if it belongs to another principal.
    fn enter(&self, id: &SessionId) -> Result<(), SessionsError> {
        let scope = current_request()?;
        if self.table.enter(id, &scope) {
            return Ok(());
        }
        scope.refuse(Refusal::UnknownSession);
        Err(SessionsError::Unknown)
    }
}

/// Returns the request being handled.
fn current_request() -> Result<Arc<RequestScope>, SessionsError> {
    CURRENT
        .try_with(Arc::clone)
        .map_err(|_| SessionsError::Unknown)
}

impl SessionManager for Sessions {
    type Error = SessionsError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), SessionsError> {
        let scope = current_request()?;
        let place = self.place(&scope).await?;
        let (id, transport) = self.local.create_session().await?;
        self.table.add(&id, &scope, place);
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
        let scope = current_request()?;
        Ok(self.table.enter(id, &scope) && self.local.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionsError> {
        // Outside a request, the session expired.
        if let Ok(scope) = current_request()
            && !self.table.enter(id, &scope)
        {
            let is_here = self.local.has_session(id).await?;
            if is_here || !self.has_store {
                scope.refuse(Refusal::UnknownSession);
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
        let scope = current_request()?;
        if self.local.has_session(&id).await? {
            return Ok(RestoreOutcome::NotSupported);
        }
        let place = self.place(&scope).await?;
        let restored = self.local.restore_session(id.clone()).await?;
        self.table.add(&id, &scope, place);
        Ok(restored)
    }
}

/// A shared session store in which keys are scoped by principal.
pub(crate) struct ScopedSessionStore(pub(crate) Arc<dyn SessionStore>);

type Stored<'a, T> = Pin<Box<dyn Future<Output = Result<T, SessionStoreError>> + Send + 'a>>;

impl ScopedSessionStore {
    /// The key of a session, which only its principal can derive.
    fn scoped_id(id: &str) -> Result<String, SessionStoreError> {
        let owner = blake3::hash(current_request()?.principal.as_bytes());
        Ok(format!("{id}.{}", &owner.to_hex()[..32]))
    }
}

impl SessionStore for ScopedSessionStore {
    fn load<'a, 'b, 'c>(&'a self, id: &'b str) -> Stored<'c, Option<SessionState>>
    where
        'a: 'c,
        'b: 'c,
    {
        Box::pin(async move { self.0.load(&Self::scoped_id(id)?).await })
    }

    fn store<'a, 'b, 'c, 'd>(&'a self, id: &'b str, state: &'c SessionState) -> Stored<'d, ()>
    where
        'a: 'd,
        'b: 'd,
        'c: 'd,
    {
        Box::pin(async move { self.0.store(&Self::scoped_id(id)?, state).await })
    }

    fn delete<'a, 'b, 'c>(&'a self, id: &'b str) -> Stored<'c, ()>
    where
        'a: 'c,
        'b: 'c,
    {
        Box::pin(async move { self.0.delete(&Self::scoped_id(id)?).await })
    }
}

//! Connects to a server, by URL or by starting it.

use std::ffi::OsString;
use std::process::Stdio;
use std::str::FromStr;
use std::sync::Arc;

use anyhow::Context as _;
use entreat::mcp::answer::{self, Answering, ConnectionFailure};
use entreat::mcp::rmcp::RoleClient;
use entreat::mcp::rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, RunningService,
};
use entreat_wire::oauth::TokenSource;
use http::{HeaderMap, HeaderName, HeaderValue};
use tokio::process::Command;

use super::identity::Entreat;
use super::stderr::ServerStderr;
use crate::{output, sign_in};

/// The server to call.
pub(super) enum ServerTarget<'a> {
    Url(&'a str),
    Command {
        program: &'a OsString,
        arguments: &'a [OsString],
    },
}

/// How the server may be called.
pub(super) struct Access<'a> {
    pub(super) headers: &'a [Header],
    pub(super) tokens: Option<Arc<dyn TokenSource>>,
}

/// A header for each request.
pub(in crate::command) type Header = (HeaderName, HeaderValue);

pub(super) type Connected = RunningService<RoleClient, Answering<Entreat>>;

impl ServerTarget<'_> {
    /// Returns the server's name until it reports its own.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Url(url) => output::sanitize(url).into_owned(),
            Self::Command { program, .. } => output::sanitize_path(program),
        }
    }

    pub(super) fn url(&self) -> Option<String> {
        match self {
            Self::Url(url) => Some((*url).to_owned()),
            Self::Command { .. } => None,
        }
    }

    /// Connects by the first handshake that succeeds; the stderr of a server started here goes to
    /// `stderr`, which is held back during the handshake, and with `hold_stderr` also after it.
    pub(super) async fn connect(
        &self,
        answering: Answering<Entreat>,
        eras: Vec<ClientLifecycleMode>,
        access: &Access<'_>,
        stderr: &mut Option<ServerStderr>,
        hold_stderr: bool,
    ) -> anyhow::Result<Connected> {
        let mut eras = eras.into_iter();
        let mut first = None;
        loop {
            let Some(era) = eras.next() else {
                // The first error is about the version that the server should have spoken.
                return Err(match first {
                    Some(error) => unreachable(self, &error),
                    None => anyhow::anyhow!("no protocol version is left to try"),
                });
            };
            let tried = self
                .try_connect(answering.clone(), era, access, stderr)
                .await?;
            if let (Err(_), Some(stderr)) = (&tried, &mut *stderr) {
                stderr.read_rest().await;
            }
            match tried {
                Ok(connected) => {
                    if let Some(stderr) = stderr {
                        stderr.handshake_succeeded(is_older(&connected), hold_stderr);
                    }
                    return Ok(connected);
                }
                Err(error) if may_be_older(&error) => {
                    tracing::debug!(%error, "the handshake failed");
                    if let (Some(stderr), true) = (&*stderr, eras.len() > 0) {
                        stderr.drop_held();
                    }
                    first.get_or_insert(error);
                }
                Err(error) => return Err(unreachable(self, &error)),
            }
        }
    }

    async fn try_connect(
        &self,
        answering: Answering<Entreat>,
        era: ClientLifecycleMode,
        access: &Access<'_>,
        stderr: &mut Option<ServerStderr>,
    ) -> anyhow::Result<Result<Connected, ClientInitializeError>> {
        Ok(match self {
            Self::Url(url) => {
                let headers: HeaderMap = access.headers.iter().cloned().collect();
                let transport = match &access.tokens {
                    Some(tokens) => answer::http_with_tokens(url, headers, tokens.clone())?,
                    None => answer::http(url, headers)?,
                };
                answering.serve_with_lifecycle(transport, era).await
            }
            Self::Command { program, arguments } => {
                let mut command = Command::new(program);
                command.args(*arguments).stderr(Stdio::piped());
                let mut child = answer::child(command)
                    .with_context(|| format!("cannot start {}", self.name()))?;
                let stream = child.take_stderr();
                *stderr = stream.map(ServerStderr::listen);
                answering.serve_with_lifecycle(child, era).await
            }
        })
    }
}

/// Whether a server turned out to speak a version before 2026-07-28.
fn is_older(connected: &Connected) -> bool {
    let server = connected.peer().peer_info();
    server.is_some_and(|server| server.protocol_version.as_str() < "2026-07-28")
}

/// Whether a handshake may have failed because the server is too old for it.
fn may_be_older(error: &ClientInitializeError) -> bool {
    !error.is_authorization_required()
        && !matches!(
            error,
            // The older handshake has failed too.
            ClientInitializeError::LegacyFallbackFailed { .. } | ClientInitializeError::Cancelled
        )
        && !matches!(
            answer::connection_failure(error),
            Some(ConnectionFailure::Connect(_) | ConnectionFailure::SignIn(_))
        )
}

/// Explains a connection error in one line, and what to do.
fn unreachable(target: &ServerTarget<'_>, error: &ClientInitializeError) -> anyhow::Error {
    let name = target.name();
    if error.is_authorization_required() {
        return anyhow::anyhow!(
            "{name} rejects the credentials, or requires some: add \
             --header 'Authorization: Bearer ...'"
        );
    }
    match (answer::connection_failure(error), target) {
        (Some(ConnectionFailure::Connect(why)), _) => {
            let why = output::sanitize(&why).to_lowercase();
            return anyhow::anyhow!(
                "cannot connect to {name}: {why}. Is the server running, and is the URL right?"
            );
        }
        (Some(ConnectionFailure::Broken(why)), _) => {
            let why = output::sanitize(&why).into_owned();
            return anyhow::anyhow!(why).context(format!(
                "{name} doesn't respond like an MCP server: check the URL, which often ends in /mcp"
            ));
        }
        (Some(ConnectionFailure::SignIn(error)), _) => {
            return anyhow::anyhow!(sign_in::explain(&name, &error, "--client-id"));
        }
        (None, _) => {}
    }
    let message = match (error, target) {
        (
            ClientInitializeError::ConnectionClosed(_)
            | ClientInitializeError::TransportError { .. },
            ServerTarget::Command { .. },
        ) => return anyhow::anyhow!("{name} exited without a response: is it an MCP server?"),
        _ => format!("{name} doesn't respond like an MCP server"),
    };
    // The message may contain untrusted text.
    let cause = output::sanitize(&error.to_string()).into_owned();
    anyhow::anyhow!(cause).context(message)
}

pub(in crate::command) fn header(text: &str) -> Result<Header, String> {
    let (name, value) = text.split_once(':').ok_or("expected `Name: value`")?;
    let name = HeaderName::from_str(name.trim()).map_err(|error| error.to_string())?;
    let mut value = HeaderValue::from_str(value.trim()).map_err(|error| error.to_string())?;
    value.set_sensitive(true);
    Ok((name, value))
}

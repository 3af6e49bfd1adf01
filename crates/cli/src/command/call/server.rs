//! Connects to a server, by URL or by starting it.

use std::ffi::OsString;
use std::process::Stdio;
use std::str::FromStr;

use anyhow::Context as _;
use entreat::mcp::answer::{self, Answering};
use entreat::mcp::rmcp::RoleClient;
use entreat::mcp::rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, RunningService,
};
use http::{HeaderMap, HeaderName, HeaderValue};
use tokio::process::Command;

use super::identity::Entreat;
use super::stderr::ServerStderr;
use crate::output;

/// The server to call.
pub(super) enum ServerTarget<'a> {
    Url(&'a str),
    Command {
        program: &'a OsString,
        arguments: &'a [OsString],
    },
}

/// A header for each request.
pub(super) type Header = (HeaderName, HeaderValue);

pub(super) type Connected = RunningService<RoleClient, Answering<Entreat>>;

impl ServerTarget<'_> {
    /// Returns the server's name until it reports its own.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Url(url) => output::sanitize(url).into_owned(),
            Self::Command { program, .. } => {
                output::sanitize(&program.to_string_lossy()).into_owned()
            }
        }
    }

    pub(super) fn url(&self) -> Option<String> {
        match self {
            Self::Url(url) => Some((*url).to_owned()),
            Self::Command { .. } => None,
        }
    }

    /// Connects; the stderr of a server started here goes to `stderr`.
    pub(super) async fn connect(
        &self,
        answering: Answering<Entreat>,
        lifecycle: ClientLifecycleMode,
        headers: &[Header],
        stderr: &mut Option<ServerStderr>,
        hold_stderr: bool,
    ) -> anyhow::Result<Connected> {
        let connected = match self {
            Self::Url(url) => {
                let headers: HeaderMap = headers.iter().cloned().collect();
                let transport = answer::http(url, headers)?;
                answering.serve_with_lifecycle(transport, lifecycle).await
            }
            Self::Command { program, arguments } => {
                let mut command = Command::new(program);
                command.args(*arguments).stderr(Stdio::piped());
                let mut child = answer::child(command)
                    .with_context(|| format!("cannot start {}", self.name()))?;
                let stream = child.take_stderr();
                *stderr = stream.map(|stream| ServerStderr::listen(stream, hold_stderr));
                answering.serve_with_lifecycle(child, lifecycle).await
            }
        };
        connected.map_err(|error| unreachable(self, &error))
    }
}

/// Explains a connection error in one line.
fn unreachable(target: &ServerTarget<'_>, error: &ClientInitializeError) -> anyhow::Error {
    let name = target.name();
    if error.is_authorization_required() {
        return anyhow::anyhow!(
            "{name} requires authentication: add --header 'Authorization: Bearer ...'"
        );
    }
    let message = match (error, target) {
        (
            ClientInitializeError::ConnectionClosed(_)
            | ClientInitializeError::TransportError { .. },
            ServerTarget::Command { .. },
        ) => format!("{name} exited without a response: is it an MCP server?"),
        _ => format!("{name} doesn't respond like an MCP server"),
    };
    // The message may contain untrusted text.
    let cause = output::sanitize(&error.to_string()).into_owned();
    anyhow::anyhow!(cause).context(message)
}

pub(super) fn header(text: &str) -> Result<Header, String> {
    let (name, value) = text.split_once(':').ok_or("expected `Name: value`")?;
    let name = HeaderName::from_str(name.trim()).map_err(|error| error.to_string())?;
    let mut value = HeaderValue::from_str(value.trim()).map_err(|error| error.to_string())?;
    value.set_sensitive(true);
    Ok((name, value))
}

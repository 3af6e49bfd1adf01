//! The server that is called: by its URL, or started here.

use std::ffi::OsString;
use std::process::Stdio;
use std::str::FromStr;

use anyhow::Context as _;
use entreat::mcp::answer::{self, Answering};
use entreat::mcp::rmcp::RoleClient;
use entreat::mcp::rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, RunningService,
};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::process::Command;

use super::errors::Errors;
use super::identity::Entreat;
use crate::output;

/// Where a server is.
pub(super) enum Place<'a> {
    Url(&'a str),
    Command {
        program: &'a OsString,
        arguments: &'a [OsString],
    },
}

/// A header for each request.
pub(super) type Header = (HeaderName, HeaderValue);

pub(super) type Connected = RunningService<RoleClient, Answering<Entreat>>;

impl Place<'_> {
    /// What the server is called until it says so itself.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Url(url) => output::plain(url).into_owned(),
            Self::Command { program, .. } => output::plain(&program.to_string_lossy()).into_owned(),
        }
    }

    pub(super) fn url(&self) -> Option<String> {
        match self {
            Self::Url(url) => Some((*url).to_owned()),
            Self::Command { .. } => None,
        }
    }

    /// Connects; what a server that is started here says meanwhile goes to `errors`.
    pub(super) async fn connect(
        &self,
        answering: Answering<Entreat>,
        lifecycle: ClientLifecycleMode,
        headers: &[Header],
        errors: &mut Option<Errors>,
        hold_errors: bool,
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
                *errors = stream.map(|stream| Errors::listen(stream, hold_errors));
                answering.serve_with_lifecycle(child, lifecycle).await
            }
        };
        connected.map_err(|error| unreachable(self, &error))
    }
}

/// Says what went wrong in one line that a person can use.
fn unreachable(place: &Place<'_>, error: &ClientInitializeError) -> anyhow::Error {
    let name = place.name();
    if error.is_authorization_required() {
        return anyhow::anyhow!(
            "{name} wants to know who calls: add --header 'Authorization: Bearer ...'"
        );
    }
    let told = match (error, place) {
        (
            ClientInitializeError::ConnectionClosed(_)
            | ClientInitializeError::TransportError { .. },
            Place::Command { .. },
        ) => format!("{name} ended before it spoke: is it an MCP server?"),
        _ => format!("{name} does not answer as an MCP server"),
    };
    // The words may hold the server's.
    let words = output::plain(&error.to_string()).into_owned();
    anyhow::anyhow!(words).context(told)
}

pub(super) fn header(text: &str) -> Result<Header, String> {
    let (name, value) = text.split_once(':').ok_or("it is no `Name: value`")?;
    let name = HeaderName::from_str(name.trim()).map_err(|error| error.to_string())?;
    let mut value = HeaderValue::from_str(value.trim()).map_err(|error| error.to_string())?;
    value.set_sensitive(true);
    Ok((name, value))
}

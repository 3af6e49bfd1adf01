//! A server started as a child process.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::process::{Child as Process, ChildStderr, ChildStdin, ChildStdout, Command};

use super::pipe::Pipe;

/// How long a server may take to exit after its stdin is closed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(3);

/// Starts a server and connects to its stdin and stdout.
///
/// Its stderr goes where the command directs it; with [`Stdio::piped`], [take](Child::take_stderr)
/// it. The process is killed when the transport is dropped.
pub fn child(mut command: Command) -> io::Result<Child> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    let mut process = command.spawn()?;
    let missing = || io::Error::other("the program has no standard streams");
    let stdin = process.stdin.take().ok_or_else(missing)?;
    let stdout = process.stdout.take().ok_or_else(missing)?;
    Ok(Child {
        pipe: Pipe::new(stdout, stdin),
        process,
    })
}

/// A server that runs as a child process; returned by [`child()`].
#[derive(Debug)]
pub struct Child {
    pipe: Pipe<ChildStdout, ChildStdin>,
    process: Process,
}

impl Child {
    /// Takes the server's stderr, if the command pipes it.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.process.stderr.take()
    }
}

impl Transport<RoleClient> for Child {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.pipe.send(message)
    }

    fn receive(&mut self) -> impl Future<Output = Option<ServerJsonRpcMessage>> + Send {
        self.pipe.receive()
    }

    async fn close(&mut self) -> io::Result<()> {
        self.pipe.close().await?;
        if tokio::time::timeout(EXIT_TIMEOUT, self.process.wait())
            .await
            .is_err()
        {
            self.process.kill().await?;
        }
        Ok(())
    }
}

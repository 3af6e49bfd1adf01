//! This process's own stdin and stdout.

use tokio::io::{AsyncRead, AsyncWrite};

/// This process's stdin, for reading.
pub type Stdin = Box<dyn AsyncRead + Send + Unpin>;

/// This process's stdout, for writing.
pub type Stdout = Box<dyn AsyncWrite + Send + Unpin>;

/// Returns this process's stdin and stdout. Call it once, within a Tokio runtime.
///
/// Pipes and sockets on Unix are read and written without blocking: Tokio's own go through threads,
/// at a price per message that exceeds all the rest of a relay. That makes this end of the pipe or
/// socket non-blocking for every process that shares it; one that speaks MCP has no reason to.
///
/// Anything else, such as a file or a terminal, and everything on Windows, goes through Tokio's own,
/// whose reading thread keeps a runtime from shutting down until the input ends.
pub fn stdio() -> (Stdin, Stdout) {
    #[cfg(unix)]
    let (input, output) = (unix::stdin(), unix::stdout());
    #[cfg(not(unix))]
    let (input, output) = (None, None);
    (
        input.unwrap_or_else(|| Box::new(tokio::io::stdin())),
        output.unwrap_or_else(|| Box::new(tokio::io::stdout())),
    )
}

#[cfg(unix)]
mod unix {
    use std::fs::File;
    use std::os::fd::{AsFd, OwnedFd};
    use std::os::unix::fs::FileTypeExt as _;
    use std::os::unix::net::UnixStream as Socket;

    use tokio::net::UnixStream;
    use tokio::net::unix::pipe;

    use super::{Stdin, Stdout};

    /// What kind of thing a descriptor is, as far as it can be awaited.
    enum Kind {
        Pipe(OwnedFd),
        Socket(UnixStream),
    }

    pub(super) fn stdin() -> Option<Stdin> {
        Some(match duplicate(std::io::stdin())? {
            Kind::Pipe(pipe) => Box::new(pipe::Receiver::from_owned_fd(pipe).ok()?),
            Kind::Socket(socket) => Box::new(socket),
        })
    }

    pub(super) fn stdout() -> Option<Stdout> {
        Some(match duplicate(std::io::stdout())? {
            Kind::Pipe(pipe) => Box::new(pipe::Sender::from_owned_fd(pipe).ok()?),
            Kind::Socket(socket) => Box::new(socket),
        })
    }

    fn duplicate(stream: impl AsFd) -> Option<Kind> {
        let file = File::from(stream.as_fd().try_clone_to_owned().ok()?);
        let kind = file.metadata().ok()?.file_type();
        let owned = OwnedFd::from(file);
        if kind.is_fifo() {
            return Some(Kind::Pipe(owned));
        }
        if kind.is_socket() {
            // Node.js starts its children with sockets. Another kind than Unix ones reads and
            // writes in the same way.
            let socket = Socket::from(owned);
            socket.set_nonblocking(true).ok()?;
            return Some(Kind::Socket(UnixStream::from_std(socket).ok()?));
        }
        None
    }
}

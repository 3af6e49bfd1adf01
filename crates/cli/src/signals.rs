//! Signals that end a command: SIGINT, SIGTERM, SIGHUP.
//!
//! On Windows, their counterparts are Ctrl-C, Ctrl-Break or a shutdown, and a closed console.

use std::io;

use crate::context::Exit;

/// Listens for signals from its creation on.
#[cfg(unix)]
pub(crate) struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hang_up: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    pub(crate) fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};

        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next signal and returns its exit code.
    pub(crate) async fn next(&mut self) -> Exit {
        tokio::select! {
            _ = self.interrupt.recv() => Exit::Interrupted,
            _ = self.terminate.recv() => Exit::Terminated,
            _ = self.hang_up.recv() => Exit::HungUp,
        }
    }
}

/// Listens for console events from its creation on.
#[cfg(windows)]
pub(crate) struct Signals {
    interrupt: tokio::signal::windows::CtrlC,
    terminate: tokio::signal::windows::CtrlBreak,
    shut_down: tokio::signal::windows::CtrlShutdown,
    hang_up: tokio::signal::windows::CtrlClose,
}

#[cfg(windows)]
impl Signals {
    pub(crate) fn listen() -> io::Result<Self> {
        use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close, ctrl_shutdown};

        Ok(Self {
            interrupt: ctrl_c()?,
            terminate: ctrl_break()?,
            shut_down: ctrl_shutdown()?,
            hang_up: ctrl_close()?,
        })
    }

    /// Waits for the next event and returns the exit code of the signal that it corresponds to.
    pub(crate) async fn next(&mut self) -> Exit {
        tokio::select! {
            _ = self.interrupt.recv() => Exit::Interrupted,
            _ = self.terminate.recv() => Exit::Terminated,
            _ = self.shut_down.recv() => Exit::Terminated,
            _ = self.hang_up.recv() => Exit::HungUp,
        }
    }
}

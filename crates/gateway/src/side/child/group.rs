//! The process group of a server.

use tokio::process::Child as Process;

/// The group that a process leads. Dropped before it is gone, it is killed.
#[derive(Debug)]
pub(super) struct Group {
    #[cfg(unix)]
    id: Option<rustix::process::Pid>,
}

#[cfg(unix)]
impl Group {
    pub(super) fn of(leader: &Process) -> Self {
        let id = leader.id().and_then(|id| i32::try_from(id).ok());
        Self {
            id: id.and_then(rustix::process::Pid::from_raw),
        }
    }

    pub(super) fn terminate(&mut self) {
        self.signal(rustix::process::Signal::TERM);
    }

    pub(super) fn kill(&mut self) {
        self.signal(rustix::process::Signal::KILL);
    }

    /// Whether nobody is in the group. From then on its id may be another's, and is not used again.
    pub(super) fn is_gone(&mut self) -> bool {
        if let Some(id) = self.id
            && rustix::process::test_kill_process_group(id).is_err()
        {
            self.id = None;
        }
        self.id.is_none()
    }

    fn signal(&mut self, signal: rustix::process::Signal) {
        if let Some(id) = self.id
            && rustix::process::kill_process_group(id, signal).is_err()
        {
            self.id = None;
        }
    }
}

#[cfg(unix)]
impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Elsewhere, only the process itself is ended.
#[cfg(not(unix))]
impl Group {
    pub(super) fn of(_: &Process) -> Self {
        Self {}
    }

    pub(super) fn terminate(&mut self) {}

    pub(super) fn kill(&mut self) {}

    pub(super) fn is_gone(&mut self) -> bool {
        true
    }
}

//! Ties the life of a process to that of its parent.
//!
//! A process that is killed cleans nothing up. On Linux the kernel can, but only the child itself
//! may ask for it, between fork and exec: that takes unsafe code, or a program in between.

use std::ffi::{OsStr, OsString};
use std::io;
use std::process::Command as StdCommand;
use std::sync::OnceLock;
use std::sync::mpsc::{self, SyncSender};

use tokio::process::{Child as Process, Command};
use tokio::runtime::Handle;

/// The first argument of a launcher; see [`ChildCommand`](super::ChildCommand).
pub const LAUNCH: &str = "exec-bound-to-parent";

/// Becomes another program, which gets SIGTERM when the parent dies (on Linux). Returns only if it
/// cannot.
///
/// `parent` is the id of the process that started this one. If it is not the parent any more, it
/// has died already, and this fails.
pub fn exec_bound_to_parent(parent: u32, program: &OsStr, arguments: &[OsString]) -> io::Error {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Signal, getppid, set_parent_process_death_signal};

        if let Err(error) = set_parent_process_death_signal(Some(Signal::TERM)) {
            return error.into();
        }
        // It may have died before the line above.
        let current = getppid().map(|id| id.as_raw_nonzero().get().unsigned_abs());
        if current != Some(parent) {
            return io::Error::other("the parent process has exited");
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = parent;
    become_program(StdCommand::new(program).args(arguments))
}

#[cfg(unix)]
fn become_program(command: &mut StdCommand) -> io::Error {
    std::os::unix::process::CommandExt::exec(command)
}

#[cfg(not(unix))]
fn become_program(_: &mut StdCommand) -> io::Error {
    io::ErrorKind::Unsupported.into()
}

type Job = Box<dyn FnOnce() + Send>;

/// Starts a process from a thread that lives as long as this process: the kernel takes the end of
/// the thread that started a process for the end of its parent, and a runtime's threads come and go.
pub(super) fn spawn_from_lasting_thread(mut command: Command) -> io::Result<Process> {
    static JOBS: OnceLock<Option<SyncSender<Job>>> = OnceLock::new();

    let Some(jobs) = JOBS.get_or_init(start_thread) else {
        return Err(io::Error::other("cannot start a thread"));
    };
    let runtime = Handle::current();
    let (reply, replied) = mpsc::sync_channel(1);
    let job: Job = Box::new(move || {
        let _in_runtime = runtime.enter();
        let _ = reply.send(command.spawn());
    });
    let gone = || io::Error::other("the thread that starts processes is gone");
    jobs.send(job).map_err(|_| gone())?;
    replied.recv().map_err(|_| gone())?
}

/// One for the whole process, which ends with it: that is its purpose.
fn start_thread() -> Option<SyncSender<Job>> {
    let (jobs, queue) = mpsc::sync_channel::<Job>(16);
    let thread = std::thread::Builder::new().name("spawner".to_owned());
    let started = thread.spawn(move || queue.into_iter().for_each(|job| job()));
    started.ok().map(|_| jobs)
}

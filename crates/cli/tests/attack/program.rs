//! The real program as a child process, and its resource usage.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use crate::heard::Heard;

/// How long a test waits for something immediate, on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A running program; killed when dropped.
pub(crate) struct Program {
    child: Child,
    pub(crate) stdin: Option<ChildStdin>,
    lines: Mutex<Receiver<String>>,
    stderr: Heard,
}

/// The program in a folder, with an empty environment.
pub(crate) fn entreat(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_entreat"));
    command.args(args);
    alone(&mut command, folder);
    command
}

/// Clears the environment of a command, and pipes its streams.
pub(crate) fn alone(command: &mut Command, folder: &Path) {
    command
        .env_clear()
        .current_dir(folder)
        .env("HOME", folder)
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
}

pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("there is a place for folders")
}

#[expect(
    clippy::disallowed_methods,
    reason = "attacks on real programs take real time"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Waits for a condition; returns whether it became true in time.
pub(crate) fn eventually(patience: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let begun = now();
    loop {
        if holds() {
            return true;
        }
        if begun.elapsed() > patience {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

impl Program {
    pub(crate) fn spawn(mut command: Command) -> Self {
        let mut child = command.spawn().expect("the program runs");
        let stderr = Heard::default();
        stderr.listen(child.stderr.take().expect("stderr is a pipe"));
        let stdout = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
        let (teller, lines) = channel();
        std::thread::spawn(move || {
            // Invalid UTF-8 is converted lossily.
            for line in stdout.split(b'\n').map_while(Result::ok) {
                if teller
                    .send(String::from_utf8_lossy(&line).into_owned())
                    .is_err()
                {
                    return;
                }
            }
        });
        Self {
            stdin: child.stdin.take(),
            child,
            lines: Mutex::new(lines),
            stderr,
        }
    }

    /// The next line of stdout; `None` on a timeout or at the end.
    pub(crate) fn line(&self, patience: Duration) -> Option<String> {
        let lines = self.lines.lock().expect("nobody panics");
        lines.recv_timeout(patience).ok()
    }

    /// The rest of stdout, once it has ended.
    pub(crate) fn rest(&self) -> String {
        let mut rest = String::new();
        while let Some(line) = self.line(PATIENCE) {
            rest.push_str(&line);
            rest.push('\n');
        }
        rest
    }

    /// Waits for a line of stderr with these words.
    pub(crate) fn says(&self, words: &str) -> String {
        self.stderr.line_with(words)
    }

    pub(crate) fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// Writes to its stdin; returns whether it was accepted.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> bool {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        stdin.write_all(bytes).is_ok() && stdin.flush().is_ok()
    }

    /// The exit status; `None` while it runs.
    pub(crate) fn ends_within(&mut self, patience: Duration) -> Option<ExitStatus> {
        let mut ended = None;
        eventually(patience, || {
            ended = self.child.try_wait().expect("it is our child");
            ended.is_some()
        });
        ended
    }

    /// Whether it has exited, without reaping it.
    pub(crate) fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let status = waitid(WaitId::Pid(self.pid()), options);
        status.expect("it is our child").is_some()
    }

    /// Sends SIGTERM, as an administrator would.
    pub(crate) fn terminate(&self) {
        let _ = kill_process(self.pid(), Signal::TERM);
    }

    fn pid(&self) -> Pid {
        let pid = i32::try_from(self.child.id()).expect("ids are small");
        Pid::from_raw(pid).expect("ids are above 0")
    }

    /// Starts measuring its resource usage.
    pub(crate) fn meter(&self) -> Meter {
        Meter::start(self.child.id())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have exited already: the test is over.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The resource usage of a process since a moment.
pub(crate) struct Meter {
    pid: u32,
    cpu: Duration,
    memory: u64,
}

impl Meter {
    fn start(pid: u32) -> Self {
        // Resets the peak; see proc(5). If that is not possible, the earlier peak counts too.
        let _ = fs::write(format!("/proc/{pid}/clear_refs"), "5");
        Self {
            pid,
            cpu: cpu(pid),
            memory: memory(pid, "VmRSS"),
        }
    }

    /// CPU time since then.
    pub(crate) fn cpu(&self) -> Duration {
        cpu(self.pid).saturating_sub(self.cpu)
    }

    /// The growth of memory at its peak since then, in MiB.
    pub(crate) fn peak_mib(&self) -> u64 {
        memory(self.pid, "VmHWM").saturating_sub(self.memory) >> 20
    }

    /// The growth of memory since then, in MiB.
    pub(crate) fn held_mib(&self) -> u64 {
        memory(self.pid, "VmRSS").saturating_sub(self.memory) >> 20
    }

    /// Fails if it used more than this.
    pub(crate) fn at_most(&self, what: &str, cpu: Duration, peak_mib: u64) {
        let (spent, peak) = (self.cpu(), self.peak_mib());
        assert!(
            spent <= cpu,
            "{what}: {spent:?} of processor time, {cpu:?} are the most"
        );
        assert!(
            peak <= peak_mib,
            "{what}: {peak} MiB of memory, {peak_mib} are the most"
        );
    }
}

fn cpu(pid: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The program's name is in parentheses, and may contain spaces.
    let (_, rest) = stat.rsplit_once(')').unwrap_or_default();
    let ticks = rest.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    // Linux reports a hundred ticks per second to all programs, whatever its own rate.
    Duration::from_millis(ticks * 10)
}

fn memory(pid: u32, which: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(which));
    let kib = line.and_then(|line| {
        line.trim_matches([':', ' ', '\t'])
            .split(' ')
            .next()?
            .parse::<u64>()
            .ok()
    });
    kib.unwrap_or_default() << 10
}

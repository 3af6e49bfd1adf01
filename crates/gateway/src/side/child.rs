//! A server that runs as a child process and speaks on its stdin and stdout.
//!
//! Nothing of it outlives the relay: it gets a process group of its own, which is ended as a whole.
//! Only a process that leaves the group (`setsid`) gets away.

mod command;
mod group;
mod launch;

use std::future::pending;
use std::io;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use tokio::process::{Child as Process, ChildStderr, ChildStdout};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

pub use command::{ChildCommand, LogLine, Stderr};
pub use launch::{LAUNCH, exec_bound_to_parent};

use self::group::Group;
use super::lines::{Line, LineSource, Outbox, Overlong};
use super::{Closed, Failure, UpstreamEvent, refusal, too_many_values};
use crate::log::LineThrottle;

/// How long a server may take to exit once its stdin is closed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long it may take after SIGTERM.
const TERMINATION_TIMEOUT: Duration = Duration::from_secs(5);
/// How long its pipes are read after it has exited, if somebody else keeps them open.
const PIPE_TIMEOUT: Duration = Duration::from_secs(1);
/// How often to look whether its group is empty, of which nothing tells.
const GROUP_INTERVAL: Duration = Duration::from_millis(20);

/// The longest line of a log that is passed on whole.
const LONGEST_LOG_LINE: usize = 64 << 10;

/// Starts servers.
#[derive(Debug)]
pub enum Child {}

impl Child {
    /// Starts a server. It is ended by [`ChildSender::close`], or by dropping both halves.
    ///
    /// # Panics
    ///
    /// Outside a Tokio runtime.
    pub fn start(command: ChildCommand) -> io::Result<(ChildSender, ChildReceiver)> {
        let mut process = command.spawn()?;
        let group = Group::of(&process);
        let missing = || io::Error::other("the program has no standard streams");
        let stdin = process.stdin.take().ok_or_else(missing)?;
        let stdout = process.stdout.take().ok_or_else(missing)?;
        let stderr = process.stderr.take();

        let life = watch::Sender::new(Life::Running);
        let handle = Arc::new(Handle {
            outbox: Outbox::new(stdin),
            end: CancellationToken::new(),
            life: life.subscribe(),
        });
        let sink = command.stderr;
        let supervisor = Supervisor {
            process,
            group,
            outbox: handle.outbox.clone(),
            end: handle.end.clone(),
            life,
        };
        let log = stderr.map(|stderr| log(stderr, sink.clone()));
        tokio::spawn(supervisor.run(log));
        let receiver = ChildReceiver {
            source: LineSource::new(stdout, command.max_message),
            longest: command.max_message,
            noise: sink,
            life: handle.life.clone(),
            handle: handle.clone(),
            told: LineThrottle::default(),
            is_closed: false,
        };
        Ok((ChildSender(handle), receiver))
    }
}

/// Sends messages to a child process.
#[derive(Clone, Debug)]
pub struct ChildSender(Arc<Handle>);

/// Receives the messages of a child process.
#[derive(Debug)]
pub struct ChildReceiver {
    source: LineSource<ChildStdout>,
    longest: usize,
    noise: Stderr,
    life: watch::Receiver<Life>,
    handle: Arc<Handle>,
    told: LineThrottle,
    is_closed: bool,
}

/// What both halves share; without it, the process is ended.
#[derive(Debug)]
struct Handle {
    outbox: Outbox,
    end: CancellationToken,
    life: watch::Receiver<Life>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.end.cancel();
    }
}

#[derive(Clone, Copy, Debug)]
enum Life {
    Running,
    /// The process has exited, but others of its group may be there.
    Exited(Exit),
    /// The whole group is gone.
    Over(Exit),
}

#[derive(Clone, Copy, Debug)]
struct Exit {
    status: Option<ExitStatus>,
    at: Instant,
}

impl Life {
    fn exit(self) -> Option<Exit> {
        match self {
            Self::Running => None,
            Self::Exited(exit) | Self::Over(exit) => Some(exit),
        }
    }
}

impl ChildSender {
    /// Sends a message. Waits while the process reads too slowly.
    ///
    /// Once the process reads no more, messages are dropped: its end is on the way.
    pub async fn send(&self, message: Vec<u8>) {
        self.0.outbox.send(message).await;
    }

    /// Whether [`send`](Self::send) would wait.
    pub fn is_congested(&self) -> bool {
        self.0.outbox.is_full()
    }

    /// Sends a message without waiting; see [`Outbox::push`] for what bounds that.
    pub fn push(&self, message: Vec<u8>) {
        self.0.outbox.push(message);
    }

    /// Ends the process, and returns when nothing of its group is left: closes its stdin, sends
    /// SIGTERM to the group after 2 s and SIGKILL 5 s later. After
    /// [`UpstreamEvent::Closed`], this is what waits for the rest of the group.
    pub async fn close(&self) {
        self.0.end.cancel();
        let mut life = self.0.life.clone();
        // An error means that the runtime is shutting down, which kills the group.
        let _ = life.wait_for(|life| matches!(life, Life::Over(_))).await;
    }
}

impl ChildReceiver {
    /// Returns the next event. Cancel safe. After [`UpstreamEvent::Closed`], it never returns.
    ///
    /// A message begins and ends as an object, or is an array of valid JSON. What is neither is
    /// written where the process's stderr goes. A request that is too long is answered with an
    /// error; a response that is too long fails its request.
    pub async fn next(&mut self) -> UpstreamEvent {
        if self.is_closed {
            pending::<()>().await;
        }
        loop {
            let line = tokio::select! {
                // What was written before the exit comes before it.
                biased;
                line = self.source.next() => line,
                () = given_up(&mut self.life) => Ok(None),
            };
            let refused = match line {
                Ok(Some(Line::Message(text))) if looks_like_json(&text) => {
                    match too_many_values(&text) {
                        None => return UpstreamEvent::Message { text, via: None },
                        Some(found) => found,
                    }
                }
                Ok(Some(Line::Message(text))) => {
                    self.noise.write(&text);
                    continue;
                }
                Ok(Some(Line::TooLong { head, tail })) => Overlong::read(&head, &tail),
                Ok(None) | Err(_) => break,
            };
            if let Some(event) = self.too_long(&refused) {
                return event;
            }
        }
        self.handle.end.cancel();
        let exit = exit(&mut self.life).await;
        self.is_closed = true;
        UpstreamEvent::Closed(Closed::Exited(exit.and_then(|exit| exit.status)))
    }

    fn too_long(&self, message: &Overlong) -> Option<UpstreamEvent> {
        let longest = self.longest;
        let failure = Failure::too_long(longest);
        if let Some(count) = self.told.count() {
            tracing::warn!(count, "the server sent something too long: {failure}");
        }
        let id = message.id.clone()?;
        if message.has_method {
            self.handle.outbox.push(refusal(&id, longest));
            return None;
        }
        Some(UpstreamEvent::Failed { id, failure })
    }
}

/// Waits for the end of a process; `None` if the runtime shuts down, which kills it.
async fn exit(life: &mut watch::Receiver<Life>) -> Option<Exit> {
    let life = life.wait_for(|life| life.exit().is_some()).await;
    life.ok()?.exit()
}

/// Waits until a process has exited and had time to leave its pipe.
async fn given_up(life: &mut watch::Receiver<Life>) {
    if let Some(exit) = exit(life).await {
        sleep_until(exit.at + PIPE_TIMEOUT).await;
    }
}

/// Whether a line is a message, judged by its ends: reading all of it is left to who needs it.
/// Programs print objects, too, but not with quoted names on one line unless they mean JSON.
fn looks_like_json(line: &[u8]) -> bool {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
    match line {
        [b'{', inner @ .., b'}'] => {
            matches!(inner.trim_ascii_start(), [] | [b'"', ..])
        }
        // Log lines begin with brackets; batches are rare.
        [b'[', .., b']'] => serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok(),
        _ => false,
    }
}

/// Passes on what a process writes to a stderr that is ours to read.
async fn log(stderr: ChildStderr, sink: Stderr) {
    let mut lines = LineSource::new(stderr, LONGEST_LOG_LINE);
    while let Ok(Some(line)) = lines.next().await {
        match line {
            Line::Message(text) | Line::TooLong { head: text, .. } => sink.write(&text),
        }
    }
}

/// Owns the process.
struct Supervisor {
    process: Process,
    group: Group,
    outbox: Outbox,
    end: CancellationToken,
    life: watch::Sender<Life>,
}

impl Supervisor {
    async fn run(mut self, log: Option<impl Future<Output = ()> + Send + 'static>) {
        let log = log.map(|log| tokio::spawn(log));
        let ended_by_itself = tokio::select! {
            status = self.process.wait() => Some(status.ok()),
            () = self.end.cancelled() => None,
            // It has closed its stdin: nothing can reach it any more.
            () = self.outbox.closed() => None,
        };
        let deadline = Instant::now() + EXIT_TIMEOUT;
        let status = match ended_by_itself {
            Some(status) => status,
            None => self.end_process(deadline).await,
        };
        let at = Instant::now();
        let exit = Exit { status, at };
        self.life.send_replace(Life::Exited(exit));
        self.end_group(deadline).await;
        if let Some(mut log) = log
            && timeout_at(at + PIPE_TIMEOUT, &mut log).await.is_err()
        {
            log.abort();
        }
        self.life.send_replace(Life::Over(exit));
    }

    async fn end_process(&mut self, deadline: Instant) -> Option<ExitStatus> {
        let leaving = async {
            self.outbox.flush_and_close().await;
            self.process.wait().await
        };
        if let Ok(status) = timeout_at(deadline, leaving).await {
            return status.ok();
        }
        self.group.terminate();
        if let Ok(status) = timeout(TERMINATION_TIMEOUT, self.process.wait()).await {
            return status.ok();
        }
        self.group.kill();
        // Where there are no groups.
        let _ = self.process.start_kill();
        self.process.wait().await.ok()
    }

    /// Ends what the process has left behind.
    async fn end_group(&mut self, deadline: Instant) {
        if self.group.is_gone_by(deadline).await {
            return;
        }
        self.group.terminate();
        let deadline = Instant::now() + TERMINATION_TIMEOUT;
        if !self.group.is_gone_by(deadline).await {
            self.group.kill();
            self.group.is_gone_by(deadline + EXIT_TIMEOUT).await;
        }
    }
}

impl Group {
    /// Waits until nobody is in the group, and no longer than to a point in time.
    async fn is_gone_by(&mut self, deadline: Instant) -> bool {
        loop {
            if self.is_gone() {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            sleep(GROUP_INTERVAL).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_from_what_programs_print() {
        for message in [
            r#"{"jsonrpc":"2.0"}"#,
            r#"{ "id" : 1 }"#,
            "{}",
            r#"[{"id":1}, {"id":2}]"#,
            "\u{feff}{\"id\":1}",
        ] {
            assert!(looks_like_json(message.as_bytes()), "{message}");
        }
        for noise in [
            "Server listening on stdio",
            "[INFO] started [ok]",
            "{ port: 3000 }",
            "{'id': 1}",
            "{",
            "}",
            r#""text""#,
            "12",
            "",
        ] {
            assert!(!looks_like_json(noise.as_bytes()), "{noise}");
        }
    }
}

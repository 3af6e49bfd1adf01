//! One request of a client on its way through the gateway.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use bytes::Bytes;
use memchr::memmem;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::client::ClientSender;
use crate::envelope::{self, RawId, params_of};
use crate::json::RawObject;
use crate::lost_answers::DeliveredAnswer;
use crate::memory::{Account, Reservation};
use crate::reply::Reply;

/// The methods that the gateway knows; all others pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Initialize,
    Discover,
    ListTools,
    CallTool,
    GetPrompt,
    ReadResource,
    Listen,
    Other,
}

// A method that is missing in `NAMED` would have no place in tables.
const _: () = assert!(Method::Other as usize + 1 == Method::COUNT);

impl Method {
    /// Those that have a name.
    const NAMED: [Self; 7] = [
        Self::Initialize,
        Self::Discover,
        Self::ListTools,
        Self::CallTool,
        Self::GetPrompt,
        Self::ReadResource,
        Self::Listen,
    ];
    pub(crate) const COUNT: usize = Self::NAMED.len() + 1;

    pub(crate) fn of(name: &str) -> Self {
        let mut named = Self::NAMED.into_iter();
        named
            .find(|method| method.name() == name)
            .unwrap_or(Self::Other)
    }

    /// Returns the name, or `other` for methods that nobody knows, whose names are the client's words.
    pub(crate) fn name_or(self, other: &'static str) -> &'static str {
        match self {
            Self::Other => other,
            named => named.name(),
        }
    }

    /// Returns the name; empty for methods that nobody knows.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::CallTool => "tools/call",
            Self::GetPrompt => "prompts/get",
            Self::ReadResource => "resources/read",
            Self::Initialize => "initialize",
            Self::Discover => "server/discover",
            Self::ListTools => "tools/list",
            Self::Listen => "subscriptions/listen",
            Self::Other => "",
        }
    }

    /// Whether a server may ask on it.
    pub(crate) fn may_ask(self) -> bool {
        matches!(self, Self::CallTool | Self::GetPrompt | Self::ReadResource)
    }
}

/// A request of a client, until it is answered.
pub(crate) struct Call {
    /// Its id at the client.
    pub(crate) id: RawId,
    /// Where its response goes, and what belongs to it.
    pub(crate) client: ClientSender,
    pub(crate) method: Method,
    /// The complete message, to send it again.
    pub(crate) message: Bytes,
    /// Fires when the client cancels it.
    pub(crate) cancelled: CancellationToken,
    /// Its id at the upstream, while a request is open there.
    pub(crate) upstream_id: Mutex<Option<RawId>>,
    /// How often it was sent again after URLs were visited.
    pub(crate) repeats: AtomicU32,
    /// Its number among the calls of the session; 0 before it is noted.
    seq: AtomicU64,
    account: Account,
    /// The memory of its message.
    _reservation: Option<Reservation>,
    /// Answers that the server has got on it.
    answers: Mutex<Vec<Arc<DeliveredAnswer>>>,
    /// URLs that the client opens, each with the id that it was given.
    visits: Mutex<Vec<(String, String)>>,
    stage: Mutex<Stage>,
    progress: Mutex<Progress>,
    /// Woken when a call behind a link gets its next link or its result.
    changed: Notify,
}

enum Stage {
    /// The client waits for the response.
    Open,
    /// The client got a link; the result waits for `resume_question`.
    Linked {
        link: Option<Link>,
        result: Option<(Bytes, Option<Reservation>)>,
    },
    Done,
}

/// The address of a page, for the person behind a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    /// The server whose words the message is, if it is not ours.
    pub(crate) server: Option<String>,
    pub(crate) message: String,
    pub(crate) url: String,
}

#[derive(Default)]
struct Progress {
    /// The token, as the client wrote it.
    token: Option<Box<str>>,
    /// The token at the upstream, if it is another.
    upstream_token: Option<Box<str>>,
    last: f64,
    is_over: bool,
}

/// What a client gets for a call behind a link.
pub(crate) enum Resumed {
    /// The result: a response to a request of another id.
    Result(Bytes),
    Link(Link),
    /// Nothing has changed.
    Waiting,
}

impl Call {
    pub(crate) fn new(
        id: RawId,
        method: Method,
        message: Bytes,
        token: Option<&str>,
        client: ClientSender,
        (account, reservation): (Account, Option<Reservation>),
    ) -> Arc<Self> {
        Arc::new(Self {
            id,
            client,
            method,
            message,
            cancelled: CancellationToken::new(),
            upstream_id: Mutex::default(),
            repeats: AtomicU32::new(0),
            seq: AtomicU64::new(0),
            account,
            _reservation: reservation,
            answers: Mutex::default(),
            visits: Mutex::default(),
            stage: Mutex::new(Stage::Open),
            progress: Mutex::new(Progress {
                token: token.map(Into::into),
                ..Progress::default()
            }),
            changed: Notify::new(),
        })
    }

    /// Answers it, while nothing is noted of it.
    pub(crate) fn reply(&self, reply: &Reply) {
        self.client.reply(&self.id, reply);
    }

    /// Its parameters.
    pub(crate) fn params(&self) -> &str {
        params_of(&self.message)
    }

    /// Its number among the calls of the session, once it is noted.
    pub(crate) fn seq(&self) -> Option<u64> {
        let seq = self.seq.load(Ordering::Relaxed);
        (seq != 0).then_some(seq)
    }

    pub(crate) fn set_seq(&self, seq: u64) {
        self.seq.store(seq, Ordering::Relaxed);
    }

    /// The name of the tool or prompt, or the URI of the resource.
    pub(crate) fn target(&self) -> String {
        target_in(self.params())
    }

    /// Notes an answer that the server gets.
    pub(crate) fn note_answer(&self, answer: Arc<DeliveredAnswer>) {
        self.answers.lock().push(answer);
    }

    /// Takes the answers that the server has got.
    pub(crate) fn take_answers(&self) -> Vec<Arc<DeliveredAnswer>> {
        std::mem::take(&mut self.answers.lock())
    }

    /// Notes a URL that the client opens, and the id that it was given.
    pub(crate) fn note_visit(&self, url: &str, id: &str) {
        if self.visit_of(url).is_none() {
            self.visits.lock().push((url.to_owned(), id.to_owned()));
        }
    }

    /// The id of a URL that the client opens.
    pub(crate) fn visit_of(&self, url: &str) -> Option<String> {
        let visits = self.visits.lock();
        let visit = visits.iter().find(|(known, _)| known == url);
        visit.map(|(_, id)| id.clone())
    }

    /// Takes the ids of the URLs that a predicate accepts.
    pub(crate) fn take_visits(&self, is_over: impl Fn(&str) -> bool) -> Vec<String> {
        let mut visits = self.visits.lock();
        let (over, open) = std::mem::take(&mut *visits)
            .into_iter()
            .partition(|(url, _)| is_over(url));
        *visits = open;
        let over: Vec<(String, String)> = over;
        over.into_iter().map(|(_, id)| id).collect()
    }

    /// The token of its progress reports, as the client wrote it.
    pub(crate) fn token(&self) -> Option<Box<str>> {
        self.progress.lock().token.clone()
    }

    /// The token of its progress reports at the upstream, if that is not the client's.
    pub(crate) fn upstream_token(&self) -> Option<Box<str>> {
        self.progress.lock().upstream_token.clone()
    }

    pub(crate) fn set_upstream_token(&self, token: &str) {
        self.progress.lock().upstream_token = Some(token.into());
    }

    /// Whether it goes on as a task after its response.
    pub(crate) fn is_task(&self) -> bool {
        memmem::find(&self.message, br#""task""#).is_some()
    }

    /// Whether the client asked for progress reports.
    pub(crate) fn has_token(&self) -> bool {
        self.progress.lock().token.is_some()
    }

    /// Takes the response; returns it if it is for the client now.
    pub(crate) fn finish(&self, response: Bytes) -> Option<Bytes> {
        self.progress.lock().is_over = true;
        let mut stage = self.stage.lock();
        match &mut *stage {
            Stage::Open => {
                *stage = Stage::Done;
                Some(response)
            }
            Stage::Linked { result, .. } => {
                let reservation = self.account.reserve(response.len());
                let kept = match reservation {
                    Some(_) => response,
                    // It ran, and nobody has to guess.
                    None => Reply::may_have_run(
                        "the result could not be kept: too many results wait to be fetched",
                        "results_full",
                    )
                    .to_message(&self.id)
                    .into(),
                };
                *result = Some((kept, reservation));
                drop(stage);
                self.changed.notify_waiters();
                None
            }
            Stage::Done => None,
        }
    }

    /// Moves the call behind a link. Returns whether the client waits for its response, which is
    /// the link then; later links wait to be fetched.
    pub(crate) fn link(&self, next: Link) -> bool {
        self.progress.lock().is_over = true;
        let mut stage = self.stage.lock();
        match &mut *stage {
            Stage::Open => {
                *stage = Stage::Linked {
                    link: None,
                    result: None,
                };
                true
            }
            Stage::Linked { link, .. } => {
                *link = Some(next);
                drop(stage);
                self.changed.notify_waiters();
                false
            }
            Stage::Done => false,
        }
    }

    /// Whether it is behind a link and nobody works on it any more.
    pub(crate) fn is_over(&self) -> bool {
        match &*self.stage.lock() {
            Stage::Linked { result, .. } => result.is_some(),
            Stage::Done => true,
            Stage::Open => false,
        }
    }

    /// Waits until a call behind a link has its result or another link.
    pub(crate) async fn resumed(&self) -> Resumed {
        loop {
            let changed = self.changed.notified();
            match self.look() {
                Resumed::Waiting => changed.await,
                found => return found,
            }
        }
    }

    /// Takes what is there for a call behind a link.
    pub(crate) fn look(&self) -> Resumed {
        let mut stage = self.stage.lock();
        match &mut *stage {
            Stage::Linked { link, result } => {
                if let Some((result, _)) = result.take() {
                    *stage = Stage::Done;
                    return Resumed::Result(result);
                }
                link.take().map_or(Resumed::Waiting, Resumed::Link)
            }
            Stage::Open | Stage::Done => Resumed::Waiting,
        }
    }

    /// Reports progress by itself, so that the client's clock does not run out while a person
    /// answers. Does nothing once the client has its response.
    pub(crate) fn keep_alive(&self) {
        let mut progress = self.progress.lock();
        if progress.is_over {
            return;
        }
        let Some(token) = progress.token.clone() else {
            return;
        };
        progress.rise();
        let last = progress.last;
        let params = format!(
            r#"{{"progressToken":{token},"progress":{last},"message":"Waiting for a person's answer"}}"#
        );
        // Within the lock, so that no report follows the response.
        self.client
            .push(envelope::notification("notifications/progress", &params));
    }

    /// Notes the upstream's progress; returns what to report instead, if it would not rise.
    pub(crate) fn note_progress(&self, value: f64) -> ProgressNote {
        let mut progress = self.progress.lock();
        if progress.is_over {
            return ProgressNote::Drop;
        }
        if value > progress.last || progress.last == 0.0 {
            progress.last = value;
            return ProgressNote::Pass;
        }
        progress.rise();
        ProgressNote::Raise(progress.last)
    }
}

/// The name of the tool or prompt, or the URI of the resource, in the parameters of a call.
pub(crate) fn target_in(params: &str) -> String {
    let params = RawObject::parse(params).unwrap_or_default();
    let name = params.string("name").or_else(|| params.string("uri"));
    name.unwrap_or_default()
}

/// The token of a request's progress reports, as it was written.
pub(crate) fn token_in(params: &str) -> Option<String> {
    memmem::find(params.as_bytes(), b"progressToken")?;
    let params = RawObject::parse(params)?;
    let meta = params.object("_meta")?;
    meta.get("progressToken").map(str::to_owned)
}

impl Progress {
    fn rise(&mut self) {
        self.last = (self.last + STEP).max(self.last.next_up());
    }
}

/// By how much our own progress reports rise.
const STEP: f64 = 1e-6;

/// What becomes of a progress report of the upstream.
#[derive(Debug, PartialEq)]
pub(crate) enum ProgressNote {
    Pass,
    /// Report this value instead.
    Raise(f64),
    /// The client has its response.
    Drop,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::Stream;
    use crate::memory::Memory;

    fn call() -> Arc<Call> {
        let client = ClientSender::Stream(Stream::new(1));
        Call::new(
            RawId::number(1),
            Method::CallTool,
            Bytes::new(),
            Some("7"),
            client,
            (Memory::new(1 << 20, 100).of(""), None),
        )
    }

    #[test]
    fn progress_rises_and_ends_with_the_response() {
        let call = call();
        assert_eq!(call.note_progress(5.0), ProgressNote::Pass);
        call.progress.lock().last += 10.0 * STEP;
        let ProgressNote::Raise(raised) = call.note_progress(5.000_001) else {
            panic!("it would have fallen");
        };
        assert!(raised > 5.00001);
        assert_eq!(call.note_progress(6.0), ProgressNote::Pass);
        assert!(call.finish(Bytes::new()).is_some());
        assert_eq!(call.note_progress(7.0), ProgressNote::Drop);
    }

    #[tokio::test]
    async fn a_result_behind_a_link_waits_to_be_fetched_once() {
        let call = call();
        let link = |url: &str| Link {
            server: None,
            message: String::new(),
            url: url.to_owned(),
        };
        assert!(call.link(link("a")));
        assert!(!call.link(link("b")));
        assert!(matches!(call.resumed().await, Resumed::Link(it) if it.url == "b"));
        assert!(call.finish(Bytes::from_static(b"r")).is_none());
        assert!(matches!(call.resumed().await, Resumed::Result(it) if it == "r"));
        assert!(matches!(call.look(), Resumed::Waiting));
    }
}

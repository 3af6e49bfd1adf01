//! Answers that did not reach their server: they fill in the same question if it is asked again.
//!
//! A call is lost with its server or with this process, and what the person has typed is not. Each
//! question on a page is stored with keys that say which question it is, so that a later one finds
//! it, also in another process. Nothing is ever submitted that the person does not see.

mod client_answers;
mod question_index;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use entreat_core::{CancelReason, ElicitationId, Outcome};
use entreat_engine::store::Claim;
use entreat_engine::{ANSWER_KEYS, Asker, Engine, StatusFilter};
use entreat_wire::digest::Digest;
use entreat_wire::seal::Sealer;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio::sync::OnceCell;

use self::client_answers::{ClientAnswer, ClientAnswers, MAX_ANSWERS};
use self::question_index::QuestionIndex;
use crate::session::HERE;

/// How long an answer is kept.
const RETENTION: Duration = Duration::from_secs(60 * 60);
/// How far back questions are looked for that another process has asked.
const RECOVERY_WINDOW: Duration = Duration::from_secs(25 * 60 * 60);
/// How many of those are looked at.
const MAX_RECOVERED: usize = 5_000;
/// The largest answer of a client that is kept, in bytes.
const MAX_ANSWER: usize = 64 << 10;
/// The names under which the store keeps answers of clients: their places, from the first on.
static NOTES: LazyLock<Vec<String>> = LazyLock::new(|| {
    (0..MAX_ANSWERS)
        .map(|place| format!("gateway answer {place}"))
        .collect()
});
/// What they are sealed for.
const NOTE_ID: [u8; 24] = *b"gateway answers of calls";
/// What is claimed for a question: that a server has used its answer, or that somebody has looked.
const USED: [u8; 16] = [1; 16];
const LOOKED: [u8; 16] = [2; 16];
/// Sets these digests and keys apart from all others.
const PURPOSE: &str = "entreat gateway kept question";

/// Which questions are the same: the digests of the principal, the server, the tool and what it
/// asks. One for each tool that may ask, if that is not known.
pub(crate) type QuestionKeys = Vec<QuestionKey>;
/// One of them.
pub(crate) type QuestionKey = String;

/// What was answered before, and where it is kept.
#[derive(Clone, Debug)]
pub(crate) struct EarlierAnswer {
    pub(crate) content: Map<String, Value>,
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    /// On the page of this question.
    Page(ElicitationId),
    /// In the form of a client, under this key.
    Client(QuestionKey),
}

/// An answer that a server has got, shared by the calls that it may belong to.
pub(crate) struct DeliveredAnswer {
    question: ElicitationId,
    /// Whether one of the calls was lost.
    is_lost: AtomicBool,
}

impl DeliveredAnswer {
    pub(crate) fn new(question: ElicitationId) -> Arc<Self> {
        Arc::new(Self {
            question,
            is_lost: AtomicBool::new(false),
        })
    }

    /// Notes that a call has ended without the server.
    pub(crate) fn lose(&self) {
        self.is_lost.store(true, Ordering::Relaxed);
    }

    /// Notes that the server has ended a call. Returns the question if that was the last call, and
    /// none was lost.
    fn end(self: Arc<Self>) -> Option<ElicitationId> {
        let last = Arc::into_inner(self)?;
        (!last.is_lost.into_inner()).then_some(last.question)
    }
}

/// Finds answers to questions that were asked before.
pub(crate) struct LostAnswers {
    asker: Asker,
    sealer: Sealer,
    state: Mutex<State>,
    recovered: OnceCell<()>,
    /// Held while answers of clients are written.
    saving: tokio::sync::Mutex<()>,
}

struct State {
    questions: QuestionIndex,
    answers: ClientAnswers,
}

/// The keys of a question.
pub(crate) fn question_keys(
    principal: &str,
    server: &str,
    tools: &[String],
    message: &str,
    schema: &Value,
) -> QuestionKeys {
    let key = |tool: &String| {
        let question = json!([PURPOSE, principal, server, tool, message, schema]);
        Digest::of(&question).to_string()
    };
    tools.iter().map(key).collect()
}

/// What a question is stored with.
pub(crate) fn metadata(keys: &[QuestionKey]) -> Value {
    json!({ANSWER_KEYS: keys})
}

fn keys_in(metadata: Option<&Value>) -> Option<QuestionKeys> {
    serde_json::from_value(metadata?.get(ANSWER_KEYS)?.clone()).ok()
}

impl LostAnswers {
    pub(crate) fn new(asker: Asker) -> Self {
        Self {
            sealer: Sealer::new(asker.engine().clone(), PURPOSE),
            asker,
            state: Mutex::new(State {
                questions: QuestionIndex::default(),
                answers: ClientAnswers::new(RETENTION),
            }),
            recovered: OnceCell::new(),
            saving: tokio::sync::Mutex::default(),
        }
    }

    fn engine(&self) -> &Engine {
        self.asker.engine()
    }

    /// Takes over what an earlier process has left: its open questions are withdrawn, since nobody
    /// waits for them any more, and what was typed is remembered. The first call does it; others
    /// wait for that.
    pub(crate) async fn recover(&self) {
        self.recovered.get_or_init(|| self.recover_once()).await;
    }

    async fn recover_once(&self) {
        let now = self.engine().now();
        let mut before = None;
        let mut seen = 0;
        while seen < MAX_RECOVERED {
            let asker = Some(self.asker.name().into());
            let list = self.engine().list(asker, StatusFilter::All, 200, before);
            let page = match list.await {
                Ok(page) => page,
                Err(error) => {
                    tracing::warn!(%error, "questions of before cannot be read");
                    break;
                }
            };
            for snapshot in &page.elicitations {
                seen += 1;
                let record = snapshot.record();
                if now.since(record.lifecycle.created()) > RECOVERY_WINDOW
                    && !record.lifecycle.is_live()
                {
                    continue;
                }
                let extras = record.request.extras.as_ref();
                let Some(keys) = keys_in(extras.and_then(|it| it.metadata.as_ref())) else {
                    continue;
                };
                if record.lifecycle.is_live() {
                    let question = self.engine().elicitation(snapshot.id());
                    // Fails if it is decided.
                    let _ = question.cancel(CancelReason::SessionExpired).await;
                }
                if record.answer_state.is_some() {
                    let principal = record.request.principal().unwrap_or(HERE);
                    let mut state = self.state.lock();
                    state.questions.recover(principal, keys, snapshot.id());
                }
            }
            before = page.next;
            if before.is_none() {
                break;
            }
        }
        self.load_answers().await;
    }

    /// Notes a question that is on a page from now on.
    pub(crate) fn note(&self, principal: &str, keys: &[QuestionKey], id: ElicitationId) {
        self.state.lock().questions.open(principal, keys, id);
    }

    /// Notes that a question is no longer on a page.
    pub(crate) fn closed(&self, id: ElicitationId) {
        self.state.lock().questions.close(id);
    }

    /// Finds what was answered to the same question within the last hour, if no server got it.
    pub(crate) async fn find(&self, asker: &Asker, keys: &[QuestionKey]) -> Option<EarlierAnswer> {
        for key in keys {
            let (question, content) = {
                let state = self.state.lock();
                let answer = state.answers.find(key, self.engine().now());
                let content = answer.map(|answer| answer.content.clone());
                (state.questions.find(key), content)
            };
            if let Some(content) = content {
                return Some(EarlierAnswer {
                    content,
                    source: Source::Client(key.clone()),
                });
            }
            if let Some(id) = question
                && let Some(content) = self.left_on_page(asker, id).await
            {
                return Some(EarlierAnswer {
                    content,
                    source: Source::Page(id),
                });
            }
        }
        None
    }

    /// What a person has left on a page whose answer no server got.
    async fn left_on_page(&self, asker: &Asker, id: ElicitationId) -> Option<Map<String, Value>> {
        let found = asker.elicitation(id).status().await.ok()?;
        let settled = found.lifecycle().settled_at()?;
        if self.engine().now().since(settled) > RETENTION {
            return None;
        }
        let content = match found.outcome()? {
            Outcome::Completed => {
                let is_used = self.is_used(id).await;
                let result = found.result().filter(|_| !is_used);
                result?.as_object()?.clone()
            }
            Outcome::TimedOut
            | Outcome::Cancelled(
                CancelReason::AskerCancelled
                | CancelReason::ClientDisconnected
                | CancelReason::SessionExpired
                | CancelReason::FormInvalidated,
            ) => self.engine().elicitation(id).read_draft().await.ok()?,
            // What the person has decided is done.
            Outcome::Declined
            | Outcome::Cancelled(CancelReason::UserCancelled | CancelReason::MaxRetriesExceeded) => {
                return None;
            }
        };
        (!content.is_empty()).then_some(content)
    }

    /// Notes that a server has ended a call on which it got these answers.
    pub(crate) async fn ended(&self, answers: Vec<Arc<DeliveredAnswer>>) {
        for id in answers.into_iter().filter_map(DeliveredAnswer::end) {
            self.used(id).await;
        }
    }

    /// Notes that the answer to a question is not offered again.
    async fn used(&self, id: ElicitationId) {
        self.state.lock().questions.forget(id);
        let noted = async {
            let engine = self.engine();
            // The mark of somebody who has only looked gives way.
            engine.release_claim(claim_key(id), LOOKED).await?;
            engine.claim(self.claim(id, USED)).await
        };
        if let Err(error) = noted.await {
            tracing::warn!(%error, "it is not noted that an answer was used");
        }
    }

    async fn is_used(&self, id: ElicitationId) -> bool {
        let found = self.engine().claim(self.claim(id, LOOKED)).await;
        !matches!(found, Ok(None)) && !matches!(found, Ok(Some(claim)) if claim.inputs == LOOKED)
    }

    fn claim(&self, id: ElicitationId, inputs: [u8; 16]) -> Claim {
        Claim {
            key: claim_key(id),
            inputs,
            expires: self.engine().now().after(RECOVERY_WINDOW),
            holder: None,
            outcome: None,
        }
    }

    /// Notes that a person has decided on what was offered to them again.
    pub(crate) async fn decided(&self, earlier: EarlierAnswer) {
        match earlier.source {
            Source::Page(id) => self.used(id).await,
            Source::Client(key) => {
                let was_there = self.state.lock().answers.forget(&key);
                if was_there {
                    self.save_answers().await;
                }
            }
        }
    }

    /// Keeps answers that clients have given to a call that is lost.
    pub(crate) async fn keep(
        &self,
        principal: &str,
        answers: Vec<(QuestionKey, Map<String, Value>)>,
    ) {
        self.recover().await;
        let at = self.engine().now();
        let mut is_changed = false;
        for (key, content) in answers {
            let answer = ClientAnswer {
                key,
                at,
                principal: principal.to_owned(),
                content,
            };
            is_changed |= self.state.lock().answers.keep(answer);
        }
        if is_changed {
            self.save_answers().await;
        }
    }

    /// Writes the places that have changed, and no others.
    async fn save_answers(&self) {
        let _one_at_a_time = self.saving.lock().await;
        loop {
            let next = self.state.lock().answers.next_unsaved();
            let Some((place, answer)) = next else { return };
            let note = answer
                .map(|answer| self.sealed(&answer))
                .unwrap_or_default();
            if let Err(error) = self.engine().save_note(&NOTES[place], note).await {
                tracing::warn!(%error, "answers of lost calls are only kept in memory");
                return self.state.lock().answers.not_saved(place);
            }
        }
    }

    async fn load_answers(&self) {
        for name in NOTES.iter() {
            // Places in use follow each other.
            let Ok(Some(note)) = self.engine().load_note(name).await else {
                return;
            };
            let now = self.engine().now();
            let State { answers, .. } = &mut *self.state.lock();
            if note.is_empty() {
                answers.restore_free();
            } else {
                answers.restore(self.opened(&note), now);
            }
        }
    }

    fn sealed(&self, answer: &ClientAnswer) -> String {
        // Of maps and texts, which always serialize.
        let text = serde_json::to_vec(answer).unwrap_or_default();
        STANDARD.encode(self.sealer.seal_outcome(NOTE_ID, &text))
    }

    /// Opens a sealed answer; `None` after a rotation of keys.
    fn opened(&self, note: &str) -> Option<ClientAnswer> {
        let sealed = STANDARD.decode(note).ok()?;
        let text = self.sealer.open_outcome(NOTE_ID, &sealed).ok()?;
        serde_json::from_slice(&text).ok()
    }
}

/// The content of an answer that a client has accepted, if it can be kept.
pub(crate) fn content_of(answer: &str) -> Option<Map<String, Value>> {
    if answer.len() > MAX_ANSWER {
        return None;
    }
    let mut answer: Value = serde_json::from_str(answer).ok()?;
    if answer["action"] != "accept" {
        return None;
    }
    match answer["content"].take() {
        Value::Object(content) if !content.is_empty() => Some(content),
        _ => None,
    }
}

/// The parameters of a question whose fields are filled in with what was answered before.
pub(crate) fn filled_in(params: &str, schema: &Value, earlier: &EarlierAnswer) -> Option<String> {
    let mut filled = schema.clone();
    let properties = filled.get_mut("properties")?.as_object_mut()?;
    for (name, property) in properties {
        if let (Some(value), Some(property)) = (earlier.content.get(name), property.as_object_mut())
        {
            property.insert("default".to_owned(), value.clone());
        }
    }
    let mut params = crate::json::RawObject::parse(params)?;
    params.set_value("requestedSchema", &filled);
    Some(params.to_string())
}

/// The claim that says that the answer of a question was used.
fn claim_key(id: ElicitationId) -> [u8; 24] {
    let mut key = *b"used....................";
    let digest = Digest::of(&json!([PURPOSE, id.to_string()]));
    key[8..].copy_from_slice(&digest.to_bytes());
    key
}

//! Answers that did not reach their server: they fill in the same question if it is asked again.
//!
//! A call is lost with its server or with this process, and what the person has typed is not. Each
//! question on a page is stored with keys that say which question it is, so that a later one finds
//! it, also in another process. Nothing is ever submitted that the person does not see.

mod questions;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use entreat_core::{CancelReason, ElicitationId, Outcome, UnixTime};
use entreat_engine::store::Claim;
use entreat_engine::{Asker, Engine, StatusFilter};
use entreat_wire::digest::Digest;
use entreat_wire::seal::Sealer;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::sync::OnceCell;

use self::questions::Questions;
use crate::session::HERE;

/// How long an answer is kept.
const KEPT: Duration = Duration::from_secs(60 * 60);
/// How far back questions are looked for that another process has asked.
const OLDEST: Duration = Duration::from_secs(25 * 60 * 60);
/// How many of those are looked at.
const MAX_OLD: usize = 5_000;
/// The maximum number of answers that are kept, and of those of one principal.
const MAX_ANSWERS: usize = 1_000;
const MAX_OWN_ANSWERS: usize = 100;
/// The largest answer of a client that is kept, and all of one principal, in bytes: all are written
/// down together.
const MAX_ANSWER: usize = 64 << 10;
const MAX_OWN_BYTES: usize = 1 << 20;
/// The member of a question's metadata.
const MEMBER: &str = "gateway";
/// The name under which the store keeps answers of clients, and what they are sealed for.
const NOTE: &str = "gateway answers";
const NOTE_ID: [u8; 24] = *b"gateway answers of calls";
/// What is claimed for a question: that a server has used its answer, or that somebody has looked.
const USED: [u8; 16] = [1; 16];
const LOOKED: [u8; 16] = [2; 16];
/// Sets these digests and keys apart from all others.
const PURPOSE: &str = "entreat gateway kept question";

/// Which questions are the same: the digests of the principal, the server, the tool and what it
/// asks. One for each tool that may ask, if that is not known.
pub(crate) type Keys = Vec<Key>;
/// One of them.
pub(crate) type Key = String;

/// What was answered before, and where it is kept.
#[derive(Clone, Debug)]
pub(crate) struct Earlier {
    pub(crate) content: Map<String, Value>,
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    /// On the page of this question.
    Page(ElicitationId),
    /// In the form of a client, under this key.
    Client(Key),
}

/// An answer that a server has got, shared by the calls that it may belong to.
pub(crate) struct Given {
    question: ElicitationId,
    /// Whether one of the calls was lost.
    is_lost: AtomicBool,
}

impl Given {
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

/// An answer that a client gave to a call that is lost.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Answer {
    at: UnixTime,
    principal: String,
    content: Map<String, Value>,
    /// The size of the content as JSON.
    #[serde(default)]
    size: usize,
}

/// Finds answers to questions that were asked before.
pub(crate) struct Kept {
    asker: Asker,
    sealer: Sealer,
    state: Mutex<State>,
    recovered: OnceCell<()>,
    /// Held while answers of clients are written.
    saving: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    questions: Questions,
    answers: HashMap<Key, Answer>,
}

/// The keys of a question.
pub(crate) fn keys(
    principal: &str,
    server: &str,
    tools: &[String],
    message: &str,
    schema: &Value,
) -> Keys {
    let key = |tool: &String| {
        let question = json!([PURPOSE, principal, server, tool, message, schema]);
        Digest::of(&question).to_string()
    };
    tools.iter().map(key).collect()
}

/// What a question is stored with.
pub(crate) fn metadata(keys: &[Key]) -> Value {
    json!({MEMBER: keys})
}

fn keys_in(metadata: Option<&Value>) -> Option<Keys> {
    serde_json::from_value(metadata?.get(MEMBER)?.clone()).ok()
}

impl Kept {
    pub(crate) fn new(asker: Asker) -> Self {
        Self {
            sealer: Sealer::new(asker.engine().clone(), PURPOSE),
            asker,
            state: Mutex::default(),
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
        self.recovered.get_or_init(|| self.look_back()).await;
    }

    async fn look_back(&self) {
        let now = self.engine().now();
        let mut before = None;
        let mut seen = 0;
        while seen < MAX_OLD {
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
                if now.since(record.lifecycle.created()) > OLDEST && !record.lifecycle.is_live() {
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
    pub(crate) fn note(&self, principal: &str, keys: &[Key], id: ElicitationId) {
        self.state.lock().questions.open(principal, keys, id);
    }

    /// Notes that a question is no longer on a page.
    pub(crate) fn closed(&self, id: ElicitationId) {
        self.state.lock().questions.close(id);
    }

    /// Finds what was answered to the same question within the last hour, if no server got it.
    pub(crate) async fn find(&self, asker: &Asker, keys: &[Key]) -> Option<Earlier> {
        for key in keys {
            let (question, answer) = {
                let state = self.state.lock();
                (state.questions.find(key), state.answers.get(key).cloned())
            };
            if let Some(answer) = answer
                && self.engine().now().since(answer.at) <= KEPT
            {
                return Some(Earlier {
                    content: answer.content,
                    source: Source::Client(key.clone()),
                });
            }
            if let Some(id) = question
                && let Some(content) = self.left_on_page(asker, id).await
            {
                return Some(Earlier {
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
        if self.engine().now().since(settled) > KEPT {
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
    pub(crate) async fn ended(&self, answers: Vec<Arc<Given>>) {
        for id in answers.into_iter().filter_map(Given::end) {
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
            expires: self.engine().now().after(OLDEST),
            holder: None,
            outcome: None,
        }
    }

    /// Notes that a person has decided on what was offered to them again.
    pub(crate) async fn decided(&self, earlier: Earlier) {
        match earlier.source {
            Source::Page(id) => self.used(id).await,
            Source::Client(key) => {
                let was_there = self.state.lock().answers.remove(&key).is_some();
                if was_there {
                    self.save_answers().await;
                }
            }
        }
    }

    /// Keeps answers that clients have given to a call that is lost.
    pub(crate) async fn keep(&self, principal: &str, answers: Vec<(Key, Map<String, Value>)>) {
        self.recover().await;
        let mut is_changed = false;
        for (key, content) in answers {
            is_changed |= self.keep_one(principal, key, content);
        }
        if is_changed {
            self.save_answers().await;
        }
    }

    /// Keeps one answer, if there is room for it. Returns whether it is another than before.
    fn keep_one(&self, principal: &str, key: Key, content: Map<String, Value>) -> bool {
        let at = self.engine().now();
        let size = serde_json::to_vec(&content).map_or(0, |text| text.len());
        let State { answers, .. } = &mut *self.state.lock();
        answers.retain(|_, answer| at.since(answer.at) <= KEPT);
        if answers.get(&key).is_some_and(|it| it.content == content) {
            return false;
        }
        let others = answers.iter().filter(|(known, _)| **known != key);
        let own = others.filter(|(_, answer)| answer.principal == principal);
        let (count, bytes) = own.fold((0, 0), |(count, bytes), (_, answer)| {
            (count + 1, bytes + answer.size)
        });
        let has_place = answers.len() < MAX_ANSWERS || answers.contains_key(&key);
        if !has_place || count >= MAX_OWN_ANSWERS || bytes + size > MAX_OWN_BYTES {
            return false;
        }
        let answer = Answer {
            at,
            principal: principal.to_owned(),
            content,
            size,
        };
        answers.insert(key, answer);
        true
    }

    async fn save_answers(&self) {
        let _one_at_a_time = self.saving.lock().await;
        let answers: Vec<(Key, Answer)> = {
            let state = self.state.lock();
            let answers = state.answers.iter();
            answers
                .map(|(key, answer)| (key.clone(), answer.clone()))
                .collect()
        };
        // Of maps and texts, which always serialize.
        let text = serde_json::to_vec(&answers).unwrap_or_default();
        let sealed = STANDARD.encode(self.sealer.seal_outcome(NOTE_ID, &text));
        if let Err(error) = self.engine().save_note(NOTE, sealed).await {
            tracing::warn!(%error, "answers of lost calls are only kept in memory");
        }
    }

    async fn load_answers(&self) {
        let Ok(Some(note)) = self.engine().load_note(NOTE).await else {
            return;
        };
        let sealed = STANDARD.decode(note).ok();
        // After a rotation of keys, nobody can read it any more.
        let text = sealed.and_then(|sealed| self.sealer.open_outcome(NOTE_ID, &sealed).ok());
        let answers = text.and_then(|text| serde_json::from_slice(&text).ok());
        let answers: Vec<(Key, Answer)> = answers.unwrap_or_default();
        self.state.lock().answers.extend(answers);
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
pub(crate) fn filled_in(params: &str, schema: &Value, earlier: &Earlier) -> Option<String> {
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

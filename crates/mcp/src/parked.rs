//! Calls that were answered with a link and go on behind it.
//!
//! A client that can show neither forms nor URLs gets the address of a page in the result of its
//! tool. The handler waits on; `resume_question` brings its result, or the next link. Calls that
//! wait and results that nobody fetched yet have limits of their own, and each principal a share
//! of both.

use std::collections::HashMap;
use std::sync::Arc;

use entreat_engine::shares::Shares;
use parking_lot::Mutex;
use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock, JsonObject, Tool};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::call::Call;
use crate::drive::{Handler, Link};
use crate::mcp::{Inner, McpSettings};

/// The tool that goes on with a call.
pub(crate) const RESUME: &str = "resume_question";

type ToolEnd = Result<CallToolResponse, ErrorData>;

pub(crate) struct ParkedCalls {
    /// Calls whose questions are open.
    links: Shares<Arc<str>>,
    /// How many results are kept, in all and of one principal.
    results: (usize, usize),
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// By their handles.
    calls: HashMap<String, ParkedCall>,
    /// How many calls have come to their end.
    ended: u64,
}

struct ParkedCall {
    principal: Arc<str>,
    stage: watch::Receiver<Stage>,
    /// The link that the client was told last.
    told: Link,
    /// The how manieth to come to its end it was; `None` as long as its question is open.
    ended: Option<u64>,
    /// Whether it shares with other principals.
    is_shared: bool,
}

impl ParkedCalls {
    pub(crate) fn new(settings: &McpSettings) -> Self {
        Self {
            links: settings.shares(settings.links),
            results: (settings.results, settings.share_of(settings.results)),
            known: Mutex::default(),
        }
    }

    fn remove(&self, handle: &str) -> Option<ParkedCall> {
        self.known.lock().calls.remove(handle)
    }

    /// Notes that a call has come to its end, for whose result others may have to go.
    fn end(&self, handle: &str) {
        let mut known = self.known.lock();
        known.ended += 1;
        let ended = known.ended;
        let Some(call) = known.calls.get_mut(handle) else {
            return;
        };
        call.ended = Some(ended);
        let (principal, is_shared) = (call.principal.clone(), call.is_shared);
        let (all, share) = self.results;
        let mut kept: HashMap<&Arc<str>, Results<'_>> = HashMap::new();
        for (handle, call) in &known.calls {
            if let Some(ended) = call.ended {
                kept.entry(&call.principal).or_default().add(handle, ended);
            }
        }
        let total: usize = kept.values().map(|results| results.count).sum();
        let own = kept.get(&principal).map_or(0, |results| results.count);
        let goes = if is_shared && own > share {
            kept.get(&principal)
        } else if total > all {
            // Who has the most is the one who keeps others from having any.
            kept.values().max_by_key(|results| results.count)
        } else {
            None
        };
        let goes = goes.and_then(|results| Some(results.oldest?.1.to_owned()));
        if let Some(handle) = goes {
            tracing::warn!("a result that nobody fetched made way for a newer one");
            known.calls.remove(&handle);
        }
    }
}

/// The results of one principal that wait to be fetched.
#[derive(Default)]
struct Results<'a> {
    count: usize,
    /// When it ended, and its handle.
    oldest: Option<(u64, &'a str)>,
}

impl<'a> Results<'a> {
    fn add(&mut self, handle: &'a str, ended: u64) {
        self.count += 1;
        let oldest = self.oldest.get_or_insert((ended, handle));
        *oldest = (*oldest).min((ended, handle));
    }
}

#[derive(Clone)]
enum Stage {
    Waits(Link),
    Done(Arc<Mutex<Option<ToolEnd>>>),
}

impl Inner {
    /// Lets a handler go on by itself, and answers its call with the link.
    pub(crate) fn park(
        self: &Arc<Self>,
        call: Arc<Call>,
        handler: Handler<ToolEnd>,
        link: &Link,
    ) -> ToolEnd {
        let place = call.client().place(&self.parked.links).map_err(|full| {
            let message = format!("too many questions wait under links: {full}; try again later");
            ErrorData::internal_error(message, None)
        })?;
        let handle = self.new_handle();
        let (tell, stage) = watch::channel(Stage::Waits(link.clone()));
        let parked = ParkedCall {
            principal: call.client().principal.clone(),
            stage,
            told: link.clone(),
            ended: None,
            is_shared: call.client().is_remote,
        };
        let mut known = self.parked.known.lock();
        known.calls.insert(handle.clone(), parked);
        drop(known);
        let inner = Arc::clone(self);
        let name = handle.clone();
        self.tasks.spawn(async move {
            let work = go_on(&call, handler, &tell);
            let Some(ended) = inner.stop.run_until_cancelled(work).await else {
                inner.parked.remove(&name);
                return;
            };
            tell.send_replace(Stage::Done(Arc::new(Mutex::new(Some(ended)))));
            // What the call was about is over, and others may have its place.
            drop((place, call));
            inner.parked.end(&name);
            // Nobody may ever come for it.
            let kept = inner.asker.engine().sleep(inner.settings.state_lifetime);
            tokio::select! {
                () = kept => {}
                () = tell.closed() => {}
                () = inner.stop.cancelled() => {}
            }
            inner.parked.remove(&name);
        });
        Ok(told(link, &handle).into())
    }

    /// Waits for a while for the result of a call that goes on, or its next link.
    pub(crate) async fn resume(&self, principal: &str, arguments: Option<&JsonObject>) -> ToolEnd {
        let handle = arguments.and_then(|it| it.get("question"));
        let handle = handle.and_then(Value::as_str).unwrap_or_default();
        let found = {
            let known = self.parked.known.lock();
            let call = known.calls.get(handle);
            let call = call.filter(|it| *it.principal == *principal);
            call.map(|call| (call.stage.clone(), call.told.clone()))
        };
        let Some((mut stage, before)) = found else {
            let message = format!(
                "No question `{handle}` waits here. It may have been taken up already; call the \
                 tool that asked it again."
            );
            return Ok(CallToolResult::error(vec![ContentBlock::text(message)]).into());
        };
        let is_news = |stage: &Stage| !matches!(stage, Stage::Waits(link) if *link == before);
        tokio::select! {
            biased;
            _ = stage.wait_for(is_news) => {}
            () = self.asker.engine().sleep(self.settings.page_wait) => {}
        }
        let now = stage.borrow().clone();
        match now {
            Stage::Waits(link) => {
                let result = told(&link, handle);
                if let Some(call) = self.parked.known.lock().calls.get_mut(handle) {
                    call.told = link;
                }
                Ok(result.into())
            }
            Stage::Done(ended) => {
                let ended = ended.lock().take();
                self.parked.remove(handle);
                let gone = "its result was taken already";
                ended.unwrap_or_else(|| Err(ErrorData::invalid_params(gone, None)))
            }
        }
    }

    fn new_handle(&self) -> String {
        let mut random = [0; 10];
        self.asker.engine().fill_random(&mut random);
        let digits = random.iter().map(|byte| format!("{byte:02x}"));
        digits.collect()
    }
}

/// Runs a handler to its end, and tells each link that it comes to.
async fn go_on(call: &Call, mut handler: Handler<ToolEnd>, tell: &watch::Sender<Stage>) -> ToolEnd {
    loop {
        tokio::select! {
            biased;
            ended = &mut handler => return ended,
            () = call.run.link_came.notified() => {
                if let Some(link) = call.run.take_link() {
                    tell.send_replace(Stage::Waits(link));
                }
            }
        }
    }
}

/// What the model reads, who tells the person.
fn told(link: &Link, handle: &str) -> CallToolResult {
    let text = format!(
        "A person has to answer before this can go on.\n\n{}\n\nAsk the person to open this link: \
         {}\n\nThen call the tool `{RESUME}` with {{\"question\": \"{handle}\"}} to go on.",
        link.message, link.url
    );
    CallToolResult::success(vec![ContentBlock::text(text)])
}

/// The tool as it is listed.
pub(crate) fn resume_tool() -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {"question": {
            "type": "string",
            "description": "The name of the question, from the result that had its link",
        }},
        "required": ["question"],
    });
    let schema = match schema {
        Value::Object(members) => members,
        _ => JsonObject::new(),
    };
    let description = "Goes on with a call that waits for a person: brings its result once the \
                       person has answered under the link";
    Tool::new(RESUME, description, Arc::new(schema))
}

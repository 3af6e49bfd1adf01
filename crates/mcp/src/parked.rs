//! Calls that were answered with a link and go on behind it.
//!
//! A client that can show neither forms nor URLs gets the address of a page in the result of its
//! tool. The handler waits on; `resume_question` brings its result, or the next link.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock, JsonObject, Tool};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::call::Call;
use crate::drive::{Handler, Link};
use crate::mcp::Inner;

/// The tool that goes on with a call.
pub(crate) const RESUME: &str = "resume_question";
/// So many calls may wait; a call beyond them is an error.
const MOST: usize = 1_000;

type ToolEnd = Result<CallToolResponse, ErrorData>;

#[derive(Default)]
pub(crate) struct ParkedCalls(Mutex<HashMap<String, ParkedCall>>);

struct ParkedCall {
    principal: String,
    stage: watch::Receiver<Stage>,
    /// The link that the client was told last.
    told: Link,
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
        let handle = self.new_handle();
        let (tell, stage) = watch::channel(Stage::Waits(link.clone()));
        {
            let mut parked = self.parked.0.lock();
            if parked.len() >= MOST {
                let message = "too many questions wait for their answers; try again later";
                return Err(ErrorData::internal_error(message, None));
            }
            let principal = call.client().principal.clone();
            let told = link.clone();
            let call = ParkedCall {
                principal,
                stage,
                told,
            };
            parked.insert(handle.clone(), call);
        }
        let inner = Arc::clone(self);
        let name = handle.clone();
        self.tasks.spawn(async move {
            let work = go_on(&call, handler, &tell);
            let Some(ended) = inner.stop.run_until_cancelled(work).await else {
                inner.parked.0.lock().remove(&name);
                return;
            };
            tell.send_replace(Stage::Done(Arc::new(Mutex::new(Some(ended)))));
            // Nobody may ever come for it.
            let kept = inner.asker.engine().sleep(inner.settings.state_lifetime);
            tokio::select! {
                () = kept => {}
                () = tell.closed() => {}
                () = inner.stop.cancelled() => {}
            }
            inner.parked.0.lock().remove(&name);
        });
        Ok(told(link, &handle).into())
    }

    /// Waits for a while for the result of a call that goes on, or its next link.
    pub(crate) async fn resume(&self, principal: &str, arguments: Option<&JsonObject>) -> ToolEnd {
        let handle = arguments.and_then(|it| it.get("question"));
        let handle = handle.and_then(Value::as_str).unwrap_or_default();
        let found = {
            let parked = self.parked.0.lock();
            let call = parked.get(handle).filter(|it| it.principal == principal);
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
                if let Some(call) = self.parked.0.lock().get_mut(handle) {
                    call.told = link;
                }
                Ok(result.into())
            }
            Stage::Done(ended) => {
                let ended = ended.lock().take();
                self.parked.0.lock().remove(handle);
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

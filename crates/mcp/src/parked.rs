//! Calls that were answered with a link and continue behind it.
//!
//! A client that can show neither forms nor URLs gets the URL of a page in the tool's result. The
//! handler keeps waiting; the tool `resume_question` returns its result, or the next link. Waiting
//! calls and unfetched results are limited, with a share of both for each principal.

use std::collections::{HashMap, HashSet};
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

/// The tool that resumes a call.
pub(crate) const RESUME: &str = "resume_question";

type ToolResult = Result<CallToolResponse, ErrorData>;

pub(crate) struct ParkedCalls {
    /// Permits for calls whose questions are open.
    links: Shares<Arc<str>>,
    /// The maximum number of unfetched results, in total and per principal.
    results: (usize, usize),
    table: Mutex<ParkedTable>,
}

#[derive(Default)]
struct ParkedTable {
    /// Calls by handle.
    calls: HashMap<String, ParkedCall>,
    /// Counts completed calls.
    completed: u64,
}

struct ParkedCall {
    principal: Arc<str>,
    stage: watch::Receiver<Stage>,
    /// The link that the client received last.
    announced: Link,
    /// Orders completed calls by age; `None` while the question is open.
    completed: Option<u64>,
    /// Whether the per-principal share applies.
    is_shared: bool,
}

impl ParkedCalls {
    pub(crate) fn new(settings: &McpSettings) -> Self {
        Self {
            links: settings.shares(settings.links),
            results: (settings.results, settings.share_of(settings.results)),
            table: Mutex::default(),
        }
    }

    fn remove(&self, handle: &str) -> Option<ParkedCall> {
        self.table.lock().calls.remove(handle)
    }

    /// Marks a call as completed, and evicts an unfetched result if there are too many.
    fn complete(&self, handle: &str) {
        let mut table = self.table.lock();
        table.completed += 1;
        let completed = table.completed;
        let Some(call) = table.calls.get_mut(handle) else {
            return;
        };
        call.completed = Some(completed);
        let (principal, is_shared) = (call.principal.clone(), call.is_shared);
        let (all, share) = self.results;
        let mut by_principal: HashMap<&Arc<str>, Results<'_>> = HashMap::new();
        for (handle, call) in &table.calls {
            if let Some(completed) = call.completed {
                by_principal
                    .entry(&call.principal)
                    .or_default()
                    .add(handle, completed);
            }
        }
        let total: usize = by_principal.values().map(|results| results.count).sum();
        let own = by_principal
            .get(&principal)
            .map_or(0, |results| results.count);
        let evicted = if is_shared && own > share {
            by_principal.get(&principal)
        } else if total > all {
            // The principal with the most results crowds out the others.
            by_principal.values().max_by_key(|results| results.count)
        } else {
            None
        };
        let evicted = evicted.and_then(|results| Some(results.oldest?.1.to_owned()));
        if let Some(handle) = evicted {
            tracing::warn!("an unfetched result was dropped for a newer one");
            table.calls.remove(&handle);
        }
    }
}

/// The unfetched results of one principal.
#[derive(Default)]
struct Results<'a> {
    count: usize,
    /// Its completion number and handle.
    oldest: Option<(u64, &'a str)>,
}

impl<'a> Results<'a> {
    fn add(&mut self, handle: &'a str, completed: u64) {
        self.count += 1;
        let oldest = self.oldest.get_or_insert((completed, handle));
        *oldest = (*oldest).min((completed, handle));
    }
}

#[derive(Clone)]
enum Stage {
    Waiting(Link),
    Done(Arc<Mutex<Option<ToolResult>>>),
}

impl Inner {
    /// Runs a handler in the background, and answers its call with the link; `is_structured` says
    /// whether its tool's results have a schema.
    pub(crate) fn park(
        self: &Arc<Self>,
        call: Arc<Call>,
        handler: Handler<ToolResult>,
        link: &Link,
        is_structured: bool,
    ) -> ToolResult {
        let place = call.client().place(&self.parked.links).map_err(|full| {
            let message = format!("too many questions wait behind links: {full}; try again later");
            ErrorData::internal_error(message, None)
        })?;
        let handle = self.new_handle();
        let (stage_sender, stage) = watch::channel(Stage::Waiting(link.clone()));
        let parked = ParkedCall {
            principal: call.client().principal.clone(),
            stage,
            announced: link.clone(),
            completed: None,
            is_shared: call.client().is_remote,
        };
        let mut table = self.parked.table.lock();
        table.calls.insert(handle.clone(), parked);
        drop(table);
        let inner = Arc::clone(self);
        let name = handle.clone();
        self.tasks.spawn(async move {
            let work = run_to_end(&call, handler, &stage_sender);
            let Some(result) = inner.stop.run_until_cancelled(work).await else {
                inner.parked.remove(&name);
                return;
            };
            stage_sender.send_replace(Stage::Done(Arc::new(Mutex::new(Some(result)))));
            // Releases the permit before the result is fetched.
            drop((place, call));
            inner.parked.complete(&name);
            // The result may never be fetched.
            let expiry = inner.asker.engine().sleep(inner.settings.state_lifetime);
            tokio::select! {
                () = expiry => {}
                () = stage_sender.closed() => {}
                () = inner.stop.cancelled() => {}
            }
            inner.parked.remove(&name);
        });
        let text = link_text(link, &handle);
        let result = if is_structured {
            // Clients check a result against its tool's schema, unless it is an error.
            let text = format!(
                "This is not a failure: the call waits for a person, and goes on. It is marked as \
                 an error only because its own result is not there yet.\n\n{text}"
            );
            CallToolResult::error(vec![ContentBlock::text(text)])
        } else {
            CallToolResult::success(vec![ContentBlock::text(text)])
        };
        Ok(result.into())
    }

    /// Waits up to `page_wait` for a parked call's result or its next link.
    pub(crate) async fn resume(
        &self,
        principal: &str,
        arguments: Option<&JsonObject>,
    ) -> ToolResult {
        let handle = arguments.and_then(|it| it.get("question"));
        let handle = handle.and_then(Value::as_str).unwrap_or_default();
        let found = {
            let table = self.parked.table.lock();
            let call = table.calls.get(handle);
            let call = call.filter(|it| *it.principal == *principal);
            call.map(|call| (call.stage.clone(), call.announced.clone()))
        };
        let Some((mut stage, last)) = found else {
            let message = if handle.is_empty() {
                format!(
                    "`question` is required: call `{RESUME}` with the id of the question, from the \
                     result that contained its link."
                )
            } else {
                format!(
                    "There is no waiting question `{handle}`. Its result may already have been \
                     fetched; call the tool that asked it again."
                )
            };
            return Ok(CallToolResult::error(vec![ContentBlock::text(message)]).into());
        };
        let has_changed = |stage: &Stage| !matches!(stage, Stage::Waiting(link) if *link == last);
        tokio::select! {
            biased;
            _ = stage.wait_for(has_changed) => {}
            () = self.asker.engine().sleep(self.settings.page_wait) => {}
        }
        let now = stage.borrow().clone();
        match now {
            Stage::Waiting(link) => {
                let text = ContentBlock::text(link_text(&link, handle));
                let result = CallToolResult::success(vec![text]);
                if let Some(call) = self.parked.table.lock().calls.get_mut(handle) {
                    call.announced = link;
                }
                Ok(result.into())
            }
            Stage::Done(result) => {
                let result = result.lock().take();
                self.parked.remove(handle);
                let message = "its result was already fetched";
                result.unwrap_or_else(|| Err(ErrorData::invalid_params(message, None)))
            }
        }
    }

    pub(crate) fn new_handle(&self) -> String {
        let mut random = [0; 10];
        self.asker.engine().fill_random(&mut random);
        let digits = random.iter().map(|byte| format!("{byte:02x}"));
        digits.collect()
    }
}

/// The maximum number of tools of which it is remembered that their results have a schema.
const MAX_STRUCTURED: usize = 2_000;

/// The tools whose results have a schema, as a server lists them: not every server tells of a single
/// tool.
#[derive(Default)]
pub(crate) struct StructuredTools(Mutex<HashSet<String>>);

impl StructuredTools {
    pub(crate) fn note(&self, tools: &[Tool]) {
        let mut names = self.0.lock();
        for tool in tools {
            if tool.output_schema.is_none() {
                names.remove(&*tool.name);
            } else if names.len() < MAX_STRUCTURED {
                names.insert(tool.name.to_string());
            }
        }
    }

    pub(crate) fn has(&self, tool: &str) -> bool {
        self.0.lock().contains(tool)
    }
}

/// Runs a handler to completion, and publishes each link that it offers.
async fn run_to_end(
    call: &Call,
    mut handler: Handler<ToolResult>,
    stage_sender: &watch::Sender<Stage>,
) -> ToolResult {
    loop {
        tokio::select! {
            biased;
            result = &mut handler => return result,
            () = call.run.link_ready.notified() => {
                if let Some(link) = call.run.take_link() {
                    stage_sender.send_replace(Stage::Waiting(link));
                }
            }
        }
    }
}

/// What the model reads and relays to the person.
fn link_text(link: &Link, handle: &str) -> String {
    format!(
        "A person has to answer before this can continue. Ask the person to open this link: \
         {}\n\nThen call the tool `{RESUME}` with {{\"question\": \"{handle}\"}} to continue.\n\n\
         The question:\n\n{}",
        link.url, link.message
    )
}

/// The definition of the tool.
pub(crate) fn resume_tool() -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {"question": {
            "type": "string",
            "description": "The id of the question, from the result that contained its link",
        }},
        "required": ["question"],
    });
    let schema = match schema {
        Value::Object(members) => members,
        _ => JsonObject::new(),
    };
    let description = "Resumes a call that waits for a person: returns its result once the \
                       person has answered at the link";
    Tool::new(RESUME, description, Arc::new(schema))
}

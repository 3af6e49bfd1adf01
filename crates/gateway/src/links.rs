//! Calls whose person answers behind a link: the tool's result has the address of a page, and the
//! tool `resume_question` goes on with the call.

use std::sync::Arc;

use entreat_core::is_unsafe_to_display;
use serde_json::json;

use crate::call::{Call, Link, Resumed};
use crate::envelope::Envelope;
use crate::json::RawObject;
use crate::random;
use crate::reply::{Reply, tool_text};
use crate::session::{Pair, Session};

/// The name of the tool, and its name if the upstream has a tool of that name.
pub(crate) const RESUME: &str = "resume_question";
const OWN_RESUME: &str = "entreat_resume_question";
/// Its name in a session that is one part of a union: no tool of an upstream has it, since those
/// of the union are renamed.
pub(crate) const PART_RESUME: &str = "entreat:resume";
/// The maximum number of calls behind links.
const MAX_LINKS: usize = 1_000;

impl Session {
    /// Answers a call with the link to a page; the call goes on behind it.
    pub(crate) fn answer_with_link(&self, call: &Arc<Call>, link: &Link) {
        if !call.link(link.clone()) {
            return;
        }
        let handle = self.new_handle();
        let text = self.link_text(link, &handle);
        let is_structured = self.is_structured(&call.target());
        let was_full = {
            let mut state = self.state.lock();
            let key = state.links.last_key_value().map_or(0, |(key, _)| key + 1);
            let was_full = state.links.len() == MAX_LINKS;
            if was_full {
                state.links.pop_first();
            }
            state.links.insert(key, (handle, call.clone()));
            was_full
        };
        if was_full {
            self.warn("dropped a call behind a link", "there is a newer one");
        }
        let result = link_result(&text, is_structured, self.is_modern_client());
        self.forget_id(call);
        if let Some(watch) = call.client.call() {
            watch.linked();
        }
        call.reply(&result);
    }

    pub(crate) fn new_handle(&self) -> String {
        random::name::<10>(self.engine())
    }

    /// What a model reads that has to send a person to a link. What the server says comes last and
    /// is marked as its own: it may contain other links.
    pub(crate) fn link_text(&self, link: &Link, handle: &str) -> String {
        let tool = self.resume_name();
        let question = match &link.server {
            Some(server) => format!("What the server `{}` asks, in its own words:", safe(server)),
            None => "The question:".to_owned(),
        };
        let mut text = format!(
            "A person has to answer before this can continue. Ask the person to open this link: \
             {}\n\nThen call the tool `{tool}` with {{\"question\": \"{handle}\"}} to \
             continue.\n\n{question}\n",
            link.url
        );
        for line in link.message.lines() {
            text.push_str("\n> ");
            text.push_str(&safe(line));
        }
        text
    }

    /// The name of the tool that resumes calls. A client that was told of it may call it, also
    /// without having listed the tools.
    pub(crate) fn resume_name(&self) -> &'static str {
        match *self.state.lock().resume.get_or_insert(RESUME) {
            PART_RESUME => RESUME,
            name => name,
        }
    }

    /// Makes the session one part of a union, which offers the tool for all of them.
    pub(crate) fn become_part(&self) {
        self.state.lock().resume = Some(PART_RESUME);
    }

    /// Whether a call is behind a link of this handle.
    pub(crate) fn has_link(&self, handle: &str) -> bool {
        let is_linked = self
            .state
            .lock()
            .links
            .values()
            .any(|(known, _)| known == handle);
        is_linked || self.flows.get(handle).is_some()
    }

    pub(crate) fn is_modern_client(&self) -> bool {
        let pair = self.state.lock().pair;
        matches!(pair, Pair::Modern | Pair::Lowered)
    }

    /// Answers a call of the tool: with the result of the call behind the link, with its next link,
    /// or with the same link after a while.
    pub(crate) fn resume(self: &Arc<Self>, waiting: Arc<Call>, params: &str) {
        let arguments = RawObject::parse(params);
        let handle = arguments
            .as_ref()
            .and_then(|params| params.object("arguments")?.string("question"))
            .unwrap_or_default();
        let found = {
            let state = self.state.lock();
            let mut links = state.links.values();
            links
                .find(|(known, _)| *known == handle)
                .map(|(_, call)| call.clone())
        };
        let Some(call) = found else {
            let text = if handle.is_empty() {
                format!(
                    "`question` is required: call `{}` with the id of the question, from the result \
                     that contained its link.",
                    self.resume_name()
                )
            } else {
                format!(
                    "There is no waiting question `{handle}`. Its result may already have been \
                     fetched; call the tool that asked it again."
                )
            };
            let reply = Reply::Result(tool_text(&text, true, self.is_modern_client()));
            return waiting.reply(&reply);
        };
        if let Err(busy) = self.note_call(&waiting) {
            return waiting.reply(&busy);
        }
        waiting.client.leave();
        let session = self.clone();
        self.spawn(async move {
            let resumed = tokio::select! {
                biased;
                () = waiting.cancelled.cancelled() => return,
                resumed = call.resumed() => resumed,
                () = session.sleep(session.settings().hold) => Resumed::Waiting,
            };
            let message = match resumed {
                Resumed::Result(result) => {
                    let mut state = session.state.lock();
                    state.links.retain(|_, (known, _)| *known != handle);
                    Envelope::read(&result)
                        .map(|envelope| envelope.with_id(&waiting.id))
                        .unwrap_or_default()
                }
                Resumed::Link(link) => {
                    let text = session.link_text(&link, &handle);
                    let text = tool_text(&text, false, session.is_modern_client());
                    Reply::Result(text).to_message(&waiting.id)
                }
                Resumed::Waiting => {
                    let tool = session.resume_name();
                    let text = format!(
                        "The person has not answered yet. Call `{tool}` again with \
                         {{\"question\": \"{handle}\"}}."
                    );
                    let text = tool_text(&text, false, session.is_modern_client());
                    Reply::Result(text).to_message(&waiting.id)
                }
            };
            session.respond(&waiting, message.into());
        });
    }
}

/// A result with a link, in place of the result of a tool. Clients check a result against its tool's
/// schema, unless it is an error; so a tool with a schema gets an error that is none.
pub(crate) fn link_result(text: &str, is_structured: bool, is_modern: bool) -> Reply {
    if !is_structured {
        return Reply::Result(tool_text(text, false, is_modern));
    }
    let text = format!(
        "This is not a failure: the call waits for a person, and goes on. It is marked as an error \
         only because its own result is not there yet.\n\n{text}"
    );
    Reply::Result(tool_text(&text, true, is_modern))
}

/// Adds the tool to the last page of a list of tools; `None` if this is another page.
pub(crate) fn add_tool(session: &Session, result: &str) -> Option<String> {
    let mut list = RawObject::parse(result)?;
    let tools = list.get("tools")?.trim();
    let inner = tools.strip_suffix(']')?;
    let is_taken = memchr::memmem::find(tools.as_bytes(), b"\"resume_question\"").is_some();
    let name = {
        let mut state = session.state.lock();
        if state.resume == Some(PART_RESUME) {
            return None;
        }
        if is_taken {
            state.resume = Some(OWN_RESUME);
        }
        *state.resume.get_or_insert(RESUME)
    };
    if list
        .get("nextCursor")
        .is_some_and(|cursor| cursor != "null")
    {
        return None;
    }
    let comma = if inner.trim_end().ends_with('[') {
        ""
    } else {
        ","
    };
    let tools = format!("{inner}{comma}{}]", definition(name));
    list.set("tools", tools);
    Some(list.to_string())
}

/// The definition of the tool.
pub(crate) fn definition(name: &str) -> String {
    json!({
        "name": name,
        "description": "Resumes a call that waits for a person: returns its result once the \
                        person has answered at the link",
        "inputSchema": {
            "type": "object",
            "properties": {"question": {
                "type": "string",
                "description": "The id of the question, from the result that contained its link",
            }},
            "required": ["question"],
        },
    })
    .to_string()
}

/// A server's words without what harms a terminal or hides other words.
fn safe(line: &str) -> String {
    let chars = line.chars();
    chars.filter(|c| !is_unsafe_to_display(*c)).collect()
}

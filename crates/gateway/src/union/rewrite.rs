//! What changes in the messages of one upstream of several: URIs, and whose words they are.
//!
//! Everything else stays as it was written. Each function returns `None` if nothing changes.

use entreat_wire::message::CREATE;
use memchr::memmem;
use serde_json::value::RawValue;

use super::names::labelled;
use crate::call::Method;
use crate::json::{RawObject, quoted};
use crate::reply::{code, error_code};

/// One upstream's name, and what its URIs begin with.
#[derive(Clone, Debug)]
pub(super) struct Rewriter {
    pub(super) name: String,
    pub(super) label: String,
}

impl Rewriter {
    /// The result of a call.
    pub(super) fn result(&self, method: Method, result: &str) -> Option<String> {
        if !method.may_ask() {
            return None;
        }
        if memmem::find(result.as_bytes(), b"input_required").is_some()
            && let Some(changed) = self.questions(result)
        {
            return Some(changed);
        }
        memmem::find(result.as_bytes(), b"uri")?;
        let mut object = RawObject::parse(result)?;
        let (name, changed) = match method {
            Method::CallTool => {
                let content = object.get("content")?;
                ("content", items(content, |item| self.content(item))?)
            }
            Method::GetPrompt => {
                let messages = object.get("messages")?;
                ("messages", items(messages, |it| self.prompt_message(it))?)
            }
            Method::ReadResource => {
                let contents = object.get("contents")?;
                ("contents", items(contents, |it| self.uri(it, "uri"))?)
            }
            Method::Initialize
            | Method::Discover
            | Method::ListTools
            | Method::Listen
            | Method::Other => return None,
        };
        object.set(name, changed);
        Some(object.to_string())
    }

    /// A part of a result: a link to a resource, or a resource itself.
    fn content(&self, item: &str) -> Option<String> {
        let mut object = RawObject::parse(item)?;
        match object.string("type")?.as_str() {
            "resource_link" => self.uri(item, "uri"),
            "resource" => {
                let resource = self.uri(object.get("resource")?, "uri")?;
                object.set("resource", resource);
                Some(object.to_string())
            }
            _ => None,
        }
    }

    fn prompt_message(&self, message: &str) -> Option<String> {
        let mut object = RawObject::parse(message)?;
        let content = object.get("content")?;
        let changed = if content.trim_start().starts_with('[') {
            items(content, |item| self.content(item))
        } else {
            self.content(content)
        };
        object.set("content", changed?);
        Some(object.to_string())
    }

    /// An object of which a member is a URI.
    pub(super) fn uri(&self, object: &str, member: &str) -> Option<String> {
        let mut object = RawObject::parse(object)?;
        let uri = object.string(member)?;
        object.set(member, quoted(&labelled(&self.label, &uri)));
        Some(object.to_string())
    }

    /// A tool, with its name in the union.
    pub(super) fn tool(&self, tool: &str, known: &str) -> Option<String> {
        let mut object = RawObject::parse(tool)?;
        object.set("name", quoted(known));
        // Where its app is.
        let meta = object.get("_meta").and_then(|meta| {
            memmem::find(meta.as_bytes(), b"resourceUri")?;
            let old = self.uri(meta, "ui/resourceUri");
            let mut meta = RawObject::parse(old.as_deref().unwrap_or(meta))?.into_owned();
            if let Some(app) = meta.get("ui").and_then(|ui| self.uri(ui, "resourceUri")) {
                meta.set("ui", app);
            }
            Some(meta.to_string())
        });
        if let Some(meta) = meta {
            object.set("_meta", meta);
        }
        Some(object.to_string())
    }

    /// A prompt, with its name in the union.
    pub(super) fn prompt(prompt: &str, known: &str) -> Option<String> {
        let mut object = RawObject::parse(prompt)?;
        object.set("name", quoted(known));
        Some(object.to_string())
    }

    /// The questions of a round.
    fn questions(&self, result: &str) -> Option<String> {
        let mut object = RawObject::parse(result)?;
        if object.string("resultType")? != "input_required" {
            return None;
        }
        let mut requests = object.object("inputRequests")?;
        requests.change(|request| {
            let mut request = RawObject::parse(request)?;
            if request.string("method")? != CREATE {
                return None;
            }
            let params = self.question(request.get("params")?)?;
            request.set("params", params);
            Some(request.to_string())
        });
        let requests = requests.to_string();
        object.set("inputRequests", requests);
        Some(object.to_string())
    }

    /// A question for the client: it says who asks, and its id is no other upstream's.
    pub(super) fn question(&self, params: &str) -> Option<String> {
        let mut object = RawObject::parse(params)?;
        let message = object.string("message")?;
        object.set("message", quoted(&format!("{}: {message}", self.name)));
        if let Some(id) = object.string("elicitationId") {
            object.set("elicitationId", quoted(&self.visit(&id)));
        }
        Some(object.to_string())
    }

    /// The id of a URL to visit.
    pub(super) fn visit(&self, id: &str) -> String {
        format!("{}+{id}", self.label)
    }

    /// An error: one may name URLs to visit.
    pub(super) fn error(&self, error: &str) -> Option<String> {
        if error_code(error) != Some(i64::from(code::URL_REQUIRED)) {
            return None;
        }
        let mut object = RawObject::parse(error)?;
        let mut data = object.object("data")?.into_owned();
        let urls = items(data.get("elicitations")?, |url| self.question(url))?;
        data.set("elicitations", urls);
        object.set("data", data.to_string());
        Some(object.to_string())
    }

    /// A log message, which names its logger.
    pub(super) fn log(&self, params: &str) -> Option<String> {
        let mut object = RawObject::parse(params)?;
        let logger = match object.string("logger") {
            Some(logger) => format!("{}/{logger}", self.name),
            None => self.name.clone(),
        };
        object.set("logger", quoted(&logger));
        Some(object.to_string())
    }
}

/// Changes the items of an array.
fn items(array: &str, change: impl Fn(&str) -> Option<String>) -> Option<String> {
    let items: Vec<&RawValue> = serde_json::from_str(array).ok()?;
    let changed: Vec<Option<String>> = items.iter().map(|item| change(item.get())).collect();
    if changed.iter().all(Option::is_none) {
        return None;
    }
    let all: Vec<&str> = items
        .iter()
        .zip(&changed)
        .map(|(item, changed)| changed.as_deref().unwrap_or(item.get()))
        .collect();
    Some(format!("[{}]", all.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewriter() -> Rewriter {
        Rewriter {
            name: "My_Files".to_owned(),
            label: "my.files".to_owned(),
        }
    }

    #[test]
    fn uris_of_results_name_their_upstream_and_all_else_stays() {
        let result = r#"{"content":[{"type":"text","text":"uri"},{"type":"resource_link","uri":"a:b","name":"n","x":1.0},{ "type":"resource","resource":{"uri":"c:d","text":"t"}}],"structuredContent":{"uri":"a:b"},"isError":false}"#;
        assert_eq!(
            rewriter().result(Method::CallTool, result).as_deref(),
            Some(
                r#"{"content":[{"type":"text","text":"uri"},{"type":"resource_link","uri":"my.files+a:b","name":"n","x":1.0},{"type":"resource","resource":{"uri":"my.files+c:d","text":"t"}}],"structuredContent":{"uri":"a:b"},"isError":false}"#
            )
        );
        let plain = r#"{"content":[{"type":"text","text":"uri"}]}"#;
        assert_eq!(rewriter().result(Method::CallTool, plain), None);
        for prompt in [
            r#"{"messages":[{"role":"user","content":{"type":"resource_link","uri":"U"}}]}"#,
            r#"{"messages":[{"role":"user","content":[{"type":"resource_link","uri":"U"}]}]}"#,
        ] {
            assert_eq!(
                rewriter().result(Method::GetPrompt, prompt),
                Some(prompt.replace('U', "my.files+U"))
            );
        }
        let read = r#"{"contents":[{"uri":"U","blob":"AA=="}],"ttlMs":0}"#;
        assert_eq!(
            rewriter().result(Method::ReadResource, read),
            Some(read.replace('U', "my.files+U"))
        );
    }

    #[test]
    fn questions_say_who_asks() {
        let push = r#"{"mode":"url","message":"Sign in","url":"https://a","elicitationId":"7"}"#;
        let asked = push
            .replace("Sign in", "My_Files: Sign in")
            .replace(r#""7""#, r#""my.files+7""#);
        assert_eq!(rewriter().question(push).as_deref(), Some(asked.as_str()));
        let round = format!(
            r#"{{"resultType":"input_required","inputRequests":{{"a":{{"method":"elicitation/create","params":{push}}},"b":{{"method":"roots/list"}}}},"requestState":"s"}}"#
        );
        let changed = round.replace(push, &asked);
        assert_eq!(rewriter().result(Method::CallTool, &round), Some(changed));
        let error =
            format!(r#"{{"code":-32042,"message":"m","data":{{"elicitations":[{push}]}}}}"#);
        let changed = error.replace(push, &asked);
        assert_eq!(rewriter().error(&error), Some(changed));
        assert_eq!(rewriter().error(r#"{"code":-32603,"message":"m"}"#), None);
    }

    #[test]
    fn a_round_of_many_questions_costs_linear_time() {
        let question = r#"{"method":"elicitation/create","params":{"message":"m"}}"#;
        let requests: Vec<String> = (0..100_000)
            .map(|n| format!(r#""a-key-of-a-question-{n}":{question}"#))
            .collect();
        let round = format!(
            r#"{{"resultType":"input_required","inputRequests":{{{}}}}}"#,
            requests.join(",")
        );
        // Looking for each key among all would take minutes.
        let changed = rewriter().result(Method::CallTool, &round).unwrap();
        assert_eq!(changed.matches("My_Files: m").count(), 100_000);
    }

    #[test]
    fn tools_lead_to_their_apps() {
        let tool = r#"{"name":"t","_meta":{"ui":{"resourceUri":"ui://a/b","x":1},"ui/resourceUri":"ui://a/b"}}"#;
        let changed = tool
            .replace(r#""t""#, r#""k""#)
            .replace("ui://a/b", "ui://my.files+a/b");
        assert_eq!(rewriter().tool(tool, "k"), Some(changed));
        assert_eq!(
            rewriter().tool(r#"{"name":"t","n":1.0}"#, "k").as_deref(),
            Some(r#"{"name":"k","n":1.0}"#)
        );
    }
}

//! What a person reads of a call, and how they answer.

use std::fmt::Write as _;
use std::time::Duration;

use entreat_core::{Form, TextFormat, markdown};
use serde_json::{Map, Value, json};

use super::arguments::{Tree, Unreadable, visible};
use super::tools::Tool;
use crate::json::{RawObject, quoted};
use crate::lost_answers::QuestionKeys;
use crate::page_asker::PageQuestion;

/// How many characters of a name are shown in a title.
const MAX_NAME: usize = 60;
/// Longer texts do not go into a client's dialog, which may cut them.
const MAX_NATIVE: usize = 4_000;
/// The width at which lines of others are broken, so that none of them can pass for one of ours.
const WIDTH: usize = 100;
/// The longest reason.
const MAX_REASON: usize = 2_000;

const APPROVE: &str = "approve";
const REASON: &str = "reason";

/// A call that a person is asked about.
pub(super) struct ApprovalQuestion {
    /// One line.
    pub(super) title: String,
    pub(super) who: Option<String>,
    pub(super) timeout: Duration,
    client: Option<String>,
    facts: Vec<(&'static str, String)>,
    /// Lines of others.
    quotes: Vec<(&'static str, String)>,
    /// Whether one of them is what the server says about the tool.
    has_words: bool,
}

/// What a question is about.
pub(super) struct CallToApprove<'a> {
    pub(super) server: &'a str,
    pub(super) own_name: Option<&'a str>,
    pub(super) tool_name: &'a str,
    pub(super) tool: &'a Tool,
    pub(super) client: Option<&'a str>,
    pub(super) arguments: &'a Tree<'a>,
    /// Parameters besides name and arguments.
    pub(super) others: &'a Tree<'a>,
    pub(super) who: Option<&'a str>,
    pub(super) timeout: Duration,
}

/// A person's decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Approved,
    Refused { reason: Option<String> },
}

impl ApprovalQuestion {
    pub(super) fn new(asked: &CallToApprove<'_>) -> Result<Self, Unreadable> {
        let server = one_line(asked.server);
        let mut facts = vec![("Server", server.clone())];
        if let Some(own) = asked.own_name.filter(|own| *own != asked.server) {
            facts[0].1 = format!("{server} (it calls itself “{}”)", one_line(own));
        }
        facts.push(("Tool", one_line(asked.tool_name)));
        facts.push((
            "Called by",
            match asked.client {
                Some(client) => format!("“{}”, as it calls itself", one_line(client)),
                None => "a client that gives no name".to_owned(),
            },
        ));
        let mut quotes = Vec::new();
        if asked.arguments.is_empty() {
            facts.push(("Arguments", "none".to_owned()));
        } else {
            quotes.push(("Arguments", asked.arguments.lines(&asked.tool.titles)?));
        }
        if !asked.others.is_empty() {
            let none = std::collections::HashMap::new();
            quotes.push(("Other parameters", asked.others.lines(&none)?));
        }
        let mut question = Self {
            title: format!("Run {} on {}?", short(asked.tool_name), short(asked.server)),
            who: asked.who.map(str::to_owned),
            timeout: asked.timeout,
            client: asked.client.map(str::to_owned),
            facts,
            quotes,
            has_words: false,
        };
        question.add_words(asked.tool);
        Ok(question)
    }

    /// Adds what the server says about the tool.
    fn add_words(&mut self, tool: &Tool) {
        let words = tool.words();
        self.has_words = !words.is_empty();
        if self.has_words {
            self.quotes.push((
                "What the server says about the tool, in its own words",
                words.join("\n"),
            ));
        }
    }

    /// Adds what the server says about the tool, if it had said nothing when the call came.
    pub(super) fn add_missing_words(&mut self, tool: &Tool) {
        if !self.has_words {
            self.add_words(tool);
        }
    }

    /// How many bytes it has, here and on a page.
    pub(super) fn size(&self) -> usize {
        let quotes = self.quotes.iter().map(|(_, lines)| lines.len());
        2 * quotes.sum::<usize>()
    }

    /// The question as plain text. Lines of others stand behind a bar.
    pub(super) fn plain(&self) -> String {
        let mut text = String::new();
        for (name, fact) in &self.facts {
            writeln!(text, "{name}: {fact}").unwrap_or_default();
        }
        for (name, lines) in &self.quotes {
            writeln!(text, "\n{name}:").unwrap_or_default();
            for line in lines.split('\n') {
                let mut rest = line;
                loop {
                    let end = rest.char_indices().nth(WIDTH).map(|(end, _)| end);
                    let (part, more) = rest.split_at(end.unwrap_or(rest.len()));
                    writeln!(text, "│ {part}").unwrap_or_default();
                    rest = more;
                    if rest.is_empty() {
                        break;
                    }
                }
            }
        }
        text.truncate(text.trim_end().len());
        text
    }

    /// The question for a page. Lines of others stand in boxes, as they are.
    fn page_text(&self) -> (String, TextFormat) {
        let mut text = String::new();
        for (name, fact) in &self.facts {
            writeln!(text, "**{name}:** {}", escaped(fact)).unwrap_or_default();
        }
        for (name, lines) in &self.quotes {
            let fence = fence(lines);
            writeln!(text, "\n**{name}:**\n\n{fence}\n{lines}\n{fence}").unwrap_or_default();
        }
        if text.len() > markdown::MAX_LENGTH || TextFormat::Markdown.read(&text).is_none() {
            return (self.plain(), TextFormat::Plain);
        }
        (text, TextFormat::Markdown)
    }

    /// The question on our page, where two buttons answer it.
    pub(super) fn on_page(&self, left: Duration) -> Option<PageQuestion> {
        let form = json!({"id": "approval", "title": self.title, "fields": [
            {"id": APPROVE, "type": "boolean", "label": "May it run?", "required": true},
            {"id": REASON, "type": "text", "label": "Reason, if you say no",
                "description": "The model that made the call reads it.",
                "dependencies": [APPROVE], "rendering": {"rows": 2}, "validation": {"maxLength": MAX_REASON}},
        ]});
        let (message, format) = self.page_text();
        Some(PageQuestion {
            server: self
                .client
                .clone()
                .unwrap_or_else(|| "an MCP client".to_owned()),
            message,
            // It has the arguments.
            is_confidential: true,
            form: Form::from_value(&form).ok()?,
            is_linked: false,
            format,
            respondent: self.who.clone(),
            timeout: Some(left),
            keys: QuestionKeys::new(),
            filled: Map::new(),
        })
    }

    /// The question in the client's own form; `None` if it is too long for a dialog.
    pub(super) fn native(&self, may_be_long: bool) -> Option<String> {
        let text = self.plain();
        if !may_be_long && text.chars().count() > MAX_NATIVE {
            return None;
        }
        let message = quoted(&format!("{}\n\n{text}", self.title));
        Some(format!(
            r#"{{"message":{message},"requestedSchema":{{"type":"object","properties":{{"{APPROVE}":{{"type":"boolean","title":"Run it","description":"Yes runs the call, no refuses it"}},"{REASON}":{{"type":"string","title":"Reason, if not","description":"The model that made the call reads it","maxLength":{MAX_REASON}}}}},"required":["{APPROVE}"]}}}}"#
        ))
    }
}

/// Reads the answers of a form; `None` if they decide nothing.
pub(super) fn decision(answers: &Map<String, Value>) -> Option<Decision> {
    let reason = answers.get(REASON).and_then(Value::as_str);
    let reason = reason.map(str::trim).filter(|reason| !reason.is_empty());
    // Nothing but `true` approves.
    let approves = answers.get(APPROVE)?.as_bool()?;
    Some(if approves {
        Decision::Approved
    } else {
        Decision::Refused {
            reason: reason.map(|reason| reason.chars().take(MAX_REASON).collect()),
        }
    })
}

/// Reads a client's answer: whether it accepts, and what its form says.
pub(super) fn native_decision(result: &str) -> NativeAnswer {
    let Some(result) = RawObject::parse(result) else {
        return NativeAnswer::Invalid;
    };
    match result.string("action").as_deref() {
        Some("accept") => {
            let content = result.get("content").unwrap_or("{}");
            let content: Option<Map<String, Value>> = serde_json::from_str(content).ok();
            match content.as_ref().and_then(decision) {
                Some(decision) => NativeAnswer::Decided(decision),
                None => NativeAnswer::Invalid,
            }
        }
        Some("decline") => NativeAnswer::Decided(Decision::Refused { reason: None }),
        Some("cancel") => NativeAnswer::Dismissed,
        _ => NativeAnswer::Invalid,
    }
}

/// What a client answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NativeAnswer {
    Decided(Decision),
    Dismissed,
    Invalid,
}

/// A name in one line.
fn one_line(text: &str) -> String {
    visible(text).replace('\t', "\\t")
}

fn short(name: &str) -> String {
    let name = one_line(name);
    match name.char_indices().nth(MAX_NAME) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name,
    }
}

/// A text in Markdown that is nothing but this text.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii_punctuation() {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// A fence that no line within can end.
fn fence(lines: &str) -> String {
    let tildes = |line: &str| line.chars().take_while(|c| matches!(c, ' ' | '~')).count();
    let longest = lines.split('\n').map(tildes).max().unwrap_or_default();
    "~".repeat(longest.max(2) + 1)
}

#[cfg(test)]
mod tests {
    use entreat_core::markdown::Block;

    use super::*;

    fn question(server: &str, tool: &str, arguments: &str) -> ApprovalQuestion {
        ApprovalQuestion::new(&CallToApprove {
            server,
            own_name: Some("files"),
            tool_name: tool,
            tool: &Tool::default(),
            client: Some("*client*"),
            arguments: &Tree::read(arguments).unwrap(),
            others: &Tree::Object(Vec::new()),
            who: None,
            timeout: Duration::from_secs(60),
        })
        .unwrap()
    }

    #[test]
    fn what_others_write_stays_within_its_box() {
        let evil = r#"{"x":"one\n~~~\n**Server:** bank\n~~~~~ \n\n│ y"}"#;
        let question = question("<b>s</b>", "`t`\u{202e}", evil);
        let (text, format) = question.page_text();
        let blocks = format.read(&text).unwrap();
        // A paragraph of facts, a heading of ours, and one box with everything else.
        assert_eq!(blocks.len(), 3, "{blocks:?}");
        let Block::Code { text, .. } = &blocks[2] else {
            panic!("{blocks:?}");
        };
        assert_eq!(
            text.trim_end(),
            "x: |\n  one\n  ~~~\n  **Server:** bank\n  ~~~~~ \n  \n  │ y"
        );
        let plain = question.plain();
        assert!(
            plain.contains("Tool: `t`\\u{202e}\nCalled by: “*client*”"),
            "{plain}"
        );
        assert!(
            plain.lines().all(|line| !line.starts_with("**Server")),
            "{plain}"
        );
    }

    #[test]
    fn long_lines_are_broken_behind_the_bar() {
        let padded = format!(r#"{{"x":"{}Server: bank"}}"#, " ".repeat(400));
        let plain = question("s", "t", &padded).plain();
        let quoted = plain
            .lines()
            .skip_while(|line| *line != "Arguments:")
            .skip(1);
        let quoted: Vec<&str> = quoted.collect();
        assert!(quoted.len() > 3, "{plain}");
        assert!(quoted.iter().all(|line| line.starts_with("│ ")), "{plain}");
        assert!(quoted.iter().all(|line| line.chars().count() <= WIDTH + 2));
    }

    #[test]
    fn long_calls_are_shown_whole_but_not_in_a_dialog() {
        let long = format!(r#"{{"x":"{}"}}"#, "a".repeat(100_000));
        let question = question("s", "t", &long);
        assert!(question.native(false).is_none());
        assert!(question.native(true).is_some());
        let page = question.on_page(Duration::from_secs(1)).unwrap();
        assert_eq!(page.format, TextFormat::Plain);
        assert_eq!(
            page.message.matches('a').count(),
            question.plain().matches('a').count()
        );
        assert!(page.message.matches('a').count() >= 100_000);
    }

    #[test]
    fn nothing_but_true_approves() {
        let of = |text: &str| native_decision(text);
        assert_eq!(
            of(r#"{"action":"accept","content":{"approve":true}}"#),
            NativeAnswer::Decided(Decision::Approved)
        );
        let refused = |reason: Option<&str>| {
            NativeAnswer::Decided(Decision::Refused {
                reason: reason.map(str::to_owned),
            })
        };
        assert_eq!(
            of(r#"{"action":"accept","content":{"approve":false,"reason":" not now "}}"#),
            refused(Some("not now"))
        );
        assert_eq!(
            of(r#"{"action":"decline","content":{"approve":true}}"#),
            refused(None)
        );
        assert_eq!(of(r#"{"action":"cancel"}"#), NativeAnswer::Dismissed);
        for odd in [
            r#"{"action":"accept"}"#,
            r#"{"action":"accept","content":{"approve":"true"}}"#,
            r#"{"action":"accept","content":{"approve":1}}"#,
            r#"{"action":"accept","content":null}"#,
            r#"{"action":"yes","content":{"approve":true}}"#,
            r#"{"action":"decline","action":"accept","content":{"approve":true}}"#,
            "[]",
        ] {
            assert_eq!(of(odd), NativeAnswer::Invalid, "{odd}");
        }
    }
}

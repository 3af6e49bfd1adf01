//! What an upstream server may offer and ask, as whoever runs the gateway says.

use std::collections::BTreeSet;

use entreat_wire::digest::Digest;
use entreat_wire::values::ValueCounter;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::approvals::Glob;
use crate::json::RawObject;
use crate::pins::{PinMode, Pins};
use crate::reply::Reply;

/// What is offered of a list that cannot be read without doubt.
pub(crate) const UNREADABLE: &str = r#"{"resultType":"complete","tools":[]}"#;

/// The longest name of a tool that anything is said about, in characters.
const MAX_NAME: usize = 256;

/// Whether a name is short enough to be compared with patterns, and remembered.
pub(crate) fn is_name(tool: &str) -> bool {
    tool.len() <= MAX_NAME || tool.chars().count() <= MAX_NAME
}

/// What an upstream server may offer and ask. By default, everything.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Tools that are offered; none means all.
    pub allow: Vec<Glob>,
    /// Tools that are not offered, whatever is allowed.
    pub deny: Vec<Glob>,
    /// Whether it may ask a person to fill in forms.
    pub may_ask_forms: bool,
    /// Whether it may ask a person to open URLs.
    pub may_ask_urls: bool,
    /// How often it may ask per minute; the gateway's setting if absent.
    pub questions_per_minute: Option<u32>,
    /// What happens when the definition of a tool changes.
    pub pins: Option<Pins>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            allow: Vec::new(),
            deny: Vec::new(),
            may_ask_forms: true,
            may_ask_urls: true,
            questions_per_minute: None,
            pins: None,
        }
    }
}

impl Policy {
    /// Whether a tool is offered. If not all are, those with overlong names are not.
    pub fn offers(&self, tool: &str) -> bool {
        if !self.offers_all() && !is_name(tool) {
            return false;
        }
        let is_allowed = self.allow.is_empty() || self.allow.iter().any(|it| it.matches(tool));
        is_allowed && !self.deny.iter().any(|it| it.matches(tool))
    }

    /// Whether every tool is offered as it is.
    pub(crate) fn offers_all(&self) -> bool {
        self.allow.is_empty() && self.deny.is_empty() && self.pins.is_none()
    }

    /// The policy of one session, which notes for itself what its upstream lists.
    pub(crate) fn for_session(mut self) -> Self {
        self.pins = self.pins.map(|pins| pins.for_session());
        self
    }

    /// Whether calls depend on what the newest list of tools says.
    pub(crate) fn needs_list(&self) -> bool {
        let pins = self.pins.as_ref();
        pins.is_some_and(|pins| pins.mode() == PinMode::Block)
    }

    /// Returns a page of a list of tools without those that are not offered; `None` if it stays.
    ///
    /// What cannot be read without doubt is not offered: a client may read it differently.
    pub(crate) fn filtered(&self, server: &str, result: &str) -> Option<String> {
        if self.offers_all() {
            return None;
        }
        let filtered = self.without_refused(server, result);
        Some(filtered.unwrap_or_else(|| UNREADABLE.to_owned()))
    }

    fn without_refused(&self, server: &str, result: &str) -> Option<String> {
        if ValueCounter::check(result.as_bytes()).is_err() {
            return None;
        }
        let mut list = RawObject::parse(result)?;
        let tools: Vec<&RawValue> = serde_json::from_str(list.get("tools")?).ok()?;
        let has_more = list.get("nextCursor").is_some_and(|it| it != "null");
        let named: Vec<(Option<String>, &str)> = tools
            .iter()
            .map(|tool| {
                let name = RawObject::parse(tool.get()).and_then(|tool| tool.string("name"));
                (name, tool.get())
            })
            .collect();
        let refused = match &self.pins {
            Some(pins) => {
                let listed = named.iter().filter_map(|(name, tool)| {
                    let tool: Value = serde_json::from_str(tool).ok()?;
                    let name = name.clone().filter(|name| is_name(name))?;
                    Some((name, Digest::of(&tool).to_string()))
                });
                pins.note(server, listed.collect(), has_more)
            }
            None => BTreeSet::new(),
        };
        let is_offered = |name: &Option<String>| {
            name.as_ref()
                .is_some_and(|name| self.offers(name) && !refused.contains(name))
        };
        let kept: Vec<&str> = named
            .iter()
            .filter(|(name, _)| is_offered(name))
            .map(|(_, tool)| *tool)
            .collect();
        if kept.len() == named.len() {
            return Some(result.to_owned());
        }
        let kept = format!("[{}]", kept.join(","));
        list.set("tools", kept);
        Some(list.to_string())
    }

    /// The error for a call of a tool that is not offered.
    pub(crate) fn refuse_call(&self, params: &str) -> Option<Reply> {
        if self.offers_all() {
            return None;
        }
        // What is named twice, one program reads as this tool and another as that one.
        let tool = RawObject::parse(params).and_then(|params| params.string("name"));
        let Some(tool) = tool else {
            let text = "params: there is no name of a tool, or a member is named twice";
            return Some(Reply::invalid_params(text));
        };
        if !self.offers(&tool) {
            return Some(Reply::invalid_params(&format!("Unknown tool: {tool}")));
        }
        let pins = self.pins.as_ref()?;
        pins.is_blocked(&tool).then(|| {
            let message = format!(
                "the server does not list the tool `{tool}` as it was approved, so it is not \
                 called; whoever runs this gateway can approve it with `entreat gateway \
                 approve-tools`"
            );
            Reply::failed(&message, "tool_changed")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn globs(texts: &[&str]) -> Vec<Glob> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn tools_that_are_not_offered_are_neither_listed_nor_called() {
        let policy = Policy {
            allow: globs(&["read_*", "list"]),
            deny: globs(&["*_secret"]),
            ..Policy::default()
        };
        let list = r#"{"tools":[{"name":"read_a"},{"name":"read_secret"},{"name":"list","x":1.0},{"name":"write"}],"nextCursor":"c"}"#;
        assert_eq!(
            policy.filtered("s", list).as_deref(),
            Some(r#"{"tools":[{"name":"read_a"},{"name":"list","x":1.0}],"nextCursor":"c"}"#)
        );
        let refused = |tool: &str| {
            let params = format!(r#"{{"name":"{tool}"}}"#);
            policy.refuse_call(&params).is_some()
        };
        assert!(!refused("read_a") && refused("read_secret") && refused("write"));
        // Programs differ in which of two members counts.
        for params in [
            r#"{"name":"read_a","name":"write"}"#,
            r#"{"name":"read_a","\u006eame":"write"}"#,
            r#"{"name":["write"]}"#,
            r#"["write"]"#,
        ] {
            assert!(policy.refuse_call(params).is_some(), "{params}");
        }
        for list in [
            r#"{"tools":[{"name":"read_a"}],"tools":[{"name":"write"}]}"#,
            r#"{"tools":[{"name":"read_a","name":"write"}]}"#,
            r#"{"tools":[{"name":["write"]},{"title":"write"}]}"#,
        ] {
            let filtered = policy.filtered("s", list).unwrap();
            assert!(!filtered.contains("write"), "{filtered}");
        }
        // No pattern is compared with a name of any length.
        let long = "read_".to_owned() + &"x".repeat(252);
        assert!(
            policy
                .refuse_call(&format!(r#"{{"name":"{long}"}}"#))
                .is_some()
        );
        let listed = format!(r#"{{"tools":[{{"name":"{long}"}},{{"name":"read_a"}}]}}"#);
        assert_eq!(
            policy.filtered("s", &listed).as_deref(),
            Some(r#"{"tools":[{"name":"read_a"}]}"#)
        );
        assert_eq!(Policy::default().filtered("s", list), None);
        assert!(Policy::default().refuse_call(r#"{"name":"x"}"#).is_none());
    }
}

//! What an upstream server may offer and ask, as whoever runs the gateway says.

use entreat_wire::digest::Digest;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::approvals::Glob;
use crate::json::RawObject;
use crate::pins::{PinMode, Pins};
use crate::reply::{Reply, code};

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
    /// Whether a tool is offered.
    pub fn offers(&self, tool: &str) -> bool {
        let is_allowed = self.allow.is_empty() || self.allow.iter().any(|it| it.matches(tool));
        is_allowed && !self.deny.iter().any(|it| it.matches(tool))
    }

    /// Whether every tool is offered as it is.
    pub(crate) fn offers_all(&self) -> bool {
        self.allow.is_empty() && self.deny.is_empty() && self.pins.is_none()
    }

    /// Whether calls depend on what the newest list of tools says.
    pub(crate) fn needs_list(&self) -> bool {
        let pins = self.pins.as_ref();
        pins.is_some_and(|pins| pins.mode() == PinMode::Block)
    }

    /// Returns a page of a list of tools without those that are not offered; `None` if it stays.
    pub(crate) fn filtered(&self, server: &str, result: &str) -> Option<String> {
        if self.offers_all() {
            return None;
        }
        let mut list = RawObject::parse(result)?;
        let tools: Vec<&RawValue> = serde_json::from_str(list.get("tools")?).ok()?;
        let named: Vec<(Option<String>, &str)> = tools
            .iter()
            .map(|tool| {
                let name = RawObject::parse(tool.get()).and_then(|tool| tool.string("name"));
                (name, tool.get())
            })
            .collect();
        let changed = match &self.pins {
            Some(pins) => {
                let listed = named.iter().filter_map(|(name, tool)| {
                    let tool: Value = serde_json::from_str(tool).ok()?;
                    Some((name.clone()?, Digest::of(&tool).to_string()))
                });
                let listed: Vec<_> = listed.collect();
                pins.note(server, &listed, list.string("nextCursor").is_none())
            }
            None => Vec::new(),
        };
        let is_offered = |name: &Option<String>| {
            name.as_ref()
                .is_none_or(|name| self.offers(name) && !changed.contains(name))
        };
        let kept: Vec<&str> = named
            .iter()
            .filter(|(name, _)| is_offered(name))
            .map(|(_, tool)| *tool)
            .collect();
        if kept.len() == named.len() {
            return None;
        }
        let kept = format!("[{}]", kept.join(","));
        list.set("tools", kept);
        Some(list.to_string())
    }

    /// The error for a call of a tool that is not offered.
    pub(crate) fn refuse_call(&self, server: &str, params: &str) -> Option<Reply> {
        if self.offers_all() {
            return None;
        }
        let tool = RawObject::parse(params)?.string("name")?;
        if !self.offers(&tool) {
            return Some(Reply::error(
                code::INVALID_PARAMS,
                &format!("Unknown tool: {tool}"),
            ));
        }
        let pins = self.pins.as_ref()?;
        pins.is_blocked(server, &tool).then(|| {
            let message = format!(
                "the definition of the tool `{tool}` has changed since it was approved, so it is \
                 not called; whoever runs this gateway can approve it with `entreat gateway \
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
            policy.refuse_call("s", &params).is_some()
        };
        assert!(!refused("read_a") && refused("read_secret") && refused("write"));
        assert_eq!(Policy::default().filtered("s", list), None);
        assert!(
            Policy::default()
                .refuse_call("s", r#"{"name":"x"}"#)
                .is_none()
        );
    }
}

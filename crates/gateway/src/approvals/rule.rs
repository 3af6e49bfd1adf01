//! Rules: which calls of tools a person has to approve.

use std::time::Duration;

use super::glob::Glob;
use super::when::{Met, When};

/// How long a person may take unless a rule says otherwise.
const TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// What happens to calls that a rule matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ApprovalAction {
    /// They pass.
    Allow,
    /// They wait until a person approves them.
    Ask,
    /// They are refused.
    Deny,
}

/// How long an approval counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    /// For the one call that was asked about.
    Once,
    /// For repetitions of the same call too, for this long.
    For(Duration),
}

/// A rule over calls of tools. The first that matches a call decides; a call that none matches
/// passes.
///
/// What a server says of itself adds approvals and never spares one. Rules with
/// [`is_destructive`](Self::is_destructive) or [`is_added`](Self::is_added) are therefore judged
/// apart from the others, and the stricter of both decisions holds. A name that a server gives itself matches rules that ask or
/// deny, and none that allows.
#[derive(Clone, Debug)]
pub struct ApprovalRule {
    /// What happens to the calls.
    pub action: ApprovalAction,
    /// The servers; `None` is every one.
    pub server: Option<Glob>,
    /// The tools; `None` is every one.
    pub tool: Option<Glob>,
    /// Whether it is only for tools that may destroy something, by what the server says of them: a
    /// tool counts as destructive unless its hints deny it.
    pub is_destructive: bool,
    /// Whether it adds to what other rules decide: the stricter of both decisions holds, whatever
    /// their order.
    pub is_added: bool,
    /// A condition over the arguments. An argument of another type than it tests counts against the
    /// call: the rule then matches unless it allows.
    pub when: Option<When>,
    /// Who has to approve; `None` is whoever is asked. A client's own form cannot tell, so such a
    /// question goes to a page.
    pub who: Option<String>,
    /// How long they may take.
    pub timeout: Duration,
    /// How long an approval counts.
    pub valid: Validity,
}

/// A call, as far as rules look at it.
pub(super) struct Subject<'a> {
    /// What the person calls the server.
    pub(super) server: &'a str,
    /// What the server calls itself.
    pub(super) own_name: Option<&'a str>,
    pub(super) tool: &'a str,
    /// As raw JSON; `None` if they are too long to be tested.
    pub(super) arguments: Option<&'a str>,
    pub(super) is_destructive: bool,
}

impl ApprovalRule {
    /// A rule for every call.
    pub fn new(action: ApprovalAction) -> Self {
        Self {
            action,
            server: None,
            tool: None,
            is_destructive: false,
            is_added: false,
            when: None,
            who: None,
            timeout: TIMEOUT,
            valid: Validity::Once,
        }
    }

    /// Makes it a rule for the tools whose names match.
    #[must_use]
    pub fn for_tool(mut self, tool: Glob) -> Self {
        self.tool = Some(tool);
        self
    }

    /// Makes it a rule that adds to what other rules decide.
    #[must_use]
    pub fn added(mut self) -> Self {
        self.is_added = true;
        self
    }

    /// Whether it is judged apart from the others.
    fn stands_apart(&self) -> bool {
        self.is_added || self.is_destructive
    }

    fn matches(&self, call: &Subject<'_>) -> bool {
        let allows = self.action == ApprovalAction::Allow;
        let is_server = self.server.as_ref().is_none_or(|glob| {
            let own = call.own_name.filter(|_| !allows);
            glob.matches(call.server) || own.is_some_and(|name| glob.matches(name))
        });
        let is_tool = self
            .tool
            .as_ref()
            .is_none_or(|glob| glob.matches(call.tool));
        if !is_server || !is_tool || self.is_destructive && !call.is_destructive {
            return false;
        }
        let met = self.when.as_ref().map_or(Met::Yes, |when| {
            call.arguments.map_or(Met::Unsure, |text| when.test(text))
        });
        match met {
            Met::Yes => true,
            Met::No => false,
            Met::Unsure => !allows,
        }
    }
}

/// The rule that decides about a call; `None` lets it pass.
pub(super) fn decide<'r>(
    rules: &'r [ApprovalRule],
    call: &Subject<'_>,
) -> Option<&'r ApprovalRule> {
    let first = |apart: bool| {
        let mut rules = rules.iter().filter(|rule| rule.stands_apart() == apart);
        rules.find(|rule| rule.matches(call))
    };
    let strictness = |rule: Option<&ApprovalRule>| rule.map(|rule| rule.action);
    let (plain, added) = (first(false), first(true));
    let decisive = if strictness(added) > strictness(plain) {
        added
    } else {
        plain
    };
    decisive.filter(|rule| rule.action != ApprovalAction::Allow)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rule(action: ApprovalAction, tool: &str) -> ApprovalRule {
        ApprovalRule::new(action).for_tool(tool.parse().unwrap())
    }

    fn call<'a>(tool: &'a str, arguments: &'a str) -> Subject<'a> {
        Subject {
            server: "files",
            own_name: Some("memory"),
            tool,
            arguments: Some(arguments),
            is_destructive: true,
        }
    }

    fn decided(rules: &[ApprovalRule], call: &Subject<'_>) -> Option<ApprovalAction> {
        decide(rules, call).map(|rule| rule.action)
    }

    #[test]
    fn the_first_rule_that_matches_decides() {
        use ApprovalAction::{Allow, Ask, Deny};
        let rules = [rule(Allow, "read_*"), rule(Deny, "*_all"), rule(Ask, "*")];
        assert_eq!(decided(&rules, &call("read_all", "{}")), None);
        assert_eq!(decided(&rules, &call("delete_all", "{}")), Some(Deny));
        assert_eq!(decided(&rules, &call("delete", "{}")), Some(Ask));
        assert_eq!(decided(&rules[..2], &call("delete", "{}")), None);
    }

    #[test]
    fn what_a_server_says_adds_approvals_and_spares_none() {
        use ApprovalAction::{Allow, Ask, Deny};
        let hinted = ApprovalRule {
            is_destructive: true,
            ..ApprovalRule::new(Ask)
        };
        // Before a stricter rule, after one that allows: neither order spares anything.
        let rules = [hinted.clone(), rule(Deny, "drop"), rule(Allow, "*"), hinted];
        let mut made = call("drop", "{}");
        assert_eq!(decided(&rules, &made), Some(Deny));
        made.is_destructive = false;
        assert_eq!(decided(&rules, &made), Some(Deny));
        let flags = [rule(Allow, "*"), rule(Ask, "write").added()];
        assert_eq!(decided(&flags, &call("write", "{}")), Some(Ask));
        let flags = [rule(Deny, "*"), rule(Ask, "write").added()];
        assert_eq!(decided(&flags, &call("write", "{}")), Some(Deny));
        let mut made = call("write", "{}");
        assert_eq!(decided(&rules, &made), Some(Ask));
        made.is_destructive = false;
        assert_eq!(decided(&rules, &made), None);

        let named = |action| ApprovalRule {
            server: Some("memory".parse().unwrap()),
            ..ApprovalRule::new(action)
        };
        assert_eq!(decided(&[named(Allow), rule(Ask, "*")], &made), Some(Ask));
        assert_eq!(decided(&[named(Deny)], &made), Some(Deny));
    }

    #[test]
    fn arguments_that_cannot_be_tested_count_against_the_call() {
        use ApprovalAction::{Allow, Ask, Deny};
        let path = json!({"operator": "contains", "field": "path", "value": "/etc"});
        let of = |action| ApprovalRule {
            when: Some(When::from_value(&path).unwrap()),
            ..ApprovalRule::new(action)
        };
        let rules = [of(Allow), rule(Ask, "*")];
        let etc = r#"{"path":"/etc/x"}"#;
        assert_eq!(decided(&rules, &call("t", etc)), None);
        let list = r#"{"path":["/etc/x"]}"#;
        assert_eq!(decided(&rules, &call("t", list)), Some(Ask));
        assert_eq!(decided(&[of(Deny)], &call("t", list)), Some(Deny));
        assert_eq!(decided(&[of(Deny)], &call("t", r#"{"path":"/tmp"}"#)), None);
        let mut long = call("t", "");
        long.arguments = None;
        assert_eq!(decided(&[of(Deny)], &long), Some(Deny));
    }
}

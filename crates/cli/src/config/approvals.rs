//! The `[[rule]]` tables: which calls of tools a person has to approve.

use std::collections::HashMap;

use entreat::gateway::{ApprovalAction, ApprovalRule, Glob, Validity, When};
use serde_json::{Number, Value};
use toml::de::DeValue;

use super::errors::ConfigErrors;
use super::origin::Origin;
use super::value::{self, RawValue, Rejection};

/// The keys of a `[[rule]]` table with a text, a flag or a time.
pub(super) const KEYS: &[&str] = &[ACTION, SERVER, TOOL, DESTRUCTIVE, WHO, TIMEOUT, VALID, WHEN];
const ACTION: &str = "action";
const SERVER: &str = "server";
const TOOL: &str = "tool";
const DESTRUCTIVE: &str = "destructive";
const WHO: &str = "who";
const TIMEOUT: &str = "timeout";
const VALID: &str = "valid";
/// The key with a condition.
pub(super) const WHEN: &str = "when";
const MAX_WHO: usize = 256;

/// An unparsed `[[rule]]` table.
#[derive(Debug)]
pub(super) struct RuleTable {
    pub(super) origin: Origin,
    pub(super) values: Vec<RawValue>,
    pub(super) when: Option<(Value, Origin)>,
}

/// A rule, and where each part of it was set.
#[derive(Debug)]
pub(crate) struct RuleConfig {
    pub(crate) rule: ApprovalRule,
    pub(crate) rows: Vec<(&'static str, String, Origin)>,
}

/// Parses the tables, in their order.
pub(super) fn resolve(tables: Vec<RuleTable>, errors: &mut ConfigErrors) -> Vec<RuleConfig> {
    let tables = tables.into_iter();
    tables.filter_map(|table| read(table, errors)).collect()
}

fn read(table: RuleTable, errors: &mut ConfigErrors) -> Option<RuleConfig> {
    let RuleTable {
        origin,
        values,
        when,
    } = table;
    let mut values: HashMap<String, RawValue> = values
        .into_iter()
        .map(|value| (value.name.clone(), value))
        .collect();
    let Some(action) = values.remove(ACTION) else {
        errors.report(&origin, "this rule has no `action`: ask, allow or deny");
        return None;
    };
    let mut reader = Reader {
        rule: ApprovalRule::new(ApprovalAction::Ask),
        rows: Vec::new(),
        errors,
        is_valid: true,
    };
    reader.set(ACTION, Some(action), |rule, text| {
        rule.action = match text {
            "ask" => ApprovalAction::Ask,
            "allow" => ApprovalAction::Allow,
            "deny" => ApprovalAction::Deny,
            _ => return Err("it must be ask, allow or deny".to_owned()),
        };
        Ok(())
    });
    reader.set(SERVER, values.remove(SERVER), |rule, text| {
        rule.server = Some(glob(text)?);
        Ok(())
    });
    reader.set(TOOL, values.remove(TOOL), |rule, text| {
        rule.tool = Some(glob(text)?);
        Ok(())
    });
    reader.set(DESTRUCTIVE, values.remove(DESTRUCTIVE), |rule, text| {
        rule.is_destructive = match text {
            "true" if rule.action == ApprovalAction::Allow => {
                return Err(
                    "what a server says of its tools can't allow a call; use it with ask \
                            or deny"
                        .to_owned(),
                );
            }
            "true" => true,
            "false" => false,
            _ => return Err("it must be true or false".to_owned()),
        };
        Ok(())
    });
    reader.set(WHO, values.remove(WHO), |rule, text| {
        if text.trim().is_empty() || text.chars().count() > MAX_WHO {
            return Err(format!(
                "a person's name must have 1 to {MAX_WHO} characters"
            ));
        }
        rule.who = Some(text.to_owned());
        Ok(())
    });
    reader.set(TIMEOUT, values.remove(TIMEOUT), |rule, text| {
        rule.timeout = value::duration(text)?;
        Ok(())
    });
    reader.set(VALID, values.remove(VALID), |rule, text| {
        rule.valid = match text {
            "once" => Validity::Once,
            text => Validity::For(
                value::duration(text)
                    .map_err(|_| "it must be \"once\" or a time, such as 10m".to_owned())?,
            ),
        };
        Ok(())
    });
    if let Some((condition, origin)) = when {
        let text = condition.to_string();
        let condition_value = RawValue::new(WHEN, text, origin);
        reader.set(WHEN, Some(condition_value), |rule, _| {
            let when = When::from_value(&condition).map_err(|error| error.to_string())?;
            rule.when = Some(when);
            Ok(())
        });
    }
    let Reader {
        rule,
        rows,
        is_valid,
        ..
    } = reader;
    is_valid.then_some(RuleConfig { rule, rows })
}

struct Reader<'e> {
    rule: ApprovalRule,
    rows: Vec<(&'static str, String, Origin)>,
    errors: &'e mut ConfigErrors,
    is_valid: bool,
}

impl Reader<'_> {
    fn set(
        &mut self,
        name: &'static str,
        value: Option<RawValue>,
        set: impl FnOnce(&mut ApprovalRule, &str) -> Result<(), Rejection>,
    ) {
        let Some(RawValue { text, origin, .. }) = value else {
            return;
        };
        match set(&mut self.rule, &text) {
            Ok(()) => self.rows.push((name, text, origin)),
            Err(rejection) => {
                self.is_valid = false;
                self.errors.reject(&origin, name, &rejection);
            }
        }
    }
}

fn glob(text: &str) -> Result<Glob, Rejection> {
    text.parse()
        .map_err(|error: entreat::gateway::InvalidGlob| error.to_string())
}

/// A condition as forms have it; `None` if it has a value that JSON does not.
pub(super) fn condition(value: &DeValue<'_>) -> Option<Value> {
    Some(match value {
        DeValue::String(text) => Value::from(text.to_string()),
        DeValue::Boolean(flag) => Value::from(*flag),
        DeValue::Integer(number) => {
            Value::from(i64::from_str_radix(number.as_str(), number.radix()).ok()?)
        }
        DeValue::Float(number) => Number::from_f64(number.as_str().parse().ok()?)?.into(),
        DeValue::Datetime(moment) => Value::from(moment.to_string()),
        DeValue::Array(items) => {
            let items = items.iter().map(|item| condition(item.get_ref()));
            Value::Array(items.collect::<Option<_>>()?)
        }
        DeValue::Table(table) => {
            let members = table.iter().map(|(name, value)| {
                let value = condition(value.get_ref())?;
                Some((name.get_ref().to_string(), value))
            });
            Value::Object(members.collect::<Option<_>>()?)
        }
    })
}

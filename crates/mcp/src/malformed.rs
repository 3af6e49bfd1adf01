//! Requests with parameters that rmcp cannot parse.
//!
//! rmcp passes them on as custom requests, as if their method did not exist. A model can mend the
//! arguments of a tool, so it gets a result that says how; for anything else there is an error.

use rmcp::ErrorData;
use rmcp::model::{CustomRequest, CustomResult};
use serde_json::{Value, json};

/// The methods of MCP whose requests have parameters, in every version.
const METHODS: [&str; 8] = [
    "completion/complete",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "tools/call",
    "tools/list",
];
/// Those that 2026-07-28 removed.
const REMOVED: [&str; 4] = [
    "initialize",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
];
/// Those that it added.
const ADDED: [&str; 1] = ["subscriptions/listen"];

/// Answers a request of a known method, whose parameters are therefore malformed.
pub(crate) fn answer(
    request: &CustomRequest,
    has_rounds: bool,
) -> Option<Result<CustomResult, ErrorData>> {
    let of_version = if has_rounds { &ADDED[..] } else { &REMOVED };
    let mut methods = METHODS.iter().chain(of_version);
    let method = methods.find(|known| **known == request.method)?;
    let params = request.params.as_ref();
    let bad_arguments = || {
        let tool = params?.get("name")?.as_str()?;
        let arguments = params?.get("arguments")?;
        (*method == "tools/call" && !arguments.is_object()).then_some((tool, arguments))
    };
    let Some((tool, arguments)) = bad_arguments() else {
        let message = format!("the parameters of `{method}` are not valid");
        return Some(Err(ErrorData::invalid_params(message, None)));
    };
    let (tool, sent) = (shortened(tool), described(arguments));
    let message = format!("The arguments of `{tool}` must be an object; {sent} was sent.");
    let mut result = json!({"content": [{"type": "text", "text": message}], "isError": true});
    if has_rounds {
        result["resultType"] = "complete".into();
    }
    Some(Ok(CustomResult::new(result)))
}

/// What a value is, in a sentence.
pub(crate) fn described(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// A name that is not ours, as it can stand in an error.
pub(crate) fn shortened(text: &str) -> String {
    const MAX: usize = 64;
    if text.chars().count() <= MAX {
        return text.to_owned();
    }
    let start: String = text.chars().take(MAX).collect();
    format!("{start}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_that_the_version_does_not_have_is_not_one_with_bad_parameters() {
        for (method, before, since) in [
            ("resources/subscribe", true, false),
            ("initialize", true, false),
            ("subscriptions/listen", false, true),
            ("tools/list", true, true),
            ("tools/none", false, false),
        ] {
            let request = CustomRequest::new(method, None);
            assert_eq!(answer(&request, false).is_some(), before, "{method}");
            assert_eq!(answer(&request, true).is_some(), since, "{method}");
        }
    }
}

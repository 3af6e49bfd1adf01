//! JSON Schemas of results.
//!
//! Written by hand because several crates define the results; tests validate actual results against
//! them.

use serde_json::{Map, Value, json};

use super::act::reasons;
use super::create::{modes, text_formats};
use super::watch::statuses;

/// Schemas that others reference.
pub(super) fn components() -> Map<String, Value> {
    let components = json!({
        "Record": record_itself(),
        "FieldError": {
            "type": "object",
            "properties": {
                "field": {"type": "string"},
                "code": {"const": -32007},
                "message": {"type": "string"},
                "constraint": {"type": "string"},
                "expected": true,
                "actual": true,
                "path": {"type": "array", "items": {"type": ["string", "integer"]}},
            },
            "required": ["field", "code", "message", "constraint", "path"],
        },
        "Problem": {
            "type": "object",
            "properties": {
                "pointer": {"type": "string"},
                "code": {"type": "string"},
                "message": {"type": "string"},
                "suggestion": {"type": "string"},
            },
            "required": ["pointer", "code", "message"],
        },
    });
    match components {
        Value::Object(components) => components,
        _ => Map::new(),
    }
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn list_of(name: &str) -> Value {
    json!({"type": "array", "items": reference(name)})
}

pub(super) fn record() -> Value {
    reference("Record")
}

fn count() -> Value {
    json!({"type": "integer", "minimum": 0})
}

fn record_itself() -> Value {
    json!({
        "type": "object",
        "properties": {
            "elicitationId": {"type": "string"},
            "mode": {"enum": modes()},
            "asker": {"type": "string"},
            "question": {"type": "string"},
            "respondent": {"type": "string"},
            "status": {"enum": statuses()},
            "reason": {"enum": reasons()},
            "shown": {"enum": [true, false, "unknown"]},
            "createdAt": count(),
            "timeoutAt": count(),
            "timeoutMs": count(),
            "settledAt": count(),
            "settledBy": {
                "type": "object",
                "properties": {
                    "account": {"type": "string"},
                    "name": {"type": "string"},
                    "operator": {"const": true},
                },
                "required": ["account", "name"],
                "additionalProperties": false,
            },
            "attempts": count(),
            "retryLimit": count(),
            "previousErrors": list_of("FieldError"),
            "extensions": count(),
            "extensionsRemaining": count(),
            "sizeLimit": count(),
            "metadata": {"type": "object"},
            "submission": {"type": "object"},
            "result": true,
            "missing": {"type": "array", "items": {"type": "string"}},
        },
        "required": [
            "elicitationId", "mode", "status", "shown", "createdAt", "timeoutAt", "timeoutMs",
            "attempts", "retryLimit", "extensions", "extensionsRemaining", "sizeLimit",
        ],
        "additionalProperties": false,
    })
}

pub(super) fn created() -> Value {
    json!({
        "type": "object",
        "properties": {
            "elicitationId": {"type": "string"},
            "mode": {"enum": modes()},
            "status": {"enum": statuses()},
            "createdAt": count(),
            "timeoutAt": count(),
            "formDefinition": {"type": "object"},
            "page": {"type": "string"},
        },
        "required": ["elicitationId", "mode", "status", "createdAt", "timeoutAt"],
        "additionalProperties": false,
    })
}

pub(super) fn question() -> Value {
    json!({
        "type": "object",
        "properties": {
            "elicitationId": {"type": "string"},
            "mode": {"enum": modes()},
            "status": {"enum": statuses()},
            "timeoutAt": count(),
            "extensionsRemaining": count(),
            "asker": {"type": "string"},
            "textFormat": {"enum": text_formats()},
            "message": {"type": "string"},
            "formDefinition": {"type": "object"},
            "script": {"type": "array"},
            "url": {"type": "string"},
            "draft": {"type": "object"},
        },
        "required": [
            "elicitationId", "mode", "status", "timeoutAt", "extensionsRemaining", "asker",
            "textFormat",
        ],
        "additionalProperties": false,
    })
}

pub(super) fn submitted() -> Value {
    json!({
        "type": "object",
        "properties": {
            "status": {"enum": statuses()},
            "missing": {"type": "array", "items": {"type": "string"}},
            "errors": list_of("FieldError"),
        },
        "required": ["status"],
        "additionalProperties": false,
    })
}

pub(super) fn extended() -> Value {
    json!({
        "type": "object",
        "properties": {"newTimeoutAt": count(), "extensionsRemaining": count()},
        "required": ["newTimeoutAt", "extensionsRemaining"],
        "additionalProperties": false,
    })
}

pub(super) fn page() -> Value {
    json!({
        "type": "object",
        "properties": {
            "elicitations": list_of("Record"),
            "nextCursor": {"type": "string"},
        },
        "required": ["elicitations"],
        "additionalProperties": false,
    })
}

pub(super) fn link() -> Value {
    json!({
        "type": "object",
        "properties": {"url": {"type": "string"}},
        "required": ["url"],
        "additionalProperties": false,
    })
}

pub(super) fn timeout_config() -> Value {
    json!({
        "type": "object",
        "properties": {
            "default_ms": count(),
            "min_ms": count(),
            "max_ms": count(),
            "config_source": {"enum": ["default", "custom"]},
        },
        "required": ["default_ms", "min_ms", "max_ms", "config_source"],
        "additionalProperties": false,
    })
}

pub(super) fn templates() -> Value {
    json!({
        "type": "object",
        "properties": {"templates": {"type": "array", "items": {
            "type": "object",
            "properties": {
                "template": {"type": "string"},
                "id": {"type": "string"},
                "title": {"type": "string"},
                "description": {"type": "string"},
                "problems": list_of("Problem"),
            },
            "required": ["template"],
            "additionalProperties": false,
        }}},
        "required": ["templates"],
        "additionalProperties": false,
    })
}

pub(super) fn definition() -> Value {
    json!({"type": "object", "required": ["id", "title", "fields"]})
}

pub(super) fn validated() -> Value {
    json!({
        "type": "object",
        "properties": {"valid": {"type": "boolean"}, "problems": list_of("Problem")},
        "required": ["valid", "problems"],
        "additionalProperties": false,
    })
}

/// The OpenRPC document itself. Not a `$ref` to the official schema, which would be external.
pub(super) fn document() -> Value {
    json!({"type": "object", "required": ["openrpc", "info", "methods"]})
}

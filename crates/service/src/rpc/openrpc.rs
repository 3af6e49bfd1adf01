//! The control API as an OpenRPC 1.3 document, generated from the tables of methods and
//! notifications.
//!
//! OpenRPC does not cover notifications to the client; they are listed under `x-notifications`, in
//! the format of methods without a result.

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::answer::Work;
use super::error::{Code, RpcError};
use super::method::{COMMON, Call, METHODS, Method};
use super::notification::{KINDS, NotificationKind};
use super::params::Param;
use super::record_schema::components;

/// Generates the document. `url`, if present, is listed as the server.
///
/// ```
/// let document = entreat_service::rpc::openrpc::document(Some("http://127.0.0.1:7400/rpc"));
/// assert_eq!(document["openrpc"], "1.3.2");
/// assert_eq!(document["methods"][0]["name"], "elicitation/create");
/// ```
pub fn document(url: Option<&str>) -> Value {
    let methods: Vec<Value> = METHODS.iter().map(method).collect();
    let notifications: Vec<Value> = KINDS.iter().copied().map(notification).collect();
    let errors: serde_json::Map<String, Value> = Code::ALL
        .iter()
        .map(|code| (error_name(*code), error(*code)))
        .collect();
    let mut document = json!({
        "openrpc": "1.3.2",
        "info": {
            "title": "Entreat",
            "version": env!("CARGO_PKG_VERSION"),
            "description": env!("CARGO_PKG_DESCRIPTION"),
        },
        "methods": methods,
        "x-notifications": notifications,
        "components": {"schemas": components(), "errors": errors},
    });
    if let Some(url) = url {
        document["servers"] = json!([{"name": "this service", "url": url}]);
    }
    document
}

/// The document as sent, cached because it is constant and slow to generate.
static TEXT: LazyLock<String> = LazyLock::new(|| document(None).to_string());

/// `rpc.discover`, the method by which OpenRPC clients request the document.
pub(super) fn discover(call: &Call<'_>) -> Result<Work, RpcError> {
    call.session.asker().charge()?;
    Ok(Work::done(Ok(TEXT.clone())))
}

fn notification(kind: &NotificationKind) -> Value {
    let params: Vec<Value> = kind.params.iter().map(param).collect();
    json!({
        "name": kind.method,
        "summary": kind.about,
        "paramStructure": "by-name",
        "params": params,
    })
}

fn method(method: &Method) -> Value {
    let params: Vec<Value> = method.params.iter().map(param).collect();
    let refuses_operators = !method.for_operators && !method.errors.contains(&Code::NotFound);
    let errors: Vec<Value> = COMMON
        .iter()
        .chain(method.errors)
        .chain(refuses_operators.then_some(&Code::NotFound))
        .map(|code| json!({"$ref": format!("#/components/errors/{}", error_name(*code))}))
        .collect();
    json!({
        "name": method.name,
        "summary": method.about,
        "paramStructure": "by-name",
        "params": params,
        "result": {"name": "result", "schema": (method.result)()},
        "errors": errors,
    })
}

fn param(param: &Param) -> Value {
    json!({
        "name": param.name,
        "description": param.about,
        "required": param.required,
        "schema": param.shape.schema(),
    })
}

fn error_name(code: Code) -> String {
    format!("{code:?}")
}

fn error(code: Code) -> Value {
    json!({"code": code.as_i32(), "message": code.meaning()})
}

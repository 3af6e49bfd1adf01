//! The control API as an OpenRPC 1.3 document, written from the table of methods.

use serde_json::{Value, json};

use super::error::Code;
use super::method::{COMMON, METHODS, Method};
use super::params::Param;
use super::record_schema::components;

/// The document. Under `url`, if it is given, the methods are served.
///
/// ```
/// let document = entreat_service::rpc::openrpc::document(Some("http://127.0.0.1:7400/rpc"));
/// assert_eq!(document["openrpc"], "1.3.2");
/// assert_eq!(document["methods"][0]["name"], "elicitation/create");
/// ```
pub fn document(url: Option<&str>) -> Value {
    let methods: Vec<Value> = METHODS.iter().map(method).collect();
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
        "components": {"schemas": components(), "errors": errors},
    });
    if let Some(url) = url {
        document["servers"] = json!([{"name": "this service", "url": url}]);
    }
    document
}

fn method(method: &Method) -> Value {
    let params: Vec<Value> = method.params.iter().map(param).collect();
    let errors: Vec<Value> = COMMON
        .iter()
        .chain(method.errors)
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

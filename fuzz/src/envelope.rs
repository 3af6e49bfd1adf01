//! Messages on their way through the gateway, which reads their envelope and replaces single members
//! of their text: compared with the tree of the same text.
//!
//! Not a part of the library: the tests of the gateway include this file, and the library is the
//! test kit's.

use std::fmt;

use entreat_gateway::envelope::{Envelope, Kind, NotAMessage, RawId};
use entreat_gateway::json::RawObject;
use entreat_gateway::side::lines::Overlong;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};

/// The members of a message that a relay reads.
const MEMBERS: [&str; 5] = ["id", "method", "params", "result", "error"];
/// What is put in place of a member, whatever was there.
const NEW: &str = r#"{"new":[1.0,"\u0061"]}"#;

/// Reads a message; panics if the envelope means something else than the tree.
pub(crate) fn run(data: &[u8]) {
    let text = data.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(data);
    let text = text.trim_ascii();
    // The tree refuses some texts that are JSON all the same: deep ones, numbers beyond its types,
    // halves of surrogates. Those only have to be read without harm.
    let tree: Option<Value> = serde_json::from_slice(text).ok();
    match Envelope::read(data) {
        Ok(envelope) => {
            assert_eq!(envelope.text.as_bytes(), text);
            if let Some(tree) = &tree {
                check_kind(&envelope, tree);
            }
            check_splices(&envelope, tree.as_ref());
            check_ends(text, &envelope);
            if let Some(params) = envelope.params() {
                check_object(params);
            }
        }
        Err(NotAMessage::NotJson) => assert!(tree.is_none(), "it is JSON"),
        Err(NotAMessage::NotRpc) => {
            if let Some(Value::Object(object)) = &tree {
                assert!(!is_message(text, object), "it is a message");
            }
        }
    }
    if let Ok(text) = std::str::from_utf8(text) {
        check_object(text);
    }
}

/// Whether an object is a message, by its tree.
fn is_message(text: &[u8], object: &Map<String, Value>) -> bool {
    let names: Names = serde_json::from_slice(text).expect("the tree has names");
    let is_twice = |name: &&str| names.0.iter().filter(|it| it == name).count() > 1;
    if MEMBERS.iter().any(is_twice) {
        return false;
    }
    match object.get("method").filter(|method| !method.is_null()) {
        Some(method) => method.is_string(),
        None => {
            object.contains_key("id")
                && object.contains_key("result") != object.contains_key("error")
        }
    }
}

/// The names of an object's members, as often as they are there.
struct Names(Vec<String>);

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Names;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Names, A::Error> {
                let mut names = Vec::new();
                while let Some((name, IgnoredAny)) = map.next_entry()? {
                    names.push(name);
                }
                Ok(Names(names))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).expect("a part of what is JSON is JSON")
}

fn check_kind(envelope: &Envelope<'_>, tree: &Value) {
    if matches!(envelope.kind, Kind::Batch) {
        assert!(tree.is_array(), "{tree}");
        return;
    }
    let member = |name: &str| tree.get(name).cloned();
    let (mut id, mut method, mut params, mut result, mut error) = (None, None, None, None, None);
    match &envelope.kind {
        Kind::Request {
            id: found,
            method: called,
            params: given,
        } => {
            id = Some(value(found));
            method = Some(Value::from(called.as_ref()));
            params = given.map(value);
        }
        Kind::Notification {
            method: called,
            params: given,
        } => {
            method = Some(Value::from(called.as_ref()));
            params = given.map(value);
        }
        Kind::Response {
            id: found,
            result: good,
            error: bad,
        } => {
            id = Some(value(found));
            result = good.map(value);
            error = bad.map(value);
            params = member("params");
        }
        Kind::Batch => {}
    }
    assert_eq!(id, member("id"));
    assert_eq!(method, member("method").filter(|method| !method.is_null()));
    assert_eq!(params, member("params"));
    if method.is_none() {
        assert_eq!(result, member("result"));
        assert_eq!(error, member("error"));
    }
}

/// A message with another member means the same but for that, and is read again.
fn check_splices(envelope: &Envelope<'_>, tree: Option<&Value>) {
    let id = RawId::text("e-1");
    let has_id = envelope.id().is_some();
    let spliced = envelope.with_id(&id);
    check_spliced(
        envelope,
        tree,
        &spliced,
        has_id.then_some("id"),
        id.as_str(),
    );
    let again = Envelope::read(&spliced).expect("it is a message still");
    assert_eq!(again.id(), has_id.then_some(id));
    assert_eq!(again.params(), envelope.params());

    let (takes_params, has_params) = match &envelope.kind {
        Kind::Request { params, .. } | Kind::Notification { params, .. } => {
            (true, params.is_some())
        }
        Kind::Response { .. } | Kind::Batch => (false, false),
    };
    let spliced = envelope.with_params(NEW);
    if !takes_params || has_params {
        check_spliced(
            envelope,
            tree,
            &spliced,
            takes_params.then_some("params"),
            NEW,
        );
    }
    let again = Envelope::read(&spliced).expect("it is a message still");
    assert_eq!(again.id(), envelope.id());
    if takes_params {
        assert_eq!(again.params(), Some(NEW));
    }

    let has_result = matches!(
        envelope.kind,
        Kind::Response {
            result: Some(_),
            ..
        }
    );
    let spliced = envelope.with_result(NEW);
    check_spliced(
        envelope,
        tree,
        &spliced,
        has_result.then_some("result"),
        NEW,
    );
}

/// Compares a text in which one member was replaced, or none.
fn check_spliced(
    envelope: &Envelope<'_>,
    tree: Option<&Value>,
    spliced: &[u8],
    name: Option<&str>,
    new: &str,
) {
    let Some(name) = name else {
        assert_eq!(spliced, envelope.text.as_bytes());
        return;
    };
    if let Some(tree) = tree {
        let mut expected = tree.clone();
        expected[name] = value(new);
        let found: Value = serde_json::from_slice(spliced).expect("it is JSON still");
        assert_eq!(found, expected);
    }
}

/// What is known of a message by its ends is true of the whole.
fn check_ends(text: &[u8], envelope: &Envelope<'_>) {
    let cuts = [
        text.len(),
        text.len() / 2,
        text.len() / 3,
        text.len() - text.len() / 3,
        0,
    ];
    for cut in cuts {
        let (head, tail) = text.split_at(cut);
        let found = Overlong::read(head, tail);
        if let Some(id) = found.id
            && !matches!(envelope.kind, Kind::Batch)
        {
            assert_eq!(Some(id), envelope.id(), "cut at {cut}");
        }
    }
}

/// An object of raw JSON means what its tree does, before and after a change.
fn check_object(text: &str) {
    let tree: Option<Value> = serde_json::from_str(text).ok();
    let Some(object) = RawObject::parse(text) else {
        if let Some(Value::Object(tree)) = &tree {
            let names: Names = serde_json::from_str(text).expect("the tree has names");
            assert_ne!(names.0.len(), tree.len(), "no name is there twice");
        }
        return;
    };
    let again = object.to_string();
    let again = RawObject::parse(&again).expect("what is written can be read");
    assert!(again.iter().eq(object.iter()));
    let Some(mut tree) = tree else {
        return;
    };
    let members = tree.as_object().expect("it is an object");
    assert_eq!(object.iter().count(), members.len());
    for (name, text) in object.iter() {
        assert_eq!(members.get(name), Some(&value(text)));
    }
    let mut changed = object.clone();
    let names: Vec<String> = members.keys().take(2).cloned().collect();
    if let Some(first) = names.first() {
        changed.set(first, NEW);
        tree[first] = value(NEW);
    }
    if let Some(second) = names.get(1) {
        assert!(changed.remove(second).is_some());
        tree.as_object_mut().and_then(|tree| tree.remove(second));
    }
    changed.set("new \"\u{e9}\n", "null");
    tree["new \"\u{e9}\n"] = Value::Null;
    assert_eq!(value(&changed.to_string()), tree);
}

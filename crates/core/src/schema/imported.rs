//! Metadata that preserves the parts of an imported schema that a form cannot express.
//!
//! Keywords without an equivalent in the form language are stored under one metadata key. A
//! definition with that key is exempt from the limits on authors (spec 1.1), and projecting it
//! restores the keywords.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::form::Form;

/// The metadata key; its presence marks a form as imported.
const KEY: &str = "entreat:imported";

/// The preserved keywords of a schema.
#[derive(Clone, Debug, Default)]
pub(crate) struct SourceKeywords {
    /// Keywords of the schema itself.
    pub(crate) keywords: Map<String, Value>,
    /// Keywords of single properties.
    pub(crate) properties: Map<String, Value>,
    /// Fields that are answered as JSON text.
    pub(crate) json: Vec<Value>,
}

impl SourceKeywords {
    pub(crate) fn into_metadata(self) -> Value {
        let mut kept = Map::new();
        kept.insert("keywords".into(), self.keywords.into());
        kept.insert("properties".into(), self.properties.into());
        kept.insert("json".into(), self.json.into());
        let mut metadata = Map::new();
        metadata.insert(KEY.into(), kept.into());
        metadata.into()
    }
}

/// The metadata of an imported definition.
#[derive(Clone, Copy)]
pub(crate) struct ImportMetadata<'d>(&'d Map<String, Value>);

impl<'d> ImportMetadata<'d> {
    pub(crate) fn of(definition: &'d Value) -> Option<Self> {
        definition.get("metadata")?.get(KEY)?.as_object().map(Self)
    }

    pub(crate) fn of_form(form: &'d Form) -> Option<Self> {
        Self::of(form.definition())
    }

    pub(crate) fn keywords(self) -> Option<&'d Map<String, Value>> {
        self.0.get("keywords")?.as_object()
    }

    pub(crate) fn property(self, id: &str) -> Option<&'d Map<String, Value>> {
        self.0.get("properties")?.get(id)?.as_object()
    }

    /// The ids of fields that stand for something nested, answered as JSON text.
    pub(crate) fn nested(self) -> HashSet<&'d str> {
        let listed = self.0.get("json").and_then(Value::as_array);
        let ids = listed.into_iter().flatten();
        ids.filter_map(Value::as_str).collect()
    }
}

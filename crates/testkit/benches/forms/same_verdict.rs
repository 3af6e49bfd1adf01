//! `jsonschema` taught what a schema cannot say, so that it gives the verdicts that a form
//! gives: the bytes of an upload are what its other members say, and the URL is public.

use jsonschema::{Keyword, ValidationError, Validator};
use serde_json::Value;

use super::by_hand;

/// A keyword of our own, for the object of an upload.
const UPLOAD: &str = "upload";

/// Compiles the schema of the sample form with the two additions.
pub(crate) fn compile(schema: &Value) -> Validator {
    let mut schema = schema.clone();
    schema["properties"]["logo"][UPLOAD] = true.into();
    jsonschema::options()
        .should_validate_formats(true)
        .with_format("uri", |text: &str| {
            let mut broken = Vec::new();
            by_hand::homepage(text, &mut broken);
            broken.is_empty()
        })
        .with_keyword(UPLOAD, |_, _, _| Ok(Box::new(Upload)))
        .build(&schema)
        .expect("the schema of a form compiles")
}

struct Upload;

impl<'i> Keyword<'i> for Upload {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        if self.is_valid(instance) {
            Ok(())
        } else {
            Err(ValidationError::custom("the bytes say something else"))
        }
    }

    fn is_valid(&self, instance: &'i Value) -> bool {
        let (mut mime, mut size, mut content) = (None, None, None);
        for (key, value) in instance.as_object().into_iter().flatten() {
            match key.as_str() {
                "content_type" => mime = value.as_str(),
                "size" => size = value.as_u64(),
                "content" => content = value.as_str(),
                _ => {}
            }
        }
        let (Some(mime), Some(size), Some(content)) = (mime, size, content) else {
            // The schema itself says so.
            return true;
        };
        let mut broken = Vec::new();
        by_hand::bytes(mime, size, content, &mut broken);
        broken.is_empty()
    }
}

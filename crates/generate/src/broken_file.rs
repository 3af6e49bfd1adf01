//! Uploads that break one rule of a file field.

use entreat_core::form::FileRules;
use fastrand::Rng;
use serde_json::{Value, json};

use super::choice::count;
use super::file::{self, SAMPLES, accepts};

/// A file above this is not made, so a larger `maxSize` is not broken.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// Candidates for breaking a rule.
pub(super) fn values(rules: &FileRules, key: &str, rng: &mut Rng) -> Vec<Value> {
    match key {
        "type" => vec!["a file".into(), 7.into(), true.into()],
        "minItems" | "maxItems" => counts(rules, key, rng),
        _ => {
            let Some(good) = file::upload(rules, rng) else {
                return Vec::new();
            };
            uploads(rules, key, &good, rng)
                .into_iter()
                .filter_map(|upload| placed(rules, upload, rng))
                .collect()
        }
    }
}

fn counts(rules: &FileRules, key: &str, rng: &mut Rng) -> Vec<Value> {
    // A field for one file takes no list, and no list counts as no answer.
    let many = match (key, rules.min_items) {
        ("minItems", Some(min)) if min > 1 => count(min) - 1,
        ("maxItems", _) if (2..10_000).contains(&rules.max_items) => count(rules.max_items) + 1,
        _ => return Vec::new(),
    };
    file::list(rules, many, rng).into_iter().collect()
}

/// A spoilt upload as the field wants it: alone, or among good ones.
fn placed(rules: &FileRules, upload: Value, rng: &mut Rng) -> Option<Value> {
    if rules.max_items <= 1 {
        return Some(upload);
    }
    let mut list = file::files(rules, rng)?;
    let items = list.as_array_mut()?;
    let place = rng.usize(..items.len().max(1));
    *items.get_mut(place)? = upload;
    Some(list)
}

/// Spoilt versions of a good upload.
fn uploads(rules: &FileRules, key: &str, good: &Value, rng: &mut Rng) -> Vec<Value> {
    let with = |part: &str, value: Value| {
        let mut upload = good.clone();
        upload[part] = value;
        upload
    };
    let name = good["filename"].as_str().unwrap_or("file");
    let size = good["size"].as_u64().unwrap_or(0);
    match key {
        "required" => ["filename", "content_type", "size", "content"]
            .map(|part| with(part, Value::Null))
            .to_vec(),
        "format" => vec![
            with("content", "*** not base64 ***".into()),
            with("content", "*".into()),
        ],
        "maxSize" => too_large(rules, good).into_iter().collect(),
        "allowedMimeTypes" if rules.mime_types().is_some() => {
            vec![with("content_type", "x-entreat/unwanted".into())]
        }
        "allowedExtensions" if rules.extensions().is_some() => {
            vec![
                with("filename", "file.unwanted".into()),
                with("filename", "file".into()),
            ]
        }
        "content_type" => mismatches(rules, good),
        "size" => vec![with("size", (size + 1).into()), with("size", 0.into())],
        "filename" => {
            let mut names = vec![
                with("filename", format!("../{name}").into()),
                with("filename", format!("C:\\{name}").into()),
                with("filename", format!("\u{202e}{name}").into()),
            ];
            rng.shuffle(&mut names);
            names
        }
        "reference" => vec![with(
            "content",
            json!({"type": "url", "location": "https://files.example.com/1"}),
        )],
        _ => Vec::new(),
    }
}

fn too_large(rules: &FileRules, good: &Value) -> Option<Value> {
    let size = count(rules.max_size)
        .checked_add(1)
        .filter(|size| *size <= MAX_BYTES)?;
    let mime = good["content_type"].as_str()?;
    let magic = SAMPLES
        .iter()
        .find(|sample| sample.mime == mime)
        .map_or(&b""[..], |s| s.magic);
    let mut bytes = magic.to_vec();
    bytes.resize(size.max(magic.len()), b'x');
    Some(file::of(good["filename"].as_str()?, mime, &bytes))
}

/// Files declared as one allowed type and made of another allowed one.
fn mismatches(rules: &FileRules, good: &Value) -> Vec<Value> {
    let types: Option<Vec<&str>> = rules.mime_types().map(Iterator::collect);
    let allowed = |mime: &str| {
        types
            .as_ref()
            .is_none_or(|list| list.iter().any(|wanted| accepts(wanted, mime)))
    };
    let signed = || {
        SAMPLES
            .iter()
            .filter(|sample| sample.magic.len() > 3 && allowed(sample.mime))
    };
    let name = good["filename"].as_str().unwrap_or("file");
    signed()
        .filter(|declared| !declared.mime.starts_with("text/"))
        .flat_map(|declared| signed().map(move |found| (declared, found)))
        .filter(|(declared, found)| declared.mime != found.mime)
        .filter(|(_, found)| found.magic.len() as u64 <= rules.max_size)
        .map(|(declared, found)| file::of(name, declared.mime, found.magic))
        .collect()
}

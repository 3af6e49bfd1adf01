//! Uploads with bytes that are what they say.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use entreat_core::form::FileRules;
use fastrand::Rng;
use serde_json::{Value, json};

use super::chance;
use super::choice::count;

/// A kind of file: MIME type, ending, and first bytes that tell it from others.
pub(super) struct Sample {
    pub(super) mime: &'static str,
    extension: &'static str,
    pub(super) magic: &'static [u8],
}

const fn sample(mime: &'static str, extension: &'static str, magic: &'static [u8]) -> Sample {
    Sample {
        mime,
        extension,
        magic,
    }
}

pub(super) const SAMPLES: [Sample; 13] = [
    sample("image/png", "png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"),
    sample("image/jpeg", "jpg", b"\xff\xd8\xff\xe0\0\x10JFIF\0"),
    sample("image/gif", "gif", b"GIF89a"),
    sample("image/webp", "webp", b"RIFF\x1a\0\0\0WEBPVP8 "),
    sample("application/pdf", "pdf", b"%PDF-1.7\n"),
    sample("application/zip", "zip", b"PK\x03\x04\x14\0\0\0"),
    sample("application/gzip", "gz", b"\x1f\x8b\x08\0"),
    sample("text/plain", "txt", b"notes: "),
    sample("text/csv", "csv", b"name,value\n"),
    sample("text/html", "html", b"<!DOCTYPE html>"),
    sample("application/json", "json", b"{\"a\": 1}"),
    sample("application/xml", "xml", b"<?xml version=\"1.0\"?>"),
    sample("application/octet-stream", "bin", b""),
];

/// An upload, or a list where the field takes many, that the rules accept.
pub(super) fn files(rules: &FileRules, rng: &mut Rng) -> Option<Value> {
    let min = count(rules.min_items.unwrap_or(1)).max(1);
    let max = count(rules.max_items);
    if max <= 1 {
        return upload(rules, rng);
    }
    let many = rng.usize(min..=max.min(min + 2).max(min));
    list(rules, many, rng)
}

/// So many uploads.
pub(super) fn list(rules: &FileRules, many: usize, rng: &mut Rng) -> Option<Value> {
    (0..many).map(|_| upload(rules, rng)).collect()
}

/// One upload that the rules accept.
pub(super) fn upload(rules: &FileRules, rng: &mut Rng) -> Option<Value> {
    let (mime, sample) = kind(rules, rng)?;
    let name = filename(rules, sample, rng);
    Some(of(&name, &mime, &bytes(sample, count(rules.max_size), rng)))
}

/// An upload of these bytes.
pub(super) fn of(filename: &str, mime: &str, bytes: &[u8]) -> Value {
    json!({
        "filename": filename,
        "content_type": mime,
        "size": bytes.len(),
        "content": STANDARD.encode(bytes),
    })
}

/// An allowed type, and a sample of it if there is one.
fn kind(rules: &FileRules, rng: &mut Rng) -> Option<(String, Option<&'static Sample>)> {
    let extensions: Option<Vec<&str>> = rules.extensions().map(Iterator::collect);
    // Where a type and an ending go together, they should.
    let is_fitting = |sample: &&Sample| {
        let listed = |list: &Vec<&str>| {
            list.iter().any(|wanted| {
                wanted
                    .trim_start_matches('.')
                    .eq_ignore_ascii_case(sample.extension)
            })
        };
        extensions.as_ref().is_none_or(listed)
    };
    let Some(types) = rules.mime_types() else {
        let mut fitting: Vec<&Sample> = SAMPLES.iter().filter(is_fitting).collect();
        if fitting.is_empty() {
            fitting = SAMPLES.iter().collect();
        }
        return rng
            .choice(fitting)
            .map(|sample| (sample.mime.to_owned(), Some(sample)));
    };
    let types: Vec<&str> = types.collect();
    let mut allowed: Vec<&Sample> = SAMPLES
        .iter()
        .filter(|sample| types.iter().any(|wanted| accepts(wanted, sample.mime)))
        .collect();
    if allowed.iter().any(is_fitting) {
        allowed.retain(is_fitting);
    }
    if let Some(sample) = rng.choice(allowed) {
        return Some((sample.mime.to_owned(), Some(sample)));
    }
    let wanted = rng.choice(types)?;
    Some((wanted.replace('*', "x-sample"), None))
}

/// Whether an entry of `allowedMimeTypes` lets a type pass; spellings are not compared.
pub(super) fn accepts(wanted: &str, mime: &str) -> bool {
    match wanted.strip_suffix("/*") {
        Some("*") => true,
        Some(kind) => mime
            .split('/')
            .next()
            .is_some_and(|found| found.eq_ignore_ascii_case(kind)),
        None => wanted.eq_ignore_ascii_case(mime),
    }
}

fn filename(rules: &FileRules, sample: Option<&Sample>, rng: &mut Rng) -> String {
    let stem = *rng
        .choice(&["report", "photo", "übersicht", "notes-2", "日本"])
        .unwrap_or(&"file");
    let natural = sample.map_or("dat", |sample| sample.extension);
    let Some(extensions) = rules.extensions() else {
        return format!("{stem}.{natural}");
    };
    let extensions: Vec<&str> = extensions.map(|e| e.trim_start_matches('.')).collect();
    let chosen = match extensions.iter().find(|e| e.eq_ignore_ascii_case(natural)) {
        Some(natural) => natural,
        None => rng.choice(&extensions).unwrap_or(&natural),
    };
    // Endings are compared without regard to case.
    let chosen = if chance(rng, 15) {
        chosen.to_ascii_uppercase()
    } else {
        (*chosen).to_owned()
    };
    format!("{stem}.{chosen}")
}

/// Content of a kind, of at most `max` bytes. Where its first bytes do not fit, or are not
/// known, the file is empty: no bytes contradict no type.
fn bytes(sample: Option<&Sample>, max: usize, rng: &mut Rng) -> Vec<u8> {
    let Some(sample) = sample.filter(|sample| sample.magic.len() <= max) else {
        return Vec::new();
    };
    let mut bytes = sample.magic.to_vec();
    let room = (max - bytes.len()).min(200);
    let is_text = sample.mime != "application/json";
    for _ in 0..rng.usize(..=room) {
        bytes.push(if is_text { rng.u8(b'a'..=b'z') } else { b' ' });
    }
    bytes
}

#[cfg(test)]
mod tests {
    use entreat_core::Form;

    use super::*;
    use crate::value::{MADE, valid_values};

    #[test]
    fn uploads_are_what_they_say() {
        for validation in [
            json!({}),
            json!({"maxSize": 0}),
            json!({"maxSize": 3, "allowedMimeTypes": ["image/png"]}),
            json!({"allowedMimeTypes": ["image/*"], "allowedExtensions": ["PNG"]}),
            json!({"allowedMimeTypes": ["application/vnd.ms-excel", "video/mp4"]}),
            json!({"allowedExtensions": [".tar.gz"]}),
            json!({"minItems": 2, "maxItems": 4}),
        ] {
            let files = valid_values(json!({"type": "file", "validation": validation}));
            assert_eq!(files.len(), MADE, "{validation}");
        }
    }

    #[test]
    fn the_bytes_of_every_sample_agree_with_its_type() {
        let form = Form::from_value(&json!({"id": "f", "title": "F", "fields": [
            {"id": "f", "type": "file", "label": "F"},
        ]}));
        let form = form.unwrap();
        for sample in &SAMPLES {
            let upload = of("file", sample.mime, sample.magic);
            assert!(form.check(&json!({"f": upload})).is_ok(), "{}", sample.mime);
        }
    }
}

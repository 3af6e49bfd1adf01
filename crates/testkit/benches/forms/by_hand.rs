//! What a careful person would write for the one form, and for no other: the lower bound.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;

/// A broken rule: the field and the rule's name.
pub(crate) type Broken = (&'static str, &'static str);

const REGIONS: [&str; 4] = ["eu-west", "eu-north", "us-east", "ap-south"];
const FEATURES: [&str; 5] = ["backups", "metrics", "tracing", "alerts", "audit"];

/// Checks parsed JSON and collects what is wrong.
pub(crate) fn check(answer: &Value) -> Vec<Broken> {
    let mut broken = Vec::new();
    let Some(answer) = answer.as_object() else {
        return vec![("", "type")];
    };
    let mut seen = 0;
    for (key, value) in answer {
        seen += 1;
        match (key.as_str(), value) {
            ("service_name", Value::String(text)) => service_name(text, &mut broken),
            ("port", Value::Number(number)) => match number.as_u64() {
                Some(number) => port(number, &mut broken),
                None => broken.push(("port", "type")),
            },
            ("public", Value::Bool(_)) => {}
            ("launch", Value::String(text)) => launch(text, &mut broken),
            ("region", Value::String(text)) => region(text, &mut broken),
            ("features", Value::Array(items)) => {
                features(items.iter().map(Value::as_str), &mut broken);
            }
            ("homepage", Value::String(text)) => homepage(text, &mut broken),
            ("logo", Value::Object(file)) => {
                let text = |key: &str| file.get(key).and_then(Value::as_str);
                let size = file.get("size").and_then(Value::as_u64);
                match (
                    text("filename"),
                    text("content_type"),
                    size,
                    text("content"),
                ) {
                    (Some(name), Some(mime), Some(size), Some(content)) => {
                        logo(name, mime, size, content, &mut broken);
                    }
                    _ => broken.push(("logo", "type")),
                }
            }
            _ => broken.push(("", "additionalProperties")),
        }
    }
    if seen != 8 {
        broken.push(("", "required"));
    }
    broken
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer<'a> {
    service_name: &'a str,
    port: u64,
    #[expect(dead_code, reason = "any boolean will do")]
    public: bool,
    launch: &'a str,
    region: &'a str,
    #[serde(borrow)]
    features: Vec<&'a str>,
    homepage: &'a str,
    #[serde(borrow)]
    logo: Logo<'a>,
}

#[derive(Deserialize)]
struct Logo<'a> {
    filename: &'a str,
    content_type: &'a str,
    size: u64,
    content: &'a str,
}

/// Checks JSON text and counts what is wrong.
pub(crate) fn check_text(text: &str) -> Result<usize, ()> {
    let answer: Answer<'_> = serde_json::from_str(text).map_err(drop)?;
    let mut broken = Vec::new();
    service_name(answer.service_name, &mut broken);
    port(answer.port, &mut broken);
    launch(answer.launch, &mut broken);
    region(answer.region, &mut broken);
    features(answer.features.iter().map(|item| Some(*item)), &mut broken);
    homepage(answer.homepage, &mut broken);
    let logo_ = answer.logo;
    logo(
        logo_.filename,
        logo_.content_type,
        logo_.size,
        logo_.content,
        &mut broken,
    );
    Ok(broken.len())
}

fn service_name(text: &str, broken: &mut Vec<Broken>) {
    let length = text.chars().count();
    if length < 3 {
        broken.push(("service_name", "minLength"));
    }
    if length > 40 {
        broken.push(("service_name", "maxLength"));
    }
    let mut bytes = text.bytes();
    let is_good = bytes.next().is_some_and(|b| b.is_ascii_lowercase())
        && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if !is_good {
        broken.push(("service_name", "pattern"));
    }
}

fn port(number: u64, broken: &mut Vec<Broken>) {
    if number < 1024 {
        broken.push(("port", "minimum"));
    }
    if number > 65_535 {
        broken.push(("port", "maximum"));
    }
}

fn launch(text: &str, broken: &mut Vec<Broken>) {
    let number = |range| {
        text.get(range)
            .and_then(|part: &str| part.parse::<u32>().ok())
    };
    let (Some(year), Some(month), Some(day)) = (number(0..4), number(5..7), number(8..10)) else {
        broken.push(("launch", "format"));
        return;
    };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + u32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if text.len() != 10 || !(1..=12).contains(&month) || !(1..=days).contains(&day) {
        broken.push(("launch", "format"));
    } else if !("2026-01-01"..="2030-12-31").contains(&text) {
        broken.push(("launch", "minimum"));
    }
}

fn region(text: &str, broken: &mut Vec<Broken>) {
    if !REGIONS.contains(&text) {
        broken.push(("region", "enum"));
    }
}

fn features<'a>(items: impl Iterator<Item = Option<&'a str>>, broken: &mut Vec<Broken>) {
    let mut chosen = [false; FEATURES.len()];
    let mut count = 0;
    for item in items {
        count += 1;
        match FEATURES.iter().position(|feature| item == Some(*feature)) {
            Some(i) if chosen[i] => broken.push(("features", "uniqueItems")),
            Some(i) => chosen[i] = true,
            None => broken.push(("features", "enum")),
        }
    }
    if !(2..=4).contains(&count) {
        broken.push(("features", "minItems"));
    }
}

/// A fair share of what the guard does for a plain URL, without the tables behind it.
pub(crate) fn homepage(text: &str, broken: &mut Vec<Broken>) {
    if text.len() > 200 {
        broken.push(("homepage", "maxLength"));
    }
    let Some(rest) = text.strip_prefix("https://") else {
        broken.push(("homepage", "allowedSchemes"));
        return;
    };
    let host = rest.split(['/', '?', '#', ':']).next().unwrap_or(rest);
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    let ending = host.rsplit('.').next().unwrap_or(host);
    if !host.contains('.') || !host.split('.').all(is_label) {
        broken.push(("homepage", "format"));
    } else if matches!(
        ending,
        "localhost" | "local" | "internal" | "test" | "example"
    ) {
        broken.push(("homepage", "blockPrivateIPs"));
    }
}

fn logo(name: &str, mime: &str, size: u64, content: &str, broken: &mut Vec<Broken>) {
    if ![".png", ".jpg", ".jpeg"]
        .iter()
        .any(|ending| name.ends_with(ending))
    {
        broken.push(("logo", "allowedExtensions"));
    }
    if name.contains(['/', '\\']) {
        broken.push(("logo", "filename"));
    }
    bytes(mime, size, content, broken);
    if size > 65_536 {
        broken.push(("logo", "maxSize"));
    }
}

/// What only the bytes of the picture tell.
pub(crate) fn bytes(mime: &str, size: u64, content: &str, broken: &mut Vec<Broken>) {
    let Ok(bytes) = STANDARD.decode(content) else {
        broken.push(("logo", "format"));
        return;
    };
    let is_right = match mime {
        "image/png" => bytes.starts_with(b"\x89PNG\r\n\x1a\n"),
        "image/jpeg" => bytes.starts_with(b"\xff\xd8\xff"),
        _ => false,
    };
    if !is_right {
        broken.push(("logo", "allowedMimeTypes"));
    }
    if bytes.len() as u64 != size {
        broken.push(("logo", "size"));
    }
}

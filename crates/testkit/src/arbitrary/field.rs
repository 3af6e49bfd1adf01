//! One field with rules, and values that it takes.

use entreat_core::form::Kind;
use entreat_core::{Form, Format};
use fastrand::Rng;
use serde_json::{Map, Value, json};

use super::{often, one_of};
use entreat_generate::Generator;

/// A field that is being put together.
pub(super) struct Draft {
    pub(super) id: String,
    pub(super) kind: &'static str,
    pub(super) definition: Map<String, Value>,
    /// Values that the field takes; none where no value was found.
    pub(super) values: Vec<Value>,
    /// Nobody can change what it holds.
    pub(super) is_fixed: bool,
}

/// Patterns that people write, each with the fewest code points that a match has and the
/// most that it may have.
const PATTERNS: [(&str, u64, u64); 15] = [
    ("^[A-Z]{2}\\d{4}$", 6, 6),
    ("^[a-z][a-z0-9-]*$", 1, 60),
    ("^\\d{5}(-\\d{4})?$", 5, 10),
    ("^\\+?[0-9 ()-]{7,20}$", 7, 21),
    ("^#[0-9a-fA-F]{6}$", 7, 7),
    ("^v?\\d+\\.\\d+\\.\\d+$", 5, 40),
    ("^[\\w.+-]+@[\\w-]+\\.[\\w.]+$", 5, 60),
    ("^(yes|no|maybe)$", 2, 5),
    ("^\\S+$", 1, 60),
    ("^[^<>]*$", 1, 60),
    ("^\\p{Lu}\\p{L}*$", 1, 60),
    ("cat|dog", 3, 60),
    ("\\d", 1, 60),
    ("[aeiou]{2}", 2, 60),
    ("\\bkey\\b", 3, 60),
];

const WORDS: [&str; 8] = [
    "red", "green", "blue", "eu-west", "us east", "日本", "none", "x",
];

/// A field of a random type, without links to others.
pub(super) fn draft(place: usize, rng: &mut Rng) -> Draft {
    let kind = one_of(Kind::NAMES, rng);
    let id = format!("{kind}_{place}");
    let mut definition = Map::new();
    definition.insert("id".into(), id.as_str().into());
    definition.insert("type".into(), kind.into());
    definition.insert("label".into(), format!("Question {place}").into());
    if often(rng, 20) {
        definition.insert("description".into(), "More about it.".into());
    }
    // Chosen by place: it has no influence on anything else.
    if place % 4 == 1 {
        definition.insert("section".into(), format!("Section {place}").into());
    }
    if matches!(kind, "select" | "multi_select") {
        definition.insert("options".into(), options(rng));
    }
    let mut rules = match kind {
        "text" => text(rng),
        "number" => number(rng),
        "date" => date(rng),
        "multi_select" => multi_select(&definition, rng),
        "url" => url(rng),
        "file" => file(rng),
        _ => Map::new(),
    };
    if often(rng, 8) {
        rules.insert("messages".into(), json!({"required": "Please answer."}));
    }
    if !rules.is_empty() {
        definition.insert("validation".into(), rules.into());
    }
    let values = values(&definition, rng.u64(..));
    let mut draft = Draft {
        id,
        kind,
        definition,
        values,
        is_fixed: false,
    };
    draft.decide(rng);
    draft
}

impl Draft {
    /// Chooses what does not depend on the type.
    fn decide(&mut self, rng: &mut Rng) {
        let has_default = self.kind != "file" && !self.values.is_empty() && often(rng, 30);
        if has_default {
            self.definition
                .insert("default".into(), one_of_values(&self.values, rng));
        }
        // A required field that takes no value would leave the form without an answer.
        if !self.values.is_empty() && often(rng, 45) {
            self.definition.insert("required".into(), true.into());
        }
        if has_default && often(rng, 20) {
            let hint = one_of(&["readonly", "hidden"], rng);
            self.hint(hint, true.into());
            self.is_fixed = true;
        }
        if often(rng, 10) {
            self.definition.insert("sensitive".into(), true.into());
        }
        if often(rng, 10) {
            self.hint("placeholder", "…".into());
        }
    }

    /// Adds a rendering hint.
    pub(super) fn hint(&mut self, key: &str, value: Value) {
        let rendering = self
            .definition
            .entry("rendering")
            .or_insert_with(|| json!({}));
        if let Some(rendering) = rendering.as_object_mut() {
            rendering.insert(key.to_owned(), value);
        }
    }

    /// One of the values that the field takes.
    pub(super) fn value(&self, rng: &mut Rng) -> Option<Value> {
        rng.choice(&self.values).cloned()
    }
}

fn one_of_values(values: &[Value], rng: &mut Rng) -> Value {
    rng.choice(values).cloned().unwrap_or_default()
}

/// Some values that a field takes when it stands alone.
fn values(definition: &Map<String, Value>, seed: u64) -> Vec<Value> {
    let mut field = definition.clone();
    field.insert("required".into(), true.into());
    let alone = Form::from_value(&json!({"id": "alone", "title": "Alone", "fields": [field]}));
    let Ok(form) = alone else {
        return Vec::new();
    };
    let mut generator = Generator::new(&form, seed);
    let id = form.fields()[0].id();
    (0..3)
        .filter_map(|_| generator.valid()?.get(id).cloned())
        .collect()
}

fn options(rng: &mut Rng) -> Value {
    let mut words = WORDS;
    rng.shuffle(&mut words);
    let chosen = &words[..rng.usize(1..=words.len())];
    if rng.bool() {
        return chosen.iter().map(|word| Value::from(*word)).collect();
    }
    let titled = |word: &&str| json!({"value": word, "title": word.to_uppercase()});
    chosen.iter().map(titled).collect()
}

fn text(rng: &mut Rng) -> Map<String, Value> {
    let mut rules = Map::new();
    let (least, most) = match rng.u8(..4) {
        0 => {
            let (pattern, least, most) = one_of(&PATTERNS, rng);
            rules.insert("pattern".into(), pattern.into());
            (least, most)
        }
        1 => {
            rules.insert("format".into(), one_of(Format::NAMES, rng).into());
            // Formats have lengths of their own.
            return rules;
        }
        _ => (1, 60),
    };
    if often(rng, 40) {
        rules.insert("minLength".into(), rng.u64(..=most.min(least + 12)).into());
    }
    if often(rng, 40) {
        let low = rules
            .get("minLength")
            .and_then(Value::as_u64)
            .unwrap_or(0)
            .max(least);
        rules.insert("maxLength".into(), rng.u64(low..=most.max(low) + 10).into());
    }
    rules
}

fn number(rng: &mut Rng) -> Map<String, Value> {
    let mut rules = Map::new();
    let low = rng.i64(-50..=50);
    let high = low + rng.i64(20..=200);
    let fraction = |value: i64, rng: &mut Rng| match rng.u8(..4) {
        0 => json!(format!("{value}.25").parse::<f64>().unwrap_or(0.0)),
        _ => json!(value),
    };
    match rng.u8(..5) {
        0 => drop(rules.insert("minimum".into(), fraction(low, rng))),
        1 => drop(rules.insert("exclusiveMinimum".into(), fraction(low, rng))),
        _ => {}
    }
    match rng.u8(..5) {
        0 => drop(rules.insert("maximum".into(), fraction(high, rng))),
        1 => drop(rules.insert("exclusiveMaximum".into(), fraction(high, rng))),
        _ => {}
    }
    if often(rng, 40) {
        let step = one_of(&[1.0, 2.0, 5.0, 0.5, 0.1, 0.05], rng);
        let whole = one_of(&[1, 3, 10], rng);
        let step = if rng.bool() {
            json!(step)
        } else {
            json!(whole)
        };
        rules.insert("multipleOf".into(), step);
    }
    rules
}

fn date(rng: &mut Rng) -> Map<String, Value> {
    let mut rules = Map::new();
    let has_time = often(rng, 40);
    if has_time {
        rules.insert("format".into(), "date-time".into());
    }
    let bound = |year: i32, rng: &mut Rng| {
        let day = format!("{year}-{:02}-{:02}", rng.u8(1..=12), rng.u8(1..=28));
        Value::from(if has_time {
            format!("{day}T08:30:00+02:00")
        } else {
            day
        })
    };
    if often(rng, 40) {
        rules.insert("minimum".into(), bound(rng.i32(1990..2030), rng));
    }
    if often(rng, 40) {
        rules.insert("maximum".into(), bound(rng.i32(2031..2060), rng));
    }
    rules
}

fn multi_select(definition: &Map<String, Value>, rng: &mut Rng) -> Map<String, Value> {
    let mut rules = Map::new();
    let offered = definition
        .get("options")
        .and_then(Value::as_array)
        .map_or(1, Vec::len);
    let least = rng.usize(0..=offered);
    if often(rng, 40) {
        rules.insert("minItems".into(), least.into());
    }
    if often(rng, 40) {
        rules.insert(
            "maxItems".into(),
            rng.usize(least.max(1)..=offered + 1).into(),
        );
    }
    rules
}

fn url(rng: &mut Rng) -> Map<String, Value> {
    let mut rules = Map::new();
    if often(rng, 40) {
        let lists = [&["https", "http"][..], &["ssh"], &["wss", "HTTPS"]];
        rules.insert("allowedSchemes".into(), json!(one_of(&lists, rng)));
    }
    if often(rng, 30) {
        rules.insert("blockPrivateIPs".into(), rng.bool().into());
    }
    if often(rng, 30) {
        rules.insert("blockLocalhost".into(), rng.bool().into());
    }
    if often(rng, 30) {
        rules.insert("maxLength".into(), rng.u64(25..=300).into());
    }
    rules
}

fn file(rng: &mut Rng) -> Map<String, Value> {
    let mut rules = Map::new();
    // Always there: without it a test that breaks it would move megabytes about.
    rules.insert("maxSize".into(), one_of(&[16, 1024, 65_536], rng).into());
    if often(rng, 40) {
        let lists = [
            &["image/png", "image/jpeg"][..],
            &["image/*"],
            &["application/pdf", "text/plain"],
            &["*/*"],
            &["application/x-unheard-of"],
        ];
        rules.insert("allowedMimeTypes".into(), json!(one_of(&lists, rng)));
    }
    if often(rng, 40) {
        let lists = [&[".png", "JPG"][..], &["pdf"], &[".tar.gz", ".txt"]];
        rules.insert("allowedExtensions".into(), json!(one_of(&lists, rng)));
    }
    if often(rng, 40) {
        let most = rng.u64(1..=4);
        rules.insert("maxItems".into(), most.into());
        if rng.bool() {
            rules.insert("minItems".into(), rng.u64(0..=most).into());
        }
    }
    rules
}

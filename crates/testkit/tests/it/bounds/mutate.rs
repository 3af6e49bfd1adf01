//! Mutations of the seeds, the same in every run.

use std::fs;
use std::path::Path;

use entreat_core::Form;
use entreat_testkit::{Generator, arbitrary};
use fastrand::Rng;

use super::{MAX_BYTES, Target};
use crate::targets::Meter;
use crate::targets::answers::FORMS;

/// Runs a target on this many mutations of its seeds.
pub(super) fn each(name: &str, rounds: usize, target: Target) {
    let mut meter = Meter::default();
    let seeds = seeds(name);
    let mut rng = Rng::with_seed(20_260_101);
    for seed in &seeds {
        target(seed, &mut meter);
    }
    for _ in 0..rounds {
        let mut input = seeds[rng.usize(..seeds.len())].clone();
        for _ in 0..rng.usize(1..6) {
            mutate(&mut input, &seeds, &mut rng);
        }
        input.truncate(MAX_BYTES);
        let input = whole_text(input);
        target(&input, &mut meter);
    }
}

/// Checked-in seeds and generated ones.
fn seeds(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    let entries = fs::read_dir(folder.join(name)).expect("the seeds are checked in");
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("the folder can be read").path())
        .collect();
    paths.sort();
    let mut seeds: Vec<Vec<u8>> = paths
        .iter()
        .map(|path| fs::read(path).expect("the file can be read"))
        .collect();
    match name {
        "definition" => {
            let made_up = |seed| format!("0{}", arbitrary::form(seed)).into_bytes();
            seeds.extend((0..40).map(made_up));
        }
        "schema" => {
            let schema = |seed| {
                let form = Form::from_value(&arbitrary::form(seed));
                let form = form.expect("arbitrary forms are sound");
                let schema = entreat_core::schema::json_schema(&form);
                schema.to_string().into_bytes()
            };
            seeds.extend((0..40).map(schema));
        }
        "answers" => {
            for (place, form) in (0_u8..).zip(FORMS.iter()) {
                let mut generator = Generator::new(form, 1);
                let answers = (0..4).filter_map(|_| generator.valid());
                for answer in answers {
                    let mut seed = vec![place];
                    seed.extend(answer.to_string().into_bytes());
                    seeds.push(seed);
                }
            }
        }
        _ => {}
    }
    seeds
}

fn mutate(input: &mut Vec<u8>, seeds: &[Vec<u8>], rng: &mut Rng) {
    if input.is_empty() {
        input.extend(&seeds[rng.usize(..seeds.len())]);
    }
    let start = rng.usize(..input.len());
    let end = rng.usize(start..=input.len().min(start + 200));
    let part = input[start..end].to_vec();
    match rng.u8(..9) {
        0 => input[start] ^= 1 << rng.u8(..8),
        1 => input[start] = rng.u8(b' '..=b'~'),
        2 => input.truncate(start),
        3 => drop(input.drain(start..end)),
        // A piece of another seed.
        4 => {
            let other = &seeds[rng.usize(..seeds.len())];
            let from = rng.usize(..=other.len());
            let to = rng.usize(from..=other.len());
            input.splice(start..end, other[from..to].iter().copied());
        }
        // A few repetitions, or as many as fit.
        5 => {
            let room = MAX_BYTES.saturating_sub(input.len()) / part.len().max(1);
            let times = if rng.u8(..50) == 0 {
                room
            } else {
                rng.usize(..20).min(room)
            };
            input.splice(start..start, part.repeat(times));
        }
        // An item of a list or a member of an object once more, with the comma behind it.
        6 => {
            if let Some((from, to)) = between(&input[start..], b',') {
                let item = input[start + from..=start + to].to_vec();
                let times = rng.usize(1..300);
                input.splice(start + from..start + from, item.repeat(times));
            }
        }
        // Deeper.
        7 => {
            let depth = rng.usize(1..130);
            let (open, close): (&[u8], &[u8]) = match rng.u8(..3) {
                0 => (b"[", b"]"),
                1 => (b"{\"a\":", b"}"),
                _ => (b"{\"not\":", b"}"),
            };
            let nested = [open.repeat(depth), part, close.repeat(depth)].concat();
            input.splice(start..end, nested);
        }
        // A long text inside of a text.
        _ => {
            if let Some(quote) = input[start..].iter().position(|byte| *byte == b'"') {
                let size = [10, 100, 1_000, 60_000][rng.usize(..4)];
                let letters = ["x", "é", "0", ".", "%", "a.", "\\u00e9"][rng.usize(..7)];
                let text = letters.repeat(size / letters.len()).into_bytes();
                input.splice(start + quote..start + quote, text);
            }
        }
    }
}

/// The first span from after one such byte to the next.
fn between(bytes: &[u8], byte: u8) -> Option<(usize, usize)> {
    let first = bytes.iter().position(|b| *b == byte)? + 1;
    let length = bytes[first..].iter().position(|b| *b == byte)?;
    Some((first, first + length))
}

/// Invalid UTF-8 is cut: the targets would only reject it.
fn whole_text(mut input: Vec<u8>) -> Vec<u8> {
    if let Err(error) = std::str::from_utf8(&input) {
        input.truncate(error.valid_up_to());
    }
    input
}

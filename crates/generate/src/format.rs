//! Texts of a format, of a wanted length where the format leaves it open.

use std::net::{Ipv4Addr, Ipv6Addr};

use entreat_core::Format;
use fastrand::Rng;

use super::{chance, date};

/// A text of the format, if possible of `min` to `max` code points; the caller checks.
pub(super) fn sample(format: Format, min: usize, max: usize, rng: &mut Rng) -> Option<String> {
    let mut length = |least: usize, most: usize| {
        let (min, max) = (min.max(least), max.min(most));
        (min <= max).then(|| rng.usize(min..=max.min(min + 20)))
    };
    Some(match format {
        Format::Email => {
            let length = length(3, 253)?;
            email(length, rng)
        }
        Format::Uri => {
            let length = length(3, usize::MAX)?;
            uri(length, rng)
        }
        Format::Hostname => {
            let length = length(1, 253)?;
            hostname(length, rng)
        }
        Format::Uuid => uuid(rng),
        Format::Ipv4 if max < 9 => Ipv4Addr::new(1, 1, 1, rng.u8(..10)).to_string(),
        Format::Ipv4 => Ipv4Addr::from_bits(rng.u32(..)).to_string(),
        Format::Ipv6 if max < 39 => {
            Ipv6Addr::new(0x20, 0, 0, 0, 0, 0, 0, rng.u16(..16)).to_string()
        }
        Format::Ipv6 => Ipv6Addr::from_bits(rng.u128(..)).to_string(),
        Format::Date => date::any_day(rng),
        Format::DateTime => {
            let day = date::any_day(rng);
            format!("{day}T{}", time(min.saturating_sub(11), rng))
        }
        Format::Time => time(min, rng),
    })
}

fn letters(length: usize, rng: &mut Rng) -> String {
    (0..length).map(|_| rng.lowercase()).collect()
}

fn hostname(length: usize, rng: &mut Rng) -> String {
    let label = rng.usize(3..=30);
    (0..length)
        .map(|place| match place % (label + 1) {
            at if at == label && place + 1 < length => '.',
            _ => rng.lowercase(),
        })
        .collect()
}

fn email(length: usize, rng: &mut Rng) -> String {
    let local = length.saturating_sub(13).clamp(1, 64);
    let domain = hostname(length.saturating_sub(local + 1).max(1), rng);
    let mut name = letters(local, rng);
    if local > 4 && chance(rng, 30) {
        name.replace_range(2..3, rng.choice(["+", ".", "'", "_"]).unwrap_or("."));
    }
    format!("{name}@{domain}")
}

fn uri(length: usize, rng: &mut Rng) -> String {
    let start = if length > 24 {
        *rng.choice(&["https://example.com/", "urn:example:", "mailto:someone@"])
            .unwrap_or(&"urn:example:")
    } else {
        "x:"
    };
    format!(
        "{start}{}",
        letters(length.saturating_sub(start.len()).max(1), rng)
    )
}

fn uuid(rng: &mut Rng) -> String {
    let hex = format!("{:032x}", rng.u128(..));
    [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ]
    .join("-")
}

/// A time of day in UTC, with as many digits of a second as `min` asks for.
fn time(min: usize, rng: &mut Rng) -> String {
    let (hour, minute, second) = (rng.u8(..24), rng.u8(..60), rng.u8(..60));
    let mut text = format!("{hour:02}:{minute:02}:{second:02}");
    if min > 9 || chance(rng, 15) {
        text.push('.');
        for _ in 0..min.saturating_sub(10).clamp(1, 5_000) {
            text.push(rng.digit(10));
        }
    }
    text.push('Z');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_of_their_format_and_mostly_of_the_wanted_length() {
        let mut rng = Rng::with_seed(3);
        for format in [
            Format::Email,
            Format::Uri,
            Format::Uuid,
            Format::Hostname,
            Format::Ipv4,
            Format::Ipv6,
            Format::Date,
            Format::DateTime,
            Format::Time,
        ] {
            for _ in 0..200 {
                let text = sample(format, 1, 60, &mut rng).unwrap();
                assert!(format.matches(&text), "{text:?} is no {}", format.name());
            }
        }
        for _ in 0..200 {
            let text = sample(Format::Email, 40, 44, &mut rng).unwrap();
            assert!((40..=44).contains(&text.len()), "{text:?}");
        }
    }
}

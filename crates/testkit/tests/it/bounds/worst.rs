//! Worst-case inputs, each just within 64 KiB.

use super::MAX_BYTES;

mod answers;
mod definition;
mod markdown;
mod schema;
mod url;

pub(super) use answers::cases as answers;
pub(super) use definition::cases as definitions;
pub(super) use markdown::cases as texts;
pub(super) use schema::cases as schemas;
pub(super) use url::cases as urls;

/// A description, and the input.
pub(crate) type Case = (String, Vec<u8>);

fn named((name, input): (&str, Vec<u8>)) -> Case {
    (name.to_owned(), input)
}

/// As many numbered parts as fit between head and tail.
fn fill(head: &str, part: impl Fn(usize) -> String, tail: &str) -> String {
    let mut text = head.to_owned();
    for n in 0.. {
        let part = part(n);
        if text.len() + part.len() + tail.len() + 1 > MAX_BYTES {
            break;
        }
        text.push_str(&part);
    }
    if text.ends_with(',') {
        text.pop();
    }
    text + tail
}

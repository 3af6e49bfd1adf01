//! Puts `entreat wrap` in front of a server that a client has, and takes it out again.
//!
//! A server that a command starts is changed in place: `entreat` takes the place of its command,
//! which moves to the front of its arguments as it was written. Undoing cuts exactly that out, so
//! that comments, layout and everything that was changed since stay. An entry with a URL becomes
//! another one, which keeps the first as it was written.

use std::ops::Range;
use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use serde_json::{Map, Value};

use super::format::Format;

/// The variable that keeps the entry of a URL.
const ENTRY_VARIABLE: &str = "WRAPPED_ENTRY";
/// What the variables with its headers begin with. Other users of a machine can see flags.
const HEADER_VARIABLE: &str = "WRAPPED_HEADER_";
/// The names that clients have for a server's URL, and for its headers.
const URLS: [&str; 3] = ["url", "httpUrl", "serverUrl"];
const HEADERS: [&str; 2] = ["headers", "http_headers"];
const COMMAND: &str = "command";
const ARGUMENTS: &str = "args";
const TYPE: &str = "type";
const ENVIRONMENT: &str = "env";

/// Where the parts of an entry are in a text.
#[derive(Debug)]
pub(super) struct Places {
    /// The value of the entry, if it is in one piece.
    pub(super) entry: Option<Range<usize>>,
    pub(super) command: Option<Range<usize>>,
    pub(super) arguments: Option<ArgumentPlaces>,
    /// Where a new member behind the command goes, and what stands between members there.
    pub(super) behind_command: Option<(usize, String)>,
}

/// Where arguments are.
#[derive(Debug)]
pub(super) struct ArgumentPlaces {
    /// With the brackets.
    pub(super) list: Range<usize>,
    pub(super) items: Vec<Range<usize>>,
}

/// How `entreat wrap` is started.
pub(super) struct Wrapper<'a> {
    pub(super) command: &'a str,
    /// Its options.
    pub(super) options: Vec<String>,
}

/// An entry before and after.
pub(super) struct Edit {
    pub(super) text: String,
    /// What the entry means now.
    pub(super) entry: Map<String, Value>,
}

/// Whether an entry starts `entreat wrap`.
pub(super) fn is_wrapped(entry: &Map<String, Value>) -> bool {
    let command = entry.get(COMMAND).and_then(Value::as_str);
    let stem = command.and_then(|command| Path::new(command).file_stem());
    let first = entry.get(ARGUMENTS).and_then(|arguments| arguments.get(0));
    stem.is_some_and(|stem| stem == "entreat") && first.is_some_and(|first| first == "wrap")
}

/// Puts the wrapper in front of a server.
pub(super) fn wrap(
    format: Format,
    text: &str,
    name: &str,
    entry: &Map<String, Value>,
    wrapper: &Wrapper<'_>,
) -> anyhow::Result<Edit> {
    if entry.contains_key(COMMAND) {
        wrap_command(format, text, name, entry, wrapper)
    } else {
        wrap_url(format, text, name, entry, wrapper)
    }
}

fn wrap_command(
    format: Format,
    text: &str,
    name: &str,
    entry: &Map<String, Value>,
    wrapper: &Wrapper<'_>,
) -> anyhow::Result<Edit> {
    let old = entry.get(COMMAND).and_then(Value::as_str);
    let old = old.with_context(|| format!("the `{COMMAND}` of `{name}` is not a text"))?;
    let rest: &[Value] = match entry.get(ARGUMENTS) {
        None => &[],
        Some(Value::Array(items)) => items,
        Some(_) => bail!("the `{ARGUMENTS}` of `{name}` are not a list"),
    };
    let mut arguments = started(wrapper);
    arguments.push("--".to_owned());
    let written: Vec<String> = arguments.iter().map(|text| quoted(text)).collect();
    let written = written.join(", ");
    let places = format.places(text, name)?;
    let command = places.command.context("the command has no place")?;
    let moved = &text[command.clone()];

    let mut changes = vec![(command.clone(), quoted(wrapper.command))];
    if let Some(list) = &places.arguments {
        if let Some(first) = list.items.first() {
            let at = first.start..first.start;
            changes.push((at, format!("{written}, {moved}, ")));
        } else {
            let at = list.list.start + 1;
            changes.push((at..at, format!("{written}, {moved}")));
        }
    } else {
        let (at, between) = places.behind_command.context("the command has no place")?;
        let member = format.member(ARGUMENTS, &format!("[{written}, {moved}]"));
        changes.push((at..at, format!("{between}{member}")));
    }
    let mut new_entry = entry.clone();
    new_entry.insert(COMMAND.to_owned(), wrapper.command.into());
    let arguments = arguments.into_iter().map(Value::from);
    let arguments = arguments.chain([old.into()]).chain(rest.iter().cloned());
    new_entry.insert(ARGUMENTS.to_owned(), arguments.collect());
    edited(format, text, name, changes, new_entry)
}

fn wrap_url(
    format: Format,
    text: &str,
    name: &str,
    entry: &Map<String, Value>,
    wrapper: &Wrapper<'_>,
) -> anyhow::Result<Edit> {
    let url = URLS.iter().find_map(|key| entry.get(*key)?.as_str());
    let url = url.with_context(|| format!("`{name}` has neither a `{COMMAND}` nor a URL"))?;
    ensure!(
        entry.get(TYPE).is_none_or(|kind| kind != "sse"),
        "`{name}` speaks HTTP+SSE, which is older than 2025-03-26: `entreat wrap` needs Streamable \
         HTTP"
    );
    let unknown = |key: &&String| {
        let key = key.as_str();
        matches!(
            key,
            "bearer_token_env_var" | "env_http_headers" | "auth" | "oauth"
        )
    };
    if let Some(key) = entry.keys().find(unknown) {
        bail!(
            "`{name}` signs in with `{key}`, which `entreat wrap` can't: use `--header-env` in an \
             entry of your own"
        );
    }
    let place = format.places(text, name)?.entry;
    let place = place.context("it is not written in one piece: write the entry yourself")?;
    let mut arguments = started(wrapper);
    let mut environment = match entry.get(ENVIRONMENT) {
        Some(Value::Object(environment)) => environment.clone(),
        _ => Map::new(),
    };
    environment.insert(ENTRY_VARIABLE.to_owned(), text[place.clone()].into());
    let headers = HEADERS.iter().find_map(|key| entry.get(*key)?.as_object());
    for (index, (header, value)) in headers.into_iter().flatten().enumerate() {
        let value = value.as_str();
        let value = value.with_context(|| format!("the header `{header}` is not a text"))?;
        let variable = format!("{HEADER_VARIABLE}{}", index + 1);
        arguments.extend(["--header-env".to_owned(), variable.clone()]);
        environment.insert(variable, format!("{header}: {value}").into());
    }
    arguments.push(url.to_owned());

    let mut new_entry = Map::new();
    if entry.contains_key(TYPE) {
        new_entry.insert(TYPE.to_owned(), "stdio".into());
    }
    new_entry.insert(COMMAND.to_owned(), wrapper.command.into());
    new_entry.insert(ARGUMENTS.to_owned(), arguments.into());
    new_entry.insert(ENVIRONMENT.to_owned(), environment.into());
    for (key, value) in entry {
        let is_old = URLS.contains(&key.as_str()) || HEADERS.contains(&key.as_str());
        if !is_old && !new_entry.contains_key(key) {
            new_entry.insert(key.clone(), value.clone());
        }
    }
    let text = format.replace(text, name, &new_entry)?;
    Ok(Edit {
        text,
        entry: new_entry,
    })
}

/// Takes the wrapper out again.
pub(super) fn unwrap(
    format: Format,
    text: &str,
    name: &str,
    entry: &Map<String, Value>,
) -> anyhow::Result<Edit> {
    let kept = entry.get(ENVIRONMENT).and_then(|it| it.get(ENTRY_VARIABLE));
    if let Some(kept) = kept.and_then(Value::as_str) {
        let place = format.places(text, name)?.entry;
        let place = place.context("it is not written in one piece: change the entry yourself")?;
        let found = format.value(kept).context("the kept entry is not valid")?;
        return edited(format, text, name, vec![(place, kept.to_owned())], found);
    }
    let arguments = entry.get(ARGUMENTS).and_then(Value::as_array);
    let arguments = arguments.map(Vec::as_slice).unwrap_or_default();
    let dashes = arguments.iter().position(|argument| argument == "--");
    let old = dashes.map(|at| at + 1).filter(|at| *at < arguments.len());
    let old = old.with_context(|| {
        format!("`{name}` does not say what it was before: restore it from its backup")
    })?;
    let places = format.places(text, name)?;
    let command = places.command.context("the command has no place")?;
    let list = places.arguments.context("the arguments have no place")?;
    let [first, item] = [list.items.first(), list.items.get(old)];
    let (first, item) = first.zip(item).context("the arguments have no place")?;

    let mut unwrapped = entry.clone();
    unwrapped.insert(COMMAND.to_owned(), arguments[old].clone());
    let mut changes = vec![(command.clone(), text[item.clone()].to_owned())];
    let added = places.behind_command.map(|(at, between)| {
        let member = format.member(ARGUMENTS, &text[list.list.clone()]);
        (at, format!("{between}{member}"))
    });
    match (list.items.get(old + 1), added) {
        (Some(next), _) => changes.push((first.start..next.start, String::new())),
        // There were no arguments, and the list is written as `wrap` writes it.
        (None, Some((at, added))) if text[at..].starts_with(&added) => {
            changes.push((at..at + added.len(), String::new()));
            unwrapped.shift_remove(ARGUMENTS);
        }
        (None, _) => changes.push((first.start..item.end, String::new())),
    }
    if unwrapped.contains_key(ARGUMENTS) {
        unwrapped.insert(ARGUMENTS.to_owned(), Value::from(&arguments[old + 1..]));
    }
    edited(format, text, name, changes, unwrapped)
}

fn started(wrapper: &Wrapper<'_>) -> Vec<String> {
    let mut arguments = vec!["wrap".to_owned()];
    arguments.extend(wrapper.options.iter().cloned());
    arguments
}

/// A text that is written so in JSON and in TOML.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Makes changes, and fails unless they mean what they were made for.
fn edited(
    format: Format,
    text: &str,
    name: &str,
    mut changes: Vec<(Range<usize>, String)>,
    entry: Map<String, Value>,
) -> anyhow::Result<Edit> {
    changes.sort_by_key(|(range, _)| range.start);
    let mut result = text.to_owned();
    for (range, new) in changes.iter().rev() {
        result.replace_range(range.clone(), new);
    }
    let text = format.ensure_meaning(text, result, name, Some(&entry))?;
    Ok(Edit { text, entry })
}

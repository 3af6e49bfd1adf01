//! A file that holds one secret: a key, or the value of a header or variable.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, ensure};
use zeroize::Zeroizing;

use crate::output;

/// The largest file, in bytes.
const MAX_BYTES: usize = 64 << 10;

/// Reads a file, without the line breaks at its end. `what` is what errors call its content.
pub(crate) fn read_secret(path: &Path, what: &str) -> anyhow::Result<Zeroizing<String>> {
    let failed = || format!("cannot read the {what} in {}", output::sanitize_path(path));
    let file = File::open(path).with_context(failed)?;
    // Full capacity at once: growing would leave copies of the secret in memory.
    let mut text = Zeroizing::new(String::with_capacity(MAX_BYTES + 1));
    file.take(MAX_BYTES as u64 + 1)
        .read_to_string(&mut text)
        .with_context(failed)?;
    ensure!(
        text.len() <= MAX_BYTES,
        "{} is too large to hold a {what}",
        output::sanitize_path(path)
    );
    Ok(Zeroizing::new(
        text.trim_end_matches(['\n', '\r']).to_owned(),
    ))
}

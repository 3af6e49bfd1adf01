//! The key-encryption keys, by version.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

use super::cipher::Key;
use super::{KeyLineFault, KeyRingError, Secret};
use crate::Entropy;

/// Key-encryption keys by version. One of them seals: the highest version, unless the text names
/// another.
///
/// As text, one key per line, in any order; empty lines and comments (`#`) are ignored. A line
/// `seal_with v1` lets processes that share a store get to know a new key one after the other, before
/// any of them seals with it:
///
/// ```
/// use entreat_engine::KeyRing;
///
/// let keys = KeyRing::from_text("
///     ## since March
///     v2 oBPQQDFvCkoIJwMYpG5F0rBwzXzIIqEZN3mvU3sRp1A=
///     v1 jOlZzQnMC4pSbwVDYpJZjFL0m2zHNDQ3qp5sxJyqqUI=
/// ")?;
/// assert_eq!(keys.sealing_version(), 2);
/// assert_eq!(format!("{keys:?}"), "KeyRing { versions: [1, 2] }");
/// # Ok::<(), entreat_engine::KeyRingError>(())
/// ```
pub struct KeyRing {
    // Separate from the others, so that there always is one.
    sealing: (u32, Key),
    others: BTreeMap<u32, Key>,
    /// Whether the text names the sealing key.
    is_named: bool,
}

impl KeyRing {
    /// Generates a ring with one key, v1.
    pub fn generate(entropy: &dyn Entropy) -> Self {
        Self {
            sealing: (1, Key::random(entropy)),
            others: BTreeMap::new(),
            is_named: false,
        }
    }

    /// Parses the format of [`to_text`](Self::to_text).
    ///
    /// Fails at the first line that is neither a key nor a comment nor `seal_with`, or that repeats
    /// a version or a key, and if there is no key, or not the one to seal with. Errors never quote
    /// the text.
    pub fn from_text(text: &str) -> Result<Self, KeyRingError> {
        let mut keys = BTreeMap::new();
        let mut seal_with = None;
        for (place, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let read = match line.strip_prefix("seal_with") {
                Some(version) => read_seal_with(version, &mut seal_with),
                None => read_line(line, &mut keys),
            };
            read.map_err(|fault| KeyRingError::Line {
                line: place + 1,
                fault,
            })?;
        }
        let newest = keys.keys().next_back().ok_or(KeyRingError::Empty)?;
        let version = seal_with.unwrap_or(*newest);
        let sealing = keys.remove_entry(&version);
        Ok(Self {
            sealing: sealing.ok_or(KeyRingError::NoSealingKey { version })?,
            others: keys,
            is_named: seal_with.is_some(),
        })
    }

    /// Returns all keys as text, oldest first. Store it where only the service can read it.
    pub fn to_text(&self) -> Secret {
        // `v`, ten digits, a space, 44 characters, a line break; growing would leave copies.
        const LINE: usize = 1 + 10 + 1 + KEY_IN_BASE64 + 1;
        // One line more, for `seal_with`.
        let mut text = Zeroizing::new(Vec::with_capacity((self.others.len() + 2) * LINE));
        if self.is_named {
            text.extend_from_slice(format!("seal_with v{}\n", self.sealing.0).as_bytes());
        }
        for (version, key) in self.iter() {
            let mut encoded = Zeroizing::new([0; KEY_IN_BASE64]);
            // The buffer has the exact length for 32 bytes, so this cannot fail.
            let length = STANDARD
                .encode_slice(key.expose(), &mut encoded[..])
                .unwrap_or_default();
            text.extend_from_slice(format!("v{version} ").as_bytes());
            text.extend_from_slice(&encoded[..length]);
            text.push(b'\n');
        }
        text.into()
    }

    /// Generates a new key, which seals from now on, and returns its version.
    ///
    /// Fails if versions are exhausted.
    pub fn add_newest(&mut self, entropy: &dyn Entropy) -> Result<u32, KeyRingError> {
        let newest = self.versions().last().unwrap_or(self.sealing.0);
        let version = newest.checked_add(1).ok_or(KeyRingError::Full)?;
        let (old, key) = std::mem::replace(&mut self.sealing, (version, Key::random(entropy)));
        self.others.insert(old, key);
        self.is_named = false;
        Ok(version)
    }

    /// Returns the version of the key that seals.
    pub fn sealing_version(&self) -> u32 {
        self.sealing.0
    }

    /// Returns all versions, lowest first.
    pub fn versions(&self) -> impl Iterator<Item = u32> {
        self.iter().map(|(version, _)| version)
    }

    /// Derives keys for another purpose, one per version: that of the sealing key first, which is
    /// for new values, then the others, newest first.
    ///
    /// The purpose is a unique constant, such as `entreat 2026-11 page links`. A derived key
    /// reveals nothing about the ring.
    pub fn derive(&self, purpose: &'static str) -> Vec<(u32, Zeroizing<[u8; 32]>)> {
        let derive = |(version, key): (u32, &Key)| {
            let derived = blake3::derive_key(purpose, key.expose());
            (version, Zeroizing::new(derived))
        };
        let others = self.others.iter().rev();
        let others = others.map(|(version, key)| (*version, key));
        [self.sealing()]
            .into_iter()
            .chain(others)
            .map(derive)
            .collect()
    }

    pub(super) fn sealing(&self) -> (u32, &Key) {
        (self.sealing.0, &self.sealing.1)
    }

    pub(super) fn get(&self, version: u32) -> Option<&Key> {
        if version == self.sealing.0 {
            Some(&self.sealing.1)
        } else {
            self.others.get(&version)
        }
    }

    /// All keys, lowest version first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Key)> {
        let below = self.others.range(..self.sealing.0);
        let above = self.others.range(self.sealing.0..);
        let key = |(version, key): (&u32, _)| (*version, key);
        below.map(key).chain([self.sealing()]).chain(above.map(key))
    }
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyRing")
            .field("versions", &self.versions().collect::<Vec<_>>())
            .finish()
    }
}

const KEY_IN_BASE64: usize = 44;

fn read_line(line: &str, keys: &mut BTreeMap<u32, Key>) -> Result<(), KeyLineFault> {
    let mut words = line.split_whitespace();
    let (Some(version), Some(key), None) = (words.next(), words.next(), words.next()) else {
        return Err(KeyLineFault::Shape);
    };
    let version = read_version(version).ok_or(KeyLineFault::Version)?;
    let key = read_key(key)?;
    if keys.contains_key(&version) {
        return Err(KeyLineFault::VersionTwice(version));
    }
    if let Some((twin, _)) = keys.iter().find(|(_, old)| old.expose() == key.expose()) {
        return Err(KeyLineFault::KeyTwice(*twin));
    }
    keys.insert(version, key);
    Ok(())
}

fn read_seal_with(rest: &str, seal_with: &mut Option<u32>) -> Result<(), KeyLineFault> {
    let version = rest.trim_start();
    if version.len() == rest.len() {
        return Err(KeyLineFault::Shape);
    }
    let version = read_version(version).ok_or(KeyLineFault::Version)?;
    match seal_with.replace(version) {
        None => Ok(()),
        Some(_) => Err(KeyLineFault::SealWithTwice),
    }
}

fn read_version(word: &str) -> Option<u32> {
    let digits = word.strip_prefix('v')?;
    // Also rejects the sign that `parse` would accept.
    if !digits.starts_with(|first: char| matches!(first, '1'..='9')) {
        return None;
    }
    digits.parse().ok()
}

fn read_key(word: &str) -> Result<Key, KeyLineFault> {
    let mut bytes = Zeroizing::new(vec![0; base64::decoded_len_estimate(word.len())]);
    let length = STANDARD
        .decode_slice(word, &mut bytes)
        .map_err(|_| KeyLineFault::Base64)?;
    Key::from_slice(&bytes[..length]).ok_or(KeyLineFault::Length(length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SystemEntropy;

    const ONE: &str = "jOlZzQnMC4pSbwVDYpJZjFL0m2zHNDQ3qp5sxJyqqUI=";
    const TWO: &str = "oBPQQDFvCkoIJwMYpG5F0rBwzXzIIqEZN3mvU3sRp1A=";

    fn fault(text: &str) -> (usize, KeyLineFault) {
        match KeyRing::from_text(text) {
            Err(KeyRingError::Line { line, fault }) => (line, fault),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_ring_is_read_back_from_its_text() {
        let entropy = SystemEntropy::new().unwrap();
        let mut keys = KeyRing::generate(&entropy);
        assert_eq!(keys.add_newest(&entropy), Ok(2));
        assert_eq!(keys.add_newest(&entropy), Ok(3));
        let text = keys.to_text();
        let text = std::str::from_utf8(text.expose()).unwrap();
        let read = KeyRing::from_text(text).unwrap();
        assert_eq!(read.versions().collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(read.sealing_version(), 3);
        for (version, key) in keys.iter() {
            assert_eq!(read.get(version).unwrap().expose(), key.expose());
        }
    }

    #[test]
    fn the_highest_version_is_the_newest_wherever_it_stands() {
        let text = format!("v10 {ONE}\r\n\n  # a note\nv9\t{TWO}");
        let keys = KeyRing::from_text(&text).unwrap();
        assert_eq!(keys.sealing_version(), 10);
        assert_eq!(
            keys.to_text().expose(),
            format!("v9 {TWO}\nv10 {ONE}\n").as_bytes()
        );
    }

    #[test]
    fn a_line_says_which_key_seals_and_the_others_still_open() {
        let entropy = SystemEntropy::new().unwrap();
        let text = format!("v1 {ONE}\nv2 {TWO}\nseal_with  v1\n");
        let mut keys = KeyRing::from_text(&text).unwrap();
        assert_eq!(keys.sealing_version(), 1);
        assert_eq!(keys.versions().collect::<Vec<_>>(), [1, 2]);
        let derived: Vec<_> = keys.derive("links").iter().map(|(it, _)| *it).collect();
        assert_eq!(derived, [1, 2]);
        assert!(keys.get(2).is_some());
        let written = keys.to_text();
        let expected = format!("seal_with v1\nv1 {ONE}\nv2 {TWO}\n");
        assert_eq!(written.expose(), expected.as_bytes());
        // A key that is made here is to be used.
        assert_eq!(keys.add_newest(&entropy), Ok(3));
        assert_eq!(keys.sealing_version(), 3);
        assert_eq!(keys.versions().collect::<Vec<_>>(), [1, 2, 3]);

        let missing = KeyRing::from_text(&format!("seal_with v9\nv1 {ONE}")).unwrap_err();
        assert_eq!(missing, KeyRingError::NoSealingKey { version: 9 });
    }

    #[test]
    fn a_faulty_line_is_named() {
        let last = ONE.replace("UI=", "UJ=");
        for (line, expected) in [
            ("v1".to_owned(), KeyLineFault::Shape),
            (ONE.to_owned(), KeyLineFault::Shape),
            (format!("v1 {ONE} # mine"), KeyLineFault::Shape),
            (format!("v1 {ONE} v2 {TWO}"), KeyLineFault::Shape),
            (format!("1 {ONE}"), KeyLineFault::Version),
            (format!("V1 {ONE}"), KeyLineFault::Version),
            (format!("v0 {ONE}"), KeyLineFault::Version),
            (format!("v01 {ONE}"), KeyLineFault::Version),
            (format!("v+1 {ONE}"), KeyLineFault::Version),
            (format!("v-1 {ONE}"), KeyLineFault::Version),
            (format!("v4294967296 {ONE}"), KeyLineFault::Version),
            (format!("v {ONE}"), KeyLineFault::Version),
            ("v1 jOlZ".to_owned(), KeyLineFault::Length(3)),
            (format!("v1 {ONE}{TWO}"), KeyLineFault::Base64),
            (format!("v1 {}", &ONE[..43]), KeyLineFault::Base64),
            (
                format!("v1 {}", ONE.replace('/', "_").replace('O', "-")),
                KeyLineFault::Base64,
            ),
            (format!("v1 {last}"), KeyLineFault::Base64),
            (format!("v1 {}", "A".repeat(64)), KeyLineFault::Length(48)),
            ("seal_with".to_owned(), KeyLineFault::Shape),
            ("seal_withv7".to_owned(), KeyLineFault::Shape),
            ("seal_with 7".to_owned(), KeyLineFault::Version),
            ("seal_with v7 v8".to_owned(), KeyLineFault::Version),
            (format!("v7 {ONE}"), KeyLineFault::VersionTwice(7)),
            (format!("v8 {TWO}"), KeyLineFault::KeyTwice(7)),
        ] {
            let text = format!("# keys\nv7 {TWO}\n{line}\n");
            assert_eq!(fault(&text), (3, expected), "{line}");
        }
    }

    #[test]
    fn a_text_without_keys_is_no_ring() {
        for text in ["", "\n\n", "# v1\n"] {
            assert_eq!(KeyRing::from_text(text).err(), Some(KeyRingError::Empty));
        }
    }

    #[test]
    fn derived_keys_follow_the_ring_and_the_purpose() {
        let old = KeyRing::from_text(&format!("v1 {ONE}")).unwrap();
        let new = KeyRing::from_text(&format!("v1 {ONE}\nv2 {TWO}")).unwrap();
        let links = new.derive("links");
        assert_eq!([links[0].0, links[1].0], [2, 1]);
        assert_eq!(links[1], old.derive("links")[0]);
        assert_ne!(links[0].1, links[1].1);
        assert_ne!(links, new.derive("files"));
    }

    #[test]
    fn no_message_quotes_the_key() {
        let text = format!("v1 {ONE}x");
        let error = KeyRing::from_text(&text).unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(shown.starts_with("line 1 of the key file: the key is not base64"));
        assert!(!shown.contains(&ONE[..4]));
    }

    #[test]
    fn a_ring_at_the_last_version_takes_no_more() {
        let mut keys = KeyRing::from_text(&format!("v4294967295 {ONE}")).unwrap();
        let entropy = SystemEntropy::new().unwrap();
        assert_eq!(keys.add_newest(&entropy), Err(KeyRingError::Full));
        assert_eq!(keys.versions().collect::<Vec<_>>(), [u32::MAX]);
    }
}

//! Seals what a call has to remember between two rounds, which travels through the client.
//!
//! Encrypted and authenticated by a key ring that rotates. What a state is bound to lies inside:
//! whoever brings it cannot tell which check failed, and our log can.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead as _, AeadInOut as _, KeyInit as _, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use entreat_core::UnixTime;
use entreat_engine::Engine;
use rmcp::ErrorData;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::journal::Journal;

/// What keys are derived for; another purpose has others.
const PURPOSE: &str = "entreat mcp request state";
/// The first byte of a state; another way to seal would have another.
const FORMAT: u8 = 2;
const NONCE: usize = 24;
const HEADER: usize = 1 + 4 + NONCE;
const TAG: usize = 16;

/// What a state belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Binding {
    /// Who calls.
    pub(crate) principal: String,
    /// The method, and the name of what is called.
    pub(crate) target: String,
    /// What it is called with.
    pub(crate) arguments: Digest,
}

/// What lies in a sealed state.
#[derive(Serialize, Deserialize)]
struct Contents<B, J> {
    binding: B,
    expires: UnixTime,
    journal: J,
}

/// Why a state is not taken. For our log: the client is told that it is not, and no more.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    #[error("it is no state of ours")]
    Foreign,
    #[error("its key {0} is not in the ring")]
    Key(u32),
    #[error("it was altered, or sealed by other keys")]
    Altered,
    #[error("it belongs to another principal")]
    Principal,
    #[error("it belongs to another call")]
    Target,
    #[error("it belongs to other arguments")]
    Arguments,
    #[error("its lifetime has ended")]
    Expired,
    #[error("it was used with other answers")]
    Used,
}

/// Seals states and opens them.
pub(crate) struct Sealer {
    keys: Keys,
    engine: Engine,
}

/// Keys by version, the newest last.
pub(crate) struct Keys(Vec<(u32, XChaCha20Poly1305)>);

/// A state that was opened: which one it is, and what it remembers.
pub(crate) struct Opened {
    pub(crate) id: [u8; NONCE],
    pub(crate) expires: UnixTime,
    pub(crate) journal: Journal,
}

impl Sealer {
    pub(crate) fn new(engine: Engine) -> Self {
        let mut keys: Vec<_> = engine
            .derived_keys(PURPOSE)
            .into_iter()
            .map(|(version, key)| (version, XChaCha20Poly1305::new(&Key::from(*key))))
            .collect();
        keys.sort_unstable_by_key(|(version, _)| *version);
        let keys = Keys(keys);
        Self { keys, engine }
    }

    /// The state as text that a client can carry.
    pub(crate) fn seal(&self, binding: &Binding, expires: UnixTime, journal: &Journal) -> String {
        let contents = Contents {
            binding,
            expires,
            journal,
        };
        // Without the names of members, which cost a client several times their length.
        let text = rmp_serde::to_vec(&contents).expect("these types can always be written");
        URL_SAFE_NO_PAD.encode(self.encrypt(&text, &[]))
    }

    /// What came of a state, to be kept in a store.
    pub(crate) fn seal_outcome(&self, id: [u8; NONCE], text: &[u8]) -> Vec<u8> {
        self.encrypt(text, &outcome_of(id))
    }

    pub(crate) fn open_outcome(&self, id: [u8; NONCE], sealed: &[u8]) -> Result<Vec<u8>, Refused> {
        let opened = self.keys.decrypt(sealed, &outcome_of(id));
        opened.map(|(_, text)| text)
    }

    fn encrypt(&self, text: &[u8], bound: &[u8]) -> Vec<u8> {
        let mut nonce = [0; NONCE];
        self.engine.fill_random(&mut nonce);
        self.keys.encrypt(text, bound, nonce)
    }

    /// Opens a state if it is ours, unaltered, of this call, and not too old.
    pub(crate) fn open(&self, state: &str, binding: &Binding) -> Result<Opened, Refused> {
        self.keys.open(state, binding, self.engine.now())
    }
}

impl Keys {
    /// A single key that everybody knows: for fuzz targets.
    pub(crate) fn known() -> Self {
        Self(vec![(1, XChaCha20Poly1305::new(&Key::from([7; 32])))])
    }

    /// Encrypts under the newest key, bound to something.
    pub(crate) fn encrypt(&self, text: &[u8], bound: &[u8], nonce: [u8; NONCE]) -> Vec<u8> {
        let (version, cipher) = self.0.last().expect("a key ring has a key");
        let mut sealed = Vec::with_capacity(HEADER + text.len() + TAG);
        sealed.push(FORMAT);
        sealed.extend(version.to_be_bytes());
        let aad = [&sealed[..], bound].concat();
        sealed.extend(nonce);
        sealed.extend_from_slice(text);
        let place = (&mut sealed[HEADER..]).into();
        let tag = cipher.encrypt_inout_detached(&XNonce::from(nonce), &aad, place);
        sealed.extend_from_slice(&tag.expect("the text is shorter than 256 GiB"));
        sealed
    }

    /// What was encrypted, and under which nonce.
    fn decrypt(&self, sealed: &[u8], bound: &[u8]) -> Result<([u8; NONCE], Vec<u8>), Refused> {
        let (header, cipher_text) = sealed
            .split_first_chunk::<HEADER>()
            .ok_or(Refused::Foreign)?;
        let [FORMAT, v0, v1, v2, v3, nonce @ ..] = *header else {
            return Err(Refused::Foreign);
        };
        let version = u32::from_be_bytes([v0, v1, v2, v3]);
        let key = self.0.iter().find(|(known, _)| *known == version);
        let (_, cipher) = key.ok_or(Refused::Key(version))?;
        let aad = [&header[..5], bound].concat();
        let payload = Payload {
            msg: cipher_text,
            aad: &aad,
        };
        let text = cipher.decrypt(&XNonce::from(nonce), payload);
        Ok((nonce, text.map_err(|_| Refused::Altered)?))
    }

    pub(crate) fn open(
        &self,
        state: &str,
        binding: &Binding,
        now: UnixTime,
    ) -> Result<Opened, Refused> {
        let sealed = URL_SAFE_NO_PAD
            .decode(state)
            .map_err(|_| Refused::Foreign)?;
        let (nonce, text) = self.decrypt(&sealed, &[])?;
        let contents: Contents<Binding, Journal> =
            rmp_serde::from_slice(&text).map_err(|_| Refused::Foreign)?;
        let found = contents.binding;
        if found.principal != binding.principal {
            return Err(Refused::Principal);
        }
        if found.target != binding.target {
            return Err(Refused::Target);
        }
        if found.arguments != binding.arguments {
            return Err(Refused::Arguments);
        }
        if now >= contents.expires {
            return Err(Refused::Expired);
        }
        Ok(Opened {
            id: nonce,
            expires: contents.expires,
            journal: contents.journal,
        })
    }
}

/// What the outcome of a state is bound to, so that no state is taken for one.
fn outcome_of(id: [u8; NONCE]) -> Vec<u8> {
    [b"outcome of ", &id[..]].concat()
}

/// One message for every reason; which it was is for our log.
pub(crate) fn refused(reason: &Refused, name: &str) -> ErrorData {
    tracing::warn!(%reason, name, "a request state was refused");
    ErrorData::invalid_params("requestState is not valid for this request", None)
}

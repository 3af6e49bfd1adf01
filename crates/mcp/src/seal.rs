//! Seals the state of a call between rounds, which travels through the client.
//!
//! States are encrypted and authenticated with a rotating key ring. What a state is bound to is
//! inside, so that the log can name the failed check while the client cannot tell.

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

/// The key derivation context.
const PURPOSE: &str = "entreat mcp request state";
/// The first byte of a state: the version of its format.
const FORMAT: u8 = 2;
const NONCE: usize = 24;
const HEADER: usize = 1 + 4 + NONCE;
const TAG: usize = 16;

/// What a state is bound to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Binding {
    /// The caller.
    pub(crate) principal: String,
    /// The method, and the name of the tool, prompt or resource.
    pub(crate) target: String,
    /// The digest of the arguments.
    pub(crate) arguments: Digest,
}

/// The plaintext of a state.
#[derive(Serialize, Deserialize)]
struct Contents<B, J> {
    binding: B,
    expires: UnixTime,
    journal: J,
}

/// Why a state is rejected. Only logged: the client gets one message for all reasons.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RejectReason {
    #[error("it is not a state issued here")]
    Foreign,
    #[error("its key {0} is not in the ring")]
    Key(u32),
    #[error("it was altered, or sealed with other keys")]
    Altered,
    #[error("it belongs to another principal")]
    Principal,
    #[error("it belongs to another call")]
    Target,
    #[error("it belongs to other arguments")]
    Arguments,
    #[error("it has expired")]
    Expired,
    #[error("it was used with other answers")]
    Used,
}

/// Seals and opens states.
pub(crate) struct Sealer {
    keys: Keys,
    engine: Engine,
}

/// Keys by version, newest last.
pub(crate) struct Keys(Vec<(u32, XChaCha20Poly1305)>);

/// An opened state: its id, expiry and journal.
pub(crate) struct OpenedState {
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

    /// Seals a state as text.
    pub(crate) fn seal(&self, binding: &Binding, expires: UnixTime, journal: &Journal) -> String {
        let contents = Contents {
            binding,
            expires,
            journal,
        };
        // As arrays without member names, to keep states short.
        let text = rmp_serde::to_vec(&contents).expect("these types always serialize");
        URL_SAFE_NO_PAD.encode(self.encrypt(&text, &[]))
    }

    /// Seals the outcome of a state, for a store.
    pub(crate) fn seal_outcome(&self, id: [u8; NONCE], text: &[u8]) -> Vec<u8> {
        self.encrypt(text, &outcome_aad(id))
    }

    pub(crate) fn open_outcome(
        &self,
        id: [u8; NONCE],
        sealed: &[u8],
    ) -> Result<Vec<u8>, RejectReason> {
        let opened = self.keys.decrypt(sealed, &outcome_aad(id));
        opened.map(|(_, text)| text)
    }

    fn encrypt(&self, text: &[u8], bound: &[u8]) -> Vec<u8> {
        let mut nonce = [0; NONCE];
        self.engine.fill_random(&mut nonce);
        self.keys.encrypt(text, bound, nonce)
    }

    /// Opens a state if it is authentic, bound to this call, and not expired.
    pub(crate) fn open(&self, state: &str, binding: &Binding) -> Result<OpenedState, RejectReason> {
        self.keys.open(state, binding, self.engine.now())
    }
}

impl Keys {
    /// A single well-known key, for fuzz targets.
    pub(crate) fn for_fuzzing() -> Self {
        Self(vec![(1, XChaCha20Poly1305::new(&Key::from([7; 32])))])
    }

    /// Encrypts with the newest key; `bound` is additional authenticated data.
    pub(crate) fn encrypt(&self, text: &[u8], bound: &[u8], nonce: [u8; NONCE]) -> Vec<u8> {
        let (version, cipher) = self.0.last().expect("the key ring is never empty");
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

    /// Decrypts, and returns the nonce and the plaintext.
    fn decrypt(&self, sealed: &[u8], bound: &[u8]) -> Result<([u8; NONCE], Vec<u8>), RejectReason> {
        let (header, cipher_text) = sealed
            .split_first_chunk::<HEADER>()
            .ok_or(RejectReason::Foreign)?;
        let [FORMAT, v0, v1, v2, v3, nonce @ ..] = *header else {
            return Err(RejectReason::Foreign);
        };
        let version = u32::from_be_bytes([v0, v1, v2, v3]);
        let key = self.0.iter().find(|(known, _)| *known == version);
        let (_, cipher) = key.ok_or(RejectReason::Key(version))?;
        let aad = [&header[..5], bound].concat();
        let payload = Payload {
            msg: cipher_text,
            aad: &aad,
        };
        let text = cipher.decrypt(&XNonce::from(nonce), payload);
        Ok((nonce, text.map_err(|_| RejectReason::Altered)?))
    }

    pub(crate) fn open(
        &self,
        state: &str,
        binding: &Binding,
        now: UnixTime,
    ) -> Result<OpenedState, RejectReason> {
        let sealed = URL_SAFE_NO_PAD
            .decode(state)
            .map_err(|_| RejectReason::Foreign)?;
        let (nonce, text) = self.decrypt(&sealed, &[])?;
        let contents: Contents<Binding, Journal> =
            rmp_serde::from_slice(&text).map_err(|_| RejectReason::Foreign)?;
        let found = contents.binding;
        if found.principal != binding.principal {
            return Err(RejectReason::Principal);
        }
        if found.target != binding.target {
            return Err(RejectReason::Target);
        }
        if found.arguments != binding.arguments {
            return Err(RejectReason::Arguments);
        }
        if now >= contents.expires {
            return Err(RejectReason::Expired);
        }
        Ok(OpenedState {
            id: nonce,
            expires: contents.expires,
            journal: contents.journal,
        })
    }
}

/// The additional data of a state's outcome, which keeps outcomes and states apart.
fn outcome_aad(id: [u8; NONCE]) -> Vec<u8> {
    [b"outcome of ", &id[..]].concat()
}

/// Logs the reason; the client gets the same error for all of them.
pub(crate) fn reject_state(reason: &RejectReason, name: &str) -> ErrorData {
    tracing::warn!(%reason, name, "a request state was refused");
    ErrorData::invalid_params("requestState is not valid for this request", None)
}

//! Seals what travels through a client between the rounds of a call.
//!
//! A state is encrypted and authenticated with a rotating key ring. What it is bound to is inside,
//! so that the log can name the failed check while the client cannot tell. What it contains is up
//! to its owner.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead as _, AeadInOut as _, KeyInit as _, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use entreat_core::UnixTime;
use entreat_engine::Engine;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;

/// The first byte of a state: the version of its format.
const FORMAT: u8 = 2;
const NONCE: usize = 24;
const HEADER: usize = 1 + 4 + NONCE;
const TAG: usize = 16;

/// Identifies a state.
pub type StateId = [u8; NONCE];

/// What a state is bound to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// The caller.
    pub principal: String,
    /// The method, and the name of the tool, prompt or resource.
    pub target: String,
    /// The digest of the arguments.
    pub arguments: Digest,
}

/// The plaintext of a state.
#[derive(Serialize, Deserialize)]
struct Plaintext<B, C> {
    binding: B,
    expires: UnixTime,
    contents: C,
}

/// Why a state is rejected. Log it; give the client one message for all reasons.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RejectReason {
    /// It is not in the format of a state.
    #[error("it is not a state issued here")]
    Foreign,
    /// Its key is unknown, or was removed.
    #[error("its key {0} is not in the ring")]
    Key(u32),
    /// It is not authentic.
    #[error("it was altered, or sealed with other keys")]
    Altered,
    /// Somebody else began the call.
    #[error("it belongs to another principal")]
    Principal,
    /// It belongs to another tool, prompt or resource.
    #[error("it belongs to another call")]
    Target,
    /// It belongs to a call with other arguments.
    #[error("it belongs to other arguments")]
    Arguments,
    /// It is too old.
    #[error("it has expired")]
    Expired,
    /// It was used already.
    #[error("it was used with other answers")]
    Used,
}

/// Seals and opens states.
pub struct Sealer {
    keys: Keys,
    engine: Engine,
}

/// An opened state.
#[derive(Debug)]
pub struct OpenedState<C> {
    /// Its id.
    pub id: StateId,
    /// When it expires.
    pub expires: UnixTime,
    /// What its owner put into it.
    pub contents: C,
}

impl Sealer {
    /// Derives keys from the engine's, so that states of one purpose are none for another.
    pub fn new(engine: Engine, purpose: &'static str) -> Self {
        let derived = engine.derived_keys(purpose);
        let keys = Keys::new(derived.iter().map(|(version, key)| (*version, **key)));
        Self { keys, engine }
    }

    /// Seals a state as text.
    ///
    /// # Panics
    ///
    /// If the contents fail to serialize, which types with a derived implementation do not.
    pub fn seal(&self, binding: &Binding, expires: UnixTime, contents: &impl Serialize) -> String {
        let plaintext = Plaintext {
            binding,
            expires,
            contents,
        };
        // As arrays without member names, to keep states short.
        let text = rmp_serde::to_vec(&plaintext).expect("derived implementations always serialize");
        URL_SAFE_NO_PAD.encode(self.encrypt(&text, &[]))
    }

    /// Opens a state if it is authentic, bound to this call, and not expired.
    pub fn open<C: DeserializeOwned>(
        &self,
        state: &str,
        binding: &Binding,
    ) -> Result<OpenedState<C>, RejectReason> {
        self.keys.open(state, binding, self.engine.now())
    }

    /// Seals the outcome of a state, for a store.
    pub fn seal_outcome(&self, id: StateId, text: &[u8]) -> Vec<u8> {
        self.encrypt(text, &outcome_aad(id))
    }

    /// Opens the outcome of a state.
    pub fn open_outcome(&self, id: StateId, sealed: &[u8]) -> Result<Vec<u8>, RejectReason> {
        let opened = self.keys.decrypt(sealed, &outcome_aad(id));
        opened.map(|(_, text)| text)
    }

    /// Seals what is kept here under a name.
    pub fn seal_kept(&self, name: &[u8], text: &[u8]) -> Vec<u8> {
        self.encrypt(text, &kept_aad(name))
    }

    /// Opens what is kept under a name.
    pub fn open_kept(&self, name: &[u8], sealed: &[u8]) -> Result<Vec<u8>, RejectReason> {
        let opened = self.keys.decrypt(sealed, &kept_aad(name));
        opened.map(|(_, text)| text)
    }

    fn encrypt(&self, text: &[u8], bound: &[u8]) -> Vec<u8> {
        let mut nonce = [0; NONCE];
        self.engine.fill_random(&mut nonce);
        self.keys.encrypt(text, bound, nonce)
    }
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sealer").finish_non_exhaustive()
    }
}

/// Keys by version, newest last.
struct Keys(Vec<(u32, XChaCha20Poly1305)>);

impl Keys {
    fn new(keys: impl Iterator<Item = (u32, [u8; 32])>) -> Self {
        let cipher = |key| XChaCha20Poly1305::new(&Key::from(key));
        let mut keys: Vec<_> = keys.map(|(version, key)| (version, cipher(key))).collect();
        keys.sort_unstable_by_key(|(version, _)| *version);
        Self(keys)
    }

    /// Encrypts with the newest key; `bound` is additional authenticated data.
    fn encrypt(&self, text: &[u8], bound: &[u8], nonce: [u8; NONCE]) -> Vec<u8> {
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

    fn open<C: DeserializeOwned>(
        &self,
        state: &str,
        binding: &Binding,
        now: UnixTime,
    ) -> Result<OpenedState<C>, RejectReason> {
        let sealed = URL_SAFE_NO_PAD
            .decode(state)
            .map_err(|_| RejectReason::Foreign)?;
        let (id, text) = self.decrypt(&sealed, &[])?;
        let plaintext: Plaintext<Binding, C> =
            rmp_serde::from_slice(&text).map_err(|_| RejectReason::Foreign)?;
        let found = plaintext.binding;
        if found.principal != binding.principal {
            return Err(RejectReason::Principal);
        }
        if found.target != binding.target {
            return Err(RejectReason::Target);
        }
        if found.arguments != binding.arguments {
            return Err(RejectReason::Arguments);
        }
        if now >= plaintext.expires {
            return Err(RejectReason::Expired);
        }
        Ok(OpenedState {
            id,
            expires: plaintext.expires,
            contents: plaintext.contents,
        })
    }
}

/// The additional data of a state's outcome, which keeps outcomes and states apart.
fn outcome_aad(id: StateId) -> Vec<u8> {
    [b"outcome of ", &id[..]].concat()
}

/// The additional data of what is kept, so that nothing passes for something of another name.
fn kept_aad(name: &[u8]) -> Vec<u8> {
    [b"kept as ", name].concat()
}

/// Opens bytes as a state of a client, then as the plaintext of a state of ours. For fuzz targets.
#[doc(hidden)]
pub fn fuzz<C: DeserializeOwned>(bytes: &[u8]) {
    let keys = Keys::new([(1, [7; 32])].into_iter());
    let binding = Binding {
        principal: String::new(),
        target: String::new(),
        arguments: Digest::of_members([]),
    };
    let now = UnixTime::from_millis(0);
    if let Ok(text) = std::str::from_utf8(bytes) {
        drop(keys.open::<C>(text, &binding, now));
    }
    let sealed = keys.encrypt(bytes, &[], [0; NONCE]);
    drop(keys.open::<C>(&URL_SAFE_NO_PAD.encode(sealed), &binding, now));
}

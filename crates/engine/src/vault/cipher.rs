//! XChaCha20-Poly1305 with one key.
//!
//! A message is nonce, ciphertext and tag. Nonces are random: at 24 bytes they do not collide, so
//! no counter is needed.

use chacha20poly1305::{AeadInOut, KeyInit, XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

use crate::Entropy;

const KEY: usize = 32;
const NONCE: usize = 24;
const TAG: usize = 16;

/// Length of nonce and tag.
pub(super) const OVERHEAD: usize = NONCE + TAG;

/// Length of an encrypted key.
pub(super) const WRAPPED_KEY: usize = KEY + OVERHEAD;

/// A key, wiped on drop.
///
/// Boxed, because a move would leave a copy behind.
pub(super) struct Key(Box<Zeroizing<[u8; KEY]>>);

impl Key {
    pub(super) fn random(entropy: &dyn Entropy) -> Self {
        let mut key = Self(Box::default());
        entropy.fill(&mut key.0[..]);
        key
    }

    /// Returns a key if the length is right.
    pub(super) fn from_slice(bytes: &[u8]) -> Option<Self> {
        if bytes.len() != KEY {
            return None;
        }
        let mut key = Self(Box::default());
        key.0.copy_from_slice(bytes);
        Some(key)
    }

    pub(super) fn expose(&self) -> &[u8; KEY] {
        &self.0
    }

    /// Encrypts, and authenticates the associated data.
    #[expect(
        clippy::expect_used,
        reason = "the cipher only fails beyond 256 GiB, which no answer reaches"
    )]
    pub(super) fn encrypt(
        &self,
        associated: &[u8],
        plaintext: &[u8],
        entropy: &dyn Entropy,
    ) -> Box<[u8]> {
        let mut nonce = XNonce::default();
        entropy.fill(&mut nonce);
        // Full capacity: growing would leave a copy of the plaintext behind.
        let mut message = Vec::with_capacity(plaintext.len() + OVERHEAD);
        message.extend_from_slice(&nonce);
        message.extend_from_slice(plaintext);
        let tag = self
            .cipher()
            .encrypt_inout_detached(&nonce, associated, (&mut message[NONCE..]).into())
            .expect("a plaintext is shorter than 256 GiB");
        message.extend_from_slice(&tag);
        message.into_boxed_slice()
    }

    /// Decrypts; `None` if message or associated data were altered.
    pub(super) fn decrypt(&self, associated: &[u8], message: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let (nonce, rest) = message.split_first_chunk::<NONCE>()?;
        let (ciphertext, tag) = rest.split_last_chunk::<TAG>()?;
        let mut buffer = Zeroizing::new(ciphertext.to_vec());
        self.cipher()
            .decrypt_inout_detached(
                nonce.into(),
                associated,
                buffer.as_mut_slice().into(),
                tag.into(),
            )
            .ok()?;
        Some(buffer)
    }

    /// Authenticates data without encrypting. A nonce must never be used for two texts.
    #[expect(
        clippy::expect_used,
        reason = "the cipher only fails beyond 256 GiB, and nothing is encrypted here"
    )]
    pub(super) fn tag(&self, nonce: [u8; NONCE], associated: &[u8]) -> [u8; TAG] {
        self.cipher()
            .encrypt_inout_detached(&nonce.into(), associated, (&mut [][..]).into())
            .expect("an empty plaintext is shorter than 256 GiB")
            .into()
    }

    /// Verifies a [`tag`](Self::tag) in constant time.
    pub(super) fn has_tag(&self, nonce: [u8; NONCE], associated: &[u8], tag: &[u8; TAG]) -> bool {
        self.cipher()
            .decrypt_inout_detached(&nonce.into(), associated, (&mut [][..]).into(), tag.into())
            .is_ok()
    }

    /// Wiped on drop by the cipher's feature `zeroize`.
    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(self.expose().into())
    }
}

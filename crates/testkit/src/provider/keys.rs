//! Keys to sign with, and what is published of them.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
    EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RSA_PSS_SHA256,
    RsaEncoding, RsaKeyPair,
};
use serde_json::{Value, json};

/// Making one takes too long, and `ring` does not. These sign nothing outside tests.
const RSA: [&[u8]; 2] = [include_bytes!("rsa-1.pk8"), include_bytes!("rsa-2.pk8")];

/// How a [`Provider`](super::Provider) signs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SigningAlgorithm {
    /// ECDSA on P-256.
    #[default]
    Es256,
    /// ECDSA on P-384.
    Es384,
    /// Ed25519.
    EdDsa,
    /// RSA with PKCS #1 padding. There are two keys; after them, the first one comes again.
    Rs256,
    /// RSA with PSS padding, with the keys of [`Rs256`](Self::Rs256).
    Ps256,
}

impl SigningAlgorithm {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Es256,
        Self::Es384,
        Self::EdDsa,
        Self::Rs256,
        Self::Ps256,
    ];
}

/// A key and its id.
pub(super) struct SigningKey {
    pub(super) id: String,
    algorithm: SigningAlgorithm,
    pair: Pair,
}

enum Pair {
    Ecdsa(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    Rsa(RsaKeyPair, &'static dyn RsaEncoding),
}

impl SigningKey {
    /// Makes a key of this number.
    pub(super) fn new(algorithm: SigningAlgorithm, number: usize) -> Self {
        let pair = match algorithm {
            SigningAlgorithm::Es256 => Pair::Ecdsa(ecdsa(&ECDSA_P256_SHA256_FIXED_SIGNING)),
            SigningAlgorithm::Es384 => Pair::Ecdsa(ecdsa(&ECDSA_P384_SHA384_FIXED_SIGNING)),
            SigningAlgorithm::EdDsa => {
                let made = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new());
                let made = made.expect("the system has randomness");
                let pair = Ed25519KeyPair::from_pkcs8(made.as_ref());
                Pair::Ed25519(pair.expect("it was just made"))
            }
            SigningAlgorithm::Rs256 => Pair::Rsa(rsa(number), &RSA_PKCS1_SHA256),
            SigningAlgorithm::Ps256 => Pair::Rsa(rsa(number), &RSA_PSS_SHA256),
        };
        Self {
            id: format!("key-{number}"),
            algorithm,
            pair,
        }
    }

    /// The algorithm as headers and key sets name it.
    pub(super) fn algorithm(&self) -> &'static str {
        match self.algorithm {
            SigningAlgorithm::Es256 => "ES256",
            SigningAlgorithm::Es384 => "ES384",
            SigningAlgorithm::EdDsa => "EdDSA",
            SigningAlgorithm::Rs256 => "RS256",
            SigningAlgorithm::Ps256 => "PS256",
        }
    }

    pub(super) fn sign(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match &self.pair {
            Pair::Ecdsa(pair) => {
                let signature = pair.sign(&random, message);
                signature
                    .expect("the system has randomness")
                    .as_ref()
                    .into()
            }
            Pair::Ed25519(pair) => pair.sign(message).as_ref().into(),
            Pair::Rsa(pair, encoding) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(*encoding, &random, message, &mut signature)
                    .expect("the system has randomness");
                signature
            }
        }
    }

    /// The public half as bytes, which a careless service takes for a shared secret.
    pub(super) fn public(&self) -> Vec<u8> {
        match &self.pair {
            Pair::Ecdsa(pair) => pair.public_key().as_ref().into(),
            Pair::Ed25519(pair) => pair.public_key().as_ref().into(),
            Pair::Rsa(pair, _) => pair.public_key().as_ref().into(),
        }
    }

    /// The public half as a member of a key set.
    pub(super) fn published(&self) -> Value {
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let mut key = match &self.pair {
            Pair::Ecdsa(pair) => {
                let point = &pair.public_key().as_ref()[1..];
                let (x, y) = point.split_at(point.len() / 2);
                let curve = if x.len() == 32 { "P-256" } else { "P-384" };
                json!({"kty": "EC", "crv": curve, "x": encode(x), "y": encode(y)})
            }
            Pair::Ed25519(pair) => {
                let point = encode(pair.public_key().as_ref());
                json!({"kty": "OKP", "crv": "Ed25519", "x": point})
            }
            Pair::Rsa(pair, _) => {
                let public = PublicKeyComponents::<Vec<u8>>::from(pair.public());
                json!({"kty": "RSA", "n": encode(&public.n), "e": encode(&public.e)})
            }
        };
        key["kid"] = json!(self.id);
        key["use"] = json!("sig");
        key["alg"] = json!(self.algorithm());
        key
    }
}

fn ecdsa(algorithm: &'static EcdsaSigningAlgorithm) -> EcdsaKeyPair {
    let random = SystemRandom::new();
    let made = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("the system has randomness");
    EcdsaKeyPair::from_pkcs8(algorithm, made.as_ref(), &random).expect("it was just made")
}

fn rsa(number: usize) -> RsaKeyPair {
    RsaKeyPair::from_pkcs8(RSA[number % RSA.len()]).expect("the key is valid")
}

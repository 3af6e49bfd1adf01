//! Key sets (RFC 7517): which keys of one are for signatures, and which fits a token.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use entreat_core::document::{Notation, read};
use ring::signature::{RsaPublicKeyComponents, UnparsedPublicKey};
use serde_json::{Map, Value};

use super::IssuerError;
use super::algorithm::Algorithm;

/// The sizes of a modulus that `ring` verifies with, in bytes.
const RSA_MODULUS: std::ops::RangeInclusive<usize> = 256..=1024;
/// The longest exponent that `ring` takes, in bytes.
const MAX_EXPONENT: usize = 5;
/// How many keys of one id are tried.
const MAX_TRIED: usize = 4;

/// The keys of an issuer that tokens may be signed with.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct KeySet(Vec<Key>);

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Key {
    id: Option<String>,
    /// The only algorithm that it is for, if it names one.
    algorithm: Option<Algorithm>,
    material: Material,
}

#[derive(Debug, PartialEq, Eq)]
enum Material {
    Rsa { modulus: Vec<u8>, exponent: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl KeySet {
    /// Reads a key set. Keys that are for something else, or too weak, are left out.
    pub(super) fn read(text: &str) -> Result<Self, IssuerError> {
        let invalid = || IssuerError::Invalid("a key set that cannot be read".to_owned());
        let set = read(text, Notation::Json).map_err(|_| invalid())?;
        let keys = set.get("keys").and_then(Value::as_array);
        let keys = keys.ok_or_else(invalid)?.iter();
        let keys: Vec<Key> = keys.filter_map(|key| Key::read(key.as_object()?)).collect();
        if keys.is_empty() {
            // An empty set, published by mistake, must not replace the keys in use.
            let problem = "no key that signatures can be checked with";
            return Err(IssuerError::Invalid(problem.to_owned()));
        }
        Ok(Self(keys))
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the keys that may have signed a token: those of its id, or, if it names none, the
    /// only one that fits its algorithm.
    pub(super) fn candidates(&self, id: Option<&str>, algorithm: Algorithm) -> Vec<&Key> {
        let fitting = self.0.iter().filter(|key| key.fits(algorithm));
        let Some(id) = id else {
            let mut fitting = fitting;
            return match (fitting.next(), fitting.next()) {
                (Some(only), None) => vec![only],
                _ => Vec::new(),
            };
        };
        fitting
            .filter(|key| key.id.as_deref() == Some(id))
            .take(MAX_TRIED)
            .collect()
    }
}

impl Key {
    /// Reads a key, if it is one that tokens are signed with.
    fn read(key: &Map<String, Value>) -> Option<Self> {
        let text = |name| key.get(name).and_then(Value::as_str);
        let is_for_signatures = match key.get("use") {
            Some(purpose) => purpose == "sig",
            None => true,
        };
        let may_verify = match key.get("key_ops") {
            Some(Value::Array(operations)) => operations.iter().any(|it| it == "verify"),
            Some(_) => false,
            None => true,
        };
        // Whoever reads a private key that was published can sign with it.
        if !is_for_signatures || !may_verify || key.contains_key("d") {
            return None;
        }
        let bytes = |name| {
            URL_SAFE_NO_PAD
                .decode(text(name)?.trim_end_matches('='))
                .ok()
        };
        let material = match (text("kty")?, text("crv")) {
            ("RSA", _) => rsa(&bytes("n")?, &bytes("e")?)?,
            ("EC", Some("P-256")) => Material::P256(point(&bytes("x")?, &bytes("y")?, 32)?),
            ("EC", Some("P-384")) => Material::P384(point(&bytes("x")?, &bytes("y")?, 48)?),
            ("OKP", Some("Ed25519")) => {
                let point = bytes("x")?;
                (point.len() == 32).then_some(Material::Ed25519(point))?
            }
            _ => return None,
        };
        let algorithm = match key.get("alg") {
            Some(name) => Some(Algorithm::named(name.as_str()?)?),
            None => None,
        };
        let key = Self {
            id: text("kid").map(str::to_owned),
            algorithm,
            material,
        };
        algorithm
            .is_none_or(|algorithm| key.fits(algorithm))
            .then_some(key)
    }

    fn fits(&self, algorithm: Algorithm) -> bool {
        let fits_type = match self.material {
            Material::Rsa { .. } => algorithm.rsa().is_some(),
            Material::P256(_) => algorithm == Algorithm::Es256,
            Material::P384(_) => algorithm == Algorithm::Es384,
            Material::Ed25519(_) => algorithm == Algorithm::EdDsa,
        };
        fits_type && self.algorithm.is_none_or(|only| only == algorithm)
    }

    /// Whether the key made a signature of a message. `false` for an algorithm that it does not
    /// [fit](Self::fits).
    pub(super) fn verifies(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        match &self.material {
            Material::Rsa { modulus, exponent } => {
                let (n, e) = (modulus, exponent);
                algorithm.rsa().is_some_and(|parameters| {
                    let key = RsaPublicKeyComponents { n, e };
                    key.verify(parameters, message, signature).is_ok()
                })
            }
            Material::P256(point) | Material::P384(point) | Material::Ed25519(point) => {
                algorithm.curve().is_some_and(|curve| {
                    let key = UnparsedPublicKey::new(curve, point);
                    key.verify(message, signature).is_ok()
                })
            }
        }
    }
}

fn rsa(modulus: &[u8], exponent: &[u8]) -> Option<Material> {
    let (modulus, exponent) = (without_zeros(modulus), without_zeros(exponent));
    let is_strong = RSA_MODULUS.contains(&modulus.len()) && modulus.first()? >= &0x80;
    (is_strong && exponent.len() <= MAX_EXPONENT).then(|| Material::Rsa {
        modulus: modulus.to_vec(),
        exponent: exponent.to_vec(),
    })
}

/// A number without leading zeros, which some libraries write.
fn without_zeros(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    &number[zeros..]
}

/// An uncompressed point of a curve.
fn point(x: &[u8], y: &[u8], size: usize) -> Option<Vec<u8>> {
    (x.len() == size && y.len() == size).then(|| [&[4], x, y].concat())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rsa(bytes: usize, more: &Value) -> Value {
        let modulus = URL_SAFE_NO_PAD.encode(vec![0x81; bytes]);
        let mut key = json!({"kty": "RSA", "n": modulus, "e": "AQAB", "kid": "a"});
        let more = more.as_object().unwrap().clone();
        key.as_object_mut().unwrap().extend(more);
        key
    }

    fn set(keys: &[Value]) -> Result<KeySet, IssuerError> {
        KeySet::read(&json!({ "keys": keys }).to_string())
    }

    #[test]
    fn keys_for_something_else_or_too_weak_ones_are_left_out() {
        for key in [
            rsa(255, &json!({})),
            rsa(1025, &json!({})),
            rsa(256, &json!({"use": "enc"})),
            rsa(256, &json!({"key_ops": ["encrypt"]})),
            rsa(256, &json!({"alg": "RSA-OAEP"})),
            rsa(256, &json!({"alg": "HS256"})),
            rsa(256, &json!({"alg": "ES256"})),
            rsa(256, &json!({"d": "AQAB"})),
            rsa(256, &json!({"e": "AQABAQAB"})),
            json!({"kty": "oct", "k": "c2VjcmV0", "kid": "a"}),
            json!({"kty": "EC", "crv": "P-256", "x": "AQ", "y": "AQ"}),
            json!({"kty": "EC", "crv": "P-521", "x": "AQ", "y": "AQ"}),
            json!("key"),
        ] {
            assert!(set(std::slice::from_ref(&key)).is_err(), "{key}");
            let found = set(&[key.clone(), rsa(256, &json!({"kid": "b"}))]).unwrap();
            assert_eq!(found.0.len(), 1, "{key}");
        }
        let zeros = URL_SAFE_NO_PAD.encode([&[0], &*vec![0x81; 256]].concat());
        let found = set(&[rsa(256, &json!({"n": zeros}))]).unwrap();
        assert_eq!(found, set(&[rsa(256, &json!({}))]).unwrap());
    }

    #[test]
    fn a_token_without_key_id_is_only_checked_with_the_only_key_that_fits() {
        let one = set(&[rsa(256, &json!({"alg": "RS256"}))]).unwrap();
        assert_eq!(one.candidates(None, Algorithm::Rs256).len(), 1);
        assert!(one.candidates(None, Algorithm::Ps256).is_empty());
        let two = set(&[rsa(256, &json!({})), rsa(256, &json!({"kid": "b"}))]).unwrap();
        assert!(two.candidates(None, Algorithm::Rs256).is_empty());
        assert_eq!(two.candidates(Some("b"), Algorithm::Rs256).len(), 1);
        assert!(two.candidates(Some("c"), Algorithm::Rs256).is_empty());
    }

    #[test]
    fn what_is_no_key_set_is_refused() {
        for text in ["", "[]", "{}", r#"{"keys":{}}"#, r#"{"keys":[],"keys":[]}"#] {
            assert!(KeySet::read(text).is_err(), "{text}");
        }
    }
}

//! The proof of the keys that a store depends on, so that a wrong key is noticed at the start.
//!
//! Several engines may start on one store at once, each with more keys than the others. So the proof
//! is replaced only if it is still the one that was read.

use crate::error::StartError;
use crate::store::{Store, StoreError};
use crate::vault::{KeyProof, Vault};

/// Name of the note that holds the store's [`KeyProof`].
const KEY_PROOF: &str = "key_proof";

/// Checks that the vault has the keys that the store depends on.
pub(crate) async fn check(store: &dyn Store, vault: &Vault) -> Result<(), StartError> {
    read(store, vault).await.map(drop)
}

/// Checks the keys, and adds the sealing key to the proof before a secret is sealed with it.
pub(crate) async fn prove(store: &dyn Store, vault: &Vault) -> Result<(), StartError> {
    loop {
        let found = read(store, vault).await?;
        if replace(store, vault, found.text, &found.versions).await? {
            return Ok(());
        }
    }
}

/// Removes keys from the proof that are no longer in use: these versions, but for the sealing key.
pub(crate) async fn retire(
    store: &dyn Store,
    vault: &Vault,
    versions: &[u32],
) -> Result<(), StoreError> {
    loop {
        let text = store.load_note(KEY_PROOF).await?;
        let found = text
            .as_deref()
            .and_then(|text| serde_json::from_str(text).ok());
        let mut in_use = found.as_ref().map(versions_of).unwrap_or_default();
        in_use.retain(|version| !versions.contains(version));
        if replace(store, vault, text, &in_use).await? {
            return Ok(());
        }
    }
}

/// Returns the versions in the store's proof.
pub(crate) async fn versions(store: &dyn Store) -> Result<Vec<u32>, StoreError> {
    let text = store.load_note(KEY_PROOF).await?;
    let proof = text.and_then(|text| serde_json::from_str(&text).ok());
    Ok(proof.as_ref().map(versions_of).unwrap_or_default())
}

#[derive(Default)]
struct Found {
    text: Option<String>,
    versions: Vec<u32>,
}

async fn read(store: &dyn Store, vault: &Vault) -> Result<Found, StartError> {
    let Some(text) = store.load_note(KEY_PROOF).await? else {
        return Ok(Found::default());
    };
    let proof: KeyProof = serde_json::from_str(&text)?;
    vault.verify(&proof)?;
    Ok(Found {
        versions: versions_of(&proof),
        text: Some(text),
    })
}

/// Replaces the proof by one of these versions and the sealing key; false if it is not `expected`
/// any more. Other keys may be removed from the ring.
async fn replace(
    store: &dyn Store,
    vault: &Vault,
    expected: Option<String>,
    in_use: &[u32],
) -> Result<bool, StoreError> {
    let keys = vault.keys();
    let is_unused = |version: &u32| *version != keys.sealing_version() && !in_use.contains(version);
    let unused = keys.versions().filter(is_unused);
    let proof = unused.fold(vault.proof(), KeyProof::without);
    let text = serde_json::to_string(&proof).unwrap_or_default();
    if expected.as_ref() == Some(&text) {
        return Ok(true);
    }
    store.replace_note(KEY_PROOF, expected, text).await
}

fn versions_of(proof: &KeyProof) -> Vec<u32> {
    proof.versions().collect()
}

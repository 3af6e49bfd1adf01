//! Guarantees of the vault: round trips, and nothing altered or moved can be decrypted.

use proptest::prelude::*;
use serde_json::{Value, json};

use entreat_core::UnixTime;

use super::*;
use crate::SystemEntropy;

fn entropy() -> Arc<SystemEntropy> {
    Arc::new(SystemEntropy::new().unwrap())
}

fn vault() -> Vault {
    let entropy = entropy();
    Vault::new(KeyRing::generate(&*entropy), entropy)
}

/// A vault with the text of another's keys, and more keys on top.
fn copy(vault: &Vault, more: u32) -> Vault {
    let text = vault.keys.to_text();
    let mut keys = KeyRing::from_text(std::str::from_utf8(text.expose()).unwrap()).unwrap();
    for _ in 0..more {
        keys.add_newest(&*vault.entropy).unwrap();
    }
    Vault::new(keys, Arc::clone(&vault.entropy))
}

/// The vault's keys, without the oldest.
fn without_oldest(vault: &Vault) -> Vault {
    let text = vault.keys.to_text();
    let (_, rest) = std::str::from_utf8(text.expose())
        .unwrap()
        .split_once('\n')
        .unwrap();
    Vault::new(
        KeyRing::from_text(rest).unwrap(),
        Arc::clone(&vault.entropy),
    )
}

fn id(number: u8) -> ElicitationId {
    ElicitationId::new(UnixTime::from_millis(1_706_889_000_000), [number; 10])
}

fn seal(vault: &Vault, id: ElicitationId, fields: &[(&str, &str)]) -> Sealed {
    vault.seal(
        id,
        fields.iter().map(|(name, value)| (*name, value.as_bytes())),
    )
}

fn opened(vault: &Vault, id: ElicitationId, sealed: &Sealed) -> Vec<(String, String)> {
    let fields = vault.open(id, sealed).unwrap();
    let text = |secret: &Secret| String::from_utf8(secret.expose().to_vec()).unwrap();
    fields
        .iter()
        .map(|(name, secret)| (name.to_string(), text(secret)))
        .collect()
}

fn field_refused(name: &str) -> VaultError {
    VaultError::FieldRefused { name: name.into() }
}

proptest! {
    #[test]
    fn what_was_sealed_opens_again(
        random: [u8; 16],
        fields in prop::collection::btree_map(".{0,20}", prop::collection::vec(any::<u8>(), 0..200), 0..6),
    ) {
        let (vault, id) = (vault(), ElicitationId::from_bytes(random));
        let given = fields.iter().map(|(name, value)| (name.as_str(), value.as_slice()));
        let sealed = vault.seal(id, given.clone());
        let written = serde_json::to_string(&sealed).unwrap();
        let read: Sealed = serde_json::from_str(&written).unwrap();
        prop_assert_eq!(&read, &sealed);
        let fields = vault.open(id, &read).unwrap();
        prop_assert!(fields.iter().map(|(name, secret)| (&**name, secret.expose())).eq(given));
    }

    #[test]
    fn a_bit_flipped_anywhere_keeps_the_field_closed(place: prop::sample::Index, bit in 0u8..8) {
        let vault = vault();
        let sealed = seal(&vault, id(1), &[("pin", "1234")]);
        let mut bytes = sealed.wrapped_key().to_vec();
        let key_length = bytes.len();
        bytes.extend_from_slice(sealed.get("pin").unwrap());
        bytes[place.index(key_length + 44)] ^= 1 << bit;
        let mut flipped = sealed.rewrapped(1, bytes[..key_length].into());
        flipped.put("pin", bytes[key_length..].into());
        prop_assert!(flipped != sealed);
        prop_assert!(vault.open(id(1), &flipped).is_err());
        prop_assert!(vault.open_field(id(1), &flipped, "pin").is_err());
    }

    #[test]
    fn written_text_with_a_changed_character_never_opens_to_something_else(
        place: prop::sample::Index,
        other in "[ -~]",
    ) {
        let vault = vault();
        let sealed = seal(&vault, id(1), &[("pin", "1234"), ("word", "open")]);
        let mut text = serde_json::to_string(&sealed).unwrap();
        let place = place.index(text.len());
        text.replace_range(place..=place, &other);
        if let Ok(read) = serde_json::from_str::<Sealed>(&text) && read != sealed {
            prop_assert!(vault.open(id(1), &read).is_err(), "{}", text);
        }
    }
}

#[test]
fn one_field_opens_by_itself() {
    let vault = vault();
    let sealed = seal(&vault, id(1), &[("pin", "1234"), ("word", "open")]);
    let word = vault.open_field(id(1), &sealed, "word").unwrap().unwrap();
    assert_eq!(word.expose(), b"open");
    assert!(vault.open_field(id(1), &sealed, "wrod").unwrap().is_none());
    assert!(sealed.names().eq(["pin", "word"]));
}

#[test]
fn the_same_answer_never_looks_the_same() {
    let vault = vault();
    let fields = [("a", "same"), ("b", "same")];
    let (left, right) = (seal(&vault, id(1), &fields), seal(&vault, id(1), &fields));
    assert_ne!(left.wrapped_key(), right.wrapped_key());
    // Without the tags, which differ by the name anyway.
    let messages = [&left, &right].map(|sealed| ["a", "b"].map(|name| sealed.get(name).unwrap()));
    let messages = messages.as_flattened();
    for (place, one) in messages.iter().enumerate() {
        for other in &messages[..place] {
            assert_ne!(one[..24], other[..24], "the nonce");
            assert_ne!(one[24..28], other[24..28], "the ciphertext");
        }
    }
}

#[test]
fn ciphertexts_cannot_be_swapped_between_fields() {
    let vault = vault();
    let sealed = seal(&vault, id(1), &[("note", "hi"), ("password", "no")]);
    let mut swapped = sealed.clone();
    swapped.put("note", sealed.get("password").unwrap().into());
    assert_eq!(
        vault.open_field(id(1), &swapped, "note").unwrap_err(),
        field_refused("note")
    );
    assert_eq!(
        vault.open(id(1), &swapped).unwrap_err(),
        field_refused("note")
    );
    assert!(vault.open_field(id(1), &swapped, "password").is_ok());
}

#[test]
fn nothing_moves_to_another_elicitation() {
    let vault = vault();
    let (mine, yours) = (
        seal(&vault, id(1), &[("pin", "1234")]),
        seal(&vault, id(2), &[("pin", "9999")]),
    );
    // Everything: the key is bound to its elicitation.
    let refused = VaultError::KeyRefused { version: 1 };
    assert_eq!(vault.open(id(2), &mine).unwrap_err(), refused);
    // Only the field: it is under another key.
    let mut mixed = yours.clone();
    mixed.put("pin", mine.get("pin").unwrap().into());
    assert_eq!(vault.open(id(2), &mixed).unwrap_err(), field_refused("pin"));
}

#[test]
fn a_field_is_bound_to_its_elicitation_even_under_one_key() {
    let key = Key::random(&*entropy());
    let ciphertext = key.encrypt(&bound_field(id(1), "pin"), b"1234", &*entropy());
    assert!(open_with(&key, id(1), "pin", &ciphertext).is_ok());
    for (id, name) in [(id(2), "pin"), (id(1), "pim"), (id(1), "pi"), (id(1), "")] {
        assert_eq!(
            open_with(&key, id, name, &ciphertext).unwrap_err(),
            field_refused(name)
        );
    }
}

#[test]
fn a_wrapped_key_is_bound_to_the_version_that_wraps() {
    let old = vault();
    let sealed = seal(&old, id(1), &[("pin", "1234")]);
    // The same key bytes under another version, which no ring file allows.
    let text = old.keys.to_text();
    let text = std::str::from_utf8(text.expose())
        .unwrap()
        .replace("v1 ", "v2 ");
    let renamed = Vault::new(KeyRing::from_text(&text).unwrap(), entropy());
    let moved = sealed.rewrapped(2, sealed.wrapped_key().into());
    let refused = VaultError::KeyRefused { version: 2 };
    assert_eq!(renamed.open(id(1), &moved).unwrap_err(), refused);
}

#[test]
fn another_key_of_the_same_version_opens_nothing() {
    let sealed = seal(&vault(), id(1), &[("pin", "1234")]);
    let refused = VaultError::KeyRefused { version: 1 };
    assert_eq!(vault().open(id(1), &sealed).unwrap_err(), refused);
    let newer = copy(&vault(), 1);
    assert_eq!(newer.rewrap(id(1), &sealed).unwrap_err(), refused);
}

#[test]
fn rotation_wraps_the_key_and_keeps_the_fields() {
    let old = vault();
    let fields = [("pin", "1234"), ("word", "open")];
    let sealed = seal(&old, id(1), &fields);
    assert_eq!(old.rewrap(id(1), &sealed), Ok(None));

    let both = copy(&old, 1);
    assert_eq!(opened(&both, id(1), &sealed), opened(&old, id(1), &sealed));
    let rewrapped = both.rewrap(id(1), &sealed).unwrap().unwrap();
    assert_eq!(rewrapped.key_version(), 2);
    assert!(rewrapped.iter().eq(sealed.iter()));
    assert_eq!(both.rewrap(id(1), &rewrapped), Ok(None));
    assert_eq!(seal(&both, id(1), &fields).key_version(), 2);

    let new = without_oldest(&both);
    assert_eq!(
        opened(&new, id(1), &rewrapped),
        opened(&old, id(1), &sealed)
    );
    let missing = VaultError::MissingKey { version: 1 };
    assert_eq!(new.open(id(1), &sealed).unwrap_err(), missing);
    assert_eq!(new.rewrap(id(1), &sealed).unwrap_err(), missing);
    assert_eq!(
        old.open(id(1), &rewrapped).unwrap_err(),
        VaultError::MissingKey { version: 2 }
    );
}

#[test]
fn a_proof_is_verified_by_its_own_keys_and_by_more() {
    let first = vault();
    let proof = first.proof();
    assert_eq!(proof, copy(&first, 0).proof());
    assert_eq!(first.verify(&proof), Ok(()));
    assert_eq!(copy(&first, 2).verify(&proof), Ok(()));
    let written = serde_json::to_string(&proof).unwrap();
    let read: KeyProof = serde_json::from_str(&written).unwrap();
    assert_eq!(read, proof);
}

#[test]
fn a_proof_refuses_other_keys_and_missing_ones() {
    let first = vault();
    let both = copy(&first, 1);
    assert_eq!(
        vault().verify(&first.proof()),
        Err(VaultError::WrongKey { version: 1 })
    );
    assert_eq!(
        first.verify(&both.proof()),
        Err(VaultError::MissingKey { version: 2 })
    );
    let other_newest = copy(&first, 1);
    assert_eq!(
        other_newest.verify(&both.proof()),
        Err(VaultError::WrongKey { version: 2 })
    );
    let new = without_oldest(&both);
    let missing = new.verify(&both.proof()).unwrap_err();
    assert_eq!(
        missing.to_string(),
        "the key ring has no key v1; put its line back into the key file"
    );
    let retired = both.proof().without(1);
    assert!(retired.versions().eq([2]));
    assert_eq!(new.verify(&retired), Ok(()));
}

#[test]
fn an_altered_proof_is_refused() {
    let vault = copy(&vault(), 1);
    let json = serde_json::to_value(vault.proof()).unwrap();
    let mut swapped = json.clone();
    swapped["keys"][0][1] = json["keys"][1][1].clone();
    let swapped: KeyProof = serde_json::from_value(swapped).unwrap();
    assert_eq!(
        vault.verify(&swapped),
        Err(VaultError::WrongKey { version: 1 })
    );
    for (pointer, value) in [
        ("/v", json!(2)),
        ("/keys/0/0", json!(2)),
        ("/keys/0/1", json!("AAAA")),
        ("/keys/0/1", json!("?")),
    ] {
        let mut altered = json.clone();
        *altered.pointer_mut(pointer).unwrap() = value;
        assert!(
            serde_json::from_value::<KeyProof>(altered).is_err(),
            "{pointer}"
        );
    }
}

#[test]
fn readers_are_strict_and_say_when_a_format_is_newer() {
    let json = serde_json::to_value(seal(&vault(), id(1), &[("a", ""), ("b", "")])).unwrap();
    let error = |alter: &dyn Fn(&mut Value)| {
        let mut altered = json.clone();
        alter(&mut altered);
        serde_json::from_value::<Sealed>(altered)
            .unwrap_err()
            .to_string()
    };
    let newer = "format 2 of sealed data is unknown to this version of Entreat";
    assert_eq!(error(&|json| json["v"] = 2.into()), newer);
    assert_eq!(error(&|json| *json = json!({"v": 2, "boxes": []})), newer);
    assert!(error(&|json| json["more"] = 1.into()).starts_with("unknown field `more`"));
    assert_eq!(
        error(&|json| json["fields"][1][0] = "a".into()),
        "a field is sealed twice"
    );
    assert_eq!(
        error(&|json| json["fields"][1][1] = "AAAA".into()),
        "a sealed field is too short"
    );
    assert_eq!(
        error(&|json| json["key"] = "AAAA".into()),
        "the wrapped key has the wrong length"
    );
    assert_eq!(
        error(&|json| json["key"] = "~".into()),
        "sealed data is not base64"
    );
}

#[test]
fn of_two_fields_with_one_name_the_last_is_kept() {
    let vault = vault();
    let sealed = seal(&vault, id(1), &[("a", "1"), ("b", "2"), ("a", "3")]);
    assert_eq!(
        vault
            .open_field(id(1), &sealed, "a")
            .unwrap()
            .unwrap()
            .expose(),
        b"3"
    );
    assert!(serde_json::from_value::<Sealed>(serde_json::to_value(&sealed).unwrap()).is_ok());
}

#[test]
fn debug_shows_neither_keys_nor_answers() {
    let vault = copy(&vault(), 1);
    let sealed = seal(&vault, id(1), &[("pin", "1234")]);
    assert_eq!(
        format!("{vault:?}"),
        "Vault { keys: KeyRing { versions: [1, 2] }, .. }"
    );
    assert_eq!(
        format!("{sealed:?}"),
        "Sealed { kek: 2, fields: {\"pin\": 44 bytes}, .. }"
    );
    let fields = vault.open(id(1), &sealed).unwrap();
    assert_eq!(format!("{fields:?}"), "[(\"pin\", [sealed])]");
}

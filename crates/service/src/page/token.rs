//! Tokens that grant access to pages.
//!
//! A link contains a token derived from its target with the service's keys, so nothing stored
//! grants access. A browser that opens a link is redirected to an address with a pass instead,
//! which is bound to its cookie and useless elsewhere. So no token stays in an address bar, history
//! or bookmark.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use entreat_core::ElicitationId;
use entreat_engine::{Engine, Entropy};
use zeroize::Zeroizing;

const KEY_CONTEXT: &str = "entreat 2026-11 page keys";

/// The keys for tokens, newest first; tokens of older versions stay valid.
pub(super) struct TokenKeys(Vec<Zeroizing<[u8; 32]>>);

/// What a token grants access to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Question(ElicitationId),
    Inbox,
    /// Signing in and out.
    Account,
}

/// The purpose of a token.
#[derive(Clone, Copy)]
enum Purpose<'b> {
    /// Grants access to anyone with the link.
    Link,
    /// Grants access to this browser.
    Pass(&'b Browser),
    /// Proves that a form was rendered for this browser and person (CSRF protection).
    Form(&'b Browser, Option<&'b PersonDigest>),
}

/// Tells people with names apart; see [`Person::digest`].
///
/// [`Person::digest`]: crate::identity::Person::digest
pub(super) type PersonDigest = [u8; 16];

/// How access was granted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Link,
    Pass,
    /// Without a token, to a signed-in person; only for the inbox.
    Name,
}

/// A browser, identified by the secret in its cookie.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Browser([u8; 32]);

impl Browser {
    pub(super) fn new(entropy: &dyn Entropy) -> Self {
        let mut secret = [0; 32];
        entropy.fill(&mut secret);
        Self(secret)
    }

    pub(super) fn read(text: &str) -> Option<Self> {
        decode(text).map(Self)
    }

    /// The value of the cookie.
    pub(super) fn secret(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }

    /// An identifier that can be stored: the cookie cannot be derived from it.
    pub(super) fn name(&self) -> String {
        URL_SAFE_NO_PAD.encode(&blake3::hash(&self.0).as_bytes()[..16])
    }
}

impl TokenKeys {
    pub(super) fn new(engine: &Engine) -> Self {
        let keys = engine.derived_keys(KEY_CONTEXT).into_iter();
        Self(keys.map(|(_, key)| key).collect())
    }

    pub(super) fn link(&self, target: Target) -> String {
        self.make(target, Purpose::Link)
    }

    pub(super) fn pass(&self, target: Target, browser: &Browser) -> String {
        self.make(target, Purpose::Pass(browser))
    }

    /// A token of forms. It names the person, so that a form that was filled in before somebody
    /// else signed in is known to be the first person's.
    pub(super) fn csrf_token(
        &self,
        target: Target,
        browser: &Browser,
        person: Option<&PersonDigest>,
    ) -> String {
        let token = self.make(target, Purpose::Form(browser, person));
        match person {
            Some(person) => format!("{}.{token}", URL_SAFE_NO_PAD.encode(person)),
            None => token,
        }
    }

    /// Whether a key from an address grants this browser access, and how.
    pub(super) fn open(
        &self,
        target: Target,
        key: &str,
        browser: Option<&Browser>,
    ) -> Option<Access> {
        if self.accepts(target, Purpose::Link, key) {
            return Some(Access::Link);
        }
        browser
            .filter(|browser| self.accepts(target, Purpose::Pass(browser), key))
            .map(|_| Access::Pass)
    }

    /// Returns for which person a form with this token was rendered, if it was for this browser.
    #[expect(
        clippy::option_option,
        reason = "a form of somebody without a name is not a forged one"
    )]
    pub(super) fn person_of_form(
        &self,
        target: Target,
        browser: &Browser,
        token: &str,
    ) -> Option<Option<PersonDigest>> {
        let (person, token) = match token.split_once('.') {
            Some((person, token)) => (Some(decode_person(person)?), token),
            None => (None, token),
        };
        self.accepts(target, Purpose::Form(browser, person.as_ref()), token)
            .then_some(person)
    }

    fn make(&self, target: Target, purpose: Purpose<'_>) -> String {
        let token = self.0.first().map(|key| derive(key, target, purpose));
        token.map_or_else(String::new, |token| {
            URL_SAFE_NO_PAD.encode(token.as_bytes())
        })
    }

    fn accepts(&self, target: Target, purpose: Purpose<'_>, candidate: &str) -> bool {
        let Some(candidate) = decode(candidate) else {
            return false;
        };
        // Hashes compare in constant time.
        let candidate = blake3::Hash::from_bytes(candidate);
        self.0
            .iter()
            .any(|key| derive(key, target, purpose) == candidate)
    }
}

fn derive(key: &[u8; 32], target: Target, purpose: Purpose<'_>) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new_keyed(key);
    let (purpose, browser, person): (&[u8], _, _) = match purpose {
        Purpose::Link => (b"link", None, None),
        Purpose::Pass(browser) => (b"pass", Some(browser), None),
        Purpose::Form(browser, person) => (b"form", Some(browser), person),
    };
    hasher.update(purpose);
    match target {
        Target::Question(id) => hasher.update(b"q").update(id.as_bytes()),
        Target::Inbox => hasher.update(b"i"),
        Target::Account => hasher.update(b"a"),
    };
    if let Some(browser) = browser {
        hasher.update(&browser.0);
    }
    if let Some(person) = person {
        hasher.update(person);
    }
    hasher.finalize()
}

fn decode(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 33];
    let length = URL_SAFE_NO_PAD.decode_slice(text, &mut bytes).ok()?;
    bytes[..length].try_into().ok()
}

fn decode_person(text: &str) -> Option<PersonDigest> {
    let mut bytes = [0; 17];
    let length = URL_SAFE_NO_PAD.decode_slice(text, &mut bytes).ok()?;
    bytes[..length].try_into().ok()
}

//! What opens a page.
//!
//! A link holds a token, derived from what it opens by the service's keys: nothing that is stored
//! opens a page. A browser that comes with a token is sent on to an address with a pass instead,
//! which is bound to that browser's cookie and worth nothing elsewhere. So no token stays in an
//! address bar, a history or a bookmark.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use entreat_core::ElicitationId;
use entreat_engine::{Engine, Entropy};
use zeroize::Zeroizing;

const PURPOSE: &str = "entreat 2026-11 page keys";

/// The keys that tokens are made with; those of older versions still open what they opened.
pub(super) struct Keys(Vec<Zeroizing<[u8; 32]>>);

/// What can be opened.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Door {
    Question(ElicitationId),
    Inbox,
}

/// What a token is good for.
#[derive(Clone, Copy)]
enum Use<'b> {
    /// Opens a door to whoever has the link.
    Link,
    /// Opens a door to this browser.
    Pass(&'b Browser),
    /// Shows that a form was made for this browser.
    Form(&'b Browser),
}

/// By what a door was opened.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Opened {
    Link,
    Pass,
    /// Without a key, to somebody whose name is known: the inbox alone.
    Name,
}

/// A browser, by the secret in its cookie.
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

    /// A name for it that can be stored: it leads back to no cookie.
    pub(super) fn name(&self) -> String {
        URL_SAFE_NO_PAD.encode(&blake3::hash(&self.0).as_bytes()[..16])
    }
}

impl Keys {
    pub(super) fn new(engine: &Engine) -> Self {
        let keys = engine.derived_keys(PURPOSE).into_iter();
        Self(keys.map(|(_, key)| key).collect())
    }

    pub(super) fn link(&self, door: Door) -> String {
        self.make(door, Use::Link)
    }

    pub(super) fn pass(&self, door: Door, browser: &Browser) -> String {
        self.make(door, Use::Pass(browser))
    }

    pub(super) fn form(&self, door: Door, browser: &Browser) -> String {
        self.make(door, Use::Form(browser))
    }

    /// Whether a key from an address opens a door for a browser, and how.
    pub(super) fn open(&self, door: Door, key: &str, browser: Option<&Browser>) -> Option<Opened> {
        if self.accepts(door, Use::Link, key) {
            return Some(Opened::Link);
        }
        browser
            .filter(|browser| self.accepts(door, Use::Pass(browser), key))
            .map(|_| Opened::Pass)
    }

    pub(super) fn is_form_of(&self, door: Door, browser: &Browser, token: &str) -> bool {
        self.accepts(door, Use::Form(browser), token)
    }

    fn make(&self, door: Door, what: Use<'_>) -> String {
        let token = self.0.first().map(|key| derive(key, door, what));
        token.map_or_else(String::new, |token| {
            URL_SAFE_NO_PAD.encode(token.as_bytes())
        })
    }

    fn accepts(&self, door: Door, what: Use<'_>, given: &str) -> bool {
        let Some(given) = decode(given) else {
            return false;
        };
        // Hashes compare in constant time.
        let given = blake3::Hash::from_bytes(given);
        self.0.iter().any(|key| derive(key, door, what) == given)
    }
}

fn derive(key: &[u8; 32], door: Door, what: Use<'_>) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new_keyed(key);
    let (what, browser): (&[u8], _) = match what {
        Use::Link => (b"link", None),
        Use::Pass(browser) => (b"pass", Some(browser)),
        Use::Form(browser) => (b"form", Some(browser)),
    };
    hasher.update(what);
    match door {
        Door::Question(id) => hasher.update(b"q").update(id.as_bytes()),
        Door::Inbox => hasher.update(b"i"),
    };
    if let Some(browser) = browser {
        hasher.update(&browser.0);
    }
    hasher.finalize()
}

fn decode(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 33];
    let length = URL_SAFE_NO_PAD.decode_slice(text, &mut bytes).ok()?;
    bytes[..length].try_into().ok()
}

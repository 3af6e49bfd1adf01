//! What is known of how clients treat questions, by what they have done so far.
//!
//! Clients declare what they do not do: some show nothing, some answer for the person. Clients of
//! 2026-07-28 that declare the same share a session, so each is known by its name.

use std::collections::HashMap;

use crate::json::RawObject;
use crate::meta::CLIENT_INFO;

/// How many clients of one session are told apart.
const MAX_CLIENTS: usize = 100;
/// How much of a name and of a version tells clients apart, in characters.
const MAX_NAME: usize = 64;

/// What is known of how a client treats questions.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is noticed by itself")]
pub(crate) struct Trust {
    /// It has answered a question in this session.
    pub(crate) has_answered: bool,
    /// It answers for the person, or shows nothing.
    pub(crate) is_distrusted: bool,
    /// It has not answered a form in time.
    pub(crate) is_silent: bool,
    /// It has not answered a URL in time.
    pub(crate) is_silent_about_urls: bool,
}

/// A client among those that share a session: empty where there is only one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ClientKey(Box<str>);

impl ClientKey {
    /// The client of a request of 2026-07-28, by its parameters.
    pub(crate) fn of(params: &str) -> Self {
        let named = || {
            let params = RawObject::parse(params)?;
            let meta = params.object("_meta")?;
            let info = meta.object(CLIENT_INFO)?;
            let part = |member| -> String {
                let text = info.string(member).unwrap_or_default();
                text.chars().take(MAX_NAME).collect()
            };
            Some(format!("{}\n{}", part("name"), part("version")))
        };
        Self(named().unwrap_or_default().into())
    }
}

/// What is known of the clients of a session.
#[derive(Debug, Default)]
pub(crate) struct Clients(HashMap<ClientKey, Trust>);

impl Clients {
    pub(crate) fn trust(&self, client: &ClientKey) -> Trust {
        self.0.get(client).copied().unwrap_or_default()
    }

    /// Notes something about a client. Beyond the bound, another one is forgotten, which costs it a
    /// page at most.
    pub(crate) fn note(&mut self, client: &ClientKey, change: impl FnOnce(&mut Trust)) {
        if self.0.len() >= MAX_CLIENTS
            && !self.0.contains_key(client)
            && let Some(other) = self.0.keys().next().cloned()
        {
            self.0.remove(&other);
        }
        change(self.0.entry(client.clone()).or_default());
    }
}

//! Sessions that ended before their time.
//!
//! A session is in its cookie alone, so what ends it early is written to the store, until it would
//! have ended anyway. To look there for each page would cost more than the page: this process asks
//! the store about a session again only after a few seconds, and always before something is sent.

use std::collections::HashMap;
use std::time::Duration;

use entreat_core::UnixTime;
use entreat_engine::store::{Claim, ClaimKey};
use entreat_engine::{Engine, StoreError};
use entreat_wire::seal::StateId;
use parking_lot::Mutex;

use crate::identity::session::SignInFacts;

const KEY_CONTEXT: &str = "entreat 2026-11 ended sessions";
/// How long pages are shown in a session after the store was asked about it.
const TRUSTED_FOR: Duration = Duration::from_secs(10);
/// Maximum number of sessions to remember.
const MAX_KNOWN: usize = 50_000;

/// Ends sessions, and knows which have ended.
pub(super) struct SignOuts {
    engine: Engine,
    issuer: String,
    /// When the store was last asked about a session that is valid.
    asked: Mutex<HashMap<StateId, UnixTime>>,
}

/// What ends.
#[derive(Clone, Copy)]
enum Ended<'a> {
    /// The session of one browser.
    Session(&'a StateId),
    /// All sessions of a session at the issuer.
    Sid(&'a str),
    /// All earlier sessions of a person.
    Subject(&'a str),
}

impl SignOuts {
    pub(super) fn new(engine: Engine, issuer: &str) -> Self {
        Self {
            engine,
            issuer: issuer.to_owned(),
            asked: Mutex::default(),
        }
    }

    /// Ends the session of one browser.
    pub(super) async fn end_session(
        &self,
        id: &StateId,
        expires: UnixTime,
    ) -> Result<(), StoreError> {
        self.end(Ended::Session(id), self.engine.now(), expires)
            .await
    }

    /// Ends all sessions that belong to one at the issuer.
    pub(super) async fn end_sid(&self, sid: &str, expires: UnixTime) -> Result<(), StoreError> {
        self.end(Ended::Sid(sid), self.engine.now(), expires).await
    }

    /// Ends all sessions of a person for which tokens were issued until `until`.
    pub(super) async fn end_subject(
        &self,
        subject: &str,
        until: UnixTime,
        expires: UnixTime,
    ) -> Result<(), StoreError> {
        self.end(Ended::Subject(subject), until, expires).await
    }

    async fn end(
        &self,
        ended: Ended<'_>,
        until: UnixTime,
        expires: UnixTime,
    ) -> Result<(), StoreError> {
        let claim = Claim {
            key: self.key(ended),
            inputs: u128::from(until.as_millis()).to_be_bytes(),
            expires,
            holder: None,
            outcome: None,
        };
        // A person can be signed out again: the later time replaces the earlier.
        while let Some(earlier) = self.engine.claim(claim.clone()).await? {
            if time_of(&earlier) >= until {
                break;
            }
            self.engine
                .release_claim(earlier.key, earlier.inputs)
                .await?;
        }
        // Afterwards: what was asked before counts no more.
        self.asked.lock().clear();
        Ok(())
    }

    /// Whether a session has ended. `always_ask` is for requests that change something.
    pub(super) async fn has_ended(
        &self,
        id: &StateId,
        facts: &SignInFacts,
        always_ask: bool,
    ) -> Result<bool, StoreError> {
        let now = self.engine.now();
        let asked = self.asked.lock().get(id).copied();
        if !always_ask && asked.is_some_and(|asked| now.since(asked) < TRUSTED_FOR) {
            return Ok(false);
        }
        let sid = facts.sid.as_deref().map(Ended::Sid);
        let each = [
            Some(Ended::Session(id)),
            sid,
            Some(Ended::Subject(&facts.subject)),
        ];
        for ended in each.into_iter().flatten() {
            let found = self.engine.find_claim(self.key(ended)).await?;
            let ends_this = |claim: Claim| match ended {
                Ended::Session(_) | Ended::Sid(_) => true,
                Ended::Subject(_) => facts.issued <= time_of(&claim),
            };
            if found.is_some_and(ends_this) {
                return Ok(true);
            }
        }
        let mut asked = self.asked.lock();
        if asked.len() >= MAX_KNOWN {
            asked.clear();
        }
        asked.insert(*id, now);
        Ok(false)
    }

    fn key(&self, ended: Ended<'_>) -> ClaimKey {
        let mut hasher = blake3::Hasher::new_derive_key(KEY_CONTEXT);
        let (kind, name): (&[u8], &[u8]) = match ended {
            Ended::Session(id) => (b"session", id),
            Ended::Sid(sid) => (b"sid", sid.as_bytes()),
            Ended::Subject(subject) => (b"sub", subject.as_bytes()),
        };
        for part in [kind, self.issuer.as_bytes(), name] {
            hasher.update(&(part.len() as u64).to_be_bytes());
            hasher.update(part);
        }
        let mut key = ClaimKey::default();
        hasher.finalize_xof().fill(&mut key);
        key
    }
}

/// Until when the tokens were issued whose sessions a claim ends.
fn time_of(claim: &Claim) -> UnixTime {
    let millis = u128::from_be_bytes(claim.inputs);
    UnixTime::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
}

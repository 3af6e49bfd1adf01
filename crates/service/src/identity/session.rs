//! What a browser's session says of the person in front of it.

use std::time::Duration;

use entreat_core::{ElicitationId, UnixTime};
use entreat_engine::RespondentAuth;
use serde::{Deserialize, Serialize};

use super::Account;

/// How long a sign-in that was made for a question counts as fresh for it. Otherwise, an answer
/// that takes longer than `maxAge` could never be sent.
const FRESH_FOR: Duration = Duration::from_secs(600);

/// A person's session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Session {
    pub(crate) account: Account,
    pub(crate) sign_in: SignInFacts,
}

/// When and how a person signed in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SignInFacts {
    /// The session at the issuer.
    pub(crate) sid: Option<Box<str>>,
    /// The claim `sub`, whichever claim names people here.
    pub(crate) subject: Box<str>,
    /// When the issuer issued the token.
    pub(crate) issued: UnixTime,
    /// When the person last proved who they are, if the issuer tells.
    pub(crate) authenticated: Option<UnixTime>,
    /// How they did.
    pub(crate) acr: Option<Box<str>>,
    /// The question for which the person signed in again, and when.
    pub(crate) fresh_for: Option<(ElicitationId, UnixTime)>,
}

impl SignInFacts {
    /// Whether an answer to this question may be sent.
    pub(crate) fn satisfy(
        &self,
        auth: &RespondentAuth,
        question: ElicitationId,
        now: UnixTime,
    ) -> bool {
        let within = |since: UnixTime, longest: Duration| now.since(since) <= longest;
        let is_recent = auth.max_age.is_none_or(|seconds| {
            let longest = Duration::from_secs(seconds.into());
            let for_this = self.fresh_for.filter(|(id, _)| *id == question);
            for_this.is_some_and(|(_, since)| within(since, FRESH_FOR))
                || self
                    .authenticated
                    .is_some_and(|since| within(since, longest))
        });
        let has_acr = auth.acr.is_none() || auth.acr == self.acr;
        is_recent && has_acr
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_in_for_a_question_counts_for_that_question_and_for_ten_minutes() {
        let id = |last| ElicitationId::new(UnixTime::from_millis(1), [last; 10]);
        let at = |seconds: u64| UnixTime::from_millis(seconds * 1000);
        let mut facts = SignInFacts {
            sid: None,
            subject: "ada".into(),
            issued: at(1000),
            authenticated: Some(at(1000)),
            acr: Some("mfa".into()),
            fresh_for: None,
        };
        let auth = |max_age| RespondentAuth {
            max_age: Some(max_age),
            acr: None,
        };
        assert!(facts.satisfy(&auth(60), id(1), at(1060)));
        assert!(!facts.satisfy(&auth(60), id(1), at(1061)));
        assert!(!facts.satisfy(&auth(0), id(1), at(1001)));
        facts.fresh_for = Some((id(1), at(1000)));
        assert!(facts.satisfy(&auth(0), id(1), at(1600)));
        assert!(!facts.satisfy(&auth(0), id(1), at(1601)));
        assert!(!facts.satisfy(&auth(0), id(2), at(1001)));
        let with_acr = |acr: &str| RespondentAuth {
            max_age: None,
            acr: Some(acr.into()),
        };
        assert!(facts.satisfy(&with_acr("mfa"), id(2), at(9999)));
        assert!(!facts.satisfy(&with_acr("hardware"), id(1), at(1001)));
    }
}

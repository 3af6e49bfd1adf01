//! Who may call the API over a network: holders of a key, and local programs if allowed.

use std::collections::HashMap;
use std::fmt;

use entreat_engine::Asker;

/// What a caller may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Asks questions, and sees its own only.
    #[default]
    Asker,
    /// An asker that needs no key, because it runs on this machine, of a service for which nobody
    /// has a key. It sees and answers all questions anyway, so it may open the inbox.
    Local,
    /// Lists, cancels, extends and reassigns the questions of all askers, through the API and on
    /// the board. Asks none, and reads no answers.
    Operator,
}

impl Role {
    /// The role's name in configurations.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Asker => "asker",
            Self::Local => "local",
            Self::Operator => "operator",
        }
    }
}

/// An asker and what it may do.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) asker: Asker,
    pub(crate) role: Role,
}

/// The askers that may use the API, by key.
///
/// Keys are stored and looked up as digests, so lookup time reveals nothing about a key.
#[derive(Clone, Default)]
pub struct Askers {
    by_digest: HashMap<[u8; 32], Caller>,
    local: Option<Caller>,
}

impl Askers {
    /// Allows no asker.
    pub fn none() -> Self {
        Self::default()
    }

    /// Adds an asker with a key. One asker may have several keys, for rotation.
    #[must_use]
    pub fn with_key(self, key: &str, asker: Asker) -> Self {
        self.with_role(key, asker, Role::Asker)
    }

    /// Adds a caller with a key and a role.
    #[must_use]
    pub fn with_role(mut self, key: &str, asker: Asker, role: Role) -> Self {
        self.by_digest.insert(digest(key), Caller { asker, role });
        if let Some(local) = &mut self.local {
            local.role = Role::Asker;
        }
        self
    }

    /// Lets programs on this machine ask without a key, as this asker.
    #[must_use]
    pub fn with_local(mut self, asker: Asker) -> Self {
        let is_alone = self.by_digest.is_empty();
        let role = if is_alone { Role::Local } else { Role::Asker };
        self.local = Some(Caller { asker, role });
        self
    }

    pub(crate) fn by_key(&self, key: &str) -> Option<&Caller> {
        self.by_digest.get(&digest(key))
    }

    /// Returns the operators, each with the digest of its key.
    pub(crate) fn operators(&self) -> impl Iterator<Item = (&[u8; 32], &Caller)> {
        let callers = self.by_digest.iter();
        callers.filter(|(_, caller)| caller.role == Role::Operator)
    }

    /// Returns the operator with this key, and the key's digest.
    pub(crate) fn operator_by_key(&self, key: &str) -> Option<([u8; 32], &Caller)> {
        let digest = digest(key);
        let caller = self.by_digest.get(&digest)?;
        (caller.role == Role::Operator).then_some((digest, caller))
    }

    pub(crate) fn local(&self) -> Option<&Caller> {
        self.local.as_ref()
    }
}

fn digest(key: &str) -> [u8; 32] {
    blake3::hash(key.as_bytes()).into()
}

impl fmt::Debug for Askers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names: Vec<_> = self.by_digest.values().map(|it| it.asker.name()).collect();
        names.sort_unstable();
        f.debug_struct("Askers")
            .field("with_keys", &names)
            .field("local", &self.local.as_ref().map(|it| it.asker.name()))
            .finish()
    }
}

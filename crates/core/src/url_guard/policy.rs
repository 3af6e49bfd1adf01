//! What the guard is asked to refuse.

use crate::same::same;

/// Which schemes may pass, and whether private and local hosts are refused.
///
/// The syntax rules (no control characters, no user info, no bad ports, …) are not part of
/// it: they hold under every policy.
///
/// ```
/// use entreat_core::url_guard::{Policy, judge};
///
/// let policy = Policy::new(["ssh", "https"]).block_private(false);
/// assert!(judge("ssh://10.0.0.7/repo.git", &policy).is_ok());
/// assert!(judge("ssh://127.0.0.1/repo.git", &policy).is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    schemes: Vec<String>,
    block_private: bool,
    block_localhost: bool,
}

impl Policy {
    /// Allows these schemes, in any case and without the colon, and blocks private and
    /// local hosts.
    pub fn new<S: AsRef<str>>(schemes: impl IntoIterator<Item = S>) -> Self {
        Self {
            schemes: schemes
                .into_iter()
                .map(|scheme| scheme.as_ref().to_ascii_lowercase())
                .collect(),
            block_private: true,
            block_localhost: true,
        }
    }

    /// Allows http and https, and blocks private and local hosts.
    pub fn web() -> Self {
        Self::new(["http", "https"])
    }

    /// Sets whether addresses and names that are not public are refused.
    ///
    /// Loopback addresses and localhost names are not meant by it; see
    /// [`block_localhost`](Self::block_localhost).
    pub fn block_private(mut self, block: bool) -> Self {
        self.block_private = block;
        self
    }

    /// Sets whether loopback addresses and localhost names are refused.
    pub fn block_localhost(mut self, block: bool) -> Self {
        self.block_localhost = block;
        self
    }

    /// Whether a scheme, in lower case, may pass.
    pub fn allows_scheme(&self, scheme: &str) -> bool {
        self.schemes.iter().any(|allowed| same(allowed, scheme))
    }

    /// The schemes that may pass, in lower case.
    pub fn schemes(&self) -> impl Iterator<Item = &str> {
        self.schemes.iter().map(String::as_str)
    }

    /// Whether addresses and names that are not public are refused.
    pub fn blocks_private(&self) -> bool {
        self.block_private
    }

    /// Whether loopback addresses and localhost names are refused.
    pub fn blocks_localhost(&self) -> bool {
        self.block_localhost
    }
}

impl Default for Policy {
    /// Allows https only, and blocks private and local hosts.
    fn default() -> Self {
        Self::new(["https"])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_policy_allows_https_alone_and_blocks_everything_local() {
        let policy = Policy::default();
        assert_eq!(policy.schemes().collect::<Vec<_>>(), ["https"]);
        assert!(policy.blocks_private() && policy.blocks_localhost());
    }

    #[test]
    fn schemes_are_given_in_any_case() {
        assert!(Policy::new(["HTTPS"]).allows_scheme("https"));
    }
}

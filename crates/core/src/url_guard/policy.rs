//! The policy of the guard.

/// The allowed schemes, and whether private and local hosts are blocked.
///
/// The syntax rules (no control characters, no user info, no bad ports, …) apply under every
/// policy.
///
/// ```
/// use entreat_core::url_guard::{Policy, check_url};
///
/// let policy = Policy::new(["ssh", "https"]).block_private(false);
/// assert!(check_url("ssh://10.0.0.7/repo.git", &policy).is_ok());
/// assert!(check_url("ssh://127.0.0.1/repo.git", &policy).is_err());
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

    /// Sets whether non-public addresses and names are blocked.
    ///
    /// Does not cover loopback addresses and localhost names; see
    /// [`block_localhost`](Self::block_localhost).
    pub fn block_private(mut self, block: bool) -> Self {
        self.block_private = block;
        self
    }

    /// Sets whether loopback addresses and localhost names are blocked.
    pub fn block_localhost(mut self, block: bool) -> Self {
        self.block_localhost = block;
        self
    }

    /// Whether a scheme, in lower case, is allowed.
    pub fn allows_scheme(&self, scheme: &str) -> bool {
        self.schemes.iter().any(|allowed| **allowed == *scheme)
    }

    /// The allowed schemes, in lower case.
    pub fn schemes(&self) -> impl Iterator<Item = &str> {
        self.schemes.iter().map(String::as_str)
    }

    /// Whether non-public addresses and names are blocked.
    pub fn blocks_private(&self) -> bool {
        self.block_private
    }

    /// Whether loopback addresses and localhost names are blocked.
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

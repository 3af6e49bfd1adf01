//! Where a server behind the gateway is signed in to.

use std::path::PathBuf;

use entreat_wire::oauth::ClientSettings;
use http::header::AUTHORIZATION;

use super::{Table, UpstreamTarget};

/// The keys that mean something only with `oauth`.
const KEYS: [&str; 5] = [
    "client_id",
    "client_secret_file",
    "client_metadata_url",
    "scopes",
    "sign_in_port",
];

/// How the gateway signs in at a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OAuthConfig {
    pub(crate) client_id: Option<String>,
    pub(crate) client_secret_file: Option<PathBuf>,
    pub(crate) client_metadata_url: Option<String>,
    pub(crate) scopes: Vec<String>,
    /// The port to come back to; 0 for any.
    pub(crate) port: u16,
}

impl OAuthConfig {
    /// Reads the secret and returns what identifies the gateway.
    pub(crate) fn client(&self) -> anyhow::Result<ClientSettings> {
        let secret = self.client_secret_file.as_deref();
        let secret = secret.map(crate::sign_in::read_secret).transpose()?;
        Ok(ClientSettings {
            client_id: self.client_id.clone(),
            client_secret: secret,
            client_metadata_url: self.client_metadata_url.clone(),
            scopes: self.scopes.clone(),
            tls: None,
        })
    }
}

impl Table<'_, '_> {
    pub(super) fn oauth(&mut self, target: Option<&UpstreamTarget>) -> Option<OAuthConfig> {
        let Some(kind) = self.text("oauth") else {
            for key in KEYS {
                if self.member(key).is_some() {
                    self.reject(key, "it is for servers with `oauth`");
                }
            }
            return None;
        };
        if kind != "shared" {
            self.reject("oauth", "it must be shared");
        }
        match target {
            Some(UpstreamTarget::Command { .. }) => {
                self.reject("oauth", "it is for servers with a `url`");
            }
            Some(UpstreamTarget::Url { header_files, .. })
                if header_files.iter().any(|(name, _)| *name == AUTHORIZATION) =>
            {
                self.reject("oauth", "`header_files` has an Authorization already");
            }
            Some(UpstreamTarget::Url { .. }) | None => {}
        }
        let client_id = self.text("client_id");
        let client_secret_file = self.text("client_secret_file");
        let client_metadata_url = self.text("client_metadata_url");
        if client_secret_file.is_some() && client_id.is_none() {
            self.reject("client_secret_file", "it belongs to a `client_id`");
        }
        if client_metadata_url.is_some() && client_id.is_some() {
            self.reject(
                "client_metadata_url",
                "with a `client_id`, it would not be used",
            );
        }
        let port = self.number("sign_in_port").unwrap_or_default();
        let port = u16::try_from(port).unwrap_or_else(|_| {
            self.reject("sign_in_port", "it must be a port");
            0
        });
        let scopes = self.text("scopes").unwrap_or_default();
        Some(OAuthConfig {
            client_id,
            client_secret_file: client_secret_file.map(|file| self.folder.join(file)),
            client_metadata_url,
            scopes: scopes.split_whitespace().map(str::to_owned).collect(),
            port,
        })
    }
}

//! What is known of a client, from the very request that is being answered.

use std::sync::Arc;

use entreat_core::schema::Era;
use entreat_engine::shares::{Full, Place, Shares};
use http::header::AUTHORIZATION;
use http::request::Parts;
use rmcp::RoleServer;
use rmcp::model::{ClientCapabilities, ProgressToken};
use rmcp::service::RequestContext;
use serde_json::{Value, json};

use crate::sessions::Visit;
use crate::wire::FORMS;

/// What a client declares that it can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is declared or not")]
pub struct Abilities {
    /// Show a form.
    pub form: bool,
    /// Send a person to a URL.
    pub url: bool,
    /// Ask its model.
    pub sampling: bool,
    /// Tell its folders.
    pub roots: bool,
    /// Take whole forms, by the extension.
    pub whole_forms: bool,
}

impl Abilities {
    /// What the capabilities of an era mean.
    pub fn of(capabilities: &ClientCapabilities, era: Era) -> Self {
        let elicitation = capabilities.elicitation.as_ref();
        let has_url = era != Era::V2025_06_18 && elicitation.is_some_and(|it| it.url.is_some());
        let extension = match era {
            Era::V2026_07_28 => capabilities.extensions.as_ref(),
            _ => capabilities.experimental.as_ref(),
        };
        Self {
            // Saying nothing of modes means forms.
            form: elicitation.is_some_and(|it| it.form.is_some() || !has_url),
            url: has_url,
            sampling: capabilities.sampling.is_some(),
            roots: capabilities.roots.is_some(),
            whole_forms: extension.is_some_and(|it| it.contains_key(FORMS)),
        }
    }
}

/// A client, as far as one request tells.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    /// The era, unless it is older than elicitation.
    pub(crate) era: Option<Era>,
    pub(crate) abilities: Abilities,
    pub(crate) principal: Arc<str>,
    /// Whether it speaks to us over HTTP.
    pub(crate) is_remote: bool,
    /// Whether the person is at this machine.
    pub(crate) is_local: bool,
    pub(crate) progress: Option<ProgressToken>,
}

/// Who speaks to us over HTTP.
#[derive(Default)]
pub(crate) struct HttpCallers {
    pub(crate) principal: Option<Who>,
    pub(crate) are_local: bool,
}

type Who = Box<dyn Fn(&Parts) -> String + Send + Sync>;

impl HttpCallers {
    pub(crate) fn principal(&self, parts: &Parts) -> String {
        if let Some(who) = &self.principal {
            return who(parts);
        }
        let mut tokens = parts.headers.get_all(AUTHORIZATION).iter().peekable();
        if tokens.peek().is_none() {
            return "anonymous".to_owned();
        }
        // All of them, if a server let several through: none of them wins.
        let mut digest = blake3::Hasher::new();
        for token in tokens {
            digest.update(token.as_bytes());
        }
        digest.finalize().to_hex().to_string()
    }
}

impl Client {
    pub(crate) fn of(context: &RequestContext<RoleServer>, callers: &HttpCallers) -> Self {
        let parts = context.extensions.get::<Parts>();
        let version = context.protocol_version();
        let era = version.and_then(|version| era_of(version.as_str()));
        // A request can only be pushed over HTTP within a session.
        let has_session = || parts.is_none_or(|it| it.headers.contains_key("mcp-session-id"));
        let reaches = era == Some(Era::V2026_07_28) || has_session();
        let capabilities = context.client_capabilities().filter(|_| reaches);
        let abilities = era
            .zip(capabilities)
            .map(|(era, capabilities)| Abilities::of(&capabilities, era));
        let principal = match parts {
            // Found out once for each request, where the service was ours from the start.
            Some(parts) => match Visit::of_request(&context.extensions) {
                Some(visit) => visit.principal().clone(),
                None => callers.principal(parts).into(),
            },
            None => "local".into(),
        };
        Self {
            era,
            abilities: abilities.unwrap_or_default(),
            principal,
            is_remote: parts.is_some(),
            is_local: parts.is_none() || callers.are_local,
            progress: context.meta.get_progress_token(),
        }
    }

    /// A place of the client's share, or of all of them if it is the only one.
    pub(crate) fn place(&self, places: &Shares<Arc<str>>) -> Result<Place<Arc<str>>, Full> {
        if self.is_remote {
            places.take(self.principal.clone())
        } else {
            places.take_unshared(self.principal.clone())
        }
    }

    /// Whether questions are answered in rounds rather than waited for.
    pub(crate) fn has_rounds(&self) -> bool {
        self.era == Some(Era::V2026_07_28)
    }
}

/// The newest era that a version is not older than.
fn era_of(version: &str) -> Option<Era> {
    // Versions are dates, which sort as text.
    let mut eras = Era::ALL.into_iter().rev();
    eras.find(|era| version >= era.version())
}

/// The capability that a client would need for a form, or a page.
pub(crate) fn needed(mode: &str) -> Value {
    json!({"elicitation": {mode: {}}})
}

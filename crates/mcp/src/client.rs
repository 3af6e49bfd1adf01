//! What is known of a client, read from the request at hand.

use std::sync::Arc;

use entreat_core::is_unsafe_to_display;
use entreat_core::schema::Era;
use entreat_engine::shares::{Full, Permit, Shares};
use entreat_wire::headers::SESSION_ID;
use entreat_wire::message::FORMS;
use http::header::AUTHORIZATION;
use http::request::Parts;
use rmcp::RoleServer;
use rmcp::model::{ClientCapabilities, ProgressToken};
use rmcp::service::RequestContext;
use serde_json::{Value, json};

use crate::sessions::RequestScope;

/// What a client declares in its capabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is declared or not")]
pub struct Capabilities {
    /// Shows forms.
    pub form: bool,
    /// Shows URLs.
    pub url: bool,
    /// Supports sampling.
    pub sampling: bool,
    /// Lists roots.
    pub roots: bool,
    /// Supports the extension `dev.entreat/forms`.
    pub forms_extension: bool,
}

impl Capabilities {
    /// Reads the capabilities of a client as its protocol version defines them.
    pub fn of(capabilities: &ClientCapabilities, era: Era) -> Self {
        let elicitation = capabilities.elicitation.as_ref();
        let has_url = era != Era::V2025_06_18 && elicitation.is_some_and(|it| it.url.is_some());
        let extension = match era {
            Era::V2026_07_28 => capabilities.extensions.as_ref(),
            _ => capabilities.experimental.as_ref(),
        };
        Self {
            // An empty capability means forms.
            form: elicitation.is_some_and(|it| it.form.is_some() || !has_url),
            url: has_url,
            sampling: capabilities.sampling.is_some(),
            roots: capabilities.roots.is_some(),
            forms_extension: extension.is_some_and(|it| it.contains_key(FORMS)),
        }
    }
}

/// A client, as described by one request.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    /// The protocol version; `None` if it predates elicitation.
    pub(crate) era: Option<Era>,
    pub(crate) capabilities: Capabilities,
    pub(crate) principal: Arc<str>,
    /// How questions name the client's person, if pages can know them.
    pub(crate) respondent: Option<Arc<str>>,
    /// The name that it gives itself.
    pub(crate) name: Option<String>,
    /// Whether it is connected over HTTP.
    pub(crate) is_remote: bool,
    /// Whether the person is on this machine.
    pub(crate) is_local: bool,
    pub(crate) progress: Option<ProgressToken>,
}

/// How HTTP clients are identified.
#[derive(Default)]
pub(crate) struct HttpCallers {
    pub(crate) principal: Option<PrincipalFn>,
    pub(crate) respondent: Option<RespondentFn>,
    pub(crate) are_local: bool,
}

type PrincipalFn = Box<dyn Fn(&Parts) -> String + Send + Sync>;
type RespondentFn = Box<dyn Fn(&Parts) -> Option<String> + Send + Sync>;

impl HttpCallers {
    pub(crate) fn principal(&self, parts: &Parts) -> String {
        if let Some(derive) = &self.principal {
            return derive(parts);
        }
        let mut tokens = parts.headers.get_all(AUTHORIZATION).iter().peekable();
        if tokens.peek().is_none() {
            return "anonymous".to_owned();
        }
        // Hashes all of them in case several got through: none takes precedence.
        let mut digest = blake3::Hasher::new();
        for token in tokens {
            digest.update(token.as_bytes());
        }
        digest.finalize().to_hex().to_string()
    }

    /// How questions name the person behind a request; `None` if nobody could tell.
    fn respondent(&self, parts: &Parts, principal: &Arc<str>) -> Option<Arc<str>> {
        match (&self.respondent, &self.principal) {
            (Some(derive), _) => derive(parts).map(Into::into),
            (None, Some(_)) => Some(principal.clone()),
            // Whoever sends a header with nothing to say who they are is nobody on pages.
            (None, None) => None,
        }
    }
}

impl Client {
    pub(crate) fn of(context: &RequestContext<RoleServer>, callers: &HttpCallers) -> Self {
        let parts = context.extensions.get::<Parts>();
        let version = context.protocol_version();
        let era = version.and_then(|version| era_of(version.as_str()));
        // Over HTTP, a server can send requests only within a session.
        let has_session = || parts.is_none_or(|it| it.headers.contains_key(SESSION_ID));
        let reaches = era == Some(Era::V2026_07_28) || has_session();
        let capabilities = context.client_capabilities().filter(|_| reaches);
        let capabilities = era
            .zip(capabilities)
            .map(|(era, capabilities)| Capabilities::of(&capabilities, era));
        let principal = match parts {
            // Already resolved if the request came through our own HTTP service.
            Some(parts) => match RequestScope::of_request(&context.extensions) {
                Some(scope) => scope.principal().clone(),
                None => callers.principal(parts).into(),
            },
            None => "local".into(),
        };
        let respondent = match parts {
            Some(parts) => callers.respondent(parts, &principal),
            None => Some(principal.clone()),
        };
        Self {
            era,
            capabilities: capabilities.unwrap_or_default(),
            principal,
            respondent,
            name: name_of(context),
            is_remote: parts.is_some(),
            is_local: parts.is_none() || callers.are_local,
            progress: context.meta.get_progress_token(),
        }
    }

    /// Acquires a permit from the client's share, or from all permits if it is the only client.
    pub(crate) fn place(&self, places: &Shares<Arc<str>>) -> Result<Permit<Arc<str>>, Full> {
        if self.is_remote {
            places.take(self.principal.clone())
        } else {
            places.take_unshared(self.principal.clone())
        }
    }

    /// Whether questions are returned in rounds (since 2026-07-28) rather than pushed.
    pub(crate) fn has_rounds(&self) -> bool {
        self.era == Some(Era::V2026_07_28)
    }
}

/// The name that a client gives itself, if it can be shown.
fn name_of(context: &RequestContext<RoleServer>) -> Option<String> {
    const MAX: usize = 64;
    let info = context.client_info()?;
    let name = info.title.as_deref().unwrap_or(&info.name).trim();
    let is_fit = !name.is_empty() && !name.chars().any(is_unsafe_to_display);
    is_fit.then(|| name.chars().take(MAX).collect())
}

/// The newest known protocol version that is not newer than `version`.
fn era_of(version: &str) -> Option<Era> {
    // Versions are dates, which sort as text.
    let mut eras = Era::ALL.into_iter().rev();
    eras.find(|era| version >= era.version())
}

/// The capability that a client lacks for an elicitation mode.
pub(crate) fn needed(mode: &str) -> Value {
    json!({"elicitation": {mode: {}}})
}

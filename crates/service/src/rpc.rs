//! JSON-RPC 2.0 without a transport.
//!
//! [`Rpc`] answers messages on behalf of a [`Session`]. Parsing is strict: duplicate keys and
//! unknown parameters are rejected by name. A method is one entry of the table in `method.rs`,
//! which drives dispatch, parameter checks and the [`openrpc`] document, so that the three agree.
//!
//! ```
//! use entreat_engine::Engine;
//! use entreat_service::rpc::{Rpc, Session};
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
//! # runtime.block_on(async {
//! let engine = Engine::builder().start().await?;
//! let rpc = Rpc::new(engine.clone());
//! let session = Session::new(engine.asker("my-program"));
//!
//! let request = br#"{"jsonrpc":"2.0","id":1,"method":"elicitation/timeout_config"}"#;
//! let answered = rpc.answer(&session, request).await;
//! assert!(answered.is_well_formed);
//! assert_eq!(
//!     answered.body.unwrap(),
//!     r#"{"jsonrpc":"2.0","id":1,"result":{"default_ms":30000,"min_ms":1000,"max_ms":300000,"config_source":"default"}}"#,
//! );
//! # engine.shutdown().await;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod session;
mod templates;

mod message;
mod params;
mod shape;

mod act;
mod create;
mod forms;
mod inbox;
mod method;
mod watch;

mod error;
mod notification;
pub mod openrpc;
mod record_schema;

use std::sync::Arc;

use entreat_core::{FormCache, Validators};
use entreat_engine::Engine;

use crate::upload::Uploads;

pub use answer::{ResponseFuture, RpcResponse};
pub use entreat_engine::Links;
pub use error::{Code, RpcError};
pub use notification::Notification;
pub use session::Session;
pub use templates::{Template, Templates};

/// Answers messages of the control API. Clones share one state.
#[derive(Clone)]
pub struct Rpc {
    engine: Engine,
    templates: Templates,
    links: Option<Arc<dyn Links>>,
    uploads: Option<Uploads>,
    forms: Arc<FormCache>,
    validators: Arc<Validators>,
}

/// Maximum length of the name of a respondent, in characters.
pub(crate) const MAX_RESPONDENT: usize = 1024;

/// How many compiled definitions are cached. With the size bound in `forms.rs`, they take some tens
/// of MiB at worst.
const CACHED_FORMS: usize = 256;

impl Rpc {
    /// Serves the askers of this engine, without templates and pages.
    pub fn new(engine: Engine) -> Self {
        Self {
            engine,
            templates: Templates::default(),
            links: None,
            uploads: None,
            forms: Arc::new(FormCache::new(CACHED_FORMS)),
            validators: Arc::default(),
        }
    }

    /// Adds forms that can be asked by name.
    #[must_use]
    pub fn with_templates(mut self, templates: Templates) -> Self {
        self.templates = templates;
        self
    }

    /// Adds the pages on which people answer.
    #[must_use]
    pub fn with_links(mut self, links: impl Links + 'static) -> Self {
        self.links = Some(Arc::new(links));
        self
    }

    /// Adds the files that people send on the pages, so that those of drafts go when a question
    /// becomes somebody else's.
    #[must_use]
    pub fn with_uploads(mut self, uploads: Uploads) -> Self {
        self.uploads = Some(uploads);
        self
    }

    /// Adds functions that definitions may name in `custom_validators`.
    #[must_use]
    pub fn with_validators(mut self, validators: Validators) -> Self {
        self.validators = Arc::new(validators);
        // Cached forms were compiled with the previous validators.
        self.forms = Arc::new(FormCache::new(CACHED_FORMS));
        self
    }

    /// Returns the engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns the forms that can be asked by name.
    pub fn templates(&self) -> &Templates {
        &self.templates
    }
}

impl std::fmt::Debug for Rpc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rpc")
            .field("engine", &self.engine)
            .field("templates", &self.templates)
            .field("has_pages", &self.links.is_some())
            .finish_non_exhaustive()
    }
}

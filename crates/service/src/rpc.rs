//! JSON-RPC 2.0 without a transport: a message in, an answer out.
//!
//! [`Rpc`] answers messages; a [`Session`] says for whom. Reading is strict: what is ambiguous
//! (a key that stands twice, a parameter that is misspelt) is refused and named. A method is one
//! entry of the table in `method.rs`, from which calls are dispatched, parameters are checked and
//! the [`openrpc`] document is written, so that the three cannot disagree.
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
//! assert!(answered.understood);
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
mod method;
mod watch;

mod error;
mod notification;
pub mod openrpc;
mod record_schema;

use std::sync::Arc;

use entreat_core::{FormCache, Validators};
use entreat_engine::Engine;

pub use answer::{Answered, Answering};
pub use entreat_engine::Links;
pub use error::{Code, RpcError};
pub use notification::Notification;
pub use session::Session;
pub use templates::{Template, Templates};

/// Answers messages of the control API. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Rpc {
    engine: Engine,
    templates: Templates,
    links: Option<Arc<dyn Links>>,
    forms: Arc<FormCache>,
    validators: Arc<Validators>,
}

/// How many definitions are kept compiled. With the bound on their size in `forms.rs` they come
/// to some tens of MiB at worst.
const CACHED_FORMS: usize = 256;

impl Rpc {
    /// Methods for the askers of this engine; without templates and pages.
    pub fn new(engine: Engine) -> Self {
        Self {
            engine,
            templates: Templates::default(),
            links: None,
            forms: Arc::new(FormCache::new(CACHED_FORMS)),
            validators: Arc::default(),
        }
    }

    /// Forms that can be asked by name.
    #[must_use]
    pub fn with_templates(mut self, templates: Templates) -> Self {
        self.templates = templates;
        self
    }

    /// Where pages are.
    #[must_use]
    pub fn with_links(mut self, links: impl Links + 'static) -> Self {
        self.links = Some(Arc::new(links));
        self
    }

    /// Functions that definitions may name in `custom_validators`.
    #[must_use]
    pub fn with_validators(mut self, validators: Validators) -> Self {
        self.validators = Arc::new(validators);
        // Forms are found by their text, whatever validators they were loaded with.
        self.forms = Arc::new(FormCache::new(CACHED_FORMS));
        self
    }

    /// The engine behind the methods.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The forms that can be asked by name.
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

//! What a program says about the MCP servers that it wraps.

use std::sync::Arc;

use entreat_core::Form;
use entreat_engine::{Asker, Engine};
use entreat_mcp::{Forms, Mcp, Parts, Settings};
use entreat_service::page::Pages;
use entreat_service::rpc::Templates;

/// Everything that is said, to be joined with parts that exist only later.
#[derive(Default)]
pub(super) struct McpParts {
    pub(super) settings: Settings,
    pub(super) asker: Option<String>,
    pub(super) principal: Option<Arc<Who>>,
    pub(super) are_local: bool,
    pub(super) browser: Option<Arc<Browser>>,
}

type Who = dyn Fn(&Parts) -> String + Send + Sync;
type Browser = dyn Fn(&str) + Send + Sync;

impl McpParts {
    pub(super) fn join(
        &self,
        engine: &Engine,
        templates: &Templates,
        pages: Option<&Pages>,
    ) -> Mcp {
        let mut mcp = Mcp::builder(self.asker(engine))
            .settings(self.settings.clone())
            .local_clients(self.are_local)
            .templates(ByName(templates.clone()));
        if let Some(pages) = pages {
            mcp = mcp.pages(Arc::new(pages.clone()));
        }
        if let Some(who) = self.principal.clone() {
            mcp = mcp.principal(move |parts| who(parts));
        }
        if let Some(open) = self.browser.clone() {
            mcp = mcp.browser(move |url| open(url));
        }
        mcp.build()
    }

    /// Who asks: this program itself, for any number of clients. How often each may be asked is
    /// theirs to say, so only what holds for all is a limit.
    fn asker(&self, engine: &Engine) -> Asker {
        let mut settings = engine.asker_settings().clone();
        settings.limits.creations_per_minute = None;
        settings.limits.requests_per_second = None;
        settings.limits.live = usize::MAX;
        engine.asker_with(self.asker.as_deref().unwrap_or("mcp"), settings)
    }
}

/// The service's templates, as MCP servers know them.
struct ByName(Templates);

impl Forms for ByName {
    fn find(&self, name: &str) -> Option<Form> {
        self.0.get(name)?.form
    }

    fn names(&self) -> Vec<String> {
        self.0.names()
    }
}

//! Presenters for MCP clients: show a server's questions in the terminal or in the browser.
//!
//! Both implement [`Presenter`](entreat_mcp::answer::Presenter) for
//! [`Answering`](entreat_mcp::answer::Answering), the handler of an rmcp client.

mod browser;
#[cfg(feature = "terminal")]
mod terminal;
mod texts;

pub use browser::BrowserPresenter;
#[cfg(feature = "terminal")]
pub use terminal::TerminalPresenter;

/// Opens a URL with the system's default program.
pub type Opener = Box<dyn Fn(&str) -> std::io::Result<()> + Send + Sync>;

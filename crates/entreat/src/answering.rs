//! Shows what MCP servers ask, in this program's terminal or in its person's browser.
//!
//! Both are a [`Present`](entreat_mcp::answer::Present) for
//! [`Answering`](entreat_mcp::answer::Answering), which a client of rmcp is given as its handler.

mod browser;
#[cfg(feature = "terminal")]
mod terminal;

pub use browser::BrowserPages;
#[cfg(feature = "terminal")]
pub use terminal::AtTerminal;

/// Opens an address with the system's own program for it.
pub type Opener = Box<dyn Fn(&str) -> std::io::Result<()> + Send + Sync>;

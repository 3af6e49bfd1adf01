//! An MCP server that asks in every possible way, for clients of all protocol versions.
//!
//! `everything stdio` serves stdio; `everything --port N` serves Streamable HTTP under `/mcp` on
//! loopback, on a free port if N is 0. Every tool is written once.

mod conformance;
mod tools;

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use clap::Parser;
use entreat::Entreat;
use entreat::mcp::rmcp;
use rmcp::handler::server::router::prompt::PromptRouter;
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::model::{Implementation, ServerCapabilities, ServerConfig};
use rmcp::{ServerHandler, prompt_handler, tool_handler};
use tokio::net::TcpListener;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::prelude::*;

#[derive(Parser)]
#[command(about = "An MCP server that asks in every way there is")]
struct Arguments {
    /// `stdio`: speak on standard input and output.
    transport: Option<String>,
    /// Serve Streamable HTTP on this port of loopback, under `/mcp`.
    #[arg(long)]
    port: Option<u16>,
}

/// The server; its tools are in `tools.rs` and `conformance.rs`.
#[derive(Clone)]
pub(crate) struct Everything {
    tools: ToolRouter<Self>,
    prompts: PromptRouter<Self>,
    /// How often the effect of `ask_once` ran.
    charges: Arc<AtomicU64>,
}

impl Everything {
    fn new() -> Self {
        Self {
            tools: Self::asking_tools() + Self::conformance_tools(),
            prompts: Self::conformance_prompts(),
            charges: Arc::default(),
        }
    }
}

#[tool_handler(router = self.tools)]
#[prompt_handler(router = self.prompts)]
impl ServerHandler for Everything {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .build();
        let mut info = ServerConfig::new(capabilities);
        info.server_info = Implementation::new("entreat-everything", env!("CARGO_PKG_VERSION"));
        info.instructions = Some("Every tool asks its person something.".to_owned());
        info
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // rmcp logs complete messages, which contain links and answers.
    let filter = Targets::new()
        .with_default(LevelFilter::WARN)
        .with_target("rmcp", LevelFilter::OFF);
    tracing_subscriber::registry()
        .with(
            fmt::layer()
                .with_writer(std::io::stderr)
                .with_filter(filter),
        )
        .init();
    let arguments = Arguments::parse();
    // Pages for secrets, files, and clients that cannot show forms.
    let entreat = Entreat::builder()
        .listen(([127, 0, 0, 1], 0))
        .mcp_asker("everything")
        .mcp_local_clients(true)
        .start()
        .await?;
    let server = entreat.wrap(Everything::new());
    match arguments.port {
        None => server.serve_stdio().await?,
        Some(port) => {
            let listener = TcpListener::bind(("127.0.0.1", port)).await?;
            let address = listener.local_addr()?;
            writeln!(std::io::stderr(), "listening on http://{address}/mcp")?;
            let end = async {
                let _ = tokio::signal::ctrl_c().await;
            };
            entreat.serve_mcp(server, listener, end).await;
        }
    }
    entreat.shutdown().await;
    Ok(())
}

//! Asks a form in plain prompts and prints the answers as JSON:
//!
//! ```sh
//! cargo run -p entreat-terminal --example plain -- examples/deploy.yaml
//! ```
//!
//! Shows what a program around the prompts has to do: stop waiting on Ctrl-C, which gives the
//! terminal back, and keep stdout for data. Ends with 0 if answered, 1 if declined, 2 if
//! cancelled, 130 on Ctrl-C.

use std::error::Error;
use std::io::Write as _;
use std::process::ExitCode;

use entreat_core::document::Notation;
use entreat_core::{Catalogue, Form};
use entreat_terminal::{FormReply, PromptChannel, Terminal, TerminalQuestion};
use serde_json::Value;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("name a form file")?;
    let text = std::fs::read_to_string(&path)?;
    let notation = match path.rsplit('.').next() {
        Some("json") => Notation::Json,
        Some("toml") => Notation::Toml,
        _ => Notation::Yaml,
    };
    let form = Form::from_text(&text, notation)?;
    let messages = Catalogue::default().messages(["en"]);
    let question = TerminalQuestion::new(form.clone(), messages).asker("The example");

    let mut terminal = Terminal::piped(true);
    let mut channel = PromptChannel::disconnected();
    let filled = tokio::select! {
        filled = terminal.fill(&question, &mut channel) => filled?,
        _ = tokio::signal::ctrl_c() => std::process::exit(130),
    };
    Ok(match filled {
        FormReply::Answered(draft) => {
            let draft = Value::from(draft);
            let answers = form.check(&draft)?;
            let mut out = std::io::stdout().lock();
            serde_json::to_writer_pretty(&mut out, &answers.reveal())?;
            out.write_all(b"\n")?;
            ExitCode::SUCCESS
        }
        FormReply::Declined => ExitCode::from(1),
        FormReply::Cancelled => ExitCode::from(2),
    })
}

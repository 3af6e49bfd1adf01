//! Asks a form in plain prompts and prints the answers as JSON:
//!
//! ```sh
//! cargo run -p entreat-terminal --example plain -- examples/deploy.yaml
//! ```
//!
//! Shows what a program around the prompts has to do: give the terminal back before it ends
//! on Ctrl-C, and keep stdout for data. Ends with 0 if answered, 1 if declined, 2 if
//! cancelled, 130 on Ctrl-C.

use std::error::Error;
use std::io::Write as _;
use std::process::ExitCode;

use entreat_core::document::Notation;
use entreat_core::{Catalogue, Form};
use entreat_terminal::plain::Plain;
use entreat_terminal::{Reply, Restorer, StdConsole};
use serde_json::{Map, Value};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("name a form file")?;
    let text = std::fs::read_to_string(&path)?;
    let notation = match path.rsplit('.').next() {
        Some("json") => Notation::Json,
        Some("toml") => Notation::Toml,
        _ => Notation::Yaml,
    };
    let form = Form::from_text(&text, notation)?;
    let messages = Catalogue::default().messages(["en"]);

    let mut console = StdConsole::new();
    end_on_interrupt(console.restorer())?;
    let mut draft = Map::new();
    let reply = Plain::new(&form, &messages)
        .asker("The example")
        .fill(&mut console, &mut draft)?;
    Ok(match reply {
        Reply::Answered => {
            let draft = Value::from(draft);
            let answers = form.check(&draft)?;
            let mut out = std::io::stdout().lock();
            serde_json::to_writer_pretty(&mut out, &answers.reveal())?;
            out.write_all(b"\n")?;
            ExitCode::SUCCESS
        }
        Reply::Declined => ExitCode::from(1),
        Reply::Cancelled => ExitCode::from(2),
    })
}

/// Ends the program on Ctrl-C, with the terminal as it was.
fn end_on_interrupt(restorer: Restorer) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    std::thread::spawn(move || {
        if runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
            restorer.restore();
            // The person is in the middle of a line.
            let _ = std::io::stderr().write_all(b"\n");
            std::process::exit(130);
        }
    });
    Ok(())
}

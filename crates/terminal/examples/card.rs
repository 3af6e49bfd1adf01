//! Shows an address on the whole screen and asks whether it may be opened; opens nothing.
//!
//! ```sh
//! cargo run -p entreat-terminal --example card -- https://login.example.com/
//! ```

use std::error::Error;

use entreat_core::url_guard::inspect;
use entreat_terminal::{CardReply, Mode, Terminal, TerminalStyle, UrlCard};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1).ok_or("name an address")?;
    let guarded = inspect(&url, None);
    let card = UrlCard {
        asker: "The example".to_owned(),
        message: "Please sign in there, then come back.".to_owned(),
        host: guarded.highlight.unwrap_or_default(),
        warnings: guarded
            .warnings
            .iter()
            .map(|w| w.message().to_owned())
            .collect(),
        url,
        may_be_opened: true,
    };
    let style = TerminalStyle {
        mode: Mode::Full,
        colour: true,
        unicode: true,
    };
    let mut terminal = Terminal::open(style)?;
    let reply = terminal.card(&card).await?;
    terminal.notice(&format!("You said: {reply:?}"))?;
    if reply == CardReply::Open {
        let reply = terminal.opened(&card).await?;
        terminal.notice(&format!("Then you said: {reply:?}"))?;
    }
    Ok(())
}

//! Addresses to open, asked about in lines.

use std::io;

use crate::console::{Held, Talk};
use crate::lines::Lines;
use crate::question::{CardReply, OpenedReply, UrlCard};
use crate::typography::quoted;

const PROMPT: &str = "> ";
const OPEN: &str = "Type open to open it in your browser, :decline to refuse, or :cancel to leave \
    without a decision.";
const CLOSED: &str = "It cannot be opened. Type :decline to refuse, or :cancel to leave without a \
    decision.";
const OPENED: &str = "Type done when you have finished there, again to open it once more, or \
    :cancel.";

pub(crate) async fn card(
    talk: &mut Talk,
    lines: &mut Lines,
    card: &UrlCard,
) -> io::Result<CardReply> {
    let mut talk = Held::new(talk);
    talk.own(&format!(
        "{} asks you to open a page on the web:",
        quoted(&card.asker)
    ))?;
    talk.theirs(&card.message)?;
    talk.own("This is the address:")?;
    talk.theirs(&card.url.replace(char::is_whitespace, " "))?;
    if !card.host.is_empty() {
        talk.own(&format!("It leads to {}.", quoted(&card.host)))?;
    }
    for warning in &card.warnings {
        talk.own(&format!("Careful: {warning}"))?;
    }
    loop {
        talk.own(if card.may_be_opened { OPEN } else { CLOSED })?;
        match word(&mut talk, lines).await?.as_deref() {
            None | Some("cancel") => return Ok(CardReply::Cancel),
            Some("open") if card.may_be_opened => return Ok(CardReply::Open),
            Some("decline") => return Ok(CardReply::Decline),
            Some(_) => {}
        }
    }
}

pub(crate) async fn opened(
    talk: &mut Talk,
    lines: &mut Lines,
    card: &UrlCard,
) -> io::Result<OpenedReply> {
    let mut talk = Held::new(talk);
    talk.own(&format!("{} was opened.", quoted(&card.host)))?;
    loop {
        talk.own(OPENED)?;
        match word(&mut talk, lines).await?.as_deref() {
            None | Some("cancel") => return Ok(OpenedReply::Cancel),
            Some("done") => return Ok(OpenedReply::Done),
            Some("again") => return Ok(OpenedReply::Again),
            Some(_) => {}
        }
    }
}

/// The next line as a word, with or without a colon; `None` at the end of the input.
async fn word(talk: &mut Held<'_>, lines: &mut Lines) -> io::Result<Option<String>> {
    talk.prompt(PROMPT, false)?;
    match talk.read(lines).await {
        Ok(line) => Ok(line.map(|line| {
            let line = line.trim().to_lowercase();
            line.strip_prefix(':').map(str::to_owned).unwrap_or(line)
        })),
        // What is no text is no word.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(Some(String::new())),
        Err(error) => Err(error),
    }
}

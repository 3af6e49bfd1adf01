//! Asks in plain lines whether a URL may be opened.

use std::io;

use crate::console::{Output, PromptGuard};
use crate::lines::LineReader;
use crate::question::{CardReply, OpenedReply, UrlCard};
use crate::texts::CardTexts;
use crate::typography::quoted;

const PROMPT: &str = "> ";

pub(crate) async fn card(
    output: &mut Output,
    lines: &mut LineReader,
    texts: &CardTexts,
    card: &UrlCard,
) -> io::Result<CardReply> {
    let mut output = PromptGuard::new(output);
    output.write_own(&(texts.asks_to_open)(&quoted(&card.asker)))?;
    output.write_quoted(&card.message)?;
    output.write_own(texts.address)?;
    output.write_quoted(&card.url.replace(char::is_whitespace, " "))?;
    if !card.host.is_empty() {
        output.write_own(&(texts.leads_to_host)(&quoted(&card.host)))?;
    }
    for warning in &card.warnings {
        output.write_own(&(texts.careful)(warning))?;
    }
    loop {
        output.write_own(if card.may_be_opened {
            texts.type_open
        } else {
            texts.type_closed
        })?;
        match read_word(&mut output, lines).await?.as_deref() {
            None | Some("cancel") => return Ok(CardReply::Cancel),
            Some("open") if card.may_be_opened => return Ok(CardReply::Open),
            Some("decline") => return Ok(CardReply::Decline),
            Some(_) => {}
        }
    }
}

pub(crate) async fn opened(
    output: &mut Output,
    lines: &mut LineReader,
    texts: &CardTexts,
    card: &UrlCard,
) -> io::Result<OpenedReply> {
    let mut output = PromptGuard::new(output);
    output.write_own(&(texts.was_opened)(&quoted(&card.host)))?;
    loop {
        output.write_own(texts.type_opened)?;
        match read_word(&mut output, lines).await?.as_deref() {
            None | Some("cancel") => return Ok(OpenedReply::Cancel),
            Some("done") => return Ok(OpenedReply::Done),
            Some("again") => return Ok(OpenedReply::Again),
            Some(_) => {}
        }
    }
}

/// Reads the next line as a command, with or without a colon; `None` at the end of the input.
async fn read_word(
    output: &mut PromptGuard<'_>,
    lines: &mut LineReader,
) -> io::Result<Option<String>> {
    output.prompt(PROMPT, false)?;
    match output.read(lines).await {
        Ok(line) => Ok(line.map(|line| {
            let line = line.trim().to_lowercase();
            line.strip_prefix(':').map(str::to_owned).unwrap_or(line)
        })),
        // A line that is not text matches no command.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(Some(String::new())),
        Err(error) => Err(error),
    }
}

//! `entreat url check`: whether URLs may be used, and warnings for people.
//!
//! Performs no DNS look-ups: results can be passed in, and without them a name counts as public.
//! Redirects are not followed, so they are not checked.

use std::ffi::OsString;
use std::io::Write;
use std::net::IpAddr;

use anyhow::{Context as _, anyhow};
use entreat_core::document::MAX_DOCUMENT_BYTES;
use entreat_core::url_guard::{Blocked, Policy, Warning, check_url, inspect};
use serde::{Deserialize, Serialize};

use crate::context::{Context, Exit};
use crate::input::{self, Source};
use crate::output;

/// Check whether URLs are safe to use, and what to warn people about
///
/// Prints one JSON object per line: {"url", "verdict", "reason", "action", "warnings",
/// "highlight"}. The verdict, "allow" or "block", says whether a program may use the URL: only http
/// and https, only public hosts. The reason is a code, or null. Action ("allow", "warn", "reject"),
/// warnings and highlight are for a person who is asked to open it.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// URLs; `-` reads lines from stdin. With --lines, files to read lines from
    #[arg(value_name = "URL", required_unless_present = "lines", value_hint = clap::ValueHint::Url)]
    urls: Vec<OsString>,
    /// Read one URL per line, from stdin if no file is given
    #[arg(long)]
    lines: bool,
    /// The host of the MCP server that asks, to warn if the URL leads to another site
    #[arg(long, value_name = "HOST")]
    server: Option<String>,
}

const AFTER_HELP: &str = "\
Examples:
  entreat url check https://example.com/ http://169.254.169.254/
  entreat url check --server mcp.example.com https://login.example.net/
  entreat url check --lines < urls.txt

A line is one of:
  https://example.com/                            the URL itself
  \"https://example.com/\\u0000\"                    a JSON string
  {\"url\": \"https://example.com/\", \"dns\": [[\"93.184.215.14\"]], \"server\": \"example.com\"}

`dns` contains the resolver's responses, one list per lookup, and every address must pass; without
it, a name is assumed to be public. This command makes no DNS lookups and fetches nothing.

Exit codes: 0 all allowed, 1 a URL is blocked, 2 wrong usage, an unreadable file, or a malformed
line (the other lines are still checked).";

/// One URL to check, as a line of JSON. Other keys are ignored, so that annotated test cases can be
/// piped in.
#[derive(Deserialize)]
struct UrlCase {
    url: String,
    dns: Option<Vec<Vec<IpAddr>>>,
    server: Option<String>,
}

/// The output for one URL; the order of keys is part of the format.
#[derive(Serialize)]
struct Report<'q> {
    url: &'q str,
    verdict: &'static str,
    reason: Option<&'static str>,
    action: &'static str,
    warnings: Vec<&'static str>,
    highlight: Option<String>,
}

pub(crate) fn run(args: Args, context: &mut Context, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let Args {
        urls,
        lines,
        server,
    } = args;
    let mut checker = Checker {
        policy: Policy::web(),
        server,
        exit: Exit::Success,
    };
    if lines {
        let mut files: Vec<_> = urls.into_iter().map(Source::from).collect();
        if files.is_empty() {
            files.push(Source::Stdin);
        }
        input::refuse_stdin_twice(&files)?;
        for file in &files {
            checker.check_lines(file, context, out)?;
        }
    } else {
        for url in urls {
            if url == "-" {
                checker.check_lines(&Source::Stdin, context, out)?;
                continue;
            }
            let url = url
                .into_string()
                .map_err(|url| anyhow!("{} is not UTF-8 text", url.display()))?;
            checker.check(&UrlCase::plain(&url), out)?;
        }
    }
    Ok(checker.exit)
}

impl UrlCase {
    fn plain(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            dns: None,
            server: None,
        }
    }

    fn from_line(line: &str) -> serde_json::Result<Self> {
        match line.as_bytes().first() {
            Some(b'{') => serde_json::from_str(line),
            Some(b'"') => serde_json::from_str(line).map(|url: String| Self::plain(&url)),
            _ => Ok(Self::plain(line)),
        }
    }
}

struct Checker {
    policy: Policy,
    server: Option<String>,
    exit: Exit,
}

impl Checker {
    fn check_lines(
        &mut self,
        file: &Source,
        context: &mut Context,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let mut lines = file.lines(MAX_DOCUMENT_BYTES, context)?;
        loop {
            let number = lines.number() + 1;
            let line = lines
                .next(out)
                .with_context(|| format!("cannot read {file}"))?;
            let question = match line {
                None => return Ok(()),
                Some(Ok("")) => continue,
                Some(Ok(line)) => {
                    UrlCase::from_line(line).map_err(|error| input::at_line(number, &error))
                }
                Some(Err(bad)) => Err(format!("line {number}: {bad}")),
            };
            match question {
                Ok(question) => self.check(&question, out)?,
                Err(error) => {
                    self.exit = Exit::Error;
                    let error = output::sanitize(&error);
                    context.say(format_args!("entreat: {file}: {error}"));
                }
            }
        }
    }

    fn check(&mut self, question: &UrlCase, out: &mut dyn Write) -> anyhow::Result<()> {
        let blocked = self.judge(question).err();
        if blocked.is_some() {
            self.exit = self.exit.max(Exit::Findings);
        }
        let server = question.server.as_deref().or(self.server.as_deref());
        let card = inspect(&question.url, server);
        let report = Report {
            url: &question.url,
            verdict: if blocked.is_some() { "block" } else { "allow" },
            reason: blocked.map(|blocked| blocked.reason().code()),
            action: card.action.as_str(),
            warnings: card.warnings.iter().map(Warning::code).collect(),
            highlight: card.highlight,
        };
        output::line(out, &report)?;
        Ok(())
    }

    fn judge(&self, question: &UrlCase) -> Result<(), Blocked> {
        let checked = check_url(&question.url, &self.policy)?;
        // IP addresses are not looked up, so DNS results do not apply.
        if checked.is_name() {
            for answer in question.dns.iter().flatten() {
                checked.check_addresses(answer, &self.policy)?;
            }
        }
        Ok(())
    }
}

//! `entreat gateway sign-in`: signs in at a server for everybody who uses it through the gateway.

use std::io::Write;
use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use entreat_wire::oauth::{Account, Challenge, GrantFiles};

use super::{ServerArgs, check, selected};
use crate::config::{Config, UpstreamConfig, UpstreamTarget};
use crate::context::{Context, Exit};
use crate::language::LanguageArg;
use crate::sign_in::{Person, PersonTokens, SignInReason, SignInWay, explain, surroundings};
use crate::texts::Texts;
use crate::{browser, output, runtime};

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    server: ServerArgs,
    /// Don't open a browser: print the link, and read the address at which it ends
    #[arg(long)]
    no_browser: bool,
    #[command(flatten)]
    language: LanguageArg,
}

/// Signs in, and says what the server offers.
pub(super) fn run(args: &Args, context: &Context, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let (upstream, account) = find(args, context)?;
    let texts = Texts::of(&args.language.messages(context));
    let person = Person {
        name: upstream.name.clone(),
        way: SignInWay::Terminal { has_stdin: true },
        texts: &texts.sign_in,
        may_open: browser::may_open(context) && !args.no_browser,
        port: upstream.oauth.as_ref().map_or(0, |oauth| oauth.port),
    };
    let tokens = Arc::new(PersonTokens::new(account, person));
    let found = runtime::block_on_all(async {
        let signed_in = tokens.account().signed_in().await?;
        if signed_in.is_none() {
            // What the server says when it is called may be more than what it publishes.
            let called = check::look_at(&upstream, Some(tokens.clone()), Arc::default()).await;
            if tokens.account().signed_in().await?.is_some() {
                return called;
            }
        }
        let why = match signed_in {
            Some(_) => SignInReason::Again,
            None => SignInReason::First,
        };
        let signing_in = tokens.sign_in(&Challenge::default(), why).await;
        signing_in.map_err(|error| anyhow!(explain(&upstream.name, &error, "`client_id`")))?;
        check::look_at(&upstream, Some(tokens.clone()), Arc::default()).await
    })?;
    writeln!(out, "{}: {}", upstream.name, output::sanitize(&found))?;
    Ok(Exit::Success)
}

/// Forgets a sign-in.
pub(super) fn forget(args: &Args, context: &mut Context) -> anyhow::Result<Exit> {
    let (upstream, account) = find(args, context)?;
    let forgotten = runtime::block_on_all(async { Ok(account.forget().await?) })?;
    let name = &upstream.name;
    if forgotten {
        context.say(format_args!("{name}: the sign-in is forgotten here."));
        return Ok(Exit::Success);
    }
    context.say(format_args!("{name}: nobody was signed in."));
    Ok(Exit::Findings)
}

fn find(args: &Args, context: &Context) -> anyhow::Result<(UpstreamConfig, Account)> {
    let (config, mut upstreams) = selected(&args.server, context)?;
    if args.server.name.is_none() {
        upstreams.retain(|upstream| upstream.oauth.is_some());
    }
    let upstream = match upstreams.len() {
        1 => upstreams.remove(0),
        0 => bail!("no server has `oauth`, so nobody signs in at one"),
        _ => bail!("name one of the servers that have `oauth`"),
    };
    let Some(account) = account(&config, &upstream)? else {
        bail!(
            "the server {} has no `oauth`, so nobody signs in at it",
            upstream.name
        );
    };
    Ok((upstream, account))
}

/// The gateway's account at a server; `None` if it has none.
pub(in crate::command) fn account(
    config: &Config,
    upstream: &UpstreamConfig,
) -> anyhow::Result<Option<Account>> {
    let (Some(oauth), UpstreamTarget::Url { url, .. }) = (&upstream.oauth, &upstream.target) else {
        return Ok(None);
    };
    let folder = config.data_file("sign-ins");
    let folder = folder.context("there is no folder for sign-ins")?;
    let files = GrantFiles::new(folder, None);
    let account = Account::new(url, &upstream.name, oauth.client()?, files, surroundings()?);
    let account = account.with_context(|| format!("the server {}", upstream.name))?;
    Ok(Some(account))
}

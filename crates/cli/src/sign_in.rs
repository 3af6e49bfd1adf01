//! Signs the person at this machine in at MCP servers that want a token.
//!
//! The browser comes back to a listener on this machine. Where there is no browser, the person
//! opens the link elsewhere and pastes the address at which it ends.

mod loopback;

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use entreat::engine::{SystemClock, SystemEntropy, SystemResolver};
use entreat_wire::oauth::{
    Account, Callback, Challenge, ClientSettings, GrantFiles, Refusal, SecretText, SignInError,
    Surroundings, TokenFuture, TokenSource,
};
use tokio::sync::Mutex;
use tokio::time::Instant;
use url::Url;

use self::loopback::Loopback;
use crate::config;
use crate::context::Context;
use crate::environment::Environment;
use crate::texts::{SignInTexts, Texts};
use crate::{browser, output};

/// How long nobody is asked again after a sign-in that failed.
const PAUSE: Duration = Duration::from_secs(10);
/// How long a person has to sign in.
const TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// Flags of commands that call servers which may want a token.
#[derive(clap::Args)]
#[command(next_help_heading = "Signing in at a server with a URL")]
pub(crate) struct SignInArgs {
    /// The id of a client that is registered at the server's authorization server
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// A file with the secret of that client
    #[arg(long, value_name = "FILE", requires = "client_id",
          value_hint = clap::ValueHint::FilePath)]
    client_secret_file: Option<PathBuf>,
    /// The URL of a document that describes this client, for authorization servers that take one
    #[arg(long, value_name = "URL", conflicts_with = "client_id")]
    client_metadata: Option<String>,
    /// A scope to ask for where the server names none; repeat it for more
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// The port to come back to, where the client is registered for one [default: any]
    #[arg(long, value_name = "PORT")]
    sign_in_port: Option<u16>,
    /// Don't open a browser to sign in: print the link, and read the address at which it ends
    #[arg(long)]
    no_browser: bool,
}

impl SignInArgs {
    fn settings(&self) -> anyhow::Result<ClientSettings> {
        let secret = self.client_secret_file.as_deref();
        let secret = secret.map(read_secret).transpose()?;
        Ok(ClientSettings {
            client_id: self.client_id.clone(),
            client_secret: secret,
            client_metadata_url: self.client_metadata.clone(),
            scopes: self.scopes.clone(),
            tls: None,
        })
    }

    /// Returns the account of this machine's person at a server; `None` if tokens can't be kept,
    /// or can't be sent to this URL.
    pub(crate) fn account(
        &self,
        url: &str,
        environment: &Environment,
    ) -> anyhow::Result<Option<Account>> {
        let Some(files) = files(environment) else {
            return Ok(None);
        };
        match Account::new(url, "", self.settings()?, files, surroundings()?) {
            Ok(account) => Ok(Some(account)),
            Err(SignInError::Insecure) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns what yields tokens for a server by asking the person.
    pub(crate) fn tokens(
        &self,
        url: &str,
        way: SignInWay,
        texts: &'static Texts,
        context: &Context,
    ) -> anyhow::Result<Option<Arc<dyn TokenSource>>> {
        let Some(account) = self.account(url, context.environment())? else {
            return Ok(None);
        };
        let may_open = browser::may_open(context) && !self.no_browser;
        let person = Person {
            name: shown_host(url),
            way,
            texts: &texts.sign_in,
            may_open,
            port: self.sign_in_port.unwrap_or_default(),
        };
        Ok(Some(Arc::new(PersonTokens::new(account, person))))
    }
}

/// Reads the secret of a client.
pub(crate) fn read_secret(file: &Path) -> anyhow::Result<SecretText> {
    let secret = config::read_secret(file, "client secret")?;
    Ok(secret.trim().to_owned().into())
}

/// The folder of this person's sign-ins.
fn files(environment: &Environment) -> Option<GrantFiles> {
    let folder = environment.data_folder.as_ref()?;
    Some(GrantFiles::new(folder.join("entreat/sign-ins"), None))
}

/// What accounts need of this machine.
pub(crate) fn surroundings() -> anyhow::Result<Surroundings> {
    let entropy = SystemEntropy::new().context("cannot get random bytes from the system")?;
    Ok(Surroundings {
        clock: Arc::new(SystemClock::default()),
        entropy: Arc::new(entropy),
        resolver: Arc::new(SystemResolver::new()),
    })
}

/// How a person can be asked to sign in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignInWay {
    /// By the browser; without one, by pasting into this terminal, if it is free for that.
    Terminal {
        /// Whether stdin is the person's.
        has_stdin: bool,
    },
    /// By the browser, for a command that a program runs.
    Browser,
    /// Not at all.
    Never,
}

/// Who signs in, and how.
pub(crate) struct Person {
    /// What the server is called.
    pub(crate) name: String,
    pub(crate) way: SignInWay,
    pub(crate) texts: &'static SignInTexts,
    pub(crate) may_open: bool,
    /// The port to come back to; 0 for any.
    pub(crate) port: u16,
}

/// Yields tokens by asking the person at this machine.
pub(crate) struct PersonTokens {
    account: Account,
    person: Person,
    /// Held during a sign-in, for which all requests wait that are refused meanwhile; afterwards,
    /// why it failed and when.
    last_failure: Mutex<Option<(SignInError, Instant)>>,
}

impl PersonTokens {
    pub(crate) fn new(account: Account, person: Person) -> Self {
        Self {
            account,
            person,
            last_failure: Mutex::new(None),
        }
    }

    pub(crate) fn account(&self) -> &Account {
        &self.account
    }

    async fn renew(&self, refusal: Refusal<'_>) -> Result<SecretText, SignInError> {
        let mut last_failure = self.last_failure.lock().await;
        if let Some(token) = self.account.renew(refusal).await? {
            return Ok(token);
        }
        let why = match refusal.token {
            _ if refusal.challenge.lacks_scope => SignInReason::MoreScopes,
            Some(_) => SignInReason::Ended,
            None => SignInReason::First,
        };
        // Those that have waited are not reasons to ask again.
        if let Some((error, at)) = &*last_failure
            && at.elapsed() < PAUSE
        {
            return Err(error.clone());
        }
        let outcome = self.sign_in(refusal.challenge, why).await;
        let failure = outcome.as_ref().err().cloned();
        *last_failure = failure.map(|error| (error, Instant::now()));
        outcome
    }

    /// Signs the person in.
    pub(crate) async fn sign_in(
        &self,
        challenge: &Challenge,
        why: SignInReason,
    ) -> Result<SecretText, SignInError> {
        let person = &self.person;
        if person.way == SignInWay::Never {
            return Err(SignInError::Needed);
        }
        let listener = Loopback::listen(person.port)
            .await
            .map_err(|error| SignInError::Listener(error.to_string()))?;
        let redirect_uri = listener.redirect_uri();
        let attempt = self.account.begin(challenge, &redirect_uri).await?;
        let state = attempt.state().to_owned();
        let address = attempt.address(&state);
        let texts = person.texts;
        let reason = match why {
            SignInReason::First | SignInReason::Again => texts.first,
            SignInReason::Ended => texts.ended,
            SignInReason::MoreScopes => texts.more_scopes,
        };
        say(&reason(&person.name));
        let is_open = person.may_open && browser::open(&address).is_ok();
        let pastes = !is_open
            && person.way == SignInWay::Terminal { has_stdin: true }
            && io::stdin().is_terminal();
        let what_to_do = if is_open {
            texts.page_opens
        } else {
            texts.open_link
        };
        say(&format!("{what_to_do} {address}"));
        let waiting = async {
            if pastes {
                say(texts.paste);
                pasted(&redirect_uri, texts).await
            } else {
                listener.callback(&state, texts.go_back).await
            }
        };
        let callback = tokio::time::timeout(TIMEOUT, waiting).await;
        let callback = callback.map_err(|_| SignInError::TimedOut)??;
        self.account.finish(attempt, &state, callback).await
    }
}

/// Why somebody has to sign in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignInReason {
    /// They have not before.
    First,
    /// They want to, perhaps with another account.
    Again,
    /// The sign-in is not good any more.
    Ended,
    /// The server wants more scopes.
    MoreScopes,
}

impl TokenSource for PersonTokens {
    fn token(&self) -> TokenFuture<'_, Option<SecretText>> {
        Box::pin(self.account.token())
    }

    fn renewed<'a>(&'a self, refusal: Refusal<'a>) -> TokenFuture<'a, SecretText> {
        Box::pin(self.renew(refusal))
    }
}

/// Reads the address at which the browser ended, or its query.
async fn pasted(redirect_uri: &str, texts: &'static SignInTexts) -> Result<Callback, SignInError> {
    let redirect_uri = redirect_uri.to_owned();
    let reading = tokio::task::spawn_blocking(move || {
        let mut line = String::new();
        for _ in 0..MAX_PASTES {
            line.clear();
            if !matches!(io::stdin().lock().read_line(&mut line), Ok(1..)) {
                return None;
            }
            if let Some(callback) = callback_in(line.trim(), &redirect_uri) {
                return Some(callback);
            }
            say(&format!("{} {redirect_uri}", texts.not_the_address));
        }
        None
    });
    let callback = reading.await.ok().flatten();
    callback.ok_or(SignInError::TimedOut)
}

/// How often a person may paste something else.
const MAX_PASTES: usize = 5;

fn callback_in(text: &str, redirect_uri: &str) -> Option<Callback> {
    let query = match Url::parse(text) {
        Ok(url) => {
            let mut place = url.clone();
            place.set_query(None);
            place.set_fragment(None);
            if place.as_str() != redirect_uri {
                return None;
            }
            url.query()?.to_owned()
        }
        Err(_) => text.trim_start_matches('?').to_owned(),
    };
    Callback::read(&query)
}

/// The host of a URL, as the person may read it.
pub(crate) fn shown_host(url: &str) -> String {
    let host = Url::parse(url).ok();
    let host = host.and_then(|url| url.host_str().map(str::to_owned));
    output::sanitize(&host.unwrap_or_else(|| url.to_owned())).into_owned()
}

fn say(line: &str) {
    // If stderr is closed, there is no place to report it.
    let _ = writeln!(io::stderr(), "{}", output::sanitize(line));
}

/// Explains in words why there is no token, and what to do; `client_id` is where to set it.
pub(crate) fn explain(name: &str, error: &SignInError, client_id: &str) -> String {
    match error {
        SignInError::Needed => format!("{name} requires you to sign in"),
        SignInError::TimedOut => format!("{name} requires you to sign in, and nobody did in time"),
        SignInError::NoClient | SignInError::Registration(_) => {
            format!("cannot sign in at {name}: {error} with {client_id}")
        }
        SignInError::NoResourceMetadata | SignInError::NoIssuer => format!(
            "cannot sign in at {name}: {error}. If you have a key, send it in a header \
             `Authorization: Bearer ...`"
        ),
        error => format!("cannot sign in at {name}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_however_it_is_pasted() {
        let uri = "http://127.0.0.1:4000/callback";
        for text in [
            "http://127.0.0.1:4000/callback?code=a&state=b",
            "http://127.0.0.1:4000/callback?state=b&code=a#x",
            "?code=a&state=b",
            "code=a&state=b",
        ] {
            assert_eq!(callback_in(text, uri).unwrap().state(), "b", "{text}");
        }
        for text in [
            "http://127.0.0.1:4001/callback?code=a&state=b",
            "https://mallory.example/callback?code=a&state=b",
            "http://127.0.0.1:4000/callback",
            "a",
            "",
        ] {
            assert!(callback_in(text, uri).is_none(), "{text}");
        }
    }
}

//! Signing in at servers that want a token, against a provider that lies when it is told to.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use entreat_core::UnixTime;
use entreat_engine::SystemEntropy;
use entreat_testkit::provider::{ERROR_TEXT, Lie, Provider, SigningAlgorithm, TokenServer};
use entreat_testkit::{CapturedLog, ScriptedResolver, VirtualClock};
use entreat_wire::http::{Client, ExchangeError, Response};
use entreat_wire::issuer::IssuerError;
use entreat_wire::oauth::{
    Account, Attempt, Callback, Challenge, ClientSettings, GrantFiles, Refusal, SecretText,
    SendError, SignInError, Surroundings, TokenFuture, TokenSource, send_with_token,
};
use http::{Method, StatusCode};
use serde_json::json;
use tempfile::TempDir;

const REDIRECT: &str = "http://127.0.0.1:9/callback";

struct World {
    provider: Provider,
    server: TokenServer,
    clock: VirtualClock,
    folder: TempDir,
}

impl World {
    async fn new() -> Self {
        let clock = VirtualClock::new(UnixTime::from_millis(1_800_000_000_000));
        let clock_of_provider = Arc::new(clock.clone());
        let provider = Provider::start_with(SigningAlgorithm::default(), clock_of_provider).await;
        provider.sign_in_as("alice", json!({}));
        let server = TokenServer::start(&provider.url()).await;
        Self {
            provider,
            server,
            clock,
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn account(&self) -> Account {
        self.account_with("", ClientSettings::default())
    }

    fn account_with(&self, person: &str, settings: ClientSettings) -> Account {
        let files = GrantFiles::new(self.folder.path().join("sign-ins"), None);
        let surroundings = Surroundings {
            clock: Arc::new(self.clock.clone()),
            entropy: Arc::new(SystemEntropy::new().unwrap()),
            resolver: Arc::new(ScriptedResolver::new()),
        };
        Account::new(&self.server.url(), person, settings, files, surroundings).unwrap()
    }

    /// Signs in as a person does: follows the link, and comes back.
    async fn sign_in(&self, account: &Account) -> Result<SecretText, SignInError> {
        self.sign_in_for(account, &Challenge::default()).await
    }

    async fn sign_in_for(
        &self,
        account: &Account,
        challenge: &Challenge,
    ) -> Result<SecretText, SignInError> {
        let attempt = account.begin(challenge, REDIRECT).await?;
        let callback = visit(&attempt.address(attempt.state())).await;
        let state = attempt.state().to_owned();
        account.finish(attempt, &state, callback).await
    }

    /// Calls the server as a connection does; returns the status.
    async fn call(&self, source: &dyn TokenSource) -> Result<StatusCode, SignInError> {
        match send_with_token(source, |token| post(self.server.url(), token)).await {
            Ok(response) => Ok(response.status()),
            Err(SendError::SignIn(error)) => Err(error),
            Err(SendError::Exchange(error)) => panic!("{error}"),
        }
    }
}

async fn post(url: String, token: Option<SecretText>) -> Result<Response, ExchangeError> {
    let client = Client::builder(&url)
        .same_origin_redirects()
        .build()
        .unwrap();
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let mut request = client
        .request(Method::POST)
        .header("content-type", "application/json")
        .body(message.to_string());
    if let Some(token) = token {
        request = request.bearer(token.expose());
    }
    request.send().await
}

/// Opens a link in a browser that belongs to the person; returns what it comes back with.
async fn visit(address: &str) -> Callback {
    Callback::read(&query_of_redirect(address).await).unwrap()
}

async fn query_of_redirect(address: &str) -> String {
    let client = Client::builder(address).build().unwrap();
    let response = client.request(Method::GET).send().await.unwrap();
    let location = response.header("location").unwrap();
    location.split_once('?').unwrap().1.to_owned()
}

/// An account whose person signs in as soon as that is needed.
struct Willing<'a> {
    world: &'a World,
    account: &'a Account,
}

impl TokenSource for Willing<'_> {
    fn token(&self) -> TokenFuture<'_, Option<SecretText>> {
        Box::pin(self.account.token())
    }

    fn renewed<'a>(&'a self, refusal: Refusal<'a>) -> TokenFuture<'a, SecretText> {
        Box::pin(async move {
            match self.account.renew(refusal).await? {
                Some(token) => Ok(token),
                None => {
                    self.world
                        .sign_in_for(self.account, refusal.challenge)
                        .await
                }
            }
        })
    }
}

#[tokio::test]
async fn a_server_that_wants_a_token_gets_one_and_the_next_process_has_it_too() {
    for (names_metadata, has_metadata) in [(true, true), (false, true)] {
        let world = World::new().await;
        world.server.publish(names_metadata, has_metadata);
        let account = world.account();
        let source = Willing {
            world: &world,
            account: &account,
        };
        assert_eq!(world.call(&source).await, Ok(StatusCode::OK));
        assert_eq!(world.call(&source).await, Ok(StatusCode::OK));

        let other = world.account();
        let source = Willing {
            world: &world,
            account: &other,
        };
        assert_eq!(world.call(&source).await, Ok(StatusCode::OK));
        let requests = world.provider.requests();
        assert_eq!((requests.authorizations, requests.tokens), (1, 1));
        assert_eq!(requests.registrations, 1);
        let sent = world.server.tokens();
        assert_eq!(sent.iter().filter(|it| it.is_none()).count(), 1);
    }
}

#[tokio::test]
async fn a_token_is_renewed_before_it_expires_and_once_for_all_who_wait() {
    let world = World::new().await;
    let account = world.account();
    let first = world.sign_in(&account).await.unwrap();
    world.clock.advance(Duration::from_secs(200));
    assert_eq!(account.token().await.unwrap().as_ref(), Some(&first));
    world.clock.advance(Duration::from_secs(50));
    let (a, b) = tokio::join!(account.token(), account.token());
    let renewed = a.unwrap().unwrap();
    assert_ne!(renewed, first);
    assert_eq!(b.unwrap().unwrap(), renewed);
    assert_eq!(world.provider.requests().tokens, 2);
    // The provider's refresh tokens are good once: the new one was kept.
    world.clock.advance(Duration::from_secs(250));
    assert_ne!(world.account().token().await.unwrap().unwrap(), renewed);
    assert_eq!(world.provider.requests().tokens, 3);
}

#[tokio::test]
async fn two_processes_do_not_use_one_refresh_token() {
    let world = World::new().await;
    let (one, other) = (world.account(), world.account());
    world.sign_in(&one).await.unwrap();
    other.token().await.unwrap().unwrap();
    world.clock.advance(Duration::from_secs(250));
    let (a, b) = tokio::join!(one.token(), other.token());
    assert_eq!(a.unwrap().unwrap(), b.unwrap().unwrap());
    assert_eq!(world.provider.requests().tokens, 2);
}

#[tokio::test]
async fn two_processes_that_sign_in_at_once_both_get_a_token_and_leave_one_whole_file() {
    let world = World::new().await;
    let (one, other) = (world.account(), world.account());
    let (a, b) = tokio::join!(world.sign_in(&one), world.sign_in(&other));
    let (a, b) = (a.unwrap(), b.unwrap());
    let kept = world.account().token().await.unwrap().unwrap();
    assert!(kept == a || kept == b);
    assert_eq!(grants(world.folder.path()).len(), 1);
}

#[tokio::test]
async fn a_refused_token_is_renewed_and_a_refused_renewal_asks_the_person() {
    let world = World::new().await;
    let account = world.account();
    let source = Willing {
        world: &world,
        account: &account,
    };
    let token = world.sign_in(&account).await.unwrap();
    world.server.refuse(token.expose());
    assert_eq!(world.call(&source).await, Ok(StatusCode::OK));
    assert_eq!(world.provider.requests().authorizations, 1);

    let token = account.token().await.unwrap().unwrap();
    world.server.refuse(token.expose());
    world.provider.revoke_grants();
    assert_eq!(world.call(&source).await, Ok(StatusCode::OK));
    assert_eq!(world.provider.requests().authorizations, 2);
}

#[tokio::test]
async fn an_expired_token_without_a_good_refresh_token_is_none() {
    let world = World::new().await;
    let account = world.account();
    world.sign_in(&account).await.unwrap();
    world.provider.revoke_grants();
    world.clock.advance(Duration::from_secs(301));
    assert_eq!(account.token().await, Ok(None));
    assert_eq!(account.signed_in().await, Ok(None));
}

#[tokio::test]
async fn a_provider_that_is_down_costs_no_sign_in() {
    let world = World::new().await;
    let account = world.account();
    let token = world.sign_in(&account).await.unwrap();
    world.provider.lie(Lie::Down);
    world.clock.advance(Duration::from_secs(250));
    assert_eq!(account.token().await.unwrap(), Some(token));
    world.clock.advance(Duration::from_secs(100));
    assert!(account.token().await.is_err());
    world.provider.be_honest();
    assert!(account.token().await.unwrap().is_some());
}

#[tokio::test]
async fn a_server_that_never_takes_a_token_gets_a_bounded_number_of_requests() {
    let world = World::new().await;
    world.server.set_resource("http://127.0.0.1:1");
    let account = world.account();
    let source = Willing {
        world: &world,
        account: &account,
    };
    // Its metadata do not fit either, so nobody is asked to sign in.
    assert_eq!(world.call(&source).await, Err(SignInError::OtherResource));

    // Another resource that is above it: signed in to, and refused all the same.
    let world = World::new().await;
    let account = world.account();
    let source = Willing {
        world: &world,
        account: &account,
    };
    world
        .server
        .set_issuer(&format!("{}/", world.provider.url()));
    world.provider.lie(Lie::OtherIssuerInMetadata);
    assert!(world.call(&source).await.is_err());
    assert_eq!(world.server.tokens().len(), 1);
}

#[tokio::test]
async fn more_scopes_are_asked_for_once_together_with_the_old_ones() {
    let world = World::new().await;
    let account = world.account();
    let source = Willing {
        world: &world,
        account: &account,
    };
    assert_eq!(world.call(&source).await, Ok(StatusCode::OK));
    world.server.require("admin");
    assert_eq!(world.call(&source).await, Ok(StatusCode::OK));
    let token = account.token().await.unwrap().unwrap();
    let claims = world.server.tokens().pop().flatten().unwrap();
    assert_eq!(claims, token.expose());
    assert_eq!(world.provider.requests().authorizations, 2);

    // A provider that does not grant them is not asked again and again.
    world.server.require("admin owner");
    world.provider.lie(Lie::FewerScopes);
    assert_eq!(world.call(&source).await, Ok(StatusCode::FORBIDDEN));
    assert_eq!(world.provider.requests().authorizations, 3);
    assert_eq!(world.call(&source).await, Err(SignInError::Scopes));
    assert_eq!(world.provider.requests().authorizations, 3);
}

#[tokio::test]
async fn a_redirect_of_another_sign_in_is_refused_before_the_code_is_used() {
    let world = World::new().await;
    let account = world.account();
    let mine = account
        .begin(&Challenge::default(), REDIRECT)
        .await
        .unwrap();
    let theirs = account
        .begin(&Challenge::default(), REDIRECT)
        .await
        .unwrap();
    let callback = visit(&theirs.address(theirs.state())).await;
    let state = mine.state().to_owned();
    let refused = account.finish(mine, &state, callback).await;
    assert_eq!(refused, Err(SignInError::State));
    assert_eq!(world.provider.requests().tokens, 0);
}

#[tokio::test]
async fn a_redirect_of_another_issuer_is_refused_before_the_code_is_used() {
    for lie in [
        Lie::OtherIssuerInRedirect,
        Lie::NoIssuerInRedirect,
        Lie::ErrorFromOtherIssuer,
    ] {
        let world = World::new().await;
        world.provider.lie(lie);
        let refused = world.sign_in(&world.account()).await;
        assert_eq!(refused, Err(SignInError::OtherIssuer), "{lie:?}");
        assert_eq!(world.provider.requests().tokens, 0);
    }
}

#[tokio::test]
async fn an_error_of_the_provider_is_named_without_its_words() {
    for lie in [Lie::ErrorInRedirect, Lie::ErrorAtTokenEndpoint] {
        let world = World::new().await;
        world.provider.lie(lie);
        let refused = world.sign_in(&world.account()).await.unwrap_err();
        assert!(matches!(refused, SignInError::Refused(_)), "{refused}");
        assert!(!refused.to_string().contains(ERROR_TEXT), "{refused}");
    }
}

#[tokio::test]
async fn metadata_that_cannot_be_right_end_a_sign_in_before_anybody_is_asked() {
    let world = World::new().await;
    world.provider.lie(Lie::OtherIssuerInMetadata);
    let refused = world.sign_in(&world.account()).await.unwrap_err();
    assert!(
        matches!(refused, SignInError::Issuer(IssuerError::Invalid(_))),
        "{refused}"
    );
    world.provider.lie(Lie::NoPkce);
    let refused = world.sign_in(&world.account()).await;
    assert_eq!(refused, Err(SignInError::NoPkce));
    world.provider.lie(Lie::PlainTokenEndpoint);
    assert!(world.sign_in(&world.account()).await.is_err());
    world.provider.be_honest();
    world.server.set_issuer("http://login.example");
    let refused = world.sign_in(&world.account()).await;
    assert_eq!(refused, Err(SignInError::NoIssuer));
    world.server.set_resource("http://127.0.0.1:1/mcp");
    let refused = world.sign_in(&world.account()).await;
    assert_eq!(refused, Err(SignInError::OtherResource));
    world.server.publish(true, false);
    let refused = world.sign_in(&world.account()).await;
    assert_eq!(refused, Err(SignInError::NoResourceMetadata));
    assert_eq!(world.provider.requests().authorizations, 0);
    assert_eq!(world.provider.requests().registrations, 0);
}

#[tokio::test]
async fn who_registers_nobody_wants_a_client_id_and_gets_the_configured_one() {
    let world = World::new().await;
    world.provider.lie(Lie::NoRegistration);
    let refused = world.sign_in(&world.account()).await;
    assert_eq!(refused, Err(SignInError::NoClient));
    let settings = ClientSettings {
        client_id: Some("known".to_owned()),
        ..ClientSettings::default()
    };
    let account = world.account_with("", settings);
    let attempt = account
        .begin(&Challenge::default(), REDIRECT)
        .await
        .unwrap();
    let address = attempt.address("s");
    for part in [
        "client_id=known",
        "code_challenge_method=S256",
        "response_type=code",
        "state=s",
        &format!(
            "resource=http%3A%2F%2F127.0.0.1%3A{}%2Fmcp",
            world.server.url().rsplit([':', '/']).nth(1).unwrap()
        ),
    ] {
        assert!(address.contains(part), "{address} lacks {part}");
    }
    assert!(world.sign_in(&account).await.is_ok());
}

#[tokio::test]
async fn a_public_server_leads_to_public_addresses_only() {
    let resolver = ScriptedResolver::new()
        .answers("tools.example.com", &["93.184.215.14"])
        .answers("inside.example.com", &["10.0.0.5"]);
    let folder = tempfile::tempdir().unwrap();
    let surroundings = Surroundings {
        clock: Arc::new(VirtualClock::new(UnixTime::from_millis(0))),
        entropy: Arc::new(SystemEntropy::new().unwrap()),
        resolver: Arc::new(resolver),
    };
    let files = GrantFiles::new(folder.path().to_owned(), None);
    let settings = ClientSettings::default();
    let url = "https://tools.example.com/mcp";
    let account = Account::new(url, "", settings, files, surroundings).unwrap();
    for place in [
        "https://inside.example.com/metadata",
        "https://10.0.0.5/metadata",
        "http://127.0.0.1:7171/metadata",
        "http://localhost/metadata",
        "http://tools.example.com/metadata",
        "file:///etc/passwd",
    ] {
        let challenge = Challenge {
            resource_metadata: Some(place.to_owned()),
            ..Challenge::default()
        };
        let refused = account.begin(&challenge, REDIRECT).await.unwrap_err();
        assert!(
            matches!(refused, SignInError::Address(_)),
            "{place}: {refused}"
        );
    }
}

#[tokio::test]
async fn tokens_are_only_sent_by_tls_or_on_this_machine() {
    for url in [
        "http://tools.example/mcp",
        "tools.example.com",
        "https://a:b@tools.example",
    ] {
        let files = GrantFiles::new("unused".into(), None);
        let surroundings = Surroundings {
            clock: Arc::new(VirtualClock::new(UnixTime::from_millis(0))),
            entropy: Arc::new(SystemEntropy::new().unwrap()),
            resolver: Arc::new(ScriptedResolver::new()),
        };
        let refused = Account::new(url, "", ClientSettings::default(), files, surroundings);
        assert_eq!(refused.unwrap_err(), SignInError::Insecure, "{url}");
    }
}

#[tokio::test]
async fn a_token_goes_to_no_other_origin_and_no_other_account() {
    let world = World::new().await;
    let account = world.account();
    world.sign_in(&account).await.unwrap();
    let source = Willing {
        world: &world,
        account: &account,
    };
    let other = TokenServer::start(&world.provider.url()).await;
    world.server.redirect_to(&other.url());
    let status = world.call(&source).await.unwrap();
    assert_eq!(status, StatusCode::TEMPORARY_REDIRECT);
    assert_eq!(other.tokens(), []);

    for (person, client) in [("bob", None), ("", Some("another"))] {
        let settings = ClientSettings {
            client_id: client.map(str::to_owned),
            ..ClientSettings::default()
        };
        let account = world.account_with(person, settings);
        assert_eq!(account.token().await, Ok(None), "{person} {client:?}");
    }
}

#[tokio::test]
async fn a_token_of_one_authorization_server_is_not_renewed_at_another() {
    let world = World::new().await;
    let account = world.account();
    let token = world.sign_in(&account).await.unwrap();
    let other = Provider::start().await;
    world.server.set_issuer(&other.url());
    let challenge = Challenge::default();
    let refusal = Refusal {
        token: Some(&token),
        challenge: &challenge,
        is_repeated: false,
    };
    assert_eq!(account.renew(refusal).await, Ok(None));
    assert_eq!(world.provider.requests().tokens, 1);
    assert_eq!(other.requests().tokens, 0);
}

#[tokio::test]
async fn who_signs_out_elsewhere_is_signed_out_here_when_the_token_is_due() {
    let world = World::new().await;
    let account = world.account();
    world.sign_in(&account).await.unwrap();
    world.account().forget().await.unwrap();
    world.clock.advance(Duration::from_secs(301));
    assert_eq!(account.token().await, Ok(None));
    assert_eq!(world.provider.requests().tokens, 1);
}

#[tokio::test]
async fn signing_out_forgets_the_tokens() {
    let world = World::new().await;
    let account = world.account();
    world.sign_in(&account).await.unwrap();
    assert!(account.signed_in().await.unwrap().unwrap().is_renewed);
    assert_eq!(account.forget().await, Ok(true));
    assert_eq!(account.token().await, Ok(None));
    assert_eq!(world.account().forget().await, Ok(false));
    assert!(grants(world.folder.path()).is_empty());
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_may_read_what_is_kept() {
    use std::os::unix::fs::PermissionsExt as _;

    let world = World::new().await;
    let account = world.account();
    world.sign_in(&account).await.unwrap();
    world.clock.advance(Duration::from_secs(250));
    account.token().await.unwrap().unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let folder = world.folder.path().join("sign-ins");
    assert_eq!(mode(&folder), 0o700);
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
        count += 1;
    }
    // The grant and its lock; nothing half-written stays behind.
    assert_eq!(count, 2);
}

#[tokio::test]
async fn what_is_damaged_or_of_another_version_is_no_sign_in() {
    let world = World::new().await;
    world.sign_in(&world.account()).await.unwrap();
    let [file] = &grants(world.folder.path())[..] else {
        panic!("there is one grant");
    };
    let whole = std::fs::read_to_string(file).unwrap();
    for text in [
        &whole[..whole.len() / 2],
        "",
        "{}",
        &whole.replace(r#""version":1"#, r#""version":2"#),
    ] {
        std::fs::write(file, text).unwrap();
        assert_eq!(world.account().token().await, Ok(None));
    }
    std::fs::write(file, &whole).unwrap();
    assert!(world.account().token().await.unwrap().is_some());
}

/// Everything that may not be seen, in what an account logs and prints.
#[tokio::test]
async fn nothing_secret_is_logged_or_printed() {
    let (log, _guard) = CapturedLog::of_this_thread(tracing::Level::TRACE);
    let world = World::new().await;
    let account = world.account();
    let attempt = account
        .begin(&Challenge::default(), REDIRECT)
        .await
        .unwrap();
    let sealed = serde_json::to_value(&attempt).unwrap();
    let verifier = sealed["verifier"].as_str().unwrap().to_owned();
    let state = attempt.state().to_owned();
    let query = query_of_redirect(&attempt.address(&state)).await;
    let callback = Callback::read(&query).unwrap();
    let mut printed = format!("{attempt:?} {callback:?} {account:?}");
    let token = account.finish(attempt, &state, callback).await.unwrap();
    world.clock.advance(Duration::from_secs(250));
    let renewed = account.token().await.unwrap().unwrap();
    world.server.refuse(renewed.expose());
    world.provider.revoke_grants();
    let source = Willing {
        world: &world,
        account: &account,
    };
    world.call(&source).await.unwrap();
    let shown = format!("{token:?} {:?}", account.signed_in().await);
    printed.push_str(&shown);
    printed.push_str(&log.text());
    for secret in [
        token.expose(),
        renewed.expose(),
        &verifier,
        &state,
        "code-",
        "refresh-",
    ] {
        assert!(!printed.contains(secret), "{secret} in {printed}");
    }
}

#[tokio::test]
async fn a_sign_in_survives_being_sealed() {
    let world = World::new().await;
    let account = world.account();
    let attempt = account
        .begin(&Challenge::default(), REDIRECT)
        .await
        .unwrap();
    let text = serde_json::to_string(&attempt).unwrap();
    let attempt: Attempt = serde_json::from_str(&text).unwrap();
    let callback = visit(&attempt.address("sealed")).await;
    // On another node, with a state of the caller's.
    let finished = world.account().finish(attempt, "sealed", callback).await;
    assert!(finished.is_ok());
}

fn grants(folder: &Path) -> Vec<std::path::PathBuf> {
    let files = std::fs::read_dir(folder.join("sign-ins")).unwrap();
    let paths = files.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_none()).collect()
}

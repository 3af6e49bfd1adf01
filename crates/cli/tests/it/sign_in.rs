//! Signing in at servers that want a token: `entreat call`, `wrap` and `gateway`, as somebody does
//! who follows the link that they print.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

use entreat_testkit::provider::{ERROR_TEXT, Lie, Provider, TokenServer};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::screen::Screen;
use crate::session::Session;
use crate::{Run, command, finish};

struct World {
    provider: Provider,
    server: TokenServer,
    folder: TempDir,
    /// The provider and the server run on it.
    _runtime: Runtime,
}

impl World {
    fn new() -> Self {
        let runtime = Runtime::new().expect("threads can be started");
        let (provider, server) = runtime.block_on(async {
            let provider = Provider::start().await;
            let server = TokenServer::start(&provider.url()).await;
            (provider, server)
        });
        provider.sign_in_as("alice", json!({}));
        Self {
            provider,
            server,
            folder: tempfile::tempdir().expect("a folder"),
            _runtime: runtime,
        }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = command(args);
        command.env("XDG_DATA_HOME", self.folder.path());
        command
    }

    fn call(&self) -> Command {
        self.command(&["call", "whoami", &self.server.url()])
    }

    fn run(&self, args: &[&str]) -> Run {
        finish(self.command(args), b"")
    }

    /// The files with tokens.
    fn files(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.folder.path().join("entreat/sign-ins")) else {
            return Vec::new();
        };
        let paths = entries.map(|entry| entry.expect("it can be read").path());
        paths.filter(|path| path.extension().is_none()).collect()
    }
}

const LINK: &str = "Open this link in a browser: ";

fn link(session: &Session) -> String {
    let told = session.line_with(LINK);
    let (_, link) = told.split_once(LINK).expect("the line has it");
    link.trim().to_owned()
}

/// Opens an address as a browser does; returns the response and where it leads.
fn get(address: &str) -> (String, Option<String>) {
    let rest = address
        .strip_prefix("http://")
        .expect("it is on this machine");
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let mut stream = TcpStream::connect(host).expect("something listens there");
    let request = format!("GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("it responds");
    let location = response
        .lines()
        .find_map(|line| line.strip_prefix("location: "));
    let location = location.map(str::to_owned);
    (response, location)
}

/// Signs in at the provider, and comes back.
fn follow(link: &str) -> String {
    let (_, location) = get(link);
    get(&location.expect("the provider redirects")).0
}

#[test]
fn a_call_signs_in_once_and_signs_out_when_told_to() {
    let world = World::new();
    let session = Session::spawn(world.call());
    let page = follow(&link(&session));
    assert!(page.contains("You can close this page"), "{page}");
    let run = session.wait();
    assert_eq!(
        (run.code, run.stdout.trim()),
        (0, "alice"),
        "{}",
        run.stderr
    );

    // Nothing that the sign-in used is shown, and only the person may read what is kept.
    let [file] = &world.files()[..] else {
        panic!("there is one sign-in");
    };
    let mode = file.metadata().expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let kept = std::fs::read_to_string(file).expect("it is text");
    let kept: Value = serde_json::from_str(&kept).expect("it is JSON");
    let grant = &kept["grant"];
    for secret in [&grant["token"], &grant["refresh_token"]] {
        let secret = secret.as_str().expect("it is text");
        assert!(!run.stderr.contains(secret) && !run.stdout.contains(secret));
    }

    let again = finish(world.call(), b"");
    assert_eq!((again.code, again.stderr.as_str()), (0, ""));
    assert_eq!(world.provider.requests().authorizations, 1);

    let sign_out = ["call", "--sign-out", &world.server.url()];
    assert_eq!(world.run(&sign_out).code, 0);
    assert!(world.files().is_empty());
    assert_eq!(world.run(&sign_out).code, 1);
}

#[test]
fn a_sign_in_that_has_ended_is_asked_for_again_in_words() {
    let world = World::new();
    let session = Session::spawn(world.call());
    follow(&link(&session));
    assert_eq!(session.wait().code, 0);

    let token = world.server.tokens().pop().flatten();
    world
        .server
        .refuse(&token.expect("the last request had one"));
    world.provider.revoke_grants();
    let session = Session::spawn(world.call());
    session.wait_for("Your sign-in at 127.0.0.1 has ended. Sign in again.");
    follow(&link(&session));
    assert_eq!(session.wait().stdout.trim(), "alice");
}

#[test]
fn without_anybody_to_ask_a_call_says_that_a_sign_in_is_needed() {
    let world = World::new();
    let run = world.run(&["call", "--no-input", "whoami", &world.server.url()]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("requires you to sign in"),
        "{}",
        run.stderr
    );
    assert_eq!(world.provider.requests().registrations, 0);
}

#[test]
fn what_keeps_a_call_from_signing_in_is_said_with_what_to_do() {
    for (lie, words) in [
        (Lie::NoRegistration, "set its id with --client-id"),
        (Lie::NoPkce, "PKCE"),
        (Lie::OtherIssuerInMetadata, "metadata of another issuer"),
    ] {
        let world = World::new();
        world.provider.lie(lie);
        let run = finish(world.call(), b"");
        assert_eq!(run.code, 2, "{lie:?}");
        assert!(run.stderr.contains(words), "{lie:?}: {}", run.stderr);
        assert!(!run.stderr.contains(LINK), "{lie:?}");
    }
    let world = World::new();
    world.provider.lie(Lie::ErrorInRedirect);
    let session = Session::spawn(world.call());
    follow(&link(&session));
    let run = session.wait();
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("access_denied"), "{}", run.stderr);
    assert!(!run.stderr.contains(ERROR_TEXT), "{}", run.stderr);
}

#[test]
fn the_address_at_which_a_browser_elsewhere_ends_can_be_pasted() {
    let world = World::new();
    let data = world.folder.path().to_str().expect("it is text");
    let url = world.server.url();
    let args = ["call", "--no-browser", "--plain", "whoami", &url];
    // Wide enough for the link.
    let mut screen = Screen::with(&args, (2_000, 24), &[("XDG_DATA_HOME", data)]);
    screen.wait_for("Paste its address here");
    let text = screen.look(vt100::Screen::contents);
    let line = text.lines().find_map(|line| line.split_once(LINK));
    let (_, location) = get(line.expect("there is a link").1.trim());
    screen.press("code=a\r");
    screen.wait_for("That is not the address");
    screen.press(&format!("{}\r", location.expect("the provider redirects")));
    let (code, stdout) = screen.finish();
    assert_eq!((code, stdout.trim()), (0, "alice"));
}

#[test]
fn a_wrapped_server_is_signed_in_to_when_its_client_connects() {
    let world = World::new();
    let mut session = Session::spawn(world.command(&["wrap", &world.server.url()]));
    let stdout = session.child.stdout.take().expect("stdout is a pipe");
    let mut lines = BufReader::new(stdout).lines();
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "a-client", "version": "1"}});
    session.type_line(
        &json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).to_string(),
    );
    follow(&link(&session));
    let mut next = || -> Value {
        let line = lines.next().expect("there is an answer");
        serde_json::from_str(&line.expect("it is text")).expect("it is JSON")
    };
    assert_eq!(next()["result"]["serverInfo"]["name"], "token-server");
    session.type_line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let call = json!({"name": "whoami", "arguments": {}});
    session.type_line(
        &json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}).to_string(),
    );
    assert_eq!(next()["result"]["content"][0]["text"], "alice");
}

#[test]
fn a_gateway_uses_the_sign_in_that_somebody_made_for_it_and_says_when_there_is_none() {
    let world = World::new();
    let config = world.folder.path().join("entreat.toml");
    let text = format!(
        "[[upstream]]\nname = 'who'\nurl = '{}'\noauth = 'shared'\n",
        world.server.url()
    );
    std::fs::write(&config, text).expect("it is ours");
    let config = config.to_str().expect("it is text");
    let on = |command: &[&str]| {
        let args = [&["gateway"], command, &["--config", config]].concat();
        world.command(&args)
    };

    let run = finish(on(&["check"]), b"");
    assert_eq!(run.code, 1, "{}", run.stderr);
    let needed = "who: sign-in is needed: run `entreat gateway sign-in who`";
    assert!(run.stdout.contains(needed), "{}", run.stdout);

    let session = Session::spawn(on(&["sign-in", "who"]));
    follow(&link(&session));
    let run = session.wait();
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("who: token-server 1"), "{}", run.stdout);

    let run = finish(on(&["check"]), b"");
    let found = format!("1 tool, signed in at {}", world.provider.url());
    assert!(run.stdout.contains(&found), "{}", run.stdout);
    assert_eq!(world.provider.requests().authorizations, 1);

    assert_eq!(finish(on(&["sign-out", "who"]), b"").code, 0);
    assert_eq!(finish(on(&["check"]), b"").code, 1);
    assert_eq!(finish(on(&["sign-out", "who"]), b"").code, 1);
}

#[test]
fn a_server_that_is_signed_in_to_has_a_url_and_no_other_credentials() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("entreat.toml");
    for (table, words) in [
        (
            "command = ['x']\noauth = 'shared'",
            "it is for servers with a `url`",
        ),
        (
            "url = 'https://a.example'\noauth = 'each'",
            "it must be shared",
        ),
        (
            "url = 'https://a.example'\nclient_id = 'x'",
            "it is for servers with `oauth`",
        ),
        (
            "url = 'https://a.example'\noauth = 'shared'\nheader_files = { authorization = 'x' }",
            "has an Authorization already",
        ),
        (
            "url = 'https://a.example'\noauth = 'shared'\nclient_secret_file = 'x'",
            "it belongs to a `client_id`",
        ),
        (
            "url = 'https://a.example'\noauth = 'shared'\nsign_in_port = 70000",
            "it must be a port",
        ),
    ] {
        std::fs::write(&config, format!("[[upstream]]\nname = 'x'\n{table}\n")).expect("ours");
        let path = config.to_str().expect("it is text");
        let run = finish(command(&["gateway", "check", "--config", path]), b"");
        assert_eq!(run.code, 2, "{table}");
        assert!(run.stderr.contains(words), "{table}: {}", run.stderr);
    }
}

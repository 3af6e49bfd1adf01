//! Clients of MCP servers that present tokens.

use std::net::SocketAddr;

use entreat::core::Form;
use entreat::core::schema::Era;
use entreat::service::identity::{HeaderIdentity, Identity};
use entreat::service::resource::{
    Issuer, IssuerSettings, ProtectedResource, ResourceUrl, Respondents, SameClaim, SamePerson,
    TrustedIssuer,
};
use entreat::{AskerSettings, Builder, Entreat, GatewayOptions};
use entreat_testkit::CapturedLog;
use entreat_testkit::mcp::{HttpClient, Kind, accept};
use entreat_testkit::provider::{Forgery, Lie, Provider};
use serde_json::{Value, json};

use crate::asking::Server;
use crate::{LOOPBACK, get};

const RESOURCE: &str = "https://ask.example/mcp";

fn resource(provider: &Provider, same: Vec<SamePerson>) -> ProtectedResource {
    let issuer = Issuer::new(&provider.url(), IssuerSettings::default());
    let mut trusted = TrustedIssuer::new(issuer.expect("the issuer is on this machine"));
    trusted.scopes = vec!["mcp".to_owned()];
    let url = ResourceUrl::new(RESOURCE).expect("it is a URL");
    let respondents = Respondents { pages: None, same };
    ProtectedResource::new(url, vec![trusted], respondents)
}

/// A program whose tool asks for a name.
async fn asks_for_a_name(builder: Builder) -> (Entreat, SocketAddr) {
    let entreat = builder.start().await.expect("it starts");
    let server = Server::new(|ask| async move { Ok(ask.text("name", "Who?").await?) });
    let address = server.listen(&entreat).await;
    (entreat, address)
}

fn client(kind: Kind, address: SocketAddr, token: &str) -> HttpClient {
    HttpClient::new(kind, address).with_header("authorization", &format!("Bearer {token}"))
}

/// The token of somebody; no two are the same.
fn token(provider: &Provider, subject: &str, number: u32) -> String {
    let mut claims = provider.access_claims(subject, RESOURCE);
    claims["jti"] = json!(number);
    provider.sign(&claims)
}

#[tokio::test]
async fn a_client_without_a_token_is_told_where_to_get_one() {
    let provider = Provider::start().await;
    let builder = Entreat::builder().mcp_tokens(resource(&provider, Vec::new()));
    let (entreat, address) = asks_for_a_name(builder).await;
    let kind = Kind::form(Era::V2026_07_28);
    let place = "https://ask.example/.well-known/oauth-protected-resource/mcp";
    let challenge = format!("Bearer resource_metadata=\"{place}\"");

    let nobody = HttpClient::new(kind, address);
    let answer = nobody.call("t", json!({}), json!({})).await;
    assert_eq!(answer.status, 401);
    let expected = format!("{challenge}, scope=\"mcp\"");
    assert_eq!(answer.header("www-authenticate"), Some(&*expected));

    for path in ["", "/mcp", "/mcp/github"] {
        let path = format!("/.well-known/oauth-protected-resource{path}");
        let response = get(address, &path, "").await;
        let (head, body) = response.split_once("\r\n\r\n").expect("it has a body");
        assert!(head.contains("application/json"), "{head}");
        let metadata: Value = serde_json::from_str(body).expect("it is JSON");
        assert_eq!(
            metadata,
            json!({
                "resource": RESOURCE,
                "authorization_servers": [provider.url()],
                "bearer_methods_supported": ["header"],
                "scopes_supported": ["mcp"],
            })
        );
    }
    let other = get(address, "/.well-known/oauth-protected-resource/other", "").await;
    assert!(other.starts_with("HTTP/1.0 404"), "{other}");

    let mut claims = provider.access_claims("ada", RESOURCE);
    let is_invalid = format!("{challenge}, error=\"invalid_token\", scope=\"mcp\"");
    for forgery in Forgery::ALL {
        // A header of a megabyte does not get as far.
        if forgery == Forgery::Huge {
            continue;
        }
        let forged = provider.forge(forgery, &claims);
        let answer = client(kind, address, &forged)
            .call("t", json!({}), json!({}))
            .await;
        assert_eq!(answer.status, 401, "{forgery:?}");
        let found = answer.header("www-authenticate");
        assert_eq!(found, Some(&*is_invalid), "{forgery:?}");
    }

    claims["scope"] = json!("mcp2 other");
    let narrow = provider.sign(&claims);
    let answer = client(kind, address, &narrow)
        .call("t", json!({}), json!({}))
        .await;
    assert_eq!(answer.status, 403);
    let expected = format!("{challenge}, error=\"insufficient_scope\", scope=\"mcp\"");
    assert_eq!(answer.header("www-authenticate"), Some(&*expected));

    claims["scp"] = json!(["other", "mcp"]);
    let good = provider.sign(&claims);
    let ada = client(kind, address, &good);
    let reply = ada.round("t", json!({}), json!({})).await;
    assert_eq!(reply.questions().len(), 1);
    entreat.shutdown().await;
}

#[tokio::test]
async fn a_renewed_token_goes_on_where_the_old_one_was() {
    let provider = Provider::start().await;
    let builder = Entreat::builder().mcp_tokens(resource(&provider, Vec::new()));
    let (entreat, address) = asks_for_a_name(builder).await;

    let kind = Kind::form(Era::V2026_07_28);
    let ada = |number| client(kind, address, &token(&provider, "ada", number));
    let asked = ada(1).round("t", json!({}), json!({})).await;
    let extra = json!({"requestState": asked.state(),
        "inputResponses": {"name": accept(json!({"text": "Ada"}))}});
    let eve = client(kind, address, &token(&provider, "eve", 2));
    let refused = eve.round("t", json!({}), extra.clone()).await;
    let one_message = "requestState is not valid for this request";
    assert_eq!(refused.error(), (-32602, one_message));
    // Even if the key of the issuer has changed meanwhile.
    provider.rotate_key();
    assert_eq!(ada(3).round("t", json!({}), extra).await.text(), "Ada");

    let kind = Kind::form(Era::V2025_11_25);
    let first = client(kind, address, &token(&provider, "ada", 4))
        .begin()
        .await;
    let renewed = client(kind, address, &token(&provider, "ada", 5)).in_session_of(&first);
    assert_eq!(renewed.send("ping", json!({})).await.status, 200);
    let eve = client(kind, address, &token(&provider, "eve", 6)).in_session_of(&first);
    assert_eq!(eve.send("ping", json!({})).await.status, 404);
    entreat.shutdown().await;
}

#[tokio::test]
async fn while_the_issuer_is_down_nobody_is_told_that_their_token_is_wrong() {
    let provider = Provider::start().await;
    let builder = Entreat::builder().mcp_tokens(resource(&provider, Vec::new()));
    let (entreat, address) = asks_for_a_name(builder).await;
    let kind = Kind::form(Era::V2026_07_28);
    provider.lie(Lie::Down);
    let ada = client(kind, address, &token(&provider, "ada", 1));
    let answer = ada.call("t", json!({}), json!({})).await;
    assert_eq!(answer.status, 503);
    assert_eq!(answer.header("retry-after"), Some("5"));
    assert_eq!(answer.header("www-authenticate"), None);
    entreat.shutdown().await;
}

fn secret() -> Form {
    let definition = json!({"id": "key", "title": "Key", "fields": [
        {"id": "key", "type": "text", "label": "Key", "sensitive": true}]});
    Form::from_value(&definition).expect("it is a form")
}

#[tokio::test]
async fn the_page_of_a_question_is_for_the_tokens_person_or_there_is_none() {
    let provider = Provider::start().await;
    let same = |claim: &str| SamePerson {
        issuer: provider.url(),
        claim: claim.to_owned(),
        page_issuer: None,
        equals: SameClaim::Subject,
    };
    for (rules, respondent) in [
        (Vec::new(), None),
        (vec![same("login")], Some("ada")),
        // An address that nobody verified is no name.
        (vec![same("email")], None),
    ] {
        let proxies = vec!["127.0.0.1/32".parse().expect("it is a range")];
        let header = HeaderIdentity::new("x-user", proxies).expect("it is a header");
        let builder = Entreat::builder()
            .listen(LOOPBACK)
            .key(crate::KEY, "robot", AskerSettings::default())
            .identity(Identity::Header(header))
            .mcp_tokens(resource(&provider, rules));
        let entreat = builder.start().await.expect("it starts");
        let server = Server::new(|ask| async move {
            ask.form_of("key", "Which key?", &secret()).await?;
            Ok("done".to_owned())
        });
        let address = server.listen(&entreat).await;
        let mut claims = provider.access_claims("pairwise-1", RESOURCE);
        claims["login"] = json!("ada");
        claims["email"] = json!("ada@ask.example");
        let ada = client(
            Kind::whole(Era::V2026_07_28),
            address,
            &provider.sign(&claims),
        );
        let mut answer = ada.call("t", json!({}), json!({})).await;
        let reply = answer.reply().await;
        match respondent {
            None => {
                let (_, message) = reply.error();
                let words = "the pages do not know who this client's person is";
                assert!(message.contains(words), "{message}");
            }
            Some(name) => {
                let questions = reply.questions();
                let url = questions[0].params["url"].as_str().expect("it has a page");
                let place = url.strip_prefix("http://").expect("pages have no TLS");
                let (host, path) = place.split_once('/').expect("it has a path");
                let host = host.parse().expect("it is an address");
                let path = format!("/{path}");
                let found = get(host, &path, &format!("x-user: {name}\r\n")).await;
                assert!(!found.contains("404"), "{found}");
                let eve = get(host, &path, "x-user: eve\r\n").await;
                assert!(eve.starts_with("HTTP/1.0 404"), "{eve}");
            }
        }
        entreat.shutdown().await;
    }
}

#[tokio::test]
async fn tokens_and_the_keys_of_askers_both_open_a_gateway() {
    let provider = Provider::start().await;
    let builder = Entreat::builder()
        .listen(LOOPBACK)
        .local_without_key(false)
        .key(crate::KEY, "robot", AskerSettings::default())
        .gateway(GatewayOptions::default())
        .mcp_tokens(resource(&provider, Vec::new()));
    let entreat = builder.start().await.expect("it starts");
    let address = entreat.local_addr().expect("it listens");
    let kind = Kind::form(Era::V2026_07_28);
    let good = token(&provider, "ada", 1);
    let claims = provider.access_claims("ada", RESOURCE);
    let forged = provider.forge(Forgery::OtherAudience, &claims);
    // There is no server behind it, which only those learn who are admitted.
    for (token, status) in [(&*good, 404), (crate::KEY, 404), (&*forged, 401)] {
        let client = client(kind, address, token);
        let answer = client.call("t", json!({}), json!({})).await;
        assert_eq!(answer.status, status, "{token}");
    }
    let nobody = HttpClient::new(kind, address);
    let answer = nobody.call("t", json!({}), json!({})).await;
    assert_eq!(answer.status, 401);
    let challenge = answer.header("www-authenticate").expect("it is told how");
    assert!(challenge.contains("resource_metadata="), "{challenge}");

    // A token is for tools: not for the control API, and not for the state of the gateway.
    let bearer = format!("authorization: Bearer {good}\r\n");
    let status = get(address, "/gateway/status", &bearer).await;
    assert!(status.starts_with("HTTP/1.0 401"), "{status}");
    let answer = crate::call(address, Some(&good), "forms/list").await;
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    entreat.shutdown().await;
}

#[tokio::test]
async fn no_token_is_in_a_log_or_a_trace() {
    let (log, _guard) = CapturedLog::with_spans_of_this_thread();
    let provider = Provider::start().await;
    let builder = Entreat::builder().mcp_tokens(resource(&provider, Vec::new()));
    let (entreat, address) = asks_for_a_name(builder).await;
    let kind = Kind::form(Era::V2026_07_28);
    let good = token(&provider, "canary-person", 1);
    let claims = provider.access_claims("canary-person", RESOURCE);
    let mut tokens = vec![good];
    for forgery in [
        Forgery::ForeignKey,
        Forgery::Expired,
        Forgery::OtherAudience,
    ] {
        tokens.push(provider.forge(forgery, &claims));
    }
    for token in &tokens {
        client(kind, address, token)
            .call("t", json!({}), json!({}))
            .await;
    }
    entreat.shutdown().await;
    let logged = log.take();
    assert!(logged.contains("invalid_token"), "{logged}");
    for token in &tokens {
        for part in token.split('.') {
            assert!(!logged.contains(part), "{part} in {logged}");
        }
    }
    assert!(!logged.contains("canary-person"), "{logged}");
}

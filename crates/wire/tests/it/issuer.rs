//! Tokens of a provider that lies, and of one that is down.

use std::sync::Arc;
use std::time::Duration;

use entreat_core::UnixTime;
use entreat_testkit::VirtualClock;
use entreat_testkit::provider::{CLIENT_SECRET, Forgery, Lie, Provider, SigningAlgorithm};
use entreat_wire::issuer::{
    AccessTokenRules, Claims, ClientCredentials, IdTokenRules, Issuer, IssuerError, IssuerSettings,
    TokenError,
};
use futures_util::future::join_all;
use serde_json::json;

const RESOURCE: &str = "https://ask.example/mcp";
const RULES: AccessTokenRules<'_> = AccessTokenRules {
    resource: RESOURCE,
    also_audience: None,
};

/// A provider, and our view of it, at one time.
struct Scene {
    provider: Provider,
    issuer: Issuer,
    clock: VirtualClock,
}

impl Scene {
    async fn new() -> Self {
        Self::signing_by(SigningAlgorithm::default()).await
    }

    async fn signing_by(algorithm: SigningAlgorithm) -> Self {
        let clock = VirtualClock::new(UnixTime::from_millis(1_800_000_000_000));
        let provider = Provider::start_with(algorithm, Arc::new(clock.clone())).await;
        let credentials = ClientCredentials {
            id: "entreat".to_owned(),
            secret: CLIENT_SECRET.to_owned().into(),
        };
        let settings = IssuerSettings {
            introspection: Some(credentials),
            ..IssuerSettings::default()
        };
        let issuer = Issuer::new(&provider.url(), settings).unwrap();
        Self {
            provider,
            issuer,
            clock,
        }
    }

    fn now(&self) -> UnixTime {
        use entreat_engine::Clock as _;
        self.clock.wall()
    }

    fn token(&self) -> String {
        let claims = self.provider.access_claims("alice", RESOURCE);
        self.provider.sign(&claims)
    }

    async fn check(&self, token: &str) -> Result<Claims, TokenError> {
        let now = self.now();
        self.issuer.check_access_token(token, RULES, now).await
    }

    async fn check_id(&self, token: &str) -> Result<Claims, TokenError> {
        let rules = IdTokenRules {
            client_id: "entreat",
            nonce: "n",
            max_age: None,
            acr: None,
        };
        let now = self.now();
        self.issuer.check_id_token(token, rules, now).await
    }
}

#[tokio::test]
async fn tokens_of_every_accepted_algorithm_pass() {
    for algorithm in SigningAlgorithm::ALL {
        let scene = Scene::signing_by(algorithm).await;
        let token = scene.token();
        let claims = scene.check(&token).await.unwrap();
        assert_eq!(claims.subject, "alice", "{algorithm:?}");
        assert_eq!(*claims.issuer, scene.provider.url());
        assert_eq!(claims.text("scope"), Some("mcp"));
        // From the cache, and the same.
        assert_eq!(scene.check(&token).await.unwrap(), claims);
        assert_eq!(scene.provider.requests().keys, 1);
    }
}

#[tokio::test]
async fn no_forged_token_passes_whatever_it_is_presented_as() {
    for algorithm in SigningAlgorithm::ALL {
        let scene = Scene::signing_by(algorithm).await;
        let access = scene.provider.access_claims("alice", RESOURCE);
        let id = scene.provider.id_claims("alice", "entreat", "n");
        let genuine = scene.provider.sign(&id);
        assert_eq!(scene.check_id(&genuine).await.unwrap().subject, "alice");
        let now = scene.now();
        let assertion = scene.issuer.check_assertion(&genuine, "entreat", now);
        assert!(assertion.await.is_ok());
        for forgery in Forgery::ALL {
            let forged = scene.provider.forge(forgery, &access);
            assert!(scene.check(&forged).await.is_err(), "{forgery:?}");
            let forged = scene.provider.forge(forgery, &id);
            assert!(scene.check_id(&forged).await.is_err(), "{forgery:?}");
            let assertion = scene.issuer.check_assertion(&forged, "entreat", now);
            assert!(assertion.await.is_err(), "{forgery:?}");
        }
    }
}

#[tokio::test]
async fn a_token_is_good_for_one_purpose() {
    let scene = Scene::new().await;
    let now = scene.now();
    // All of one audience, as if the resource were the client.
    let access = scene.provider.access_claims("alice", "entreat");
    let id = scene.provider.id_claims("alice", "entreat", "n");
    let logout = scene.provider.logout_claims("entreat", Some("s"), None);
    let tokens = [
        scene.provider.sign_as("at+jwt", &access),
        scene.provider.sign(&id),
        scene.provider.sign_as("logout+jwt", &logout),
    ];
    let rules = AccessTokenRules {
        resource: "entreat",
        also_audience: None,
    };
    for (place, token) in tokens.iter().enumerate() {
        let passed = [
            scene
                .issuer
                .check_access_token(token, rules, now)
                .await
                .is_ok(),
            scene.check_id(token).await.is_ok(),
            scene
                .issuer
                .check_logout_token(token, "entreat", now)
                .await
                .is_ok(),
        ];
        let mut expected = [false; 3];
        expected[place] = true;
        assert_eq!(passed, expected, "{place}");
    }
}

#[tokio::test]
async fn a_token_expires_though_it_was_checked_before() {
    let scene = Scene::new().await;
    let token = scene.token();
    assert!(scene.check(&token).await.is_ok());
    scene.clock.advance(Duration::from_secs(359));
    assert!(scene.check(&token).await.is_ok());
    scene.clock.advance(Duration::from_secs(1));
    assert_eq!(scene.check(&token).await.unwrap_err(), TokenError::Expired);
}

#[tokio::test]
async fn a_new_key_is_known_at_its_first_token_and_the_old_one_no_more() {
    let scene = Scene::new().await;
    let old = scene.token();
    assert!(scene.check(&old).await.is_ok());
    scene.provider.rotate_key();
    assert!(scene.check(&scene.token()).await.is_ok());
    assert_eq!(scene.provider.requests().keys, 2);
    assert_eq!(scene.check(&old).await.unwrap_err(), TokenError::UnknownKey);

    // A new key with an old id.
    scene.clock.advance(Duration::from_secs(30));
    scene.provider.replace_key();
    assert!(scene.check(&scene.token()).await.is_ok());
}

#[tokio::test]
async fn a_thousand_tokens_with_unknown_keys_cost_one_request() {
    let scene = Scene::new().await;
    assert!(scene.check(&scene.token()).await.is_ok());
    let claims = scene.provider.access_claims("alice", RESOURCE);
    let foreign = |number: u32| {
        let header = json!({"alg": "ES256", "kid": format!("unknown-{number}")});
        scene
            .provider
            .sign_texts(&header.to_string(), &claims.to_string())
    };
    let tokens: Vec<String> = (0..1000).map(foreign).collect();
    let checks = join_all(tokens.iter().map(|token| scene.check(token))).await;
    assert!(checks.iter().all(|it| *it == Err(TokenError::UnknownKey)));
    assert_eq!(scene.provider.requests().keys, 2);

    // Nor does it take many where nothing was fetched before.
    let issuer = Issuer::new(&scene.provider.url(), IssuerSettings::default()).unwrap();
    let now = scene.now();
    let check = |token| issuer.check_access_token(token, RULES, now);
    let checks = join_all(tokens.iter().map(|token| check(token))).await;
    assert!(checks.iter().all(|it| *it == Err(TokenError::UnknownKey)));
    assert!(scene.provider.requests().keys <= 4);
}

#[tokio::test]
async fn tokens_are_checked_for_a_day_while_the_issuer_is_down() {
    let scene = Scene::new().await;
    assert!(scene.check(&scene.token()).await.is_ok());
    scene.provider.lie(Lie::Down);
    for _ in 0..23 {
        scene.clock.advance(Duration::from_secs(3600));
        assert!(scene.check(&scene.token()).await.is_ok());
        let metadata = scene.issuer.metadata(scene.now()).await;
        assert!(metadata.is_ok());
    }
    scene.clock.advance(Duration::from_secs(3600));
    let refused = scene.check(&scene.token()).await.unwrap_err();
    assert!(matches!(refused, TokenError::Issuer(_)), "{refused:?}");

    scene.provider.be_honest();
    scene.clock.advance(Duration::from_secs(5));
    assert!(scene.check(&scene.token()).await.is_ok());
}

#[tokio::test]
async fn what_an_issuer_should_not_publish_is_not_used() {
    for lie in [
        Lie::OtherIssuerInMetadata,
        Lie::RedirectedKeySet,
        Lie::HugeKeySet,
        Lie::EmptyKeySet,
        Lie::FleetingKeys,
        Lie::Down,
    ] {
        let scene = Scene::new().await;
        scene.provider.lie(lie);
        assert!(scene.check(&scene.token()).await.is_err(), "{lie:?}");
        // And once it is right, it is used.
        scene.provider.be_honest();
        scene.clock.advance(Duration::from_secs(30));
        assert!(scene.check(&scene.token()).await.is_ok(), "{lie:?}");
    }
}

#[tokio::test]
async fn wrong_key_sets_do_not_replace_the_keys_in_use() {
    for lie in [
        Lie::RedirectedKeySet,
        Lie::HugeKeySet,
        Lie::EmptyKeySet,
        Lie::Down,
    ] {
        let scene = Scene::new().await;
        let token = scene.token();
        assert!(scene.check(&token).await.is_ok());
        scene.provider.lie(lie);
        let claims = scene.provider.access_claims("alice", RESOURCE);
        let unknown = scene.provider.forge(Forgery::UnknownKey, &claims);
        assert!(scene.check(&unknown).await.is_err());
        assert_eq!(
            scene.provider.requests().keys,
            if lie == Lie::Down { 1 } else { 2 }
        );
        assert!(scene.check(&token).await.is_ok(), "{lie:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_set_that_does_not_end_is_given_up() {
    let scene = Scene::new().await;
    scene.provider.lie(Lie::SlowKeySet);
    let refused = scene.check(&scene.token()).await.unwrap_err();
    let expected = IssuerError::Unavailable("the request timed out".to_owned());
    assert_eq!(refused, TokenError::Issuer(expected));
}

#[tokio::test]
async fn an_opaque_token_is_asked_about_once_a_minute() {
    let scene = Scene::new().await;
    let claims = scene.provider.access_claims("alice", RESOURCE);
    let token = scene.provider.opaque_token(&claims);
    for _ in 0..3 {
        assert_eq!(scene.check(&token).await.unwrap().subject, "alice");
    }
    assert_eq!(scene.provider.requests().introspections, 1);

    // A token that was taken back is good for no more than a minute.
    scene.provider.revoke(&token);
    scene.clock.advance(Duration::from_secs(59));
    assert!(scene.check(&token).await.is_ok());
    scene.clock.advance(Duration::from_secs(1));
    assert_eq!(scene.check(&token).await.unwrap_err(), TokenError::Inactive);
    assert_eq!(scene.check(&token).await.unwrap_err(), TokenError::Inactive);
    assert_eq!(scene.provider.requests().introspections, 2);
}

#[tokio::test]
async fn an_opaque_token_has_to_be_for_this_resource_and_not_expired() {
    let scene = Scene::new().await;
    let claims = scene.provider.access_claims("alice", RESOURCE);
    for (name, value, claim) in [
        ("aud", json!("https://mallory.example"), "aud"),
        ("aud", json!(null), "aud"),
        ("iss", json!("https://mallory.example"), "iss"),
        ("exp", json!("never"), "exp"),
        ("sub", json!(null), "sub"),
        ("cnf", json!({"jkt": "x"}), "cnf"),
    ] {
        let mut claims = claims.clone();
        claims[name] = value;
        let token = scene.provider.opaque_token(&claims);
        let refused = scene.check(&token).await.unwrap_err();
        assert_eq!(refused, TokenError::Claim(claim));
    }
    let token = scene.provider.opaque_token(&claims);
    assert!(scene.check(&token).await.is_ok());
    assert_eq!(
        scene.check("no such token").await.unwrap_err().to_string(),
        "the token is not of the characters of a token"
    );
    assert_eq!(
        scene.check("opaque-99").await.unwrap_err(),
        TokenError::Inactive
    );
}

#[tokio::test]
async fn a_thousand_questions_about_one_opaque_token_are_few_requests() {
    let scene = Scene::new().await;
    let claims = scene.provider.access_claims("alice", RESOURCE);
    let token = scene.provider.opaque_token(&claims);
    let checks = join_all((0..1000).map(|_| scene.check(&token))).await;
    assert!(checks.iter().all(Result::is_ok));
    assert!(scene.provider.requests().introspections <= 32);
}

//! People whom a proxy names by a signed token.

use entreat_service::identity::AssertionIdentity;

use super::*;

const HEADER: &str = "x-assertion";

struct Proxied {
    site: Site,
    provider: Provider,
    id: ElicitationId,
}

impl Proxied {
    async fn new(header: &str) -> Self {
        let world = World::new().await;
        let provider = provider_in(&world).await;
        // As of proxies that publish keys and nothing else.
        let settings = IssuerSettings {
            keys_url: Some(format!("{}/keys", provider.url())),
            ..IssuerSettings::default()
        };
        let issuer = Issuer::new(&provider.url(), settings).unwrap();
        let claims = ClaimNames::default();
        let identity = AssertionIdentity::new(header, issuer, CLIENT, claims).unwrap();
        let settings = PageSettings {
            identity: Identity::Assertion(Box::new(identity)),
            ..PageSettings::default()
        };
        let site = Site::of(world, None, settings).await;
        let form = Form::from_value(&deploy()).unwrap();
        let asked = site
            .world
            .session
            .asker()
            .ask(Ask::form(form).respondent("ada"));
        let id = asked.await.unwrap().id();
        Self { site, provider, id }
    }

    fn token(&self, subject: &str) -> String {
        self.provider
            .sign(&self.provider.id_claims(subject, CLIENT, ""))
    }

    async fn open(&self, headers: &[(&str, &str)]) -> StatusCode {
        let path = path_of(&self.site.pages.link(self.id));
        self.site.get(&path, headers).await.status
    }
}

#[tokio::test]
async fn a_signed_header_names_the_person_whoever_sends_it() {
    let proxied = Proxied::new(HEADER).await;
    let (ada, bob) = (proxied.token("ada"), proxied.token("bob"));
    let forwarded = ("x-forwarded-for", "203.0.113.9");
    let open = async |token: &str| proxied.open(&[(HEADER, token), forwarded]).await;
    assert_eq!(open(&ada).await, StatusCode::OK);
    assert_eq!(open(&bob).await, StatusCode::NOT_FOUND);
    assert_eq!(proxied.open(&[]).await, StatusCode::FORBIDDEN);
    assert_eq!(open("").await, StatusCode::FORBIDDEN);
    assert_eq!(open("ada").await, StatusCode::FORBIDDEN);
    let foreign = proxied.provider.id_claims("ada", "another", "");
    let foreign = proxied.provider.sign(&foreign);
    assert_eq!(open(&foreign).await, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_proxy_that_adds_its_header_to_the_clients_lets_nobody_in() {
    let proxied = Proxied::new(HEADER).await;
    let (ada, mallory) = (proxied.token("ada"), proxied.token("mallory"));
    for pair in [[&ada, &mallory], [&mallory, &ada], [&ada, &ada]] {
        let status = proxied.open(&[(HEADER, pair[0]), (HEADER, pair[1])]).await;
        assert_eq!(status, StatusCode::FORBIDDEN);
    }
    let joined = format!("{mallory}, {ada}");
    let status = proxied.open(&[(HEADER, &joined)]).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_header_that_is_replayed_after_its_time_is_refused() {
    let proxied = Proxied::new(HEADER).await;
    let ada = proxied.token("ada");
    assert_eq!(proxied.open(&[(HEADER, &ada)]).await, StatusCode::OK);
    proxied.site.world.pass(Duration::from_secs(300 + 61)).await;
    let status = proxied.open(&[(HEADER, &ada)]).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_token_may_come_as_that_of_a_bearer() {
    let proxied = Proxied::new("authorization").await;
    let bearer = format!("Bearer {}", proxied.token("ada"));
    let status = proxied.open(&[("authorization", &bearer)]).await;
    assert_eq!(status, StatusCode::OK);
}

//! Signing in at a provider of others, `oidc-provider` of npm, which is a certified one.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use entreat_core::Form;
use entreat_engine::{Ask, Engine, SystemEntropy};
use entreat_service::Askers;
use entreat_service::http::Http;
use entreat_service::identity::{Identity, OidcIdentity, OidcSettings};
use entreat_service::page::{PageSettings, Pages};
use entreat_service::rpc::Rpc;
use entreat_wire::issuer::{Issuer, IssuerSettings};
use serde_json::json;
use tokio::net::TcpListener;

use crate::driver::Browser;
use crate::forms::small;
use crate::site::Question;
use crate::states::inspect;
use crate::{PATIENCE, Script};

/// Tests with and without the script.
macro_rules! both_ways {
    ($($name:ident),* $(,)?) => {$(
        mod $name {
            #[test]
            fn with_the_script() {
                super::play(crate::Script::On, super::$name);
            }

            #[test]
            fn without_it() {
                super::play(crate::Script::Off, super::$name);
            }
        }
    )*};
}

both_ways! {
    a_person_signs_in_by_a_link_answers_and_signs_out,
    ten_tabs_sign_in,
    whoever_has_the_wrong_account_uses_another_one,
}

/// A service whose people sign in at a provider.
struct Realm {
    engine: Engine,
    pages: Pages,
    browser: Browser,
    provider: Child,
}

impl Drop for Realm {
    fn drop(&mut self) {
        let _ = self.provider.kill();
        let _ = self.provider.wait();
    }
}

fn play<F: Future<Output = ()>>(script: Script, body: impl FnOnce(Realm) -> F) {
    play_in("en-US", script, body);
}

fn play_in<F: Future<Output = ()>>(language: &str, script: Script, body: impl FnOnce(Realm) -> F) {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async { body(Realm::start(language, script).await).await });
}

impl Realm {
    async fn start(language: &str, script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (provider, issuer) = provider(&url);
        let issuer = Issuer::new(&issuer, IssuerSettings::default()).unwrap();
        let oidc = OidcSettings {
            client_id: "entreat".to_owned(),
            client_secret: Some("a secret of a client".to_owned().into()),
            ..OidcSettings::default()
        };
        let settings = PageSettings {
            identity: Identity::Oidc(Box::new(OidcIdentity::new(issuer, oidc))),
            ..PageSettings::default()
        };
        let entropy = SystemEntropy::new().unwrap();
        let engine = Engine::builder().entropy(entropy).start().await.unwrap();
        let pages = Pages::new(engine.clone(), &url, settings).unwrap();
        let rpc = Rpc::new(engine.clone()).with_links(pages.clone());
        let askers = Askers::none().with_local(engine.asker("deployer"));
        let http = Http::new(rpc, askers).with_pages(pages.clone());
        tokio::spawn(http.serve(listener, std::future::pending()));
        Self {
            engine,
            pages,
            browser: Browser::start(script, language).await,
            provider,
        }
    }

    async fn ask(&self, respondent: &str) -> Question {
        let form = Form::from_value(&small()).unwrap();
        let deployer = self.engine.asker("deployer");
        let asked = deployer.ask(Ask::form(form).respondent(respondent)).await;
        let elicitation = asked.unwrap();
        Question {
            link: self.pages.link(elicitation.id()),
            elicitation,
        }
    }

    /// Signs in at the provider, and agrees that it says who it is.
    async fn sign_in_as(&self, name: &str) {
        let page = &self.browser;
        page.go_on().await;
        self.type_name(name).await;
    }

    /// Fills in the forms of the provider.
    async fn type_name(&self, name: &str) {
        let page = &self.browser;
        let log_in = async || {
            page.fill("input[name=login]", name).await;
            page.fill("input[name=password]", "any").await;
            // Tells this page from the next one like it.
            page.eval("document.body.dataset.sent = 'yes'").await;
            page.click("button[type=submit]").await;
        };
        log_in().await;
        let inbox = self.pages.inbox_link();
        let origin = inbox.trim_end_matches("/inbox");
        let is_back = format!("location.origin === '{origin}'");
        // Whoever agreed before is not asked again. Between two accounts, the provider shows a page
        // that the script sends at once, and without it asks for the name once more.
        let button = match page.script {
            Script::On => "form:has(input[value=consent]) button",
            Script::Off => "form:not(:has([name=login])) button",
        };
        let is_asked = format!("document.querySelector('{button}')");
        let is_log_in = match page.script {
            Script::On => "false",
            Script::Off => "document.querySelector('body:not([data-sent]) input[name=login]')",
        };
        loop {
            let is_next = format!("!!({is_back} || {is_asked} || {is_log_in})");
            page.until(&is_next).await;
            // Fails while a page is being replaced, as one that sends itself is.
            let holds = async |what: &str| {
                let script = format!("return Boolean({what})");
                page.client.execute(&script, Vec::new()).await.ok() == Some(json!(true))
            };
            if holds(&is_back).await {
                return;
            }
            if holds(&is_asked).await {
                let click = format!("{is_asked}?.click()");
                let _ = page.client.execute(&click, Vec::new()).await;
            } else if holds(is_log_in).await {
                log_in().await;
            }
        }
    }
}

/// Starts the provider; returns its URL, too.
fn provider(site: &str) -> (Child, String) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers");
    let child = Command::new(folder.join("node_modules/node/bin/node"))
        .args(["provider.mjs", site])
        .current_dir(&folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = child else {
        panic!("oidc-provider is missing: `cargo xtask test` installs it");
    };
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let url = lines.find_map(Result::ok).expect("the provider starts");
    std::thread::spawn(move || lines.for_each(drop));
    (child, url)
}

async fn a_person_signs_in_by_a_link_answers_and_signs_out(realm: Realm) {
    let page = &realm.browser;
    let question = realm.ask("ada").await;
    page.goto(&question.link).await;
    page.until_headed("Sign in to answer").await;
    realm.sign_in_as("ada").await;
    page.find("#question").await;
    // Neither the code nor where the person came from is left.
    let address = page.client.current_url().await.unwrap();
    assert_eq!(address.query(), None, "{address}");
    assert_eq!(page.eval("document.referrer").await, "");
    let history = page.devtools("Page.getNavigationHistory", json!({})).await;
    let entries = history["entries"].as_array().unwrap();
    assert!(entries.len() > 1, "{history}");
    for entry in entries {
        let url = entry["url"].as_str().unwrap();
        assert!(
            !url.contains("code=") && !url.contains("/sign-in/callback"),
            "{url}"
        );
    }
    page.fill("#f0", "blue-green").await;
    page.fill("#f1", "hunter2").await;
    page.click("#f2-0").await;
    page.fill("#f4", "All of it.").await;
    page.review_and_send().await;
    assert_eq!(question.result().await["name"], "blue-green");
    page.goto(&realm.pages.inbox_link()).await;
    assert!(page.text("form.account").await.contains("Ada Test"));
    page.click("form.account button").await;
    // The provider asks whether to sign out there, too.
    page.click("button[name=logout]").await;
    page.until_headed("You are signed out").await;
    page.goto(&realm.pages.inbox_link()).await;
    page.until_headed("Sign in to answer").await;
}

async fn ten_tabs_sign_in(realm: Realm) {
    let page = &realm.browser;
    let question = realm.ask("ada").await;
    let mut tabs = Vec::new();
    for _ in 0..10 {
        let tab = page.client.new_window(true).await.unwrap().handle;
        page.client.switch_to_window(tab.clone()).await.unwrap();
        page.goto(&question.link).await;
        page.go_on().await;
        page.find("input[name=login]").await;
        tabs.push(tab);
    }
    for tab in tabs {
        page.client.switch_to_window(tab).await.unwrap();
        realm.type_name("ada").await;
        page.find("#question").await;
    }
}

async fn whoever_has_the_wrong_account_uses_another_one(realm: Realm) {
    let page = &realm.browser;
    let question = realm.ask("ada").await;
    page.goto(&question.link).await;
    realm.sign_in_as("bob").await;
    page.until_headed("This link does not work").await;
    assert!(page.text("main").await.contains("Bob Test"));
    realm.sign_in_as("ada").await;
    page.find("#question").await;
    assert!(question.is_live().await);
}

#[test]
fn pages_of_signing_in_and_out() {
    for (language, suffix) in [("en-US", ""), ("de", "-german")] {
        play_in(language, Script::On, async move |realm: Realm| {
            let page = &realm.browser;
            let question = realm.ask("ada").await;
            page.goto(&question.link).await;
            page.find("form button.primary").await;
            inspect(&format!("sign-in{suffix}"), page).await;
            page.goto(&format!("{}?sign-in-failed", question.link))
                .await;
            inspect(&format!("sign-in-failed{suffix}"), page).await;
            realm.sign_in_as("bob").await;
            page.find("input[name=account]").await;
            inspect(&format!("other-account{suffix}"), page).await;
            page.goto(&realm.pages.inbox_link()).await;
            page.find("form.account").await;
            inspect(&format!("inbox-signed-in{suffix}"), page).await;
            let auth = entreat_engine::RespondentAuth {
                max_age: Some(0),
                acr: None,
            };
            let form = json!({"id": "f", "title": "Delete the database?", "fields": [
                {"id": "sure", "type": "boolean", "label": "Delete it?", "required": true}]});
            let ask = Ask::form(Form::from_value(&form).unwrap());
            let deployer = realm.engine.asker("deployer");
            let asked = deployer
                .ask(ask.respondent("bob").respondent_auth(auth))
                .await;
            let elicitation = asked.unwrap();
            page.goto(&realm.pages.link(elicitation.id())).await;
            page.click("button[value='send.yes']").await;
            page.until("location.pathname.endsWith('/again')").await;
            inspect(&format!("sign-in-again{suffix}"), page).await;
            page.go_on().await;
            realm.type_name("bob").await;
            page.click("button[value='send.yes']").await;
            let settled = tokio::time::timeout(PATIENCE, elicitation.outcome()).await;
            let settled = settled.expect("it settles").unwrap();
            assert_eq!(settled.result(), Some(json!({"sure": true})));
            let out = realm.pages.inbox_link().replace("/inbox", "/signed-out");
            page.goto(&out).await;
            inspect(&format!("signed-out{suffix}"), page).await;
        });
    }
}

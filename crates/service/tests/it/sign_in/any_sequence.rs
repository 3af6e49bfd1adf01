//! Whatever people, providers, operators and clocks do, in any order: a question is seen and
//! answered by the person it is for, signed in, and by nobody else.
//!
//! `ENTREAT_IDENTITY=long` runs some hundred sequences instead of a few.

use entreat_testkit::provider::Lie;

use super::*;

const PEOPLE: [&str; 3] = ["ada", "bob", "eve"];
const BROWSERS: usize = 3;
const STEPS: usize = 40;
const SESSION: Duration = Duration::from_secs(3600);

/// What should be so.
struct Expected {
    respondent: &'static str,
    /// Who is signed in to each browser, and for how long.
    signed_in: [Option<(&'static str, Duration)>; BROWSERS],
}

/// Draws steps; each seed is another sequence.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: usize) -> usize {
        // The generator of Steele, Lea and Flood's SplitMix.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % end as u64).unwrap()
    }

    fn person(&mut self) -> &'static str {
        PEOPLE[self.below(PEOPLE.len())]
    }
}

fn sequences() -> u64 {
    #[expect(
        clippy::disallowed_methods,
        reason = "a test for which `xtask` asks for more"
    )]
    let wanted = std::env::var("ENTREAT_IDENTITY");
    if wanted.is_ok_and(|wanted| wanted == "long") {
        300
    } else {
        4
    }
}

#[tokio::test]
async fn after_any_sequence_a_question_is_for_one_person_only() {
    for seed in 0..sequences() {
        Sequence::new(seed).await.play().await;
    }
}

struct Sequence {
    seed: u64,
    realm: Realm,
    id: ElicitationId,
    browsers: [Browser; BROWSERS],
    /// The page that each browser had open last, and its token.
    open: [Option<(String, String)>; BROWSERS],
    expected: Expected,
    steps: Vec<String>,
}

impl Sequence {
    async fn new(seed: u64) -> Self {
        let realm = Realm::with(|settings| settings.session = SESSION).await;
        let id = realm.ask("ada").await;
        let browsers = [realm.browser(), realm.browser(), realm.browser()];
        Self {
            seed,
            id,
            browsers,
            realm,
            open: [None, None, None],
            expected: Expected {
                respondent: "ada",
                signed_in: [None; BROWSERS],
            },
            steps: Vec::new(),
        }
    }

    async fn play(mut self) {
        let mut draw = Draw(self.seed);
        for _ in 0..STEPS {
            let browser = draw.below(BROWSERS);
            match draw.below(10) {
                0..=2 => self.sign_in(browser, draw.person()).await,
                3 => self.sign_out(browser).await,
                4 => self.log_out(draw.person()).await,
                5 => {
                    self.pass(Duration::from_secs(600 + draw.below(3000) as u64))
                        .await;
                }
                6 => self.reassign(draw.person()).await,
                7 => self.rotate().await,
                _ => self.send_open_page(browser).await,
            }
            self.check().await;
        }
    }

    fn at(&self) -> String {
        format!("seed {}: {}", self.seed, self.steps.join(", "))
    }

    /// Who may see the question in a browser, as far as we know.
    fn sees(&self, browser: usize) -> bool {
        let person = self.expected.signed_in[browser].map(|(person, _)| person);
        person == Some(self.expected.respondent)
    }

    async fn sign_in(&mut self, browser: usize, person: &'static str) {
        self.steps.push(format!("{person} signs in at {browser}"));
        self.realm
            .provider
            .sign_in_as(person, json!({"name": person}));
        let own = &mut self.browsers[browser];
        let mut tab = own.clone();
        tab.cookies.remove("entreat-session");
        let page = tab.open("/inbox").await;
        let callback = tab.reach_provider(&page).await;
        tab.follow(&callback).await;
        own.cookies = tab.cookies;
        self.expected.signed_in[browser] = Some((person, SESSION));
    }

    async fn sign_out(&mut self, browser: usize) {
        if self.expected.signed_in[browser].take().is_none() {
            return;
        }
        self.steps.push(format!("{browser} signs out"));
        let own = &mut self.browsers[browser];
        let csrf = own.open("/inbox").await.csrf();
        let kept = own.cookies.clone();
        own.post("/sign-out", &[("_csrf", &csrf)]).await;
        // A thief has kept the cookie.
        own.cookies = kept;
    }

    async fn log_out(&mut self, person: &'static str) {
        self.steps.push(format!("the provider ends {person}"));
        let provider = &self.realm.provider;
        let claims = provider.logout_claims(CLIENT, None, Some(person));
        let token = provider.sign_as("logout+jwt", &claims);
        let url = format!("{}/sign-in/back-channel-logout", self.browsers[0].site);
        assert_eq!(
            provider.send_logout(&url, &token).await,
            200,
            "{}",
            self.at()
        );
        for signed_in in &mut self.expected.signed_in {
            if signed_in.is_some_and(|(other, _)| other == person) {
                *signed_in = None;
            }
        }
        // Times of tokens are in seconds.
        self.pass(Duration::from_secs(2)).await;
    }

    async fn pass(&mut self, time: Duration) {
        self.steps.push(format!("{} s pass", time.as_secs()));
        self.realm.site.world.pass(time).await;
        for signed_in in &mut self.expected.signed_in {
            *signed_in = signed_in.and_then(|(person, left)| {
                let left = left.checked_sub(time).filter(|left| !left.is_zero())?;
                Some((person, left))
            });
        }
    }

    async fn reassign(&mut self, person: &'static str) {
        self.steps.push(format!("it is for {person}"));
        let question = self.realm.site.world.engine.elicitation(self.id);
        question.reassign(person).await.unwrap();
        self.expected.respondent = person;
    }

    /// The provider changes its key, and is down for a while.
    async fn rotate(&mut self) {
        self.steps.push("the key changes".to_owned());
        self.realm.provider.rotate_key();
        self.realm.provider.lie(Lie::Down);
        self.pass(Duration::from_secs(60)).await;
        self.check().await;
        self.realm.provider.be_honest();
        self.pass(Duration::from_secs(6)).await;
    }

    /// Sends what was open in a browser, whoever is there now.
    async fn send_open_page(&mut self, browser: usize) {
        let Some((path, csrf)) = self.open[browser].clone() else {
            return;
        };
        self.steps.push(format!("{browser} sends"));
        let sees = self.sees(browser);
        let sent = self.browsers[browser]
            .post(&path, &answers(&csrf, "send"))
            .await;
        let is_answered = !self.realm.is_live(self.id).await;
        assert!(sees || !is_answered, "{}", self.at());
        assert!(sees || !sent.text.contains("Deploy"), "{}", self.at());
        if is_answered {
            let snapshot = self.realm.site.world.engine.elicitation(self.id);
            let settled = snapshot.status().await.unwrap();
            let name = settled.settled_by().map(|actor| actor.name.to_string());
            assert_eq!(
                name.as_deref(),
                Some(self.expected.respondent),
                "{}",
                self.at()
            );
            // The next question.
            self.id = self.realm.ask(self.expected.respondent).await;
            self.open = [None, None, None];
        }
    }

    /// Opens the question in every browser.
    async fn check(&mut self) {
        let link = self.realm.path(self.id);
        for browser in 0..BROWSERS {
            let page = self.browsers[browser].open(&link).await;
            let at = format!("browser {browser}, {}", self.at());
            if self.sees(browser) {
                assert_eq!(page.status, StatusCode::OK, "{at}");
                self.open[browser] = Some((page.path.clone(), page.csrf()));
            } else if self.expected.signed_in[browser].is_some() {
                assert!(page.is_not_found(), "{at}: {}", page.text);
            } else {
                assert!(page.is_sign_in(), "{at}: {}", page.text);
            }
        }
    }
}

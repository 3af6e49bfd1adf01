//! What checking a token costs, when it comes for the first time and when it comes again.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark is a program of its own, and prints its figures"
)]

use std::sync::Arc;
use std::time::Duration;

use entreat_engine::{Clock as _, SystemClock};
use entreat_testkit::Probe;
use entreat_testkit::provider::{Provider, SigningAlgorithm};
use entreat_wire::issuer::{AccessTokenRules, Issuer, IssuerSettings};
use futures_util::FutureExt as _;
use serde_json::json;

const RESOURCE: &str = "https://ask.example/mcp";
const BATCHES: usize = 200;
/// Tokens per batch; the first batch warms up.
const BATCH: u32 = 10;
/// What a check may take at the median.
const NEW_AT_MOST: Duration = Duration::from_micros(150);
const AGAIN_AT_MOST: Duration = Duration::from_micros(3);

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let _entered = runtime.enter();
    println!("{}", Probe::HEADER);
    let mut is_slow = false;
    for algorithm in SigningAlgorithm::ALL {
        let clock = SystemClock::new();
        let provider = runtime.block_on(Provider::start_with(algorithm, Arc::new(clock)));
        let issuer = Issuer::new(&provider.url(), IssuerSettings::default()).unwrap();
        let mut claims = provider.access_claims("alice", RESOURCE);
        // As large as those of common providers.
        claims["name"] = json!("Alice Example");
        claims["email"] = json!("alice@ask.example");
        claims["realm_access"] = json!({"roles": ["offline_access", "staff", "on-call"]});
        let count = u32::try_from(BATCHES).unwrap() * BATCH + BATCH;
        let tokens: Vec<String> = (0..=count)
            .map(|number| {
                claims["jti"] = json!(number);
                provider.sign(&claims)
            })
            .collect();
        let rules = AccessTokenRules {
            resource: RESOURCE,
            also_audience: None,
        };
        let now = clock.wall();
        let again = &tokens[0];
        let first = runtime.block_on(issuer.check_access_token(again, rules, now));
        assert_eq!(first.unwrap().subject, "alice");
        // Nothing is fetched from here on, so no check ever waits.
        let check = |token: &str| {
            let checked = issuer.check_access_token(token, rules, now);
            checked.now_or_never().unwrap().unwrap()
        };
        let mut rest = tokens[1..].iter();
        let name = format!("{algorithm:?}, a new token");
        let new = Probe::measure(name, BATCHES, BATCH, || check(rest.next().unwrap()));
        println!("{new}");
        let name = format!("{algorithm:?}, the same token again");
        let same = Probe::measure(name, BATCHES, 1000, || check(again));
        println!("{same}");
        is_slow |= new.percentile(50) > NEW_AT_MOST || same.percentile(50) > AGAIN_AT_MOST;
    }
    assert!(
        !is_slow,
        "a new token takes at most {NEW_AT_MOST:?}, a known one {AGAIN_AT_MOST:?}"
    );
}

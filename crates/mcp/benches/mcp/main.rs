//! A tool call that asks one form, one call at a time: `Ask` against the same tool written by hand
//! on rmcp.
//!
//! rmcp's own client calls and answers at once, in this process and over stdio, in both
//! lifecycles. Client and server share a core. Run it with `cargo xtask bench mcp`, which adds
//! the figures of the TypeScript SDK and of `FastMCP` for the same tool.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock, prints its figures, and may fail loudly"
)]

mod by_hand;
mod with_ask;

use std::time::{Duration, Instant};

use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult,
    ElicitationAction, ElicitationCapability, FormElicitationCapability, Implementation,
    ProtocolVersion,
};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt as _, RequestContext, RunningService};
use rmcp::transport::TokioChildProcess;
use rmcp::{ClientHandler, ErrorData, RoleClient, ServiceExt as _};
use serde_json::json;
use tokio::process::Command;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The contestants take turns of this length.
const TURN: Duration = Duration::from_millis(40);
const ROUNDS: usize = 60;
/// So many rounds at the beginning do not count.
const WARM_UP: usize = 10;

/// What the person is asked, in all tools.
const MESSAGE: &str = "Who are you?";
/// What the tool says when the person has answered.
const SAID: &str = "form:accept:Ada";

#[derive(Clone, Copy)]
enum Contestant {
    Ask,
    ByHand,
}

impl Contestant {
    fn role(self) -> &'static str {
        match self {
            Self::Ask => "--role=ask",
            Self::ByHand => "--role=by-hand",
        }
    }
}

#[derive(Clone, Copy)]
enum Way {
    InProcess,
    Stdio,
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let is = |role: Contestant| std::env::args().any(|argument| argument == role.role());
    runtime.block_on(async {
        let stdio = rmcp::transport::stdio;
        if is(Contestant::Ask) {
            let server = with_ask::server().await.serve(stdio()).await.unwrap();
            server.waiting().await.unwrap();
        } else if is(Contestant::ByHand) {
            let server = by_hand::server().serve(stdio()).await.unwrap();
            server.waiting().await.unwrap();
        } else {
            measure().await;
        }
    });
}

async fn measure() {
    println!("a tool call that asks one form, one at a time, client and server on one core");
    let eras = [ProtocolVersion::V_2025_11_25, ProtocolVersion::V_2026_07_28];
    for (way, name) in [(Way::InProcess, "in process"), (Way::Stdio, "stdio")] {
        for era in &eras {
            let ask = connect(Contestant::Ask, way, era).await;
            let by_hand = connect(Contestant::ByHand, way, era).await;
            let (mut asks, mut by_hands, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
            for round in 0..ROUNDS {
                let (one, other) = (turn(&ask).await, turn(&by_hand).await);
                if round >= WARM_UP {
                    asks.push(one);
                    by_hands.push(other);
                    ratios.push(one / other);
                }
            }
            let (asks, by_hands) = (median(asks), median(by_hands));
            let ratio = median(ratios);
            println!(
                "  {name:<10} {era}   Ask {asks:>7.0} calls/s   by hand {by_hands:>7.0} calls/s   \
                 {ratio:.2} of it, aim 0.85"
            );
            ask.cancel().await.unwrap();
            by_hand.cancel().await.unwrap();
        }
    }
}

/// Calls a second.
async fn turn(client: &RunningService<RoleClient, Person>) -> f64 {
    let (begun, mut calls) = (Instant::now(), 0_u32);
    loop {
        let params = CallToolRequestParams::new("ask_form");
        let result = client.call_tool(params).await.unwrap();
        let text = result.content[0].as_text().unwrap();
        assert_eq!(text.text, SAID);
        calls += 1;
        let took = begun.elapsed();
        if took >= TURN {
            return f64::from(calls) / took.as_secs_f64();
        }
    }
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

async fn connect(
    contestant: Contestant,
    way: Way,
    era: &ProtocolVersion,
) -> RunningService<RoleClient, Person> {
    let lifecycle = if *era == ProtocolVersion::V_2026_07_28 {
        ClientLifecycleMode::Discover {
            preferred_versions: vec![era.clone()],
        }
    } else {
        ClientLifecycleMode::Initialize
    };
    match way {
        Way::InProcess => {
            let (ours, theirs) = tokio::io::duplex(64 << 10);
            tokio::spawn(async move {
                match contestant {
                    Contestant::Ask => {
                        let server = with_ask::server().await.serve(ours).await.unwrap();
                        drop(server.waiting().await);
                    }
                    Contestant::ByHand => {
                        let server = by_hand::server().serve(ours).await.unwrap();
                        drop(server.waiting().await);
                    }
                }
            });
            Person.serve_with_lifecycle(theirs, lifecycle).await
        }
        Way::Stdio => {
            // It stays on the core that this process was put on.
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.arg(contestant.role());
            let child = TokioChildProcess::new(command).unwrap();
            Person.serve_with_lifecycle(child, lifecycle).await
        }
    }
    .unwrap()
}

/// Answers at once.
struct Person;

impl ClientHandler for Person {
    fn get_info(&self) -> ClientConfig {
        let form = FormElicitationCapability::default();
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(ElicitationCapability::new().with_form(form));
        let mut config = ClientConfig::new(capabilities, Implementation::new("bench", "1.0.0"));
        config.protocol_version = ProtocolVersion::V_2025_11_25;
        config
    }

    async fn create_elicitation(
        &self,
        _request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let answer = json!({"name": "Ada", "age": 36, "mail": "ada@example.com", "color": "r"});
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(answer))
    }
}

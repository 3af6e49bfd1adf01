//! Contestants take turns; figures are medians of their turns.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::Way;
use crate::lines::LineClient;
use crate::message::{Calls, Era};
use crate::relays::{Rivals, Server, echo_words, entreat, pump, wrap};
use crate::web::WebClient;

const ROUNDS: usize = 40;
/// So many rounds at the beginning do not count.
const WARM_UP: usize = 5;
/// How long a turn with one call in flight is, and one with many.
const TURN: Duration = Duration::from_millis(40);

/// A relay, or none.
struct Contestant {
    name: &'static str,
    way: Box<dyn Way>,
    ones: Vec<f64>,
    rates: Vec<f64>,
}

impl Contestant {
    fn new(name: &'static str, way: impl Way + 'static) -> Self {
        Self {
            name,
            way: Box::new(way),
            ones: Vec::new(),
            rates: Vec::new(),
        }
    }

    fn over_stdio(name: &'static str, command: &mut Command, calls: Calls) -> Self {
        Self::new(name, LineClient::start(command, calls))
    }

    fn over_http(name: &'static str, port: u16, path: &str, calls: Calls) -> Self {
        Self::new(name, WebClient::start(port, path, "", calls))
    }

    fn turn(&mut self, counts: bool) {
        let (began, mut times) = (Instant::now(), Vec::new());
        while began.elapsed() < TURN {
            times.push(self.way.one().as_secs_f64() * 1e6);
        }
        let rate = self.way.flight(TURN);
        if counts {
            self.ones.push(median(times));
            self.rates.push(rate);
        }
    }
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// Runs all rounds; what each takes for a call in µs, and calls a second.
fn compete(contestants: &mut [Contestant]) -> Vec<(f64, f64)> {
    for round in 0..ROUNDS {
        for contestant in &mut *contestants {
            contestant.turn(round >= WARM_UP);
        }
    }
    let figures = contestants.iter();
    figures
        .map(|it| (median(it.ones.clone()), median(it.rates.clone())))
        .collect()
}

fn table(title: &str, mut contestants: Vec<Contestant>) {
    let figures = compete(&mut contestants);
    println!("{title}");
    println!(
        "  {:<18} {:>10} {:>10} {:>8} {:>12} {:>8}",
        "", "1, p50", "added", "of pump", "32, calls/s", "of pump"
    );
    let (direct, pump) = (figures[0].0, figures[1]);
    for (contestant, (one, rate)) in contestants.iter().zip(figures) {
        let added = one - direct;
        let (of_pump, rate_of_pump) = (added / (pump.0 - direct), rate / pump.1);
        println!(
            "  {:<18} {one:>7.1} µs {added:>7.1} µs {of_pump:>8.2} {rate:>12.0} {rate_of_pump:>8.2}",
            contestant.name
        );
    }
}

fn direct(words: &[String]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

fn calls() -> Calls {
    Calls::of(Era::Legacy, "echo")
}

pub(crate) fn over_stdio(rivals: &Rivals) {
    let start = Contestant::over_stdio;
    let mut all = vec![
        start("direct", &mut direct(&echo_words(Era::Legacy)), calls()),
        start("byte pump", &mut pump("bytes"), calls()),
        start("JSON trees", &mut pump("trees"), calls()),
        start("entreat wrap", &mut wrap(Era::Legacy), calls()),
    ];
    if let Some((python, script)) = &rivals.fastmcp {
        let mut command = Command::new(python);
        command
            .arg(script)
            .arg("stdio")
            .args(echo_words(Era::Legacy));
        all.push(start("FastMCP's proxy", &mut command, calls()));
    }
    table("stdio, both sides 2025-11-25, a call of 262 bytes", all);
}

pub(crate) fn over_http(rivals: &Rivals) {
    let start = Contestant::over_http;
    let echo = Server::echo(Era::Legacy);
    let (bytes, trees) = (Server::pump("bytes", &echo), Server::pump("trees", &echo));
    let gateway = Server::gateway(&echo, "");
    let mut all = vec![
        start("direct", echo.port, "/mcp", calls()),
        start("pump", bytes.port, "/mcp", calls()),
        start("JSON trees", trees.port, "/mcp", calls()),
        start("entreat gateway", gateway.port, "/mcp", calls()),
    ];
    let mcp_proxy = rivals.mcp_proxy.as_ref();
    let mcp_proxy = mcp_proxy.map(|program| Server::mcp_proxy(program, &echo));
    if let Some(proxy) = &mcp_proxy {
        let calls = Calls::of(Era::Legacy, "echo/echo");
        all.push(start("crate mcp-proxy", proxy.port, "/", calls));
    }
    let proxy = rivals.fastmcp.as_ref();
    let proxy = proxy.map(|fastmcp| Server::fastmcp(fastmcp, &echo));
    if let Some(proxy) = &proxy {
        all.push(start("FastMCP's proxy", proxy.port, "/mcp", calls()));
    }
    table(
        "HTTP/1.1 with JSON, both sides 2025-11-25, a call of 262 bytes",
        all,
    );
}

/// Calls without a question through `wrap`, in all pairs of versions.
pub(crate) fn across_eras() {
    let start = Contestant::over_stdio;
    let pair = |name, client, server| start(name, &mut wrap(server), Calls::of(client, "echo"));
    let mut all = vec![
        start("byte pump", &mut pump("bytes"), calls()),
        start("JSON trees", &mut pump("trees"), calls()),
        pair("2025 on 2025", Era::Legacy, Era::Legacy),
        pair("2026 on 2026", Era::Modern, Era::Modern),
        pair("2025 on 2026", Era::Legacy, Era::Modern),
        pair("2026 on 2025", Era::Modern, Era::Legacy),
    ];
    let figures = compete(&mut all);
    println!("`entreat wrap` over stdio, a call without a question");
    for (contestant, (one, rate)) in all.iter().zip(figures) {
        println!(
            "  {:<18} {one:>7.1} µs {rate:>12.0} calls/s",
            contestant.name
        );
    }
}

/// In front of a server that others would write too: one on rmcp, which refuses the arguments.
pub(crate) fn real_server() {
    let mcp = ["mcp", "--store", "memory"];
    let mut behind = entreat(&["wrap", "--store", "memory", "--"]);
    behind.arg(env!("CARGO_BIN_EXE_entreat")).args(mcp);
    let calls = || Calls::of(Era::Legacy, "ask_user");
    let mut all = vec![
        Contestant::over_stdio("direct", &mut entreat(&mcp), calls()),
        Contestant::over_stdio("entreat wrap", &mut behind, calls()),
    ];
    let figures = compete(&mut all);
    let ratio = figures[1].1 / figures[0].1;
    println!("in front of `entreat mcp`, whose handler is one of rmcp");
    println!(
        "  32 in flight: {:.0} calls/s direct, {:.0} through wrap, {ratio:.2} of it, aim 0.85",
        figures[0].1, figures[1].1
    );
}

//! What sessions and parked calls take, how long a start takes, and what a round costs.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::lines::LineClient;
use crate::message::{Calls, Era, request, retry};
use crate::relays::{Server, echo_words, role, wrap};
use crate::resident;
use crate::web::{WebClient, message_in};

/// How many people there are, each with sessions of their own.
const PEOPLE: usize = 20;
const SESSIONS: usize = 25;
/// Between two sessions, so that few connections to the server are open at once: those that nobody
/// uses are closed after four seconds.
const PACE: Duration = Duration::from_millis(40);
const PARKED: usize = 10_000;
/// How many requests are under way while calls are parked.
const CONNECTIONS: usize = 250;

/// Until connections that nobody uses are closed.
const QUIET: Duration = Duration::from_secs(10);

/// How much later the first response comes than without `wrap`.
pub(crate) fn start() {
    let mut direct = Command::new(&echo_words(Era::Legacy)[0]);
    direct.args(&echo_words(Era::Legacy)[1..]);
    let mut wrapped = wrap(Era::Legacy);
    let (mut alone, mut behind) = (Vec::new(), Vec::new());
    for _ in 0..30 {
        for (command, times) in [(&mut direct, &mut alone), (&mut wrapped, &mut behind)] {
            let began = Instant::now();
            let client = LineClient::start(command, Calls::of(Era::Legacy, "echo"));
            times.push(began.elapsed());
            drop(client);
        }
    }
    alone.sort_unstable();
    behind.sort_unstable();
    let (alone, behind) = (alone[15], behind[15]);
    println!("from the start to the result of the first call, median of 30");
    println!(
        "  direct {alone:.1?}, through wrap {behind:.1?}: {:.1?} added",
        behind.saturating_sub(alone)
    );
}

/// What a question of an older server to a client of 2026-07-28 costs `wrap`, in time on the core.
pub(crate) fn round() {
    // A server may ask 20 times a minute.
    const PROCESSES: u32 = 4;
    const WARM: u32 = 6;
    const COUNTED: u32 = 13;
    let (mut with, mut without) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..PROCESSES {
        let mut client = LineClient::start(&mut wrap(Era::Legacy), Calls::of(Era::Modern, "echo"));
        let process = client.child.id();
        for _ in 0..WARM {
            ask(&mut client);
            plain(&mut client);
        }
        let before = on_core(process);
        (0..COUNTED).for_each(|_| ask(&mut client));
        let between = on_core(process);
        (0..COUNTED).for_each(|_| plain(&mut client));
        with += between.saturating_sub(before);
        without += on_core(process).saturating_sub(between);
    }
    let each = |time: Duration| time.as_secs_f64() * 1e6 / f64::from(PROCESSES * COUNTED);
    let (with, without) = (each(with), each(without));
    println!("a call of a client of 2026-07-28 on a server of 2025, time of `wrap` on the core");
    println!(
        "  with a question {with:.0} µs, without {without:.0} µs, the round {:.0} µs, aim 120 µs",
        with - without
    );
}

fn ask(client: &mut LineClient) {
    let params = json!({"name": "ask", "arguments": {"text": ""}});
    let asked = request(Era::Modern, client.next_id(), "tools/call", params);
    let asked = client.request(&asked);
    let again = retry(client.next_id(), "", &asked);
    let answered = client.request(&again);
    assert_eq!(answered["result"]["resultType"], "complete", "{answered}");
}

/// A call without a question, at the same pace.
fn plain(client: &mut LineClient) {
    std::thread::sleep(Duration::from_millis(50));
    let params = json!({"name": "echo", "arguments": {"text": ""}});
    let call = request(Era::Modern, client.next_id(), "tools/call", params);
    client.request(&call);
}

/// How long a process was on a core.
fn on_core(process: u32) -> Duration {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let times = threads.map(|thread| {
        let path = thread.unwrap().path().join("schedstat");
        let text = std::fs::read_to_string(path).unwrap();
        let first = text.split(' ').next().unwrap();
        Duration::from_nanos(first.parse().unwrap())
    });
    times.sum()
}

fn keys() -> String {
    let people = (0..PEOPLE).map(|number| {
        format!(
            "[[asker]]\nname = 'person {number}'\nkey = '{}'\n",
            key(number)
        )
    });
    people.collect()
}

fn key(number: usize) -> String {
    format!("a-key-of-a-benchmark-{number:02}")
}

fn client_of(gateway: &Server, number: usize, era: Era, tool: &str) -> WebClient {
    let header = format!("authorization: Bearer {}\r\n", key(number));
    WebClient::unconnected(gateway.port, "/mcp", &header, Calls::of(era, tool))
}

/// Memory of the gateway for sessions of 2025 that nobody uses now.
pub(crate) fn sessions() {
    let echo = Server::echo(Era::Legacy);
    let gateway = Server::gateway(&echo, &keys());
    let begin = |count: usize, pace: Duration| {
        for number in 0..PEOPLE {
            for _ in 0..count {
                let mut client = client_of(&gateway, number, Era::Legacy, "echo");
                client.connect(1);
                client.greet();
                client.send_call(0);
                client.read(0);
                std::thread::sleep(pace);
            }
        }
        std::thread::sleep(QUIET);
    };
    // As many connections at once as will be open later.
    begin(5, Duration::ZERO);
    let before = resident(gateway.child.id());
    begin(SESSIONS, PACE);
    let after = resident(gateway.child.id());
    let count = PEOPLE * SESSIONS;
    println!("{count} idle sessions of 2025, each with one of its own at a server over HTTP");
    println!(
        "  memory of the gateway {} bytes each, aim 8 KB",
        (after.saturating_sub(before)) / count
    );
}

/// Parks many calls at once, and answers all.
pub(crate) fn parked() {
    // Of its own, since it keeps what it was asked.
    let other = Server::echo(Era::Legacy);
    let mut held = role(&["--role=hold", &other.port.to_string(), &PARKED.to_string()]);
    let held = held.output().unwrap();
    drop(other);
    let echo = Server::echo(Era::Legacy);
    let alone: usize = String::from_utf8(held.stdout)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    let gateway = Server::gateway(&echo, &keys());
    let process = gateway.child.id();
    let mut clients: Vec<_> = (0..PEOPLE)
        .map(|number| client_of(&gateway, number, Era::Modern, "ask"))
        .collect();
    let text = Calls::of(Era::Modern, "ask").text;
    // Sessions and what they keep are there already.
    for client in &mut clients {
        client.connect(CONNECTIONS / PEOPLE);
        client.send_call(0);
        let asked = message_in(&client.read(0));
        let again = retry(1, &text, &asked).to_string();
        client.write(0, &again);
        client.read(0);
    }
    let before = resident(process);
    let began = Instant::now();
    let mut asked: Vec<Vec<String>> = vec![Vec::new(); PEOPLE];
    while asked[0].len() < PARKED / PEOPLE {
        let left = PARKED / PEOPLE - asked[0].len();
        let count = left.min(CONNECTIONS / PEOPLE);
        for client in &mut clients {
            (0..count).for_each(|at| client.send_call(at));
        }
        for (client, asked) in clients.iter_mut().zip(&mut asked) {
            asked.extend((0..count).map(|at| client.read(at)));
        }
    }
    let parking = began.elapsed();
    std::thread::sleep(Duration::from_secs(2));
    let after = resident(process);
    let began = Instant::now();
    let mut done = 0;
    for (client, asked) in clients.iter_mut().zip(asked) {
        for asked in asked {
            let again = retry(2, &text, &message_in(&asked)).to_string();
            client.write(0, &again);
            let answered = message_in(&client.read(0));
            assert_eq!(answered["result"]["resultType"], "complete", "{answered}");
            done += 1;
        }
        client.disconnect();
    }
    assert_eq!(done, PARKED);
    let each = after.saturating_sub(before) / PARKED;
    println!(
        "{PARKED} calls of 2026-07-28 parked at once, each open at a server of 2025 over HTTP"
    );
    println!(
        "  parked within {parking:.1?}, all answered within {:.1?}",
        began.elapsed()
    );
    println!(
        "  memory of the gateway {each} bytes each, of which {alone} a bare connection takes: {} more, \
         aim 3 KB and the question",
        each.saturating_sub(alone)
    );
}

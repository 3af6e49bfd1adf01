//! Asking and answering over HTTP, against a bare echo of the same bytes and the engine alone.
//!
//! The server is a process of its own on one core, the clients are on the other. A pair is two
//! calls, one that asks and one that answers, on a connection that is kept. Run it with
//! `cargo xtask bench service`.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock, prints its figures, and may fail loudly"
)]

mod loopback;

use std::time::{Duration, Instant};

use entreat::service::Askers;
use entreat::service::http::Http;
use entreat::service::rpc::Rpc;
use entreat::{Ask, EmbeddedOptions, EmbeddedStore, Engine};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use loopback::{MEASURED, Server, WARM_UP, listen, response, runtime, serve, settings};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let role = std::env::args().find(|argument| argument.starts_with("--role="));
    match role.as_deref() {
        Some("--role=echo") => serve(echo()),
        Some("--role=memory") => serve(service(None)),
        Some("--role=embedded") => {
            // Beside the build: the system's folder for such things may be in memory.
            let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
            serve(service(Some(folder.path().join("entreat.db"))));
        }
        _ => measure(),
    }
}

fn measure() {
    println!("ask + answer over HTTP on kept connections, server and clients on a core each");
    let alone = engine_alone();
    println!("  the engine alone, 1 core      {alone:>10.0} pairs/s");
    let echo = over_http("echo", 64).rate;
    println!("  bare echo of the same bytes   {echo:>10.0} pairs/s   64 connections");
    let memory = over_http("memory", 64);
    println!(
        "  entreat in memory             {:>10.0} pairs/s   64 connections, {:.2} of the echo, aim 0.5",
        memory.rate,
        memory.rate / echo
    );
    println!(
        "    a pair, p50 and p99         {:>10.1?} {:.1?}",
        memory.p50, memory.p99
    );
    let durable = over_http("embedded", 256);
    println!(
        "  entreat on disk               {:>10.0} pairs/s   256 connections",
        durable.rate
    );
    println!(
        "    a pair, p50 and p99         {:>10.1?} {:.1?}",
        durable.p50, durable.p99
    );
    hold();
}

/// So many calls wait for an outcome, and as many streams of notifications are open.
const HELD: usize = 10_000;
/// They wait for so many questions.
const QUESTIONS: usize = 10;

/// Holds very many connections at once, and sees that every one is answered.
fn hold() {
    let Held {
        alone,
        in_batch,
        streams: wanted,
    } = allow_files();
    let server = Server::start("memory");
    let port = server.port;
    runtime().block_on(async move {
        let mut control = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let mut ids = Vec::new();
        for _ in 0..QUESTIONS {
            let ask = json!({"jsonrpc": "2.0", "id": 1, "method": "elicitation/create",
                "params": {"formDefinition": form()}});
            let body = call(&mut control, &ask.to_string()).await;
            ids.push(find_id(&body).unwrap().to_owned());
        }
        let before = resident(&server);
        let wait = |number: usize| {
            let id = &ids[number % QUESTIONS];
            json!({"jsonrpc": "2.0", "id": number, "method": "elicitation/await",
                "params": {"elicitationId": id}})
        };
        let mut waiting = Vec::with_capacity(alone);
        for number in 0..alone {
            let wait = wait(number);
            let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            let request = request(&wait.to_string());
            stream.write_all(request.as_bytes()).await.unwrap();
            waiting.push(stream);
        }
        settle(&mut control).await;
        let with_waits = resident(&server);
        let batch: Vec<_> = (0..in_batch).map(wait).collect();
        let mut batched = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        if in_batch > 0 {
            let batch = request(&serde_json::to_string(&batch).unwrap());
            batched.write_all(batch.as_bytes()).await.unwrap();
            settle(&mut control).await;
        }
        let before_streams = resident(&server);
        let mut streams = Vec::with_capacity(wanted);
        for _ in 0..wanted {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            let request = "GET /events HTTP/1.1\r\nhost: localhost\r\n\r\n";
            stream.write_all(request.as_bytes()).await.unwrap();
            streams.push(stream);
        }
        settle(&mut control).await;
        let with_streams = resident(&server);
        let began = Instant::now();
        for id in &ids {
            let submit = json!({"jsonrpc": "2.0", "id": 1, "method": "elicitation/submit",
                "params": {"elicitationId": id, "responses": {"name": "Ada"}}});
            assert!(
                call(&mut control, &submit.to_string())
                    .await
                    .contains("completed")
            );
        }
        for mut stream in waiting {
            let mut buffer = Vec::with_capacity(2048);
            let body = response(&mut stream, &mut buffer).await;
            assert!(body.contains("\"status\":\"completed\""), "{body}");
        }
        if in_batch > 0 {
            let mut buffer = Vec::with_capacity(1 << 20);
            let body = response(&mut batched, &mut buffer).await;
            let answered = count(body.as_bytes(), b"\"status\":\"completed\"");
            assert_eq!(answered, in_batch);
        }
        for mut stream in streams {
            let mut text = Vec::with_capacity(8192);
            while count(&text, b"data: ") < QUESTIONS {
                assert!(stream.read_buf(&mut text).await.unwrap() > 0, "hung up");
            }
        }
        println!(
            "{} waiting calls ({in_batch} of them in one batch) and {wanted} streams at once",
            alone + in_batch
        );
        println!(
            "  memory of the server, each    {:>10} bytes a call, {} bytes a stream",
            (with_waits - before) / alone,
            (with_streams - before_streams) / wanted
        );
        println!(
            "  all answered within           {:>10.1?}   {QUESTIONS} outcomes to each stream",
            began.elapsed()
        );
    });
}

/// Until the server has taken in what was sent before.
async fn settle(control: &mut TcpStream) {
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "forms/list"});
        call(control, &ping.to_string()).await;
    }
}

async fn call(stream: &mut TcpStream, message: &str) -> String {
    stream.write_all(request(message).as_bytes()).await.unwrap();
    let mut buffer = Vec::with_capacity(4096);
    response(stream, &mut buffer).await.to_owned()
}

fn count(text: &[u8], word: &[u8]) -> usize {
    text.windows(word.len())
        .filter(|found| *found == word)
        .count()
}

/// What is held at once.
struct Held {
    /// Calls with a connection each.
    alone: usize,
    /// Calls that share one, where the system allows too few files.
    in_batch: usize,
    streams: usize,
}

/// Lets this process and its children hold as many connections as the system allows.
fn allow_files() -> Held {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
    let files = usize::try_from(limit.current.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    // Some are the program's own.
    let files = files.saturating_sub(100);
    let streams = HELD.min(files * 2 / 3);
    let alone = HELD.min(files - streams);
    Held {
        alone,
        // A batch has at most a thousand.
        in_batch: (HELD - alone).min(1000),
        streams,
    }
}

async fn echo() {
    let handler = |body: axum::body::Bytes| async { body };
    let router = axum::Router::new().route("/rpc", axum::routing::post(handler));
    axum::serve(listen(), router).await.unwrap();
}

async fn service(store: Option<std::path::PathBuf>) {
    let builder = Engine::builder().settings(settings());
    let builder = match store {
        Some(path) => builder.store(EmbeddedStore::open(path, EmbeddedOptions::default()).unwrap()),
        None => builder,
    };
    let engine = builder.start().await.unwrap();
    let askers = Askers::none().with_local(engine.asker("local"));
    Http::new(Rpc::new(engine), askers)
        .serve(listen(), std::future::pending())
        .await;
}

fn form() -> serde_json::Value {
    json!({"id": "minimal", "title": "Who are you?", "fields": [
        {"id": "name", "type": "text", "label": "Name", "required": true}]})
}

fn engine_alone() -> f64 {
    runtime().block_on(async {
        let engine = Engine::builder()
            .settings(settings())
            .start()
            .await
            .unwrap();
        let asker = engine.asker("local");
        let form = entreat::core::Form::from_value(&form()).unwrap();
        let (answer, began, mut pairs) = (json!({"name": "Ada"}), Instant::now(), 0_u32);
        while began.elapsed() < MEASURED {
            for _ in 0..256 {
                let question = asker.ask(Ask::form(form.clone())).await.unwrap();
                question.submit(&answer).await.unwrap();
                pairs += 1;
            }
            tokio::task::yield_now().await;
        }
        f64::from(pairs) / began.elapsed().as_secs_f64()
    })
}

struct Figures {
    rate: f64,
    p50: Duration,
    p99: Duration,
}

fn over_http(role: &str, connections: usize) -> Figures {
    let server = Server::start(role);
    let port = server.port;
    let (mut times, took) = runtime().block_on(async move {
        let begin = Instant::now() + WARM_UP;
        let end = begin + MEASURED;
        let mut clients = tokio::task::JoinSet::new();
        for _ in 0..connections {
            clients.spawn(client(port, begin, end));
        }
        let times: Vec<_> = clients.join_all().await.into_iter().flatten().collect();
        (times, begin.elapsed())
    });
    times.sort_unstable();
    let rate = f64::from(u32::try_from(times.len()).unwrap()) / took.as_secs_f64();
    let at = |percent: usize| times[times.len() * percent / 100];
    Figures {
        rate,
        p50: at(50),
        p99: at(99),
    }
}

/// Asks and answers until the end; how long each pair took that began in time.
async fn client(port: u16, warm: Instant, end: Instant) -> Vec<Duration> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let ask = json!({"jsonrpc": "2.0", "id": 1, "method": "elicitation/create",
        "params": {"formDefinition": form()}});
    let ask = request(&ask.to_string());
    let (mut buffer, mut times) = (Vec::with_capacity(4096), Vec::new());
    loop {
        let began = Instant::now();
        if began > end {
            return times;
        }
        stream.write_all(ask.as_bytes()).await.unwrap();
        let body = response(&mut stream, &mut buffer).await;
        // The echo knows no ids; a request of the same length does for it.
        let id = find_id(body).unwrap_or("elic_00000000000000000000000000");
        let submit = format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"elicitation/submit","params":{{"elicitationId":"{id}","responses":{{"name":"Ada"}}}}}}"#
        );
        stream.write_all(request(&submit).as_bytes()).await.unwrap();
        let body = response(&mut stream, &mut buffer).await;
        assert!(!body.contains("\"error\""), "{body}");
        if began >= warm {
            times.push(began.elapsed());
        }
    }
}

fn request(body: &str) -> String {
    let length = body.len();
    format!(
        "POST /rpc HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
}

fn find_id(body: &str) -> Option<&str> {
    let from = body.find("\"elicitationId\":\"")? + "\"elicitationId\":\"".len();
    body[from..].split('"').next()
}

/// Resident memory of a server, in bytes.
fn resident(server: &Server) -> usize {
    let statm = std::fs::read_to_string(format!("/proc/{}/statm", server.child.id())).unwrap();
    let pages: usize = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

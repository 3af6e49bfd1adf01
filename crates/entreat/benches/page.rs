//! Page views and submits, against a bare handler that returns the same bytes and the engine alone.
//!
//! A view checks the token in the address, asks the core how the form stands, and renders it: ten
//! fields of all types. What nobody has touched is drawn once and kept; what is drawn anew each time
//! is measured too, with all answers checked and what is missing said. A submit is one form posted by a browser that has the page open. Run it with
//! `cargo xtask bench page`.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock, prints its figures, and may fail loudly"
)]

mod loopback;

use std::time::{Duration, Instant};

use entreat::core::Form;
use entreat::service::Askers;
use entreat::service::http::Http;
use entreat::service::page::{PageSettings, Pages};
use entreat::service::rpc::Rpc;
use entreat::{Ask, Engine};
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use loopback::{MEASURED, Server, WARM_UP, listen, response, runtime, serve, settings};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const CONNECTIONS: usize = 64;
/// So many submits are prepared on each connection.
const SUBMITS: usize = 200;
/// The cookie of a browser that has been here before.
const COOKIE: &str = "entreat=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

fn main() {
    let argument =
        |name: &str| std::env::args().find_map(|a| a.strip_prefix(name).map(str::to_owned));
    match argument("--role=").as_deref() {
        Some("pages") => serve(pages()),
        Some("bare") => serve(bare(std::fs::read(argument("--body=").unwrap()).unwrap())),
        _ => measure(),
    }
}

fn measure() {
    println!("pages over HTTP on kept connections, server and clients on a core each");
    let server = Server::start("pages");
    let path = ask(&server, &form_of_ten());
    let page = runtime().block_on(view_once(server.port, &path));
    let folder = tempfile::tempdir().unwrap();
    let body = folder.path().join("page.html");
    std::fs::write(&body, &page).unwrap();
    let bare = Server::with("bare", &[&format!("--body={}", body.display())]);
    let bare = views(bare.port, "/e/page");
    println!(
        "  a bare handler, {:>5} bytes    {bare:>10.0} views/s",
        page.len()
    );
    let rendered = views(server.port, &path);
    let ratio = rendered / bare;
    println!(
        "  entreat, ten fields           {rendered:>10.0} views/s   {ratio:.2} of the bare handler, aim 0.5"
    );
    let anew = views(server.port, &format!("{path}?check"));
    let ratio = anew / bare;
    println!(
        "  the same, drawn anew          {anew:>10.0} views/s   {ratio:.2} of the bare handler"
    );
    let alone = engine_alone();
    println!("  the engine alone              {alone:>10.0} submits/s");
    let submits = submits(&server);
    let ratio = submits / alone;
    println!(
        "  entreat, one field            {submits:>10.0} submits/s   {ratio:.3} of the engine alone"
    );
}

fn form_of_ten() -> serde_json::Value {
    json!({"id": "ten", "title": "A page of ten fields", "description": "All types.", "fields": [
        {"id": "name", "type": "text", "label": "Name", "required": true, "validation": {"maxLength": 80}},
        {"id": "about", "type": "text", "label": "About", "rendering": {"rows": 4, "helpText": "A few lines."}},
        {"id": "mail", "type": "text", "label": "E-mail", "validation": {"format": "email"}},
        {"id": "age", "type": "number", "label": "Age", "validation": {"minimum": 0, "maximum": 150}},
        {"id": "news", "type": "boolean", "label": "News"},
        {"id": "color", "type": "select", "label": "Colour", "options": ["red", "green", "blue"]},
        {"id": "days", "type": "multi_select", "label": "Days", "options": ["mon", "tue", "wed", "thu"]},
        {"id": "site", "type": "url", "label": "Site"},
        {"id": "born", "type": "date", "label": "Born"},
        {"id": "photo", "type": "file", "label": "Photo"},
    ]})
}

fn form_of_one() -> serde_json::Value {
    json!({"id": "one", "title": "Who are you?", "fields": [
        {"id": "name", "type": "text", "label": "Name", "required": true}]})
}

async fn bare(page: Vec<u8>) {
    let page = axum::body::Bytes::from(page);
    let handler = move || std::future::ready(page.clone());
    let router = axum::Router::new().route("/e/page", axum::routing::get(handler));
    axum::serve(listen(), router).await.unwrap();
}

async fn pages() {
    let engine = Engine::builder()
        .settings(settings())
        .start()
        .await
        .unwrap();
    let listener = listen();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let pages = Pages::new(engine.clone(), &url, PageSettings::default()).unwrap();
    let askers = Askers::none().with_local(engine.asker("local"));
    let rpc = Rpc::new(engine).with_links(pages.clone());
    Http::new(rpc, askers)
        .with_pages(pages)
        .serve(listener, std::future::pending())
        .await;
}

/// Asks over the control API; the path of the page.
fn ask(server: &Server, form: &serde_json::Value) -> String {
    runtime().block_on(async {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port))
            .await
            .unwrap();
        ask_on(&mut stream, form).await
    })
}

async fn ask_on(stream: &mut TcpStream, form: &serde_json::Value) -> String {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "elicitation/create",
        "params": {"formDefinition": form}});
    let body = body.to_string();
    let request = format!(
        "POST /rpc HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut buffer = Vec::with_capacity(4096);
    let answer: serde_json::Value =
        serde_json::from_str(response(stream, &mut buffer).await).unwrap();
    let page = answer["result"]["page"].as_str().unwrap();
    page[page.find("/e/").unwrap()..].to_owned()
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\ncookie: {COOKIE}\r\n\r\n")
}

async fn view_once(port: u16, path: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.write_all(get(path).as_bytes()).await.unwrap();
    let mut buffer = Vec::with_capacity(64 << 10);
    response(&mut stream, &mut buffer).await.to_owned()
}

/// Views a second.
fn views(port: u16, path: &str) -> f64 {
    let request = get(path);
    runtime().block_on(async move {
        let begin = Instant::now() + WARM_UP;
        let end = begin + MEASURED;
        let mut clients = tokio::task::JoinSet::new();
        for _ in 0..CONNECTIONS {
            let request = request.clone();
            clients.spawn(async move {
                let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                stream.set_nodelay(true).unwrap();
                let (mut buffer, mut views) = (Vec::with_capacity(64 << 10), 0_u32);
                loop {
                    stream.write_all(request.as_bytes()).await.unwrap();
                    response(&mut stream, &mut buffer).await;
                    let now = Instant::now();
                    if now > end {
                        return views;
                    }
                    views += u32::from(now >= begin);
                }
            });
        }
        let views: u32 = clients.join_all().await.into_iter().sum();
        f64::from(views) / MEASURED.as_secs_f64()
    })
}

/// Submits a second: forms that browsers have open, all posted.
fn submits(server: &Server) -> f64 {
    let port = server.port;
    runtime().block_on(async move {
        let mut ready = tokio::task::JoinSet::new();
        for _ in 0..CONNECTIONS {
            ready.spawn(prepare(port));
        }
        let ready = ready.join_all().await;
        let began = Instant::now();
        let mut clients = tokio::task::JoinSet::new();
        for (mut stream, requests) in ready {
            clients.spawn(async move {
                let mut buffer = Vec::with_capacity(4096);
                for request in requests {
                    stream.write_all(request.as_bytes()).await.unwrap();
                    response(&mut stream, &mut buffer).await;
                    assert!(buffer.starts_with(b"HTTP/1.1 303"), "it was not sent");
                }
            });
        }
        clients.join_all().await;
        let submits = u32::try_from(CONNECTIONS * SUBMITS).unwrap();
        f64::from(submits) / began.elapsed().as_secs_f64()
    })
}

/// Asks, opens each page, and writes down what its form sends.
async fn prepare(port: u16) -> (TcpStream, Vec<String>) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let mut requests = Vec::with_capacity(SUBMITS);
    let mut buffer = Vec::with_capacity(64 << 10);
    let form = form_of_one();
    for _ in 0..SUBMITS {
        let path = ask_on(&mut stream, &form).await;
        stream.write_all(get(&path).as_bytes()).await.unwrap();
        let page = response(&mut stream, &mut buffer).await;
        let after = |mark: &str| {
            let from = page.find(mark).unwrap() + mark.len();
            page[from..].split('"').next().unwrap()
        };
        let (here, csrf) = (after("action=\""), after("name=\"_csrf\" value=\""));
        let body = format!("_csrf={csrf}&_f=0&f.name=Ada&_do=send");
        requests.push(format!(
            "POST {here} HTTP/1.1\r\nhost: localhost\r\ncookie: {COOKIE}\r\norigin: null\r\n\
             content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ));
    }
    (stream, requests)
}

/// The engine does what a submit on a page makes it do: keeps a draft, then checks and settles.
fn engine_alone() -> f64 {
    runtime().block_on(async {
        let engine = Engine::builder()
            .settings(settings())
            .start()
            .await
            .unwrap();
        let asker = engine.asker("local");
        let form = Form::from_value(&form_of_one()).unwrap();
        let answer = json!({"name": "Ada"});
        let (mut took, mut submits) = (Duration::ZERO, 0_u32);
        while took < MEASURED {
            let mut questions = Vec::with_capacity(256);
            for _ in 0..256 {
                questions.push(asker.ask(Ask::form(form.clone())).await.unwrap());
            }
            let began = Instant::now();
            for question in questions {
                question.draft(&answer).await.unwrap();
                question.submit(&answer).await.unwrap();
                submits += 1;
            }
            took += began.elapsed();
            tokio::task::yield_now().await;
        }
        f64::from(submits) / took.as_secs_f64()
    })
}

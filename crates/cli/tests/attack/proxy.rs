//! A local proxy that doesn't identify itself as one.

use serde_json::{Value, json};

use crate::program::{Program, entreat, folder};
use crate::service::{ALICE, Question, Service, message, serve, text_field};
use crate::tally::Tally;
use crate::wire::request;

const ASKER: &str = "[[asker]]\nname = 'alice'\nkey = 'alice-alice-alice-alice'\n";
const HEADER: &str = "[identity]\nkind = 'header'\nheader = 'x-user'\nproxies = '127.0.0.1'\n";

/// Settings that show that the service is not only for this machine.
fn foreign() -> [(&'static str, String); 4] {
    [
        (
            "a public address",
            format!("public_url = 'https://ask.example.com'\n{ASKER}"),
        ),
        (
            "a public address with a path",
            format!("public_url = 'http://ask.example.com/entreat'\n{ASKER}"),
        ),
        ("people named by a header", format!("{HEADER}{ASKER}")),
        (
            "both",
            format!("public_url = 'https://ask.example.com'\n{HEADER}{ASKER}"),
        ),
    ]
}

#[test]
fn where_others_are_meant_nobody_asks_without_a_key() {
    let mut tally = Tally::new();
    let body = message("elicitation/create", &json!({"prompt": "Asked?"}));
    for (what, config) in foreign() {
        let service = Service::configured(&config, &[]);
        // As nginx forwards a request by default: `Host` is the upstream's.
        for (path, post) in [
            ("POST /rpc", request("POST /rpc").json(&body)),
            ("GET /events", request("GET /events")),
            (
                "GET /ws",
                request("GET /ws")
                    .header("connection", "upgrade")
                    .header("upgrade", "websocket")
                    .header("sec-websocket-version", "13")
                    .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
            ),
        ] {
            let status = if path == "GET /events" {
                first_status(&service, &post.bytes(&service.address))
            } else {
                post.try_send(&service.address).map(|reply| reply.status)
            };
            tally.note(
                format_args!("{what}: {path}"),
                status == Some(401),
                format_args!("{status:?}"),
            );
        }
        if !config.contains("header") {
            // Behind a proxy nobody is local: no page opens without a user name.
            let form = json!({"id": "f", "title": "T", "fields": text_field()});
            let asked = service.call_as(
                ALICE,
                "elicitation/create",
                &json!({"formDefinition": form}),
            );
            let link = Question::read(&asked["result"]).link;
            // There is no link to open.
            let opened = (!link.is_empty()).then(|| service.get(&link).status);
            tally.note(
                format_args!("{what}: a page"),
                matches!(opened, None | Some(403)),
                format_args!("{opened:?}"),
            );
        }
        let listed = service.call_as(ALICE, "elicitation/list", &json!({}));
        tally.note(
            format_args!("{what}: with a key"),
            listed.get("result").is_some(),
            &listed,
        );
    }
    tally.finish();
}

fn first_status(service: &Service, bytes: &[u8]) -> Option<u16> {
    use std::io::Write as _;
    let mut stream = crate::wire::connect(&service.address);
    stream.write_all(bytes).ok()?;
    let head = crate::wire::read_head(&mut std::io::BufReader::new(stream))?;
    head.split(' ').nth(1)?.parse().ok()
}

#[test]
fn a_public_address_of_this_machine_changes_nothing() {
    let mut tally = Tally::new();
    for url in [
        "http://127.0.0.1:7171",
        "http://localhost:7171",
        "http://[::1]:7171",
    ] {
        let service = Service::configured(&format!("public_url = '{url}'\n"), &[]);
        let reply = service.rpc("forms/list", &json!({}));
        tally.note(url, reply.status == 200, reply.told());
    }
    tally.finish();
}

#[test]
fn the_doctor_says_that_a_proxy_would_let_the_world_in() {
    let mut tally = Tally::new();
    for (what, config) in foreign() {
        let folder = folder();
        let config = format!("store = 'memory'\nlocal_without_key = true\n{config}");
        std::fs::write(folder.path().join("entreat.toml"), config).expect("it can be written");
        let mut doctor = Program::spawn(entreat(
            folder.path(),
            &["doctor", "--json", "--listen", "127.0.0.1:0"],
        ));
        doctor.stdin = None;
        let told = doctor.rest();
        let document: Value = serde_json::from_str(&told).unwrap_or_default();
        let findings = document["findings"].as_array().cloned().unwrap_or_default();
        let warns = findings.iter().any(|finding| {
            let is_about =
                finding.to_string().contains("local_without_key") || finding["check"] == "askers";
            is_about && finding["level"] != "ok"
        });
        tally.note(what, warns, &told);
    }
    tally.finish();
}

#[test]
fn whoever_a_proxy_speaks_for_is_not_of_this_machine() {
    let service = Service::start(&[]);
    let question = service.ask(&text_field());
    let body = message("forms/list", &json!({}));
    let mut tally = Tally::new();
    for header in [
        "forwarded",
        "x-forwarded-for",
        "x-real-ip",
        "via",
        "x-forwarded-host",
        "x-forwarded-proto",
        "x-forwarded-server",
        "x-forwarded-port",
        "x-client-ip",
        "x-cluster-client-ip",
        "true-client-ip",
        "cf-connecting-ip",
        "fly-client-ip",
        "x-original-host",
        "x-envoy-external-address",
    ] {
        let asked = request("POST /rpc")
            .header(header, "203.0.113.7")
            .json(&body)
            .send(&service.address);
        tally.note(
            format_args!("asking, {header}"),
            asked.status == 401,
            asked.told(),
        );
        let looked = request(&format!("GET {}", question.link))
            .header(header, "203.0.113.7")
            .send(&service.address);
        tally.note(
            format_args!("answering, {header}"),
            looked.status == 403,
            looked.told(),
        );
    }
    tally.finish();
}

#[test]
fn only_a_trusted_proxy_names_people_and_names_one() {
    let config =
        format!("{HEADER}{ASKER}").replace("proxies = '127.0.0.1'", "proxies = '10.0.0.7'");
    let service = Service::configured(&config, &[]);
    let form = json!({"id": "f", "title": "canary-title", "fields": text_field()});
    let params = json!({"formDefinition": form, "respondent": "ada"});
    let asked = service.call_as(ALICE, "elicitation/create", &params);
    let link = Question::read(&asked["result"]).link;
    assert!(!link.is_empty(), "{asked}");
    let mut tally = Tally::new();
    let reply = request(&format!("GET {link}"))
        .header("x-user", "ada")
        .send(&service.address);
    tally.note("a name from anybody", reply.status == 403, reply.told());
    let service = Service::configured(&format!("{HEADER}{ASKER}"), &[]);
    let asked = service.call_as(ALICE, "elicitation/create", &params);
    let link = Question::read(&asked["result"]).link;
    for (what, names) in [
        ("no name", vec![]),
        ("an empty name", vec![""]),
        ("another's name", vec!["mallory"]),
        ("two names", vec!["mallory", "ada"]),
        ("two names, the right one first", vec!["ada", "mallory"]),
        ("two names in a line", vec!["ada, mallory"]),
        ("a name in capitals", vec!["ADA"]),
    ] {
        let mut get = request(&format!("GET {link}"));
        for name in names {
            get = get.header("x-user", name);
        }
        let reply = get.send(&service.address);
        let holds = matches!(reply.status, 403 | 404) && !reply.text().contains("canary-title");
        tally.note(what, holds, reply.told());
    }
    let reply = request(&format!("GET {link}"))
        .header("x-user", "ada")
        .send(&service.address);
    tally.note("the right name", reply.status == 200, reply.told());
    tally.finish();
}

#[test]
fn with_tls_nobody_asks_without_a_key_and_plain_words_are_not_heard() {
    let folder = folder();
    let key = rcgen::KeyPair::generate().expect("there is randomness");
    let params = rcgen::CertificateParams::new(["localhost".to_owned()]).expect("a name");
    let made = params.self_signed(&key).expect("it signs itself");
    std::fs::write(folder.path().join("cert.pem"), made.pem()).expect("it can be written");
    let private = folder.path().join("key.pem");
    std::fs::write(&private, key.serialize_pem()).expect("it can be written");
    let config = format!("[tls]\ncertificate = 'cert.pem'\nkey = 'key.pem'\n{ASKER}");
    std::fs::write(folder.path().join("entreat.toml"), config).expect("it can be written");
    let mut shown = Program::spawn(entreat(folder.path(), &["config", "--json"]));
    shown.stdin = None;
    let told = shown.rest();
    let mut tally = Tally::new();
    let document: Value = serde_json::from_str(&told).unwrap_or_default();
    let needs_key = setting(&document, "local_without_key").contains("false");
    tally.note("a key is needed", needs_key, &told);
    let command = serve(folder.path(), &["--store", "memory"]);
    let service = Service::spawn(command, folder);
    for bytes in [
        &b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"[..],
        b"\x16\x03\x00\x00\x05\x01\0\0\x01\0",
    ] {
        let reply = crate::wire::exchange(crate::wire::connect(&service.address), bytes, true);
        tally.note("plain words", reply.is_none(), format_args!("{reply:?}"));
    }
    tally.finish();
}

/// The entry of `entreat config --json` for a setting, whatever its shape.
fn setting(document: &Value, name: &str) -> String {
    let all = document["settings"]
        .as_array()
        .or_else(|| document.as_array());
    let found = all
        .into_iter()
        .flatten()
        .find(|entry| entry.to_string().contains(&format!("\"{name}\"")));
    found.map_or_else(|| document[name].to_string(), Value::to_string)
}

//! Responses of pages, and their headers.

use std::time::Duration;

use serde_json::json;

use crate::browser::Page;
use crate::program::now;
use crate::service::{Service, serve, text_field};
use crate::tally::Tally;
use crate::wire::{Reply, request};

#[test]
fn every_answer_of_a_page_forbids_frames_sniffing_caches_and_referrers() {
    let service = Service::start(&[]);
    let question = service.ask(&text_field());
    let page = Page::open(&service, &question.link);
    let mut tally = Tally::new();
    let paths = [
        question.link.clone(),
        page.here.clone(),
        format!("{}/review", page.here),
        format!("{}/state", page.here),
        format!("{}/draft", page.here),
        format!("{}/files/0/x", page.here),
        "/e/".to_owned(),
        "/e/x/y".to_owned(),
        "/e/x/y/z/%00".to_owned(),
        "/inbox/x".to_owned(),
    ];
    for path in paths {
        for method in ["GET", "POST", "DELETE"] {
            let reply = page
                .request(&format!("{method} {path}"))
                .send(&service.address);
            let policy = reply.header("content-security-policy");
            let holds = policy.contains("frame-ancestors 'none'")
                && policy.contains("default-src 'none'")
                && !policy.contains("unsafe")
                && reply.header("x-frame-options") == "DENY"
                && reply.header("x-content-type-options") == "nosniff"
                && reply.header("referrer-policy") == "no-referrer"
                && reply.header("cache-control") == "no-store"
                && reply.all("access-control-allow-origin").is_empty();
            let path: String = path.chars().take(60).collect();
            tally.note(format_args!("{method} {path}"), holds, &reply.head);
        }
    }
    tally.finish();
}

#[test]
fn a_settled_link_shows_no_more_than_the_title_of_its_question() {
    let service = Service::start(&[]);
    let form = json!({"id": "f", "title": "Title", "description": "canary-about", "fields": [
        {"id": "name", "type": "text", "label": "canary-label", "default": "canary-default"}]});
    let mut tally = Tally::new();
    for act in [
        "_do=decline",
        "_do=cancel",
        "_f=0&f.name=canary-answer&_do=send",
    ] {
        let question = service.ask_with(&form, &json!({"message": "canary-message"}));
        let page = Page::open(&service, &question.link);
        page.post(act);
        assert_ne!(service.status(&question)["status"], "pending");
        for rest in ["", "?check", "/review", "/state", "/files/0/x"] {
            let reply = page.get(rest);
            tally.note(
                format_args!("{act} {rest}"),
                !reply.text().contains("canary-"),
                reply.told(),
            );
        }
        let stranger = service.get(&question.link);
        tally.note(
            format_args!("{act}, another browser"),
            !stranger.text().contains("canary-"),
            stranger.told(),
        );
        let again = page.post("_f=0&f.name=late&_do=send");
        let kept = service.status(&question);
        tally.note(
            format_args!("{act}, then sent"),
            !kept.to_string().contains("late"),
            again.told(),
        );
    }
    tally.finish();
}

#[test]
fn paths_that_climb_lead_to_nothing_but_our_own() {
    let service = Service::start(&[]);
    let question = service.ask(&text_field());
    let page = Page::open(&service, &question.link);
    let mut tally = Tally::new();
    for path in [
        "/assets/../../../../etc/passwd".to_owned(),
        "/assets/..%2f..%2f..%2fetc%2fpasswd".to_owned(),
        "/assets/%2e%2e%2f%2e%2e%2fetc%2fpasswd".to_owned(),
        "/assets/..%5c..%5cwindows%5cwin.ini".to_owned(),
        "/assets/%00".to_owned(),
        "/assets/style.css%00.html".to_owned(),
        "//etc/passwd".to_owned(),
        "/etc/passwd".to_owned(),
        "/e/../healthz/../../etc/passwd".to_owned(),
        format!("{}/files/0/..%2f..%2f..%2f..%2fetc%2fpasswd", page.here),
        format!("{}/files/..%2f0/x", page.here),
        format!("{}/files/0/{}", page.here, "x".repeat(4000)),
        "/files/..%2f..%2fetc/passwd/x".to_owned(),
        "/files/elic_01hnmq7zq8e9vv8h2m6x3c5t0d/..%2f..%2fetc%2fpasswd/x".to_owned(),
        "/entreat.toml".to_owned(),
        "/.git/config".to_owned(),
        format!("/{}", "a/".repeat(8000)),
        format!("/{}", "%".repeat(8000)),
    ] {
        let reply = page
            .request(&format!("GET {path}"))
            .try_send(&service.address);
        let told = reply.as_ref().map(Reply::told).unwrap_or_default();
        let status = reply.map(|reply| reply.status);
        let holds = matches!(status, None | Some(400..=499)) && !told.contains("root:");
        let path: String = path.chars().take(60).collect();
        tally.note(path, holds, told);
    }
    service.serves_others("paths");
    tally.finish();
}

#[test]
fn languages_and_cookies_of_any_length_cost_little() {
    let service = Service::start(&[]);
    let question = service.ask(&text_field());
    let meter = service.program.meter();
    let mut tally = Tally::new();
    for (name, value) in [
        ("accept-language", "de;q=0.1,".repeat(5000)),
        ("accept-language", ";q=NaN,;q=inf,*;q=-1,x-".repeat(2000)),
        ("accept-language", "a-".repeat(20_000)),
        ("cookie", "entreat=A; ".repeat(4000)),
        ("cookie", "entreat".repeat(6000)),
        ("cookie", format!("entreat={}", "A".repeat(50_000))),
        ("user-agent", "\u{e9}".repeat(20_000)),
        ("traceparent", "00-".repeat(10_000)),
        ("tracestate", "a=b,".repeat(10_000)),
    ] {
        let begun = now();
        let reply = request(&format!("GET {}", question.link))
            .header(name, &value)
            .try_send(&service.address);
        let status = reply.map(|reply| reply.status);
        let holds = matches!(status, None | Some(200 | 400..=499));
        tally.note(
            format_args!("{name} of {} bytes", value.len()),
            holds,
            format_args!("{status:?} after {:?}", begun.elapsed()),
        );
    }
    service.serves_others("long headers");
    meter.at_most("long headers", Duration::from_secs(5), 32);
    tally.finish();
}

#[test]
fn the_inbox_of_this_machine_needs_its_link() {
    let folder = crate::program::folder();
    let mut command = serve(folder.path(), &["--store", "memory"]);
    command.env("ENTREAT_LOG", "info");
    let service = Service::spawn(command, folder);
    let form = json!({"id": "f", "title": "canary-title", "fields": text_field()});
    let question = service.ask_with(&form, &json!({}));
    let page = Page::open(&service, &question.link);
    let token = question
        .link
        .rsplit('/')
        .next()
        .unwrap_or_default()
        .to_owned();
    let mut tally = Tally::new();
    for path in [
        "/inbox",
        "/inbox/",
        "/inbox/list",
        "/inbox/x",
        "/inbox/x/list",
    ]
    .map(str::to_owned)
    .into_iter()
    .chain([format!("/inbox/{token}"), format!("/inbox/{token}/list")])
    {
        let reply = page.request(&format!("GET {path}")).send(&service.address);
        let is_shut = matches!(reply.status, 403 | 404) && !reply.text().contains("canary-title");
        tally.note(&path, is_shut, reply.told());
    }
    let link = service.call("inbox/link", &json!({}))["url"].clone();
    let (_, inbox) = link
        .as_str()
        .unwrap_or_default()
        .rsplit_once('/')
        .unwrap_or_default();
    assert!(!inbox.is_empty() && !page.reply.text().contains(inbox));
    assert!(!service.program.stderr().contains(inbox));
    tally.finish();
}

//! Forms posted by a page, and by an attacker with the link.

use std::time::Duration;

use serde_json::{Value, json};

use crate::browser::{FORM, Page, result};
use crate::service::{Question, Service, text_field};
use crate::tally::Tally;
use crate::times;
use crate::wire::encoded;

/// A multi-select field with this many options.
fn choices(options: usize) -> Value {
    let options: Vec<String> = (0..options).map(|option| format!("o{option}")).collect();
    json!([{"id": "m", "type": "multi_select", "label": "M", "options": options}])
}

#[test]
fn a_form_of_repeated_places_and_values_costs_linear_time() {
    let service = Service::start(&[]);
    let question = service.ask(&choices(100));
    let page = Page::open(&service, &question.link);
    let repeats = times(2_000, 20_000);
    let meter = service.program.meter();
    let mut tally = Tally::new();
    for (what, place, value) in [
        ("places and values that are no options", "_f=0&", "f.m=z&"),
        ("values that nearly are options", "", "f.m=o99%0D&"),
        ("values alone", "", "f.m=z&"),
        ("options that are there", "", "f.m=o99&"),
        ("places alone", "_f=0&", ""),
        (
            "places beyond all fields",
            "_f=18446744073709551615&",
            "f.m=z&",
        ),
    ] {
        let body = [place, value].concat().repeat(repeats);
        for to in ["", "/draft"] {
            let body = format!("_csrf={}&{body}_f=0", page.csrf);
            let reply = page
                .request(&format!("POST {}{to}", page.here))
                .body(FORM, body)
                .try_send(&service.address);
            let status = reply.as_ref().map(|reply| reply.status);
            let holds = status.is_some_and(|status| status < 500);
            tally.note(
                format_args!("{what}{to}"),
                holds,
                format_args!("{status:?}"),
            );
            service.serves_others(what);
        }
    }
    // Eight forms of about 28 kB. One of them took 25 seconds when every part was compared with
    // every value.
    meter.at_most("repeated places", Duration::from_secs(8), 64);
    tally.finish();
}

#[test]
fn forms_at_the_same_time_keep_nobody_else_waiting() {
    let service = Service::start(&[]);
    let question = service.ask(&choices(100));
    let page = Page::open(&service, &question.link);
    let fields = "_f=0&f.m=z&".repeat(times(2_000, 10_000));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let body = format!("_csrf={}&{fields}", page.csrf);
                page.try_post_raw(FORM, body.into_bytes())
            });
        }
        service.serves_others("four forms at once");
    });
    service.serves_others("after four forms");
    let mut tally = Tally::new();
    tally.note("four forms at once", true, "");
    tally.finish();
}

#[test]
fn a_hundred_thousand_pairs_cost_little() {
    let service = Service::start(&[]);
    let question = service.ask(&text_field());
    let page = Page::open(&service, &question.link);
    let meter = service.program.meter();
    let mut tally = Tally::new();
    for (what, pair) in [
        ("empty pairs", "&"),
        ("pairs without a name", "=&"),
        ("names of fields that are not there", "f.x=1&"),
        ("one field again and again", "f.name=x&"),
        ("tokens again and again", "_csrf=x&"),
        ("actions again and again", "_do=send&"),
        ("escapes that are none", "%&"),
        ("bytes that are no text", "%ff=%ff&"),
    ] {
        let body = format!("{}_csrf={}&_f=0", pair.repeat(100_000), page.csrf);
        let reply = page.try_post_raw(FORM, body.into_bytes());
        let status = reply.map(|reply| reply.status);
        let holds = status.is_some_and(|status| status < 500);
        tally.note(what, holds, format_args!("{status:?}"));
    }
    service.serves_others("many pairs");
    meter.at_most("many pairs", Duration::from_secs(20), 128);
    tally.finish();
}

#[test]
fn a_body_beyond_the_limit_is_refused_and_not_kept() {
    let service = Service::start(&[]);
    let question = service.ask(&text_field());
    let page = Page::open(&service, &question.link);
    let meter = service.program.meter();
    let body = format!("_csrf={}&_f=0&f.name={}", page.csrf, "x".repeat(32 << 20));
    let reply = page.try_post_raw(FORM, body.into_bytes());
    let status = reply.as_ref().map(|reply| reply.status);
    let mut tally = Tally::new();
    // The server may also disconnect before everything was sent.
    tally.note(
        "32 MiB of text",
        matches!(status, None | Some(413)),
        format_args!("{status:?}"),
    );
    service.serves_others("a large body");
    meter.at_most("a large body", Duration::from_secs(5), 48);
    assert_eq!(service.status(&question)["status"], "pending");
    tally.finish();
}

#[test]
fn actions_that_are_none_change_nothing() {
    let service = Service::start(&[]);
    let question = service.ask(&text_field());
    let page = Page::open(&service, &question.link);
    let mut tally = Tally::new();
    for action in [
        "",
        ".",
        "SEND",
        "send ",
        "send\0",
        "decline2",
        "remove",
        "remove.",
        "remove.-1",
        "remove.0.x",
        "remove.99",
        "remove.18446744073709551616",
        "forget.99",
        "forget.0.0",
        "test.99",
        "test.18446744073709551615",
        "test.x%0d%0aset-cookie:x",
        "extend.x",
        "__proto__",
        "../send",
    ] {
        let reply = page.post(&format!("_f=0&f.name=&_do={}", encoded(action)));
        let is_calm = reply.status < 500 && !reply.head.to_lowercase().contains("set-cookie:");
        let is_here = reply.status != 303 || reply.header("location").starts_with(&page.here);
        tally.note(
            format_args!("_do={action:?}"),
            is_calm && is_here,
            &reply.head,
        );
    }
    assert!(is_open(&service, &question));
    service.serves_others("strange actions");
    tally.finish();
}

#[test]
fn only_the_fields_that_a_person_may_answer_are_taken() {
    let service = Service::start(&[]);
    let fields = json!([
        {"id": "name", "type": "text", "label": "Name", "required": true},
        {"id": "price", "type": "number", "label": "Price", "default": 100,
         "rendering": {"readonly": true}},
        {"id": "doc", "type": "file", "label": "File"},
    ]);
    let question = service.ask(&fields);
    let page = Page::open(&service, &question.link);
    let file = json!({"filename": "passwd", "content_type": "text/plain", "size": 4,
        "content": {"type": "local", "location": "../../../../etc/passwd"}});
    let fields = format!(
        "_f=0&_f=1&_f=2&_f=3&_f=-1&f.name=Ada&f.price=1&f.doc={}&f.extra=x&f.__proto__=x&\
         price=1&f%5Bprice%5D=1&_do=send",
        encoded(&file.to_string())
    );
    let reply = page.post(&fields);
    assert_eq!(reply.status, 303, "{}", reply.told());
    let result = result(&service, &question.id);
    let mut tally = Tally::new();
    tally.note(
        "a price that may not be changed",
        result["price"] == 100,
        &result,
    );
    tally.note(
        "a file that was never sent",
        result.get("doc").is_none_or(Value::is_null),
        &result,
    );
    tally.note(
        "a field that is not there",
        result.get("extra").is_none(),
        &result,
    );
    tally.note("a prototype", result.get("__proto__").is_none(), &result);
    tally.finish();
}

#[test]
fn forms_of_strange_types_are_refused_or_read_as_nothing() {
    let service = Service::start(&[]);
    let question = service.ask(&text_field());
    let page = Page::open(&service, &question.link);
    let mut tally = Tally::new();
    let json = json!({"_csrf": page.csrf, "_do": "decline"}).to_string();
    for (kind, body) in [
        ("application/json", json.clone()),
        (
            "text/plain",
            format!("_csrf={}\r\n_do=decline\r\n", page.csrf),
        ),
        ("application/xml", "<_do>decline</_do>".to_owned()),
        ("multipart/mixed; boundary=edge", json.clone()),
        (
            "application/x-www-form-urlencoded; charset=utf-16",
            "_\0d\0o\0=\0".to_owned(),
        ),
        ("", json),
    ] {
        let reply = page.try_post_raw(kind, body.into_bytes());
        let status = reply.as_ref().map(|reply| reply.status);
        tally.note(
            kind,
            matches!(status, Some(400..=499)),
            format_args!("{status:?}"),
        );
    }
    assert_eq!(service.status(&question)["status"], "pending");
    tally.finish();
}

#[test]
fn two_sends_at_the_same_time_settle_once() {
    let service = Service::start(&[]);
    let rounds = times(4, 40);
    for _ in 0..rounds {
        let question = service.ask(&text_field());
        let page = Page::open(&service, &question.link);
        std::thread::scope(|scope| {
            for sender in 0..8 {
                let page = &page;
                scope.spawn(move || page.post(&format!("_f=0&f.name=sender+{sender}&_do=send")));
            }
        });
        assert_eq!(service.status(&question)["status"], "completed");
    }
    let metrics = service.get("/metrics").text();
    let completed: Vec<&str> = metrics
        .lines()
        .filter(|line| line.starts_with("elicitation_completed_total{"))
        .collect();
    let ending = format!(" {rounds}");
    let holds = matches!(&*completed, [only] if only.ends_with(&ending));
    let mut tally = Tally::new();
    tally.note("eight senders", holds, &metrics);
    tally.finish();
}

/// Whether a question is still open, with or without a draft.
fn is_open(service: &Service, question: &Question) -> bool {
    let status = service.status(question);
    status["status"] == "pending" || status["status"] == "active"
}

//! Pages, attacked without a link, with another link, or with the link of this question.

use serde_json::json;

use crate::browser::{FORM, Page};
use crate::service::{Service, text_field};
use crate::tally::Tally;
use crate::wire::request;

#[test]
fn a_link_that_is_nearly_right_opens_nothing_and_tells_nothing() {
    let service = Service::start(&[]);
    let question = service.ask_with(
        &json!({"id": "f", "title": "canary-title", "fields": text_field()}),
        &json!({}),
    );
    let other = service.ask(&text_field());
    let (id, token) = question.link["/e/".len()..]
        .split_once('/')
        .expect("a link has a token");
    let other_token = other.link.rsplit('/').next().expect("a link has a token");
    let page = Page::open(&service, &question.link);
    let pass = page.here.rsplit('/').next().expect("it has a pass");
    let flipped: String = token.chars().rev().collect();
    let unknown = "elic_01hnmq7zq8e9vv8h2m6x3c5t0d";
    let wrong = service.get(&format!("/e/{unknown}/{}", "A".repeat(43)));
    assert_eq!(wrong.status, 404, "{}", wrong.told());
    let mut tally = Tally::new();
    for (what, link) in [
        ("no token", format!("/e/{id}")),
        ("an empty token", format!("/e/{id}/")),
        (
            "half a token",
            format!("/e/{id}/{}", &token[..token.len() / 2]),
        ),
        ("a longer token", format!("/e/{id}/{token}A")),
        ("a token backwards", format!("/e/{id}/{flipped}")),
        (
            "a token in other letters",
            format!("/e/{id}/{}", swap_case(token)),
        ),
        ("a token with padding", format!("/e/{id}/{token}=")),
        (
            "the token of another question",
            format!("/e/{id}/{other_token}"),
        ),
        (
            "the id of another question",
            format!("/e/{}/{token}", other.id),
        ),
        ("the pass of another browser", format!("/e/{id}/{pass}")),
        ("the token for the inbox", format!("/inbox/{token}")),
        (
            "the token for a file",
            format!("/files/{id}/{token}/{token}"),
        ),
        (
            "the id in capitals",
            format!("/e/{}/{token}", id.to_uppercase()),
        ),
        ("an id that is none", format!("/e/x/{token}")),
        (
            "a path that climbs",
            format!("/e/{unknown}/../{id}/{token}x"),
        ),
    ] {
        let reply = service.get(&link);
        let told = reply.text();
        let holds = (400..500).contains(&reply.status) && !told.contains("canary-title");
        // If it could be a page, it is the same page as for an unknown link.
        let is_alike =
            reply.status != 404 || !link.starts_with("/e/elic") || reply.body == wrong.body;
        tally.note(what, holds && is_alike, reply.told());
    }
    tally.finish();
}

fn swap_case(text: &str) -> String {
    let swap = |c: char| {
        if c.is_lowercase() {
            c.to_ascii_uppercase()
        } else {
            c.to_ascii_lowercase()
        }
    };
    text.chars().map(swap).collect()
}

#[test]
fn guessing_links_is_slowed_and_keeps_nobody_else_out() {
    let service = Service::start(&[]);
    let question = service.ask(&text_field());
    let mut tally = Tally::new();
    for place in [
        "/e/elic_01hnmq7zq8e9vv8h2m6x3c5t0d/",
        "/inbox/",
        "/files/elic_01hnmq7zq8e9vv8h2m6x3c5t0d/x/",
    ] {
        let replies = (0..200).map(|guess| service.get(&format!("{place}{guess:043}")).status);
        let slowed = replies.filter(|status| *status == 429).count();
        tally.note(
            place,
            slowed > 50,
            format_args!("{slowed} of 200 were slowed"),
        );
    }
    // The right link still works, even from the same address.
    Page::open(&service, &question.link);
    tally.finish();
}

#[test]
fn a_form_needs_its_own_token_and_cookie() {
    let service = Service::start(&[]);
    let question = service.ask(&text_field());
    let other = service.ask(&text_field());
    let page = Page::open(&service, &question.link);
    let elsewhere = Page::open(&service, &question.link);
    let of_other = Page::open_with(&service, &other.link, Some(&page.cookie));
    let mut tally = Tally::new();
    let send = |cookie: Option<&str>, here: &str, fields: &str| {
        let mut post = request(&format!("POST {here}"));
        if let Some(cookie) = cookie {
            post = post.header("cookie", cookie);
        }
        post.body(FORM, fields.to_owned()).send(&service.address)
    };
    let own = &*page.csrf;
    let forged = format!("entreat={}", "A".repeat(43));
    for (what, cookie, here, token) in [
        ("no token", Some(&*page.cookie), &*page.here, String::new()),
        (
            "an empty token",
            Some(&page.cookie),
            &page.here,
            "_csrf=&".to_owned(),
        ),
        (
            "the token of another question",
            Some(&page.cookie),
            &page.here,
            format!("_csrf={}&", of_other.csrf),
        ),
        (
            "the token of another browser",
            Some(&page.cookie),
            &page.here,
            format!("_csrf={}&", elsewhere.csrf),
        ),
        (
            "the right token, then a wrong one",
            Some(&page.cookie),
            &page.here,
            format!("_csrf={own}&_csrf=x&"),
        ),
        (
            "the pass as token",
            Some(&page.cookie),
            &page.here,
            format!(
                "_csrf={}&",
                page.here.rsplit('/').next().unwrap_or_default()
            ),
        ),
        ("no cookie", None, &page.here, format!("_csrf={own}&")),
        (
            "no cookie, by the link",
            None,
            &question.link,
            format!("_csrf={own}&"),
        ),
        (
            "the cookie of another browser",
            Some(&elsewhere.cookie),
            &page.here,
            format!("_csrf={own}&"),
        ),
        (
            "the cookie of another browser, by the link",
            Some(&elsewhere.cookie),
            &question.link,
            format!("_csrf={own}&"),
        ),
        (
            "a forged cookie",
            Some(&forged),
            &question.link,
            format!("_csrf={own}&"),
        ),
        (
            "an empty cookie",
            Some("entreat="),
            &question.link,
            format!("_csrf={own}&"),
        ),
        (
            "a cookie of another name",
            Some("x=1; __Host-entreat=AAAA"),
            &question.link,
            format!("_csrf={own}&"),
        ),
    ] {
        let reply = send(cookie, here, &format!("{token}_do=decline"));
        tally.note(what, matches!(reply.status, 403 | 404), reply.told());
    }
    assert_eq!(service.status(&question)["status"], "pending");
    tally.finish();
}

#[test]
fn a_form_from_a_page_of_another_site_is_refused() {
    let service = Service::start(&[]);
    let question = service.ask(&text_field());
    let page = Page::open(&service, &question.link);
    let mut tally = Tally::new();
    for (name, value) in [
        ("origin", "https://evil.example"),
        ("origin", "http://127.0.0.1:1"),
        ("origin", "http://localhost"),
        ("origin", "file://"),
        ("origin", "NULL"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("sec-fetch-site", "none"),
        ("sec-fetch-site", ""),
    ] {
        let reply = page
            .request(&format!("POST {}", page.here))
            .header(name, value)
            .body(FORM, format!("_csrf={}&_do=decline", page.csrf))
            .send(&service.address);
        tally.note(
            format_args!("{name}: {value}"),
            reply.status == 403,
            reply.told(),
        );
    }
    assert_eq!(service.status(&question)["status"], "pending");
    tally.finish();
}

#[test]
fn looking_changes_nothing() {
    let service = Service::start(&[]);
    let question = service.ask(&json!([{"id": "doc", "type": "file", "label": "File"},
        {"id": "name", "type": "text", "label": "Name"}]));
    let page = Page::open(&service, &question.link);
    let before = service.status(&question);
    let mut tally = Tally::new();
    let query = format!("?_csrf={}&_do=decline&_f=1&f.name=x", page.csrf);
    for method in [
        "GET", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "QUERY", "get",
    ] {
        for rest in ["", "/review", "/state", "/draft", "/files/0", "/files/0/x"] {
            for root in [&page.here, &question.link] {
                let line = format!("{method} {root}{rest}{query}");
                let body = format!("_csrf={}&_do=decline", page.csrf);
                let reply = page
                    .request(&line)
                    .body(FORM, body)
                    .try_send(&service.address);
                let status = reply.as_ref().map(|reply| reply.status);
                let holds = status.is_none_or(|status| status < 500);
                if root == &page.here {
                    tally.note(
                        format_args!("{method} {rest}"),
                        holds,
                        format_args!("{status:?}"),
                    );
                }
            }
        }
    }
    for method in ["PUT", "DELETE", "PATCH", "CONNECT"] {
        let line = format!("{method} {}", page.here);
        let body = format!("_csrf={}&_do=decline", page.csrf);
        let reply = page
            .request(&line)
            .body(FORM, body)
            .try_send(&service.address);
        let status = reply.as_ref().map(|reply| reply.status);
        let holds = status.is_none_or(|status| (400..500).contains(&status));
        tally.note(method, holds, format_args!("{status:?}"));
    }
    assert_eq!(service.status(&question), before);
    tally.finish();
}

#[test]
fn headers_that_name_another_method_mean_nothing() {
    let service = Service::start(&[]);
    let question = service.ask(&text_field());
    let page = Page::open(&service, &question.link);
    let mut tally = Tally::new();
    for name in [
        "x-http-method-override",
        "x-http-method",
        "x-method-override",
    ] {
        let reply = page
            .request(&format!(
                "GET {}?_csrf={}&_do=decline",
                page.here, page.csrf
            ))
            .header(name, "POST")
            .body(FORM, format!("_csrf={}&_do=decline", page.csrf))
            .send(&service.address);
        tally.note(name, reply.status == 200, reply.told());
    }
    let reply = page.get(&format!("?_method=POST&_csrf={}&_do=decline", page.csrf));
    tally.note("_method", reply.status == 200, reply.told());
    assert_eq!(service.status(&question)["status"], "pending");
    tally.finish();
}

#[test]
fn a_name_that_is_pointed_here_opens_no_page() {
    let service = Service::start(&[]);
    let question = service.ask(&text_field());
    let mut tally = Tally::new();
    for host in [
        "evil.example",
        "127.0.0.1.nip.io",
        "localhost.evil.example",
        "localhost:99999",
        "0.0.0.0",
        "127.1",
        "2130706433",
        "[::]",
        "user@localhost",
        "",
        "localhost evil.example",
        "localhost, evil.example",
    ] {
        let reply = request(&format!("GET {}", question.link))
            .header("host", host)
            .try_send(&service.address);
        let status = reply.as_ref().map(|reply| reply.status);
        let holds = matches!(status, None | Some(400..=499));
        tally.note(
            format_args!("host: {host}"),
            holds,
            format_args!("{status:?}"),
        );
    }
    let twice = request(&format!("GET {}", question.link))
        .header("host", "localhost")
        .header("host", "evil.example")
        .try_send(&service.address);
    let status = twice.as_ref().map(|reply| reply.status);
    tally.note(
        "two hosts",
        matches!(status, None | Some(400..=499)),
        format_args!("{status:?}"),
    );
    let whole =
        request(&format!("GET http://evil.example{}", question.link)).try_send(&service.address);
    let status = whole.as_ref().map(|reply| reply.status);
    tally.note(
        "a whole address",
        matches!(status, None | Some(400..=499)),
        format_args!("{status:?}"),
    );
    tally.finish();
}

//! Multipart forms, as sent with files, and malformed ones.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use crate::browser::{Page, part, result};
use crate::service::{Service, text_field};
use crate::tally::Tally;
use crate::times;
use crate::wire::{connect, exchange};

#[test]
fn the_head_of_a_part_does_not_fill_memory() {
    let service = Service::start(&[]);
    let question = service.ask(&text_field());
    let page = Page::open(&service, &question.link);
    let size = times(48, 256) << 20;
    let mut tally = Tally::new();
    let heads: [(&str, &str, &str); 4] = [
        ("one line", "--edge\r\nx-filler: ", "a"),
        ("many lines", "--edge\r\n", "a: b\r\n"),
        (
            "a name",
            "--edge\r\ncontent-disposition: form-data; name=\"",
            "n",
        ),
        ("what comes before the first part", "", "preamble"),
    ];
    for (what, begin, filler) in heads {
        let meter = service.program.meter();
        let mut body = begin.as_bytes().to_vec();
        body.extend(filler.as_bytes().iter().cycle().take(size));
        let reply = page.try_post_raw("multipart/form-data; boundary=edge", body);
        let status = reply.as_ref().map(|reply| reply.status);
        let (peak, cpu) = (meter.peak_mib(), meter.cpu());
        // A connection's buffers, and the maximum of one part.
        let holds =
            peak <= 16 && cpu < Duration::from_secs(3) && status.is_none_or(|status| status < 500);
        tally.note(what, holds, format_args!("{status:?}, {peak} MiB, {cpu:?}"));
        service.serves_others(what);
    }
    tally.finish();
}

#[test]
fn thousands_of_parts_cost_linear_time() {
    let service = Service::start(&[]);
    let question = service.ask(&text_field());
    let page = Page::open(&service, &question.link);
    let meter = service.program.meter();
    let mut tally = Tally::new();
    let count = times(10_000, 100_000);
    for (what, disposition, content) in [
        ("fields", "name=\"f.name\"", "x"),
        ("places", "name=\"_f\"", "0"),
        ("parts without a name", "", "x"),
        ("files of no field", "name=\"f.none\"; filename=\"a\"", "x"),
        (
            "files of a field that takes none",
            "name=\"f.name\"; filename=\"a\"",
            "x",
        ),
    ] {
        let parts = vec![part(disposition, content.as_bytes()); count];
        let reply = page.multipart(&parts);
        let status = reply.map(|reply| reply.status);
        let holds = status.is_none_or(|status| status < 500);
        tally.note(what, holds, format_args!("{status:?}"));
        service.serves_others(what);
    }
    meter.at_most("thousands of parts", Duration::from_secs(30), 96);
    tally.finish();
}

#[test]
fn parts_that_are_put_together_wrong_are_refused_and_keep_nobody_waiting() {
    let service = Service::start(&[]);
    let question = service.ask(&text_field());
    let page = Page::open(&service, &question.link);
    let token = part("name=\"_csrf\"", page.csrf.as_bytes());
    let decline = part("name=\"_do\"", b"decline");
    let whole = [&token[..], &decline, b"--edge--\r\n"].concat();
    let long = "b".repeat(60_000);
    let mut tally = Tally::new();
    for (what, kind, body) in [
        ("no boundary", "multipart/form-data".to_owned(), whole.clone()),
        ("an empty boundary", "multipart/form-data; boundary=".to_owned(), whole.clone()),
        ("a boundary in open quotes", "multipart/form-data; boundary=\"edge".to_owned(), whole.clone()),
        ("another boundary", "multipart/form-data; boundary=other".to_owned(), whole.clone()),
        ("a boundary of 60,000 letters", format!("multipart/form-data; boundary={long}"), whole.clone()),
        ("no end", "multipart/form-data; boundary=edge".to_owned(), [&token[..], &decline[..20]].concat()),
        ("nothing", "multipart/form-data; boundary=edge".to_owned(), Vec::new()),
        ("only an end", "multipart/form-data; boundary=edge".to_owned(), b"--edge--\r\n".to_vec()),
        ("bare line feeds", "multipart/form-data; boundary=edge".to_owned(),
            String::from_utf8_lossy(&whole).replace("\r\n", "\n").into_bytes()),
        ("a head without a colon", "multipart/form-data; boundary=edge".to_owned(),
            b"--edge\r\ncontent-disposition form-data\r\n\r\nx\r\n--edge--\r\n".to_vec()),
        ("a head with NUL", "multipart/form-data; boundary=edge".to_owned(),
            b"--edge\r\ncontent-disposition: form-data; name=\"a\0b\"\r\n\r\nx\r\n--edge--\r\n".to_vec()),
        ("parts in a part", "multipart/form-data; boundary=edge".to_owned(),
            b"--edge\r\ncontent-type: multipart/mixed; boundary=in\r\n\r\n--in\r\n\r\n--in--\r\n--edge--\r\n".to_vec()),
    ] {
        let reply = page.try_post_raw(&kind, body);
        let status = reply.as_ref().map(|reply| reply.status);
        let holds = matches!(status, None | Some(400..=499));
        tally.note(what, holds, format_args!("{status:?}"));
    }
    assert_eq!(service.status(&question)["status"], "pending");
    service.serves_others("wrong parts");
    tally.finish();
}

#[test]
fn a_file_is_not_read_before_its_forms_token() {
    let service = Service::start(&[]);
    let fields = json!([{"id": "doc", "type": "file", "label": "File"}]);
    let question = service.ask(&fields);
    let page = Page::open(&service, &question.link);
    let mut tally = Tally::new();
    for (what, token) in [
        ("no token", None),
        ("a wrong token", Some("A".repeat(43))),
        ("an empty token", Some(String::new())),
        ("a token that comes too late", None),
    ] {
        let mut body = Vec::new();
        if let Some(token) = token {
            body.extend(part("name=\"_csrf\"", token.as_bytes()));
        }
        body.extend(part("name=\"f.doc\"; filename=\"a.txt\"", b"content"));
        if what.ends_with("late") {
            body.extend(part("name=\"_csrf\"", page.csrf.as_bytes()));
        }
        body.extend_from_slice(b"--edge--\r\n");
        let reply = page.try_post_raw("multipart/form-data; boundary=edge", body);
        let status = reply.as_ref().map(|reply| reply.status);
        tally.note(
            what,
            matches!(status, Some(403)),
            format_args!("{status:?}"),
        );
    }
    let typed = page.get("").text();
    tally.note("nothing was kept", !typed.contains("a.txt"), &typed);
    tally.finish();
}

#[test]
fn names_in_two_spellings_are_one_file_with_a_harmless_name() {
    let service = Service::start(&[]);
    let fields = json!([{"id": "doc", "type": "file", "label": "File"}]);
    let mut tally = Tally::new();
    for disposition in [
        "name=\"f.doc\"; filename=\"a.txt\"; filename*=UTF-8''..%2f..%2fetc%2fpasswd",
        "name=\"f.doc\"; filename=\"../../../tmp/entreat-attack\"",
        "name=\"f.doc\"; filename=\"/etc/passwd\"",
        "name=\"f.doc\"; filename=\"..\\..\\boot.ini\"",
        "name=\"f.doc\"; filename=\"a\"; filename=\"b\"",
        "name=\"f.doc\"; name=\"_do\"; filename=\"a\"",
        "name=\"f.doc\"; filename=\"a%00b\"",
    ] {
        let question = service.ask(&fields);
        let page = Page::open(&service, &question.link);
        let parts = [
            part("name=\"_f\"", b"0"),
            part(disposition, b"content"),
            part("name=\"_do\"", b"send"),
        ];
        let reply = page.multipart(&parts);
        let status = reply.as_ref().map(|reply| reply.status);
        let sent = result(&service, &question.id);
        let is_calm = status.is_none_or(|status| status < 500);
        let text = sent.to_string();
        // The asker gets the name as text; files on disk have names of our own.
        let stays = !Path::new("/tmp/entreat-attack").exists();
        tally.note(
            disposition,
            is_calm && stays,
            format_args!("{status:?} {text}"),
        );
    }
    service.serves_others("strange names");
    tally.finish();
}

#[test]
fn a_form_that_stops_half_way_keeps_nobody_waiting() {
    let service = Service::start(&[("HTTP_BODY_TIMEOUT", "1s"), ("HTTP_HEAD_TIMEOUT", "1s")]);
    let question = service.ask(&text_field());
    let page = Page::open(&service, &question.link);
    let mut begun = Vec::new();
    for _ in 0..50 {
        let head = page
            .request(&format!("POST {}", page.here))
            .header("content-type", "application/x-www-form-urlencoded")
            .header("content-length", "1000000")
            .bytes(&service.address);
        let mut stream = connect(&service.address);
        stream.write_all(&head).expect("it is read");
        begun.push(stream);
    }
    service.serves_others("fifty forms that never end");
    let ended = begun.into_iter().map(|stream| exchange(stream, b"", true));
    let ended: Vec<_> = ended.map(|reply| reply.map(|reply| reply.status)).collect();
    let holds = ended
        .iter()
        .all(|status| matches!(status, None | Some(408)));
    let mut tally = Tally::new();
    tally.note(
        "fifty forms that never end",
        holds,
        format_args!("{ended:?}"),
    );
    tally.finish();
}

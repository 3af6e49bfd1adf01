//! Uploads, and files that nobody should be able to send, see or lose.

use serde_json::{Value, json};

use crate::browser::{Page, result};
use crate::service::{Question, Service};
use crate::tally::Tally;
use crate::wire::{encoded, request};

pub(crate) fn files(most: usize) -> Value {
    json!([{"id": "doc", "type": "file", "label": "Files", "validation": {"maxItems": most},
        "rendering": {"preview": true}}])
}

/// Sends the form of a question with files, and returns the files of the answer.
pub(crate) fn sent(service: &Service, page: &Page, question: &Question) -> Vec<Value> {
    let reply = page.post("_f=0&_do=send");
    assert_eq!(reply.status, 303, "{}", reply.told());
    match result(service, &question.id)["doc"].clone() {
        Value::Array(files) => files,
        Value::Null => Vec::new(),
        file => vec![file],
    }
}

/// The path of the link that replaces a file.
pub(crate) fn location(file: &Value) -> String {
    let location = file["content"]["location"].as_str().unwrap_or_default();
    let path = location.find("/files/").map(|at| location[at..].to_owned());
    path.unwrap_or_default()
}

#[test]
fn a_file_goes_out_once_and_by_its_own_link_alone() {
    let service = Service::start(&[("UPLOADS_INLINE_LIMIT", "1")]);
    let send = |content: &[u8]| {
        let question = service.ask(&files(1));
        let page = Page::open(&service, &question.link);
        assert_eq!(page.upload(0, "a.txt", content).status, 200);
        let file = sent(&service, &page, &question).remove(0);
        (question, location(&file))
    };
    let (question, link) = send(b"first file");
    let (other, other_link) = send(b"other file");
    let parts: Vec<&str> = link.split('/').collect();
    let other_parts: Vec<&str> = other_link.split('/').collect();
    let [_, _, id, upload, token] = parts[..] else {
        panic!("{link}");
    };
    let (other_upload, other_token) = (other_parts[3], other_parts[4]);
    let mut tally = Tally::new();
    for (what, path) in [
        ("no token", format!("/files/{id}/{upload}")),
        ("an empty token", format!("/files/{id}/{upload}/")),
        (
            "a forged token",
            format!("/files/{id}/{upload}/{}", "A".repeat(43)),
        ),
        (
            "half a token",
            format!("/files/{id}/{upload}/{}", &token[..20]),
        ),
        (
            "the token of another file",
            format!("/files/{id}/{upload}/{other_token}"),
        ),
        (
            "the file of another question",
            format!("/files/{id}/{other_upload}/{other_token}"),
        ),
        (
            "the id of another question",
            format!("/files/{}/{upload}/{token}", other.id),
        ),
        (
            "the token of a page",
            format!(
                "/files/{id}/{upload}/{}",
                question.link.rsplit('/').next().unwrap_or_default()
            ),
        ),
    ] {
        let reply = service.get(&path);
        let holds = (400..500).contains(&reply.status)
            && !reply.text().contains("file\n")
            && !reply.text().contains("first");
        tally.note(what, holds, reply.told());
    }
    let head = request(&format!("HEAD {link}")).send(&service.address);
    tally.note(
        "a look at the head takes nothing",
        head.status == 200,
        head.told(),
    );
    let ranges = request(&format!("GET {other_link}"))
        .header("range", "bytes=0-3")
        .send(&service.address);
    tally.note(
        "a range is the whole or nothing",
        ranges.status != 206 || ranges.text() == "othe",
        ranges.told(),
    );
    let fetched = std::thread::scope(|scope| {
        let all: Vec<_> = (0..8).map(|_| scope.spawn(|| service.get(&link))).collect();
        let fetched = all
            .into_iter()
            .map(|fetch| fetch.join().expect("it does not panic"));
        fetched
            .filter(|reply| reply.status == 200 && reply.text() == "first file")
            .count()
    });
    tally.note(
        "eight at once",
        fetched == 1,
        format_args!("{fetched} got it"),
    );
    let again = service.get(&link);
    tally.note("a second time", again.status == 404, again.told());
    tally.finish();
}

#[test]
fn what_a_stranger_sent_is_saved_by_a_browser_and_never_run() {
    let service = Service::start(&[("UPLOADS_INLINE_LIMIT", "1")]);
    let mut tally = Tally::new();
    for (name, kind, content) in [
        ("a.html", "text/html", "<script>alert(1)</script>"),
        (
            "a.svg",
            "image/svg+xml",
            "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
        ),
        ("a.js", "text/javascript", "alert(1)"),
        ("a\r\nset-cookie: x=1\r\n.txt", "text/plain", "content"),
        ("a\"; filename=evil.exe; x=\".txt", "text/plain", "content"),
        ("\u{202e}txt.exe", "text/plain", "content"),
        ("a.txt", "text/html\r\nset-cookie: x=1", "content"),
        ("a.txt", "text/html; charset=utf-7", "+ADw-script"),
    ] {
        let question = service.ask(&files(1));
        let page = Page::open(&service, &question.link);
        let reply = page
            .uploading(0, &encoded(name).replace('+', "%20"))
            .header("content-type", &encoded_header(kind))
            .plain_body(content.as_bytes())
            .send(&service.address);
        if reply.status != 200 {
            tally.note(name, (400..500).contains(&reply.status), reply.told());
            continue;
        }
        let preview = page.get("").text();
        let html_is_text = !preview.contains("<script>alert(1)") && !preview.contains("onload=");
        let file = sent(&service, &page, &question).remove(0);
        let fetched = service.get(&location(&file));
        let holds = html_is_text
            && fetched
                .header("content-disposition")
                .starts_with("attachment")
            && fetched.header("x-content-type-options") == "nosniff"
            && fetched
                .header("content-security-policy")
                .contains("sandbox")
            && fetched.all("set-cookie").is_empty()
            && !fetched.header("content-disposition").contains("evil.exe;");
        tally.note(format_args!("{name:?} as {kind:?}"), holds, &fetched.head);
    }
    tally.finish();
}

fn encoded_header(text: &str) -> String {
    text.replace('\r', "%0D").replace('\n', "%0A")
}

#[test]
fn an_upload_needs_its_forms_token_and_a_field_for_files() {
    let service = Service::start(&[]);
    let fields = json!([{"id": "doc", "type": "file", "label": "File", "validation": {"maxSize": 100}},
        {"id": "name", "type": "text", "label": "Name"}]);
    let question = service.ask(&fields);
    let other = service.ask(&fields);
    let page = Page::open(&service, &question.link);
    let elsewhere = Page::open(&service, &question.link);
    let of_other = Page::open_with(&service, &other.link, Some(&page.cookie));
    let mut tally = Tally::new();
    for (what, token) in [
        ("no token", ""),
        ("a forged token", &"A".repeat(43)),
        ("the token of another browser", &*elsewhere.csrf),
        ("the token of another question", &*of_other.csrf),
    ] {
        let reply = page
            .request(&format!("POST {}/files/0", page.here))
            .header("x-entreat-form", token)
            .header("x-entreat-file", "a.txt")
            .body("text/plain", "x")
            .send(&service.address);
        tally.note(what, reply.status == 403, reply.told());
    }
    for (what, place) in [
        ("a field of text", "1"),
        ("a field beyond", "2"),
        ("a field far beyond", "18446744073709551615"),
        ("a field below", "-1"),
        ("no field", "x"),
        ("a field that is too far", "18446744073709551616"),
    ] {
        let reply = page
            .request(&format!("POST {}/files/{place}", page.here))
            .header("x-entreat-form", &page.csrf)
            .header("x-entreat-file", "a.txt")
            .body("text/plain", "x")
            .send(&service.address);
        tally.note(what, (400..500).contains(&reply.status), reply.told());
    }
    let large = page
        .uploading(0, "a.txt")
        .body("text/plain", "x".repeat(101))
        .try_send(&service.address);
    let status = large.map(|reply| reply.status);
    tally.note(
        "a file that is too large",
        matches!(status, None | Some(400..=499)),
        format_args!("{status:?}"),
    );
    let reply = page.upload_in_chunks("a.txt", &[b'x'; 200], 10);
    let status = reply.map(|reply| reply.status);
    tally.note(
        "a file that is too large and does not say so",
        matches!(status, None | Some(400..=499)),
        format_args!("{status:?}"),
    );
    let shown = page.get("").text();
    tally.note("nothing was kept", !shown.contains("a.txt"), &shown);
    tally.finish();
}

#[test]
fn the_picture_of_another_question_is_not_shown() {
    let service = Service::start(&[]);
    let picture =
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89";
    let mine = service.ask(&files(2));
    let page = Page::open(&service, &mine.link);
    let reply = page
        .uploading(0, "a.png")
        .body("image/png", &picture[..])
        .send(&service.address);
    assert_eq!(reply.status, 200, "{}", reply.told());
    let shown = page.get("").text();
    let pictures = shown
        .split("src=\"")
        .filter(|rest| rest.contains("/files/0/"));
    let preview = pictures.last().and_then(|rest| rest.split('"').next());
    let preview = preview.unwrap_or_default().to_owned();
    let place = preview.rsplit('/').next().unwrap_or_default().to_owned();
    let own = service_get(&service, &page, &preview);
    assert_eq!(own.status, 200, "{preview} {}", own.told());
    let mut tally = Tally::new();
    tally.note(
        "a picture runs nothing",
        own.header("content-security-policy").contains("sandbox"),
        &own.head,
    );
    let other = service.ask(&files(2));
    let other_page = Page::open(&service, &other.link);
    let reply = other_page.get(&format!("/files/0/{place}"));
    tally.note(
        "by another question's page",
        reply.status == 404,
        reply.told(),
    );
    let reply = request(&format!("GET {preview}")).send(&service.address);
    tally.note("without the cookie", reply.status == 404, reply.told());
    let reply = page.get(&format!("/files/1/{place}"));
    tally.note("as another field's", reply.status == 404, reply.told());
    tally.finish();
}

fn service_get(service: &Service, page: &Page, path: &str) -> crate::wire::Reply {
    page.request(&format!("GET {path}")).send(&service.address)
}

#[test]
fn files_that_were_never_sent_cannot_be_named_in_an_answer() {
    let service = Service::start(&[]);
    let victim = service.ask(&files(1));
    let page = Page::open(&service, &victim.link);
    assert_eq!(page.upload(0, "a.txt", b"canary-content").status, 200);
    let mut tally = Tally::new();
    for (what, content) in [
        (
            "a file of this machine",
            json!({"type": "local", "location": "/etc/passwd"}),
        ),
        (
            "a path that climbs",
            json!({"type": "local", "location": "../../../etc/passwd"}),
        ),
        (
            "a link of ours",
            json!({"type": "url", "location": format!("http://{}/files/x/y/z", service.address)}),
        ),
        (
            "a link of this machine",
            json!({"type": "url", "location": "http://127.0.0.1/"}),
        ),
        (
            "a file: address",
            json!({"type": "url", "location": "file:///etc/passwd"}),
        ),
    ] {
        let question = service.ask(&files(1));
        let file = json!({"filename": "a.txt", "content_type": "text/plain", "size": 4, "content": content});
        let params = json!({"elicitationId": question.id, "responses": {"doc": file}});
        let reply = service.rpc("elicitation/submit", &params);
        let is_refused = reply.json().get("error").is_some();
        tally.note(
            what,
            is_refused && !reply.text().contains("root:"),
            reply.told(),
        );
    }
    tally.finish();
}

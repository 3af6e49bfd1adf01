//! `entreat attach`: a question of a service, answered at a terminal.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::screen::Screen;
use crate::serve::{Service, folder};
use crate::{command, entreat, finish};

fn deploy() -> Value {
    json!({"id": "deploy", "title": "Deploy?", "fields": [
        {"id": "reason", "type": "text", "label": "Reason", "required": true},
        {"id": "key", "type": "text", "label": "Key", "sensitive": true},
    ]})
}

/// A service with a question, and its id.
fn asked(params: &Value) -> (Service, String, tempfile::TempDir) {
    let folder = folder();
    let service = Service::start(folder.path(), &["--store", "memory"]);
    let asked = service.call("elicitation/create", params);
    let id = asked["elicitationId"].as_str().expect("an id").to_owned();
    (service, id, folder)
}

fn attach(service: &Service, id: &str) -> Screen {
    let url = format!("http://{}", service.address);
    Screen::start(&["attach", id, "--url", &url])
}

fn status(service: &Service, id: &str) -> Value {
    service.call("elicitation/status", &json!({"elicitationId": id}))
}

#[test]
fn a_question_is_answered_here_and_the_asker_has_the_answer() {
    let question = json!({"formDefinition": deploy(), "message": "Version 7 is ready"});
    let (service, id, _folder) = asked(&question);
    let mut screen = attach(&service, &id);
    screen.wait_for("> │ Reason");
    insta::assert_snapshot!("attach", screen.frame());
    assert_eq!(status(&service, &id)["status"], "pending");
    screen.press_for("It is time", "It is time");
    screen.press_for("\t", "> │ Key");
    // The first key press makes it active, and each answer is saved as a draft. These arrive in
    // order, so the last one comes after both.
    screen.press_for("\x14", "You now have 10 minutes.");
    assert_eq!(status(&service, &id)["status"], "active");
    screen.press_for("hunter2", "•••••••");
    screen.press_for("\x12", "[ Send to");
    screen.press("\r");
    screen.wait_for("entreat: sent");
    // Only the asker gets the answer.
    assert_eq!(screen.finish(), (0, String::new()));
    let settled = status(&service, &id);
    assert_eq!(
        settled["result"],
        json!({"reason": "It is time", "key": "hunter2"})
    );
    let again = finish(
        command(&[
            "attach",
            &id,
            "--url",
            &format!("http://{}", service.address),
        ]),
        b"",
    );
    assert_eq!(again.code, 0);
    assert!(
        again.stderr.contains("already settled: completed"),
        "{}",
        again.stderr
    );
    service.end();
}

#[test]
fn texts_that_are_said_to_be_plain_are_shown_as_they_are() {
    for (format, shown) in [
        ("markdown", "│ Deploy now\n"),
        ("plain", "│ Deploy *now*\n"),
    ] {
        let question = json!({"formDefinition": deploy(), "message": "Deploy *now*",
            "textFormat": format});
        let (service, id, _folder) = asked(&question);
        let screen = attach(&service, &id);
        screen.wait_for("> │ Reason");
        let frame = screen.frame();
        assert!(frame.contains(shown), "{frame}");
    }
}

#[test]
fn every_decision_reaches_the_service_as_it_is() {
    for (key, code, state) in [("\x18", 3, "declined"), ("\x03", 4, "cancelled")] {
        let (service, id, _folder) = asked(&json!({"formDefinition": deploy()}));
        let mut screen = attach(&service, &id);
        screen.wait_for("> │ Reason");
        screen.press(key);
        screen.wait_for(state);
        assert_eq!(screen.finish().0, code);
        let settled = status(&service, &id);
        assert_eq!(settled["status"], state);
        assert!(settled.get("result").is_none());
        service.end();
    }
}

#[test]
fn it_ends_when_the_question_is_settled_elsewhere() {
    let (service, id, _folder) = asked(&json!({"formDefinition": deploy()}));
    let mut screen = attach(&service, &id);
    screen.wait_for("> │ Reason");
    screen.press("half a sen");
    service.call("elicitation/cancel", &json!({"elicitationId": id}));
    screen.wait_for("the question was settled: cancelled");
    assert_eq!(screen.finish().0, 4);
    service.end();
}

#[test]
fn what_is_too_large_can_be_shortened_and_more_time_be_had() {
    let question = json!({"formDefinition": deploy(), "size_limit": 30});
    let (service, id, _folder) = asked(&question);
    let mut screen = attach(&service, &id);
    screen.wait_for("> │ Reason");
    screen.press_for("\x14", "You now have 10 minutes.");
    screen.press("a reason that is far too long");
    screen.press_for("\x12", "[ Send to");
    screen.press_for("\r", "the limit is 30. Shorten them.");
    screen.press("\x15ok");
    screen.press_for("\x12", "[ Send to");
    screen.press("\r");
    assert_eq!(screen.finish().0, 0);
    assert_eq!(status(&service, &id)["result"], json!({"reason": "ok"}));
    service.end();
}

#[test]
fn one_that_is_not_there_or_no_service_is_told() {
    let (service, id, _folder) = asked(&json!({"formDefinition": deploy()}));
    let url = format!("http://{}", service.address);
    let none = entreat(&["attach", "elic_01hnmq7zq8e9vv8h2m6x3c5t0d", "--url", &url]);
    assert_eq!(none.code, 1, "{}", none.stderr);
    // Nobody is there to decide.
    let nobody = entreat(&["attach", &id, "--url", &url]);
    assert_eq!(nobody.code, 2);
    assert!(
        nobody.stderr.contains("the question is still open"),
        "{}",
        nobody.stderr
    );
    assert_eq!(status(&service, &id)["status"], "pending");
    service.end();
    let gone = entreat(&["attach", &id, "--url", &url]);
    assert_eq!(gone.code, 2);
    assert!(
        gone.stderr.contains("no response from the service"),
        "{}",
        gone.stderr
    );
}

/// The method that is called, read from a request.
fn method(stream: &TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a head");
        let line = line.trim().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.parse().expect("a number");
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    let body: Value = serde_json::from_slice(&body).expect("a call");
    if body["params"]["partial"] == true {
        return "draft".to_owned();
    }
    body["method"].as_str().expect("a method").to_owned()
}

/// Serves a question whose first decision gets this error; returns the service's URL.
fn refusing_once(error: Value) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    let address = listener.local_addr().expect("it has an address");
    let url = format!("http://{address}");
    let refusals = AtomicUsize::new(0);
    let state = Arc::new((error, refusals));
    // It ends with the process of the test at the latest.
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.expect("a connection");
            let state = state.clone();
            std::thread::spawn(move || answer(stream, &state.0, &state.1));
        }
    });
    url
}

fn answer(mut stream: TcpStream, error: &Value, refusals: &AtomicUsize) {
    let answer = match &*method(&stream) {
        "elicitation/question" => json!({"result": {"status": "pending", "asker": "robot",
            "formDefinition": deploy(), "timeoutAt": 4_102_444_800_000_u64,
            "extensionsRemaining": 0}}),
        "elicitation/submit" | "elicitation/decline" | "elicitation/cancel"
            if refusals.fetch_add(1, Ordering::SeqCst) == 0 =>
        {
            json!({"error": error})
        }
        "elicitation/submit" => json!({"result": {"status": "completed"}}),
        // Until the client disconnects.
        "elicitation/await" => return drop(stream.read(&mut [0])),
        _ => json!({"result": {"status": "active"}}),
    };
    let body = answer.to_string();
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
    stream
        .write_all((head + &body).as_bytes())
        .expect("a client");
}

#[test]
fn what_the_service_refuses_is_told_in_its_place_and_can_be_mended() {
    // A rule that only the service knows.
    let url = refusing_once(
        json!({"code": -32007, "message": "no", "data": {"retry_allowed": true,
        "errors": [{"field": "reason", "code": -32007, "message": "Reason is a cliché",
                    "constraint": "is_original", "path": ["reason"]}]}}),
    );
    let mut screen = Screen::start(&["attach", "elic_01hnmq7zq8e9vv8h2m6x3c5t0d", "--url", &url]);
    screen.wait_for("> │ Reason");
    screen.press("synergy");
    screen.press_for("\x12", "[ Send to");
    screen.press_for("\r", "! │ Reason is a cliché");
    screen.wait_for("The answers were not accepted.");
    screen.press("\x15");
    screen.press("fish");
    screen.press_for("\x12", "[ Send to");
    screen.press("\r");
    assert_eq!(screen.finish().0, 0);
}

#[test]
fn a_decision_that_comes_too_late_is_not_told_as_sent() {
    let settled = json!({"code": -32009, "message": "over", "data": {"state": "completed"}});
    for keys in [&["fish", "\x12", "\r"][..], &["\x18"], &["\x03"]] {
        let url = refusing_once(settled.clone());
        let mut screen =
            Screen::start(&["attach", "elic_01hnmq7zq8e9vv8h2m6x3c5t0d", "--url", &url]);
        screen.wait_for("> │ Reason");
        for key in keys {
            screen.press(key);
        }
        screen.wait_for("nothing was sent, the question was settled already: completed");
        assert_eq!(screen.finish().0, 0);
    }
}

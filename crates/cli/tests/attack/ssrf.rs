//! Internal addresses: callbacks, URLs to open, and answers.

use serde_json::{Value, json};

use crate::service::Service;
use crate::tally::Tally;

/// Addresses of this machine and its network, in every notation.
const INSIDE: &[&str] = &[
    "http://127.0.0.1/",
    "http://127.0.0.1:7171/rpc",
    "http://127.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0177.0.0.1/",
    "http://0x7f.1/",
    "http://017700000001/",
    "http://127.0.0.1./",
    "http://\u{ff11}\u{ff12}\u{ff17}.0.0.1/",
    "http://127\u{3002}0\u{3002}0\u{3002}1/",
    "http://%31%32%37.0.0.1/",
    "http://0.0.0.0/",
    "http://0/",
    "http://[::]/",
    "http://[::1]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[64:ff9b:1::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/",
    "http://[fe80::1]/",
    "http://[fec0::1]/",
    "http://[fd00::1]/",
    "http://[fc00::1]/",
    "http://[ff02::1]/",
    "http://10.0.0.1/",
    "http://172.16.0.1/",
    "http://192.168.0.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://100.64.0.1/",
    "http://198.18.0.1/",
    "http://192.0.2.1/",
    "http://224.0.0.1/",
    "http://255.255.255.255/",
    "http://localhost/",
    "http://LOCALHOST./",
    "http://a.localhost/",
    "http://printer.local/",
    "http://db.internal/",
    "http://metadata.google.internal/",
    "http://metadata/",
    "http://user@127.0.0.1/",
    "http://example.com@127.0.0.1/",
    "http://127.0.0.1#@example.com/",
    "http://127.0.0.1\\@example.com/",
];

/// Addresses that are not web addresses, or are obfuscated.
const STRANGE: &[&str] = &[
    "",
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "file:///etc/passwd",
    "ftp://example.com/",
    "gopher://127.0.0.1:25/x",
    "dict://127.0.0.1/",
    "ws://example.com/",
    "//example.com/",
    "/relative",
    "http:",
    "http://",
    "http:///path",
    "http://exa mple.com/",
    "http://example.com:99999/",
    "http://example.com:-1/",
    "http://user:password@example.com/",
    "http://example.com/\r\nx: y",
    "http://example.com/\u{0}",
    "http://\t127.0.0.1/",
    "http://[::1",
    "http://[::1%25eth0]/",
    "http://a..b/",
    "http://-/",
    "http://xn--/",
];

const SECRET: (&str, &str) = (
    "CALLBACKS_SECRET",
    "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
);

/// Asks with each of the URLs, in parameters made of it, and expects to be refused.
fn no_question_is_asked(service: &Service, with: impl Fn(&str) -> Value) {
    let mut tally = Tally::new();
    for url in INSIDE.iter().chain(STRANGE) {
        let reply = service.rpc("elicitation/create", &with(url));
        let code = reply.json()["error"]["code"].as_i64().unwrap_or_default();
        tally.note(
            format_args!("{url:?}"),
            matches!(code, -32014 | -32602),
            reply.told(),
        );
    }
    tally.finish();
}

#[test]
fn no_callback_leads_inside() {
    let service = Service::start(&[SECRET, ("LIMITS_LIVE", "10000")]);
    no_question_is_asked(&service, |url| json!({"prompt": "A?", "callback": url}));
}

#[test]
fn no_person_is_sent_inside() {
    let service = Service::start(&[("LIMITS_LIVE", "10000")]);
    no_question_is_asked(&service, |url| json!({"url": url}));
}

#[test]
fn no_answer_leads_inside() {
    let service = Service::start(&[("RETRY_LIMIT", "255")]);
    let fields = json!([{"id": "site", "type": "url", "label": "Site", "required": true}]);
    let mut tally = Tally::new();
    let question = service.ask(&fields);
    for url in INSIDE.iter().chain(STRANGE) {
        let params = json!({"elicitationId": question.id, "responses": {"site": url}});
        let reply = service.rpc("elicitation/submit", &params);
        let code = reply.json()["error"]["code"].as_i64().unwrap_or_default();
        tally.note(format_args!("{url:?}"), code == -32007, reply.told());
    }
    assert_ne!(service.status(&question)["status"], "completed");
    tally.finish();
}

#[test]
fn a_callback_of_this_machine_that_is_allowed_still_goes_no_further_inside() {
    let service = Service::start(&[SECRET, ("CALLBACKS_LOOPBACK", "true")]);
    let mut tally = Tally::new();
    for url in [
        "http://10.0.0.1/",
        "http://192.168.0.1/",
        "http://169.254.169.254/",
        "http://[fd00::1]/",
        "http://[fe80::1]/",
        "http://db.internal/",
        "http://[64:ff9b::a00:1]/",
        "http://[::ffff:10.0.0.1]/",
    ] {
        let reply = service.rpc(
            "elicitation/create",
            &json!({"prompt": "A?", "callback": url}),
        );
        let code = reply.json()["error"]["code"].as_i64().unwrap_or_default();
        tally.note(url, matches!(code, -32014 | -32602), reply.told());
    }
    tally.finish();
}

//! Messages of the control API that are hard to parse.

use std::time::Duration;

use serde_json::json;

use crate::service::{Service, message};
use crate::tally::Tally;
use crate::wire::request;

#[test]
fn messages_that_are_no_json_are_refused_by_their_code() {
    let service = Service::start(&[]);
    let meter = service.program.meter();
    let deep = |open: &str, close: &str, levels: usize| {
        [open.repeat(levels), close.repeat(levels)].concat()
    };
    let call = |params: &str| {
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"forms/list\",\"params\":{params}}}")
    };
    let mut tally = Tally::new();
    for (what, body) in [
        ("nothing", Vec::new()),
        ("spaces", b" ".repeat(1 << 20)),
        ("half an object", b"{\"jsonrpc\":\"2.0\"".to_vec()),
        ("two messages", [message("forms/list", &json!({})), message("forms/list", &json!({}))].concat().into_bytes()),
        ("a mark at the beginning", [&b"\xef\xbb\xbf"[..], message("forms/list", &json!({})).as_bytes()].concat()),
        ("UTF-16", message("forms/list", &json!({})).bytes().flat_map(|byte| [byte, 0]).collect()),
        ("no UTF-8", b"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\"}".to_vec()),
        ("a surrogate as UTF-8", b"{\"jsonrpc\":\"2.0\",\"id\":\"\xed\xa0\x80\"}".to_vec()),
        ("too long UTF-8", b"{\"jsonrpc\":\"2.0\",\"id\":\"\xc0\x80\"}".to_vec()),
        ("a NUL", b"{\"jsonrpc\":\"2.0\",\"id\":\"\0\"}".to_vec()),
        ("100,000 lists", deep("[", "]", 100_000).into_bytes()),
        ("100,000 objects", deep("{\"a\":", "}", 100_000).into_bytes()),
        ("100,000 open lists", "[".repeat(100_000).into_bytes()),
        ("deep parameters", call(&deep("{\"a\":", "}", 100_000)).into_bytes()),
        ("a key twice", b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"forms/list\",\"method\":\"elicitation/list\"}".to_vec()),
        ("a key twice in two spellings", b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"forms/list\",\"meth\\u006fd\":\"x\"}".to_vec()),
        ("a lone surrogate", call("{\"a\":\"\\ud800\"}").into_bytes()),
        ("two surrogates in the wrong order", call("{\"a\":\"\\udc00\\ud800\"}").into_bytes()),
        ("a number beyond all", call("{\"a\":1e999}").into_bytes()),
        ("NaN", call("{\"a\":NaN}").into_bytes()),
        ("a comment", call("{/**/}").into_bytes()),
        ("a comma too many", call("{\"a\":1,}").into_bytes()),
        ("a number with a zero before it", call("{\"a\":01}").into_bytes()),
    ] {
        let reply = request("POST /rpc").body("application/json", body).send(&service.address);
        let holds = reply.status == 400 && reply.json()["error"]["code"] == -32700;
        tally.note(what, holds, reply.told());
    }
    service.serves_others("no JSON");
    meter.at_most("no JSON", Duration::from_secs(5), 32);
    tally.finish();
}

#[test]
fn numbers_texts_and_keys_of_any_size_cost_linear_time() {
    let service = Service::start(&[]);
    let meter = service.program.meter();
    let mut tally = Tally::new();
    let call = |params: String| {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"forms/validate\",\"params\":{{\"definition\":{params}}}}}"
        )
    };
    let many = |count: usize| {
        (0..count)
            .map(|n| format!("\"k{n}\":1"))
            .collect::<Vec<_>>()
            .join(",")
    };
    for (what, body) in [
        ("a number of a million digits", call("1".repeat(1 << 20))),
        (
            "a fraction of a million digits",
            call(format!("0.{}", "1".repeat(1 << 20))),
        ),
        (
            "an exponent of a million digits",
            call(format!("1e-{}", "1".repeat(1 << 20))),
        ),
        (
            "a text of escapes",
            call(format!("\"{}\"", "\\u0041".repeat(200_000))),
        ),
        ("100,000 keys", call(format!("{{{}}}", many(100_000)))),
        (
            "100,000 parameters",
            format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"forms/list\",\"params\":{{{}}}}}",
                many(100_000)
            ),
        ),
        (
            "100,000 members beside",
            format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"forms/list\",{}}}",
                many(100_000)
            ),
        ),
        (
            "a method of a megabyte",
            message(&"x".repeat(1 << 20), &json!({})),
        ),
        (
            "an id of a megabyte",
            format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":\"{}\",\"method\":\"forms/list\"}}",
                "x".repeat(1 << 20)
            ),
        ),
    ] {
        let reply = request("POST /rpc").json(&body).send(&service.address);
        let code = reply.json()["error"]["code"].clone();
        let holds = reply.status < 500 && code != -32603;
        tally.note(what, holds, reply.told());
    }
    service.serves_others("large messages");
    meter.at_most("large messages", Duration::from_secs(20), 96);
    tally.finish();
}

#[test]
fn ids_come_back_as_they_were_or_are_refused() {
    let service = Service::start(&[]);
    let mut tally = Tally::new();
    for id in [
        "0",
        "-1",
        "1.5",
        "1e2",
        "9007199254740993",
        "18446744073709551616",
        "-0",
        "1E-5",
        "null",
        "\"\"",
        "\"a\\u0000b\"",
        "\"\\u202e\"",
        "\"</script>\"",
        "\"__proto__\"",
    ] {
        let body = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"forms/list\"}}");
        let reply = request("POST /rpc").json(&body).send(&service.address);
        let holds = reply.status == 200 && reply.text().contains(&format!("\"id\":{id}"));
        tally.note(format_args!("id {id}"), holds, reply.told());
    }
    for id in ["true", "[]", "{}", "[1]", "{\"a\":1}"] {
        let body = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"forms/list\"}}");
        let reply = request("POST /rpc").json(&body).send(&service.address);
        let holds = reply.status == 400 && reply.json()["error"]["code"] == -32600;
        tally.note(format_args!("id {id}"), holds, reply.told());
    }
    tally.finish();
}

#[test]
fn a_batch_is_counted_before_it_fills_memory() {
    let service = Service::start(&[]);
    let mut tally = Tally::new();
    // Almost as many values as a message may have, in 2 MB. Before larger messages, whose memory
    // would be used again.
    let meter = service.program.meter();
    let body = format!("[{}0]", "0,".repeat(1_000_000));
    let reply = request("POST /rpc").json(&body).send(&service.address);
    let peak = meter.peak_mib();
    tally.note(
        "as many as are read",
        reply.json()["error"]["code"] == -32600 && peak <= 12,
        format_args!("{peak} MiB, {}", reply.told()),
    );
    // As large as a message may be.
    let size = 16 << 20;
    for (what, element) in [
        ("numbers", "0,"),
        ("lists", "[],"),
        ("objects", "{},"),
        ("calls", "{\"jsonrpc\":\"2.0\"},"),
    ] {
        let meter = service.program.meter();
        let body = format!("[{}0]", element.repeat((size - 2) / element.len()));
        let reply = request("POST /rpc").json(&body).send(&service.address);
        let peak = meter.peak_mib();
        // The message itself, in chunks and as a whole, and little else.
        let holds = reply.json()["error"]["code"] == -32700 && peak <= 48;
        tally.note(what, holds, format_args!("{peak} MiB, {}", reply.told()));
    }
    service.serves_others("large batches");
    tally.finish();
}

#[test]
fn batches_in_batches_are_no_calls() {
    let service = Service::start(&[]);
    let call = message("elicitation/create", &json!({"prompt": "Asked?"}));
    let mut tally = Tally::new();
    for (what, body) in [
        ("an empty batch", "[]".to_owned()),
        ("a batch in a batch", format!("[[{call}]]")),
        ("an empty batch in a batch", "[[]]".to_owned()),
        ("1,001 calls", format!("[{}]", vec![&*call; 1001].join(","))),
        (
            "a thousand batches of a thousand",
            format!(
                "[{}]",
                vec![format!("[{}]", vec!["0"; 1000].join(",")); 1000].join(",")
            ),
        ),
    ] {
        let reply = request("POST /rpc").json(&body).send(&service.address);
        let holds = reply.status < 500
            && reply.text().contains("-32600")
            && !reply.text().contains("elicitationId");
        tally.note(what, holds, reply.told());
    }
    let listed = service.call("elicitation/list", &json!({}));
    let count = listed["elicitations"].as_array().map_or(0, Vec::len);
    tally.note("nothing was asked", count == 0, &listed);
    tally.finish();
}

#[test]
fn parameters_of_wrong_shapes_are_refused_and_harm_no_other_question() {
    let service = Service::start(&[]);
    let question = service.ask(&crate::service::text_field());
    let mut tally = Tally::new();
    let form = json!({"id": "f", "title": "T", "fields": crate::service::text_field()});
    for (what, params) in [
        ("a timeout below 0", json!({"prompt": "A?", "timeout": -1})),
        ("a timeout of text", json!({"prompt": "A?", "timeout": "1"})),
        (
            "a timeout beyond all",
            json!({"prompt": "A?", "timeout": 1e300}),
        ),
        (
            "a fraction of a timeout",
            json!({"prompt": "A?", "timeout": 1000.5}),
        ),
        ("a null", json!({"prompt": "A?", "timeout": null})),
        (
            "a size beyond all",
            json!({"prompt": "A?", "sizeLimit": 1e18}),
        ),
        ("a size below 0", json!({"prompt": "A?", "sizeLimit": -1})),
        (
            "two subjects",
            json!({"prompt": "A?", "formDefinition": form}),
        ),
        ("no subject", json!({})),
        (
            "an unknown parameter",
            json!({"prompt": "A?", "__proto__": {}}),
        ),
        (
            "a template that climbs",
            json!({"template": "../../etc/passwd"}),
        ),
        ("a list of parameters", json!(["A?"])),
        (
            "a respondent of a megabyte",
            json!({"prompt": "A?", "respondent": "x".repeat(1 << 20)}),
        ),
    ] {
        let reply = service.rpc("elicitation/create", &params);
        let code = reply.json()["error"]["code"].as_i64().unwrap_or_default();
        tally.note(what, (-32602..=-32600).contains(&code), reply.told());
    }
    assert_eq!(service.status(&question)["status"], "pending");
    service.serves_others("wrong parameters");
    tally.finish();
}

#[test]
fn explosive_forms_are_judged_in_little_time() {
    let service = Service::start(&[]);
    let meter = service.program.meter();
    let mut tally = Tally::new();
    let text = |pattern: &str| json!([{"id": "a", "type": "text", "label": "A", "validation": {"pattern": pattern}}]);
    for pattern in [
        "^(a+)+$",
        "^(a|a)*$",
        "^(.*a){50}$",
        "(?:a{1000}){1000}",
        "\\p{L}{1000}{100}",
        "(((((a*)*)*)*)*)*",
        "[",
        "(?<=a)b",
        "\\1",
    ] {
        let form = json!({"id": "f", "title": "T", "fields": text(pattern)});
        let reply = service.rpc("elicitation/create", &json!({"formDefinition": form}));
        let answer = reply.json();
        if let Some(id) = answer["result"]["elicitationId"].as_str() {
            let value = "a".repeat(50_000) + "!";
            let params = json!({"elicitationId": id, "responses": {"a": value}});
            let reply = service.rpc("elicitation/submit", &params);
            let code = reply.json()["error"]["code"].clone();
            tally.note(pattern, code != -32603, reply.told());
        } else {
            tally.note(pattern, answer["error"]["code"] == -32602, reply.told());
        }
    }
    service.serves_others("explosive patterns");
    meter.at_most("explosive patterns", Duration::from_secs(10), 96);
    tally.finish();
}

#[test]
fn answers_of_many_items_are_judged_in_linear_time() {
    let service = Service::start(&[("RETRY_LIMIT", "200")]);
    let options: Vec<String> = (0..1_000).map(|n| format!("o{n}")).collect();
    let fields = json!([{"id": "m", "type": "multi_select", "label": "M", "options": options,
        "validation": {"uniqueItems": true}}]);
    let question = service.ask(&fields);
    let meter = service.program.meter();
    let mut tally = Tally::new();
    for (what, items) in [
        (
            "one option again and again",
            vec!["o999".to_owned(); 60_000],
        ),
        ("what is no option", vec!["x".to_owned(); 60_000]),
        (
            "all different",
            (0..60_000).map(|n| format!("x{n}")).collect(),
        ),
        (
            "what is nearly an option",
            vec!["o99\r\n".to_owned(); 60_000],
        ),
    ] {
        for partial in [true, false] {
            let params = json!({"elicitationId": question.id, "responses": {"m": items}, "partial": partial});
            let reply = service.rpc("elicitation/submit", &params);
            let code = reply.json()["error"]["code"].clone();
            let holds = reply.status == 200 && code != -32603;
            tally.note(
                format_args!("{what}, partial: {partial}"),
                holds,
                reply.told(),
            );
        }
    }
    service.serves_others("many items");
    meter.at_most("many items", Duration::from_secs(20), 256);
    tally.finish();
}

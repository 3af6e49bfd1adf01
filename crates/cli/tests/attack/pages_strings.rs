//! Untrusted text on a page: shown as text, and in its written order.

use serde_json::{Value, json};

use crate::browser::Page;
use crate::service::{Question, Service, text_field};
use crate::tally::Tally;
use crate::wire::encoded;

#[test]
fn every_string_of_an_asker_is_text_on_the_page() {
    let hostile = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>{{7*7}}${7*7}&lt;";
    let service = Service::start(&[]);
    let mut tally = Tally::new();
    let text = |id: &str, more: &Value| {
        let mut field = json!({"id": id, "type": "text", "label": "L"});
        let more = more.as_object().cloned().unwrap_or_default();
        field.as_object_mut().expect("it is an object").extend(more);
        field
    };
    let form = |fields: Value| json!({"id": "f", "title": "T", "fields": fields});
    let places = [
        (
            "title",
            json!({"id": "f", "title": hostile, "fields": text_field()}),
        ),
        (
            "description",
            json!({"id": "f", "title": "T", "description": hostile, "fields": text_field()}),
        ),
        (
            "label",
            form(json!([text("a", &json!({"label": hostile}))])),
        ),
        (
            "description of a field",
            form(json!([text("a", &json!({"description": hostile}))])),
        ),
        (
            "help",
            form(json!([text(
                "a",
                &json!({"rendering": {"helpText": hostile}})
            )])),
        ),
        (
            "placeholder",
            form(json!([text(
                "a",
                &json!({"rendering": {"placeholder": hostile}})
            )])),
        ),
        (
            "default",
            form(json!([text("a", &json!({"default": hostile}))])),
        ),
        (
            "option",
            form(json!([{"id": "a", "type": "select", "label": "L", "options": [hostile, "b"]}])),
        ),
        (
            "options",
            form(
                json!([{"id": "a", "type": "multi_select", "label": "L", "options": [hostile, "b"]}]),
            ),
        ),
        (
            "long text",
            form(
                json!([{"id": "a", "type": "text", "label": "L", "default": hostile, "rendering": {"rows": 5}}]),
            ),
        ),
    ];
    for (place, form) in &places {
        let question = service.ask_with(form, &json!({}));
        let html = Page::open(&service, &question.link).reply.text();
        tally.note(place, is_text(&html), html);
    }
    let question = service.ask_with(&form(text_field()), &json!({"message": hostile}));
    let page = Page::open(&service, &question.link);
    tally.note("message", is_text(&page.reply.text()), page.reply.text());
    // Typed text is shown again.
    for to in ["", "?check", "/review", "?step", "?test=0"] {
        page.post(&format!("_f=0&f.name={}&_do=review", encoded(hostile)));
        let shown = page.get(to);
        tally.note(
            format_args!("an answer{to}"),
            is_text(&shown.text()),
            shown.text(),
        );
    }
    let shown = page.get(&format!("?{}", encoded(hostile)));
    tally.note("a query", is_text(&shown.text()), shown.text());
    tally.finish();
}

/// Whether no part of the hostile string became an element.
fn is_text(html: &str) -> bool {
    !html.contains("<script>alert") && !html.contains("<img src=x")
}

#[test]
fn controls_that_turn_text_around_do_not_reach_a_page() {
    let service = Service::start(&[]);
    let mut tally = Tally::new();
    for control in [
        '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}', '\u{202e}', '\u{2066}', '\u{2067}',
        '\u{2068}', '\u{2069}',
    ] {
        let text = format!("pay {control}evil");
        let form = json!({"id": "f", "title": text, "description": text, "fields": [
            {"id": "a", "type": "text", "label": text, "description": text,
             "rendering": {"placeholder": text, "helpText": text}},
            {"id": "b", "type": "select", "label": text, "options": [{"value": "x", "title": text}]}]});
        let params = json!({"formDefinition": form, "message": text});
        let reply = service.rpc("elicitation/create", &params);
        let created = &reply.json()["result"];
        let code = u32::from(control);
        if created.is_null() {
            // A form with a forbidden text is never shown.
            let is_refused =
                reply.text().contains("-32602") && !reply.text().contains("unknown_key");
            tally.note(format_args!("U+{code:04X}"), is_refused, reply.text());
            continue;
        }
        let question = Question::read(created);
        let html = Page::open(&service, &question.link).reply.text();
        let times = html.matches(control).count();
        tally.note(
            format_args!("U+{code:04X}"),
            times == 0,
            format_args!("{times} times"),
        );
    }
    tally.finish();
}

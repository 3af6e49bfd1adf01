//! Untrusted text on pages: it cannot reorder or hide what a person reads.

use axum::http::Method;
use entreat_core::{Form, TextFormat};
use entreat_engine::Ask;
use serde_json::json;

use crate::pages::{Site, text};

/// Direction controls and invisible characters.
const HIDDEN: &str = "\u{61c}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\
                      \u{2067}\u{2068}\u{2069}\u{200b}\u{2060}\u{feff}\u{e0041}";

fn hostile(word: &str) -> String {
    let (begin, end) = word.split_at(2);
    format!("{begin}{HIDDEN}{end}")
}

fn assert_clean(html: &str, what: &str) {
    let found: Vec<char> = html.chars().filter(|c| HIDDEN.contains(*c)).collect();
    assert!(found.is_empty(), "{what}: {found:?}");
}

#[tokio::test]
async fn what_turns_text_reaches_no_page() {
    let site = Site::new().await;
    let form = json!({"id": "f", "title": hostile("Title"), "description": hostile("Lead"),
        "fields": [
        {"id": "a", "type": "text", "label": hostile("Label"), "description": hostile("About"),
         "validation": {"maxLength": 3}, "rendering": {
            "placeholder": hostile("Hint"), "helpText": hostile("Help")}},
        {"id": "s", "type": "select", "label": "S", "options": [
            {"value": "x", "title": hostile("First")}, {"value": "y", "title": hostile("Second")}]},
        {"id": "m", "type": "multi_select", "label": "M", "options": [
            {"value": "x", "title": hostile("Third")}, {"value": "y", "title": "Y"}]},
        {"id": "u", "type": "file", "label": hostile("File"), "rendering": {"preview": true},
         "validation": {"maxSize": 100}},
        {"id": "k", "type": "text", "label": "K", "sensitive": true, "rendering": {"savedTo":
            {"file": hostile("/srv/app/.env"), "name": hostile("KEY")}}},
    ]});
    let (_, visitor) = site.visit_form(form).await;
    let cookie = [("cookie", &*visitor.cookie)];
    let upload = async |name: &str, body: String| {
        let name: Vec<String> = name.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let name = name.concat();
        let headers = [
            ("cookie", &*visitor.cookie),
            ("x-entreat-form", &*visitor.csrf),
            ("x-entreat-file", &*name),
            ("content-type", "text/plain"),
        ];
        let path = format!("{}/files/3", visitor.here);
        text(&site.send(Method::POST, &path, &headers, body).await)
    };
    let fragment = upload("notes.txt", hostile("content")).await;
    assert!(fragment.contains("content"), "{fragment}");
    assert_clean(&fragment, "the files");
    for refused in [
        upload("notes.txt", "x".repeat(200)).await,
        upload(&hostile("invoice.exe"), "x".to_owned()).await,
    ] {
        assert!(refused.contains("\"File"), "{refused}");
        assert_clean(&refused, "a refusal");
    }

    let typed = hostile("typed");
    let answers = [
        ("_f", "0"),
        ("f.a", &*typed),
        ("_f", "1"),
        ("f.s", "x"),
        ("_f", "2"),
        ("f.m", "x"),
    ];
    // A person's own input is unchanged; the rest of the page is sanitised.
    let review = answers.iter().copied().chain([("_do", "review")]);
    site.post(&visitor, &review.collect::<Vec<_>>()).await;
    let check = format!("{}?check", visitor.here);
    let page = text(&site.get(&check, &cookie).await);
    let own = format!("value=\"{typed}\"");
    assert!(page.contains(&own));
    assert_clean(&page.replace(&own, ""), "the question");
    for word in [
        "Title", "Lead", "Label", "About", "Hint", "Help", "First", "Third", "content",
    ] {
        assert!(page.contains(word), "{word}");
    }

    let right = [("_f", "0"), ("f.a", "a\u{202e}b"), ("_do", "review")];
    site.post(&visitor, &right).await;
    let review = format!("{}/review", visitor.here);
    let page = text(&site.get(&review, &cookie).await);
    assert!(page.contains("<bdi>ab</bdi>"), "{page}");
    assert_clean(&page, "the review");
    site.post(&visitor, &[("_do", "decline")]).await;
    let page = text(&site.get(&visitor.here, &cookie).await);
    assert_clean(&page, "the closing page");
}

#[tokio::test]
async fn an_option_that_cannot_be_shown_as_it_is_can_be_chosen() {
    let site = Site::new().await;
    let option = hostile("option");
    let form = json!({"id": "f", "title": "F", "fields": [
        {"id": "s", "type": "select", "label": "S", "options": [option, "other"]}]});
    let (id, visitor) = site.visit_form(form).await;
    let page = text(
        &site
            .get(&visitor.here, &[("cookie", &visitor.cookie)])
            .await,
    );
    assert!(page.contains(&format!("value=\"{option}\"")));
    assert!(page.contains(">option</label>"));
    let answers = [("_f", "0"), ("f.s", &*option), ("_do", "send")];
    site.post(&visitor, &answers).await;
    let asker = site.world.session.asker();
    let settled = asker.elicitation(id).status().await.unwrap();
    assert_eq!(settled.result(), Some(json!({"s": option})));
}

#[tokio::test]
async fn languages_from_right_to_left_read_as_they_are_written() {
    let site = Site::new().await;
    let form = json!({"id": "f", "title": "שאלה", "fields": [
        {"id": "a", "type": "text", "label": "شما چه می\u{200c}خواهید؟"}]});
    let (_, visitor) = site.visit_form(form).await;
    let page = text(
        &site
            .get(&visitor.here, &[("cookie", &visitor.cookie)])
            .await,
    );
    assert!(page.contains("<h1 dir=\"auto\">שאלה</h1>"));
    assert!(page.contains("شما چه می\u{200c}خواهید؟"));
    assert!(page.contains("dir=\"rtl\""));
}

#[tokio::test]
async fn texts_are_markdown_unless_the_asker_says_that_they_are_plain() {
    let site = Site::new().await;
    let form = json!({"id": "f", "title": "*T*", "description": "- lead", "fields": [
        {"id": "a", "type": "text", "label": "*A*", "description": "- about",
         "rendering": {"helpText": "- help"}}]});
    let form = Form::from_value(&form).unwrap();
    // The same form, so that rendered fields could be mixed up.
    let page = async |format| {
        let ask = Ask::form(form.clone()).message("- why").text_format(format);
        let id = site.world.session.asker().ask(ask).await.unwrap().id();
        let visitor = site.visit(id).await;
        let cookie = [("cookie", &*visitor.cookie)];
        text(&site.get(&visitor.here, &cookie).await)
    };
    let (markdown, plain) = (
        page(TextFormat::Markdown).await,
        page(TextFormat::Plain).await,
    );
    for (class, id, word) in [
        ("message", "", "why"),
        ("lead", "", "lead"),
        ("hint", " id=\"d0\"", "about"),
        ("hint", " id=\"h0\"", "help"),
    ] {
        let formatted =
            format!("<div class=\"{class} prose\"{id} dir=\"auto\"><ul><li>{word}</li></ul></div>");
        assert!(markdown.contains(&formatted), "{word}: {markdown}");
        let unchanged = format!("<p class=\"{class}\"{id} dir=\"auto\">- {word}</p>");
        assert!(plain.contains(&unchanged), "{word}: {plain}");
    }
    for page in [markdown, plain] {
        assert!(page.contains("<h1 dir=\"auto\">*T*</h1>"), "{page}");
        assert!(page.contains(">*A*"), "{page}");
    }
}

#[tokio::test]
async fn where_a_secret_will_be_saved_is_said_in_the_readers_language() {
    let site = Site::new().await;
    let page = async |language: &str, is_ignored: bool| {
        let place = json!({"file": "/w/*a*/<b>.env", "name": "API_KEY", "gitIgnored": is_ignored});
        let form = json!({"id": "f", "title": "Which key?", "fields": [
            {"id": "a", "type": "text", "label": "API_KEY", "sensitive": true,
             "rendering": {"savedTo": place}}]});
        let (_, visitor) = site.visit_form(form).await;
        let headers = [("cookie", &*visitor.cookie), ("accept-language", language)];
        text(&site.get(&visitor.here, &headers).await)
    };
    let told = "Will be saved to /w/*a*/&#60;b&#62;.env as API_KEY. The agent that asks does not \
                see it.";
    let warned = "Git does not ignore this file";
    let (safe, unsafe_place) = (page("en", true).await, page("en", false).await);
    for page in [&safe, &unsafe_place] {
        assert!(page.contains(told), "{page}");
        assert!(page.contains("which saves it to the file that is named above."));
        assert!(page.contains("Whoever asked may keep theirs."), "{page}");
    }
    assert!(safe.contains("aria-describedby=\"n0 e0\""), "{safe}");
    assert!(unsafe_place.contains("aria-describedby=\"n0 w0 e0\""));
    let warning = format!("<p class=\"warnings\" id=\"w0\">Warning: {warned}");
    assert!(unsafe_place.contains(&warning) && !safe.contains(warned));
    let german = page("de", false).await;
    for words in [
        "Wird als API_KEY in /w/*a*/&#60;b&#62;.env gespeichert.",
        "Achtung: Git ignoriert diese Datei nicht.",
    ] {
        assert!(german.contains(words), "{words}: {german}");
    }
    assert!(!german.contains("Will be saved"), "{german}");
}

#[tokio::test]
async fn a_message_keeps_its_line_breaks() {
    let site = Site::new().await;
    let form = json!({"id": "f", "title": "F", "description": "One\nline *each*", "fields": [
        {"id": "a", "type": "text", "label": "A"}]});
    let message = "Hello\nAda,\n\n\n    deploy it?";
    let ask = Ask::form(Form::from_value(&form).unwrap()).message(message);
    let id = site.world.session.asker().ask(ask).await.unwrap().id();
    let visitor = site.visit(id).await;
    let cookie = [("cookie", &*visitor.cookie)];
    let page = text(&site.get(&visitor.here, &cookie).await);
    assert!(
        page.contains(&format!("<p class=\"message\" dir=\"auto\">{message}</p>")),
        "{page}"
    );
    assert!(page.contains("<p>One\nline <em>each</em></p>"), "{page}");
}

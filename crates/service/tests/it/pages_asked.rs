//! What a page says and does beyond the plain way of an answer: yes and no, errors, secrets,
//! limits, sizes and dates.

use std::time::Duration;

use axum::http::{Method, StatusCode, header};
use entreat_core::{CancelReason, ElicitationId, Status};
use entreat_engine::Ask;
use entreat_service::page::PageSettings;
use serde_json::{Map, Value, json};

use crate::pages::{Site, Visitor, between, text};

fn yes_no() -> Value {
    json!({"id": "f", "title": "Delete the old release?", "fields": [
        {"id": "go", "type": "boolean", "label": "Delete the old release?", "required": true}]})
}

fn fields(fields: &Value) -> Value {
    json!({"id": "f", "title": "Release", "fields": fields})
}

impl Site {
    /// The page after a redirect, or of a query such as `?check`.
    async fn page(&self, visitor: &Visitor, rest: &str) -> String {
        let path = format!("{}{rest}", visitor.here);
        text(&self.get(&path, &[("cookie", &visitor.cookie)]).await)
    }

    async fn page_in_german(&self, visitor: &Visitor, rest: &str) -> String {
        let headers = [("cookie", &*visitor.cookie), ("accept-language", "de")];
        let path = format!("{}{rest}", visitor.here);
        text(&self.get(&path, &headers).await)
    }

    /// What the script gets when it saves a draft.
    async fn save(&self, visitor: &Visitor, fields: &[(&str, &str)]) -> Value {
        let draft = Visitor {
            cookie: visitor.cookie.clone(),
            here: format!("{}/draft", visitor.here),
            csrf: visitor.csrf.clone(),
        };
        self.post(&draft, fields).await.json()
    }

    async fn draft(&self, id: ElicitationId) -> Map<String, Value> {
        let elicitation = self.world.engine.elicitation(id);
        elicitation.read_draft().await.unwrap()
    }

    async fn result(&self, id: ElicitationId) -> Option<Value> {
        let asker = self.world.session.asker();
        asker.elicitation(id).status().await.unwrap().result()
    }
}

#[tokio::test]
async fn a_program_that_an_asker_speaks_for_is_named_in_its_own_words() {
    let site = Site::new().await;
    let form = entreat_core::Form::from_value(&yes_no()).unwrap();
    let ask = Ask::form(form).introduced_as("<i>Claude\u{202e}</i> Code");
    let id = site.world.session.asker().ask(ask).await.unwrap().id();
    let visitor = site.visit(id).await;
    let asked_by = |page: &str| between(page, "class=\"who\"", "</p>");
    let page = asked_by(&site.page(&visitor, "").await);
    let name = "<bdi>&#60;i&#62;Claude&#60;/i&#62; Code</bdi>";
    let words = format!("for a program that calls itself “{name}”");
    assert!(page.contains(&words), "{page}");
    let page = asked_by(&site.page_in_german(&visitor, "").await);
    let words = format!("für ein Programm, das sich „{name}“ nennt");
    assert!(page.contains(&words), "{page}");
    let list = site.inbox().await;
    assert!(list.contains(name), "{list}");
}

#[tokio::test]
async fn the_only_label_is_not_shown_where_it_repeats_the_title() {
    let site = Site::new().await;
    let options = json!(["eu", "us"]);
    for (field, label) in [
        (
            json!({"type": "text", "required": true}),
            "<label for=\"f0\" class=\"unseen\"",
        ),
        (
            json!({"type": "select", "required": true, "options": options}),
            "<legend class=\"unseen\"",
        ),
        // That it is optional must be seen.
        (json!({"type": "text"}), "<label for=\"f0\" dir"),
    ] {
        let mut field = field;
        field["id"] = "a".into();
        field["label"] = "Where to?".into();
        let form = json!({"id": "f", "title": "Where to?", "fields": [field]});
        let (_, visitor) = site.visit_form(form).await;
        let page = site.page(&visitor, "").await;
        assert!(page.contains(label), "{label} in {page}");
    }
}

#[tokio::test]
async fn a_program_of_this_machine_is_named_by_itself_or_not_at_all() {
    let mut settings = PageSettings::default();
    settings.unnamed_askers.insert("deployer".to_owned());
    let site = Site::at(None, settings).await;
    let form = || entreat_core::Form::from_value(&yes_no()).unwrap();
    let asker = site.world.session.asker();
    let ask = Ask::form(form()).introduced_as("<i>Claude\u{202e}</i> Code");
    let claims = site.visit(asker.ask(ask).await.unwrap().id()).await;
    let page = site.page(&claims, "").await;
    let name = "<bdi class=\"name\">&#60;i&#62;Claude&#60;/i&#62; Code</bdi>";
    let who = between(&page, "class=\"who\"", "</p>");
    assert!(
        who.contains("Question from a program that calls itself “</span>"),
        "{who}"
    );
    assert!(who.contains(name), "{who}");
    assert!(!page.contains("deployer"), "{page}");
    assert!(
        page.contains("It is sent only to the program that asks."),
        "{page}"
    );
    let german = site.page_in_german(&claims, "").await;
    let who = between(&german, "class=\"who\"", "</p>");
    assert!(
        who.contains("Frage von einem Programm, das sich „</span>"),
        "{who}"
    );

    let unnamed = site
        .visit(asker.ask(Ask::form(form())).await.unwrap().id())
        .await;
    let page = site.page(&unnamed, "").await;
    assert!(
        page.contains("Question from a program on this computer"),
        "{page}"
    );
    assert!(!page.contains("deployer"), "{page}");
    let german = site.page_in_german(&unnamed, "").await;
    assert!(
        german.contains("Frage von einem Programm auf diesem Rechner"),
        "{german}"
    );

    let list = site.inbox().await;
    assert!(
        list.contains("A program that calls itself “<bdi>"),
        "{list}"
    );
    assert!(list.contains("A program on this computer"), "{list}");
}

/// The errors beside a field.
fn errors(html: &str, place: usize) -> Vec<String> {
    let list = between(html, &format!("id=\"e{place}\""), "</ul>");
    let items = list.split("</span> ").skip(1);
    items
        .map(|item| item.split("</li>").next().unwrap().to_owned())
        .collect()
}

/// The links of the error summary.
fn summary(html: &str) -> Vec<String> {
    let list = between(html, "id=\"summary\"", "</ul>");
    let links = list.split("<a href=\"").skip(1);
    let texts = links.map(|link| between(link, "\">", "</a>"));
    let plain = |text: String| {
        ["<bdi>", "</bdi>", "<span>", "</span>"]
            .iter()
            .fold(text, |text, tag| text.replace(tag, ""))
    };
    texts.map(plain).collect()
}

#[tokio::test]
async fn one_press_of_yes_or_no_answers() {
    let site = Site::new().await;
    for (button, answer) in [("send.yes", true), ("send.no", false)] {
        let (id, visitor) = site.visit_form(yes_no()).await;
        let page = site.page(&visitor, "").await;
        assert!(page.contains("value=\"send.yes\">Yes</button>"), "{page}");
        assert!(page.contains("value=\"send.no\">No</button>"));
        for other in [
            "value=\"send\"",
            "value=\"review\"",
            "type=\"checkbox\"",
            ">Send<",
        ] {
            assert!(!page.contains(other), "{other}: {page}");
        }
        let sent = site.post(&visitor, &[("_f", "0"), ("_do", button)]).await;
        assert_eq!(sent.headers[header::LOCATION], visitor.here);
        assert_eq!(site.result(id).await, Some(json!({"go": answer})));
        assert!(site.page(&visitor, "").await.contains("Answer sent"));
    }
}

#[tokio::test]
async fn a_question_with_more_to_answer_has_no_yes_and_no_buttons() {
    let site = Site::new().await;
    let boolean = json!({"id": "go", "type": "boolean", "label": "Go?", "required": true});
    let text = json!({"id": "why", "type": "text", "label": "Why?"});
    let optional = json!({"id": "go", "type": "boolean", "label": "Go?"});
    for asked in [json!([boolean, text]), json!([optional])] {
        let (_, visitor) = site.visit_form(fields(&asked)).await;
        let page = site.page(&visitor, "").await;
        assert!(!page.contains("send.yes"), "{asked}");
    }
    let fixed = json!({"id": "why", "type": "text", "label": "Why?", "default": "because",
        "rendering": {"readonly": true}});
    let (_, visitor) = site.visit_form(fields(&json!([fixed, boolean]))).await;
    assert!(site.page(&visitor, "").await.contains("send.yes"));
}

#[tokio::test]
async fn a_note_may_stand_above_yes_and_no() {
    let site = Site::new().await;
    let boolean = json!({"id": "go", "type": "boolean", "label": "Go?", "required": true});
    let note = json!({"id": "why", "type": "text", "label": "Why?", "rendering": {"rows": 2}});
    let (id, visitor) = site.visit_form(fields(&json!([note, boolean]))).await;
    let page = site.page(&visitor, "").await;
    assert!(page.contains("name=\"f.why\""), "{page}");
    assert!(!page.contains("value=\"review\""), "{page}");
    // Enter in the note saves it, and answers nothing.
    assert!(page.contains("<button class=\"default\" name=\"_do\" value=\"save\""));
    let typed = [("_f", "0"), ("f.why", "Not on Friday"), ("_f", "1")];
    site.post(&visitor, &[&typed[..], &[("_do", "save")]].concat())
        .await;
    assert_eq!(site.draft(id).await.get("go"), None);
    assert_eq!(site.draft(id).await["why"], "Not on Friday");
    site.post(&visitor, &[&typed[..], &[("_do", "send.no")]].concat())
        .await;
    let answers = json!({"why": "Not on Friday", "go": false});
    assert_eq!(site.result(id).await, Some(answers));

    let two = json!({"id": "more", "type": "text", "label": "More?"});
    let required = json!({"id": "why", "type": "text", "label": "Why?", "required": true});
    let secret = json!({"id": "why", "type": "text", "label": "Why?", "sensitive": true});
    for asked in [
        json!([note, two, boolean]),
        json!([required, boolean]),
        json!([secret, boolean]),
    ] {
        let (_, visitor) = site.visit_form(fields(&asked)).await;
        assert!(
            !site.page(&visitor, "").await.contains("send.yes"),
            "{asked}"
        );
    }
}

#[tokio::test]
async fn neither_declining_nor_waiting_says_no() {
    let site = Site::new().await;
    let (id, visitor) = site.visit_form(yes_no()).await;
    site.post(&visitor, &[("_f", "0"), ("_do", "extend")]).await;
    site.save(&visitor, &[("_f", "0")]).await;
    assert_eq!(site.draft(id).await.get("go"), None);
    // Without an answer, nothing is sent.
    let sent = site.post(&visitor, &[("_f", "0"), ("_do", "send")]).await;
    let place = sent.headers[header::LOCATION].to_str().unwrap();
    assert!(place.ends_with("?check"), "{place}");
    let page = site.page(&visitor, "?check").await;
    assert_eq!(summary(&page), ["Answer this question"]);
    assert!(page.contains("This does not mean “No”."));
    let german = site.page_in_german(&visitor, "?check").await;
    assert_eq!(summary(&german), ["Beantworten Sie diese Frage"]);
    for part in [
        "send.yes\">Ja<",
        "send.no\">Nein<",
        "Das bedeutet nicht „Nein“.",
    ] {
        assert!(german.contains(part), "{part}");
    }
    site.post(&visitor, &[("_f", "0"), ("_do", "decline")])
        .await;
    assert_eq!(site.status(id).await, Status::Declined);
    assert_eq!(site.result(id).await, None);
    let closed = site.page(&visitor, "").await;
    assert!(
        closed.contains("<h1>You chose not to answer</h1>"),
        "{closed}"
    );
    assert!(closed.contains("This does not mean “No”."));
}

#[tokio::test]
async fn two_errors_are_two_lines() {
    let site = Site::new().await;
    let asked = json!([
        {"id": "v", "type": "text", "label": "Version", "rendering": {"placeholder": "1.4.0"},
         "validation": {"minLength": 5, "pattern": "^[0-9.]+$"}},
        {"id": "n", "type": "text", "label": "N"},
    ]);
    let (_, visitor) = site.visit_form(fields(&asked)).await;
    let wrong = [("_f", "0"), ("f.v", "abc"), ("_f", "1"), ("f.n", "x")];
    let review = wrong.iter().copied().chain([("_do", "review")]);
    site.post(&visitor, &review.collect::<Vec<_>>()).await;
    let page = site.page(&visitor, "?check").await;
    let lines = [
        "Version must be at least 5 characters",
        "Version does not have the expected format. Example: 1.4.0",
    ];
    assert_eq!(errors(&page, 0), lines);
    assert_eq!(summary(&page), lines);
    // Whoever reads the page need not read patterns.
    assert!(!page.contains("[0-9.]"), "{page}");
    let saved = site.save(&visitor, &wrong).await;
    assert_eq!(saved["fields"][0]["errors"], json!(lines));
}

#[tokio::test]
async fn two_fields_with_the_same_error_are_told_apart() {
    let site = Site::new().await;
    let asked = json!([
        {"id": "a", "type": "text", "label": "Who <is> it?", "required": true},
        {"id": "b", "type": "text", "label": "What is B?", "required": true},
        {"id": "c", "type": "text", "label": "C", "required": true},
    ]);
    let (_, visitor) = site.visit_form(fields(&asked)).await;
    let page = site.page(&visitor, "?check").await;
    assert_eq!(
        summary(&page),
        [
            "Who &#60;is&#62; it? – Answer this question",
            "What is B? – Answer this question",
            "C is required",
        ]
    );
    // Beside its field, the error needs no label.
    assert_eq!(errors(&page, 0), ["Answer this question"]);
}

#[tokio::test]
async fn a_page_that_was_checked_is_told_what_is_still_missing() {
    let site = Site::new().await;
    let asked = json!([
        {"id": "a", "type": "text", "label": "A", "required": true},
        {"id": "b", "type": "text", "label": "What is B?", "required": true},
    ]);
    let (_, visitor) = site.visit_form(fields(&asked)).await;
    let typed = [("_f", "0"), ("f.a", "x"), ("_f", "1"), ("f.b", "")];
    let before = site.save(&visitor, &typed).await;
    assert_eq!(before["fields"][1]["errors"], json!([]));
    let checked = typed.iter().copied().chain([("_check", "")]);
    let after = site.save(&visitor, &checked.collect::<Vec<_>>()).await;
    assert_eq!(after["fields"][0]["errors"], json!([]));
    assert_eq!(
        after["fields"][1]["errors"],
        json!(["Answer this question"])
    );
}

#[tokio::test]
async fn what_only_sending_found_goes_when_that_answer_changes() {
    let site = Site::new().await;
    let asked = json!([
        {"id": "site", "type": "url", "label": "Site", "required": true},
        {"id": "note", "type": "text", "label": "Note"},
    ]);
    let (_, visitor) = site.visit_form(fields(&asked)).await;
    let typed = |site: &'static str, note: &'static str| {
        vec![
            ("_f", "0"),
            ("f.site", site),
            ("_f", "1"),
            ("f.note", note),
            ("_check", ""),
        ]
    };
    let inside = "https://inside.example.com/";
    let send = typed(inside, "").into_iter().chain([("_do", "send")]);
    site.post(&visitor, &send.collect::<Vec<_>>()).await;
    let found = json!(["Site must lead to a public address"]);
    let saved = site.save(&visitor, &typed(inside, "another answer")).await;
    assert_eq!(saved["fields"][0]["errors"], found);
    let saved = site
        .save(&visitor, &typed("https://example.com/", ""))
        .await;
    assert_eq!(saved["fields"][0]["errors"], json!([]));
}

#[tokio::test]
async fn testing_an_address_tells_what_the_guard_warns_of() {
    let site = Site::new().await;
    let asked = json!([{"id": "u", "type": "url", "label": "Link",
        "rendering": {"testButton": true}}, {"id": "n", "type": "text", "label": "N"}]);
    let (_, visitor) = site.visit_form(fields(&asked)).await;
    let test = |url| [("_f", "0"), ("f.u", url), ("_do", "test.0")];
    site.post(
        &visitor,
        &test("https://example.com:9443/?to=https://example.net/"),
    )
    .await;
    let page = site.page(&visitor, "?test=0").await;
    assert!(page.contains("This address can be used"));
    for warning in [
        "The address uses an unusual port.",
        "The address contains another address and may redirect you to it.",
    ] {
        assert!(
            page.contains(&format!("<li>{warning}</li>")),
            "{warning}: {page}"
        );
    }
    let german = site.page_in_german(&visitor, "?test=0").await;
    assert!(german.contains("<li>Die Adresse verwendet einen ungewöhnlichen Port.</li>"));
    site.post(&visitor, &test("https://example.com/")).await;
    let page = site.page(&visitor, "?test=0").await;
    assert!(page.contains("This address can be used") && !page.contains("class=\"warnings\""));
}

fn secrets() -> Value {
    fields(&json!([
        {"id": "key", "type": "text", "label": "Key", "sensitive": true, "required": true,
         "validation": {"minLength": 8}},
        {"id": "old", "type": "text", "label": "Old key", "sensitive": true,
         "validation": {"minLength": 8}},
    ]))
}

#[tokio::test]
async fn a_secret_that_is_not_valid_is_not_kept() {
    let site = Site::new().await;
    let (id, visitor) = site.visit_form(secrets()).await;
    let typed = [
        ("_f", "0"),
        ("f.key", "canary"),
        ("_f", "1"),
        ("f.old", "canary-old-7f3a"),
    ];
    // While somebody types, it stays in its input.
    let saved = site.save(&visitor, &typed).await;
    let too_short = "Key must be at least 8 characters";
    assert_eq!(saved["fields"][0]["errors"], json!([too_short]));
    assert_eq!(saved["fields"][1]["errors"], json!([]));
    let draft = site.draft(id).await;
    assert_eq!(
        (&draft["key"], &draft["old"]),
        (&Value::Null, &json!("canary-old-7f3a"))
    );
    // The page that follows has to be told to.
    for action in ["review", "save", "extend"] {
        let post = typed.iter().copied().chain([("_do", action)]);
        let refused = site.post(&visitor, &post.collect::<Vec<_>>()).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{action}");
        let page = text(&refused);
        let lines = [too_short, "What you typed was not saved. Type it again."];
        assert_eq!(errors(&page, 0), lines, "{action}");
        assert_eq!(summary(&page), lines, "{action}");
        assert!(!page.contains("canary"));
        // Only the one that was kept can be left as it is.
        assert_eq!(
            page.matches("You already entered a value").count(),
            1,
            "{action}"
        );
    }
    assert_eq!(site.draft(id).await["key"], Value::Null);
    let page = site.page(&visitor, "?check").await;
    assert_eq!(summary(&page), ["Key is required"]);
}

#[tokio::test]
async fn limits_are_said_before_they_are_broken() {
    let site = Site::new().await;
    let asked = json!([
        {"id": "name", "type": "text", "label": "Name",
         "validation": {"minLength": 3, "maxLength": 20}},
        {"id": "count", "type": "number", "label": "Count",
         "validation": {"minimum": 1, "maximum": 9, "multipleOf": 1}},
        {"id": "few", "type": "multi_select", "label": "Few", "options": ["a", "b", "c"],
         "validation": {"minItems": 2}},
        {"id": "photo", "type": "file", "label": "Photo",
         "validation": {"allowedMimeTypes": ["image/*", "application/pdf"]}},
        {"id": "day", "type": "date", "label": "Day"},
        {"id": "long", "type": "text", "label": "Long"},
    ]);
    let (_, visitor) = site.visit_form(fields(&asked)).await;
    let page = site.page(&visitor, "").await;
    for part in [
        "id=\"n0\">3 to 20 characters</p>",
        "data-most=\"20\"",
        "data-over=\"{} characters too many\"",
        "id=\"n1\">1 to 9</p>",
        "id=\"n2\">Choose at least 2</p>",
        "id=\"n3\">One file, up to 10 MB: pictures, PDF.</p>",
        "accept=\"image/*,application/pdf\"",
        // An input is as wide as its answer.
        "class=\"w-20\" id=\"f0\"",
        "class=\"w-5\" id=\"f1\"",
        "class=\"w-date\" id=\"f4\"",
        "<input type=\"text\" id=\"f5\"",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let german = site.page_in_german(&visitor, "").await;
    for part in [
        "3 bis 20 Zeichen",
        "Wählen Sie mindestens 2",
        "bis 10 MB: Bilder, PDF.",
    ] {
        assert!(german.contains(part), "{part}");
    }
}

#[tokio::test]
async fn a_file_of_another_kind_and_size_is_refused_in_words() {
    let site = Site::new().await;
    let asked = json!([
        {"id": "photo", "type": "file", "label": "Photo",
         "validation": {"allowedMimeTypes": ["image/*"], "maxSize": 1536}}]);
    let (_, visitor) = site.visit_form(fields(&asked)).await;
    let upload = async |kind: &str, body: String| {
        let headers = [
            ("cookie", &*visitor.cookie),
            ("x-entreat-form", &*visitor.csrf),
            ("x-entreat-file", "notes.txt"),
            ("content-type", kind),
            ("accept-language", "de"),
        ];
        let path = format!("{}/files/0", visitor.here);
        text(&site.send(Method::POST, &path, &headers, body).await)
    };
    let refused = upload("text/plain", "hello".to_owned()).await;
    assert!(
        refused.contains("Bilder") && !refused.contains("image/"),
        "{refused}"
    );
    let refused = upload("image/png", "x".repeat(2000)).await;
    assert!(refused.contains("1,5 KB"), "{refused}");
}

#[tokio::test]
async fn dates_are_written_in_the_readers_way() {
    let site = Site::new().await;
    let asked = json!([
        {"id": "day", "type": "date", "label": "Day"},
        {"id": "at", "type": "date", "label": "At", "validation": {"format": "date-time"}},
    ]);
    let (_, visitor) = site.visit_form(fields(&asked)).await;
    let answers = [
        ("_f", "0"),
        ("f.day", "2026-03-01"),
        ("_f", "1"),
        ("f.at", "2026-03-01T09:05"),
        ("z.at", "+01:00"),
        ("_do", "review"),
    ];
    site.post(&visitor, &answers).await;
    let review = site.page(&visitor, "/review").await;
    assert!(review.contains("<bdi>1 March 2026</bdi>"), "{review}");
    assert!(
        review.contains("<bdi>1 March 2026, 09:05 (UTC+01:00)</bdi>"),
        "{review}"
    );
    let german = site.page_in_german(&visitor, "/review").await;
    assert!(german.contains("<bdi>1. März 2026</bdi>"));
}

#[tokio::test]
async fn the_deadline_is_quiet_until_it_matters() {
    let site = Site::new().await;
    let (_, visitor) = site.visit_form(yes_no()).await;
    let page = site.page(&visitor, "").await;
    assert!(page.contains("<section class=\"clock\""), "{page}");
    site.world.pass(Duration::from_secs(280)).await;
    let page = site.page(&visitor, "").await;
    assert!(page.contains("<section class=\"clock late\""), "{page}");
    assert!(page.contains("20 seconds left"));
}

#[tokio::test]
async fn sending_too_early_uses_up_no_attempt() {
    let site = Site::new().await;
    let asked = json!([
        {"id": "a", "type": "text", "label": "A", "required": true, "validation": {"minLength": 3}},
    ]);
    let (id, visitor) = site.visit_form(fields(&asked)).await;
    for _ in 0..4 {
        let sent = site.post(&visitor, &[("_f", "0"), ("_do", "send")]).await;
        let place = sent.headers[header::LOCATION].to_str().unwrap();
        assert!(place.ends_with("?check"), "{place}");
        let page = site.page(&visitor, "?check").await;
        assert_eq!(summary(&page), ["A is required"]);
        assert!(!page.contains("attempt"), "{page}");
    }
    assert_eq!(site.status(id).await, Status::Active);
    // A wrong answer does.
    for left in ["2 attempts left", "last attempt"] {
        let wrong = [("_f", "0"), ("f.a", "x"), ("_do", "send")];
        site.post(&visitor, &wrong).await;
        let page = site.page(&visitor, "?check").await;
        assert!(page.contains(left), "{page}");
    }
}

#[tokio::test]
async fn two_buttons_come_before_a_note_that_depends_on_the_answer() {
    let site = Site::new().await;
    let asked = |dependencies: Value| {
        json!([
            {"id": "go", "type": "boolean", "label": "May it run?", "required": true},
            {"id": "why", "type": "text", "label": "Reason", "dependencies": dependencies}])
    };
    let (id, visitor) = site.visit_form(fields(&asked(json!(["go"])))).await;
    let page = site.page(&visitor, "").await;
    let place = |text: &str| {
        page.find(text)
            .unwrap_or_else(|| panic!("{text} in {page}"))
    };
    assert!(place("May it run?") < place("send.yes"));
    assert!(place("send.no") < place("Reason"));
    let said = [
        ("_f", "0"),
        ("_f", "1"),
        ("f.why", "Too late"),
        ("_do", "send.no"),
    ];
    site.post(&visitor, &said).await;
    let result = json!({"go": false, "why": "Too late"});
    assert_eq!(site.result(id).await, Some(result));
    // Any other form is sent once both are filled in.
    let (_, visitor) = site.visit_form(fields(&asked(json!([])))).await;
    assert!(!site.page(&visitor, "").await.contains("send.yes"));
}

#[tokio::test]
async fn the_page_of_an_asker_that_is_gone_says_that_nobody_waits_and_what_is_kept() {
    let site = Site::new().await;
    let note = json!([{"id": "why", "type": "text", "label": "Reason"}]);
    for (reason, keys, title, is_kept) in [
        (
            CancelReason::SessionExpired,
            json!(["k"]),
            "Nobody waits for your answer",
            true,
        ),
        (
            CancelReason::SessionExpired,
            json!([]),
            "Nobody waits for your answer",
            false,
        ),
        (
            CancelReason::ClientDisconnected,
            json!([]),
            "Nobody waits for your answer",
            false,
        ),
        (
            CancelReason::AskerCancelled,
            json!(["k"]),
            "Question withdrawn",
            false,
        ),
    ] {
        let form = entreat_core::Form::from_value(&fields(&note)).unwrap();
        let ask = Ask::form(form).metadata(json!({"gateway": keys}));
        let question = site.world.session.asker().ask(ask).await.unwrap();
        let visitor = site.visit(question.id()).await;
        site.save(&visitor, &[("_f", "0"), ("f.why", "Because")])
            .await;
        question.cancel(reason).await.unwrap();
        let page = site.page(&visitor, "").await;
        assert!(page.contains(title), "{reason:?}: {page}");
        assert_eq!(
            page.contains("what you typed is kept"),
            is_kept,
            "{reason:?}: {page}"
        );
    }
}

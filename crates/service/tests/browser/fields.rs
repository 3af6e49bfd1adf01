//! Every field type in every style, from the page to the asker.

use serde_json::{Value, json};

use crate::{Scene, both_ways, with_the_script};

both_ways! {
    texts_come_back_as_typed,
    numbers_come_back_as_numbers,
    booleans_come_back_as_yes_and_no,
    one_option_comes_back_by_its_value,
    several_options_come_back_by_their_values,
    addresses_come_back_and_can_be_tested,
    dates_come_back_and_moments_with_their_offset,
    what_the_author_filled_in_is_sent_unless_it_is_changed,
    a_readonly_field_is_shown_and_a_hidden_one_is_not,
}
with_the_script! {
    a_secret_can_be_looked_at_while_it_is_typed,
    a_slider_says_where_it_stands,
    a_search_narrows_the_options_and_submits_nothing,
    a_folded_list_says_what_is_chosen_in_it,
}

impl Scene {
    /// Asks one field, lets `act` answer it, and sends.
    async fn answer(&self, field: Value, act: impl AsyncFnOnce(), expected: Value) {
        let mut field = field;
        field["id"] = json!("it");
        field["label"] = json!("It");
        let question = self.site.ask_fields(json!([field])).await;
        self.browser.open(&question).await;
        act().await;
        self.browser.go_on().await;
        self.browser.until_headed("Answer sent").await;
        assert_eq!(question.result().await["it"], expected, "{field}");
    }
}

const OPTIONS: [&str; 3] = ["red", "green", "blue"];

async fn texts_come_back_as_typed(scene: Scene) {
    let page = &scene.browser;
    let word = "Zoë ש <b>&amp; \"'";
    scene
        .answer(
            json!({"type": "text"}),
            async || page.fill("#f0", word).await,
            json!(word),
        )
        .await;
    for style in ["email", "tel", "text"] {
        let field = json!({"type": "text", "rendering": {"displayStyle": style}});
        let typed = match style {
            "email" => "zoe@example.com",
            "tel" => "+49 30 1234",
            _ => "plain",
        };
        let act = async || {
            assert_eq!(
                page.find("#f0").await.attr("type").await.unwrap().unwrap(),
                style
            );
            page.fill("#f0", typed).await;
        };
        scene.answer(field, act, json!(typed)).await;
    }
    let field = json!({"type": "text", "rendering": {"displayStyle": "password"}});
    let act = async || {
        assert_eq!(
            page.find("#f0").await.attr("type").await.unwrap().unwrap(),
            "password"
        );
        page.fill("#f0", "hunter2").await;
    };
    scene.answer(field, act, json!("hunter2")).await;
    let field = json!({"type": "text", "rendering": {"rows": 4}});
    let act = async || page.fill("textarea#f0", "one\ntwo\n\nfour").await;
    scene.answer(field, act, json!("one\ntwo\n\nfour")).await;
}

async fn numbers_come_back_as_numbers(scene: Scene) {
    let page = &scene.browser;
    let number = |rendering: Value| json!({"type": "number", "rendering": rendering, "validation": {"minimum": 0, "maximum": 20}});
    let act = async || page.fill("#f0", "12.5").await;
    scene.answer(number(json!({})), act, json!(12.5)).await;
    let act = async || page.fill("#f0[type=number][step='2']", "14").await;
    scene
        .answer(number(json!({"step": 2})), act, json!(14))
        .await;
    let act = async || {
        page.type_into("#f0[type=range]", "\u{e014}\u{e014}\u{e014}")
            .await;
    };
    scene
        .answer(number(json!({"displayStyle": "slider"})), act, json!(3))
        .await;
}

async fn booleans_come_back_as_yes_and_no(scene: Scene) {
    let page = &scene.browser;
    for style in ["checkbox", "toggle"] {
        let field = json!({"type": "boolean", "rendering": {"displayStyle": style}});
        scene
            .answer(field.clone(), async || page.click("#f0").await, json!(true))
            .await;
        scene.answer(field, async || {}, json!(false)).await;
    }
    let field = json!({"type": "boolean", "rendering": {"displayStyle": "radio"}});
    scene
        .answer(
            field.clone(),
            async || page.click("#f0-0").await,
            json!(true),
        )
        .await;
    scene
        .answer(field, async || page.click("#f0-1").await, json!(false))
        .await;
}

async fn one_option_comes_back_by_its_value(scene: Scene) {
    let page = &scene.browser;
    let titled = json!([{"value": "r", "title": "Red"}, {"value": "g", "title": "Green"}]);
    let select = |rendering: Value| {
        let (kind, options) = ("select", &titled);
        json!({"type": kind, "required": true, "options": options, "rendering": rendering})
    };
    let act = async || {
        page.find("select#f0")
            .await
            .select_by_label("Green")
            .await
            .unwrap();
    };
    scene
        .answer(select(json!({"displayStyle": "dropdown"})), act, json!("g"))
        .await;
    for style in ["radio", "segmented"] {
        let act = async || page.click(&format!(".{style} #f0-1")).await;
        scene
            .answer(select(json!({"displayStyle": style})), act, json!("g"))
            .await;
    }
    let act = async || page.click(".long #f0-1").await;
    scene
        .answer(select(json!({"searchable": true})), act, json!("g"))
        .await;
    let mut optional = select(json!({"displayStyle": "radio"}));
    optional["required"] = json!(false);
    let act = async || {
        page.click("#f0-1").await;
        page.click("#f0-none").await;
    };
    scene.answer(optional, act, Value::Null).await;
}

async fn several_options_come_back_by_their_values(scene: Scene) {
    let page = &scene.browser;
    for style in ["checkbox", "multiselect_dropdown", "chips"] {
        let rendering = json!({"displayStyle": style});
        let field = json!({"type": "multi_select", "options": OPTIONS, "rendering": rendering});
        let act = async || {
            if style == "multiselect_dropdown" {
                page.click(".fold summary").await;
            }
            for option in ["f0-0", "f0-1", "f0-2", "f0-1"] {
                page.click(&format!("#{option}")).await;
            }
        };
        scene.answer(field, act, json!(["red", "blue"])).await;
    }
}

async fn addresses_come_back_and_can_be_tested(scene: Scene) {
    let page = &scene.browser;
    let field = json!({"type": "url", "rendering": {"testButton": true}});
    let act = async || {
        page.fill("#f0", "https://inside.example.com/").await;
        page.click("button[value='test.0']").await;
        page.find(".verdict.bad").await;
        page.fill("#f0", "https://example.com/a?b=c").await;
        page.click("button[value='test.0']").await;
        let verdict = page.text(".verdict.good").await;
        assert_eq!(verdict, "This address can be used. It was not opened.");
    };
    scene
        .answer(field, act, json!("https://example.com/a?b=c"))
        .await;
}

async fn dates_come_back_and_moments_with_their_offset(scene: Scene) {
    let page = &scene.browser;
    let act = async || page.type_into("#f0[type=date]", "06012026").await;
    scene
        .answer(json!({"type": "date"}), act, json!("2026-06-01"))
        .await;
    let field = json!({"type": "date", "validation": {"format": "date-time"}});
    let act = async || {
        page.type_into("#f0[type=datetime-local]", "06012026\u{e004}0930AM")
            .await;
        page.fill("#z0", "+02:00").await;
    };
    scene
        .answer(field, act, json!("2026-06-01T09:30:00+02:00"))
        .await;
    let field = json!({"type": "date", "rendering": {"displayStyle": "text"}});
    let act = async || page.fill("#f0[type=text]", "2026-06-01").await;
    scene.answer(field, act, json!("2026-06-01")).await;
}

async fn what_the_author_filled_in_is_sent_unless_it_is_changed(scene: Scene) {
    let page = &scene.browser;
    let fields = json!([
        {"id": "name", "type": "text", "label": "Name", "default": "blue-green"},
        {"id": "count", "type": "number", "label": "Count", "default": 3},
        {"id": "on", "type": "boolean", "label": "On", "default": true},
        {"id": "color", "type": "select", "label": "Color", "options": OPTIONS, "default": "green"},
        {"id": "colors", "type": "multi_select", "label": "Colors", "options": OPTIONS,
         "default": ["red", "blue"]},
        {"id": "day", "type": "date", "label": "Day", "default": "2026-06-01"},
        {"id": "note", "type": "text", "label": "Note", "default": "left out"},
    ]);
    let question = scene.site.ask_fields(fields).await;
    page.open(&question).await;
    page.fill("#f1", "4").await;
    page.find("#f6").await.clear().await.unwrap();
    page.review_and_send().await;
    let expected = json!({
        "name": "blue-green", "count": 4, "on": true, "color": "green",
        "colors": ["red", "blue"], "day": "2026-06-01",
    });
    assert_eq!(question.result().await, expected);
}

async fn a_readonly_field_is_shown_and_a_hidden_one_is_not(scene: Scene) {
    let page = &scene.browser;
    let fields = json!([
        {"id": "fixed", "type": "text", "label": "Fixed", "default": "as it is",
         "rendering": {"readonly": true}},
        {"id": "away", "type": "text", "label": "Away", "default": "unseen",
         "rendering": {"hidden": true}},
        {"id": "a", "type": "text", "label": "A"},
        {"id": "b", "type": "text", "label": "B"},
    ]);
    let question = scene.site.ask_fields(fields).await;
    page.open(&question).await;
    assert_eq!(page.text("output#f0").await, "as it is");
    assert!(!page.client.source().await.unwrap().contains("unseen\""));
    page.fill("#f2", "typed").await;
    page.review_and_send().await;
    let expected = json!({"fixed": "as it is", "away": "unseen", "a": "typed"});
    assert_eq!(question.result().await, expected);
}

async fn a_secret_can_be_looked_at_while_it_is_typed(scene: Scene) {
    let page = &scene.browser;
    let fields = json!([{"id": "key", "type": "text", "label": "Key", "sensitive": true}]);
    let question = scene.site.ask_fields(fields).await;
    page.open(&question).await;
    page.fill("#f0", "hunter2").await;
    page.click(".reveal").await;
    assert_eq!(
        page.find("#f0").await.attr("type").await.unwrap().unwrap(),
        "text"
    );
    assert_eq!(page.text(".reveal").await, "Hide");
    page.click(".reveal").await;
    assert_eq!(
        page.find("#f0").await.attr("type").await.unwrap().unwrap(),
        "password"
    );
    page.go_on().await;
    assert_eq!(question.result().await, json!({"key": "hunter2"}));
}

async fn a_slider_says_where_it_stands(scene: Scene) {
    let page = &scene.browser;
    let fields = json!([{"id": "n", "type": "number", "label": "N", "default": 5,
        "rendering": {"displayStyle": "slider"}}]);
    let question = scene.site.ask_fields(fields).await;
    page.open(&question).await;
    assert_eq!(page.text(".slider output").await, "5");
    page.type_into("#f0", "\u{e014}\u{e014}").await;
    assert_eq!(page.text(".slider output").await, "7");
}

async fn a_search_narrows_the_options_and_submits_nothing(scene: Scene) {
    let page = &scene.browser;
    let fields = json!([{"id": "c", "type": "select", "label": "C", "options": OPTIONS,
        "required": true, "rendering": {"searchable": true}}]);
    let question = scene.site.ask_fields(fields).await;
    page.open(&question).await;
    page.fill("#s0", "GRE\u{e007}").await;
    page.until("document.querySelectorAll('.option:not([hidden])').length === 1")
        .await;
    page.click("#f0-1").await;
    page.go_on().await;
    assert_eq!(question.result().await, json!({"c": "green"}));
}

async fn a_folded_list_says_what_is_chosen_in_it(scene: Scene) {
    let page = &scene.browser;
    let rendering = json!({"displayStyle": "multiselect_dropdown"});
    let fields = json!([{"id": "c", "type": "multi_select", "label": "C", "options": OPTIONS,
        "rendering": rendering}]);
    let question = scene.site.ask_fields(fields).await;
    page.open(&question).await;
    page.click(".fold summary").await;
    page.click("#f0-0").await;
    page.click("#f0-2").await;
    assert_eq!(page.text(".fold summary").await, "red, blue");
}

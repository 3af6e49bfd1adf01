//! Every page in every state: accessible, valid, no wider than a phone, and saved as a screenshot
//! on request.
//!
//! Each state is checked in light and dark mode, wide and narrow.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use entreat_core::CancelReason;
use serde_json::json;

use crate::driver::Browser;
use crate::files::Folder;
use crate::forms::{conditional, everything, small};
use crate::site::{Question, form};
use crate::{Scene, Script, with_the_script};

with_the_script! {
    a_question_with_every_field,
    a_question_with_every_error,
    a_review,
    a_condition_that_holds,
    more_questions,
    a_grid,
    sections,
    markdown,
    a_single_question,
    the_start_page,
    sent,
    answered_elsewhere,
    declined,
    cancelled,
    withdrawn,
    attempts_used,
    expired,
    not_found,
    an_inbox,
    an_empty_inbox,
    a_warning,
    files_that_were_sent,
    german,
    right_to_left,
}

#[test]
fn a_page_that_is_not_accessible_is_found_out() {
    crate::play(Script::On, async |scene| {
        let question = scene.site.ask(small()).await;
        scene.browser.open(&question).await;
        scene.browser.find("#question").await;
        load_axe(&scene.browser).await;
        assert_eq!(violations(&scene.browser).await, Vec::<String>::new());
        scene
            .browser
            .eval("document.querySelector('label[for=f0]').remove()")
            .await;
        let found = violations(&scene.browser).await;
        assert!(
            found.iter().any(|violation| violation.starts_with("label")),
            "{found:?}"
        );
    });
}

const LIGHT_AND_DARK: [&str; 2] = ["light", "dark"];
const WIDE_AND_NARROW: [(&str, u32); 2] = [("wide", 900), ("narrow", 320)];

/// Elements that overflow the page.
const TOO_WIDE: &str = "document.documentElement.scrollWidth <= innerWidth ? [] : \
    [...document.querySelectorAll('*')] \
        .filter((element) => element.getBoundingClientRect().right > innerWidth) \
        .map((element) => element.outerHTML.slice(0, 100))";

/// Checks a page in both themes and widths.
pub(crate) async fn inspect(name: &str, page: &Browser) {
    validate(name, page).await;
    load_axe(page).await;
    for theme in LIGHT_AND_DARK {
        // With animations finished, so that screenshots are reproducible.
        let scheme = json!([
            {"name": "prefers-color-scheme", "value": theme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]);
        page.devtools("Emulation.setEmulatedMedia", json!({"features": scheme}))
            .await;
        for (breadth, width) in WIDE_AND_NARROW {
            page.resize(width, 900).await;
            let wide = page.eval(TOO_WIDE).await;
            assert_eq!(wide, json!([]), "{name} is too wide, {breadth}");
            let found = violations(page).await;
            assert!(
                found.is_empty(),
                "{name}, {theme}, {breadth}:\n{}",
                found.join("\n")
            );
            draw(name, theme, breadth, width, page).await;
        }
    }
}

async fn load_axe(page: &Browser) {
    let axe = std::fs::read_to_string(peers().join("node_modules/axe-core/axe.min.js"));
    let Ok(axe) = axe else {
        panic!("axe-core is missing: `cargo xtask test` installs it");
    };
    page.client.execute(&axe, Vec::new()).await.unwrap();
}

/// The findings of axe.
async fn violations(page: &Browser) -> Vec<String> {
    let run = "const done = arguments[arguments.length - 1];
        const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22a', 'wcag22aa', 'best-practice'];
        const options = {runOnly: {type: 'tag', values: tags}, resultTypes: ['violations']};
        axe.run(document, options).then((found) => done(found.violations.map((violation) =>
            violation.id + ': ' + violation.nodes.map((node) =>
                node.html.slice(0, 200) + ' ' + node.failureSummary).join('\\n    '))),
            (error) => done([String(error)]));";
    let found = page.client.execute_async(run, Vec::new()).await.unwrap();
    serde_json::from_value(found).unwrap()
}

/// The served HTML passes a validator.
async fn validate(name: &str, page: &Browser) {
    let fetch = "const done = arguments[arguments.length - 1];
        fetch(location.href).then((response) => response.text()).then(done, (e) => done(String(e)));";
    let html = page.client.execute_async(fetch, Vec::new()).await.unwrap();
    let folder = Folder::new();
    let file = folder.with("page.html", html.as_str().unwrap().as_bytes());
    let validator = peers().join("node_modules/.bin/html-validate");
    let output = Command::new(validator)
        .arg("--config")
        .arg(peers().join("htmlvalidate.mjs"))
        .arg(file)
        .output();
    let Ok(output) = output else {
        panic!("html-validate is missing: `cargo xtask test` installs it");
    };
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{name}: {said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// The folder of the npm packages.
fn peers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers")
}

/// Saves a screenshot, if a folder is set.
pub(crate) async fn draw(name: &str, theme: &str, breadth: &str, width: u32, page: &Browser) {
    #[expect(
        clippy::disallowed_methods,
        reason = "a test binary takes no arguments of its own"
    )]
    let folder = std::env::var_os("ENTREAT_SCREENSHOTS");
    let Some(folder) = folder else {
        return;
    };
    let file = match (theme, breadth) {
        ("light", "wide") => format!("{name}.png"),
        ("dark", "wide") => format!("{name}-dark.png"),
        ("light", _) => format!("{name}-narrow.png"),
        _ => return,
    };
    page.resize(width, 300).await;
    let height = page.eval("document.documentElement.scrollHeight").await;
    let height = u32::try_from(height.as_u64().unwrap()).unwrap();
    page.resize(width, height).await;
    let picture = page.client.screenshot().await.unwrap();
    std::fs::write(Path::new(&folder).join(file), picture).unwrap();
}

/// Asks the small form and fills it in.
async fn filled(scene: &Scene) -> Question {
    let page = &scene.browser;
    let question = scene.site.ask(small()).await;
    page.open(&question).await;
    page.fill("#f0", "blue-green").await;
    page.fill("#f1", "hunter2").await;
    page.click("#f2-0").await;
    page.click("#f2-2").await;
    page.fill("#f4", "First the small region,\nthen the rest.")
        .await;
    question
}

async fn a_question_with_every_field(scene: Scene) {
    let ask = scene.site.ask_with(everything(), |ask| {
        ask.message("The tests have passed. I need a few decisions before I go on.")
    });
    let question = ask.await;
    scene.browser.open(&question).await;
    scene.browser.find("#question").await;
    inspect("question", &scene.browser).await;
}

async fn a_question_with_every_error(scene: Scene) {
    let question = scene.site.ask(everything()).await;
    scene.browser.open(&question).await;
    scene.browser.fill("#f0", "ab").await;
    scene.browser.fill("#f5", "ten").await;
    scene.browser.fill("#f18", "http://localhost/").await;
    scene.browser.go_on().await;
    scene.browser.find("#summary").await;
    inspect("errors", &scene.browser).await;
}

async fn a_review(scene: Scene) {
    let _question = filled(&scene).await;
    scene.browser.go_on().await;
    scene.browser.find("#review").await;
    inspect("review", &scene.browser).await;
}

async fn a_condition_that_holds(scene: Scene) {
    let question = scene.site.ask(conditional()).await;
    scene.browser.open(&question).await;
    scene.browser.click("#f0").await;
    scene
        .browser
        .until("!document.getElementById('q1').hidden")
        .await;
    inspect("conditions", &scene.browser).await;
}

async fn more_questions(scene: Scene) {
    let question = scene.site.ask(conditional()).await;
    scene.browser.open(&question).await;
    let address = scene.browser.client.current_url().await.unwrap();
    scene.browser.goto(&format!("{address}?step")).await;
    scene.browser.find(".notice").await;
    inspect("more-questions", &scene.browser).await;
}

async fn a_grid(scene: Scene) {
    let question = scene
        .site
        .ask_fields(json!([
            {"id": "a", "type": "text", "label": "First name", "rendering": {"gridColumn": 1}},
            {"id": "b", "type": "text", "label": "Last name", "rendering": {"gridColumn": 2}},
            {"id": "c", "type": "text", "label": "Street"},
        ]))
        .await;
    scene.browser.open(&question).await;
    scene.browser.find("#question").await;
    inspect("grid", &scene.browser).await;
}

async fn sections(scene: Scene) {
    let question = scene
        .site
        .ask_fields(json!([
            {"id": "a", "type": "text", "label": "Name of the release"},
            {"id": "b", "type": "text", "label": "Host", "section": "Network",
             "rendering": {"gridColumn": 1}},
            {"id": "c", "type": "number", "label": "Port", "rendering": {"gridColumn": 2}},
            {"id": "d", "type": "boolean", "label": "Tell everybody", "section": "Afterwards"},
        ]))
        .await;
    scene.browser.open(&question).await;
    scene.browser.find("#question").await;
    inspect("sections", &scene.browser).await;
    scene.browser.go_on().await;
    scene.browser.find("#review").await;
    inspect("sections-review", &scene.browser).await;
}

async fn markdown(scene: Scene) {
    let description = "Run `deploy --dry-run` first:\n\n```sh\nfor host in web-1 web-2 web-3 web-4; do \
        ssh \"$host\" deploy --dry-run --version 1.4; done\n```";
    let mut form = form(json!([
        {"id": "go", "type": "boolean", "label": "Deploy it", "description": description},
        {"id": "why", "type": "text", "label": "Reason",
         "rendering": {"helpText": "- *short*\n- **true**"}},
    ]));
    form["description"] = json!(
        "| Service | Before | After | Who looks after it |\n|---|---|---|---|\n\
         | web | 1.3.0 | 1.4.0 | the team of the front end |\n| `db` | 7 |"
    );
    let message = "# What changes\n\nThe port moves from **80** to *8080*.\nSee \
        [the plan](https://example.com/plan).\n\n1. Build\n2. Test\n   - unit\n   - browser\n\n\
        > No way back.\n\n```diff\n--- a/web.toml\n+++ b/web.toml\n@@ -1,2 +1,2 @@\n-port = 80\n\
        +port = 8080\n name = \"a name that is longer than a phone is wide, and then some\"\n```";
    let question = scene.site.ask_with(form, |ask| ask.message(message)).await;
    scene.browser.open(&question).await;
    scene.browser.find("#question").await;
    inspect("markdown", &scene.browser).await;
    // A table that is wider than a phone scrolls in its own box; all of a line of code is seen.
    for (css, expected) in [(".wide", true), (".prose pre", false)] {
        let box_of = format!("document.querySelector('{css}')");
        let scrolls = format!("{box_of}.scrollWidth > {box_of}.clientWidth");
        assert_eq!(scene.browser.eval(&scrolls).await, expected, "{css}");
    }
    let lines = "[...document.querySelectorAll('.prose pre :is(span, ins, del, i)')]";
    let heights = format!("{lines}.map(it => it.clientHeight)");
    let is_wrapped = format!("Math.max(...{heights}) >= 2 * Math.min(...{heights})");
    assert_eq!(scene.browser.eval(&is_wrapped).await, true);
}

async fn a_single_question(scene: Scene) {
    let question = scene
        .site
        .ask_fields(json!([
            {"id": "region", "type": "select", "label": "Which region first?", "required": true,
             "options": ["Europe", "United States", "Asia and Pacific"]},
        ]))
        .await;
    scene.browser.open(&question).await;
    scene.browser.find("#question").await;
    inspect("single", &scene.browser).await;
}

async fn the_start_page(scene: Scene) {
    let inbox = scene.site.pages.inbox_link();
    let (service, _) = inbox.split_once("/inbox").unwrap();
    scene.browser.goto(&format!("{service}/")).await;
    scene.browser.until_headed("Entreat").await;
    inspect("start", &scene.browser).await;
}

async fn sent(scene: Scene) {
    let _question = filled(&scene).await;
    scene.browser.review_and_send().await;
    inspect("sent", &scene.browser).await;
}

async fn answered_elsewhere(scene: Scene) {
    let question = scene.site.ask(small()).await;
    question
        .elicitation
        .submit(&json!({"name": "blue-green"}))
        .await
        .unwrap();
    scene.browser.open(&question).await;
    scene.browser.until_headed("Already answered").await;
    inspect("answered", &scene.browser).await;
}

/// Settles a filled form with a button.
async fn left_by(scene: &Scene, button: &str) {
    let _question = filled(scene).await;
    scene.browser.click(".leave summary").await;
    scene
        .browser
        .click(&format!("button[value={button}]"))
        .await;
    scene.browser.find(".closing").await;
}

async fn declined(scene: Scene) {
    left_by(&scene, "decline").await;
    inspect("declined", &scene.browser).await;
}

async fn cancelled(scene: Scene) {
    left_by(&scene, "cancel").await;
    inspect("cancelled", &scene.browser).await;
}

async fn withdrawn(scene: Scene) {
    let question = scene.site.ask(small()).await;
    question
        .elicitation
        .cancel(CancelReason::AskerCancelled)
        .await
        .unwrap();
    scene.browser.open(&question).await;
    scene.browser.find(".closing").await;
    inspect("withdrawn", &scene.browser).await;
}

async fn attempts_used(scene: Scene) {
    let question = scene
        .site
        .ask_fields(json!([
            {"id": "n", "type": "number", "label": "Replicas", "validation": {"maximum": 9}},
        ]))
        .await;
    scene.browser.open(&question).await;
    scene.browser.fill("#f0", "10").await;
    for _ in 0..2 {
        scene.browser.go_on().await;
        scene.browser.find("#summary").await;
    }
    inspect("attempts", &scene.browser).await;
    scene.browser.go_on().await;
    scene.browser.find(".closing").await;
    inspect("attempts-used", &scene.browser).await;
}

async fn expired(scene: Scene) {
    let _question = filled(&scene).await;
    scene.browser.go_on().await;
    scene.browser.find("#review").await;
    scene.site.pass(Duration::from_secs(301)).await;
    scene.browser.find(".sign.late").await;
    inspect("expired", &scene.browser).await;
}

async fn not_found(scene: Scene) {
    let question = scene.site.ask(small()).await;
    let (rest, _) = question.link.rsplit_once('/').unwrap();
    scene
        .browser
        .goto(&format!("{rest}/{}", "A".repeat(43)))
        .await;
    inspect("not-found", &scene.browser).await;
}

async fn an_inbox(scene: Scene) {
    let site = &scene.site;
    let settled = site.ask(small()).await;
    settled.elicitation.decline().await.unwrap();
    for title in [
        "Rotate the signing key",
        "Which region first?",
        "Release 1.4",
    ] {
        site.pass(Duration::from_secs(40)).await;
        let mut form = small();
        form["title"] = json!(title);
        site.ask(form).await;
    }
    scene.browser.goto(&site.pages.inbox_link()).await;
    scene.browser.find(".cards").await;
    inspect("inbox", &scene.browser).await;
}

async fn an_empty_inbox(scene: Scene) {
    scene.browser.goto(&scene.site.pages.inbox_link()).await;
    scene.browser.find("#inbox").await;
    inspect("inbox-empty", &scene.browser).await;
}

async fn a_warning(scene: Scene) {
    let question = scene.site.ask(small()).await;
    scene.browser.open(&question).await;
    scene.site.pass(Duration::from_secs(255)).await;
    scene.browser.find(".clock.late").await;
    inspect("warning", &scene.browser).await;
}

async fn files_that_were_sent(scene: Scene) {
    let page = &scene.browser;
    let question = scene
        .site
        .ask_fields(json!([
            {"id": "files", "type": "file", "label": "Logs and pictures",
             "validation": {"maxItems": 3, "maxSize": 1 << 20},
             "rendering": {"preview": true}},
            {"id": "note", "type": "text", "label": "Note"},
        ]))
        .await;
    page.open(&question).await;
    let folder = Folder::new();
    let log = folder.with(
        "deploy.log.txt",
        b"09:30 started\n09:31 region eu is up\n09:34 done\n",
    );
    scene.choose(&[&folder.picture(), &log], 2).await;
    page.until("document.querySelector('.kept-files img').complete")
        .await;
    inspect("files", page).await;
}

async fn german(scene: Scene) {
    let question = scene.site.ask(small()).await;
    let page = Browser::start(scene.browser.script, "de-CH,de,en").await;
    page.open(&question).await;
    page.find("html[lang=de]").await;
    page.go_on().await;
    page.find("#summary").await;
    inspect("german", &page).await;
}

async fn right_to_left(scene: Scene) {
    let mut form = form(json!([
        {"id": "name", "type": "text", "label": "اسم الإصدار", "required": true,
         "description": "كما يظهر في قائمة التغييرات."},
        {"id": "colors", "type": "multi_select", "label": "الألوان",
         "options": ["أحمر", "أخضر", "أزرق"], "rendering": {"displayStyle": "chips"}},
        {"id": "on", "type": "boolean", "label": "راقبه بعد ذلك",
         "rendering": {"displayStyle": "toggle"}},
    ]));
    form["title"] = json!("الإصدار الجديد");
    let question = scene.site.ask(form).await;
    scene.browser.open(&question).await;
    scene.browser.find("main[dir=rtl]").await;
    inspect("right-to-left", &scene.browser).await;
}

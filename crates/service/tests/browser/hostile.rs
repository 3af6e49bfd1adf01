//! Hostile strings in every part that an asker or a person can fill.
//!
//! Each is compared with a harmless one: the pages have the same elements, and no script ran.

use std::collections::BTreeMap;
use std::time::Duration;

use entreat_core::Form;
use entreat_engine::Ask;
use serde_json::{Value, json};

use crate::files::Folder;
use crate::site::{Question, form};
use crate::{Scene, both_ways};

both_ways! {
    markup_in_any_place_stays_text,
    ways_out_of_attributes_and_templates_stay_text,
    marks_of_direction_and_signs_without_width_break_nothing,
    long_and_strange_texts_stay_within_the_page,
    names_of_files_stay_text,
}

async fn markup_in_any_place_stays_text(scene: Scene) {
    survive(
        scene,
        &[
            "<script>window.pwned=1</script>",
            "</title><script>window.pwned=1</script>",
            "</textarea><script>window.pwned=1</script>",
            "</pre></dd></div></main><script>window.pwned=1</script>",
            "<img src=x onerror=window.pwned=1>",
            "<svg onload=window.pwned=1>",
            "<svg><script>window.pwned=1</script></svg>",
            "<iframe srcdoc='<script>parent.pwned=1</script>'></iframe>",
            "<a href='javascript:window.pwned=1'>here</a>",
            "<details open ontoggle=window.pwned=1>",
            "<video><source onerror=window.pwned=1></video>",
            "<input autofocus onfocus=window.pwned=1>",
            "<body onload=window.pwned=1>",
            "<!--><script>window.pwned=1</script-->",
            "<![CDATA[<script>window.pwned=1</script>]]>",
            "<math><mi xlink:href='javascript:window.pwned=1'>x</mi></math>",
            "<base href='https://example.com/'>",
            "<meta http-equiv=refresh content='0;url=https://example.com/'>",
            "<form action='https://example.com/'><button>Send</button></form>",
            "<style>*{display:none}</style>",
            "<template><img src=x></template>",
            "&lt;script&gt;window.pwned=1&lt;/script&gt;",
            "&#60;script&#62;window.pwned=1&#60;/script&#62;",
            "<scr<script>ipt>window.pwned=1</scr</script>ipt>",
        ],
    )
    .await;
}

async fn ways_out_of_attributes_and_templates_stay_text(scene: Scene) {
    survive(
        scene,
        &[
            "\" onmouseover=\"window.pwned=1",
            "' onfocus='window.pwned=1' autofocus='",
            "\"><img src=x onerror=window.pwned=1>",
            "'><img src=x onerror=window.pwned=1>",
            "` onload=window.pwned=1 `",
            "\" autofocus onfocus=window.pwned=1 x=\"",
            "javascript:window.pwned=1",
            "data:text/html,<script>window.pwned=1</script>",
            "{{constructor.constructor('window.pwned=1')()}}",
            "{% raw %}{{ frame.words }}{% endraw %}",
            "${window.pwned=1}",
            "<%= window.pwned=1 %>",
            "#{window.pwned=1}",
            "\\\"};window.pwned=1;//",
            "';window.pwned=1;//",
            "</script><script>window.pwned=1</script>",
            "%3Cscript%3Ewindow.pwned%3D1%3C/script%3E",
            "\\u003cscript\\u003ewindow.pwned=1\\u003c/script\\u003e",
            "&quot; onfocus=&quot;window.pwned=1",
            "https://example.com/ www.example.com mailto:a@example.com",
            "../../../etc/passwd",
            "__proto__",
        ],
    )
    .await;
}

async fn marks_of_direction_and_signs_without_width_break_nothing(scene: Scene) {
    survive(
        scene,
        &[
            "\u{202e}gnihton si siht\u{202c}",
            "\u{202e}never closed",
            "\u{2066}\u{2067}\u{2068}open",
            "\u{2069}\u{2069}\u{2069}closed",
            "\u{200f}a\u{200e}b",
            "zero\u{200b}width\u{200c}and\u{200d}joined\u{2060}\u{feff}",
            "\u{ad}so\u{ad}ft\u{ad}",
            "שלום עולם",
            "مرحبا بالعالم (1.4) <b>",
            "👩‍👩‍👧‍👦🏳️‍🌈👋🏽🇩🇪",
            "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳͂̌̌͘",
            "\u{fffd}\u{fffe}\u{e000}\u{10ffff}",
            "ﷺ𒐫⸻꧅",
            "a\u{2028}b\u{2029}c",
        ],
    )
    .await;
}

async fn long_and_strange_texts_stay_within_the_page(scene: Scene) {
    let long = "x".repeat(4000);
    let wide = "W".repeat(256);
    let path = "a/".repeat(2000);
    let emoji = "👩‍🚀".repeat(300);
    let spaces = format!("a{}b", "\u{a0}".repeat(1000));
    survive(
        scene,
        &[
            &long,
            &wide,
            &path,
            &emoji,
            &spaces,
            "\u{1b}[31mred\u{1b}[0m\u{1b}]0;title\u{7}",
            "bell\u{7} back\u{8}space \u{b}\u{c}",
            "\u{1}\u{2}\u{3}\u{1f}\u{7f}\u{85}\u{9f}",
            "nul\u{0}byte",
            "tab\tand\nline\r\nbreaks\rhere",
            "=cmd|' /C calc'!A0",
            "null",
        ],
    )
    .await;
}

async fn names_of_files_stay_text(scene: Scene) {
    let page = &scene.browser;
    page.resize(320, 700).await;
    let folder = Folder::new();
    let mut expected = None;
    for name in [
        "harmless",
        "<img src=x onerror=window.pwned=1>",
        "\"><script>window.pwned=1<script>",
        "' onfocus='window.pwned=1' autofocus='",
        "\u{202e}gpj.exe",
        "zero\u{200b}width\u{feff}",
        "{{7*7}}${7*7}<%= 7*7 %>",
        "שלום",
        "👩‍👩‍👧‍👦🏳️‍🌈",
        "wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww",
    ] {
        let question = scene
            .site
            .ask_fields(json!([
                {"id": "file", "type": "file", "label": "File", "rendering": {"preview": true}},
                {"id": "other", "type": "text", "label": "Other"},
            ]))
            .await;
        page.open(&question).await;
        give(&scene, &folder, &format!("{name}.txt")).await;
        let mut pages = vec![elements(&scene, name).await];
        if page.count(".kept-files li").await == 0 {
            // Rejected, with a message.
            continue;
        }
        page.go_on().await;
        page.find("#review").await;
        assert!(page.text("#review dl").await.contains(".txt"));
        pages.push(elements(&scene, name).await);
        let expected = expected.get_or_insert_with(|| pages.clone());
        assert_eq!(pages, *expected, "{name:?}");
    }
}

/// Uploads a file with this name, which is accepted or rejected.
async fn give(scene: &Scene, folder: &Folder, name: &str) {
    let page = &scene.browser;
    let content = "<b onclick=window.pwned=1>x</b>";
    if !scene.has_script() {
        let path = folder.with(name, content.as_bytes());
        page.type_into("input[type=file]", &path).await;
        page.go_on().await;
        page.find("#review, #summary").await;
        if page.count("#review").await == 1 {
            page.click("a.button").await;
            page.find("#question").await;
        }
        return;
    }
    let drop = "const [content, name] = arguments;
        const data = new DataTransfer();
        data.items.add(new File([content], name, {type: 'text/plain'}));
        const event = new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true});
        document.querySelector('.files.drop .choose').dispatchEvent(event);";
    let arguments = vec![json!(content), json!(name)];
    page.client.execute(drop, arguments).await.unwrap();
    page.until("document.querySelector('.kept-files li') || !document.getElementById('e0').hidden")
        .await;
}

/// Runs a harmless string and then each of these through every page, on a narrow screen.
async fn survive(scene: Scene, strings: &[&str]) {
    scene.browser.resize(320, 700).await;
    let harmless = tour(&scene, "harmless").await;
    for hostile in strings {
        let pages = tour(&scene, hostile).await;
        for ((name, expected), (_, found)) in harmless.iter().zip(&pages) {
            assert_eq!(found, expected, "{name} with {:?}", start(hostile));
        }
    }
}

fn start(text: &str) -> String {
    text.chars().take(100).collect()
}

type Elements = BTreeMap<String, u64>;

/// The elements of each page that one question goes through.
async fn tour(scene: &Scene, text: &str) -> Vec<(&'static str, Elements)> {
    let page = &scene.browser;
    let question = ask(scene, text).await;
    let mut pages = Vec::new();
    page.open(&question).await;
    page.find("#question").await;
    pages.push(("the question", elements(scene, text).await));
    fill(scene, text, "wrong").await;
    page.go_on().await;
    page.find("#summary").await;
    pages.push(("the errors", elements(scene, text).await));
    page.find("#f1").await.clear().await.unwrap();
    page.go_on().await;
    page.find("#review").await;
    pages.push(("the review", elements(scene, text).await));
    page.open(&question).await;
    page.find("#question").await;
    let typed = page.value("#f0").await;
    // How HTML itself treats line breaks and NUL.
    let expected = text.replace("\r\n", "\n").replace('\r', "\n");
    assert!(
        typed == expected || text.contains('\0'),
        "{typed:?} is not {expected:?}"
    );
    pages.push(("the draft", elements(scene, text).await));
    scene.site.pass(Duration::from_secs(301)).await;
    if !scene.has_script() {
        page.open(&question).await;
    }
    page.find(".sign.late").await;
    pages.push(("the end", elements(scene, text).await));
    pages
}

/// The text in every part that Markdown has.
fn as_markdown(text: &str) -> String {
    [
        "{}",
        "# {}",
        "{}\n===",
        "*{}*",
        "**{}**",
        "`{}`",
        "``{}``",
        "- {}\n  1. {}",
        "> {}",
        "```\n{}\n```",
        "```{}\na\n```",
        "~~~ diff\n+{}\n-{}\n@@ {}\n~~~",
        "    {}",
        "| {} | a |\n|---|---|\n| {} | `{}` |",
        "[{}](https://example.com \"{}\")",
        "[a]({})",
        "[a](<{}>)",
        "![{}]({})",
        "<{}>",
        "[{}]",
        "[{}]: {} '{}'",
        "&{};",
        "\\{}",
        "<b>{}</b>",
        "<div>\n{}\n</div>",
        "[^a]\n\n[^a]: {}",
        "---\n{}\n---",
    ]
    .map(|part| part.replace("{}", text))
    .join("\n\n")
}

/// Asks a form with the text in every part.
async fn ask(scene: &Scene, text: &str) -> Question {
    let short: String = text.chars().take(256).collect();
    // Cut, so that the whole is short enough to be read as Markdown.
    let part: String = text.chars().take(300).collect();
    let markdown = as_markdown(&part);
    let options = json!([{"value": short, "title": short}, {"value": "other", "title": "Other"}]);
    let hints = json!({"placeholder": text, "helpText": text});
    let with = |more: Value| {
        let mut hints = hints.clone();
        hints
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        hints
    };
    let mut form = form(json!([
        {"id": "long", "type": "text", "label": short, "description": text, "default": text,
         "rendering": with(json!({"rows": 2})), "accessibility": {"ariaLabel": text}},
        {"id": "wrong", "section": short, "type": "text", "label": short, "description": markdown,
         "validation": {"pattern": "^never$", "messages": {"pattern": text}}, "rendering": hints},
        {"id": "one", "type": "select", "label": short, "options": options,
         "rendering": {"displayStyle": "radio"}},
        {"id": "down", "type": "select", "label": short, "options": options,
         "rendering": with(json!({"displayStyle": "dropdown"}))},
        {"id": "many", "type": "multi_select", "label": short, "options": options,
         "rendering": {"displayStyle": "chips"}},
        {"id": "fold", "type": "multi_select", "label": short, "options": options,
         "rendering": with(json!({"displayStyle": "multiselect_dropdown"}))},
        {"id": "fixed", "type": "text", "label": short, "default": text,
         "rendering": {"readonly": true}},
    ]));
    form["title"] = json!(short);
    // Each part begins differently: a message does not repeat what the description says.
    form["description"] = json!(format!("{text}\n\n{}", as_markdown(&format!("x{part}"))));
    let form = Form::from_value(&form).unwrap_or_else(|error| panic!("{error:?}"));
    let asker = scene.site.engine.asker(&short);
    // Begins differently from title and description: what they say is not repeated.
    let ask = Ask::form(form).message(&format!("Because {text}\n\n{markdown}"));
    let elicitation = asker.ask(ask).await.unwrap();
    Question {
        link: scene.site.pages.link(elicitation.id()),
        elicitation,
    }
}

/// Answers, as fast as a script can.
async fn fill(scene: &Scene, text: &str, wrong: &str) {
    let fill = "const [text, wrong] = arguments;
        document.getElementById('f0').value = text;
        document.getElementById('f1').value = wrong;
        document.getElementById('f3').selectedIndex = 1;
        for (const id of ['f2-0', 'f4-0', 'f5-0']) document.getElementById(id).checked = true;";
    let arguments = vec![json!(text), json!(wrong)];
    scene.browser.client.execute(fill, arguments).await.unwrap();
}

/// The elements of the page, counted by name; no script ran, and nothing is too wide.
async fn elements(scene: &Scene, text: &str) -> Elements {
    let page = &scene.browser;
    let look = "(() => {
        const counts = {};
        const tags = 'p ul ol li blockquote pre code span ins del i div table thead tbody tr th td strong em';
        for (const element of document.querySelectorAll('*')) {
            const prose = element.closest('.prose');
            let name = element.localName;
            if (prose && element !== prose) {
                // Formatting may differ from text to text, within what is let through.
                const attributes = [...element.attributes].map((it) => it.name + '=' + it.value);
                const isKnown = attributes.every((it) => /^(tabindex=0|class=wide|scope=col|start=\\d{1,9})$/.test(it));
                if (isKnown && tags.split(' ').includes(name)) continue;
                name = 'in Markdown: ' + element.outerHTML;
            } else if (element.matches('.prose, .message, .lead, .hint')) {
                name = 'text';
            }
            counts[name] = (counts[name] || 0) + 1;
            for (const { name } of element.attributes) if (name.startsWith('on')) counts[name] = 1;
        }
        const { scrollWidth } = document.documentElement;
        return [counts, window.pwned === undefined, scrollWidth <= innerWidth, scrollWidth];
    })()";
    let found = page.eval(look).await;
    assert_eq!(found[1], true, "{:?} ran", start(text));
    assert_eq!(
        found[2],
        true,
        "{:?} makes the page {} wide",
        start(text),
        found[3]
    );
    serde_json::from_value(found[0].clone()).unwrap()
}

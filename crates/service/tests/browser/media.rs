//! Other media: forced colours, print, reduced motion.

use serde_json::{Value, json};

use crate::driver::Browser;
use crate::files::Folder;
use crate::forms::{everything, small};
use crate::states::draw;
use crate::{Scene, with_the_script};

with_the_script! {
    forced_colors_leave_everything_to_be_seen,
    paper_has_the_questions_and_nothing_to_click,
    nothing_moves_for_whoever_wants_no_motion,
}

impl Browser {
    async fn media(&self, media: &str, features: Value) {
        let emulated = json!({"media": media, "features": features});
        self.devtools("Emulation.setEmulatedMedia", emulated).await;
    }
}

/// Controls whose border cannot be distinguished from the background.
const WITHOUT_EDGE: &str =
    "[...document.querySelectorAll(`button, .button, textarea, select, .fold,
        .choose, .toggle input, :is(.chips, .segmented) label,
        input:not([type=checkbox], [type=radio], [type=range], [type=file], [type=hidden])`)]
    .filter((control) => control.checkVisibility() && !control.matches('.default'))
    .filter((control) => {
        const style = getComputedStyle(control);
        const around = getComputedStyle(document.querySelector('.sheet')).backgroundColor;
        return style.borderTopStyle === 'none' || parseFloat(style.borderTopWidth) < 1
            || [around, 'rgba(0, 0, 0, 0)'].includes(style.borderTopColor);
    })
    .map((control) => control.outerHTML.slice(0, 100))";

async fn forced_colors_leave_everything_to_be_seen(scene: Scene) {
    let page = &scene.browser;
    let question = scene.site.ask(everything()).await;
    page.open(&question).await;
    page.click(".leave summary").await;
    for theme in ["light", "dark"] {
        let forced = json!([
            {"name": "forced-colors", "value": "active"},
            {"name": "prefers-color-scheme", "value": theme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]);
        page.media("", forced).await;
        page.until("matchMedia('(forced-colors: active)').matches")
            .await;
        assert_eq!(page.eval(WITHOUT_EDGE).await, json!([]), "{theme}");
        // On differs from off, and the knob from its track.
        let toggle = "(() => {
            const toggle = document.querySelector('.toggle input');
            const color = (part) => getComputedStyle(toggle, part).backgroundColor;
            const seen = () => [color(), color('::before')];
            toggle.checked = true;
            const on = seen();
            toggle.checked = false;
            return [on, seen()];
        })()";
        let seen = page.eval(toggle).await;
        assert_ne!(seen[0][0], seen[1][0], "{theme}: on and off");
        assert_ne!(seen[0][0], seen[0][1], "{theme}: the knob, on");
        assert_ne!(seen[1][0], seen[1][1], "{theme}: the knob, off");
        let chips = "[':checked', ':not(:checked)'].map((state) => getComputedStyle(
            document.querySelector('.chips ' + state + ' + label')).backgroundColor)";
        let seen = page.eval(chips).await;
        assert_ne!(seen[0], seen[1], "{theme}: a chip that is chosen");
        draw("forced-colors", theme, "wide", 900, page).await;
    }
}

async fn paper_has_the_questions_and_nothing_to_click(scene: Scene) {
    let page = &scene.browser;
    let folder = Folder::new();
    let mut form = small();
    let file = json!({"id": "log", "type": "file", "label": "Log"});
    let cities: Vec<String> = (0..16).map(|city| format!("City {city}")).collect();
    let long = json!({"id": "city", "type": "select", "label": "City", "options": cities,
        "rendering": {"searchable": true}});
    form["fields"].as_array_mut().unwrap().extend([file, long]);
    let question = scene.site.ask(form).await;
    page.open(&question).await;
    page.fill("#f0", "blue-green").await;
    page.fill("#f1", "hunter2").await;
    scene
        .choose(&[&folder.with("log.txt", b"all is well")], 1)
        .await;
    question.keeps("name", json!("blue-green")).await;
    // With the secret saved, which adds a button.
    page.open(&question).await;
    let seen = |css: &str| {
        format!(
            "[...document.querySelectorAll({})].filter((it) => it.checkVisibility())
                .map((it) => it.outerHTML.slice(0, 100))",
            json!(css)
        )
    };
    let to_click = seen("button:not(.default), .button, .clock, .search, [type=file]");
    assert_ne!(page.eval(&to_click).await, json!([]));
    page.media("print", json!([])).await;
    page.until("matchMedia('print').matches").await;
    assert_eq!(page.eval(&to_click).await, json!([]));
    for css in ["h1", "#f0", "#f2-0", ".file-name", ".about", ".asker"] {
        assert_ne!(page.eval(&seen(css)).await, json!([]), "{css}");
    }
    let cut = "[...document.querySelectorAll('.options')]
        .filter((list) => list.scrollHeight > list.clientHeight + 1).length";
    assert_eq!(page.eval(cut).await, 0, "lists are not cut off");
    let paper = page.eval("getComputedStyle(document.body).backgroundColor");
    assert_eq!(paper.await, "rgb(255, 255, 255)");
    draw("print", "light", "wide", 900, page).await;
    // The review is what a person prints.
    page.media("", json!([])).await;
    page.click("#f2-0").await;
    page.go_on().await;
    page.find("#review").await;
    page.media("print", json!([])).await;
    assert_eq!(
        page.eval(&seen("button, .button, .clock, .change")).await,
        json!([])
    );
    assert!(page.text("#review dl").await.contains("blue-green"));
    draw("print-review", "light", "wide", 900, page).await;
}

async fn nothing_moves_for_whoever_wants_no_motion(scene: Scene) {
    let page = &scene.browser;
    let question = scene.site.ask(everything()).await;
    page.open(&question).await;
    let moving = "[...document.querySelectorAll('*')].filter((element) =>
        [null, '::before', '::after'].some((part) => {
            const style = getComputedStyle(element, part);
            return style.transitionDuration !== '0s' || style.animationName !== 'none'
                || style.scrollBehavior !== 'auto';
        })).length";
    assert_ne!(page.eval(moving).await, 0);
    let still = json!([{"name": "prefers-reduced-motion", "value": "reduce"}]);
    page.media("", still).await;
    page.until("matchMedia('(prefers-reduced-motion: reduce)').matches")
        .await;
    assert_eq!(page.eval(moving).await, 0);
}

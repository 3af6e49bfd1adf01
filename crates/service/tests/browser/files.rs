//! Files: chosen or dropped, rejected, removed, previewed.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{Scene, both_ways, with_the_script};

both_ways! {
    a_file_that_was_chosen_arrives_with_the_answer,
    a_file_of_another_type_is_refused_and_said_so,
    a_file_that_is_too_large_is_refused_and_said_so,
    several_files_are_sent_and_one_is_taken_out_again,
    pictures_and_texts_can_be_looked_at,
}
with_the_script! {
    a_file_that_was_dropped_arrives_with_the_answer,
    a_file_that_was_pasted_arrives_with_the_answer,
    a_file_shows_how_far_it_is_and_can_be_stopped,
    a_file_survives_a_reload,
}

/// The smallest picture: one pixel.
pub(crate) const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Files to choose from.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub(crate) fn with(&self, name: &str, content: &[u8]) -> String {
        let path: PathBuf = self.0.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    pub(crate) fn picture(&self) -> String {
        self.with("pixel.png", &STANDARD.decode(PIXEL).unwrap())
    }
}

fn file(validation: Value) -> Value {
    json!([
        {"id": "file", "type": "file", "label": "File", "validation": validation,
         "rendering": {"preview": true}},
        {"id": "name", "type": "text", "label": "Name"},
    ])
}

impl Scene {
    /// Chooses files, and waits until they are uploaded; without the script, that is when the form
    /// is sent, and the test returns from the review.
    pub(crate) async fn choose(&self, paths: &[&str], kept: usize) {
        let page = &self.browser;
        page.type_into("input[type=file]", &paths.join("\n")).await;
        if !self.has_script() {
            page.go_on().await;
            page.find("#review").await;
            page.click("a.button").await;
        }
        let count = "document.querySelectorAll('.kept-files li').length";
        page.until(&format!("{count} === {kept}")).await;
    }

    /// Chooses a file that is rejected; returns the error.
    async fn choose_wrong(&self, path: &str) -> String {
        let page = &self.browser;
        page.type_into("input[type=file]", path).await;
        if !self.has_script() {
            page.go_on().await;
            page.find("#summary").await;
        }
        page.until("!document.getElementById('e0').hidden").await;
        assert_eq!(page.count(".kept-files li").await, 0);
        page.text("#e0").await
    }
}

async fn a_file_that_was_chosen_arrives_with_the_answer(scene: Scene) {
    let page = &scene.browser;
    let folder = Folder::new();
    let question = scene.site.ask_fields(file(json!({}))).await;
    page.open(&question).await;
    page.fill("#f1", "Zoë").await;
    scene
        .choose(&[&folder.with("notes ü.txt", b"hello")], 1)
        .await;
    // The browser's own “No file chosen” would contradict the list.
    assert!(!page.is_shown("input[type=file]").await);
    assert_eq!(page.text(".again summary").await, "Choose a different file");
    page.review_and_send().await;
    let result = question.result().await;
    assert_eq!(result["file"]["filename"], "notes ü.txt");
    assert_eq!(result["file"]["content_type"], "text/plain");
    assert_eq!(result["file"]["content"], STANDARD.encode("hello"));
    assert_eq!(result["name"], "Zoë");
}

async fn a_file_of_another_type_is_refused_and_said_so(scene: Scene) {
    let page = &scene.browser;
    let folder = Folder::new();
    let question = scene
        .site
        .ask_fields(file(json!({"allowedExtensions": [".png"]})))
        .await;
    page.open(&question).await;
    let says = scene
        .choose_wrong(&folder.with("notes.txt", b"hello"))
        .await;
    assert!(says.contains("File"), "{says}");
    // A file that claims to be an image but isn't.
    let says = scene
        .choose_wrong(&folder.with("notes.png", b"GIF89a, or so it says"))
        .await;
    assert!(says.contains("File"), "{says}");
    scene.choose(&[&folder.picture()], 1).await;
    assert!(!page.is_shown("#e0").await);
    page.review_and_send().await;
    assert_eq!(question.result().await["file"]["content"], PIXEL);
}

async fn a_file_that_is_too_large_is_refused_and_said_so(scene: Scene) {
    let page = &scene.browser;
    let folder = Folder::new();
    let question = scene.site.ask_fields(file(json!({"maxSize": 1000}))).await;
    page.open(&question).await;
    let says = scene
        .choose_wrong(&folder.with("large.txt", &vec![b'a'; 200_000]))
        .await;
    assert!(says.contains("File"), "{says}");
    scene
        .choose(&[&folder.with("small.txt", &[b'a'; 1000])], 1)
        .await;
    page.review_and_send().await;
    assert_eq!(question.result().await["file"]["size"], 1000);
}

async fn several_files_are_sent_and_one_is_taken_out_again(scene: Scene) {
    let page = &scene.browser;
    let folder = Folder::new();
    let question = scene.site.ask_fields(file(json!({"maxItems": 3}))).await;
    page.open(&question).await;
    let [a, b, c] =
        ["a", "b", "c"].map(|name| folder.with(&format!("{name}.txt"), name.as_bytes()));
    scene.choose(&[&a, &b], 2).await;
    scene.choose(&[&c], 3).await;
    page.click(".kept-files li:nth-child(2) button").await;
    page.until("document.querySelectorAll('.kept-files li').length === 2")
        .await;
    page.review_and_send().await;
    let result = question.result().await;
    let names = result["file"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| &file["filename"]);
    assert_eq!(names.collect::<Vec<_>>(), ["a.txt", "c.txt"]);
}

async fn pictures_and_texts_can_be_looked_at(scene: Scene) {
    let page = &scene.browser;
    let folder = Folder::new();
    let question = scene.site.ask_fields(file(json!({"maxItems": 2}))).await;
    page.open(&question).await;
    let text = folder.with("notes.txt", b"<b>as it is</b>");
    scene.choose(&[&folder.picture(), &text], 2).await;
    page.until("document.querySelector('.kept-files img').naturalWidth === 1")
        .await;
    assert_eq!(page.text(".kept-files pre").await, "<b>as it is</b>");
}

async fn a_file_that_was_dropped_arrives_with_the_answer(scene: Scene) {
    let page = &scene.browser;
    let question = scene.site.ask_fields(file(json!({}))).await;
    page.open(&question).await;
    let drop = "(() => {
        const data = new DataTransfer();
        data.items.add(new File(['dropped'], 'drop.txt', {type: 'text/plain'}));
        const event = new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true});
        document.querySelector('.files.drop .choose').dispatchEvent(event);
        return event.defaultPrevented;
    })()";
    assert_eq!(page.eval(drop).await, true);
    page.until("document.querySelectorAll('.kept-files li').length === 1")
        .await;
    page.review_and_send().await;
    assert_eq!(
        question.result().await["file"]["content"],
        STANDARD.encode("dropped")
    );
}

async fn a_file_that_was_pasted_arrives_with_the_answer(scene: Scene) {
    let page = &scene.browser;
    let question = scene.site.ask_fields(file(json!({}))).await;
    page.open(&question).await;
    let paste = |fill: &str| {
        format!(
            "(() => {{
                const clipboardData = new DataTransfer();
                clipboardData.items.add({fill});
                const event = new ClipboardEvent('paste',
                    {{clipboardData, bubbles: true, cancelable: true}});
                document.activeElement.dispatchEvent(event);
                return event.defaultPrevented;
            }})()"
        )
    };
    // Pasted text that is not a file goes to the cursor.
    page.click("#f1").await;
    assert_eq!(page.eval(&paste("'text', 'text/plain'")).await, false);
    let file = "new File(['pasted'], 'paste.txt', {type: 'text/plain'})";
    assert_eq!(page.eval(&paste(file)).await, true);
    page.until("document.querySelectorAll('.kept-files li').length === 1")
        .await;
    page.review_and_send().await;
    assert_eq!(
        question.result().await["file"]["content"],
        STANDARD.encode("pasted")
    );
}

async fn a_file_shows_how_far_it_is_and_can_be_stopped(scene: Scene) {
    let page = &scene.browser;
    let folder = Folder::new();
    let question = scene.site.ask_fields(file(json!({}))).await;
    page.open(&question).await;
    assert!(!page.is_shown("progress").await);
    // It would take half a minute, unless it is stopped.
    page.uploads_at(200_000).await;
    let large = folder.with("large.txt", &vec![b'a'; 6_000_000]);
    page.type_into("input[type=file]", &large).await;
    let shown = "document.querySelector('progress').checkVisibility()";
    let value = "document.querySelector('progress').value";
    page.until(&format!("{shown} && {value} > 0")).await;
    let before = page.eval(value).await.as_f64().unwrap();
    page.until(&format!("{value} > {before}")).await;
    assert!(page.eval(value).await.as_f64().unwrap() < 100.0);
    page.click(".stop").await;
    page.until(&format!("!{shown}")).await;
    assert_eq!(page.count(".kept-files li").await, 0);
    assert!(!page.is_shown("#e0").await, "to stop is no error");
    assert_eq!(page.value("input[type=file]").await, "");
    // It doesn't delay the next one.
    page.uploads_at(-1).await;
    let small = folder.with("small.txt", b"hello");
    scene.choose(&[&small], 1).await;
    page.review_and_send().await;
    assert_eq!(question.result().await["file"]["filename"], "small.txt");
}

async fn a_file_survives_a_reload(scene: Scene) {
    let page = &scene.browser;
    let folder = Folder::new();
    let question = scene.site.ask_fields(file(json!({}))).await;
    page.open(&question).await;
    scene
        .choose(&[&folder.with("notes.txt", b"hello")], 1)
        .await;
    page.open(&question).await;
    assert_eq!(page.text(".kept-files .file-name").await, "notes.txt");
    page.review_and_send().await;
    assert_eq!(
        question.result().await["file"]["content"],
        STANDARD.encode("hello")
    );
}

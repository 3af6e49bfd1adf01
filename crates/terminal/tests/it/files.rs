//! Files by path.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use entreat_terminal::Reply;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::script::{fields, fill};

pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    folder
}

fn path(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).to_str().unwrap().to_owned()
}

fn upload(name: &str, kind: &str, bytes: &[u8]) -> Value {
    json!({"filename": name, "content_type": kind, "size": bytes.len(),
           "content": STANDARD.encode(bytes)})
}

#[test]
fn a_path_that_cannot_be_read_is_told_in_place() {
    let folder = folder(&[("a.txt", b"hello")]);
    let form = fields(json!([{"id": "f", "type": "file", "label": "File", "required": true}]));
    let lines = [
        &path(&folder, "none"),
        folder.path().to_str().unwrap(),
        &path(&folder, "a.txt"),
    ];
    let outcome = fill(&form, &lines);
    assert_eq!(outcome.reply, Reply::Answered);
    assert_eq!(
        outcome.draft,
        json!({"f": upload("a.txt", "text/plain", b"hello")})
    );
    assert!(outcome.screen.contains("there is no such file."));
    assert!(outcome.screen.contains("it is a folder."));
}

#[test]
fn a_file_that_is_too_large_is_refused_in_the_forms_words_and_not_sent() {
    let folder = folder(&[("big.txt", &[b'x'; 2000]), ("small.txt", b"x")]);
    for many in [1, 3] {
        let form = fields(json!([{"id": "f", "type": "file", "label": "File",
            "validation": {"maxSize": 1024, "maxItems": many, "minItems": 1}}]));
        let outcome = fill(&form, &[&path(&folder, "big.txt"), ""]);
        assert_eq!(outcome.reply, Reply::Answered);
        assert_eq!(outcome.draft, json!({}));
        assert!(
            outcome.screen.contains("│ File must be at most 1 KB"),
            "{}",
            outcome.screen
        );
    }
}

#[test]
fn several_files_are_typed_one_a_line() {
    let folder = folder(&[
        ("a.csv", b"1,2"),
        ("b, c.json", b"{}"),
        ("c.bin", b"\x01\x02"),
    ]);
    let form = fields(
        json!([{"id": "f", "type": "file", "label": "File", "required": true,
        "validation": {"maxItems": 3, "minItems": 2}}]),
    );
    let (a, b, c) = (
        path(&folder, "a.csv"),
        path(&folder, "b, c.json"),
        path(&folder, "c.bin"),
    );
    let two = json!({"f": [upload("a.csv", "text/csv", b"1,2"),
                           upload("b, c.json", "application/json", b"{}")]});
    assert_eq!(fill(&form, &[&a, &b, ""]).draft, two);
    let three = fill(&form, &[&a, &b, &c]);
    assert_eq!(three.reply, Reply::Answered);
    assert_eq!(
        three.draft["f"][2]["content_type"],
        "application/octet-stream"
    );
    let one_first = fill(&form, &[&a, "", &a, &b, ""]);
    assert!(
        one_first
            .screen
            .contains("│ File must have at least 2 items")
    );
    assert_eq!(one_first.draft, two);
}

#[test]
fn the_form_judges_what_the_bytes_tell() {
    let folder = folder(&[("fake.png", b"not a picture")]);
    let form = fields(
        json!([{"id": "f", "type": "file", "label": "Logo", "required": true,
        "validation": {"allowedMimeTypes": ["image/png"]}}]),
    );
    let outcome = fill(&form, &[&path(&folder, "fake.png")]);
    assert_eq!(outcome.reply, Reply::Cancelled);
    assert!(
        outcome
            .screen
            .contains("│ Logo must be a file of one of these kinds: PNG")
    );
}

#[cfg(unix)]
#[test]
fn a_pipe_is_refused_without_waiting_for_its_writer() {
    let form = fields(json!([{"id": "f", "type": "file", "label": "File"}]));
    let outcome = fill(&form, &["/dev/zero", "/dev/null", ""]);
    assert_eq!(outcome.draft, json!({}));
    assert!(outcome.screen.contains("it is not a regular file"));
}

//! Concurrent uploads while someone types, removes files and sends: everything that was
//! acknowledged is in the answer.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::http::{Method, StatusCode};
use entreat_core::ElicitationId;
use entreat_engine::MemoryStore;
use entreat_service::page::PageSettings;
use entreat_testkit::FaultyStore;
use futures_util::future::join_all;
use serde_json::{Map, Value, json};

use crate::pages::{Site, Visitor, text};
use crate::wire::Answer;
use crate::world::World;

/// A site with a slow store, so that concurrent readers of a draft see the same version.
async fn site() -> Site {
    let store = FaultyStore::new(MemoryStore::new()).slow();
    let world = World::on(Arc::new(store), |_| {}).await;
    Site::of(world, None, PageSettings::default()).await
}

fn form() -> Value {
    json!({"id": "f", "title": "F", "fields": [
        {"id": "eight", "type": "file", "label": "Eight", "validation": {"maxItems": 8}},
        {"id": "three", "type": "file", "label": "Three", "validation": {"maxItems": 3}},
        {"id": "one", "type": "file", "label": "One"},
        {"id": "text", "type": "text", "label": "Text", "validation": {"maxLength": 5}},
    ]})
}

async fn upload(site: &Site, visitor: &Visitor, place: usize, name: &str) -> Answer {
    let headers = [
        ("cookie", &*visitor.cookie),
        ("x-entreat-form", &*visitor.csrf),
        ("x-entreat-file", name),
        ("content-type", "text/plain"),
    ];
    let path = format!("{}/files/{place}", visitor.here);
    let body = format!("this is {name}");
    site.send(Method::POST, &path, &headers, body).await
}

fn names(files: &Value) -> BTreeSet<String> {
    let files = files.as_array().map_or(&[][..], Vec::as_slice);
    let name = |file: &Value| file["filename"].as_str().unwrap().to_owned();
    files.iter().map(name).collect()
}

async fn draft(site: &Site, id: ElicitationId) -> Map<String, Value> {
    site.world
        .engine
        .elicitation(id)
        .read_draft()
        .await
        .unwrap()
}

/// What the asker got.
async fn result(site: &Site, id: ElicitationId) -> Value {
    let asker = site.world.session.asker();
    let settled = asker.elicitation(id).status().await.unwrap();
    settled.result().unwrap_or_else(|| panic!("not answered"))
}

fn numbered(count: usize) -> Vec<String> {
    (0..count).map(|i| format!("{i}.txt")).collect()
}

#[tokio::test]
async fn eight_files_at_once_are_all_in_the_answer() {
    let site = site().await;
    let (id, visitor) = site.visit_form(form()).await;
    let files = numbered(8);
    let uploads = files.iter().map(|name| upload(&site, &visitor, 0, name));
    for answer in join_all(uploads).await {
        assert_eq!(answer.status, StatusCode::OK);
    }
    site.post(&visitor, &[("_do", "send")]).await;
    let expected: BTreeSet<String> = files.into_iter().collect();
    assert_eq!(names(&result(&site, id).await["eight"]), expected);
}

#[tokio::test]
async fn files_and_what_is_typed_in_another_tab_do_not_undo_each_other() {
    let site = site().await;
    let (id, visitor) = site.visit_form(form()).await;
    let other = site.visit(id).await;
    let files = numbered(6);
    let uploads = files
        .iter()
        .enumerate()
        .map(|(i, name)| upload(&site, &visitor, i % 2, name));
    let typing = site.post(&other, &[("_f", "3"), ("f.text", "hi"), ("_do", "save")]);
    let (uploads, typed) = tokio::join!(join_all(uploads), typing);
    assert!(uploads.iter().all(|answer| answer.status == StatusCode::OK));
    assert_eq!(typed.status, StatusCode::SEE_OTHER);
    let draft = draft(&site, id).await;
    assert_eq!(names(&draft["eight"]).len(), 3);
    assert_eq!(names(&draft["three"]).len(), 3);
    assert_eq!(draft["text"], "hi");
}

#[tokio::test]
async fn what_is_taken_out_while_others_arrive_is_all_that_goes() {
    let site = site().await;
    let (id, visitor) = site.visit_form(form()).await;
    upload(&site, &visitor, 0, "first.txt").await;
    let first = draft(&site, id).await["eight"][0].clone();
    let remove = format!(
        "remove.0.{}",
        first["content"]["location"].as_str().unwrap()
    );
    let files = numbered(5);
    let uploads = files.iter().map(|name| upload(&site, &visitor, 0, name));
    let act = [("_do", &*remove)];
    let (uploads, removed) = tokio::join!(join_all(uploads), site.post(&visitor, &act));
    assert!(uploads.iter().all(|answer| answer.status == StatusCode::OK));
    assert_eq!(removed.status, StatusCode::SEE_OTHER);
    let expected: BTreeSet<String> = files.into_iter().collect();
    assert_eq!(names(&draft(&site, id).await["eight"]), expected);
    // All of them can be delivered.
    site.post(&visitor, &[("_do", "send")]).await;
    assert_eq!(names(&result(&site, id).await["eight"]), expected);
}

#[tokio::test]
async fn a_file_that_arrives_beside_the_sending_is_sent_or_refused() {
    let site = site().await;
    for pause in 0..40 {
        let (id, visitor) = site.visit_form(form()).await;
        upload(&site, &visitor, 0, "before.txt").await;
        let sending = async {
            for _ in 0..pause * 10 {
                tokio::task::yield_now().await;
            }
            site.post(&visitor, &[("_do", "send")]).await
        };
        let beside = upload(&site, &visitor, 0, "beside.txt");
        let (beside, sent) = tokio::join!(beside, sending);
        assert_eq!(sent.status, StatusCode::SEE_OTHER);
        let sent = names(&result(&site, id).await["eight"]);
        assert!(sent.contains("before.txt"));
        match beside.status {
            StatusCode::OK => assert!(sent.contains("beside.txt"), "after {pause}"),
            StatusCode::CONFLICT => assert!(!sent.contains("beside.txt"), "after {pause}"),
            other => panic!("{other}"),
        }
    }
}

#[tokio::test]
async fn a_form_that_is_refused_leaves_the_files_of_the_moment_alone() {
    let site = site().await;
    for pause in 0..20 {
        let (id, visitor) = site.visit_form(form()).await;
        let wrong = [("_f", "3"), ("f.text", "too long"), ("_do", "send")];
        let sending = async {
            for _ in 0..pause * 10 {
                tokio::task::yield_now().await;
            }
            site.post(&visitor, &wrong).await
        };
        let files = numbered(4);
        let uploads = files.iter().map(|name| upload(&site, &visitor, 0, name));
        let (uploads, sent) = tokio::join!(join_all(uploads), sending);
        assert!(uploads.iter().all(|answer| answer.status == StatusCode::OK));
        let location = sent.headers["location"].to_str().unwrap();
        assert!(location.ends_with("?check"), "{location}");
        let draft = draft(&site, id).await;
        assert_eq!(names(&draft["eight"]).len(), 4, "after {pause}");
        let kinds = draft["eight"].as_array().unwrap().iter();
        assert!(kinds.clone().all(|file| file["content"]["type"] == "local"));
        assert_eq!(draft["text"], "too long");
    }
}

#[tokio::test]
async fn files_that_a_field_has_no_place_for_are_refused_with_a_reason() {
    let site = site().await;
    let (id, visitor) = site.visit_form(form()).await;
    let files = numbered(8);
    let uploads = files.iter().map(|name| upload(&site, &visitor, 1, name));
    let mut kept = BTreeSet::new();
    let mut refused = 0;
    for (name, answer) in files.iter().zip(join_all(uploads).await) {
        match answer.status {
            StatusCode::OK => _ = kept.insert(name.clone()),
            StatusCode::UNPROCESSABLE_ENTITY => {
                assert!(text(&answer).contains("Three"), "{}", text(&answer));
                refused += 1;
            }
            other => panic!("{other}"),
        }
    }
    assert_eq!((kept.len(), refused), (3, 5));
    assert_eq!(names(&draft(&site, id).await["three"]), kept);
    // A field for one file has the last one.
    for name in ["a.txt", "b.txt"] {
        assert_eq!(
            upload(&site, &visitor, 2, name).await.status,
            StatusCode::OK
        );
    }
    assert_eq!(draft(&site, id).await["one"]["filename"], "b.txt");
    site.post(&visitor, &[("_do", "send")]).await;
    assert_eq!(names(&result(&site, id).await["three"]), kept);
}

#[tokio::test]
async fn many_files_in_one_form_without_a_script_are_all_kept() {
    let site = site().await;
    let (id, visitor) = site.visit_form(form()).await;
    let part = |head: &str, value: &str| {
        format!("--x\r\ncontent-disposition: form-data; {head}\r\n\r\n{value}\r\n")
    };
    let mut body = part("name=\"_csrf\"", &visitor.csrf) + &part("name=\"_do\"", "save");
    for i in 0..10 {
        body += &part(&format!("name=\"f.eight\"; filename=\"{i}.txt\""), "hello");
    }
    body += &part("name=\"f.one\"; filename=\"\"", "");
    body += &part("name=\"f.nobody\"; filename=\"x\"", "hello");
    body += "--x--\r\n";
    let headers = [
        ("cookie", &*visitor.cookie),
        ("content-type", "multipart/form-data; boundary=x"),
    ];
    let answer = site.send(Method::POST, &visitor.here, &headers, body).await;
    // Ten were sent, and eight fit: the page says so.
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(text(&answer).contains("There is a problem"));
    assert_eq!(names(&draft(&site, id).await["eight"]).len(), 8);
}

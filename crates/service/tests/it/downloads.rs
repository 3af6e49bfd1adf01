//! Delivery of files to the asker: in the answer, or through a link that works once.

use std::path::PathBuf;
use std::time::Duration;

use axum::http::{Method, Request, header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use entreat_core::{Content, ReferenceKind};
use entreat_engine::ActError;
use entreat_service::http::Http;
use entreat_service::upload::UploadError;
use entreat_service::{Askers, PageSettings, Pages};
use futures_util::{StreamExt as _, TryStreamExt as _};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Map, Value, json};

use crate::uploads::{Ground, location, named, pieces};
use crate::wire::{Server, soon};

const BASE: &str = "https://ask.example.com/";

fn answers(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(answers) => answers,
        other => panic!("{other}"),
    }
}

async fn deliver(ground: &Ground, value: Value) -> Result<Value, UploadError> {
    let (id, form) = (ground.id, &ground.form);
    let delivered = ground.uploads.deliver(id, form, answers(value), BASE).await;
    delivered.map(Value::Object)
}

/// The parts of a link: upload and token.
fn parts(ground: &Ground, file: &Value) -> (String, String) {
    assert_eq!(file["content"]["type"], "url");
    let start = format!("https://ask.example.com/files/{}/", ground.id);
    let rest = location(file).strip_prefix(&start).unwrap();
    let (upload, token) = rest.split_once('/').unwrap();
    assert_eq!(token.len(), 64);
    (upload.to_owned(), token.to_owned())
}

/// A file that is delivered as a download, submitted.
async fn submitted(ground: &Ground, bytes: &[u8]) -> (String, String) {
    let kept = ground.send(bytes).await;
    let delivered = deliver(ground, json!({"any": kept})).await.unwrap();
    let elicitation = ground.world.engine.elicitation(ground.id);
    let elicitation = elicitation.accepting_references(ReferenceKind::Url);
    elicitation.submit(&delivered).await.unwrap();
    parts(ground, &delivered["any"])
}

#[tokio::test]
async fn small_files_go_with_the_answer_and_large_ones_by_a_link() {
    let ground = Ground::with(|settings| settings.inline_limit = 1000).await;
    let small = ground.send(&[1; 1000]).await;
    // The answers' claims about a file are not trusted.
    let mut lying = small.clone();
    lying["size"] = json!(5);
    lying["filename"] = json!("other.exe");
    let delivered = deliver(&ground, json!({"any": lying, "name": "Ada"})).await;
    let delivered = delivered.unwrap();
    let bytes = STANDARD.encode([1; 1000]);
    let whole = json!({"filename": "a.bin", "content_type": "application/octet-stream",
                       "size": 1000, "content": bytes});
    assert_eq!(delivered, json!({"any": whole, "name": "Ada"}));

    let large = ground.send(&[2; 1001]).await;
    let delivered = deliver(&ground, json!({"any": large})).await.unwrap();
    parts(&ground, &delivered["any"]);
    // The same answers can be submitted again after a rejection.
    assert_eq!(
        deliver(&ground, delivered.clone()).await.unwrap(),
        delivered
    );
}

#[tokio::test]
async fn one_answer_carries_so_many_bytes_and_no_more() {
    let ground = Ground::with(|settings| settings.inline_limit = u64::MAX).await;
    let whole = ground.send(&vec![0; 16 << 20]).await;
    let delivered = deliver(&ground, json!({"any": whole})).await.unwrap();
    assert!(delivered["any"]["content"].is_string());
    let more = ground.send(&vec![0; (16 << 20) + 1]).await;
    let delivered = deliver(&ground, json!({"any": more})).await.unwrap();
    assert!(delivered["any"]["content"].is_object());
}

#[tokio::test]
async fn only_references_of_ours_are_vouched_for() {
    let ground = Ground::with(|settings| settings.inline_limit = 0).await;
    let kept = ground.send(b"mine").await;
    let delivered = deliver(&ground, json!({"any": kept})).await.unwrap();
    let (upload, token) = parts(&ground, &delivered["any"]);
    let wrong = token.replace(&token[..1], if token.starts_with('0') { "1" } else { "0" });
    let refer = |kind: &str, location: &str| {
        let mut file = kept.clone();
        file["content"] = json!({"type": kind, "location": location});
        file
    };
    for file in [
        refer("url", "https://evil.example/x"),
        refer(
            "url",
            &format!(
                "https://ask.example.com/files/{}/{upload}/{wrong}",
                ground.id
            ),
        ),
        refer("url", &upload),
        refer("s3", location(&delivered["any"])),
        refer("s3", &upload),
        refer("local", "../x"),
        refer("local", "/etc/passwd"),
        json!({"filename": "a", "content_type": "a/b", "size": 1, "content": {}}),
    ] {
        let refused = deliver(&ground, json!({"any": file})).await;
        assert!(matches!(refused, Err(UploadError::NotFound)), "{file}");
    }
    // Nor files that were uploaded for a field with other rules.
    let refused = deliver(&ground, json!({"photos": [kept]})).await;
    assert!(matches!(refused, Err(UploadError::NotFound)));
    // Inline uploads, and values that are not files, are left to the form.
    for value in [
        json!({"any": {"content": "aGk="}}),
        json!({"any": 5}),
        json!({"any": null}),
    ] {
        assert_eq!(deliver(&ground, value.clone()).await.unwrap(), value);
    }
}

#[tokio::test]
async fn a_link_is_an_answer_if_the_host_says_so_and_never_if_an_asker_does() {
    let ground = Ground::with(|settings| settings.inline_limit = 0).await;
    let kept = ground.send(b"mine").await;
    let drafted = json!({"any": kept});
    let host = ground.world.engine.elicitation(ground.id);
    let draft = host.clone().accepting_references(ReferenceKind::Local);
    assert_eq!(draft.draft(&drafted).await.unwrap().errors, []);
    assert_eq!(
        host.draft(&drafted).await.unwrap().errors[0].constraint,
        "reference"
    );

    let delivered = deliver(&ground, drafted).await.unwrap();
    let asker = ground.world.session.asker().elicitation(ground.id);
    for refused in [
        host.clone(),
        asker.clone().accepting_references(ReferenceKind::Url),
    ] {
        let Err(ActError::Invalid(refusal)) = refused.submit(&delivered).await else {
            panic!("it was accepted");
        };
        assert_eq!(refusal.errors[0].constraint, "reference");
    }
    let vouching = host.accepting_references(ReferenceKind::Url);
    vouching.submit(&delivered).await.unwrap();
    let status = asker.status().await.unwrap();
    assert_eq!(status.result().unwrap(), delivered);
    let answers = status.answers().unwrap().unwrap();
    let (_, answer) = answers.iter().next().unwrap();
    let entreat_core::Answer::Files(files) = answer else {
        panic!("{answer:?}");
    };
    let Content::Reference(reference) = files[0].content() else {
        panic!("the bytes are not in it");
    };
    assert_eq!(reference.kind, ReferenceKind::Url);
}

#[tokio::test]
async fn a_download_works_once_and_one_that_broke_off_can_be_repeated() {
    let ground = Ground::with(|settings| settings.inline_limit = 0).await;
    let bytes = vec![3; 200_000];
    let (upload, token) = submitted(&ground, &bytes).await;
    let take = || ground.uploads.start_download(ground.id, &upload, &token);
    let mut begun = Box::pin(take().await.unwrap().into_stream());
    begun.next().await.unwrap().unwrap();
    // While a download is in progress, a second one is rejected.
    assert!(matches!(take().await, Err(UploadError::InUse)));
    begun.next().await.unwrap().unwrap();
    drop(begun);
    // HEAD changes nothing.
    let looked = ground
        .uploads
        .describe_download(ground.id, &upload, &token)
        .await
        .unwrap();
    assert_eq!((&*looked.filename, looked.size), ("a.bin", 200_000));
    ground.uploads.sweep().await;
    let download = take().await.unwrap();
    assert_eq!(*download.info(), looked);
    let pieces: Vec<Bytes> = download.into_stream().try_collect().await.unwrap();
    assert_eq!(pieces.concat(), bytes);
    assert!(matches!(take().await, Err(UploadError::NotFound)));
    assert_eq!(ground.files(), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn a_token_opens_its_own_file_and_only_what_goes_out_as_a_download() {
    let ground = Ground::with(|settings| settings.inline_limit = 0).await;
    let (upload, token) = submitted(&ground, b"x").await;
    let flipped = token.replace(&token[..1], if token.starts_with('0') { "1" } else { "0" });
    let other = ground.ask().await;
    for (id, upload, token) in [
        (ground.id, &*upload, &*flipped),
        (ground.id, &upload, ""),
        (ground.id, &upload, &token[..63]),
        (ground.id, "../x", &token),
        (other, &upload, &token),
    ] {
        let got = ground.uploads.start_download(id, upload, token).await;
        assert!(matches!(got, Err(UploadError::NotFound)));
    }
    // If it is delivered in the answer, it cannot be downloaded.
    let ground = Ground::with(|settings| settings.inline_limit = 10).await;
    let kept = ground.send(&[1; 11]).await;
    let delivered = deliver(&ground, json!({"any": kept})).await.unwrap();
    let (upload, token) = parts(&ground, &delivered["any"]);
    let note = ground.files().pop().unwrap();
    assert_eq!(note.extension().unwrap(), "out");
    std::fs::remove_file(note).unwrap();
    let got = ground
        .uploads
        .start_download(ground.id, &upload, &token)
        .await;
    assert!(matches!(got, Err(UploadError::NotFound)));
}

#[tokio::test]
async fn of_an_answered_question_what_is_still_to_be_fetched_stays_until_it_is_forgotten() {
    let ground = Ground::with(|settings| settings.inline_limit = 10).await;
    ground.send(b"replaced").await;
    let name = named("a.png");
    let photo = entreat_service::upload::FileMetadata {
        content_type: "image/png",
        ..name
    };
    let png = ground
        .receive("photos", photo, pieces(b"\x89PNG\r\n\x1a\n", 9))
        .await;
    let large = ground.send(&[1; 11]).await;
    let delivered = deliver(&ground, json!({"any": large, "photos": [png.unwrap()]})).await;
    let delivered = delivered.unwrap();
    assert!(delivered["photos"][0]["content"].is_string());
    let elicitation = ground.world.engine.elicitation(ground.id);
    let elicitation = elicitation.accepting_references(ReferenceKind::Url);
    elicitation.submit(&delivered).await.unwrap();
    assert_eq!(ground.files().len(), 4);
    ground.uploads.sweep().await;
    // The file and its download record.
    assert_eq!(ground.files().len(), 2);
    let (upload, token) = parts(&ground, &delivered["any"]);
    assert!(
        ground
            .uploads
            .describe_download(ground.id, &upload, &token)
            .await
            .is_ok()
    );
    ground.world.pass(Duration::from_secs(3700)).await;
    ground.uploads.sweep().await;
    assert_eq!(ground.files(), Vec::<PathBuf>::new());
}

async fn serve(ground: &Ground) -> Server {
    let http = Http::new(ground.world.rpc.clone(), Askers::none());
    let settings = PageSettings {
        uploads: Some(ground.uploads.clone()),
        ..PageSettings::default()
    };
    let engine = ground.world.engine.clone();
    let pages = Pages::new(engine, "http://localhost", settings).unwrap();
    Server::of(http.with_pages(pages)).await
}

fn request(server: &Server, method: Method, path: &str) -> Request<Full<Bytes>> {
    let mut request = server.get(path);
    *request.method_mut() = method;
    request
}

#[tokio::test]
async fn over_http_a_file_is_saved_and_never_shown() {
    let ground = Ground::with(|settings| settings.inline_limit = 0).await;
    // Left by an earlier run; the service sweeps at startup.
    let bytes = vec![7; 3_000_000];
    let (upload, token) = submitted(&ground, &bytes).await;
    let server = serve(&ground).await;
    let path = format!("/files/{}/{upload}/{token}", ground.id);
    for _ in 0..2 {
        let looked = server.send(request(&server, Method::HEAD, &path)).await;
        assert_eq!(looked.status, 200);
        assert_eq!(looked.headers[header::CONTENT_LENGTH], "3000000");
        assert!(looked.body.is_empty());
    }
    for method in [Method::POST, Method::DELETE, Method::PUT] {
        let refused = server.send(request(&server, method, &path)).await;
        assert_eq!(refused.status, 405);
    }
    // A client whose connection breaks.
    let response = server.open(server.get(&path)).await;
    let mut body = response.into_body();
    soon(body.frame()).await.unwrap().unwrap();
    drop(body);
    let got = soon(async {
        loop {
            let got = server.send(server.get(&path)).await;
            // Until the server has noticed the disconnect.
            if got.status != 409 {
                return got;
            }
            assert_eq!(got.headers[header::RETRY_AFTER], "1");
        }
    })
    .await;
    assert_eq!(got.status, 200);
    assert_eq!(got.body, bytes);
    let expected = "attachment; filename=\"a.bin\"; filename*=UTF-8''a.bin";
    assert_eq!(got.headers[header::CONTENT_DISPOSITION], expected);
    let gone = server.send(server.get(&path)).await;
    assert_eq!(gone.status, 404);
    let strange = server.send(server.get("/files/x/y/z")).await;
    assert_eq!(strange.body, gone.body);
    for answer in [&got, &gone, &strange] {
        assert_eq!(answer.headers[header::CACHE_CONTROL], "no-store");
        assert_eq!(answer.headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
        assert_eq!(answer.headers[header::REFERRER_POLICY], "no-referrer");
        let policy = answer.headers[header::CONTENT_SECURITY_POLICY].to_str();
        assert!(policy.unwrap().contains("sandbox"));
    }
    server.stop().await;
}

#[tokio::test]
async fn guessing_links_is_slowed_down() {
    let ground = Ground::new().await;
    let server = serve(&ground).await;
    let path = format!("/files/{}/{}/{}", ground.id, "0".repeat(32), "0".repeat(64));
    let mut statuses = Vec::new();
    for _ in 0..80 {
        let answer = server.send(server.get(&path)).await;
        statuses.push(answer.status.as_u16());
        if answer.status == 429 {
            assert_eq!(answer.headers[header::RETRY_AFTER], "1");
        }
    }
    assert_eq!(statuses[..40], [404; 40]);
    assert!(statuses.contains(&429));
    server.stop().await;
}

#[tokio::test]
async fn the_service_sweeps_when_it_starts() {
    let ground = Ground::new().await;
    let kept = ground.send(b"x").await;
    let half = ground.files().pop().unwrap().with_extension("part");
    std::fs::write(&half, "half").unwrap();
    let server = serve(&ground).await;
    soon(async {
        while half.exists() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    server.stop().await;
    assert_eq!(ground.read(&kept).await.unwrap(), b"x");
}

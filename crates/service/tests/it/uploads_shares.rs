//! Uploads: nobody takes the space, the slots or the folder of others.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use axum::http::{Method, StatusCode};
use bytes::Bytes;
use entreat_core::ElicitationId;
use entreat_engine::Ask;
use entreat_service::Role;
use entreat_service::page::PageSettings;
use entreat_service::rpc::Session;
use entreat_service::upload::{ReceiveError, UploadError, UploadSettings, Uploads};
use futures_util::{Stream, StreamExt as _, stream};
use serde_json::{Value, json};

use crate::pages::{Site, text};
use crate::uploads::{Ground, location, named, pieces};
use crate::wire::soon;
use crate::world::World;

/// Sends a file of a question.
async fn send(
    ground: &Ground,
    id: ElicitationId,
    body: impl Stream<Item = io::Result<Bytes>> + Send,
) -> Result<Value, ReceiveError> {
    let field = ground.form.field("any").unwrap();
    ground.uploads.receive(id, field, named("a"), body).await
}

fn stalled() -> impl Stream<Item = io::Result<Bytes>> + Send {
    pieces(&vec![1; 20_000], 20_000).chain(stream::pending())
}

#[tokio::test]
async fn one_question_does_not_take_the_places_of_others() {
    let ground = Ground::with(|settings| {
        settings.max_concurrent = 8;
        settings.max_concurrent_per_elicitation = 2;
    })
    .await;
    let (one, other) = (ground.id, ground.ask().await);
    let mut first = Box::pin(send(&ground, one, stalled()));
    let mut second = Box::pin(send(&ground, one, stalled()));
    let under_way = async {
        tokio::select! {
            _ = &mut first => panic!("it does not end"),
            _ = &mut second => panic!("it does not end"),
            () = async {
                while ground.files().len() < 2 {
                    tokio::task::yield_now().await;
                }
            } => {}
        }
    };
    soon(under_way).await;
    // Further uploads of the same question wait; another question's is accepted immediately.
    let mut third = Box::pin(send(&ground, one, pieces(b"x", 1)));
    let waits = tokio::time::timeout(Duration::from_millis(50), &mut third).await;
    assert!(waits.is_err());
    assert!(soon(send(&ground, other, pieces(b"x", 1))).await.is_ok());
    // An aborted upload makes room for a waiting one.
    drop(first);
    assert!(soon(third).await.is_ok());
    drop(second);
}

#[tokio::test]
async fn twenty_files_at_once_of_one_question_are_all_taken() {
    let ground = Ground::with(|settings| settings.max_concurrent_per_elicitation = 2).await;
    let form = entreat_core::Form::from_value(&json!({"id": "f", "title": "F", "fields": [
        {"id": "any", "type": "file", "label": "A", "validation": {"maxItems": 20}}]}));
    let ask = Ask::form(form.unwrap());
    let id = ground.world.session.asker().ask(ask).await.unwrap().id();
    let sends = (0..16).map(|_| send(&ground, id, pieces(b"x", 1)));
    let received = soon(futures_util::future::join_all(sends)).await;
    assert!(received.iter().all(Result::is_ok), "{received:?}");
}

#[tokio::test]
async fn whoever_stops_sending_or_drips_is_given_up() {
    let ground = Ground::with(|settings| {
        settings.max_concurrent = 1;
        settings.stall_timeout = Duration::from_millis(60);
    })
    .await;
    let stopped = soon(send(&ground, ground.id, stalled())).await;
    assert!(matches!(stopped, Err(ReceiveError::Stalled)), "{stopped:?}");
    let drip = stream::unfold((), |()| async {
        tokio::time::sleep(Duration::from_millis(5)).await;
        Some((Ok(Bytes::from_static(b"x")), ()))
    });
    let dripped = soon(send(&ground, ground.id, drip)).await;
    assert!(matches!(dripped, Err(ReceiveError::Stalled)), "{dripped:?}");
    assert_eq!(ground.files(), Vec::<PathBuf>::new());
    ground.send(b"next").await;
}

#[tokio::test]
async fn neither_a_question_nor_an_asker_fills_the_disk_for_others() {
    let limit = |settings: &mut UploadSettings| {
        settings.bytes_per_elicitation = 600_000;
        settings.bytes_per_asker = 1_000_000;
        settings.bytes_total = 1_500_000;
    };
    let ground = Ground::with(limit).await;
    let bytes = |count: usize| pieces(&vec![0; count], 50_000);
    let mine = [ground.id, ground.ask().await, ground.ask().await];
    let ask = async |asker: &str| {
        let asker = ground.world.engine.asker(asker);
        let question = asker.ask(Ask::form(ground.form.clone())).await;
        question.unwrap().id()
    };
    let (other, third) = (ask("other").await, ask("third").await);
    let too_much = send(&ground, mine[0], bytes(700_000)).await;
    assert!(matches!(
        too_much,
        Err(ReceiveError::TooManyBytes { limit: 600_000 })
    ));
    let kept = send(&ground, mine[0], bytes(500_000)).await.unwrap();
    send(&ground, mine[1], bytes(400_000)).await.unwrap();
    let asker_full = send(&ground, mine[2], bytes(200_000)).await;
    assert!(
        matches!(
            asker_full,
            Err(ReceiveError::AskerQuotaExceeded { limit: 1_000_000 })
        ),
        "{asker_full:?}"
    );
    send(&ground, other, bytes(500_000)).await.unwrap();
    let all_full = send(&ground, third, bytes(200_000)).await;
    assert!(
        matches!(
            all_full,
            Err(ReceiveError::TotalQuotaExceeded { limit: 1_500_000 })
        ),
        "{all_full:?}"
    );
    // A declared length is checked before a byte is read.
    let said = entreat_service::upload::FileMetadata {
        length: Some(200_000),
        ..named("a")
    };
    let field = ground.form.field("any").unwrap();
    let body = stream::pending::<io::Result<Bytes>>();
    let said = soon(ground.uploads.receive(third, field, said, body)).await;
    assert!(
        matches!(said, Err(ReceiveError::TotalQuotaExceeded { .. })),
        "{said:?}"
    );

    // The next run knows the owners of the files once it has scanned them.
    let mut settings = UploadSettings::default();
    limit(&mut settings);
    let ground = ground.again(settings);
    ground.uploads.sweep().await;
    let asker_full = send(&ground, mine[2], bytes(200_000)).await;
    assert!(
        matches!(asker_full, Err(ReceiveError::AskerQuotaExceeded { .. })),
        "{asker_full:?}"
    );
    ground.uploads.remove(mine[0], location(&kept)).await;
    send(&ground, mine[2], bytes(200_000)).await.unwrap();
}

#[tokio::test]
async fn the_page_says_that_there_is_no_room() {
    let world = World::new().await;
    let settings = UploadSettings {
        bytes_per_elicitation: 1000,
        bytes_total: 1500,
        ..UploadSettings::default()
    };
    let mut pages = PageSettings::default();
    let uploads = Uploads::temporary(world.engine.clone(), settings);
    pages.uploads = Some(uploads.unwrap());
    let site = Site::of(world, None, pages).await;
    let form = json!({"id": "f", "title": "F", "fields": [
        {"id": "any", "type": "file", "label": "A", "validation": {"maxItems": 5}}]});
    let upload = async |size: usize| {
        let (_, visitor) = site.visit_form(form.clone()).await;
        let headers = [
            ("cookie", &*visitor.cookie),
            ("x-entreat-form", &*visitor.csrf),
            ("x-entreat-file", "a.bin"),
        ];
        let path = format!("{}/files/0", visitor.here);
        let sent = site.send(Method::POST, &path, &headers, "x".repeat(size));
        let answer = sent.await;
        (answer.status, text(&answer))
    };
    let (status, says) = upload(2000).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(says.contains("Remove another file first"), "{says}");
    assert_eq!(upload(900).await.0, StatusCode::OK);
    let (status, says) = upload(900).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(says.contains("not enough space for files"), "{says}");
}

#[tokio::test]
async fn a_folder_in_use_is_refused_to_a_second_service_which_removes_nothing() {
    let ground = Ground::new().await;
    let kept = ground.send(b"mine").await;
    let path = ground.folder.path().join("uploads");
    // To another store, the files have no owner.
    let stranger = World::new().await;
    let open = || {
        let settings = UploadSettings::default();
        Uploads::open(&path, stranger.engine.clone(), settings)
    };
    let refused = open().unwrap_err();
    assert!(matches!(&refused, UploadError::FolderInUse { folder } if *folder == path));
    let says = refused.to_string();
    assert!(
        says.contains("in use") && says.contains("uploads.folder"),
        "{says}"
    );
    // No file in the folder could be removed to get in.
    let entries: Vec<_> = std::fs::read_dir(&path).unwrap().collect();
    assert_eq!(entries.len(), 1);
    assert_eq!(ground.read(&kept).await.unwrap(), b"mine");
    // A backup is possible in the meantime.
    let copy = ground.folder.path().join("copy");
    assert_eq!(entreat_service::upload::copy(&path, &copy).unwrap(), 1);
    drop(ground.uploads);
    open().unwrap();
}

/// Sends a file for the draft of whoever answers, and saves it there.
async fn attach(ground: &Ground, bytes: usize) -> Result<Value, ReceiveError> {
    let body = pieces(&vec![0; bytes], 50_000);
    let kept = send(ground, ground.id, body).await?;
    let elicitation = ground.world.engine.elicitation(ground.id);
    let save = |draft: &mut serde_json::Map<String, Value>| {
        draft.insert("any".to_owned(), kept.clone());
    };
    elicitation.edit_draft(save).await.unwrap();
    Ok(kept)
}

#[tokio::test]
async fn files_of_a_draft_go_when_a_program_makes_the_question_somebody_elses() {
    let limit = |settings: &mut UploadSettings| settings.bytes_per_asker = 600_000;
    let mut ground = Ground::with(limit).await;
    let rpc = ground.world.rpc.clone();
    ground.world.rpc = rpc.with_uploads(ground.uploads.clone());
    let operator = Session::new(ground.world.engine.asker("ops")).with_role(Role::Operator);
    let id = ground.id;
    let reassign = async |session: &Session, to: &str| {
        let params = json!({"elicitationId": id, "respondent": to});
        let world = &ground.world;
        let reply = world.call_as(session, "elicitation/reassign", params).await;
        assert_eq!(reply["result"]["respondent"], to, "{reply}");
    };
    for (session, to) in [(&ground.world.session, "ada"), (&operator, "bob")] {
        attach(&ground, 500_000).await.unwrap();
        let full = attach(&ground, 500_000).await;
        assert!(matches!(full, Err(ReceiveError::AskerQuotaExceeded { .. })));
        reassign(session, to).await;
        assert_eq!(ground.files(), Vec::<PathBuf>::new(), "{to}");
    }
    // What they took is free again. For the same person, the draft and its file stay.
    attach(&ground, 500_000).await.unwrap();
    reassign(&operator, "bob").await;
    assert_eq!(ground.files().len(), 1);
}

#[tokio::test]
async fn files_of_a_draft_that_was_dropped_while_no_service_ran_go_at_the_next_start() {
    let ground = Ground::new().await;
    let elicitation = ground.world.engine.elicitation(ground.id);
    elicitation.reassign("ada").await.unwrap();
    attach(&ground, 10).await.unwrap();
    elicitation.reassign("bob").await.unwrap();
    // Somebody may be uploading while the service runs.
    ground.uploads.sweep().await;
    assert_eq!(ground.files().len(), 1);
    let ground = ground.again(UploadSettings::default());
    ground.uploads.sweep_until(std::future::ready(())).await;
    assert_eq!(ground.files(), Vec::<PathBuf>::new());
    // A draft that is there keeps its file.
    attach(&ground, 10).await.unwrap();
    let ground = ground.again(UploadSettings::default());
    ground.uploads.sweep_until(std::future::ready(())).await;
    assert_eq!(ground.files().len(), 1);
}

//! Uploads: received, stored, read, removed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use entreat_core::{CancelReason, Catalogue, ElicitationId, Form};
use entreat_engine::Ask;
use entreat_service::upload::{FileMetadata, ReceiveError, UploadError, UploadSettings, Uploads};
use futures_util::{Stream, StreamExt as _, TryStreamExt as _, stream};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::wire::soon;
use crate::world::World;

const CANARY: &[u8] = b"the canary sings at midnight";

/// An uploads folder, and a question with file fields.
pub(crate) struct Ground {
    pub(crate) world: World,
    pub(crate) folder: TempDir,
    pub(crate) uploads: Uploads,
    pub(crate) form: Form,
    pub(crate) id: ElicitationId,
}

impl Ground {
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut UploadSettings)) -> Self {
        let world = World::new().await;
        let folder = tempfile::tempdir().unwrap();
        let mut settings = UploadSettings::default();
        change(&mut settings);
        let path = folder.path().join("uploads");
        let uploads = Uploads::open(path, world.engine.clone(), settings).unwrap();
        let form = Form::from_value(&json!({"id": "f", "title": "F", "fields": [
            {"id": "any", "type": "file", "label": "Any file",
             "validation": {"maxSize": 300_000_000}},
            {"id": "photos", "type": "file", "label": "Photos", "sensitive": true,
             "validation": {"maxItems": 3, "maxSize": 3_000_000,
                            "allowedMimeTypes": ["image/*"], "allowedExtensions": [".png"]}},
            {"id": "name", "type": "text", "label": "Name"},
        ]}));
        let form = form.unwrap();
        let mut ground = Self {
            id: ElicitationId::from_bytes([0; 16]),
            world,
            folder,
            uploads,
            form,
        };
        ground.id = ground.ask().await;
        ground
    }

    /// The next run on the same folder.
    pub(crate) fn again(self, settings: UploadSettings) -> Self {
        drop(self.uploads);
        let path = self.folder.path().join("uploads");
        let uploads = Uploads::open(path, self.world.engine.clone(), settings).unwrap();
        Self { uploads, ..self }
    }

    /// Another question with the same form.
    pub(crate) async fn ask(&self) -> ElicitationId {
        let ask = Ask::form(self.form.clone());
        let asked = self.world.session.asker().ask(ask).await;
        asked.unwrap().id()
    }

    pub(crate) async fn receive(
        &self,
        field: &str,
        name: FileMetadata<'_>,
        body: impl Stream<Item = io::Result<Bytes>> + Send,
    ) -> Result<Value, ReceiveError> {
        let field = self.form.field(field).unwrap();
        self.uploads.receive(self.id, field, name, body).await
    }

    /// Uploads a file to the field without rules.
    pub(crate) async fn send(&self, bytes: &[u8]) -> Value {
        let body = pieces(bytes, 10_000);
        self.receive("any", named("a.bin"), body).await.unwrap()
    }

    pub(crate) async fn read(&self, kept: &Value) -> Result<Vec<u8>, String> {
        let stream = self.uploads.read(self.id, location(kept)).await;
        let stream = stream.map_err(|error| error.to_string())?;
        let pieces: Vec<Bytes> = stream
            .try_collect()
            .await
            .map_err(|error| error.to_string())?;
        Ok(pieces.concat())
    }

    /// Every file below the folder.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for entry in fs::read_dir(self.folder.path().join("uploads")).unwrap() {
            let folder = entry.unwrap().path();
            for entry in fs::read_dir(folder).unwrap() {
                files.push(entry.unwrap().path());
            }
        }
        files.sort();
        files
    }

    fn path(&self, kept: &Value) -> PathBuf {
        let folder = self.folder.path().join("uploads");
        folder.join(self.id.to_string()).join(location(kept))
    }
}

pub(crate) fn location(kept: &Value) -> &str {
    kept["content"]["location"].as_str().unwrap()
}

pub(crate) fn named(filename: &str) -> FileMetadata<'_> {
    FileMetadata {
        filename,
        content_type: "application/octet-stream",
        length: None,
    }
}

fn png(filename: &str) -> FileMetadata<'_> {
    FileMetadata {
        content_type: "image/png",
        ..named(filename)
    }
}

pub(crate) fn pieces(
    bytes: &[u8],
    size: usize,
) -> impl Stream<Item = io::Result<Bytes>> + Send + use<> {
    let pieces: Vec<_> = bytes.chunks(size).map(Bytes::copy_from_slice).collect();
    stream::iter(pieces.into_iter().map(Ok))
}

fn is_anywhere(folder: &Path, needle: &[u8]) -> bool {
    let mut entries = fs::read_dir(folder).unwrap();
    entries.any(|entry| {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().as_encoded_bytes().to_vec();
        let bytes = if path.is_dir() {
            return is_anywhere(&path, needle);
        } else {
            fs::read(&path).unwrap()
        };
        [name, bytes]
            .iter()
            .any(|bytes| bytes.windows(needle.len()).any(|part| part == needle))
    })
}

#[tokio::test]
async fn a_file_comes_back_as_it_was_sent_whatever_its_size() {
    let ground = Ground::with(|settings| settings.max_concurrent = 1).await;
    for size in [0, 1, 65_535, 65_536, 65_537, 131_072, 200_001] {
        let bytes: Vec<u8> = (0..size).map(|i: u32| (i % 251) as u8).collect();
        let kept = ground.send(&bytes).await;
        assert_eq!(kept["filename"], "a.bin");
        assert_eq!(kept["content_type"], "application/octet-stream");
        assert_eq!(kept["size"], size);
        assert_eq!(kept["content"]["type"], "local");
        assert_eq!(ground.read(&kept).await.unwrap(), bytes, "{size}");
        let head = ground.uploads.head(ground.id, location(&kept), 70_000);
        assert_eq!(head.await.unwrap(), bytes[..bytes.len().min(70_000)]);
        ground.uploads.remove(ground.id, location(&kept)).await;
        assert_eq!(ground.files(), Vec::<PathBuf>::new());
    }
}

#[tokio::test]
async fn nothing_of_a_file_can_be_read_on_disk() {
    let ground = Ground::new().await;
    let mut bytes = vec![b' '; 100_000];
    bytes[70_000..][..CANARY.len()].copy_from_slice(CANARY);
    let name = FileMetadata {
        content_type: "x-secret/type",
        ..named("secret-name.txt")
    };
    let kept = ground.receive("any", name, pieces(&bytes, 5000)).await;
    let kept = kept.unwrap();
    let folder = ground.folder.path();
    for canary in [CANARY, b"secret-name", b"x-secret"] {
        assert!(!is_anywhere(folder, canary));
    }
    // The search itself works.
    assert!(is_anywhere(folder, location(&kept).as_bytes()));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        let file = ground.path(&kept);
        assert_eq!(mode(&file), 0o600);
        assert_eq!(mode(file.parent().unwrap()), 0o700);
        assert_eq!(mode(&folder.join("uploads")), 0o700);
    }
}

#[tokio::test]
async fn what_was_tampered_with_cut_off_or_swapped_is_noticed() {
    const PIECE: usize = (64 << 10) + 16;
    let ground = Ground::new().await;
    let kept = ground.send(&vec![7; 200_000]).await;
    let path = ground.path(&kept);
    let sound = fs::read(&path).unwrap();
    let body = sound.len() - (200_000 + 4 * 16);
    let flipped = |place: usize| {
        let mut bytes = sound.clone();
        bytes[place] ^= 1;
        bytes
    };
    let mut swapped = sound.clone();
    swapped[body..body + 2 * PIECE].rotate_left(PIECE);
    let mut longer = sound.clone();
    longer.extend_from_slice(&[0; 20]);
    for (what, bytes) in [
        ("magic", flipped(0)),
        ("version", flipped(11)),
        ("salt", flipped(20)),
        ("length", flipped(46)),
        ("label", flipped(50)),
        ("first piece", flipped(body)),
        ("last byte", flipped(sound.len() - 1)),
        ("pieces swapped", swapped),
        ("cut within a piece", sound[..sound.len() - 1].to_vec()),
        ("cut after a piece", sound[..body + PIECE].to_vec()),
        ("cut after the label", sound[..body].to_vec()),
        ("empty", Vec::new()),
        ("longer", longer),
    ] {
        fs::write(&path, bytes).unwrap();
        let error = ground.read(&kept).await.unwrap_err();
        assert!(error.contains("damaged"), "{what}: {error}");
    }
    fs::write(&path, &sound).unwrap();
    assert!(ground.read(&kept).await.is_ok());
    // A file that is moved to another's place cannot be read as that other.
    let other = ground.send(&[8; 10]).await;
    fs::copy(ground.path(&other), &path).unwrap();
    let error = ground.read(&kept).await.unwrap_err();
    assert!(error.contains("damaged"), "{error}");
}

#[tokio::test]
async fn a_location_that_is_not_this_questions_is_not_there() {
    let ground = Ground::new().await;
    let kept = ground.send(b"mine").await;
    let outside = ground.folder.path().join("x");
    fs::write(&outside, "outside").unwrap();
    let upper = location(&kept).to_uppercase();
    for strange in [
        "",
        ".",
        "..",
        "../x",
        "../../x",
        "/etc/passwd",
        "x.part",
        "\0",
        &upper,
    ] {
        let head = ground.uploads.head(ground.id, strange, 1).await;
        assert!(matches!(head, Err(UploadError::NotFound)), "{strange}");
        ground.uploads.remove(ground.id, strange).await;
    }
    let other = ground.ask().await;
    let head = ground.uploads.head(other, location(&kept), 1).await;
    assert!(matches!(head, Err(UploadError::NotFound)));
    ground.uploads.remove(other, location(&kept)).await;
    assert!(outside.exists());
    assert_eq!(ground.read(&kept).await.unwrap(), b"mine");
}

/// The constraints of a rejection, in a language.
fn refused(result: Result<Value, ReceiveError>) -> Vec<(String, String)> {
    let Err(ReceiveError::Refused(violations)) = result else {
        panic!("expected a refusal, got {result:?}");
    };
    let german = Catalogue::default().messages(["de"]);
    let errors = violations.errors(&german).into_iter();
    errors
        .map(|error| (error.constraint, error.message))
        .collect()
}

#[tokio::test]
async fn a_file_that_breaks_a_rule_is_refused_as_soon_as_that_is_known() {
    let ground = Ground::new().await;
    let polled = Arc::new(AtomicUsize::new(0));
    let endless = || {
        let polled = polled.clone();
        let png = Bytes::from([b"\x89PNG\r\n\x1a\n".to_vec(), vec![0; 99_992]].concat());
        stream::repeat_with(move || {
            polled.fetch_add(1, Ordering::Relaxed);
            Ok(png.clone())
        })
    };
    // By its declared name, type and length, before any byte is read.
    let large = FileMetadata {
        length: Some(3_000_001),
        ..png("a.png")
    };
    let constraints = |list: &[(String, String)]| -> Vec<String> {
        list.iter()
            .map(|(constraint, _)| constraint.clone())
            .collect()
    };
    let errors = refused(ground.receive("photos", large, endless()).await);
    assert_eq!(constraints(&errors), ["maxSize"]);
    assert!(errors[0].1.contains("Photos"), "{errors:?}");
    let errors = refused(ground.receive("photos", named("../b.exe"), endless()).await);
    let all = ["filename", "allowedExtensions", "allowedMimeTypes"];
    assert_eq!(constraints(&errors), all);
    assert_eq!(polled.load(Ordering::Relaxed), 0);
    // By its first bytes.
    let pdf = stream::iter([Ok(Bytes::from_static(b"%PDF-1.7"))]).chain(endless());
    let errors = refused(ground.receive("photos", png("a.png"), pdf).await);
    assert_eq!(constraints(&errors), ["allowedMimeTypes"]);
    assert!(polled.swap(0, Ordering::Relaxed) < 3);
    // By its size, without a declared length.
    let errors = refused(ground.receive("photos", png("a.png"), endless()).await);
    assert_eq!(constraints(&errors), ["maxSize"]);
    assert!(polled.load(Ordering::Relaxed) < 40);
    // A file too short to check on the way is checked at the end.
    let errors = refused(
        ground
            .receive("photos", png("a.png"), pieces(b"%PDF-1.7", 3))
            .await,
    );
    assert_eq!(constraints(&errors), ["allowedMimeTypes"]);
    assert_eq!(ground.files(), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn no_more_is_kept_for_a_question_than_its_form_can_use_and_some() {
    let ground = Ground::with(|settings| settings.bytes_per_elicitation = 2_000_000).await;
    let mut kept = Vec::new();
    // Four that its fields accept, and four more.
    for _ in 0..8 {
        kept.push(ground.send(b"x").await);
    }
    let ninth = ground.receive("any", named("a"), pieces(b"x", 1)).await;
    assert!(matches!(
        ninth,
        Err(ReceiveError::TooManyFiles { limit: 8 })
    ));
    ground.uploads.remove(ground.id, location(&kept[0])).await;
    // Removing it twice frees its space once.
    ground.uploads.remove(ground.id, location(&kept[0])).await;
    ground.send(b"x").await;
    let ninth = ground.receive("any", named("a"), pieces(b"x", 1)).await;
    assert!(matches!(ninth, Err(ReceiveError::TooManyFiles { .. })));
    ground.uploads.remove(ground.id, location(&kept[1])).await;
    let huge = vec![0; 2_000_001];
    let huge = ground.receive("any", named("a"), pieces(&huge, 9999)).await;
    assert!(
        matches!(huge, Err(ReceiveError::TooManyBytes { .. })),
        "{huge:?}"
    );
    // Rejected files use no space.
    ground.send(&vec![0; 1_900_000]).await;
    // The next run counts existing files.
    let settings = UploadSettings {
        bytes_per_elicitation: 2_000_000,
        ..UploadSettings::default()
    };
    let again = ground.again(settings);
    let ninth = again.receive("any", named("a"), pieces(b"x", 1)).await;
    assert!(matches!(ninth, Err(ReceiveError::TooManyFiles { .. })));
}

#[tokio::test]
async fn whoever_breaks_off_leaves_nothing_and_makes_room_for_the_next() {
    let ground = Ground::with(|settings| settings.max_concurrent = 1).await;
    let stalled = pieces(&vec![1; 200_000], 50_000).chain(stream::pending());
    let receiving = ground.receive("any", named("a"), stalled);
    let receiving = tokio::time::timeout(Duration::from_millis(300), receiving);
    let meanwhile = async {
        while ground.files().is_empty() {
            tokio::task::yield_now().await;
        }
        let second = ground.receive("any", named("b"), pieces(b"x", 1)).await;
        assert!(matches!(second, Err(ReceiveError::Busy)), "{second:?}");
        // A sweep skips uploads in progress.
        ground.uploads.sweep().await;
        assert_eq!(ground.files().len(), 1);
    };
    let (received, ()) = soon(async { tokio::join!(receiving, meanwhile) }).await;
    assert!(received.is_err());
    soon(async {
        while !ground.files().is_empty() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let broken =
        pieces(&vec![1; 90_000], 50_000).chain(stream::iter([Err(io::Error::other("gone"))]));
    let broken = ground.receive("any", named("a"), broken).await;
    assert!(matches!(broken, Err(ReceiveError::Body(_))));
    assert_eq!(ground.files(), Vec::<PathBuf>::new());
    ground.send(b"next").await;
}

#[tokio::test]
async fn files_are_taken_for_open_questions_and_for_fields_that_take_some() {
    let ground = Ground::new().await;
    let text = ground.receive("name", named("a"), pieces(b"x", 1)).await;
    assert!(matches!(text, Err(ReceiveError::NotAFileField)));
    let elicitation = ground.world.engine.elicitation(ground.id);
    elicitation.decline().await.unwrap();
    let late = ground.receive("any", named("a"), pieces(b"x", 1)).await;
    assert!(matches!(late, Err(ReceiveError::Closed)));
    let field = ground.form.field("any").unwrap();
    let nobody = ElicitationId::from_bytes([1; 16]);
    let nobody = ground
        .uploads
        .receive(nobody, field, named("a"), pieces(b"x", 1));
    assert!(matches!(nobody.await, Err(ReceiveError::Closed)));
}

#[tokio::test]
async fn what_a_crash_left_half_done_is_removed_at_the_next_start() {
    let ground = Ground::new().await;
    let kept = ground.send(b"whole").await;
    let half = ground
        .path(&kept)
        .with_file_name("00000000000000000000000000000000.part");
    fs::write(&half, "half").unwrap();
    let ground = ground.again(UploadSettings::default());
    // As the service does on shutdown.
    ground.uploads.sweep_until(std::future::ready(())).await;
    assert_eq!(ground.files(), [ground.path(&kept)]);
    let head = ground.uploads.head(ground.id, location(&kept), 9);
    assert_eq!(head.await.unwrap(), b"whole");
}

#[tokio::test]
async fn files_go_with_their_question() {
    let ground = Ground::new().await;
    ground.send(b"x").await;
    ground.uploads.sweep().await;
    assert_eq!(ground.files().len(), 1);
    let elicitation = ground.world.engine.elicitation(ground.id);
    elicitation
        .cancel(CancelReason::UserCancelled)
        .await
        .unwrap();
    ground.uploads.sweep().await;
    assert_eq!(ground.files(), Vec::<PathBuf>::new());

    let ground = Ground::new().await;
    ground.send(b"x").await;
    ground.world.pass(Duration::from_secs(301)).await;
    ground.uploads.sweep().await;
    assert_eq!(ground.files(), Vec::<PathBuf>::new());
}

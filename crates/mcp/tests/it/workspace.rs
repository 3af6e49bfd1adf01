//! Secrets and files of an agent on this machine are saved to its folder.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use entreat_core::Catalogue;
use entreat_core::schema::Era;
use entreat_engine::Snapshot;
use entreat_mcp::workspace::FolderWorkspace;
use entreat_testkit::mcp::{Client, Kind, Reply, visit};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::DuplexStream;

use crate::world::{Pages, World};

const SECRET: &str = "canary-it's-77aa";

async fn world() -> World {
    World::built(|mcp| mcp.pages(Arc::new(Pages))).await
}

async fn connect(world: &World, folder: &Path, kind: Kind) -> Client<DuplexStream> {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let server = world.mcp.ask_server_in(FolderWorkspace::new(folder));
    tokio::spawn(async move {
        if let Ok(running) = server.serve(theirs).await {
            let _ = running.waiting().await;
        }
    });
    Client::connect(kind, ours).await
}

fn secret_to(file: &str) -> Value {
    json!({"question": "Which key?", "secret_to": {"file": file, "name": "API_KEY"}})
}

/// Calls `ask_user` of a client that shows URLs, and answers on the page.
async fn ask(
    world: &World,
    client: &mut Client<DuplexStream>,
    arguments: Value,
    answers: Value,
) -> Reply {
    let mut arguments = arguments;
    arguments["wait"] = false.into();
    let left = client.round("ask_user", arguments, json!({})).await;
    let left = left.result()["structuredContent"].clone();
    let url = left["url"].as_str().expect("a link");
    world.answer_page(url, answers).await;
    let question = json!({"question": left["question"]});
    client.round("ask_status", question, json!({})).await
}

/// What the page says about where the secret goes.
fn saved_to(snapshot: &Snapshot) -> String {
    let english = Catalogue::default().messages(["en"]);
    let form = snapshot.record().request.subject.form().expect("a form");
    english.saved_to(&form.fields()[0]).expect("its place")
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    let metadata = fs::metadata(path).expect("the file exists");
    metadata.permissions().mode() & 0o777
}

#[tokio::test]
async fn a_secret_reaches_its_file_and_not_the_model_in_every_era() {
    let world = world().await;
    for era in Era::ALL.into_iter().filter(|era| *era != Era::V2025_06_18) {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join(".env");
        fs::write(&file, "# mine\nA=1\nAPI_KEY=old\nB='2'\n").unwrap();
        let mut client = connect(&world, folder.path(), Kind::url(era)).await;
        let reply = client.call("ask_user", secret_to(".env"), |question| {
            let url = question.params["url"].as_str().unwrap();
            let (_, id) = url.rsplit_once('/').unwrap();
            let question = world.engine.elicitation(id.parse().unwrap());
            tokio::spawn(async move {
                let snapshot = question
                    .outcome_within(std::time::Duration::ZERO)
                    .await
                    .unwrap();
                let about = saved_to(&snapshot);
                assert!(about.contains(".env as API_KEY"), "{about}");
                assert!(about.contains("does not see it"), "{about}");
                question.submit(&json!({"answer": SECRET})).await.unwrap();
            });
            visit()
        });
        let reply = reply.await;
        let result = &reply.result()["structuredContent"];
        assert_eq!(result["status"], "completed", "{era:?} {result}");
        assert_eq!(result["saved_to"]["file"], ".env");
        assert_eq!(result["saved_to"]["name"], "API_KEY");
        let text = fs::read_to_string(&file).unwrap();
        assert_eq!(text, format!("# mine\nA=1\nAPI_KEY=\"{SECRET}\"\nB='2'\n"));
        #[cfg(unix)]
        assert_eq!(mode(&file), 0o600);
        assert!(!client.transcript.concat().contains("canary"));
    }
}

#[tokio::test]
async fn a_secret_that_nobody_waited_for_is_saved_when_its_status_is_read() {
    let world = world().await;
    let folder = TempDir::new().unwrap();
    let mut client = connect(&world, folder.path(), Kind::none(Era::V2025_11_25)).await;
    let reply = ask(
        &world,
        &mut client,
        secret_to("conf/.env"),
        json!({"answer": SECRET}),
    )
    .await;
    assert_eq!(
        reply.result()["structuredContent"]["saved_to"]["file"],
        "conf/.env"
    );
    let file = folder.path().join("conf/.env");
    assert!(fs::read_to_string(&file).unwrap().contains(SECRET));
    assert!(!client.transcript.concat().contains("canary"));
}

#[tokio::test]
async fn a_value_that_was_changed_since_is_left_alone() {
    let world = world().await;
    let folder = TempDir::new().unwrap();
    let mut client = connect(&world, folder.path(), Kind::none(Era::V2025_11_25)).await;
    let mut arguments = secret_to(".env");
    arguments["wait"] = false.into();
    let left = client.round("ask_user", arguments, json!({})).await;
    let left = left.result()["structuredContent"].clone();
    world
        .answer_page(left["url"].as_str().unwrap(), json!({"answer": SECRET}))
        .await;
    let question = json!({"question": left["question"]});
    client
        .round("ask_status", question.clone(), json!({}))
        .await;
    let file = folder.path().join(".env");
    fs::write(&file, "API_KEY=rotated\n").unwrap();
    client.round("ask_status", question, json!({})).await;
    assert_eq!(fs::read_to_string(&file).unwrap(), "API_KEY=rotated\n");
}

#[cfg(unix)]
#[tokio::test]
async fn nothing_is_written_through_links_into_git_or_outside() {
    use std::os::unix::fs::symlink;
    let world = world().await;
    let (folder, elsewhere) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let (root, other) = (folder.path(), elsewhere.path());
    fs::write(other.join("file"), "A=1\n").unwrap();
    symlink(other.join("file"), root.join("linked.env")).unwrap();
    symlink(other.join("absent"), root.join("dangling.env")).unwrap();
    symlink(other, root.join("linked")).unwrap();
    fs::create_dir(root.join("folder.env")).unwrap();
    fs::write(root.join("main.rs"), "fn main() {}\n").unwrap();
    let mut client = connect(&world, root, Kind::none(Era::V2025_11_25)).await;
    for (file, told) in [
        ("linked.env", "symbolic link"),
        ("dangling.env", "symbolic link"),
        ("linked/.env", "symbolic link"),
        ("folder.env", "is not a file"),
        ("main.rs", "is not a dotenv file: line 1"),
        ("main.rs/x", "cannot write"),
        (".git/config", "belongs to Git"),
        ("../.env", "below the working folder"),
        ("/etc/environment", "below the working folder"),
    ] {
        let reply = client.round("ask_user", secret_to(file), json!({})).await;
        assert_eq!(reply.result()["isError"], true, "{file}");
        assert!(reply.text().contains(told), "{file}: {}", reply.text());
    }
    assert_eq!(fs::read_to_string(other.join("file")).unwrap(), "A=1\n");
    assert_eq!(fs::read_dir(other).unwrap().count(), 1);
}

/// A file may turn into a link between the question and its answer.
#[cfg(unix)]
#[tokio::test]
async fn a_link_that_appears_later_is_not_followed_either() {
    let world = world().await;
    let (folder, elsewhere) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let target = elsewhere.path().join("file");
    fs::write(&target, "A=1\n").unwrap();
    let mut client = connect(&world, folder.path(), Kind::none(Era::V2025_11_25)).await;
    let mut arguments = secret_to(".env");
    arguments["wait"] = false.into();
    let left = client.round("ask_user", arguments, json!({})).await;
    let left = left.result()["structuredContent"].clone();
    std::os::unix::fs::symlink(&target, folder.path().join(".env")).unwrap();
    world
        .answer_page(left["url"].as_str().unwrap(), json!({"answer": SECRET}))
        .await;
    let question = json!({"question": left["question"]});
    let reply = client
        .round("ask_status", question.clone(), json!({}))
        .await;
    assert!(reply.text().contains("symbolic link"), "{}", reply.text());
    assert_eq!(fs::read_to_string(&target).unwrap(), "A=1\n");
    // Nothing is lost: once the link is gone, the secret is saved.
    fs::remove_file(folder.path().join(".env")).unwrap();
    let reply = client.round("ask_status", question, json!({})).await;
    assert_eq!(reply.result()["structuredContent"]["status"], "completed");
    assert!(
        fs::read_to_string(folder.path().join(".env"))
            .unwrap()
            .contains(SECRET)
    );
}

#[tokio::test]
async fn the_page_warns_if_git_does_not_ignore_the_file() {
    let world = world().await;
    let folder = TempDir::new().unwrap();
    let mut git = std::process::Command::new("git");
    let made = git.args(["init", "-q"]).current_dir(&folder).status();
    assert!(made.expect("git runs").success());
    fs::write(folder.path().join(".gitignore"), "*.local\n").unwrap();
    let mut client = connect(&world, folder.path(), Kind::none(Era::V2025_11_25)).await;
    for (file, warns) in [(".env", true), (".env.local", false)] {
        let mut arguments = secret_to(file);
        arguments["wait"] = false.into();
        let left = client.round("ask_user", arguments, json!({})).await;
        let id = left.result()["structuredContent"]["question"]
            .as_str()
            .unwrap()
            .parse();
        let question = world.engine.elicitation(id.unwrap());
        let snapshot = question
            .outcome_within(std::time::Duration::ZERO)
            .await
            .unwrap();
        let about = saved_to(&snapshot);
        assert_eq!(
            about.contains("Git does not ignore this file"),
            warns,
            "{about}"
        );
    }
}

#[tokio::test]
async fn files_are_saved_once_and_never_passed_through_the_model() {
    let world = world().await;
    let folder = TempDir::new().unwrap();
    let mut client = connect(&world, folder.path(), Kind::none(Era::V2025_11_25)).await;
    let fields = json!([{"id": "report", "type": "file", "label": "Report", "required": true},
        {"id": "more", "type": "file", "label": "More", "validation": {"maxItems": 2}}]);
    let arguments = json!({"form": {"title": "Files", "fields": fields}});
    let file = |name: &str| json!({"filename": name, "content_type": "text/plain", "size": 5, "content": "aGVsbG8="});
    let answers = json!({"report": file("re port.txt"), "more": [file("a.txt"), file("a.txt")]});
    let reply = ask(&world, &mut client, arguments, answers).await;
    let result = &reply.result()["structuredContent"]["answers"];
    let path = Path::new(result["report"]["path"].as_str().unwrap());
    assert!(
        path.starts_with(folder.path().join(".entreat/files")),
        "{path:?}"
    );
    assert!(path.ends_with("report-re_port.txt"), "{path:?}");
    assert_eq!(fs::read(path).unwrap(), b"hello");
    assert_ne!(result["more"][0]["path"], result["more"][1]["path"]);
    assert_eq!(result["report"]["size"], 5);
    assert!(!client.transcript.concat().contains("aGVsbG8"));
    // Git does not see them.
    let ignore = folder.path().join(".entreat/.gitignore");
    assert_eq!(fs::read_to_string(ignore).unwrap(), "*\n");
    let content = reply.result()["content"].as_array().unwrap();
    let links: Vec<_> = content
        .iter()
        .filter(|it| it["type"] == "resource_link")
        .collect();
    assert_eq!(links.len(), 3);
    assert_eq!(links[0]["uri"], format!("file://{}", path.display()));
    assert_eq!(links[0]["mimeType"], "text/plain");
}

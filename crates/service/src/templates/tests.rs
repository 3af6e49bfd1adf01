//! Tests with real folders and changes; they wait for the next rescan, not for a fixed time.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::*;
use crate::rpc::Template;

/// Timeout for changes that should be immediate.
const PATIENCE: Duration = Duration::from_secs(30);

struct Ground {
    folder: tempfile::TempDir,
    templates: Templates,
    watched: TemplateFolder,
}

impl Ground {
    async fn with(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let templates = Templates::default();
        let watched = TemplateFolder::watch(folder.path(), templates.clone());
        Self {
            watched: watched.await.unwrap(),
            templates,
            folder,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Waits until a template satisfies a condition.
    async fn until(&self, name: &str, is_so: impl Fn(Option<&Template>) -> bool) {
        let waiting = async {
            while !is_so(self.templates.get(name).as_ref()) {
                self.watched.rescanned().await;
            }
        };
        let waited = tokio::time::timeout(PATIENCE, waiting).await;
        assert!(waited.is_ok(), "{name}: {:?}", self.templates.get(name));
    }

    async fn until_title(&self, name: &str, title: &str) {
        self.until(name, |found| titled(found, title) && is_sound(found))
            .await;
    }
}

fn titled(found: Option<&Template>, title: &str) -> bool {
    let form = found.and_then(|found| found.form.as_ref());
    form.is_some_and(|form| form.title() == title)
}

fn is_sound(found: Option<&Template>) -> bool {
    found.is_some_and(|found| found.problems.is_none())
}

fn yaml(title: &str) -> String {
    format!("id: go\ntitle: {title}\nfields: [{{id: sure, type: boolean, label: Sure?}}]\n")
}

fn json(title: &str) -> String {
    format!(
        r#"{{"id":"go","title":"{title}","fields":[{{"id":"a","type":"boolean","label":"A"}}]}}"#
    )
}

const TOML: &str =
    "id = 'go'\ntitle = 'Toml'\n[[fields]]\nid = 'a'\ntype = 'boolean'\nlabel = 'A'\n";

#[tokio::test]
async fn every_notation_is_loaded_and_other_files_are_not() {
    let (yaml, json) = (yaml("Yaml"), json("Json"));
    let ground = Ground::with(&[
        ("a.yaml", &yaml),
        ("b.yml", &yaml),
        ("c.json", &json),
        ("d.toml", TOML),
        ("e.txt", &yaml),
        (".f.yaml", &yaml),
        ("g", &yaml),
    ])
    .await;
    for (name, title) in [("a", "Yaml"), ("b", "Yaml"), ("c", "Json"), ("d", "Toml")] {
        assert!(titled(ground.templates.get(name).as_ref(), title), "{name}");
    }
    for name in ["e", ".f", "f", "g"] {
        assert!(ground.templates.get(name).is_none(), "{name}");
    }
    ground.watched.close().await;
}

#[tokio::test]
async fn what_is_written_renamed_broken_mended_and_deleted_is_followed() {
    let ground = Ground::with(&[]).await;
    ground.write("go.yaml", &yaml("First"));
    ground.until_title("go", "First").await;

    // Like editors: a new file replaces the old one.
    ground.write("go.yaml~", &yaml("Second"));
    fs::rename(ground.path("go.yaml~"), ground.path("go.yaml")).unwrap();
    ground.until_title("go", "Second").await;

    ground.write("go.yaml", "title: [");
    let is_broken = |found: Option<&Template>| titled(found, "Second") && !is_sound(found);
    ground.until("go", is_broken).await;

    ground.write("go.yaml", &yaml("Third"));
    ground.until_title("go", "Third").await;

    fs::remove_file(ground.path("go.yaml")).unwrap();
    ground.until("go", |found| found.is_none()).await;
    ground.watched.close().await;
}

#[tokio::test]
async fn of_two_files_with_one_name_none_is_preferred() {
    let ground = Ground::with(&[("go.yaml", &yaml("Yaml"))]).await;
    ground.write("go.json", &json("Json"));
    let is_unclear = |found: Option<&Template>| titled(found, "Yaml") && !is_sound(found);
    ground.until("go", is_unclear).await;
    let problems = ground.templates.get("go").unwrap().problems.unwrap();
    let words = problems.to_string();
    assert!(words.contains("go.json and go.yaml"), "{words}");

    fs::remove_file(ground.path("go.yaml")).unwrap();
    ground.until_title("go", "Json").await;
    ground.watched.close().await;
}

#[tokio::test]
async fn what_is_too_large_or_no_text_is_a_problem_of_its_own() {
    let large = yaml(&"x".repeat(2 << 20));
    let ground = Ground::with(&[("large.yaml", &large), ("sound.yaml", &yaml("Sound"))]).await;
    let problem = |name: &str| {
        let template = ground.templates.get(name).unwrap();
        template.problems.unwrap().to_string()
    };
    assert!(problem("large").contains("[too_large]"));
    assert!(titled(ground.templates.get("sound").as_ref(), "Sound"));

    fs::write(ground.path("binary.json"), [0xff, 0xfe]).unwrap();
    ground.until("binary", |found| found.is_some()).await;
    assert!(problem("binary").contains("UTF-8"));
    ground.watched.close().await;
}

#[tokio::test]
async fn templates_outlive_their_folder_and_find_it_again() {
    let ground = Ground::with(&[("go.yaml", &yaml("First"))]).await;
    let folder = ground.folder.path().to_owned();
    let aside = folder.with_extension("aside");
    fs::rename(&folder, &aside).unwrap();
    ground.watched.rescanned().await;
    ground.watched.rescanned().await;
    assert!(titled(ground.templates.get("go").as_ref(), "First"));

    fs::rename(&aside, &folder).unwrap();
    ground.write("go.yaml", &yaml("Second"));
    ground.until_title("go", "Second").await;
    ground.watched.close().await;
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_named() {
    let folder = Path::new("no/such/folder");
    let error = TemplateFolder::watch(folder, Templates::default()).await;
    let words = error.unwrap_err().to_string();
    assert_eq!(
        words,
        "the folder of templates no/such/folder cannot be read"
    );
}

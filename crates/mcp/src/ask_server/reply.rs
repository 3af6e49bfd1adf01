//! Results, as a model reads them.

use std::path::PathBuf;

use entreat_core::{Answer, Answers, CancelReason, Content, Presented, ReferenceKind, SEALED};
use entreat_core::{Field, Status, Upload};
use rmcp::model::{CallToolResult, ContentBlock, Resource};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::tools::MAX_STATUS_WAIT;
use crate::workspace::{SecretPlace, SecretTarget, Workspace};

/// The answers as the agent gets them: secrets sealed, files saved or as links.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Delivered {
    answers: Map<String, Value>,
    files: Vec<SavedFile>,
    has_secrets: bool,
    has_links: bool,
}

#[derive(Serialize, Deserialize)]
struct SavedFile {
    path: PathBuf,
    name: String,
    content_type: String,
    size: u64,
}

/// Where files are saved: a workspace, and the question's name in it.
pub(super) type Saver<'a> = Option<(&'a dyn Workspace, &'a str)>;

impl Delivered {
    pub(super) async fn of(answers: &Answers<'_>, saver: Saver<'_>) -> Self {
        let mut delivered = Self::default();
        for (field, answer) in answers.iter() {
            let value = delivered.value(field, answer, saver).await;
            delivered.answers.insert(field.id().to_owned(), value);
        }
        delivered
    }

    async fn value(&mut self, field: &Field, answer: &Answer<'_>, saver: Saver<'_>) -> Value {
        if field.is_sensitive() {
            self.has_secrets = true;
            return SEALED.into();
        }
        let Answer::Files(files) = answer else {
            return answer.to_json();
        };
        let mut values = Vec::with_capacity(files.len());
        for (number, file) in files.iter().enumerate() {
            let place = match number {
                0 => field.id().to_owned(),
                _ => format!("{}-{}", field.id(), number + 1),
            };
            values.push(self.file(file, &place, saver).await);
        }
        if field.takes_many() {
            values.into()
        } else {
            values.pop().unwrap_or_default()
        }
    }

    /// A file without its contents, but with where they are.
    async fn file(&mut self, file: &Upload<'_>, place: &str, saver: Saver<'_>) -> Value {
        let mut value = json!({
            "filename": file.filename(),
            "content_type": file.content_type(),
            "size": file.size(),
        });
        if let Some((workspace, question)) = saver {
            let upload = file.clone().into_owned();
            match workspace.save_file(question, place, upload).await {
                Ok(path) => {
                    value["path"] = path.to_string_lossy().into();
                    self.files.push(SavedFile {
                        path,
                        name: file.filename().to_owned(),
                        content_type: file.content_type().to_owned(),
                        size: file.size(),
                    });
                }
                Err(error) => value["error"] = error.to_string().into(),
            }
            return value;
        }
        match file.content() {
            Content::Reference(it) if it.kind == ReferenceKind::Url => {
                self.has_links = true;
                value["url"] = it.location.as_ref().into();
            }
            Content::Reference(it) => value["location"] = it.location.as_ref().into(),
            Content::Inline(_) => {
                let message = "its contents are not passed on; set `uploads.inline_limit` of the \
                    service that has the page to 0 to get a link";
                value["error"] = message.into();
            }
        }
        value
    }

    pub(super) fn into_result(self, mut result: Map<String, Value>) -> CallToolResult {
        result.insert("answers".into(), self.answers.into());
        let mut notes = Vec::new();
        if self.has_secrets {
            notes.push(format!(
                "`{SEALED}` stands for a secret, which you do not receive. To have a secret saved \
                 where a program can read it, ask with `secret_to`."
            ));
        }
        if self.has_links {
            notes.push("Each `url` of a file works once.".to_owned());
        }
        if !notes.is_empty() {
            result.insert("note".into(), notes.join(" ").into());
        }
        let mut result = CallToolResult::structured(result.into());
        let links = self.files.iter().filter_map(SavedFile::link);
        result.content.extend(links);
        result
    }
}

impl SavedFile {
    fn link(&self) -> Option<ContentBlock> {
        let url = entreat_core::url::Url::from_file_path(&self.path).ok()?;
        let mut resource = Resource::new(url, self.name.clone());
        resource.mime_type = Some(self.content_type.clone());
        resource.size = Some(self.size);
        Some(ContentBlock::resource_link(resource))
    }
}

/// The members of a result with this status.
pub(super) fn status(status: Status) -> Map<String, Value> {
    Map::from_iter([("status".to_owned(), json!(status))])
}

/// A question that nobody has answered yet.
pub(super) fn open(state: Status) -> Map<String, Value> {
    let mut result = status(state);
    result.insert("next".into(), how_to_wait().into());
    result
}

/// How the agent gets the answer to a question that it does not wait for.
pub(super) fn how_to_wait() -> String {
    format!(
        "Call `ask_status` with this `question` for the answer; with `wait_seconds`, up to \
         {MAX_STATUS_WAIT}, it waits for it."
    )
}

pub(super) fn secret_saved(target: &SecretTarget, place: &SecretPlace) -> Map<String, Value> {
    let mut result = status(Status::Completed);
    let saved = json!({"file": target.file(), "name": target.name(), "path": place.path});
    result.insert("saved_to".into(), saved);
    let note = "The secret is in the file. You do not receive it: let programs read the file.";
    result.insert("note".into(), note.into());
    result
}

pub(super) fn declined(shown: Presented) -> Map<String, Value> {
    let mut result = status(Status::Declined);
    let note = "The user chose not to answer. That is neither a yes nor a no.";
    insert_shown(&mut result, shown, note);
    result
}

pub(super) fn cancelled(
    reason: CancelReason,
    shown: Presented,
    errors: &[String],
) -> Map<String, Value> {
    let mut result = status(Status::Cancelled);
    result.insert("reason".into(), json!(reason));
    let note = match reason {
        CancelReason::UserCancelled => "The user closed the question without deciding.",
        CancelReason::MaxRetriesExceeded => {
            "No answer was valid; `errors` tells what was wrong with the last one. Ask more \
             precisely, or allow more."
        }
        CancelReason::ClientDisconnected => "The client disconnected.",
        CancelReason::SessionExpired => "The session ended.",
        CancelReason::FormInvalidated => "The form was withdrawn.",
        CancelReason::AskerCancelled => "The question was withdrawn.",
    };
    if !errors.is_empty() {
        result.insert("errors".into(), json!(errors));
    }
    insert_shown(&mut result, shown, note);
    result
}

pub(super) fn timed_out() -> Map<String, Value> {
    let mut result = status(Status::Timeout);
    let note = "Nobody answered in time. The user may be away: go on without an answer if you \
        can, or ask with a longer `timeout_seconds` or with `wait: false`.";
    result.insert("note".into(), note.into());
    result
}

/// Adds whether a person saw the question, and what that means.
fn insert_shown(result: &mut Map<String, Value>, shown: Presented, note: &str) {
    let meaning = match shown {
        Presented::Yes => "`shown` is true: a person saw the question.",
        Presented::Unknown => {
            "`shown` is \"unknown\": the client does not tell whether a person saw it."
        }
        Presented::No => {
            "`shown` is false: the reply came faster than a person can read, so probably the client \
             replied by itself and nobody saw the question."
        }
    };
    let shown = match shown {
        Presented::Yes => json!(true),
        Presented::No => json!(false),
        Presented::Unknown => json!("unknown"),
    };
    result.insert("shown".into(), shown);
    result.insert("note".into(), format!("{note} {meaning}").into());
}

/// An error that the model can act on.
pub(super) fn refused(message: impl Into<String>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(message.into())])
}

//! Files that the script sends while the form is open, and pictures of those that are there.

use askama::Template;
use axum::body::Body;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use futures_util::TryStreamExt as _;
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde_json::{Value, json};

use super::control::Control;
use super::field::{FieldView, Setting};
use super::file_view::{FilesView, is_image, kept, location};
use super::frame::{Frame, html};
use super::posted::{Posted, store};
use super::question::{check_settings, is_over};
use super::shown::shown;
use super::visit::Asked;
use crate::http::json;
use crate::upload::FileName;

#[derive(Template)]
#[template(path = "files_fragment.html")]
struct Fragment<'a> {
    frame: Frame<'a>,
    field: &'a FieldView<'a>,
    files: &'a FilesView<'a>,
}

/// What an address says after the question's.
#[derive(Deserialize)]
pub(super) struct FileAddress {
    field: usize,
    #[serde(default)]
    location: String,
}

/// `POST …/files/{field}`: one file as the body, its name in a header. Answers with the field's
/// files as HTML.
pub(super) async fn upload(
    asked: Asked,
    Path(FileAddress { field: place, .. }): Path<FileAddress>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    if !asked
        .visit
        .made(text(&headers, "x-entreat-form").as_deref())
    {
        return asked
            .visit
            .refuse(StatusCode::FORBIDDEN, asked.visit.words.forged);
    }
    if asked.snapshot.outcome().is_some() {
        return json(StatusCode::CONFLICT, json!({"live": false}).to_string());
    }
    let filename = text(&headers, "x-entreat-file").unwrap_or_default();
    let kind = text(&headers, "content-type").unwrap_or_default();
    let name = FileName {
        filename: &filename,
        content_type: if kind.is_empty() {
            "application/octet-stream"
        } else {
            &kind
        },
        length: text(&headers, "content-length").and_then(|length| length.parse().ok()),
    };
    let stream = body.into_data_stream().map_err(std::io::Error::other);
    let receiving = store(&asked, place, name, stream);
    let file = match tokio::time::timeout(asked.visit.site.settings.upload_timeout, receiving).await
    {
        Ok(Ok(file)) => file,
        Ok(Err(message)) => return refused(&message),
        Err(_) => return refused(asked.visit.words.upload_failed),
    };
    let mut posted = Posted::of_file(place, file);
    match asked.keep(&mut posted).await {
        Ok(draft) => match posted.refused.pop() {
            Some((_, message)) => refused(&message),
            None => fragment(&asked, place, &Value::Object(draft)).await,
        },
        Err(error) if is_over(&error) => {
            json(StatusCode::CONFLICT, json!({"live": false}).to_string())
        }
        Err(error) => asked.visit.broken(&error),
    }
}

async fn fragment(asked: &Asked, place: usize, tree: &Value) -> Response {
    let visit = &asked.visit;
    let form = asked.form();
    let settings = check_settings();
    let progress = form.progress(tree, &settings);
    let Some(values) = tree.as_object() else {
        return refused(visit.words.upload_failed);
    };
    let setting = Setting {
        form,
        values,
        progress: &progress,
        words: visit.words,
    };
    let value = values.get(form.fields()[place].id());
    let Some(files) = FilesView::new(&form.fields()[place], value, visit.words) else {
        return refused(visit.words.upload_failed);
    };
    let files = asked
        .with_previews(files, place, value, &visit.here())
        .await;
    let field = FieldView::new(&setting, place, None, Some(files), None);
    let frame = Frame::new(&visit.site, visit.words, None);
    let Control::Files(files) = &field.control else {
        return refused(visit.words.upload_failed);
    };
    html(
        StatusCode::OK,
        &Fragment {
            frame,
            files,
            field: &field,
        },
    )
}

/// `GET …/files/{field}/{location}`: a picture that was uploaded.
pub(super) async fn preview(
    asked: Asked,
    Path(FileAddress { field, location }): Path<FileAddress>,
) -> Response {
    match picture(&asked, field, &location).await {
        Some(response) => response,
        None => asked.visit.site.not_found(asked.visit.words),
    }
}

async fn picture(asked: &Asked, place: usize, wanted: &str) -> Option<Response> {
    let field = asked.form().fields().get(place)?;
    let uploads = asked.visit.site.uploads.as_ref()?;
    if asked.snapshot.outcome().is_some() || field.is_sensitive() {
        return None;
    }
    let values = asked.elicitation().drafted().await.ok()?;
    let file = kept(values.get(field.id())).find(|file| location(file) == Some(wanted))?;
    let kind = file["content_type"]
        .as_str()
        .filter(|kind| is_image(kind))?;
    let bytes = uploads.read(asked.id, wanted).await.ok()?;
    let mut response = Response::new(Body::from_stream(bytes));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_str(kind).ok()?);
    let alone = HeaderValue::from_static("default-src 'none'; sandbox");
    headers.insert(header::CONTENT_SECURITY_POLICY, alone);
    Some(response)
}

fn refused(message: &str) -> Response {
    let told = json!({"live": true, "error": shown(message)});
    json(StatusCode::UNPROCESSABLE_ENTITY, told.to_string())
}

/// A header's text; names of files are percent-encoded, since headers know few letters.
fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    let value = headers.get(name)?.to_str().ok()?;
    Some(percent_decode_str(value).decode_utf8_lossy().into_owned())
}

//! Uploads by the script while the form is open, and preview images.

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
use super::field::{FieldContext, FieldView};
use super::file_view::{FilesView, is_image, location, uploads_in};
use super::frame::{Frame, html};
use super::posted::{Posted, store};
use super::question::{check_settings, is_over};
use super::sanitize::sanitize;
use super::visit::QuestionVisit;
use crate::http::json;
use crate::upload::FileMetadata;

#[derive(Template)]
#[template(path = "files_fragment.html")]
struct Fragment<'a> {
    frame: Frame<'a>,
    field: &'a FieldView<'a>,
    files: &'a FilesView<'a>,
}

/// The path parameters after the question's.
#[derive(Deserialize)]
pub(super) struct FileAddress {
    field: usize,
    #[serde(default)]
    location: String,
}

/// `POST …/files/{field}`: one file as the body, its name in a header. Responds with the field's
/// files as HTML.
pub(super) async fn upload(
    question: QuestionVisit,
    Path(FileAddress { field: place, .. }): Path<FileAddress>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    if !question
        .visit
        .is_own_form(text(&headers, "x-entreat-form").as_deref())
    {
        return question
            .visit
            .error_page(StatusCode::FORBIDDEN, question.visit.texts.forged);
    }
    if question.snapshot.outcome().is_some() {
        return json(StatusCode::CONFLICT, json!({"live": false}).to_string());
    }
    let filename = text(&headers, "x-entreat-file").unwrap_or_default();
    let kind = text(&headers, "content-type").unwrap_or_default();
    let name = FileMetadata {
        filename: &filename,
        content_type: if kind.is_empty() {
            "application/octet-stream"
        } else {
            &kind
        },
        length: text(&headers, "content-length").and_then(|length| length.parse().ok()),
    };
    let stream = body.into_data_stream().map_err(std::io::Error::other);
    let receiving = store(&question, place, name, stream);
    let file =
        match tokio::time::timeout(question.visit.site.settings.upload_timeout, receiving).await {
            Ok(Ok(file)) => file,
            Ok(Err(message)) => return rejected(&message),
            Err(_) => return rejected(question.visit.texts.upload_failed),
        };
    let mut posted = Posted::of_file(place, file);
    match question.save_draft(&mut posted).await {
        Ok(draft) => match posted.refused.pop() {
            Some((_, message)) => rejected(&message),
            None => fragment(&question, place, &Value::Object(draft)).await,
        },
        Err(error) if is_over(&error) => {
            json(StatusCode::CONFLICT, json!({"live": false}).to_string())
        }
        Err(error) => question.visit.internal_error(&error),
    }
}

async fn fragment(question: &QuestionVisit, place: usize, tree: &Value) -> Response {
    let visit = &question.visit;
    let form = question.form();
    let settings = check_settings();
    let progress = form.progress(tree, &settings);
    let Some(values) = tree.as_object() else {
        return rejected(visit.texts.upload_failed);
    };
    let context = FieldContext {
        form,
        values,
        progress: &progress,
        texts: visit.texts,
        messages: &visit.messages,
        format: question.snapshot.record().request.text_format(),
        // A form that asks for a file asks for more than yes or no.
        yes_no: None,
    };
    let value = values.get(form.fields()[place].id());
    let Some(files) = FilesView::new(&form.fields()[place], value, visit.texts, &visit.messages)
    else {
        return rejected(visit.texts.upload_failed);
    };
    let files = question
        .with_previews(files, place, value, &visit.here())
        .await;
    let field = FieldView::new(&context, place, Vec::new(), Some(files), None);
    let frame = Frame::new(&visit.site, visit.texts, None);
    let Control::Files(files) = &field.control else {
        return rejected(visit.texts.upload_failed);
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

/// `GET …/files/{field}/{location}`: a preview of an uploaded image.
pub(super) async fn preview(
    question: QuestionVisit,
    Path(FileAddress { field, location }): Path<FileAddress>,
) -> Response {
    match preview_image(&question, field, &location).await {
        Some(response) => response,
        None => question.visit.site.not_found(question.visit.texts),
    }
}

async fn preview_image(question: &QuestionVisit, place: usize, wanted: &str) -> Option<Response> {
    let field = question.form().fields().get(place)?;
    let uploads = question.visit.site.uploads.as_ref()?;
    if question.snapshot.outcome().is_some() || field.is_sensitive() {
        return None;
    }
    let values = question.read_draft().await.ok()?;
    let file = uploads_in(values.get(field.id())).find(|file| location(file) == Some(wanted))?;
    let kind = file["content_type"]
        .as_str()
        .filter(|kind| is_image(kind))?;
    let bytes = uploads.read(question.id, wanted).await.ok()?;
    let mut response = Response::new(Body::from_stream(bytes));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_str(kind).ok()?);
    let policy = HeaderValue::from_static("default-src 'none'; sandbox");
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    Some(response)
}

fn rejected(message: &str) -> Response {
    let body = json!({"live": true, "error": sanitize(message)});
    json(StatusCode::UNPROCESSABLE_ENTITY, body.to_string())
}

/// The text of a header; file names are percent-encoded, since headers are ASCII.
fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    let value = headers.get(name)?.to_str().ok()?;
    Some(percent_decode_str(value).decode_utf8_lossy().into_owned())
}

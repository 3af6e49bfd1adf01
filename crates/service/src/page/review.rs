//! The review page: all answers before submission, with secrets masked.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Map, Value};

use super::answer_text::{AnswerSection, AnswerText, answer_sections};
use super::closing;
use super::frame::{AskerIdentity, AskerView, Clock, Frame, html};
use super::question::check_settings;
use super::visit::QuestionVisit;

#[derive(Template)]
#[template(path = "review.html")]
struct ReviewPage<'a> {
    frame: Frame<'a>,
    asker: AskerView<'a>,
    title: &'a str,
    action: &'a str,
    here: &'a str,
    csrf: String,
    poll: u128,
    clock: Clock,
    sections: Vec<AnswerSection<'a>>,
}

pub(super) async fn show(question: QuestionVisit) -> Response {
    if question.snapshot.outcome().is_some() {
        return closing::page(&question);
    }
    match question.draft_values().await {
        Ok(values) => page(&question, values),
        Err(error) => question.visit.internal_error(&error),
    }
}

fn page(question: &QuestionVisit, values: Map<String, Value>) -> Response {
    let visit = &question.visit;
    let (site, texts) = (&*visit.site, visit.texts);
    let here = visit.here();
    let form = question.form();
    let record = question.snapshot.record();
    let tree = Value::Object(values);
    let settings = check_settings();
    if form.check_with(&tree, &settings).is_err() {
        return visit.redirect_to(&format!("{here}?check"));
    }
    let progress = form.progress(&tree, &settings);
    let Some(values) = tree.as_object() else {
        return visit.redirect_to(&here);
    };
    let page = ReviewPage {
        frame: Frame::new(site, texts, Some(&record.request.asker)),
        asker: AskerView::new(site, texts, &record.request),
        title: form.title(),
        action: &here,
        here: &here,
        csrf: visit.csrf(),
        poll: site.settings.poll.as_millis(),
        clock: Clock::new(&question.snapshot, site.engine.now(), texts),
        sections: answer_sections(form, values, (texts, &visit.messages), |field| {
            progress.is_shown(field) && progress.is_active(field.id())
        }),
    };
    visit.with_cookie(html(StatusCode::OK, &page))
}

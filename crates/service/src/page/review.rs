//! The page before sending: all answers at a glance, secrets masked.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Map, Value};

use super::closing;
use super::frame::{AskerView, Clock, Frame, html};
use super::question::check_settings;
use super::said::{Line, Said, lines};
use super::visit::Asked;

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
    lines: Vec<Line<'a>>,
}

pub(super) async fn show(asked: Asked) -> Response {
    if asked.snapshot.outcome().is_some() {
        return closing::page(&asked);
    }
    match asked.typed().await {
        Ok(values) => page(&asked, values),
        Err(error) => asked.visit.broken(&error),
    }
}

fn page(asked: &Asked, values: Map<String, Value>) -> Response {
    let visit = &asked.visit;
    let (site, words) = (&*visit.site, visit.words);
    let here = visit.here();
    let form = asked.form();
    let record = asked.snapshot.record();
    let tree = Value::Object(values);
    let settings = check_settings();
    if form.check_with(&tree, &settings).is_err() {
        return visit.send_to(&format!("{here}?check"));
    }
    let progress = form.progress(&tree, &settings);
    let Some(values) = tree.as_object() else {
        return visit.send_to(&here);
    };
    let page = ReviewPage {
        frame: Frame::new(site, words, Some(&record.request.asker)),
        asker: AskerView::new(site, &record.request.asker),
        title: form.title(),
        action: &here,
        here: &here,
        csrf: visit.csrf(),
        poll: site.settings.poll.as_millis(),
        clock: Clock::new(&asked.snapshot, site.engine.now(), words),
        lines: lines(form, values, words, |field| {
            progress.is_shown(field) && progress.is_active(field.id())
        }),
    };
    visit.with_cookie(html(StatusCode::OK, &page))
}

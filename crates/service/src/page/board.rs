//! The board: where operators see the questions of all askers and look after them.
//!
//! It shows what is asked, by whom, for whom, and for how long, and never what somebody answered or
//! typed, secrets, or what an asker attached: the engine's [`Operator`] removes them before they
//! get here. Everything it shows is bounded, and read in one pass.
//!
//! [`Operator`]: entreat_engine::Operator

mod access;
mod act;
mod filter;
mod history;
mod open;
mod row;

use std::sync::Arc;

use axum::routing::{get, post};
use axum::{Extension, Router};

use super::{Site, visit};
use crate::askers::Askers;

pub(super) use self::access::OperatorVisit;

pub(super) fn router(site: &Arc<Site>, askers: Arc<Askers>) -> Router {
    Router::new()
        .route("/", get(open::show))
        .route("/list", get(open::list))
        .route("/history", get(history::show))
        .route("/key", post(access::enter))
        .route("/leave", post(access::leave))
        .route("/q/{id}", get(act::show).post(act::handle))
        .fallback(visit::not_found_fallback)
        .method_not_allowed_fallback(visit::method_not_allowed)
        .layer(Extension(askers))
        .with_state(site.clone())
}

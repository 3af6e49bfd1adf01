//! `entreat form …`.

mod import;
mod lint;
mod sample;
mod schema;
mod validate;

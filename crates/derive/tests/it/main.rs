//! Tests of `#[derive(Form)]` as its users see it, in one binary.

mod choices;
mod conditions;
mod definitions;
mod fail;
mod types;

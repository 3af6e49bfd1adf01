//! `required`, `readonly` and `hidden` where they make no sense, and files without a number.
use entreat_core::{Form, Upload};

#[derive(Form)]
struct Target {
    #[form(required)]
    a: String,
    #[form(required)]
    b: Option<String>,
    #[form(readonly)]
    c: String,
    #[form(hidden)]
    d: u8,
    e: Vec<Upload<'static>>,
    f: Vec<String>,
}

fn main() {}

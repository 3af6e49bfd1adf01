//! Defaults of another type than the field, or outside of its bounds.
use entreat_core::{Form, Upload};

#[derive(Form)]
struct Defaults {
    #[form(default = 5)]
    a: String,
    #[form(default = "5")]
    b: u8,
    #[form(default = 256)]
    c: u8,
    #[form(default = 1)]
    d: bool,
    #[form(default = "x")]
    e: Upload<'static>,
    #[form(default = 9, max = 8)]
    f: i64,
    #[form(default = "a", min_length = 2)]
    g: String,
    #[form(default = String::from("a"))]
    h: String,
}

fn main() {}

//! Rules on fields whose type does not have them.
use entreat_core::{Form, Upload};

#[derive(Form)]
struct Server {
    #[form(min_length = 3)]
    port: u16,
    #[form(max = 10)]
    name: Option<String>,
    #[form(schemes = ["https"])]
    host: String,
    #[form(max_items = 2)]
    key: Upload<'static>,
    #[form(multiple_of = 0.5)]
    step: i32,
    #[form(display = "radio")]
    file: Upload<'static>,
}

fn main() {}

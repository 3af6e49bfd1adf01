//! A field that may be hidden must be able to have no value.
use entreat_core::Form;

#[derive(Form)]
struct Target {
    custom: bool,
    #[form(show_if(custom))]
    name: String,
}

fn main() {}

//! The same for a type whose name tells nothing.
use entreat_core::Form;

#[derive(Form)]
enum Kind {
    A,
}

#[derive(Form)]
struct Target {
    custom: bool,
    #[form(show_if(custom))]
    kind: Kind,
}

fn main() {}

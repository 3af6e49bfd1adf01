//! Enums that are no choice.
use entreat_core::Form;

#[derive(Form)]
enum WithData {
    Plain,
    Tuple(String),
    Struct { a: u8 },
}

#[derive(Form)]
#[form(title = "No")]
enum Values {
    A,
    #[form(value = "a")]
    B,
    #[form(value = "")]
    C,
    #[form(label = "D")]
    D,
}

#[derive(Form)]
enum Never {}

fn main() {}

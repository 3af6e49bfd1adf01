//! A default that is a variant of another enum.
use entreat_core::Form;

#[derive(Form)]
enum Size {
    Small,
}

#[derive(Form)]
enum Colour {
    Red,
}

#[derive(Form)]
struct Target {
    #[form(default = Colour::Red)]
    size: Size,
}

fn main() {}

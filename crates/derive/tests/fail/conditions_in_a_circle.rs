//! Conditions that depend on each other.
use entreat_core::Form;

#[derive(Form)]
struct Target {
    #[form(show_if(b == "x"))]
    a: Option<String>,
    #[form(show_if(!a.is_empty()))]
    b: Option<String>,
    #[form(show_if(a == "y"))]
    c: Option<String>,
}

fn main() {}

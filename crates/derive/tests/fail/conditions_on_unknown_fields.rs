//! Names in conditions and dependencies that are no field's.
use entreat_core::Form;

#[derive(Form)]
struct Target {
    kind: String,
    #[form(show_if(knid == "custom"))]
    name: Option<String>,
    #[form(show_if(kind == "a" && size > 3 || colour.is_empty()))]
    note: Option<String>,
    #[form(requires = ["nam", "token"])]
    token: Option<String>,
}

fn main() {}

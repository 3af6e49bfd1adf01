//! Two fields of one id, and names that cannot be ids.
use entreat_core::Form;

#[derive(Form)]
struct Target {
    name: String,
    #[form(id = "name")]
    other: String,
    größe: String,
}

fn main() {}

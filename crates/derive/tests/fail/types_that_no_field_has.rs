//! Types that a form cannot ask for.
use entreat_core::Form;

struct Opaque;

#[derive(Form)]
struct Target {
    value: Opaque,
    values: Vec<Opaque>,
}

fn main() {}

//! Items that are no form.
use entreat_core::Form;

#[derive(Form)]
struct Generic<T> {
    value: T,
}

#[derive(Form)]
struct Tuple(String, u8);

#[derive(Form)]
struct Unit;

#[derive(Form)]
struct Empty {}

#[derive(Form)]
union Either {
    a: u8,
    b: i8,
}

fn main() {}

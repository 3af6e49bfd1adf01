//! Bounds that leave no value, or that the type cannot hold.
use entreat_core::Form;
use entreat_core::jiff::civil::Date;

#[derive(Form)]
struct Bounds {
    #[form(min = 10, max = 1)]
    a: i32,
    #[form(min_length = 5, max_length = 4)]
    b: String,
    #[form(exclusive_min = 1, exclusive_max = 1)]
    c: f64,
    #[form(min = "2026-12-31", max = "2026-01-01")]
    d: Date,
    #[form(max = 300)]
    e: u8,
    #[form(multiple_of = 0)]
    f: f64,
}

fn main() {}

//! The entreat command.
fn main() {}

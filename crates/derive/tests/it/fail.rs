//! What does not compile, and what the compiler then says.

#[test]
fn mistakes_are_explained_where_they_are() {
    trybuild::TestCases::new().compile_fail("tests/fail/*.rs");
}

//! Code that must not compile, and the compiler's messages.

#[test]
fn mistakes_are_explained_where_they_are() {
    trybuild::TestCases::new().compile_fail("tests/fail/*.rs");
}

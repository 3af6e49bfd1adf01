//! A valid answer costs the memory of its result and no more.

use entreat_core::Answer;
use entreat_testkit::samples;

#[test]
fn a_valid_answer_is_checked_without_memory_beyond_the_result() {
    let form = samples::comprehensive();
    let answer = samples::comprehensive_answer();
    let checked = || drop(form.check(&answer).unwrap());
    // The first check fills the caches of the patterns.
    checked();
    let used = allocation_counter::measure(checked);
    // The list of answers, the selected options and the list of files.
    assert_eq!(used.count_total, 3);
    assert_eq!(used.count_current, 0);
}

#[test]
fn an_answer_is_four_words() {
    assert_eq!(size_of::<Option<Answer<'_>>>(), 4 * size_of::<u64>());
}

//! Where the headings of sections stand.

use entreat_core::{Field, Form};

/// By field: the heading of its section, if it is the first field of it that is shown.
pub(crate) fn headings(form: &Form, is_shown: impl Fn(&Field) -> bool) -> Vec<Option<&str>> {
    let mut headings = vec![None; form.fields().len()];
    for mut section in form.sections() {
        if let Some(first) = section
            .fields
            .find(|index| is_shown(&form.fields()[*index]))
        {
            headings[first] = section.heading;
        }
    }
    headings
}

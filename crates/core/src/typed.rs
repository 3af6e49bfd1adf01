//! Forms as Rust types: the traits that `#[derive(Form)]` implements.
//!
//! The derive converts a struct into a definition, and checked answers into the struct.
//! `field_type.rs` maps Rust types to field types. The traits can be implemented by hand too;
//! nothing here depends on the macro.

use serde_json::Value;

use crate::answer::Answers;
use crate::form::Form;
use crate::problem::Problems;
use crate::violation::{Constraint, Expected, Violation, Violations};

mod field_type;
#[doc(hidden)]
pub mod private;

pub use field_type::{FieldDraft, FieldType, ListItem};

/// A struct that holds the answers to a form.
///
/// Implemented by `#[derive(Form)]`; see [the macro](macro@crate::Form) for its attributes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a form",
    note = "put `#[derive(Form)]` on it if it is a struct with named fields"
)]
pub trait TypedForm: Sized {
    /// Returns the form, or every problem of its definition. Loads it once.
    ///
    /// The derive rejects most problems at compile time. To find the rest, such as a pattern
    /// that does not compile, put one line in a test: `Target::try_form().unwrap()`.
    fn try_form() -> Result<&'static Form, &'static Problems>;

    /// Converts checked answers into the struct.
    ///
    /// Fails if the answers are for another form. Answers checked by [`TypedForm::form`] always
    /// convert.
    fn from_answers(answers: Answers<'_>) -> Result<Self, FormMismatch>;

    /// Returns the form. Loads it once.
    ///
    /// # Panics
    ///
    /// Panics with all problems if the definition is not valid. That depends on the source code
    /// alone: a form that loaded once always loads. [`TypedForm::try_form`] returns the problems
    /// instead.
    fn form() -> &'static Form {
        match Self::try_form() {
            Ok(form) => form,
            Err(problems) => panic!(
                "the attributes of `{}` do not describe a valid form:\n{problems}",
                std::any::type_name::<Self>()
            ),
        }
    }

    /// Checks answers and converts them into the struct.
    ///
    /// ```
    /// use entreat_core::{Form, TypedForm};
    /// use serde_json::json;
    ///
    /// #[derive(Form)]
    /// struct Server {
    ///     #[form(min = 1)]
    ///     port: u16,
    /// }
    ///
    /// assert_eq!(Server::check(&json!({"port": "8080"}))?.port, 8080);
    /// assert!(Server::check(&json!({"port": 65536})).is_err());
    /// # Ok::<(), entreat_core::Violations>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if the definition is not valid, as [`TypedForm::form`] does.
    fn check(answers: &Value) -> Result<Self, Violations> {
        let form = Self::form();
        Self::from_answers(form.check(answers)?).map_err(|mismatch| {
            // Reached only if a hand-written implementation contradicts itself.
            let expected = Expected::Name(std::any::type_name::<Self>());
            let mut violation =
                Violation::without_field(mismatch.field, Constraint::Type, expected);
            violation.field = form.position(mismatch.field);
            Violations {
                form: form.clone(),
                list: vec![violation],
            }
        })
    }
}

/// The error for answers that belong to another form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the answers are for form `{form}`, in which `{field}` does not fit")]
pub struct FormMismatch {
    /// The id of the form that was answered.
    pub form: String,
    /// The first field without an answer of the right type.
    pub field: &'static str,
}

/// A type whose values are the options of a select.
///
/// Implemented by `#[derive(Form)]` on an enum without data. A field of such a type is a
/// `select`, a `Vec` of it a `multi_select`.
///
/// ```
/// use entreat_core::{Choice, Form};
///
/// #[derive(Debug, PartialEq, Form)]
/// enum Region {
///     #[form(title = "Europe (Frankfurt)")]
///     EuCentral,
///     #[form(title = "Asia (Tokyo)", value = "ap-northeast")]
///     ApNortheast,
/// }
///
/// assert_eq!(Region::EuCentral.value(), "eu_central");
/// assert_eq!(Region::from_value("ap-northeast"), Some(Region::ApNortheast));
/// assert_eq!(Region::OPTIONS[1], ("ap-northeast", Some("Asia (Tokyo)")));
/// ```
pub trait Choice: Sized {
    /// Value and title of each option, in display order. If any has a title, those without are
    /// shown by their value.
    const OPTIONS: &'static [(&'static str, Option<&'static str>)];

    /// Returns the option with this value.
    fn from_value(value: &str) -> Option<Self>;

    /// The value of this option, one of [`Choice::OPTIONS`].
    fn value(&self) -> &'static str;
}

//! Forms as Rust types: what `#[derive(Form)]` implements.
//!
//! The derive turns a struct into a definition and checked answers back into the struct.
//! How one field's Rust type becomes a field of a form is in `field_type.rs`. The traits
//! can be implemented by hand too; nothing here depends on the macro.

use serde_json::Value;

use crate::answer::Answers;
use crate::form::Form;
use crate::problem::Problems;
use crate::violation::{Constraint, Expected, Violation, Violations};

mod field_type;
#[doc(hidden)]
pub mod private;

pub use field_type::{FieldDraft, FieldType, ListItem};

/// A struct that is the answer to a form.
///
/// Implemented by `#[derive(Form)]`; see [the macro](macro@crate::Form) for what can be said.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a form",
    note = "put `#[derive(Form)]` on it if it is a struct with named fields"
)]
pub trait TypedForm: Sized {
    /// The form, or everything that is wrong with its definition. Loaded once.
    ///
    /// The derive refuses at compile time what it can judge. What is left, such as a
    /// pattern that does not compile, is found by one line in a test:
    /// `Target::try_form().unwrap()`.
    fn try_form() -> Result<&'static Form, &'static Problems>;

    /// Turns checked answers into the struct.
    ///
    /// Fails when the answers are not for this form. Answers that [`TypedForm::form`] has
    /// checked always fit.
    fn from_answers(answers: Answers<'_>) -> Result<Self, NotThisForm>;

    /// The form. Loaded once.
    ///
    /// # Panics
    ///
    /// With all problems, when the definition is not sound. Whether it is depends on the
    /// source code alone: a form that loaded once loads always. [`TypedForm::try_form`]
    /// returns the problems instead.
    fn form() -> &'static Form {
        match Self::try_form() {
            Ok(form) => form,
            Err(problems) => panic!(
                "the attributes of `{}` do not describe a sound form:\n{problems}",
                std::any::type_name::<Self>()
            ),
        }
    }

    /// Checks answers and turns them into the struct.
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
    /// When the definition is not sound, as [`TypedForm::form`] does.
    fn check(answers: &Value) -> Result<Self, Violations> {
        let form = Self::form();
        Self::from_answers(form.check(answers)?).map_err(|misfit| {
            // Only an implementation by hand whose two halves disagree comes here.
            let expected = Expected::Name(std::any::type_name::<Self>());
            let mut violation = Violation::stranger(misfit.field, Constraint::Type, expected);
            violation.field = form.position(misfit.field);
            Violations {
                form: form.clone(),
                list: vec![violation],
            }
        })
    }
}

/// Answers that were given to another form than the one they should become.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the answers are for form `{form}`, in which `{field}` does not fit")]
pub struct NotThisForm {
    /// The id of the form that was answered.
    pub form: String,
    /// The first field that has no answer of the right type.
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
    /// Value and title of each option in display order. Where one has a title, those
    /// without are shown by their value.
    const OPTIONS: &'static [(&'static str, Option<&'static str>)];

    /// The option of this value.
    fn from_value(value: &str) -> Option<Self>;

    /// The value of this option, one of [`Choice::OPTIONS`].
    fn value(&self) -> &'static str;
}

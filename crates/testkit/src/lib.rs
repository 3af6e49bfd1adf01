//! Helps askers test what they ask with Entreat.
//!
//! - [`samples`]: forms to start from, with good and bad answers.
//! - [`generate`]: for any form, answers that are valid, answers that break one named rule,
//!   and hostile ones.
//! - [`arbitrary`]: sound forms made up from a seed, for property tests.
//! - [`assertions`]: checks that fail with everything that is wrong.
//! - [`probe`]: how long something takes: average and percentiles.
//!
//! Nothing here is random by itself: every generator takes a seed, and the same seed gives
//! the same values with the same version of this crate.
//!
//! ```
//! use entreat_testkit::{Generator, Scenario, assert_breaks, assert_valid, samples};
//!
//! let form = samples::comprehensive();
//! let mut generator = Generator::new(&form, 7);
//!
//! let answer = generator.valid().expect("the form can be answered");
//! assert_valid(&form, &answer);
//!
//! let answer = generator.breaking(Scenario::TooShortText).expect("the rule can be broken");
//! assert_breaks(&form, &answer, &[("service_name", "minLength")]);
//! ```

pub mod samples;

pub mod generate;

pub mod arbitrary;

pub mod assertions;
pub mod probe;

pub use assertions::{assert_breaks, assert_problems, assert_valid};
pub use generate::{Breakage, Generator, Scenario};
pub use probe::Probe;

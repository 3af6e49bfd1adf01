//! Helps askers test what they ask with Entreat.
//!
//! - [`samples`]: forms to start from, with good and bad answers.
//! - [`generate`]: for any form, answers that are valid, answers that break one named rule,
//!   and hostile ones.
//! - [`arbitrary`]: sound forms made up from a seed, for property tests.
//! - [`assertions`]: checks that fail with everything that is wrong.
//! - [`FaultyStore`]: a store that fails when it is told to.
//! - [`records`], [`mod@store_contract`]: for whoever writes a store.
//! - [`CapturedLog`]: what is logged while a test watches.
//! - [`probe`]: how long something takes: average and percentiles.
//! - [`mcp`]: clients of MCP of every era, for tests of servers that ask.
//! - [`Respondent`]: somebody who answers by a script, for tests of whoever asks.
//! - [`VirtualClock`], [`SeededEntropy`], [`ScriptedResolver`]: time, chance and DNS as the
//!   test has them, for everything that the engine does by itself.
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
pub mod mcp;
pub mod probe;

mod faulty_store;
#[expect(
    clippy::missing_panics_doc,
    reason = "what is asked for and impossible fails the test, as the module says"
)]
pub mod records;
#[expect(
    clippy::missing_panics_doc,
    reason = "each of these panics if a promise is broken, as the module says"
)]
pub mod store_contract;

mod clock;
mod entropy;
mod log;
mod resolver;
mod respondent;

pub use assertions::{assert_breaks, assert_problems, assert_valid};
pub use clock::VirtualClock;
pub use entropy::SeededEntropy;
pub use faulty_store::{Call, Fault, FaultyStore};
pub use generate::{Breakage, Generator, Scenario};
pub use log::CapturedLog;
pub use probe::Probe;
pub use resolver::ScriptedResolver;
pub use respondent::{Attendance, Respondent};

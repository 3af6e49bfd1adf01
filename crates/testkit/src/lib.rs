//! Test utilities for programs that use Entreat, and for Entreat itself.
//!
//! - [`samples`]: forms to start from, with good and bad answers.
//! - [`generate`]: for any form, answers that are valid, answers that break one named rule,
//!   and hostile ones.
//! - [`arbitrary`]: valid forms generated from a seed, for property tests.
//! - [`assertions`]: assertions that list every error.
//! - [`FaultyStore`]: a store with fault injection.
//! - [`SharedStore`]: one store with several handles, as several processes have on one database.
//! - [`records`], [`mod@store_contract`]: for implementations of stores.
//! - [`CapturedLog`]: captures log output.
//! - [`probe`]: measures durations: average and percentiles.
//! - [`mcp`]: MCP clients of every era, for tests of servers that ask.
//! - `provider`: an OpenID provider that lies when it is told to, with the feature of that name.
//! - [`Respondent`]: a scripted person, for tests of programs that ask.
//! - [`VirtualClock`], [`SeededEntropy`], [`ScriptedResolver`]: deterministic time, randomness and
//!   DNS for the engine.
//!
//! Everything is deterministic: every generator takes a seed, and the same seed yields the same
//! values in the same version of this crate.
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

pub mod arbitrary;

pub mod assertions;
pub mod mcp;
pub mod probe;
#[cfg(feature = "provider")]
#[expect(
    clippy::missing_panics_doc,
    reason = "whatever goes wrong fails the test"
)]
pub mod provider;

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
mod shared_store;

pub use assertions::{assert_breaks, assert_problems, assert_valid};
pub use clock::VirtualClock;
#[doc(inline)]
pub use entreat_generate as generate;
pub use entreat_generate::{Breakage, Generator, Scenario};
pub use entropy::SeededEntropy;
pub use faulty_store::{Call, Fault, FaultyStore};
pub use log::{CapturedLog, LogGuard};
pub use probe::Probe;
pub use resolver::ScriptedResolver;
pub use respondent::{Attendance, Respondent};
pub use shared_store::SharedStore;

//! What the fuzz targets do with an input.
//!
//! Each target is one function of bytes. It panics when something that must hold does not,
//! and its [`Meter`] does when a call takes too long or too much memory. libFuzzer calls
//! them from `targets/`; the test kit's tests include this file and call them on stable, with
//! mutated seeds and with the worst inputs that we could think of.

pub mod meter;

pub mod answers;
pub mod definition;
pub mod markdown;
pub mod schema;
pub mod url;

pub use meter::Meter;

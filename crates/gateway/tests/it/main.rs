//! Tests of the gateway over real sides.

mod approvals;
mod world;

//! Tests of the gateway over real sides.

mod legacy;
mod lowered;
mod modern;
mod raised;
mod world;

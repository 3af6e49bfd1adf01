//! Tests of the gateway over real sides.

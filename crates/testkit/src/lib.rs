//! Entreat testkit.

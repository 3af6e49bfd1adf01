//! Entreat derive.

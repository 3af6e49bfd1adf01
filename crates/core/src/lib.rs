//! Entreat core.

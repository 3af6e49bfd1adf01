//! Several servers as one, for clients of either version, in front of servers of either version.

mod bounds;
mod lists;
mod questions;
mod recovery;
mod several;
mod web;

//! A server over HTTP, of either generation, and everything that it can do wrong.

mod failures;
mod legacy;
mod limits;
mod modern;
mod relayed;

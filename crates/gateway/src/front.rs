//! The side of clients over Streamable HTTP.

mod body;
mod circuit;
mod http;
mod live;
mod modern_headers;
mod stream;

pub use http::Front;
pub use live::{Connect, FrontSettings, Route};

pub(crate) use circuit::Circuits;
pub(crate) use stream::Stream;

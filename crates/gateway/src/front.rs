//! The side of clients over Streamable HTTP.

mod stream;

pub(crate) use stream::Stream;

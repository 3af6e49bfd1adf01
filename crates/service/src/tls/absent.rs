//! Stands in for TLS in a build without it: a type without values, so that servers have one shape.

use std::io;

/// The TLS configuration of a server, which only the feature `standalone` can create.
#[derive(Clone, Debug)]
pub enum Tls {}

impl Tls {
    #[expect(clippy::unused_async, reason = "the real one performs a handshake")]
    pub(crate) async fn accept<S>(&self, _stream: S) -> io::Result<S> {
        match *self {}
    }
}

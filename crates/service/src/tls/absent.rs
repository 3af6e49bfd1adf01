//! Stands in for TLS in a build without it: a type without values, so that servers have one shape.

use std::future::Ready;
use std::io;

/// The TLS configuration of a server, which only the feature `standalone` can create.
#[derive(Clone, Debug)]
pub enum Tls {}

impl Tls {
    pub(crate) fn accept<S>(&self, _stream: S) -> Ready<io::Result<S>> {
        match *self {}
    }
}

//! Placeholder.
use super::UpstreamEvent;
use crate::envelope::RawId;
/// x
#[derive(Clone, Debug)]
pub struct HttpSender;
/// x
#[derive(Debug)]
pub struct HttpReceiver;
impl HttpSender {
    /// x
    pub async fn send(&self, _: Vec<u8>) {}
    /// x
    pub fn abandon(&self, _: &RawId) {}
    /// x
    pub async fn close(&self) {}
}
impl HttpReceiver {
    /// x
    pub async fn next(&mut self) -> UpstreamEvent {
        std::future::pending().await
    }
}
/// x
pub struct HttpTarget;
impl HttpTarget {
    /// x
    pub fn new(_: &str, _: http::HeaderMap) -> Self {
        Self
    }
}
/// x
pub enum Http {}
impl Http {
    /// x
    pub fn connect(_: HttpTarget) -> Result<(HttpSender, HttpReceiver), std::io::Error> {
        Err(std::io::Error::other("x"))
    }
}

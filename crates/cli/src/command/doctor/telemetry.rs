//! Checks the trace collector.

use std::time::Duration;

use tokio::net::TcpStream;
use url::Url;

use super::finding::Finding;
use super::settings::is_unencrypted_remote;

/// The timeout for connecting.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Whether the endpoint accepts connections.
pub(super) async fn probe(endpoint: &str) -> bool {
    let Ok(url) = Url::parse(endpoint) else {
        return false;
    };
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let port = url.port_or_known_default().unwrap_or_default();
    let connecting = tokio::time::timeout(TIMEOUT, TcpStream::connect((host, port)));
    matches!(connecting.await, Ok(Ok(_)))
}

pub(super) fn check(endpoint: &str, is_there: bool) -> Finding {
    if !is_there {
        return Finding::warning(
            "telemetry",
            format!("nothing listens at {endpoint}: traces are lost"),
            "start the collector, or correct `telemetry.otlp_endpoint`",
        );
    }
    if is_unencrypted_remote(endpoint) {
        return Finding::warning(
            "telemetry",
            format!(
                "traces to {endpoint} are not encrypted: others on the network can see who asks \
                 and when"
            ),
            "start `telemetry.otlp_endpoint` with https://, or run a collector on this machine",
        );
    }
    Finding::ok("telemetry", format!("traces are sent to {endpoint}"))
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::*;

    #[tokio::test]
    async fn a_collector_is_there_and_near_or_encrypted() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let near = format!("http://{}", listener.local_addr().unwrap());
        assert!(probe(&near).await);
        drop(listener);
        assert!(!probe(&near).await);
        assert_eq!(check(&near, false).level, Level::Warning);
        assert_eq!(check(&near, true).level, Level::Ok);
        let far = "http://collector.example.com:4318";
        assert_eq!(check(far, true).level, Level::Warning);
        let encrypted = "https://collector.example.com";
        assert_eq!(check(encrypted, true).level, Level::Ok);
    }
}

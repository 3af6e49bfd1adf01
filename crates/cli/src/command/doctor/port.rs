//! Checks the listen address: whether it is free, and if not, who uses it.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::time::Duration;

use entreat_wire::http::Client;
use http::{Method, StatusCode};

use super::finding::Finding;
use super::store::Holder;

/// The timeout of the probe.
const TIMEOUT: Duration = Duration::from_secs(3);
/// A service's health response is shorter.
const MAX_RESPONSE_BYTES: usize = 1024;

/// The result of trying to listen.
#[derive(Debug)]
pub(super) enum BindAttempt {
    Free,
    /// An Entreat service listens there.
    Entreat,
    /// Another program listens there.
    Taken,
    Refused(ErrorKind, String),
}

/// Tries to listen, and stops at once.
pub(super) async fn probe(address: SocketAddr) -> BindAttempt {
    match TcpListener::bind(address) {
        Ok(_) => BindAttempt::Free,
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            match is_entreat(reachable(address)).await {
                Ok(true) => BindAttempt::Entreat,
                Ok(false) | Err(_) => BindAttempt::Taken,
            }
        }
        Err(error) => BindAttempt::Refused(error.kind(), error.to_string()),
    }
}

/// Replaces an unspecified address by loopback.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        IpAddr::V4(_) | IpAddr::V6(_) => {}
    }
    address
}

/// Whether an Entreat service answers at an address.
async fn is_entreat(address: SocketAddr) -> anyhow::Result<bool> {
    let client = Client::builder(&format!("http://{address}/healthz")).build()?;
    let answer = client.request(Method::GET).timeout(TIMEOUT).send().await?;
    let is_ok = answer.status() == StatusCode::OK;
    Ok(is_ok && answer.body(MAX_RESPONSE_BYTES).await? == "ok\n")
}

pub(super) fn check(address: SocketAddr, attempt: &BindAttempt, holder: Holder) -> Finding {
    let another = "set another address with --listen";
    match attempt {
        BindAttempt::Free if address.port() == 0 => {
            Finding::ok("port", format!("any free port on {}", address.ip()))
        }
        BindAttempt::Free => Finding::ok("port", format!("{address} is free")),
        // It has the store open, so it is this service; in memory there is no way to tell.
        BindAttempt::Entreat if holder != Holder::Nobody => Finding::ok(
            "port",
            format!("an Entreat service already listens on {address}"),
        ),
        BindAttempt::Entreat => Finding::warning(
            "port",
            format!("an Entreat service already listens on {address}, with another store"),
            format!("stop it before you start this one, or {another}"),
        ),
        BindAttempt::Taken => Finding::problem(
            "port",
            format!("another program listens on {address}"),
            format!("stop it, or {another}"),
        ),
        BindAttempt::Refused(ErrorKind::PermissionDenied, _) => Finding::problem(
            "port",
            format!("this user is not allowed to listen on {address}"),
            "set a port above 1023 with --listen",
        ),
        BindAttempt::Refused(ErrorKind::AddrNotAvailable, _) => Finding::problem(
            "port",
            format!("this machine does not have the address {}", address.ip()),
            another,
        ),
        BindAttempt::Refused(_, error) => Finding::problem(
            "port",
            format!("cannot listen on {address}: {error}"),
            another,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::*;

    fn level(attempt: &BindAttempt, holder: Holder) -> Level {
        check(SocketAddr::from(([127, 0, 0, 1], 80)), attempt, holder).level
    }

    #[test]
    fn a_running_entreat_is_fine_if_it_is_the_one_that_is_meant() {
        assert_eq!(level(&BindAttempt::Free, Holder::Nobody), Level::Ok);
        for holder in [Holder::Somebody, Holder::NoStore] {
            assert_eq!(level(&BindAttempt::Entreat, holder), Level::Ok);
        }
        assert_eq!(level(&BindAttempt::Entreat, Holder::Nobody), Level::Warning);
        assert_eq!(level(&BindAttempt::Taken, Holder::Somebody), Level::Problem);
    }

    #[test]
    fn what_the_system_refuses_is_a_problem_with_its_reason() {
        for kind in [
            ErrorKind::PermissionDenied,
            ErrorKind::AddrNotAvailable,
            ErrorKind::Other,
        ] {
            let refused = BindAttempt::Refused(kind, "no".to_owned());
            assert_eq!(level(&refused, Holder::Nobody), Level::Problem);
        }
    }

    #[test]
    fn who_listens_everywhere_is_asked_on_this_machine() {
        let asked = |text: &str| reachable(text.parse().unwrap()).to_string();
        assert_eq!(asked("0.0.0.0:80"), "127.0.0.1:80");
        assert_eq!(asked("[::]:80"), "[::1]:80");
        assert_eq!(asked("192.0.2.1:80"), "192.0.2.1:80");
    }
}

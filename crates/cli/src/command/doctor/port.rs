//! The address: whether it can be had, and if not, who has it.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::client::conn::http1;
use hyper::header::HOST;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::finding::Finding;
use super::store::Holder;

/// How long whoever has the port may take to answer.
const PATIENCE: Duration = Duration::from_secs(3);
/// What a service says of itself is shorter.
const LONGEST_ANSWER: usize = 1024;

/// What became of the try to listen.
#[derive(Debug)]
pub(super) enum Tried {
    Free,
    /// Whoever listens there answers as a service of Entreat does.
    Entreat,
    /// Somebody else listens there.
    Taken,
    Refused(ErrorKind, String),
}

/// Tries to listen, and stops at once.
pub(super) async fn look(address: SocketAddr) -> Tried {
    match TcpListener::bind(address) {
        Ok(_) => Tried::Free,
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            let answer = tokio::time::timeout(PATIENCE, health(reachable(address))).await;
            match answer {
                Ok(Ok((StatusCode::OK, body))) if &*body == b"ok\n" => Tried::Entreat,
                _ => Tried::Taken,
            }
        }
        Err(error) => Tried::Refused(error.kind(), error.to_string()),
    }
}

/// Where somebody who listens everywhere is reached.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        IpAddr::V4(_) | IpAddr::V6(_) => {}
    }
    address
}

/// Asks whether a service runs there.
async fn health(address: SocketAddr) -> anyhow::Result<(StatusCode, Bytes)> {
    let stream = TcpStream::connect(address).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // It ends with its stream, at the latest when the runtime does.
    tokio::spawn(connection);
    let request = Request::get("/healthz").header(HOST, address.to_string());
    let answer = sender
        .send_request(request.body(Empty::<Bytes>::new())?)
        .await?;
    let status = answer.status();
    let body = Limited::new(answer.into_body(), LONGEST_ANSWER).collect();
    let body = body.await.map_err(anyhow::Error::from_boxed)?;
    Ok((status, body.to_bytes()))
}

pub(super) fn judge(address: SocketAddr, tried: &Tried, holder: Holder) -> Finding {
    let another = "name another address with --listen";
    match tried {
        Tried::Free if address.port() == 0 => {
            Finding::ok("port", format!("any free port of {}", address.ip()))
        }
        Tried::Free => Finding::ok("port", format!("{address} is free")),
        // It has the store open, so it is the one that is meant; in memory nobody can tell.
        Tried::Entreat if holder != Holder::Nobody => {
            Finding::ok("port", format!("an Entreat listens on {address} already"))
        }
        Tried::Entreat => Finding::warning(
            "port",
            format!("an Entreat listens on {address} already, with another store"),
            format!("end it before this one starts, or {another}"),
        ),
        Tried::Taken => Finding::problem(
            "port",
            format!("another program listens on {address}"),
            format!("end it, or {another}"),
        ),
        Tried::Refused(ErrorKind::PermissionDenied, _) => Finding::problem(
            "port",
            format!("this user may not listen on {address}"),
            "name a port above 1023 with --listen",
        ),
        Tried::Refused(ErrorKind::AddrNotAvailable, _) => Finding::problem(
            "port",
            format!("this machine does not have the address {}", address.ip()),
            another,
        ),
        Tried::Refused(_, error) => Finding::problem(
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

    fn level(tried: &Tried, holder: Holder) -> Level {
        judge(SocketAddr::from(([127, 0, 0, 1], 80)), tried, holder).level
    }

    #[test]
    fn a_running_entreat_is_fine_if_it_is_the_one_that_is_meant() {
        assert_eq!(level(&Tried::Free, Holder::Nobody), Level::Ok);
        for holder in [Holder::Somebody, Holder::NoStore] {
            assert_eq!(level(&Tried::Entreat, holder), Level::Ok);
        }
        assert_eq!(level(&Tried::Entreat, Holder::Nobody), Level::Warning);
        assert_eq!(level(&Tried::Taken, Holder::Somebody), Level::Problem);
    }

    #[test]
    fn what_the_system_refuses_is_a_problem_with_its_reason() {
        for kind in [
            ErrorKind::PermissionDenied,
            ErrorKind::AddrNotAvailable,
            ErrorKind::Other,
        ] {
            let refused = Tried::Refused(kind, "no".to_owned());
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

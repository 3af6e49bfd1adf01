//! A listener on this machine to which the browser comes back after a sign-in (RFC 8252).
//!
//! It lives as long as the sign-in and takes one redirect: the one with the sign-in's state. Other
//! requests, which any page in the browser can make, change nothing.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use entreat_wire::oauth::{Callback, SignInError};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// The path of redirects.
const PATH: &str = "/callback";
/// The maximum length of a request's head, in bytes.
const MAX_HEAD: usize = 32 << 10;
/// How long a request may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// How many connections are open at a time: browsers open some that they don't use.
const MAX_CONNECTIONS: usize = 16;

pub(super) struct Loopback {
    listener: TcpListener,
    port: u16,
}

impl Loopback {
    /// Listens at a port of this machine; 0 for any.
    pub(super) async fn listen(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let port = listener.local_addr()?.port();
        Ok(Self { listener, port })
    }

    /// Returns where the browser is to come back to.
    pub(super) fn redirect_uri(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// Waits for the redirect of a sign-in; its page says `done`.
    pub(super) async fn callback(self, state: &str, done: &str) -> Result<Callback, SignInError> {
        let mut requests = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if requests.len() < MAX_CONNECTIONS => {
                    let (stream, _) = accepted
                        .map_err(|error| SignInError::Listener(error.to_string()))?;
                    requests.spawn(timeout(REQUEST_TIMEOUT, read(stream)));
                }
                Some(request) = requests.join_next() => {
                    let Ok(Ok(Some((stream, query)))) = request else { continue };
                    let callback = query.as_deref().and_then(Callback::read);
                    match callback.filter(|it| it.state() == state) {
                        Some(callback) => {
                            respond(stream, "200 OK", done).await;
                            return Ok(callback);
                        }
                        None => respond(stream, "404 Not Found", NOTHING).await,
                    }
                }
            }
        }
    }
}

const NOTHING: &str = "There is nothing here.";

/// Reads a request; returns the query if it is for the path of redirects.
async fn read(mut stream: TcpStream) -> Option<(TcpStream, Option<String>)> {
    let mut head = Vec::new();
    while !head.windows(4).any(|window| window == b"\r\n\r\n") {
        if head.len() > MAX_HEAD || stream.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    let head = String::from_utf8(head).ok()?;
    let mut words = head.lines().next()?.split(' ');
    let target = (words.next()? == "GET").then(|| words.next()).flatten();
    let query = target.and_then(|target| target.strip_prefix(PATH)?.strip_prefix('?'));
    let query = query.map(str::to_owned);
    Some((stream, query))
}

async fn respond(mut stream: TcpStream, status: &str, text: &str) {
    let body = format!(
        "<!doctype html><html><meta charset=\"utf-8\"><title>Entreat</title>\
         <p>{text}</p></html>"
    );
    let response = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\
         cache-control: no-store\r\ncontent-security-policy: default-src 'none'\r\n\
         referrer-policy: no-referrer\r\nx-content-type-options: nosniff\r\n\
         connection: close\r\n\r\n{body}",
        body.len()
    );
    // The browser may be gone; the sign-in goes on.
    let _ = timeout(REQUEST_TIMEOUT, async {
        stream.write_all(response.as_bytes()).await?;
        stream.shutdown().await
    })
    .await;
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn get(port: u16, target: &str) -> String {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))
            .await
            .unwrap();
        let request = format!("GET {target} HTTP/1.1\r\nhost: x\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        response
    }

    #[tokio::test]
    async fn only_the_redirect_of_this_sign_in_ends_the_wait_and_the_listener() {
        let listener = Loopback::listen(0).await.unwrap();
        let port = listener.port;
        let waiting = tokio::spawn(listener.callback("ours", "Go back."));
        // A connection that a browser opens ahead, and does not use.
        let idle = TcpStream::connect((Ipv4Addr::LOCALHOST, port))
            .await
            .unwrap();
        for target in [
            "/",
            "/favicon.ico",
            "/callback",
            "/callback?code=a&state=theirs",
            "/callback?state=ours",
            "/callbacks?code=a&state=ours",
            "/callback?code=a&code=b&state=ours",
        ] {
            assert!(
                get(port, target).await.starts_with("HTTP/1.1 404"),
                "{target}"
            );
        }
        let response = get(port, "/callback?code=a&state=ours").await;
        assert!(response.starts_with("HTTP/1.1 200"), "{response}");
        assert!(response.contains("Go back."), "{response}");
        assert_eq!(waiting.await.unwrap().unwrap().state(), "ours");
        assert!(
            TcpStream::connect((Ipv4Addr::LOCALHOST, port))
                .await
                .is_err()
        );
        drop(idle);
    }
}

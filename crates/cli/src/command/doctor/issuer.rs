//! Checks that hold for every issuer, whether people sign in there or programs get tokens from it.

use std::time::Duration;

use entreat::UnixTime;
use entreat_wire::http::Client;
use entreat_wire::issuer::IssuerError;
use http::Method;
use url::Url;

use super::finding::Finding;

/// How far an issuer's clock may be from ours before its tokens are refused.
const MAX_SKEW: Duration = Duration::from_secs(60);
/// A difference that is worth a warning.
const SKEW: Duration = Duration::from_secs(20);
const TIMEOUT: Duration = Duration::from_secs(10);

/// Returns the time in the head of a response, whatever the response is.
pub(super) async fn time_of(issuer: &str) -> Option<UnixTime> {
    let client = Client::builder(issuer).build().ok()?;
    let response = client.request(Method::GET).timeout(TIMEOUT).send();
    let response = response.await.ok()?;
    let date = jiff::fmt::rfc2822::parse(response.header("date")?).ok()?;
    let millis = u64::try_from(date.timestamp().as_millisecond()).ok()?;
    Some(UnixTime::from_millis(millis))
}

/// Whether the clocks agree, the issuer's and ours: tokens have times.
pub(super) fn clock(
    check: &'static str,
    issuer: &str,
    (theirs, ours): (UnixTime, UnixTime),
) -> Option<Finding> {
    let apart = ours.since(theirs).max(theirs.since(ours));
    let what = format!(
        "the clock of {issuer} and that of this machine are {} s apart",
        apart.as_secs()
    );
    let remedy = "set this machine's clock, for example with NTP";
    if apart > MAX_SKEW {
        Some(Finding::problem(check, what, remedy))
    } else if apart > SKEW {
        Some(Finding::warning(check, what, remedy))
    } else {
        None
    }
}

/// Whether there are keys to check its tokens with. `setting` is where they can be named.
pub(super) fn keys(
    check: &'static str,
    issuer: &str,
    keys: &Result<usize, IssuerError>,
    setting: &str,
) -> Finding {
    match keys {
        Ok(0) => Finding::problem(
            check,
            format!("{issuer} has no key that tokens may be signed with"),
            "have it sign by RS256, PS256, ES256, EdDSA or the larger ones of these; secrets \
             shared with it (HS256) are not accepted",
        ),
        Ok(1) => Finding::ok(check, format!("{issuer} answers, and has 1 key")),
        Ok(keys) => Finding::ok(check, format!("{issuer} answers, and has {keys} keys")),
        Err(error) => Finding::problem(
            check,
            format!("the keys of {issuer}: {error}"),
            format!("let this machine reach it, or set {setting} to where its keys are"),
        ),
    }
}

/// Whether this is Entra ID, whose claim `sub` differs by application.
pub(super) fn is_entra(issuer: &str) -> bool {
    let url = Url::parse(issuer).ok();
    let host = url.as_ref().and_then(Url::host_str);
    host.is_some_and(|host| {
        host == "login.microsoftonline.com"
            || host == "sts.windows.net"
            || host.ends_with(".ciamlogin.com")
    })
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::*;

    #[test]
    fn clocks_are_less_than_a_minute_apart() {
        let theirs = UnixTime::from_millis(1_800_000_000_000);
        let level = |seconds: u64| {
            let clocks = (theirs, theirs.before(Duration::from_secs(seconds)));
            clock("c", "https://id.example.com", clocks).map(|finding| finding.level)
        };
        assert_eq!(level(20), None);
        assert_eq!(level(21), Some(Level::Warning));
        assert_eq!(level(61), Some(Level::Problem));
    }

    #[tokio::test]
    async fn the_time_of_an_issuer_is_in_its_responses() {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            // A response before its request is none.
            assert_ne!(stream.read(&mut [0; 1024]).await.unwrap(), 0);
            let response = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\
                            date: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n";
            stream.write_all(response.as_bytes()).await.unwrap();
            stream
        });
        let found = time_of(&url).await;
        assert_eq!(found, Some(UnixTime::from_millis(784_111_777_000)));
        serving.await.unwrap();
    }
}

//! What `entreat wrap` and `entreat gateway` add to a call, against no relay, the least that a relay
//! does, the crate `mcp-proxy`, and the proxy of `FastMCP`.
//!
//! Client, relay and an echo server share a core. The least is a pump of bytes: two threads over
//! stdio, a bare server and client of hyper over HTTP. Contestants take turns. Run it with
//! `cargo xtask bench gateway`, which installs the relays of others and passes them on as
//! `--mcp-proxy=PROGRAM` and `--fastmcp=PYTHON,SCRIPT`.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock, prints its figures, and may fail loudly"
)]

#[cfg(unix)]
mod contest;
#[cfg(unix)]
mod lines;
#[cfg(unix)]
mod message;
#[cfg(unix)]
mod relays;
#[cfg(unix)]
mod sizes;
#[cfg(unix)]
mod web;

#[cfg(unix)]
use std::time::Duration;

/// How many calls are in flight where there are many.
#[cfg(unix)]
const IN_FLIGHT: usize = 32;

/// A way from a client to the echo server and back.
#[cfg(unix)]
trait Way {
    /// How long one call takes.
    fn one(&mut self) -> Duration;
    /// Calls a second, with 32 in flight.
    fn flight(&mut self, limit: Duration) -> f64;
}

#[cfg(unix)]
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse().unwrap();
    let era = |name: &str| match name {
        "legacy" => message::Era::Legacy,
        _ => message::Era::Modern,
    };
    match arguments.as_slice() {
        ["--role=echo", name] => lines::serve(era(name)),
        ["--role=web-echo", name] => web::serve(era(name)),
        ["--role=pump", kind, command @ ..] => {
            let command: Vec<_> = command.iter().map(ToString::to_string).collect();
            lines::pump(&command, *kind == "trees");
        }
        ["--role=web-pump", kind, port] => web::pump(number(port), *kind == "trees"),
        ["--role=hold", port, count] => web::hold(number(port), usize::from(number(count))),
        others => measure(others),
    }
}

#[cfg(not(unix))]
fn main() {
    println!("it needs files of /proc");
}

#[cfg(unix)]
fn measure(arguments: &[&str]) {
    let is_wanted = |part: &str| {
        let mut parts = arguments.iter().filter_map(|it| it.strip_prefix("--only="));
        parts
            .next()
            .is_none_or(|only| only.split(',').any(|it| it == part))
    };
    let rivals = relays::Rivals::named_in(arguments);
    if is_wanted("stdio") {
        contest::over_stdio(&rivals);
    }
    if is_wanted("http") {
        contest::over_http(&rivals);
    }
    if is_wanted("eras") {
        contest::across_eras();
    }
    if is_wanted("real") {
        contest::real_server();
    }
    if is_wanted("start") {
        sizes::start();
    }
    if is_wanted("round") {
        sizes::round();
    }
    if is_wanted("sessions") {
        sizes::sessions();
    }
    if is_wanted("parked") {
        sizes::parked();
    }
}

/// Resident memory of a process, in bytes.
#[cfg(unix)]
fn resident(process: u32) -> usize {
    let statm = std::fs::read_to_string(format!("/proc/{process}/statm")).unwrap();
    let pages: usize = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

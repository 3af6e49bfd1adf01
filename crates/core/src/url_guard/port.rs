//! Which ports are allowed.

/// Whether a port is 0 or on the Fetch standard's list of bad ports.
///
/// The default port of a scheme is always allowed for it: port 22 is blocked for https, which
/// could be made to talk to an SSH server, but not for ssh.
pub(super) fn is_blocked(port: u16, scheme: &str) -> bool {
    match scheme {
        "http" | "https" => is_bad(port),
        _ => is_bad(port) && default_of(scheme) != Some(port),
    }
}

/// The default port of a scheme.
pub(super) fn default_of(scheme: &str) -> Option<u16> {
    let port = match scheme {
        "https" | "wss" => 443,
        "http" | "ws" => 80,
        "ftp" => 21,
        "ssh" | "sftp" | "scp" | "git+ssh" | "ssh+git" | "svn+ssh" => 22,
        "git" => 9418,
        "ftps" => 990,
        "ldap" => 389,
        "ldaps" => 636,
        "smtp" => 25,
        "smtps" => 465,
        "imap" => 143,
        "imaps" => 993,
        "ircs" => 6697,
        "rtsp" => 554,
        "sip" => 5060,
        "sips" => 5061,
        _ => return None,
    };
    Some(port)
}

fn is_bad(port: u16) -> bool {
    BAD.binary_search(&port).is_ok()
}

/// 0, then <https://fetch.spec.whatwg.org/#port-blocking>, in order.
const BAD: &[u16] = &[
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
    102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
    465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
    993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667,
    6668, 6669, 6679, 6697, 10080,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_ports_are_blocked_and_their_neighbours_are_not() {
        assert!(BAD.is_sorted());
        for port in BAD {
            assert!(is_blocked(*port, "https"), "{port}");
        }
        for port in [
            80,
            443,
            444,
            2,
            24,
            70,
            3000,
            6001,
            6670,
            8000,
            8080,
            8443,
            10081,
            u16::MAX,
        ] {
            assert!(!is_blocked(port, "https"), "{port}");
        }
    }

    #[test]
    fn a_scheme_may_name_its_own_port_and_no_other_bad_one() {
        assert!(!is_blocked(22, "ssh"));
        assert!(is_blocked(25, "ssh"));
        assert!(is_blocked(22, "http"));
        assert!(is_blocked(0, "ssh"));
    }
}

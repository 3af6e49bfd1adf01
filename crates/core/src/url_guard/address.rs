//! Which addresses are public.
//!
//! IPv4 has a blocklist, IPv6 an allowlist: most of the IPv6 space is unallocated, so nothing
//! outside `2000::/3` belongs in a URL. Addresses that embed an IPv4 address (mapped,
//! compatible, NAT64, 6to4, Teredo) are always blocked; they have no legitimate use in a URL.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Blocked, Policy, Reason};

/// Checks one address, from a literal or from a resolver.
///
/// Fails with the kind of address.
///
/// ```
/// use entreat_core::url_guard::{Policy, check_address};
///
/// let policy = Policy::web();
/// assert!(check_address("1.1.1.1".parse().unwrap(), &policy).is_ok());
/// let blocked = check_address("169.254.169.254".parse().unwrap(), &policy).unwrap_err();
/// assert_eq!(blocked.reason().code(), "link_local");
/// ```
pub fn check_address(address: IpAddr, policy: &Policy) -> Result<(), Blocked> {
    let Some(finding) = classify(address) else {
        return Ok(());
    };
    let blocked = match finding.reach {
        Reach::ThisMachine => policy.blocks_localhost(),
        Reach::Elsewhere => policy.blocks_private(),
        Reach::Disguised => policy.blocks_localhost() || policy.blocks_private(),
    };
    if blocked {
        Err(Blocked::in_range(finding.reason, finding.range).with_host(display(address)))
    } else {
        Ok(())
    }
}

/// Formats an address as in a URL, with IPv6 in brackets.
pub(super) fn display(address: IpAddr) -> String {
    match address {
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => format!("[{v6}]"),
    }
}

/// Why an address is not public.
struct Finding {
    reason: Reason,
    range: &'static str,
    reach: Reach,
}

/// Where an address leads, which decides the policy setting that applies.
enum Reach {
    /// This machine.
    ThisMachine,
    /// Another host that is not public.
    Elsewhere,
    /// Loopback behind the prefix of a translator: blocked by either setting.
    Disguised,
}

fn classify(address: IpAddr) -> Option<Finding> {
    match address {
        IpAddr::V4(v4) => classify_v4(v4),
        IpAddr::V6(v6) => classify_v6(v6),
    }
}

fn classify_v4(address: Ipv4Addr) -> Option<Finding> {
    let bits = address.to_bits();
    if is_this_machine(address) {
        let range = if bits == 0 {
            "0.0.0.0/8"
        } else {
            "127.0.0.0/8"
        };
        return Some(Finding {
            reason: Reason::Loopback,
            range,
            reach: Reach::ThisMachine,
        });
    }
    V4_BLOCKED
        .iter()
        .find(|row| (bits ^ row.0.to_bits()) >> (32 - row.1) == 0)
        .map(|&(_, _, reason, range)| Finding {
            reason,
            range,
            reach: Reach::Elsewhere,
        })
}

/// Includes 0.0.0.0, which Linux connects to the loopback interface.
fn is_this_machine(address: Ipv4Addr) -> bool {
    address.is_loopback() || address.is_unspecified()
}

fn classify_v6(address: Ipv6Addr) -> Option<Finding> {
    let bits = address.to_bits();
    if let Some((range, inner, reach)) = embedded_v4(bits)
        && is_this_machine(inner)
    {
        return Some(Finding {
            reason: Reason::Loopback,
            range,
            reach,
        });
    }
    if address == Ipv6Addr::LOCALHOST {
        return Some(Finding {
            reason: Reason::Loopback,
            range: "::1/128",
            reach: Reach::ThisMachine,
        });
    }
    let named = V6_BLOCKED
        .iter()
        .find(|row| (bits ^ row.0.to_bits()) >> (128 - row.1) == 0)
        .map(|&(_, _, reason, range)| (reason, range));
    let global_unicast = bits >> 125 == 0b001;
    let (reason, range) = match named {
        Some(found) => found,
        None if global_unicast => return None,
        None => (Reason::ReservedAddress, "outside 2000::/3"),
    };
    Some(Finding {
        reason,
        range,
        reach: Reach::Elsewhere,
    })
}

/// The embedded IPv4 address, for the forms that have it at a fixed position.
///
/// Mapped and compatible addresses reach this machine. A translator's prefix leads to the
/// translator, so its loopback is that of another host.
fn embedded_v4(bits: u128) -> Option<(&'static str, Ipv4Addr, Reach)> {
    let low = Ipv4Addr::from_bits(u32::try_from(bits & 0xffff_ffff).ok()?);
    let found = match bits >> 32 {
        0 => ("::/96", low, Reach::ThisMachine),
        0xffff => ("::ffff:0:0/96", low, Reach::ThisMachine),
        0xffff_0000 => ("::ffff:0:0:0/96", low, Reach::Disguised),
        0x0064_ff9b_0000_0000_0000_0000 => ("64:ff9b::/96", low, Reach::Disguised),
        high if high >> 80 == 0x2002 => {
            let inner = u32::try_from((bits >> 80) & 0xffff_ffff).ok()?;
            ("2002::/16", Ipv4Addr::from_bits(inner), Reach::Disguised)
        }
        high if high >> 48 == 0x0064_ff9b_0001 => ("64:ff9b:1::/48", low, Reach::Disguised),
        _ => return None,
    };
    Some(found)
}

type Row<A> = (A, u32, Reason, &'static str);

const fn v4(a: u8, b: u8, c: u8, d: u8) -> Ipv4Addr {
    Ipv4Addr::new(a, b, c, d)
}

/// Everything that is not public; the first match is the reason.
#[rustfmt::skip]
const V4_BLOCKED: &[Row<Ipv4Addr>] = &[
    (v4(0, 0, 0, 0), 8, Reason::ReservedAddress, "0.0.0.0/8"),
    (v4(10, 0, 0, 0), 8, Reason::PrivateAddress, "10.0.0.0/8"),
    (v4(100, 64, 0, 0), 10, Reason::PrivateAddress, "100.64.0.0/10"),
    (v4(127, 0, 0, 0), 8, Reason::Loopback, "127.0.0.0/8"),
    (v4(168, 63, 129, 16), 32, Reason::CloudAddress, "168.63.129.16/32"),
    (v4(169, 254, 0, 0), 16, Reason::LinkLocal, "169.254.0.0/16"),
    (v4(172, 16, 0, 0), 12, Reason::PrivateAddress, "172.16.0.0/12"),
    (v4(192, 0, 0, 0), 24, Reason::ReservedAddress, "192.0.0.0/24"),
    (v4(192, 0, 2, 0), 24, Reason::ReservedAddress, "192.0.2.0/24"),
    (v4(192, 31, 196, 0), 24, Reason::ReservedAddress, "192.31.196.0/24"),
    (v4(192, 52, 193, 0), 24, Reason::ReservedAddress, "192.52.193.0/24"),
    (v4(192, 88, 99, 0), 24, Reason::ReservedAddress, "192.88.99.0/24"),
    (v4(192, 168, 0, 0), 16, Reason::PrivateAddress, "192.168.0.0/16"),
    (v4(192, 175, 48, 0), 24, Reason::ReservedAddress, "192.175.48.0/24"),
    (v4(198, 18, 0, 0), 15, Reason::ReservedAddress, "198.18.0.0/15"),
    (v4(198, 51, 100, 0), 24, Reason::ReservedAddress, "198.51.100.0/24"),
    (v4(203, 0, 113, 0), 24, Reason::ReservedAddress, "203.0.113.0/24"),
    (v4(224, 0, 0, 0), 4, Reason::Multicast, "224.0.0.0/4"),
    (v4(240, 0, 0, 0), 4, Reason::ReservedAddress, "240.0.0.0/4"),
];

const fn v6(a: u16, b: u16, c: u16) -> Ipv6Addr {
    Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0)
}

/// What is not public within `2000::/3`, then well-known ranges outside it.
#[rustfmt::skip]
const V6_BLOCKED: &[Row<Ipv6Addr>] = &[
    (v6(0x2001, 0, 0), 23, Reason::ReservedAddress, "2001::/23"),
    (v6(0x2001, 0xdb8, 0), 32, Reason::ReservedAddress, "2001:db8::/32"),
    (v6(0x2002, 0, 0), 16, Reason::ReservedAddress, "2002::/16"),
    (v6(0x2620, 0x4f, 0x8000), 48, Reason::ReservedAddress, "2620:4f:8000::/48"),
    (v6(0x3fff, 0, 0), 20, Reason::ReservedAddress, "3fff::/20"),
    (v6(0xfc00, 0, 0), 7, Reason::PrivateAddress, "fc00::/7"),
    (v6(0xfec0, 0, 0), 10, Reason::PrivateAddress, "fec0::/10"),
    (v6(0xfe80, 0, 0), 10, Reason::LinkLocal, "fe80::/10"),
    (v6(0xff00, 0, 0), 8, Reason::Multicast, "ff00::/8"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn blocked(address: &str, policy: &Policy) -> Option<Reason> {
        check_address(address.parse().unwrap(), policy)
            .err()
            .map(|blocked| blocked.reason())
    }

    #[test]
    fn every_ipv4_range_is_blocked_at_both_edges_and_open_beyond_them() {
        #[rustfmt::skip]
        let ranges = [
            (None, "0.0.0.0", "0.255.255.255", Some("1.0.0.0")),
            (Some("9.255.255.255"), "10.0.0.0", "10.255.255.255", Some("11.0.0.0")),
            (Some("100.63.255.255"), "100.64.0.0", "100.127.255.255", Some("100.128.0.0")),
            (Some("126.255.255.255"), "127.0.0.0", "127.255.255.255", Some("128.0.0.0")),
            (Some("168.63.129.15"), "168.63.129.16", "168.63.129.16", Some("168.63.129.17")),
            (Some("169.253.255.255"), "169.254.0.0", "169.254.255.255", Some("169.255.0.0")),
            (Some("172.15.255.255"), "172.16.0.0", "172.31.255.255", Some("172.32.0.0")),
            (Some("191.255.255.255"), "192.0.0.0", "192.0.0.255", Some("192.0.1.0")),
            (Some("192.0.1.255"), "192.0.2.0", "192.0.2.255", Some("192.0.3.0")),
            (Some("192.31.195.255"), "192.31.196.0", "192.31.196.255", Some("192.31.197.0")),
            (Some("192.52.192.255"), "192.52.193.0", "192.52.193.255", Some("192.52.194.0")),
            (Some("192.88.98.255"), "192.88.99.0", "192.88.99.255", Some("192.88.100.0")),
            (Some("192.167.255.255"), "192.168.0.0", "192.168.255.255", Some("192.169.0.0")),
            (Some("192.175.47.255"), "192.175.48.0", "192.175.48.255", Some("192.175.49.0")),
            (Some("198.17.255.255"), "198.18.0.0", "198.19.255.255", Some("198.20.0.0")),
            (Some("198.51.99.255"), "198.51.100.0", "198.51.100.255", Some("198.51.101.0")),
            (Some("203.0.112.255"), "203.0.113.0", "203.0.113.255", Some("203.0.114.0")),
            (Some("223.255.255.255"), "224.0.0.0", "239.255.255.255", None),
            (None, "240.0.0.0", "255.255.255.255", None),
        ];
        assert_edges(&ranges);
    }

    #[test]
    fn every_hole_in_2000_3_is_blocked_at_both_edges_and_open_beyond_them() {
        #[rustfmt::skip]
        let ranges = [
            (Some("2000:ffff:ffff::"), "2001::", "2001:1ff:ffff::", Some("2001:200::")),
            (Some("2001:db7:ffff::"), "2001:db8::", "2001:db8:ffff::", Some("2001:db9::")),
            (Some("2001:ffff::"), "2002::", "2002:ffff::", Some("2003::")),
            (Some("2620:4f:7fff::"), "2620:4f:8000::", "2620:4f:8000:ffff::", Some("2620:4f:8001::")),
            (Some("3ffe:ffff::"), "3fff::", "3fff:fff:ffff::", Some("3fff:1000::")),
        ];
        assert_edges(&ranges);
    }

    /// An address below a range, its first and last one, and an address above it.
    type Edges = (
        Option<&'static str>,
        &'static str,
        &'static str,
        Option<&'static str>,
    );

    fn assert_edges(ranges: &[Edges]) {
        let policy = Policy::web();
        for (below, first, last, above) in ranges {
            assert!(blocked(first, &policy).is_some(), "{first}");
            assert!(blocked(last, &policy).is_some(), "{last}");
            for open in below.iter().chain(above) {
                assert_eq!(blocked(open, &policy), None, "{open}");
            }
        }
    }

    #[test]
    fn nothing_outside_2000_3_is_public() {
        let policy = Policy::web();
        for (address, reason) in [
            ("::", Reason::Loopback),
            ("::1", Reason::Loopback),
            ("::2", Reason::ReservedAddress),
            ("::ffff:8.8.8.8", Reason::ReservedAddress),
            ("64:ff9b::8.8.8.8", Reason::ReservedAddress),
            ("100::1", Reason::ReservedAddress),
            ("1fff:ffff::", Reason::ReservedAddress),
            ("4000::", Reason::ReservedAddress),
            ("5f00::1", Reason::ReservedAddress),
            ("fbff::1", Reason::ReservedAddress),
            ("fc00::", Reason::PrivateAddress),
            ("fdff::1", Reason::PrivateAddress),
            ("fe80::1", Reason::LinkLocal),
            ("febf::1", Reason::LinkLocal),
            ("fec0::1", Reason::PrivateAddress),
            ("ff02::1", Reason::Multicast),
        ] {
            assert_eq!(blocked(address, &policy), Some(reason), "{address}");
        }
        assert_eq!(blocked("2000::", &policy), None);
        assert_eq!(blocked("3fff:1000::1", &policy), None);
    }

    #[test]
    fn loopback_is_governed_by_its_own_setting_alone() {
        let local_open = Policy::web().block_localhost(false);
        let private_open = Policy::web().block_private(false);
        for address in [
            "127.0.0.1",
            "0.0.0.0",
            "::1",
            "::",
            "::ffff:127.0.0.1",
            "::127.9.9.9",
        ] {
            assert_eq!(blocked(address, &local_open), None, "{address}");
            assert_eq!(
                blocked(address, &private_open),
                Some(Reason::Loopback),
                "{address}"
            );
        }
        for address in [
            "10.0.0.1",
            "169.254.169.254",
            "fd00::1",
            "0.0.0.1",
            "::ffff:10.0.0.1",
        ] {
            assert!(blocked(address, &local_open).is_some(), "{address}");
            assert_eq!(blocked(address, &private_open), None, "{address}");
        }
    }

    #[test]
    fn translated_loopback_is_refused_by_either_setting() {
        let local_open = Policy::web().block_localhost(false);
        let private_open = Policy::web().block_private(false);
        for address in [
            "64:ff9b::7f00:1",
            "::ffff:0:127.0.0.1",
            "2002:7f00:1::",
            "64:ff9b:1::7f00:1",
        ] {
            assert_eq!(
                blocked(address, &local_open),
                Some(Reason::Loopback),
                "{address}"
            );
            assert_eq!(
                blocked(address, &private_open),
                Some(Reason::Loopback),
                "{address}"
            );
        }
    }
}

//! Which host names are public.
//!
//! Expects names as a URL parser returns them: ASCII, lower case, after IDNA, without a trailing
//! dot.

use super::{Policy, Reason};

/// Checks a host name.
///
/// Malformed names are blocked by every policy, since they cannot be resolved.
pub(super) fn check_name(name: &str, policy: &Policy) -> Result<(), Reason> {
    let (labels, last) = check_shape(name)?;
    check_public(name, labels, last, policy)
}

/// Checks a well-formed host name, given the number of its labels and the last one.
pub(super) fn check_public(
    name: &str,
    labels: usize,
    last: &[u8],
    policy: &Policy,
) -> Result<(), Reason> {
    match classify(name, labels, last) {
        Some(Reason::Localhost) if policy.blocks_localhost() => Err(Reason::Localhost),
        Some(Reason::Localhost) | None => Ok(()),
        Some(reason) if policy.blocks_private() => Err(reason),
        Some(_) => Ok(()),
    }
}

/// Returns why a name is local or private, if it is.
pub(super) fn private_reason(name: &str) -> Option<Reason> {
    let last = name.rsplit('.').next().unwrap_or(name);
    classify(name, name.split('.').count(), last.as_bytes())
}

/// Checks the DNS limits, which URL parsers do not. Returns the number of labels and the last one.
fn check_shape(name: &str) -> Result<(usize, &[u8]), Reason> {
    if name.len() > 253 {
        return Err(Reason::NameTooLong);
    }
    let mut labels = 0;
    let mut last: &[u8] = &[];
    for label in name.as_bytes().split(|&byte| byte == b'.') {
        match label.len() {
            0 => return Err(Reason::EmptyLabel),
            1..=63 => labels += 1,
            _ => return Err(Reason::LabelTooLong),
        }
        last = label;
    }
    Ok((labels, last))
}

fn classify(name: &str, labels: usize, last: &[u8]) -> Option<Reason> {
    let name = name.as_bytes();
    match last {
        b"localhost" | b"localdomain" | b"localdomain6" => return Some(Reason::Localhost),
        // Debian's hosts file maps these to the loopback address.
        b"ip6-localhost" | b"ip6-loopback" if labels == 1 => return Some(Reason::Localhost),
        b"local" | b"internal" | b"test" | b"invalid" | b"example" | b"onion" | b"alt" | b"svc"
        | b"lan" | b"corp" | b"intranet" | b"private" | b"home" => {
            return Some(Reason::ReservedName);
        }
        b"arpa"
            if [&b"home.arpa"[..], b"in-addr.arpa", b"ip6.arpa"]
                .iter()
                .any(|suffix| is_in_domain(name, suffix)) =>
        {
            return Some(Reason::ReservedName);
        }
        b"goog" if is_in_domain(name, b"metadata.goog") => return Some(Reason::MetadataName),
        b"com"
            if is_in_domain(name, b"api.metadata.cloud.ibm.com")
                || is_in_domain(name, b"metadata.tencentyun.com") =>
        {
            return Some(Reason::MetadataName);
        }
        _ => {}
    }
    (labels == 1).then_some(Reason::SingleLabel)
}

fn is_in_domain(name: &[u8], suffix: &[u8]) -> bool {
    name.strip_suffix(suffix)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with(b"."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(name: &str) -> Result<(), Reason> {
        check_name(name, &Policy::web())
    }

    #[test]
    fn reserved_suffixes_are_blocked_as_whole_labels_only() {
        for suffix in [
            "local",
            "internal",
            "home.arpa",
            "in-addr.arpa",
            "ip6.arpa",
            "test",
            "invalid",
            "example",
            "onion",
            "alt",
            "svc",
            "lan",
            "corp",
            "intranet",
            "private",
            "home",
        ] {
            assert_eq!(verdict(suffix), Err(Reason::ReservedName), "{suffix}");
            assert_eq!(
                verdict(&format!("a.b.{suffix}")),
                Err(Reason::ReservedName),
                "{suffix}"
            );
            assert_eq!(verdict(&format!("{suffix}.com")), Ok(()), "{suffix}");
            assert_eq!(verdict(&format!("a.my{suffix}x.io")), Ok(()), "{suffix}");
        }
        for open in [
            "myhome.arpa",
            "arpa.net",
            "uri.arpa",
            "e164.arpa",
            "a.homes",
            "a.locale",
        ] {
            assert_eq!(verdict(open), Ok(()), "{open}");
        }
    }

    #[test]
    fn metadata_names_are_blocked_with_what_is_below_them() {
        for name in [
            "metadata.goog",
            "api.metadata.cloud.ibm.com",
            "metadata.tencentyun.com",
        ] {
            assert_eq!(verdict(name), Err(Reason::MetadataName), "{name}");
            assert_eq!(
                verdict(&format!("x.{name}")),
                Err(Reason::MetadataName),
                "{name}"
            );
            assert_eq!(verdict(&format!("my{name}")), Ok(()), "{name}");
        }
        assert_eq!(verdict("cloud.ibm.com"), Ok(()));
        assert_eq!(verdict("metadata.example.com"), Ok(()));
    }

    #[test]
    fn names_of_this_machine_are_told_from_private_ones() {
        for name in [
            "localhost",
            "a.localhost",
            "localhost.localdomain",
            "localdomain",
            "localhost6.localdomain6",
            "ip6-localhost",
            "ip6-loopback",
        ] {
            assert_eq!(verdict(name), Err(Reason::Localhost), "{name}");
            let local_open = Policy::web().block_localhost(false);
            assert_eq!(check_name(name, &local_open), Ok(()), "{name}");
        }
        assert_eq!(verdict("kubernetes"), Err(Reason::SingleLabel));
        let private_open = Policy::web().block_private(false);
        assert_eq!(check_name("kubernetes", &private_open), Ok(()));
        assert_eq!(check_name("nas.lan", &private_open), Ok(()));
        assert_eq!(
            check_name("a.localhost", &private_open),
            Err(Reason::Localhost)
        );
    }

    #[test]
    fn lengths_are_allowed_up_to_the_limit_and_no_further() {
        let label = "a".repeat(63);
        assert_eq!(verdict(&format!("{label}.com")), Ok(()));
        assert_eq!(verdict(&format!("{label}a.com")), Err(Reason::LabelTooLong));
        let longest = format!("{label}.{label}.{label}.{}", "a".repeat(61));
        assert_eq!(longest.len(), 253);
        assert_eq!(verdict(&longest), Ok(()));
        assert_eq!(verdict(&format!("{longest}a")), Err(Reason::NameTooLong));
    }

    #[test]
    fn malformed_names_stay_blocked_when_everything_private_is_allowed() {
        let open = Policy::web().block_private(false).block_localhost(false);
        for name in ["", ".", "a..b", ".a.b", "localhost."] {
            assert_eq!(check_name(name, &open), Err(Reason::EmptyLabel), "{name}");
        }
    }
}

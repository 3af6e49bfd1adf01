//! Why a URL was refused, for programs ([`Reason`]) and for people ([`Blocked`]).

use std::fmt;

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident $code:literal $constraint:literal $sentence:literal;)*) => {
        /// Why a URL was refused.
        ///
        /// `Display` says it without naming the URL or its host, so that it may be shown
        /// beside a sensitive field.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Reason {
            $($(#[$doc])* $name,)*
        }

        impl Reason {
            /// Every reason.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// A stable code for programs and logs.
            pub fn code(&self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }

            /// The rule of a URL field that this reason breaks.
            pub fn constraint(&self) -> &'static str {
                match self { $(Self::$name => $constraint,)* }
            }

            fn sentence(self) -> &'static str {
                match self { $(Self::$name => $sentence,)* }
            }
        }
    };
}

reasons! {
    /// It is no URL by the WHATWG standard.
    Parse "parse" "format"
        "it is not a valid URL";
    /// A control character, a space or DEL stands in it.
    RawControl "raw_control" "format"
        "it contains a space or a control character";
    /// A backslash stands in it.
    RawBackslash "raw_backslash" "format"
        "it contains a backslash";
    /// It does not read `scheme://authority`.
    NotAuthority "not_authority" "format"
        "it does not begin like scheme://host";
    /// It names no host.
    NoHost "no_host" "format"
        "it names no host";
    /// An `@` stands before the host.
    Userinfo "userinfo" "format"
        "it carries user info before the host";
    /// Its scheme is not on the list.
    Scheme "scheme" "allowedSchemes"
        "its scheme is not allowed";
    /// Its port is 0 or one that browsers refuse.
    Port "port" "format"
        "its port is not allowed";
    // A name that no resolver can be asked for is malformed, not private: it stays refused
    // when private hosts are allowed.
    /// The name holds an empty label.
    EmptyLabel "empty_label" "format"
        "the host name has an empty part between dots";
    /// A label of the name is over 63 octets.
    LabelTooLong "label_too_long" "format"
        "a part of the host name is longer than 63 characters";
    /// The name is over 253 octets.
    NameTooLong "name_too_long" "format"
        "the host name is longer than 253 characters";
    /// The name has one label only.
    SingleLabel "single_label" "blockPrivateIPs"
        "the host name has no dot, so it is a name of a local network";
    /// The name means this machine.
    Localhost "localhost" "blockLocalhost"
        "the host name means this computer";
    /// The name belongs to a suffix that is not for public hosts.
    ReservedName "reserved_name" "blockPrivateIPs"
        "the host name is reserved and not public";
    /// The name is that of a cloud's metadata service.
    MetadataName "metadata_name" "blockPrivateIPs"
        "the host name belongs to a cloud metadata service";
    /// The address means this machine.
    Loopback "loopback" "blockLocalhost"
        "the address means this computer";
    /// The address is for private networks.
    PrivateAddress "private_address" "blockPrivateIPs"
        "the address belongs to a private network";
    /// The address is for the local link, where clouds keep their metadata services.
    LinkLocal "link_local" "blockPrivateIPs"
        "the address belongs to the local link";
    /// The address belongs to a cloud's inner services.
    CloudAddress "cloud_address" "blockPrivateIPs"
        "the address belongs to a cloud's inner services";
    /// The address is a group of hosts.
    Multicast "multicast" "blockPrivateIPs"
        "the address is a multicast group";
    /// The address is reserved, for documentation, for translation, or not allocated.
    ReservedAddress "reserved_address" "blockPrivateIPs"
        "the address is reserved and not public";
    /// The name has no address.
    DnsEmpty "dns_empty" "blockPrivateIPs"
        "the host name has no address";
    /// The name has an address that means this machine.
    DnsLoopback "dns_loopback" "blockLocalhost"
        "the host name leads to this computer";
    /// The name has an address that is not public.
    DnsPrivate "dns_private" "blockPrivateIPs"
        "the host name leads to an address that is not public";
    /// A redirect leads from https to http.
    RedirectDowngrade "redirect_downgrade" "allowedSchemes"
        "it redirects from https to http";
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sentence())
    }
}

/// A refused URL: why, and which host if it got as far as having one.
///
/// `Display` is one sentence for a person. It names the host and nothing else of the URL,
/// since paths and queries carry secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    reason: Reason,
    host: Option<String>,
    range: Option<&'static str>,
}

impl Blocked {
    /// Why it was refused.
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// The host, as parsed, if the URL got as far as having one.
    pub fn host(&self) -> Option<&str> {
        self.host.as_deref()
    }

    /// The address range that the host or one of its addresses belongs to.
    pub fn range(&self) -> Option<&'static str> {
        self.range
    }

    pub(super) fn in_range(reason: Reason, range: &'static str) -> Self {
        Self {
            range: Some(range),
            ..Self::from(reason)
        }
    }

    pub(super) fn with_host(mut self, host: impl fmt::Display) -> Self {
        self.host = Some(host.to_string());
        self
    }

    pub(super) fn with_reason(mut self, reason: Reason) -> Self {
        self.reason = reason;
        self
    }
}

impl From<Reason> for Blocked {
    fn from(reason: Reason) -> Self {
        Self {
            reason,
            host: None,
            range: None,
        }
    }
}

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Some(host) => write!(f, "the URL to {host} is refused: {}", self.reason)?,
            None => write!(f, "the URL is refused: {}", self.reason)?,
        }
        match self.range {
            Some(range) => write!(f, " ({range})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Blocked {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blocked_url_reads_as_one_sentence() {
        let blocked = Blocked::in_range(Reason::PrivateAddress, "10.0.0.0/8").with_host("10.1.2.3");
        assert_eq!(
            blocked.to_string(),
            "the URL to 10.1.2.3 is refused: the address belongs to a private network (10.0.0.0/8)"
        );
        assert_eq!(
            Blocked::from(Reason::Userinfo).to_string(),
            "the URL is refused: it carries user info before the host"
        );
    }

    #[test]
    fn malformed_names_break_the_format_rule_not_the_private_one() {
        assert_eq!(Reason::EmptyLabel.constraint(), "format");
        assert_eq!(Reason::SingleLabel.constraint(), "blockPrivateIPs");
        assert_eq!(Reason::DnsLoopback.constraint(), "blockLocalhost");
        assert_eq!(Reason::Scheme.constraint(), "allowedSchemes");
    }
}

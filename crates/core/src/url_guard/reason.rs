//! Why a URL was blocked, for programs ([`Reason`]) and for people ([`Blocked`]).

use std::fmt;

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident $code:literal $constraint:literal $sentence:literal;)*) => {
        /// Why a URL was blocked.
        ///
        /// `Display` contains neither the URL nor its host, so it can be shown beside a
        /// sensitive field.
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

            /// The rule of a `url` field that the URL breaks.
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
    /// The text is not a URL by the WHATWG standard.
    Parse "parse" "format"
        "it is not a valid URL";
    /// The text contains a control character, a space or DEL.
    RawControl "raw_control" "format"
        "it contains a space or a control character";
    /// The text contains a backslash.
    RawBackslash "raw_backslash" "format"
        "it contains a backslash";
    /// The text does not start with `scheme://authority`.
    NotAuthority "not_authority" "format"
        "it does not start with scheme://host";
    /// The URL has no host.
    NoHost "no_host" "format"
        "it has no host";
    /// The URL has user info.
    Userinfo "userinfo" "format"
        "it contains user info before the host";
    /// The scheme is not allowed.
    Scheme "scheme" "allowedSchemes"
        "its scheme is not allowed";
    /// The port is 0 or blocked by browsers.
    Port "port" "format"
        "its port is not allowed";
    // A name that cannot be resolved is malformed, not private: it is blocked even if private
    // hosts are allowed.
    /// The name has an empty label.
    EmptyLabel "empty_label" "format"
        "the host name has an empty part between dots";
    /// A label of the name is longer than 63 octets.
    LabelTooLong "label_too_long" "format"
        "a part of the host name is longer than 63 characters";
    /// The name is longer than 253 octets.
    NameTooLong "name_too_long" "format"
        "the host name is longer than 253 characters";
    /// The name has only one label.
    SingleLabel "single_label" "blockPrivateIPs"
        "the host name has no dot, so it belongs to a local network";
    /// The name denotes this machine.
    Localhost "localhost" "blockLocalhost"
        "the host name refers to this computer";
    /// The name has a suffix that is reserved for non-public hosts.
    ReservedName "reserved_name" "blockPrivateIPs"
        "the host name is reserved and not public";
    /// The name is that of a cloud metadata service.
    MetadataName "metadata_name" "blockPrivateIPs"
        "the host name belongs to a cloud metadata service";
    /// The address denotes this machine.
    Loopback "loopback" "blockLocalhost"
        "the address refers to this computer";
    /// The address belongs to a private network.
    PrivateAddress "private_address" "blockPrivateIPs"
        "the address belongs to a private network";
    /// The address is link-local, where clouds have their metadata services.
    LinkLocal "link_local" "blockPrivateIPs"
        "the address belongs to the local link";
    /// The address belongs to internal services of a cloud.
    CloudAddress "cloud_address" "blockPrivateIPs"
        "the address belongs to a cloud's internal services";
    /// The address is a multicast group.
    Multicast "multicast" "blockPrivateIPs"
        "the address is a multicast group";
    /// The address is reserved, used for documentation or translation, or unallocated.
    ReservedAddress "reserved_address" "blockPrivateIPs"
        "the address is reserved and not public";
    /// The name resolves to no address.
    DnsEmpty "dns_empty" "blockPrivateIPs"
        "the host name has no address";
    /// The name resolves to this machine.
    DnsLoopback "dns_loopback" "blockLocalhost"
        "the host name leads to this computer";
    /// The name resolves to an address that is not public.
    DnsPrivate "dns_private" "blockPrivateIPs"
        "the host name leads to an address that is not public";
    /// A redirect goes from https to http.
    RedirectDowngrade "redirect_downgrade" "allowedSchemes"
        "it redirects from https to http";
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sentence())
    }
}

/// The error for a blocked URL, with the reason and the host if it could be parsed.
///
/// `Display` is one sentence for people. It contains the host but no other part of the URL,
/// since paths and queries may contain secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    reason: Reason,
    host: Option<String>,
    range: Option<&'static str>,
}

impl Blocked {
    /// Why the URL was blocked.
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// The parsed host, if parsing got that far.
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
            Some(host) => write!(f, "the URL to {host} is blocked: {}", self.reason)?,
            None => write!(f, "the URL is blocked: {}", self.reason)?,
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
            "the URL to 10.1.2.3 is blocked: the address belongs to a private network (10.0.0.0/8)"
        );
        assert_eq!(
            Blocked::from(Reason::Userinfo).to_string(),
            "the URL is blocked: it contains user info before the host"
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

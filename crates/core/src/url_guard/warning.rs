//! Warnings to show before a person opens a URL.

/// What to do with a URL that a person is asked to open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// Show it without warnings.
    Allow,
    /// Show it with its warnings.
    Warn,
    /// Do not offer to open it.
    Reject,
}

impl Action {
    /// The name of the action in JSON.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Warn => "warn",
            Self::Reject => "reject",
        }
    }
}

/// What to show a person before they open a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// What to do with the URL.
    pub action: Action,
    /// The warnings, in the order of [`Warning`], without duplicates.
    ///
    /// Empty for a text that is not a URL, though the action is `reject`.
    pub warnings: Vec<Warning>,
    /// The part of the host to highlight: the registrable domain, or the whole host if it has
    /// none. Absent if the text is too malformed to trust any host in it.
    pub highlight: Option<String>,
}

macro_rules! warnings {
    ($($(#[$doc:meta])* $name:ident $code:literal $action:ident $message:literal;)*) => {
        /// A warning about a URL that a person is about to open.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Warning {
            $($(#[$doc])* $name,)*
        }

        impl Warning {
            /// Every warning.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// A stable code for programs.
            pub fn code(&self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }

            /// A sentence for people.
            pub fn message(&self) -> &'static str {
                match self { $(Self::$name => $message,)* }
            }

            /// The action for a URL with only this warning.
            pub fn action(&self) -> Action {
                match self { $(Self::$name => Action::$action,)* }
            }
        }
    };
}

warnings! {
    /// A label of the parsed host is Punycode.
    Punycode "punycode" Warn
        "The host name contains letters outside the basic Latin alphabet.";
    /// A label fails UTS 39's highly restrictive level.
    MixedScript "mixed_script" Warn
        "The host name mixes alphabets that do not belong together.";
    /// A label entirely in another script looks like Latin.
    WholeScriptConfusable "whole_script_confusable" Warn
        "The host name is written in another alphabet but looks like Latin letters.";
    /// A label has letters that look like others.
    Confusable "confusable" Warn
        "The host name contains letters that look like other letters.";
    /// The notation of the host hides what it is.
    HostNormalised "host_normalised" Warn
        "The host is written in an unusual way; check the plain form.";
    /// The text contains invisible characters.
    InvisibleChar "invisible_char" Reject
        "The address contains invisible characters.";
    /// The text contains bidirectional control characters.
    BidiControl "bidi_control" Reject
        "The address contains characters that reverse the order of its text.";
    /// The host ends in a dot.
    TrailingDot "trailing_dot" Warn
        "The host name ends in a dot.";
    /// The URL has user info.
    Userinfo "userinfo" Reject
        "The text before the @ is not the host and may be there to mislead.";
    /// There are four or more labels to the left of the registrable domain.
    DeepSubdomain "deep_subdomain" Warn
        "The host name has many parts; only the highlighted end says who owns it.";
    /// A label to the left of the public suffix looks like a top-level domain.
    TldInSubdomain "tld_in_subdomain" Warn
        "The host name contains another suffix, such as com, before its real end.";
    /// A label is longer than 40 characters.
    LongLabel "long_label" Warn
        "A part of the host name is very long.";
    /// The URL is longer than 2000 characters.
    LongUrl "long_url" Warn
        "The address is too long to read in full.";
    /// The host is an address.
    IpLiteral "ip_literal" Warn
        "The host is a number, not a name, so nothing says who owns it.";
    /// The host is not public.
    PrivateHost "private_host" Warn
        "The address leads to this computer or to a private network.";
    /// The connection is not encrypted.
    NotHttps "not_https" Warn
        "The connection is not encrypted.";
    /// The port is unusual for a web site.
    OddPort "odd_port" Warn
        "The address uses an unusual port.";
    /// Browsers block the port.
    BlockedPort "blocked_port" Reject
        "The address uses a port that browsers block.";
    /// The scheme is not http or https.
    BadScheme "bad_scheme" Reject
        "The address is not a web address.";
    /// The text contains a backslash.
    RawBackslash "raw_backslash" Reject
        "The address contains a backslash, which programs read in different ways.";
    /// The text contains a control character or a space.
    RawControl "raw_control" Reject
        "The address contains a space or a control character.";
    /// The host is not preceded by exactly two slashes.
    NoAuthoritySlashes "no_authority_slashes" Reject
        "The address does not start with https://host.";
    /// The text contains shell metacharacters.
    ShellMetachar "shell_metachar" Reject
        "The address contains characters that could run a command.";
    /// The query contains another URL.
    UrlInQuery "url_in_query" Warn
        "The address contains another address and may redirect you to it.";
    /// The host is a link shortener.
    Shortener "shortener" Warn
        "This is a short link; you cannot see where it leads.";
    /// The URL contains a secret.
    CredentialInUrl "credential_in_url" Warn
        "The address seems to contain a password, key or token.";
    /// The URL contains personal data.
    PiiInUrl "pii_in_url" Warn
        "The address seems to contain personal data.";
    /// The name is on a platform where anyone can get one.
    SharedPlatform "shared_platform" Warn
        "Anyone can get a name on this platform, so the platform's name says little.";
    /// The host is itself a public suffix.
    PublicSuffixHost "public_suffix_host" Warn
        "The host is a suffix that many sites share, not a site of its own.";
    /// The registrable domain is not that of the asking server.
    ThirdPartyDomain "third_party_domain" Warn
        "The address belongs to a different site than the server that asks.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_sentences_and_codes_are_unique() {
        let mut codes: Vec<_> = Warning::ALL.iter().map(Warning::code).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), 30);
        for warning in Warning::ALL {
            let message = warning.message();
            assert!(
                message.starts_with(char::is_uppercase) && message.ends_with('.'),
                "{message}"
            );
        }
    }
}

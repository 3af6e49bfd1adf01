//! What a person is told before opening a URL.

/// What to do with a URL that a person is asked to open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// Show it as it is.
    Allow,
    /// Show it with its warnings.
    Warn,
    /// Do not offer to open it.
    Reject,
}

impl Action {
    /// The action as it is written in JSON.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Warn => "warn",
            Self::Reject => "reject",
        }
    }
}

/// What a person sees of a URL before opening it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// What to do with it.
    pub action: Action,
    /// What is unusual about it, in the order of [`Warning`], each once.
    ///
    /// Empty although the action is `reject` if it is no URL at all.
    pub warnings: Vec<Warning>,
    /// The part of the host to set off: the registrable domain, or the whole host if it has
    /// none. Absent if the text is too broken to trust any host in it.
    pub highlight: Option<String>,
}

macro_rules! warnings {
    ($($(#[$doc:meta])* $name:ident $code:literal $action:ident $message:literal;)*) => {
        /// Something about a URL that a person should know before opening it.
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

            /// A sentence for a person.
            pub fn message(&self) -> &'static str {
                match self { $(Self::$name => $message,)* }
            }

            /// What this warning alone leads to.
            pub fn action(&self) -> Action {
                match self { $(Self::$name => Action::$action,)* }
            }
        }
    };
}

warnings! {
    /// A label is in Punycode once parsed.
    Punycode "punycode" Warn
        "The host name contains letters outside the basic Latin alphabet.";
    /// A label fails UTS 39's highly restrictive level.
    MixedScript "mixed_script" Warn
        "The host name mixes alphabets that do not belong together.";
    /// A label of one other script reads as a Latin one.
    WholeScriptConfusable "whole_script_confusable" Warn
        "The host name is written in another alphabet but looks like Latin letters.";
    /// A label has letters that pass for others.
    Confusable "confusable" Warn
        "The host name contains letters that look like other letters.";
    /// The host was written in a way that hides what it is.
    HostNormalised "host_normalised" Warn
        "The host is written in an unusual way; check the plain form.";
    /// A character that cannot be seen.
    InvisibleChar "invisible_char" Reject
        "The address contains characters that cannot be seen.";
    /// A character that turns the direction of text.
    BidiControl "bidi_control" Reject
        "The address contains characters that reverse the order of its text.";
    /// The host ends in a dot.
    TrailingDot "trailing_dot" Warn
        "The host name ends in a dot.";
    /// Something stands before the host and an `@`.
    Userinfo "userinfo" Reject
        "The text before the @ is not the host and may be there to mislead.";
    /// Four or more labels left of the registrable domain.
    DeepSubdomain "deep_subdomain" Warn
        "The host name has many parts; only the highlighted end says who owns it.";
    /// A label left of the public suffix looks like the end of a name.
    TldInSubdomain "tld_in_subdomain" Warn
        "The host name contains another ending, such as com, before its real end.";
    /// A label over 40 characters.
    LongLabel "long_label" Warn
        "A part of the host name is very long.";
    /// Over 2000 characters.
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
    /// The port is not one that web sites use.
    OddPort "odd_port" Warn
        "The address uses an unusual port.";
    /// Browsers refuse the port.
    BlockedPort "blocked_port" Reject
        "The address uses a port that browsers refuse.";
    /// The scheme is not http or https.
    BadScheme "bad_scheme" Reject
        "The address is not a web address.";
    /// A backslash.
    RawBackslash "raw_backslash" Reject
        "The address contains a backslash, which programs read in different ways.";
    /// A control character or a space.
    RawControl "raw_control" Reject
        "The address contains a space or a control character.";
    /// Not exactly two slashes before the host.
    NoAuthoritySlashes "no_authority_slashes" Reject
        "The address does not begin like https://host.";
    /// A character that a shell would act on.
    ShellMetachar "shell_metachar" Reject
        "The address contains characters that could run a command.";
    /// The query holds another URL.
    UrlInQuery "url_in_query" Warn
        "The address contains another address and may send you on to it.";
    /// The host is a link shortener's.
    Shortener "shortener" Warn
        "This is a short link; where it leads cannot be seen.";
    /// A secret.
    CredentialInUrl "credential_in_url" Warn
        "The address seems to contain a password, key or token.";
    /// Personal data.
    PiiInUrl "pii_in_url" Warn
        "The address seems to contain personal data.";
    /// The name belongs to a platform where anyone can have one.
    SharedPlatform "shared_platform" Warn
        "Anyone can get a name on this platform, so the platform's name says little.";
    /// The host is itself a public suffix.
    PublicSuffixHost "public_suffix_host" Warn
        "The host is an ending that many sites share, not a site of its own.";
    /// The registrable domain is not that of the server that asks.
    ThirdPartyDomain "third_party_domain" Warn
        "The address belongs to another site than the server that asks.";
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

//! The axes of the table, besides the protocol versions.

use rmcp::model::{
    ClientCapabilities, ElicitationCapability, FormElicitationCapability, UrlElicitationCapability,
};

/// The capabilities that a client declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Form,
    Url,
    Both,
    None,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] = [Self::Form, Self::Url, Self::Both, Self::None];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Form => "form",
            Self::Url => "url",
            Self::Both => "both",
            Self::None => "none",
        }
    }

    pub(crate) fn capabilities(self) -> ClientCapabilities {
        let form = FormElicitationCapability::default();
        let url = UrlElicitationCapability::default();
        let none = ElicitationCapability::new();
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = match self {
            Self::Form => Some(none.with_form(form)),
            Self::Url => Some(none.with_url(url)),
            Self::Both => Some(none.with_form(form).with_url(url)),
            Self::None => None,
        };
        capabilities
    }
}

/// How client and server reach each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    /// stdio of a separate process.
    Stdio,
    /// Streamable HTTP.
    Http,
}

impl Transport {
    pub(crate) const ALL: [Self; 2] = [Self::Stdio, Self::Http];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
        }
    }
}

/// How a question ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Accept,
    Decline,
    Cancel,
    InvalidThenValid,
    /// The person does not answer in time.
    Timeout,
    /// The client disconnects while its user is asked.
    Disconnect,
}

impl Ending {
    pub(crate) const ALL: [Self; 6] = [
        Self::Accept,
        Self::Decline,
        Self::Cancel,
        Self::InvalidThenValid,
        Self::Timeout,
        Self::Disconnect,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Decline => "decline",
            Self::Cancel => "cancel",
            Self::InvalidThenValid => "invalid, then valid",
            Self::Timeout => "timeout",
            Self::Disconnect => "disconnect",
        }
    }
}

//! `url`: a text that passes the URL guard.

use std::sync::Arc;

use crate::form::findings::Findings;
use crate::form::reader::{Object, Reader};
use crate::form::text::check_length;
use crate::problem::ProblemCode;
use crate::url_guard::{self, Blocked, Policy};
use crate::violation::{Constraint, Expected};

/// The maximum length in code points, unless the form sets one.
pub(crate) const DEFAULT_MAX_LENGTH: u64 = 2048;

/// The rules of a `url` field.
#[derive(Clone, Debug)]
pub struct UrlRules {
    /// `allowedSchemes`, `blockPrivateIPs` and `blockLocalhost`.
    pub policy: Policy,
    /// `maxLength`, in code points; 2048 if absent.
    pub max_length: Option<u64>,
    schemes: Arc<[Arc<str>]>,
}

impl UrlRules {
    pub(crate) const KEYS: &[&str] = &[
        "format",
        "allowedSchemes",
        "blockPrivateIPs",
        "blockLocalhost",
        "maxLength",
    ];

    pub(crate) fn read<'v>(reader: &mut Reader<'v>, validation: &'v Object) -> Self {
        reader.word_at(validation, "format", &[("uri", ())]);
        let schemes = match reader.texts_at(validation, "allowedSchemes") {
            Some(schemes) => read_schemes(reader, &schemes),
            None => vec!["https".into()],
        };
        let block_private = reader.flag_at(validation, "blockPrivateIPs");
        let block_localhost = reader.flag_at(validation, "blockLocalhost");
        let max_length = reader.count_at(validation, "maxLength");
        if max_length == Some(0) {
            let message = "No URL is empty: `maxLength` must be above 0.";
            reader.report_at("maxLength", ProblemCode::Contradiction, message);
        }
        Self {
            policy: Policy::new(&schemes)
                .block_private(block_private.unwrap_or(true))
                .block_localhost(block_localhost.unwrap_or(true)),
            max_length,
            schemes: schemes.into(),
        }
    }

    pub(crate) fn check(&self, url: &str, findings: &mut Findings<'_>) {
        let max = self.max_length.unwrap_or(DEFAULT_MAX_LENGTH);
        check_length(None, Some(max), url, findings);
        if let Err(blocked) = url_guard::passes(url, &self.policy) {
            self.add_blocked(url, &blocked, findings);
        }
    }

    pub(crate) fn add_blocked(&self, url: &str, blocked: &Blocked, findings: &mut Findings<'_>) {
        let host = blocked.host().unwrap_or(url);
        match blocked.reason().constraint() {
            "allowedSchemes" => {
                let expected = Expected::Names(self.schemes.clone());
                let scheme = url.split(':').next().unwrap_or(url).to_ascii_lowercase();
                findings.add_text(Constraint::AllowedSchemes, expected, &scheme);
            }
            "blockLocalhost" => {
                let expected = Expected::Name("public host");
                findings.add_text(Constraint::BlockLocalhost, expected, host);
            }
            "blockPrivateIPs" => {
                let expected = Expected::Name("public IP");
                findings.add_text(Constraint::BlockPrivateIps, expected, host);
            }
            _ => findings.add_text(Constraint::Format, Expected::Name("uri"), url),
        }
    }
}

/// Validates the schemes and returns them in lower case.
fn read_schemes(reader: &mut Reader<'_>, schemes: &[(usize, &str)]) -> Vec<Arc<str>> {
    reader.within("allowedSchemes", |reader| {
        if schemes.is_empty() {
            let message = "There must be at least one scheme, or no URL would pass.";
            reader.report(ProblemCode::Empty, message);
        }
        for (i, scheme) in schemes {
            let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
            if !is_scheme {
                let message = format!("`{scheme}` is not a URL scheme, such as `https`.");
                reader.report_at(*i, ProblemCode::BadValue, message);
            }
        }
        schemes
            .iter()
            .map(|(_, scheme)| scheme.to_ascii_lowercase().into())
            .collect()
    })
}

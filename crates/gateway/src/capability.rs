//! What a client can show, and what the gateway adds to it.

use entreat_core::is_unsafe_to_display;
use entreat_core::schema::Era;

use crate::json::RawObject;

/// What a client declares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a capability of its own"
)]
pub(crate) struct Capabilities {
    /// Shows forms.
    pub(crate) form: bool,
    /// Shows URLs.
    pub(crate) url: bool,
    /// Supports sampling.
    pub(crate) sampling: bool,
    /// Lists roots.
    pub(crate) roots: bool,
}

/// The elicitation capability of a client whose questions can be shown in every way.
const EVERY_MODE: &str = r#"{"form":{},"url":{}}"#;
/// The extension for apps: pages of servers that clients show.
const APPS: &str = "io.modelcontextprotocol/ui";
/// The longest name of a client or server that is shown.
const MAX_NAME: usize = 64;

impl Capabilities {
    /// Reads capabilities as the client's protocol version defines them; `None` is a version
    /// without elicitation.
    pub(crate) fn read(capabilities: &RawObject<'_>, era: Option<Era>) -> Self {
        let elicitation = era.and_then(|_| capabilities.object("elicitation"));
        let has_modes = era.is_some_and(|era| era != Era::V2025_06_18);
        let url = has_modes
            && elicitation
                .as_ref()
                .is_some_and(|modes| modes.get("url").is_some());
        Self {
            // An empty capability means forms.
            form: elicitation
                .as_ref()
                .is_some_and(|modes| modes.get("form").is_some() || !url),
            url,
            sampling: capabilities.object("sampling").is_some(),
            roots: capabilities.object("roots").is_some(),
        }
    }

    /// Whether the client shows every question by itself.
    pub(crate) fn shows_everything(self) -> bool {
        self.form && self.url
    }
}

/// Adds elicitation in every mode to a client's capabilities. Keeps settings of modes that the
/// client declares.
pub(crate) fn with_elicitation(capabilities: &RawObject<'_>) -> String {
    let mut capabilities = capabilities.clone();
    let modes = match capabilities.object("elicitation") {
        Some(modes) => {
            let mut modes = modes.clone();
            for mode in ["form", "url"] {
                if modes.get(mode).is_none() {
                    modes.set(mode, "{}");
                }
            }
            modes.to_string()
        }
        None => EVERY_MODE.to_owned(),
    };
    capabilities.set("elicitation", modes);
    capabilities.to_string()
}

/// Removes the extensions that are not the same in both eras, which only the one for apps is.
pub(crate) fn keep_shared_extensions(capabilities: &mut RawObject<'_>) {
    let shared = capabilities.object("extensions").and_then(|extensions| {
        let settings = extensions.get(APPS)?;
        Some(format!(r#"{{"{APPS}":{settings}}}"#))
    });
    match shared {
        Some(shared) => capabilities.set("extensions", shared),
        None => drop(capabilities.remove("extensions")),
    }
}

/// Returns the name in the description of a client or server, if it can be shown.
pub(crate) fn name_of(implementation: &RawObject<'_>) -> Option<String> {
    let name = implementation.string("title");
    let name = name.or_else(|| implementation.string("name"))?;
    let name = name.trim();
    let is_fit = !name.is_empty() && !name.chars().any(is_unsafe_to_display);
    is_fit.then(|| name.chars().take(MAX_NAME).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, era: Era) -> Capabilities {
        Capabilities::read(&RawObject::parse(text).unwrap(), Some(era))
    }

    #[test]
    fn an_empty_capability_means_forms() {
        let empty = r#"{"elicitation":{}}"#;
        for era in Era::ALL {
            let found = read(empty, era);
            assert!(found.form && !found.url, "{era}");
        }
        let url = r#"{"elicitation":{"url":{}},"roots":{}}"#;
        let found = read(url, Era::V2025_11_25);
        assert!(!found.form && found.url && found.roots && !found.sampling);
        // The oldest version with elicitation has forms only.
        assert!(read(url, Era::V2025_06_18).form);
        assert_eq!(read("{}", Era::V2026_07_28), Capabilities::default());
    }

    #[test]
    fn only_the_extension_for_apps_crosses_eras() {
        let kept = |text| {
            let mut capabilities = RawObject::parse(text).unwrap();
            keep_shared_extensions(&mut capabilities);
            capabilities.to_string()
        };
        assert_eq!(
            kept(
                r#"{"extensions":{"x/y":{},"io.modelcontextprotocol/ui":{"mimeTypes":["a"]}},"roots":{}}"#
            ),
            r#"{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["a"]}},"roots":{}}"#
        );
        assert_eq!(
            kept(r#"{"extensions":{"x/y":{}},"roots":{}}"#),
            r#"{"roots":{}}"#
        );
    }

    #[test]
    fn elicitation_is_added_and_everything_else_kept() {
        let added = |text| with_elicitation(&RawObject::parse(text).unwrap());
        assert_eq!(
            added(r#"{"roots":{"listChanged":true},"x":1.0}"#),
            r#"{"roots":{"listChanged":true},"x":1.0,"elicitation":{"form":{},"url":{}}}"#
        );
        assert_eq!(
            added(r#"{"elicitation":{"form":{"x":1}}}"#),
            r#"{"elicitation":{"form":{"x":1},"url":{}}}"#
        );
    }
}

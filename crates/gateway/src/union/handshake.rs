//! What the union says of itself: what its upstreams have together.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::member::{ConnectedMember, Status};
use super::{LISTS, Union};
use crate::json::{RawObject, quoted};
use crate::meta;
use crate::reply::Reply;

/// Versions of 2025 and before, the newest last.
const LEGACY_VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// The extension for apps, which needs nothing but tools and resources.
const APPS: &str = "io.modelcontextprotocol/ui";

/// How the client has begun: each upstream gets that too.
#[derive(Debug)]
pub(super) enum Handshake {
    /// With the handshake of 2025, whose parameters these are.
    Legacy { version: String, params: String },
    /// With a request of 2026-07-28, whose `_meta` this is.
    Modern { meta: String },
}

impl Handshake {
    /// How many bytes of it are kept.
    pub(super) fn size(&self) -> usize {
        let (Self::Legacy { params: kept, .. } | Self::Modern { meta: kept }) = self;
        kept.len()
    }

    /// Reads the parameters of `initialize`. Tasks have ids of one upstream, so there are none here.
    pub(super) fn legacy(params: &str) -> Option<Self> {
        let mut params = RawObject::parse(params)?;
        let version = params.string("protocolVersion").unwrap_or_default();
        let newest = LEGACY_VERSIONS[LEGACY_VERSIONS.len() - 1];
        let version = if LEGACY_VERSIONS.contains(&version.as_str()) {
            version
        } else {
            params.set("protocolVersion", quoted(newest));
            newest.to_owned()
        };
        let capabilities = params.object("capabilities").map(RawObject::into_owned);
        if let Some(mut capabilities) = capabilities {
            capabilities.remove("tasks");
            params.set("capabilities", capabilities.to_string());
        }
        Some(Self::Legacy {
            version,
            params: params.to_string(),
        })
    }

    /// Reads the parameters of the first request of a client of 2026-07-28.
    pub(super) fn modern(params: &str) -> Self {
        let params = RawObject::parse(params).unwrap_or_default();
        let mut meta = params.object("_meta").unwrap_or_default();
        meta.remove("progressToken");
        Self::Modern {
            meta: meta.to_string(),
        }
    }
}

impl Union {
    /// The response to the handshake of 2025, or to `server/discover`.
    pub(super) async fn introduced(self: &Arc<Self>) -> Reply {
        self.settled().await;
        let mut known = Vec::new();
        let mut reasons = Vec::new();
        let mut instructions = Vec::new();
        for member in &self.members {
            let name = &member.source.name;
            let status = member.status.borrow().clone();
            let text = match status {
                Status::Up(up) => {
                    let text = up.description.instructions.clone();
                    known.push(up);
                    text
                }
                Status::Starting => {
                    reasons.push(format!("{name:?} does not respond"));
                    Some("This server is not available now.".to_owned())
                }
                Status::Down(reason) => {
                    reasons.push(format!("{name:?}: {reason}"));
                    Some("This server is not available now.".to_owned())
                }
            };
            if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
                instructions.push(format!("# {name}\n\n{}", text.trim()));
            }
        }
        if known.is_empty() {
            let message = format!("no server is available: {}", reasons.join("; "));
            return Reply::failed(&message, "upstream_down");
        }
        self.note_answered();
        let is_partial = !reasons.is_empty();
        let capabilities = together(&known, is_partial);
        let info = format!(
            r#"{{"name":"entreat","title":"Entreat","version":{}}}"#,
            quoted(env!("CARGO_PKG_VERSION"))
        );
        let mut result = RawObject::default();
        match self.handshake.get() {
            Some(Handshake::Legacy { version, .. }) => {
                result.set("protocolVersion", quoted(version));
                result.set("capabilities", capabilities.to_string());
                result.set("serverInfo", info);
            }
            Some(Handshake::Modern { .. }) | None => {
                result.set("resultType", r#""complete""#);
                result.set("supportedVersions", format!("[{}]", quoted(meta::VERSION)));
                result.set("capabilities", capabilities.to_string());
                result.set("_meta", format!("{{{}:{info}}}", quoted(meta::SERVER_INFO)));
                result.set("ttlMs", "0");
                result.set("cacheScope", r#""private""#);
            }
        }
        if !instructions.is_empty() {
            result.set("instructions", quoted(&instructions.join("\n\n")));
        }
        Reply::Result(result.to_string())
    }
}

/// What upstreams can do together. Of those that are missing nobody knows, and a client that is
/// told of a capability later never learns of it.
fn together(known: &[Arc<ConnectedMember>], is_partial: bool) -> Value {
    let mut all = Map::new();
    let has = |name: &str| known.iter().any(|up| up.description.has(name));
    for list in LISTS {
        if has(list) || is_partial {
            // Deliverable in any case: upstreams come and go.
            all.insert(list.to_owned(), json!({"listChanged": true}));
        }
    }
    let subscribes =
        |up: &Arc<ConnectedMember>| up.description.capabilities["resources"]["subscribe"] == true;
    if known.iter().any(subscribes)
        && let Some(resources) = all.get_mut("resources")
    {
        resources["subscribe"] = true.into();
    }
    for name in ["completions", "logging"] {
        if has(name) {
            all.insert(name.to_owned(), json!({}));
        }
    }
    let apps = known
        .iter()
        .find_map(|up| up.description.capabilities["extensions"].get(APPS));
    if let Some(apps) = apps {
        all.insert("extensions".to_owned(), json!({APPS: apps}));
    }
    all.into()
}

//! What every request of 2026-07-28 says of the client: members of `_meta`.

use serde_json::json;

use crate::json::{RawObject, may_name, quoted, with_members};
use crate::reply::{Reply, code};

/// The version itself.
pub(crate) const VERSION: &str = "2026-07-28";

pub(crate) const PROTOCOL: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
pub(crate) const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
pub(crate) const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
pub(crate) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// The members that are for one hop only.
const PER_HOP: [&str; 6] = [
    PROTOCOL,
    CLIENT_INFO,
    CLIENT_CAPABILITIES,
    LOG_LEVEL,
    SUBSCRIPTION_ID,
    SERVER_INFO,
];

/// Whether a member of `_meta` is for one hop only.
pub(crate) fn is_per_hop(name: &str) -> bool {
    PER_HOP.contains(&name)
}

/// Whether the parameters are those of a request of 2026-07-28.
pub(crate) fn is_modern(params: &str) -> bool {
    may_name(params, PROTOCOL)
        && RawObject::parse(params)
            .as_ref()
            .and_then(|params| params.object("_meta"))
            .is_some_and(|meta| meta.get(PROTOCOL).is_some())
}

/// The error for a request that names a version which is not spoken here.
pub(crate) fn unsupported(params: &str) -> Option<Reply> {
    unsupported_in(&RawObject::parse(params)?.parsed_object("_meta")?)
}

/// The error for a request whose `_meta` names a version which is not spoken here.
pub(crate) fn unsupported_in(meta: &RawObject<'_>) -> Option<Reply> {
    let requested = meta.string(PROTOCOL)?;
    if requested == VERSION {
        return None;
    }
    let error = json!({
        "code": code::UNSUPPORTED_VERSION,
        "message": "Unsupported protocol version",
        "data": {"supported": [VERSION], "requested": requested},
    });
    Some(Reply::Error(error.to_string()))
}

/// The error for a request that lacks what each one says of its client.
pub(crate) fn incomplete(params: &str) -> Option<Reply> {
    let params = RawObject::parse(params).unwrap_or_default();
    let meta = params.object("_meta").unwrap_or_default();
    let missing = if meta.string(PROTOCOL).is_none() {
        PROTOCOL
    } else if meta.object(CLIENT_CAPABILITIES).is_none() {
        CLIENT_CAPABILITIES
    } else {
        return None;
    };
    let text = format!("params._meta: {missing:?} is missing");
    Some(Reply::invalid_params(&text))
}

/// Returns parameters without the members of `_meta` that are for one hop.
pub(crate) fn stripped(params: &str) -> String {
    let Some(mut params) = RawObject::parse(params) else {
        return params.to_owned();
    };
    strip(&mut params);
    params.to_string()
}

/// Removes the members of `_meta` that are for one hop, and `_meta` if nothing is left.
pub(crate) fn strip(params: &mut RawObject<'_>) {
    let Some(mut meta) = params.parsed_object("_meta") else {
        return;
    };
    meta.retain(|name| !is_per_hop(name));
    if meta.is_empty() {
        params.remove("_meta");
    } else {
        params.set("_meta", meta.text());
    }
}

/// What the gateway says of itself where no client has.
pub(crate) fn own_info() -> String {
    let version = quoted(env!("CARGO_PKG_VERSION"));
    format!(r#"{{"name":"entreat","version":{version}}}"#)
}

/// What a client of 2026-07-28 says of itself in each request.
#[derive(Clone, Debug)]
pub(crate) struct ClientMeta {
    pub(crate) info: String,
    pub(crate) capabilities: String,
    pub(crate) log_level: Option<String>,
}

impl ClientMeta {
    /// Adds it to parameters, in place of what they say for one hop.
    pub(crate) fn applied_to(&self, params: &str) -> String {
        if params.starts_with('{') && !may_name(params, "_meta") {
            let mut meta = RawObject::default();
            self.add_to(&mut meta);
            return with_members(params, &[("_meta", &meta.text())]);
        }
        let mut params = RawObject::parse(params).unwrap_or_default();
        strip(&mut params);
        let mut meta = params
            .object("_meta")
            .map(|meta| meta.to_string())
            .unwrap_or_default();
        let mut object = RawObject::parse(&meta).unwrap_or_default();
        self.add_to(&mut object);
        meta = object.text();
        params.set("_meta", meta);
        params.text()
    }

    fn add_to<'a>(&'a self, meta: &mut RawObject<'a>) {
        meta.set(PROTOCOL, quoted(VERSION));
        meta.set(CLIENT_INFO, self.info.as_str());
        meta.set(CLIENT_CAPABILITIES, self.capabilities.as_str());
        if let Some(level) = &self.log_level {
            meta.set(LOG_LEVEL, quoted(level));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_for_one_hop_is_stripped() {
        let params = format!(
            r#"{{"name":"t","_meta":{{"{PROTOCOL}":"2026-07-28","x/y":1.0,"progressToken":7,"{LOG_LEVEL}":"info"}}}}"#
        );
        assert!(is_modern(&params));
        // PHP escapes slashes.
        assert!(is_modern(&params.replace('/', r"\/")));
        assert_eq!(
            stripped(&params),
            r#"{"name":"t","_meta":{"x/y":1.0,"progressToken":7}}"#
        );
        assert_eq!(
            stripped(&format!(r#"{{"_meta":{{"{PROTOCOL}":"v"}}}}"#)),
            "{}"
        );
        assert!(!is_modern(&format!(
            r#"{{"arguments":{{"{PROTOCOL}":1}}}}"#
        )));
    }

    #[test]
    fn what_a_client_says_of_itself_keeps_the_rest() {
        let client_meta = ClientMeta {
            info: r#"{"name":"c","version":"1"}"#.to_owned(),
            capabilities: "{}".to_owned(),
            log_level: None,
        };
        for (params, own) in [
            (r#"{"a":1.0,"_meta":{"x/y":2}}"#, r#""x/y":2,"#),
            (r#"{"a":1.0,"\u005fmeta":{"x/y":2}}"#, r#""x/y":2,"#),
            (r#"{"a":1.0}"#, ""),
        ] {
            assert_eq!(
                client_meta.applied_to(params),
                format!(
                    r#"{{"a":1.0,"_meta":{{{own}"{PROTOCOL}":"2026-07-28","{CLIENT_INFO}":{{"name":"c","version":"1"}},"{CLIENT_CAPABILITIES}":{{}}}}}}"#
                )
            );
        }
    }
}

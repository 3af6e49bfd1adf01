//! The lists of all upstreams as one: merged, sorted, and paged by the last key that was sent.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::future::join_all;
use parking_lot::Mutex;
use serde_json::value::RawValue;

use super::Union;
use super::member::{ConnectedMember, Status};
use super::names::labelled;
use super::rewrite::Rewriter;
use crate::capability::Capabilities;
use crate::client::ClientSender;
use crate::json::{RawObject, quoted};
use crate::links::{self, RESUME};
use crate::log::cut;
use crate::memory::{QueueReservation, Reservation};
use crate::modern::declared;
use crate::reply::{Reply, code, error_code};

/// How many pages of one upstream are read, and how many entries and bytes they may have.
const MAX_PAGES: usize = 100;
const MAX_ENTRIES: usize = 10_000;
const MAX_BYTES: usize = 16 << 20;
/// From this length on, a page of ours ends.
const PAGE_BYTES: usize = 4 << 20;

/// The lists that servers have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    Tools,
    Prompts,
    Resources,
    Templates,
}

impl List {
    pub(super) fn of(method: &str) -> Option<Self> {
        Some(match method {
            "tools/list" => Self::Tools,
            "prompts/list" => Self::Prompts,
            "resources/list" => Self::Resources,
            "resources/templates/list" => Self::Templates,
            _ => return None,
        })
    }

    fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Prompts => "prompts/list",
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
        }
    }

    /// The capability of servers that have it.
    fn capability(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources | Self::Templates => "resources",
        }
    }

    /// The member of a result that has the entries.
    fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
        }
    }

    /// What tells its entries apart.
    fn key(self) -> &'static str {
        match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources => "uri",
            Self::Templates => "uriTemplate",
        }
    }
}

/// A merged list.
pub(super) struct MergedList {
    /// Its entries by name or URI, in their order.
    entries: BTreeMap<String, String>,
    /// Their memory, for as long as anybody reads the list.
    _reservation: Reservation,
}

type Merged = Arc<MergedList>;

/// What one upstream has listed, and the memory of that while it is merged.
struct Listed {
    entries: Vec<String>,
    memory: QueueReservation,
}

/// Lists of which a client has not read all pages.
#[derive(Default)]
pub(super) struct Unread(Mutex<Vec<(List, Merged)>>);

impl Unread {
    fn get(&self, list: List) -> Option<Merged> {
        let unread = self.0.lock();
        let found = unread.iter().find(|(known, _)| *known == list);
        found.map(|(_, merged)| merged.clone())
    }

    fn set(&self, list: List, merged: Option<&Merged>) {
        let mut unread = self.0.lock();
        unread.retain(|(known, _)| *known != list);
        unread.extend(merged.map(|merged| (list, merged.clone())));
    }
}

impl Union {
    /// A page of a list.
    pub(super) async fn list(
        self: &Arc<Self>,
        list: List,
        params: &str,
        client: &ClientSender,
    ) -> Reply {
        let object = RawObject::parse(params).unwrap_or_default();
        let after = match object.get("cursor") {
            None | Some("null") => None,
            Some(_) => match object.string("cursor").as_deref().and_then(read_cursor) {
                Some(after) => Some(after),
                None => return Reply::invalid_params("the cursor is not valid"),
            },
        };
        let unread = after.as_ref().and_then(|_| self.unread.get(list));
        let merged = match unread {
            Some(merged) => merged,
            None => match self.gather(list, params, client).await {
                Ok(merged) => merged,
                Err(reply) => return reply,
            },
        };
        let (page, next) = self.page(&merged, after.as_deref());
        self.unread.set(list, next.as_ref().map(|_| &merged));
        let mut result = RawObject::default();
        if self.is_modern() {
            result.set("resultType", r#""complete""#);
        }
        result.set(list.member(), format!("[{}]", page.join(",")));
        if let Some(next) = next {
            result.set("nextCursor", quoted(&URL_SAFE_NO_PAD.encode(next)));
        }
        if self.is_modern() {
            result.set("ttlMs", "0");
            result.set("cacheScope", r#""private""#);
        }
        Reply::Result(result.to_string())
    }

    /// The entries after a key, and the last key if there are more.
    fn page<'a>(&self, merged: &'a Merged, after: Option<&str>) -> (Vec<&'a str>, Option<&'a str>) {
        use std::ops::Bound::{Excluded, Unbounded};
        let from = after.map_or(Unbounded, Excluded);
        let mut page = Vec::new();
        let mut bytes = 0;
        let mut last = None;
        for (key, entry) in merged.entries.range::<str, _>((from, Unbounded)) {
            let is_full = page.len() >= self.gateway.settings.page.max(1)
                || bytes + entry.len() > PAGE_BYTES && !page.is_empty();
            if is_full {
                return (page, last);
            }
            bytes += entry.len();
            page.push(entry.as_str());
            last = Some(key.as_str());
        }
        (page, None)
    }

    /// Reads the lists of all upstreams, and notes whose names are whose. An upstream that fails is
    /// left out, unless nothing would remain.
    pub(super) async fn gather(
        self: &Arc<Self>,
        list: List,
        params: &str,
        client: &ClientSender,
    ) -> Result<Merged, Reply> {
        self.settled().await;
        let params = bare(params);
        let reads = self.members.iter().enumerate().map(|(index, member)| {
            let status = member.status.borrow().clone();
            let params = &params;
            async move {
                let read = match status {
                    Status::Up(up) if !up.description.has(list.capability()) => Ok(self.nothing()),
                    Status::Up(up) => {
                        let reading = self.read_all(&up, list, params, client);
                        tokio::select! {
                            biased;
                            read = reading => read,
                            () = self.sleep(self.gateway.settings.stragglers) => {
                                Err("it does not respond".to_owned())
                            }
                        }
                    }
                    Status::Starting => Err("it does not respond".to_owned()),
                    Status::Down(reason) => Err(reason.to_string()),
                };
                (index, read)
            }
        });
        let reads = join_all(reads).await;
        if reads.iter().all(|(_, read)| read.is_err()) {
            let reasons = reads.iter().filter_map(|(index, read)| {
                let name = self.name(*index);
                Some(format!("{name:?}: {}", read.as_ref().err()?))
            });
            let reasons: Vec<String> = reasons.collect();
            let message = format!("no server is available: {}", reasons.join("; "));
            return Err(Reply::failed(&message, "upstream_down"));
        }
        let mut merged = BTreeMap::new();
        for (index, read) in reads {
            let read = read.and_then(|listed| self.merge(list, index, &listed, &mut merged));
            // Those that are down have been in the log when that began.
            if let Err(reason) = read
                && self.up(index).is_some()
            {
                self.warn(index, "a server is left out of a list", reason);
            }
        }
        if list == List::Tools
            && let Some(up) = self.all_up().first()
            && up.session.may_link(self.shown_by(&params, up))
        {
            merged.insert(RESUME.to_owned(), links::definition(RESUME));
        }
        let bytes = merged
            .iter()
            .map(|(known, entry)| known.len() + entry.len());
        let Some(reservation) = self.memory.reserve(bytes.sum()) else {
            return Err(Reply::busy(NO_ROOM));
        };
        Ok(Arc::new(MergedList {
            entries: merged,
            _reservation: reservation,
        }))
    }

    fn nothing(&self) -> Listed {
        Listed {
            entries: Vec::new(),
            memory: QueueReservation::of(self.memory.clone()),
        }
    }

    /// What the client shows that sends these parameters.
    fn shown_by(&self, params: &str, up: &ConnectedMember) -> Capabilities {
        if self.is_modern() {
            declared(params)
        } else {
            up.session.client_info().capabilities
        }
    }

    /// Adds the entries of an upstream, under their names in the union.
    fn merge(
        &self,
        list: List,
        index: usize,
        listed: &Listed,
        merged: &mut BTreeMap<String, String>,
    ) -> Result<(), String> {
        let rewriter = Rewriter {
            name: self.name(index).to_owned(),
            label: self.labels.get(index).to_owned(),
        };
        let keyed = listed.entries.iter().filter_map(|entry| {
            let key = RawObject::parse(entry)?.string(list.key())?;
            Some((key, entry))
        });
        let keyed: Vec<(String, &String)> = keyed.collect();
        let names = self.names(list);
        if let Some(names) = names {
            let all: Vec<String> = keyed.iter().map(|(key, _)| key.clone()).collect();
            // Each is there twice: as it is called there, and in the union.
            let reservation = self
                .memory
                .reserve(all.iter().map(|name| 2 * name.len()).sum());
            let reservation = reservation.ok_or(NO_ROOM)?;
            let left_out = names
                .lock()
                .set(&self.upstream_names(), index, all, reservation);
            if let Some(name) = left_out {
                let what = "names are left out: others have them already";
                self.warn(index, what, format_args!("such as {name}"));
            }
        }
        for (key, entry) in keyed {
            let known = match names {
                Some(names) => names.lock().known(&rewriter.name, index, &key),
                None => Some(labelled(&rewriter.label, &key)),
            };
            let Some(known) = known else {
                continue;
            };
            let entry = match list {
                List::Tools => rewriter.tool(entry, &known),
                List::Prompts => Rewriter::prompt(entry, &known),
                List::Resources | List::Templates => rewriter.uri(entry, list.key()),
            };
            if let Some(entry) = entry {
                merged.entry(known).or_insert(entry);
            }
        }
        Ok(())
    }

    /// Reads all pages of one upstream's list.
    async fn read_all(
        &self,
        up: &ConnectedMember,
        list: List,
        params: &str,
        client: &ClientSender,
    ) -> Result<Listed, String> {
        let mut listed = self.nothing();
        let mut bytes = 0;
        let mut params = RawObject::parse(params).unwrap_or_default();
        for _ in 0..MAX_PAGES {
            let text = params.to_string();
            let asked = self.ask(&up.session, &up.context, client, list.method(), &text);
            let result = match asked.await {
                Reply::Result(result) => result,
                Reply::Error(error) if error_code(&error) == Some(NO_METHOD) => return Ok(listed),
                Reply::Error(error) => return Err(cut(error)),
            };
            let result = RawObject::parse(&result).ok_or("its list is not an object")?;
            let page = result.get(list.member()).unwrap_or("[]");
            let page: Vec<&RawValue> =
                serde_json::from_str(page).map_err(|_| "its list is not an array".to_owned())?;
            for entry in page {
                bytes += entry.get().len();
                if listed.entries.len() >= MAX_ENTRIES || bytes > MAX_BYTES {
                    let what = "the rest of a list is left out";
                    self.warn(up.context.index, what, "it is too long");
                    return Ok(listed);
                }
                if !listed.memory.resize(bytes) {
                    return Err(NO_ROOM.to_owned());
                }
                listed.entries.push(entry.get().to_owned());
            }
            match result.string("nextCursor") {
                Some(cursor) => params.set("cursor", quoted(&cursor)),
                None => return Ok(listed),
            }
        }
        Ok(listed)
    }
}

/// Why there is no list, if the share of memory is used up.
const NO_ROOM: &str = "there is no memory for the list: too much waits to be fetched already";

const NO_METHOD: i64 = code::METHOD_NOT_FOUND as i64;

/// The parameters of a client's request, as those of requests to each upstream.
fn bare(params: &str) -> String {
    let mut object = RawObject::parse(params).unwrap_or_default();
    object.retain(|name| name == "_meta");
    if let Some(meta) = object.object("_meta") {
        let mut meta = meta.into_owned();
        // Several upstreams would report progress under one token.
        meta.remove("progressToken");
        object.set("_meta", meta.to_string());
    }
    object.to_string()
}

fn read_cursor(cursor: &str) -> Option<String> {
    String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()
}

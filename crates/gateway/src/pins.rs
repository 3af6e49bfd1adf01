//! The definitions of tools as they were approved: a server that changes what a tool says of itself
//! may want the model to do something else with it.
//!
//! They are in a file of digests. What a server lists first is taken as approved.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

/// The largest file that is read.
const MAX_BYTES: u64 = 16 << 20;
/// The maximum number of tools of one server.
const MAX_TOOLS: usize = 10_000;

/// What happens when the definition of a tool changes, or a tool is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PinMode {
    /// The log says so.
    Warn,
    /// The tool is neither listed nor called until it is approved.
    Block,
}

/// The digests of tools, by server and name.
type Digests = BTreeMap<String, BTreeMap<String, String>>;

/// The approved definitions of tools, in a file. Cheap to clone.
#[derive(Clone)]
pub struct Pins(Arc<Inner>);

struct Inner {
    path: PathBuf,
    mode: PinMode,
    /// Held while the file is read and written.
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// Lists that are approved once their last page has come.
    first: Digests,
    /// The tools that each server has listed, and whether they are blocked.
    tools: BTreeMap<String, BTreeMap<String, bool>>,
}

impl Pins {
    /// Uses a file, which need not exist.
    pub fn new(path: impl Into<PathBuf>, mode: PinMode) -> Self {
        Self(Arc::new(Inner {
            path: path.into(),
            mode,
            seen: Mutex::default(),
        }))
    }

    /// What happens when a definition changes.
    pub fn mode(&self) -> PinMode {
        self.0.mode
    }

    /// Compares a page of a server's list of tools with those that were approved. Returns the names
    /// of those that are blocked.
    pub(crate) fn note(
        &self,
        server: &str,
        listed: &[(String, String)],
        is_last: bool,
    ) -> Vec<String> {
        let mut seen = self.0.seen.lock();
        let changed = match self.compare(&mut seen, server, listed, is_last) {
            Ok(changed) => changed,
            Err(error) => {
                tracing::error!(%error, "the file of approved tools cannot be used");
                listed.iter().map(|(tool, _)| tool.clone()).collect()
            }
        };
        for tool in &changed {
            tracing::warn!(
                server,
                tool,
                "the definition of a tool is not the approved one"
            );
        }
        match self.0.mode {
            PinMode::Warn => Vec::new(),
            PinMode::Block => {
                let tools = seen.tools.entry(server.to_owned()).or_default();
                for (tool, _) in listed {
                    if tools.len() < MAX_TOOLS || tools.contains_key(tool) {
                        tools.insert(tool.clone(), changed.contains(tool));
                    }
                }
                changed
            }
        }
    }

    fn compare(
        &self,
        seen: &mut Seen,
        server: &str,
        listed: &[(String, String)],
        is_last: bool,
    ) -> io::Result<Vec<String>> {
        let mut digests = read(&self.0.path)?;
        let Some(approved) = digests.get(server) else {
            let first = seen.first.entry(server.to_owned()).or_default();
            let room = MAX_TOOLS.saturating_sub(first.len());
            first.extend(listed.iter().take(room).cloned());
            if is_last {
                let first = seen.first.remove(server).unwrap_or_default();
                digests.insert(server.to_owned(), first);
                write(&self.0.path, &digests)?;
            }
            return Ok(Vec::new());
        };
        let is_changed = |(tool, digest): &&(String, String)| approved.get(tool) != Some(digest);
        let changed = listed.iter().filter(is_changed);
        Ok(changed.map(|(tool, _)| tool.clone()).collect())
    }

    /// Whether a tool must not be called: its definition has changed, or there was none of its name
    /// when the server's tools were approved.
    pub(crate) fn is_blocked(&self, server: &str, tool: &str) -> bool {
        if self.0.mode == PinMode::Warn {
            return false;
        }
        let seen = self.0.seen.lock();
        let listed = seen.tools.get(server).and_then(|tools| tools.get(tool));
        if let Some(is_blocked) = listed {
            return *is_blocked;
        }
        match read(&self.0.path) {
            Ok(digests) => digests
                .get(server)
                .is_some_and(|approved| !approved.contains_key(tool)),
            Err(_) => true,
        }
    }
}

/// Forgets what was approved of a server: what it lists next is approved. Returns whether there was
/// anything.
pub fn forget(path: &Path, server: &str) -> io::Result<bool> {
    let mut digests = read(path)?;
    let was_there = digests.remove(server).is_some();
    if was_there {
        write(path, &digests)?;
    }
    Ok(was_there)
}

fn read(path: &Path) -> io::Result<Digests> {
    use io::Read as _;

    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Digests::new()),
        Err(error) => return Err(error),
    };
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text)?;
    serde_json::from_str(&text).map_err(io::Error::other)
}

/// Replaces the file as a whole, so that a reader never sees half of it.
fn write(path: &Path, digests: &Digests) -> io::Result<()> {
    let text = serde_json::to_string_pretty(digests).map_err(io::Error::other)?;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let next = path.with_extension("json.new");
    std::fs::write(&next, text + "\n")?;
    std::fs::rename(next, path)
}

impl fmt::Debug for Pins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pins")
            .field("mode", &self.0.mode)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(tools: &[(&str, &str)]) -> Vec<(String, String)> {
        let tools = tools.iter();
        tools
            .map(|(tool, digest)| ((*tool).to_owned(), (*digest).to_owned()))
            .collect()
    }

    #[test]
    fn a_tool_that_changes_is_blocked_until_it_is_approved() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tools.json");
        let pins = Pins::new(&path, PinMode::Block);
        let first = listed(&[("a", "1"), ("b", "1")]);
        assert!(pins.note("s", &first, true).is_empty());
        // Another process reads the same file.
        let pins = Pins::new(&path, PinMode::Block);
        let next = listed(&[("a", "1"), ("b", "2"), ("c", "1")]);
        assert_eq!(pins.note("s", &next, true), ["b", "c"]);
        assert!(pins.is_blocked("s", "b") && !pins.is_blocked("s", "a"));
        assert!(!pins.is_blocked("other", "b"));
        // No list has had it.
        assert!(pins.is_blocked("s", "d"));
        // It goes back.
        assert!(pins.note("s", &first, true).is_empty());
        assert!(!pins.is_blocked("s", "b"));
        assert!(forget(&path, "s").unwrap());
        assert!(pins.note("s", &next, true).is_empty());
        assert!(!forget(&path, "other").unwrap());
    }

    #[test]
    fn a_list_is_approved_with_all_its_pages() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tools.json");
        let pins = Pins::new(&path, PinMode::Block);
        let pages = [listed(&[("a", "1")]), listed(&[("b", "1")])];
        assert!(pins.note("s", &pages[0], false).is_empty());
        assert!(pins.note("s", &pages[1], true).is_empty());
        for (page, is_last) in [(&pages[0], false), (&pages[1], true)] {
            assert!(pins.note("s", page, is_last).is_empty());
        }
        let changed = listed(&[("a", "2")]);
        assert_eq!(pins.note("s", &changed, false), ["a"]);
        assert!(pins.note("s", &pages[1], true).is_empty());
        assert!(pins.is_blocked("s", "a") && !pins.is_blocked("s", "b"));
    }

    #[test]
    fn a_file_that_cannot_be_read_blocks_everything() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tools.json");
        std::fs::write(&path, "{").unwrap();
        let tools = listed(&[("a", "1")]);
        assert_eq!(
            Pins::new(&path, PinMode::Block).note("s", &tools, true),
            ["a"]
        );
        let warns = Pins::new(&path, PinMode::Warn);
        assert!(warns.note("s", &tools, true).is_empty());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{");
    }
}

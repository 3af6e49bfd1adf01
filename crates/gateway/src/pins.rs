//! The definitions of tools as they were approved: a server that changes what a tool says of itself
//! may want the model to do something else with it.
//!
//! They are in a file of digests. What a server lists first is taken as approved.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::log::LineThrottle;

/// The largest file that is read.
const MAX_BYTES: u64 = 64 << 20;
/// The maximum number of tools of one server, and of the bytes of their names: no server fills the
/// file, which is one for all.
const MAX_TOOLS: usize = 10_000;
const MAX_NAMES: usize = 1 << 20;
/// Of how many changed tools the log says the names.
const MAX_LOGGED: usize = 10;

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
pub struct Pins {
    file: Arc<File>,
    listed: Arc<Mutex<Listed>>,
}

struct File {
    path: PathBuf,
    mode: PinMode,
    /// The tools whose definitions, as a server listed them last, are not the approved ones, by
    /// server. Nothing but reports read it.
    changed: Mutex<BTreeMap<String, BTreeSet<String>>>,
    /// The definitions of which the log says that they are not the approved ones, as digests.
    logged: Mutex<Digests>,
    unusable: LineThrottle,
}

/// What one session of a server has listed.
#[derive(Default)]
struct Listed {
    /// The tools whose definitions are the approved ones.
    approved: BTreeSet<String>,
    /// Whether the first list of this server, all of which is approved, goes on.
    is_first: bool,
    /// Whether the next page belongs to the same list.
    goes_on: bool,
}

impl Pins {
    /// Uses a file, which need not exist.
    pub fn new(path: impl Into<PathBuf>, mode: PinMode) -> Self {
        Self {
            file: Arc::new(File {
                path: path.into(),
                mode,
                changed: Mutex::default(),
                logged: Mutex::default(),
                unusable: LineThrottle::default(),
            }),
            listed: Arc::default(),
        }
    }

    /// The same file for another session, whose server may list other tools.
    pub(crate) fn for_session(&self) -> Self {
        Self {
            file: self.file.clone(),
            listed: Arc::default(),
        }
    }

    /// What happens when a definition changes.
    pub fn mode(&self) -> PinMode {
        self.file.mode
    }

    /// Compares the tools on a page of a server's list with those that were approved; `has_more`
    /// says whether another page follows. Returns the names of those that are blocked.
    pub(crate) fn note(
        &self,
        server: &str,
        listed: Vec<(String, String)>,
        has_more: bool,
    ) -> BTreeSet<String> {
        let mut state = self.listed.lock();
        let changed = match self.compare(server, &listed, &mut state, has_more) {
            Ok(changed) => changed,
            Err(error) => {
                if let Some(count) = self.file.unusable.count() {
                    tracing::error!(%error, count, "the file of approved tools cannot be used");
                }
                listed.iter().map(|(tool, _)| tool.clone()).collect()
            }
        };
        self.log_changed(server, &listed, &changed);
        self.note_changed(server, &listed, &changed, &mut state, has_more);
        if self.file.mode == PinMode::Warn {
            return BTreeSet::new();
        }
        for (tool, _) in listed {
            if state.approved.len() < MAX_TOOLS {
                state.approved.insert(tool);
            }
        }
        // A tool that is listed twice is not what was approved, either.
        for tool in &changed {
            state.approved.remove(tool);
        }
        changed
    }

    /// Writes to the log which definitions are not the approved ones: each once, however often and in
    /// however many sessions it is listed.
    fn log_changed(&self, server: &str, listed: &[(String, String)], changed: &BTreeSet<String>) {
        let mut all = self.file.logged.lock();
        let logged = all.entry(server.to_owned()).or_default();
        // Of a tool that is listed twice, the last one.
        let listed: BTreeMap<&String, &String> = listed.iter().map(|(a, b)| (a, b)).collect();
        let mut new = Vec::new();
        for (tool, digest) in listed {
            if !changed.contains(tool) {
                logged.remove(tool);
            } else if logged.get(tool) != Some(digest) {
                if logged.len() < MAX_TOOLS || logged.contains_key(tool) {
                    logged.insert(tool.clone(), digest.clone());
                }
                new.push(tool);
            }
        }
        for tool in new.iter().take(MAX_LOGGED) {
            tracing::warn!(
                server,
                tool,
                "the definition of a tool is not the approved one"
            );
        }
        if let Some(more @ 1..) = new.len().checked_sub(MAX_LOGGED) {
            tracing::warn!(
                server,
                more,
                "the definitions of more tools are not the approved ones"
            );
        }
    }

    /// Keeps which tools have changed, for reports.
    fn note_changed(
        &self,
        server: &str,
        listed: &[(String, String)],
        changed: &BTreeSet<String>,
        state: &mut Listed,
        has_more: bool,
    ) {
        let goes_on = std::mem::replace(&mut state.goes_on, has_more);
        let mut all = self.file.changed.lock();
        let known = all.entry(server.to_owned()).or_default();
        if !goes_on {
            known.clear();
        }
        for (tool, _) in listed {
            known.remove(tool);
        }
        let room = MAX_TOOLS.saturating_sub(known.len());
        known.extend(changed.iter().take(room).cloned());
    }

    /// The tools whose definitions, as the server listed them last, are not the approved ones.
    pub(crate) fn changed(&self, server: &str) -> Vec<String> {
        let all = self.file.changed.lock();
        let tools = all.get(server).into_iter().flatten();
        tools.cloned().collect()
    }

    /// How many definitions of a server are approved.
    pub(crate) fn approved(&self, server: &str) -> usize {
        let digests = read(&self.file.path).unwrap_or_default();
        digests.get(server).map_or(0, BTreeMap::len)
    }

    fn compare(
        &self,
        server: &str,
        listed: &[(String, String)],
        state: &mut Listed,
        has_more: bool,
    ) -> io::Result<BTreeSet<String>> {
        let path = &self.file.path;
        let mut digests = read(path)?;
        let is_first = |digests: &Digests| state.is_first || !digests.contains_key(server);
        let mut turn = None;
        if is_first(&digests) {
            // Others may have written meanwhile, for this server or for another.
            turn = Some(lock(path)?);
            digests = read(path)?;
        }
        let is_first = is_first(&digests);
        state.is_first = is_first && has_more;
        let approved = digests.entry(server.to_owned()).or_default();
        if is_first {
            let mut names: usize = approved.keys().map(String::len).sum();
            for (tool, digest) in listed {
                if approved.len() < MAX_TOOLS && names + tool.len() <= MAX_NAMES {
                    names += tool.len();
                    let tool = approved.entry(tool.clone());
                    tool.or_insert_with(|| digest.clone());
                }
            }
        }
        let is_changed = |(tool, digest): &&(String, String)| approved.get(tool) != Some(digest);
        let changed = listed.iter().filter(is_changed);
        let changed = changed.map(|(tool, _)| tool.clone()).collect();
        if is_first {
            write(path, &digests)?;
        }
        drop(turn);
        Ok(changed)
    }

    /// Whether a tool must not be called: the server has not listed it as it was approved.
    pub(crate) fn is_blocked(&self, tool: &str) -> bool {
        self.file.mode == PinMode::Block && !self.listed.lock().approved.contains(tool)
    }
}

/// Forgets what was approved of a server: what it lists next is approved. Returns whether there was
/// anything.
pub fn forget(path: &Path, server: &str) -> io::Result<bool> {
    let _turn = lock(path)?;
    let mut digests = read(path)?;
    let was_there = digests.remove(server).is_some();
    if was_there {
        write(path, &digests)?;
    }
    Ok(was_there)
}

/// Waits for the turn to read and write the file, which is one for all servers and for all programs
/// that use it: without turns, what one approves would be lost, and be approved anew as it is then.
fn lock(path: &Path) -> io::Result<std::fs::File> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let lock = std::fs::File::create(path.with_extension("json.lock"))?;
    lock.lock()?;
    Ok(lock)
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
    let next = path.with_extension("json.new");
    std::fs::write(&next, text + "\n")?;
    std::fs::rename(next, path)
}

impl fmt::Debug for Pins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pins")
            .field("mode", &self.file.mode)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use entreat_testkit::CapturedLog;
    use tracing::Level;

    use super::*;

    fn listed(tools: &[(&str, &str)]) -> Vec<(String, String)> {
        let tools = tools.iter();
        tools
            .map(|(tool, digest)| ((*tool).to_owned(), (*digest).to_owned()))
            .collect()
    }

    fn note(pins: &Pins, tools: Vec<(String, String)>, has_more: bool) -> Vec<String> {
        pins.note("s", tools, has_more).into_iter().collect()
    }

    #[test]
    fn servers_that_are_listed_at_once_do_not_lose_what_is_approved() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tools.json");
        let servers: Vec<String> = (0..8).map(|n| format!("s{n}")).collect();
        std::thread::scope(|scope| {
            for server in &servers {
                // Each has its own handle of the file, as upstreams have.
                let pins = Pins::new(&path, PinMode::Block);
                scope.spawn(move || {
                    let tools = listed(&[("a", "1")]);
                    assert!(pins.note(server, tools, false).is_empty());
                });
            }
        });
        for server in &servers {
            let pins = Pins::new(&path, PinMode::Block);
            let changed = pins.note(server, listed(&[("a", "2")]), false);
            assert_eq!(changed.into_iter().collect::<Vec<_>>(), ["a"], "{server}");
        }
    }

    #[test]
    fn no_server_fills_the_file_that_is_one_for_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tools.json");
        let pins = Pins::new(&path, PinMode::Block);
        let name = |n: usize| format!("{n}-{}", "x".repeat(1_000));
        let many = (0..9_000).map(|n| (name(n), "1".to_owned())).collect();
        assert!(!pins.note("hostile", many, false).is_empty());
        assert!(std::fs::metadata(&path).unwrap().len() < 2 << 20);
        assert!(pins.note("s", listed(&[("a", "1")]), false).is_empty());
        assert!(Pins::new(&path, PinMode::Block).approved("hostile") > 1_000);
    }

    #[test]
    fn a_tool_that_changes_is_blocked_until_it_is_approved() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tools.json");
        let pins = Pins::new(&path, PinMode::Block);
        let first = listed(&[("a", "1"), ("b", "1")]);
        assert!(pins.note("s", first.clone(), false).is_empty());
        // Another process reads the same file.
        let pins = Pins::new(&path, PinMode::Block);
        let next = listed(&[("a", "1"), ("b", "2"), ("c", "1")]);
        assert_eq!(note(&pins, next.clone(), false), ["b", "c"]);
        assert!(pins.is_blocked("b") && !pins.is_blocked("a"));
        // What was never listed is not approved.
        assert!(pins.is_blocked("d"));
        // It goes back.
        assert!(pins.note("s", first, false).is_empty());
        assert!(!pins.is_blocked("b"));
        assert!(forget(&path, "s").unwrap());
        assert!(pins.note("s", next, false).is_empty());
        assert!(!forget(&path, "other").unwrap());
    }

    #[test]
    fn another_page_or_session_does_not_unblock_a_tool() {
        let folder = tempfile::tempdir().unwrap();
        let pins = Pins::new(folder.path().join("tools.json"), PinMode::Block);
        // All pages of the first list are approved.
        assert!(pins.note("s", listed(&[("a", "1")]), true).is_empty());
        assert!(pins.note("s", listed(&[("b", "1")]), false).is_empty());
        assert_eq!(note(&pins, listed(&[("c", "1")]), false), ["c"]);
        assert_eq!(note(&pins, listed(&[("a", "2")]), true), ["a"]);
        assert!(pins.note("s", listed(&[("b", "1")]), false).is_empty());
        assert!(pins.is_blocked("a") && !pins.is_blocked("b"));
        let other = pins.for_session();
        assert!(other.note("s", listed(&[("a", "1")]), false).is_empty());
        assert!(pins.is_blocked("a") && !other.is_blocked("a"));
        // Of two definitions on one page, a client may take either.
        let both = listed(&[("a", "1"), ("a", "2")]);
        assert_eq!(note(&other, both, false), ["a"]);
        assert!(other.is_blocked("a"));
    }

    #[test]
    fn the_log_says_once_that_a_definition_has_changed() {
        let folder = tempfile::tempdir().unwrap();
        let pins = Pins::new(folder.path().join("tools.json"), PinMode::Warn);
        let (log, _guard) = CapturedLog::of_this_thread(Level::WARN);
        let lines = |pins: &Pins, tools: &[(&str, &str)], has_more: bool| {
            pins.note("s", listed(tools), has_more);
            log.take().lines().count()
        };
        assert_eq!(lines(&pins, &[("a", "1"), ("b", "1")], false), 0);
        // On two pages, in two sessions, again and again.
        let other = pins.for_session();
        assert_eq!(lines(&pins, &[("a", "2")], true), 1);
        assert_eq!(lines(&pins, &[("b", "1"), ("c", "1")], false), 1);
        for _ in 0..3 {
            assert_eq!(
                lines(&other, &[("a", "2"), ("b", "1"), ("c", "1")], false),
                0
            );
        }
        // The next change, and the same one after the approved definition was back.
        assert_eq!(
            lines(&pins, &[("a", "3"), ("b", "1"), ("c", "1")], false),
            1
        );
        assert_eq!(
            lines(&pins, &[("a", "1"), ("b", "1"), ("c", "1")], false),
            0
        );
        assert_eq!(
            lines(&pins, &[("a", "3"), ("b", "1"), ("c", "1")], false),
            1
        );
        // A tool that is listed twice differs from itself.
        assert_eq!(lines(&pins, &[("b", "1"), ("b", "2")], false), 1);
        assert_eq!(lines(&pins, &[("b", "1"), ("b", "2")], false), 0);
    }

    #[test]
    fn a_file_that_cannot_be_read_blocks_everything() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tools.json");
        std::fs::write(&path, "{").unwrap();
        let tools = listed(&[("a", "1")]);
        let pins = Pins::new(&path, PinMode::Block);
        assert_eq!(note(&pins, tools.clone(), false), ["a"]);
        let pins = Pins::new(&path, PinMode::Warn);
        assert!(pins.note("s", tools, false).is_empty());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{");
    }
}

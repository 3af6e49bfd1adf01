//! The environment, read once; every other part of the program receives values.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;

/// The variable that names the home folder.
const HOME: &str = if cfg!(windows) { "USERPROFILE" } else { "HOME" };

/// The environment as commands may use it.
#[derive(Debug, Default)]
pub(crate) struct Environment {
    /// The languages of the person at this terminal, best first.
    pub(crate) languages: Vec<String>,
    /// `ENTREAT_STORE`.
    pub(crate) store: Option<PathBuf>,
    /// `ENTREAT_KEYS`.
    pub(crate) keys: Option<PathBuf>,
    /// The home folder.
    pub(crate) home: Option<PathBuf>,
    /// The user's data folder.
    pub(crate) data_folder: Option<PathBuf>,
    /// The user's configuration folder.
    pub(crate) config_folder: Option<PathBuf>,
    variables: Variables,
}

/// All variables. Values may be secrets, so `Debug` shows names only.
#[derive(Default)]
struct Variables(BTreeMap<OsString, OsString>);

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Environment {
    /// Reads the environment. Empty variables count as unset.
    pub(crate) fn read() -> Self {
        Self::of(std::env::vars_os())
    }

    /// Creates an environment with these variables, for tests.
    #[cfg(test)]
    pub(crate) fn with(variables: &[(&str, &str)]) -> Self {
        let owned = variables
            .iter()
            .map(|(name, value)| (name.into(), value.into()));
        Self::of(owned)
    }

    fn of(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let variables = variables.into_iter().filter(|(_, value)| !value.is_empty());
        let variables = Variables(variables.collect());
        let value = |name: &str| variables.0.get(OsStr::new(name));
        let path = |name: &str| value(name).map(PathBuf::from);
        // The XDG specification says to ignore relative paths.
        let absolute = |name: &str| path(name).filter(|path| path.is_absolute());
        let home = absolute(HOME);
        let folder = |named: &str, of_windows: &str, below_home: &str| {
            absolute(named)
                .or_else(|| absolute(of_windows).filter(|_| cfg!(windows)))
                .or_else(|| Some(home.as_ref()?.join(below_home)))
        };
        Self {
            languages: ["LC_ALL", "LC_MESSAGES", "LANG"]
                .into_iter()
                .find_map(value)
                .and_then(|locale| language_tag(locale.to_str()?))
                .into_iter()
                .collect(),
            store: path("ENTREAT_STORE"),
            keys: path("ENTREAT_KEYS"),
            data_folder: folder("XDG_DATA_HOME", "LOCALAPPDATA", ".local/share"),
            config_folder: folder("XDG_CONFIG_HOME", "APPDATA", ".config"),
            home,
            variables,
        }
    }

    /// Returns the value of a variable, unless it is empty.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables
            .0
            .get(OsStr::new(name))
            .map(OsString::as_os_str)
    }

    /// Returns the names of variables with this prefix.
    pub(crate) fn names_with(&self, prefix: &str) -> impl Iterator<Item = &str> {
        let names = self.variables.0.keys().filter_map(|name| name.to_str());
        names.filter(move |name| name.starts_with(prefix))
    }
}

/// Returns the language tag of a POSIX locale such as `de_AT.UTF-8`; `None` for `C` and `POSIX`.
fn language_tag(locale: &str) -> Option<String> {
    let name = locale.split(['.', '@']).next().unwrap_or_default();
    match name {
        "" | "C" | "POSIX" => None,
        name => Some(name.replace('_', "-")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Environment {
        Environment::with(variables)
    }

    #[test]
    fn a_locale_becomes_a_language_tag() {
        assert_eq!(language_tag("de_AT.UTF-8").as_deref(), Some("de-AT"));
        assert_eq!(language_tag("de@euro").as_deref(), Some("de"));
        assert_eq!(language_tag("C.UTF-8"), None);
        assert_eq!(language_tag("POSIX"), None);
        assert_eq!(
            of(&[("LC_ALL", ""), ("LANG", "de_DE")]).languages,
            ["de-DE"]
        );
        assert!(
            of(&[("LC_ALL", "C"), ("LANG", "de_DE")])
                .languages
                .is_empty()
        );
    }

    #[cfg(unix)]
    #[test]
    fn data_lies_where_the_person_says_or_below_the_home_folder() {
        let folder = |variables: &[(&str, &str)]| of(variables).data_folder;
        let named = [("XDG_DATA_HOME", "/data"), ("HOME", "/h")];
        assert_eq!(folder(&named), Some("/data".into()));
        for unset in ["", "relative"] {
            let home = [("XDG_DATA_HOME", unset), ("HOME", "/h")];
            assert_eq!(folder(&home), Some("/h/.local/share".into()));
        }
        assert_eq!(folder(&[]), None);
        let folder = |variables: &[(&str, &str)]| of(variables).config_folder;
        let named = [("XDG_CONFIG_HOME", "/config"), ("HOME", "/h")];
        assert_eq!(folder(&named), Some("/config".into()));
        let relative = [("XDG_CONFIG_HOME", "."), ("HOME", "/h")];
        assert_eq!(folder(&relative), Some("/h/.config".into()));
    }

    #[cfg(windows)]
    #[test]
    fn windows_names_the_folders_of_a_person_itself() {
        let found = of(&[
            ("USERPROFILE", r"C:\h"),
            ("LOCALAPPDATA", r"C:\h\local"),
            ("APPDATA", r"C:\h\roaming"),
        ]);
        assert_eq!(found.home, Some(r"C:\h".into()));
        assert_eq!(found.data_folder, Some(r"C:\h\local".into()));
        assert_eq!(found.config_folder, Some(r"C:\h\roaming".into()));
        let found = of(&[("XDG_DATA_HOME", r"D:\data"), ("APPDATA", r"C:\roaming")]);
        assert_eq!(found.data_folder, Some(r"D:\data".into()));
    }
}

//! Whether the command of a server can be started at all.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::upstream::UpstreamTarget;
use crate::environment::Environment;
use crate::output;

/// Why a server's command cannot be started, as far as the file system tells; `None` for a URL.
pub(crate) fn command_problem(
    target: &UpstreamTarget,
    environment: &Environment,
) -> Option<String> {
    let UpstreamTarget::Command {
        program,
        folder,
        environment: own,
        ..
    } = target
    else {
        return None;
    };
    if let Some(folder) = folder
        && !folder.is_dir()
    {
        let folder = output::sanitize_path(folder);
        return Some(format!("cannot start it: there is no folder {folder}"));
    }
    let shown = output::sanitize_path(program);
    let program = Path::new(program);
    if cfg!(windows) && program.extension().is_none() {
        // Several extensions are tried.
        return None;
    }
    let candidates: Vec<PathBuf> = if program.components().count() > 1 {
        let folder = folder.as_deref().unwrap_or(Path::new(""));
        vec![folder.join(program)]
    } else {
        let own = own.iter().rfind(|(name, _)| name == "PATH");
        let path = own.map(|(_, path)| OsStr::new(path));
        let path = path.or_else(|| environment.variable("PATH"))?;
        std::env::split_paths(path)
            .map(|folder| folder.join(program))
            .collect()
    };
    let files: Vec<&PathBuf> = candidates.iter().filter(|path| path.is_file()).collect();
    if files.is_empty() {
        return Some(format!("cannot start `{shown}`: there is no such command"));
    }
    let is_startable = files.iter().any(|path| is_executable(path));
    (!is_startable).then(|| format!("cannot start `{shown}`: the file is not executable"))
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;

    std::fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(_: &Path) -> bool {
    true
}

//! The file that messages are written to.

use std::fs::{File, OpenOptions};
use std::path::Path;

use anyhow::{Context as _, ensure};

use crate::output;

/// Opens a file to continue it, or creates one. Nobody else may read it, and it is no link: another
/// user who can write to the folder could point one at a file of this user.
pub(crate) fn open(path: &Path) -> anyhow::Result<File> {
    let shown = output::sanitize_path(path);
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;

        use rustix::fs::OFlags;

        // A pipe without a reader would make it wait.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        options.mode(0o600).custom_flags(flags.bits().cast_signed());
    }
    let opened = || -> anyhow::Result<File> {
        #[cfg(not(unix))]
        if let Ok(found) = path.symlink_metadata() {
            ensure!(!found.is_symlink(), "it is a link");
        }
        let file = options.open(path)?;
        ensure!(file.metadata()?.is_file(), "it is not a regular file");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;

            // It may be from before.
            file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
        }
        Ok(file)
    };
    opened().with_context(|| format!("--trace {shown}: it cannot be written"))
}

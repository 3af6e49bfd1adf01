//! A copy of all files, for a backup of the store that refers to them.

use std::fs::DirBuilder;
use std::io;
use std::path::Path;

use super::folder::Folder;

/// Copies the files of a folder of uploads to a new folder, sealed as they are, and says how many
/// there are. Without any, no folder is made.
///
/// Whoever calls this holds the store that the files belong to, so that nobody else changes them.
/// Files that were not whole yet are left out: their senders send them again.
pub fn copy(from: &Path, to: &Path) -> io::Result<usize> {
    let (from, to_folder) = (Folder::at(from), Folder::at(to));
    let mut copied = 0;
    for id in from.elicitations()? {
        for upload in from.uploads(id)? {
            if copied == 0 {
                make_new(to)?;
            }
            from.copy(id, upload, &to_folder)?;
            copied += 1;
        }
    }
    Ok(copied)
}

/// Makes a folder for this user alone, which must not be there.
fn make_new(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

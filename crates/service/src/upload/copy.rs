//! Copies all files, for a backup of the store that refers to them.

use std::io;
use std::path::Path;

use super::folder::{Folder, private_folders};

/// Copies all uploads, still sealed, to a new folder, and returns their number. Creates no folder
/// if there are none.
///
/// The caller must hold the store that the files belong to, so that nobody changes them. Partial
/// uploads are not copied.
pub fn copy(from: &Path, to: &Path) -> io::Result<usize> {
    let (from, to_folder) = (Folder::at(from), Folder::at(to));
    let mut copied = 0;
    for id in from.elicitations()? {
        for upload in from.uploads(id)? {
            if copied == 0 {
                // Fails if it exists.
                private_folders(false).create(to)?;
            }
            from.copy(id, upload, &to_folder)?;
            copied += 1;
        }
    }
    Ok(copied)
}

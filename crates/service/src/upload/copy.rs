//! Copies all files, for a backup of the store that refers to them.

use std::path::Path;
use std::{fs, io};

use super::folder::{Folder, private_folders};

/// Copies all uploads, still sealed, to a new folder, and returns their number. Creates no folder
/// if there are none.
///
/// A service may be running: files that are deleted meanwhile are left out. Partial uploads are not
/// copied.
pub fn copy(from: &Path, to: &Path) -> io::Result<usize> {
    let (from, to_folder) = (Folder::at(from), Folder::at(to));
    let mut copied = 0;
    for id in from.elicitations()? {
        let uploads = match from.uploads(id) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            uploads => uploads?,
        };
        for upload in uploads {
            if copied == 0 {
                // Fails if it exists.
                private_folders(false).create(to)?;
            }
            match from.copy(id, upload, &to_folder) {
                Ok(()) => copied += 1,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    if copied == 0 {
                        fs::remove_dir_all(to)?;
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(copied)
}

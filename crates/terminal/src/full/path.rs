//! Completes paths on this machine, as shells do.

use std::fs;
use std::path::{MAIN_SEPARATOR, Path};

use super::event::Completion;

/// Further entries of a folder are ignored.
const MAX_ENTRIES: usize = 10_000;

/// Completes a path. A folder that cannot be read has no completions.
pub(super) fn complete(index: usize, typed: String, home: Option<&Path>) -> Completion {
    let path = expand(&typed, home);
    let (folder, start) = match path.rfind(is_separator) {
        Some(end) => path.split_at(end + 1),
        None => ("", &*path),
    };
    let listed = if folder.is_empty() { "." } else { folder };
    let mut names: Vec<String> = fs::read_dir(listed)
        .into_iter()
        .flatten()
        .flatten()
        .take(MAX_ENTRIES)
        .filter_map(|entry| {
            let mut name = entry.file_name().into_string().ok()?;
            // Hidden files only if the input starts with a dot.
            if !name.starts_with(start) || name.starts_with('.') && !start.starts_with('.') {
                return None;
            }
            if entry.path().is_dir() {
                name.push(MAIN_SEPARATOR);
            }
            Some(name)
        })
        .collect();
    names.sort();
    let path = match names.as_slice() {
        [] => typed.clone(),
        [first, others @ ..] => {
            let common = others.iter().fold(&**first, |common, name| {
                let end = common
                    .char_indices()
                    .zip(name.chars())
                    .find(|((_, a), b)| a != b)
                    .map_or(common.len().min(name.len()), |((end, _), _)| end);
                &common[..end]
            });
            format!("{folder}{common}")
        }
    };
    if names.len() == 1 {
        names.clear();
    }
    Completion {
        is_file: Path::new(&path).is_file(),
        index,
        typed,
        path,
        names,
    }
}

/// Expands a leading `~` to the home folder.
pub(super) fn expand(typed: &str, home: Option<&Path>) -> String {
    let typed = typed.trim_start();
    let rest = typed
        .strip_prefix('~')
        .filter(|rest| rest.starts_with(is_separator));
    match (rest, home) {
        (Some(rest), Some(home)) => format!("{}{rest}", home.display()),
        _ => typed.to_owned(),
    }
}

fn is_separator(c: char) -> bool {
    std::path::is_separator(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_goes_on_as_far_as_it_is_clear() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["report-1.txt", "report-2.txt", "other.txt", ".hidden"] {
            fs::write(folder.path().join(name), "x").unwrap();
        }
        fs::create_dir(folder.path().join("sub")).unwrap();
        let at = |name: &str| format!("{}{MAIN_SEPARATOR}{name}", folder.path().display());
        let told = |name: &str| complete(0, at(name), None);
        assert_eq!(told("o").path, at("other.txt"));
        assert!(told("o").is_file && told("o").names.is_empty());
        assert_eq!(told("r").path, at("report-"));
        assert_eq!(told("r").names, ["report-1.txt", "report-2.txt"]);
        assert_eq!(told("s").path, at(&format!("sub{MAIN_SEPARATOR}")));
        assert_eq!(told("zzz").path, at("zzz"));
        assert_eq!(told("").names.len(), 4);
        assert_eq!(told(".h").path, at(".hidden"));
    }

    #[test]
    fn a_tilde_is_the_home_folder_where_one_is_known() {
        let home = Path::new("/users/ada");
        assert_eq!(expand("~/a", Some(home)), "/users/ada/a");
        assert_eq!(expand("~ada", Some(home)), "~ada");
        assert_eq!(expand("~/a", None), "~/a");
    }
}

//! Checks the folder of forms.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

use entreat::service::TemplateFolder;
use entreat::service::rpc::Templates;

use super::files::quoted;
use super::finding::Finding;
use crate::output;

/// What the service would load from a folder.
#[derive(Debug)]
pub(super) enum Facts {
    /// It cannot be read.
    Unreadable(String),
    /// The forms' names, each with its problems.
    Read(Vec<(String, Vec<String>)>),
}

/// Loads the folder once, with the service's own loader.
pub(super) async fn gather(folder: &Path) -> Facts {
    let templates = Templates::default();
    match TemplateFolder::watch(folder, templates.clone()).await {
        Ok(watch) => watch.close().await,
        Err(error) => return Facts::Unreadable(format!("{:#}", anyhow::Error::from(error))),
    }
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let stem = |path: &Path| Some(path.file_stem().and_then(OsStr::to_str)?.to_owned());
    let names: BTreeSet<String> = entries.filter_map(|entry| stem(&entry.path())).collect();
    let found = names.into_iter().filter_map(|name| {
        let problems = templates.get(&name)?.problems;
        let problems = problems.iter().flat_map(|problems| problems.iter());
        Some((name, problems.map(ToString::to_string).collect()))
    });
    Facts::Read(found.collect())
}

pub(super) fn check(folder: &Path, facts: &Facts) -> Vec<Finding> {
    let name = output::sanitize_path(folder);
    let found = match facts {
        Facts::Unreadable(error) => {
            let remedy = "set --forms to a folder that this user can read";
            return vec![Finding::problem("forms", error, remedy)];
        }
        Facts::Read(found) if found.is_empty() => {
            return vec![Finding::warning(
                "forms",
                format!("there are no forms in {name}"),
                "put .json, .yaml or .toml files there, or set another folder with --forms",
            )];
        }
        Facts::Read(found) => found,
    };
    let valid = found.iter().filter(|(_, problems)| problems.is_empty());
    let counted = match valid.count() {
        1 => format!("1 valid form in {name}"),
        count => format!("{count} valid forms in {name}"),
    };
    let mut findings = vec![Finding::ok("forms", counted)];
    for (form, problems) in found {
        let Some(first) = problems.first() else {
            continue;
        };
        let more = match problems.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        findings.push(Finding::problem(
            "forms",
            format!("the form {form} is invalid: {first}{more}"),
            format!(
                "run `entreat form lint {}.*` to see all problems",
                quoted(&folder.join(form))
            ),
        ));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::finding::{Level, levels};
    use super::*;

    #[test]
    fn every_broken_form_is_named() {
        let folder = Path::new("forms");
        let of = |problems: &[&str]| problems.iter().map(ToString::to_string).collect();
        let found = vec![
            ("good".to_owned(), Vec::new()),
            ("bad".to_owned(), of(&["no title", "no fields"])),
        ];
        let findings = check(folder, &Facts::Read(found));
        assert_eq!(levels(&findings), [Level::Ok, Level::Problem]);
        assert_eq!(findings[0].what, "1 valid form in forms");
        assert_eq!(
            findings[1].what,
            "the form bad is invalid: no title (and 1 more)"
        );
    }

    #[test]
    fn a_folder_without_forms_is_warned_of_and_a_closed_one_a_problem() {
        let found = |facts| levels(&check(Path::new("forms"), &facts));
        assert_eq!(found(Facts::Read(Vec::new())), [Level::Warning]);
        assert_eq!(found(Facts::Unreadable("no".to_owned())), [Level::Problem]);
    }
}

//! `entreat setup`: adds `entreat mcp` to the configuration of an MCP client, or removes it.

mod client;
mod file;
mod format;
mod json;
#[cfg(test)]
mod tests;
mod toml;
mod wrap;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail, ensure};
use clap::Parser as _;
use serde_json::{Map, Value};

use crate::command::Cli;
use crate::context::{Context, Exit};
use crate::environment::Environment;
use crate::output;
use client::{Client, Platform, Scope};
use file::ConfigFile;
use format::{Format, Found};

/// Add `entreat mcp` to an MCP client, so that its agent can ask you
///
/// Adds one entry to the client's configuration file and leaves the rest of the file as it is, with
/// a backup beside it. Running it again changes nothing. With `--wrap`, puts `entreat wrap` in front
/// of a server that the client has already, so that its questions reach you.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The client
    #[arg(value_enum)]
    client: Client,
    /// Print what to add, and where, without changing anything
    #[arg(long, conflicts_with_all = ["remove", "force"])]
    print: bool,
    /// Remove the entry
    #[arg(long, conflicts_with = "force")]
    remove: bool,
    /// Replace an entry of the same name
    #[arg(long)]
    force: bool,
    /// The name of the server in the client
    #[arg(long, value_name = "NAME", default_value = "entreat", value_parser = server_name)]
    name: String,
    /// Whose configuration to change
    #[arg(long, value_enum, default_value = "user")]
    scope: Scope,
    /// Another configuration file of the client
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, conflicts_with = "scope")]
    config: Option<PathBuf>,
    /// Put `entreat wrap` in front of the server of this name, which the client has already
    #[arg(long, value_name = "NAME", conflicts_with_all = ["name", "force"])]
    wrap: Option<String>,
    /// Arguments for `entreat mcp`, or with --wrap for `entreat wrap`
    #[arg(last = true, value_name = "ARGUMENTS", conflicts_with = "remove")]
    arguments: Vec<String>,
}

const AFTER_HELP: &str = "\
Goose's configuration is YAML, which is only printed. docs/clients.md shows each client's
configuration.

Examples:
  entreat setup claude-code
  entreat setup cursor --print
  entreat setup vscode --scope project
  entreat setup zed -- --service http://127.0.0.1:7171
  entreat setup zed --remove
  entreat setup cursor --wrap github -- --approve 'delete_*'
  entreat setup cursor --wrap github --remove

Exit codes: 0 success, or nothing to do; 1 a different entry of that name is there, or the
configuration can only be printed; 2 wrong usage, a file that can't be read or written.";

pub(crate) fn run(args: &Args, context: &mut Context, out: &mut dyn Write) -> anyhow::Result<Exit> {
    if let Some(name) = &args.wrap {
        return wrap_server(args, name, context, out);
    }
    check_arguments(&args.arguments)?;
    let format = args.client.format();
    let path = path(args, context.environment())?;
    if args.remove {
        ensure!(
            format.is_edited(),
            "{} is YAML, which is not edited: remove `{}` below `{}` yourself",
            output::sanitize_path(&path),
            args.name,
            format.key()
        );
        return remove(args, &path, context);
    }
    let command = command(args.scope, context.environment())?;
    let arguments = std::iter::once("mcp".to_owned()).chain(args.arguments.iter().cloned());
    let arguments: Vec<String> = arguments.collect();
    let entry = args
        .client
        .entry(Platform::HERE, &args.name, &command, &arguments);
    if args.print || !format.is_edited() {
        return print(args, &path, &entry, context, out);
    }
    add(args, &path, &entry, context)
}

/// Reads the name of a server. Clients make names of tools from it.
fn server_name(name: &str) -> Result<String, &'static str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if name.is_empty() || name.len() > 40 || !name.chars().all(is_plain) {
        return Err("use up to 40 letters, digits, hyphens and underscores");
    }
    Ok(name.to_owned())
}

/// Fails early where the client would fail later, out of sight.
fn check_arguments(arguments: &[String]) -> anyhow::Result<()> {
    ensure!(
        parsed("mcp", &[], arguments, &[])?.serves_mcp_on_stdio(),
        "with --port, `entreat mcp` doesn't listen to the client that starts it"
    );
    Ok(())
}

/// Parses the command line with which a client would start Entreat.
fn parsed(
    command: &str,
    before: &[&str],
    arguments: &[String],
    after: &[&str],
) -> anyhow::Result<Cli> {
    let words = ["entreat", command]
        .into_iter()
        .chain(before.iter().copied());
    let words = words.chain(arguments.iter().map(String::as_str));
    Cli::try_parse_from(words.chain(after.iter().copied())).map_err(|error| {
        let text = error.to_string();
        let line = text.lines().next().unwrap_or_default();
        let line = line.strip_prefix("error: ").unwrap_or(line);
        anyhow!("`entreat {command}` doesn't start with these arguments: {line}")
    })
}

fn path(args: &Args, environment: &Environment) -> anyhow::Result<PathBuf> {
    if let Some(path) = &args.config {
        return Ok(path.clone());
    }
    let file = args.client.file(args.scope, Platform::HERE, environment);
    file.with_context(|| match args.scope {
        Scope::User => "there is no home folder: name the file with --config".to_owned(),
        Scope::Project => format!("{} has no configuration for a project", args.client.title()),
    })
}

/// The command that a client runs.
///
/// An absolute path, as desktop programs don't have the PATH of a shell; but not through links that
/// PATH resolves, because package managers move what those point to with each version. A project's
/// file is for other machines too.
fn command(scope: Scope, environment: &Environment) -> anyhow::Result<String> {
    if scope == Scope::Project {
        return Ok("entreat".to_owned());
    }
    let running = std::env::current_exe().context("cannot find this program")?;
    let resolved = running.canonicalize();
    let resolved = resolved.as_deref().unwrap_or(&running);
    let folders = environment.variable("PATH").map(std::env::split_paths);
    let file_name = format!("entreat{}", std::env::consts::EXE_SUFFIX);
    let on_path = folders
        .into_iter()
        .flatten()
        .filter(|folder| folder.is_absolute());
    let mut on_path = on_path.map(|folder| folder.join(&file_name));
    let found = on_path.find(|path| path.canonicalize().is_ok_and(|path| path == resolved));
    let path = found.unwrap_or(running).into_os_string().into_string();
    path.map_err(|path| anyhow::anyhow!("the path of this program is not text: {}", path.display()))
}

fn print(
    args: &Args,
    path: &Path,
    entry: &Map<String, Value>,
    context: &mut Context,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let format = args.client.format();
    let file = output::sanitize_path(path);
    context.say(format_args!(
        "Add this to {file}. If `{}` is already there, add only what is inside it.",
        format.key()
    ));
    out.write_all(format.snippet(&args.name, entry)?.as_bytes())?;
    if args.print {
        return Ok(Exit::Success);
    }
    context.say(format_args!(
        "entreat: nothing was changed, because {} keeps its configuration in YAML",
        args.client.title()
    ));
    Ok(Exit::Findings)
}

fn add(
    args: &Args,
    path: &Path,
    entry: &Map<String, Value>,
    context: &mut Context,
) -> anyhow::Result<Exit> {
    let format = args.client.format();
    let file = read(args, path)?;
    let name = &args.name;
    let found = find(format, &file, name)?;
    let text = match &found {
        None => format.add(file.text(), name, entry),
        Some(found) if found.value == Value::Object(entry.clone()) => {
            context.say(format_args!("{} already has `{name}`", file.name()));
            return Ok(Exit::Success);
        }
        Some(found) if !args.force => {
            let old = output::sanitize_lines(&found.text);
            let new = format.snippet(name, entry)?;
            context.say(format_args!(
                "{} already has a different `{name}`:\n\n{old}\n\nWith --force, it is replaced \
                 by this:\n\n{new}\nWith --name, this is added beside it.",
                file.name()
            ));
            return Ok(Exit::Findings);
        }
        Some(_) => format.replace(file.text(), name, entry),
    };
    let backup = file.change(&text.with_context(|| format!("cannot change {}", file.name()))?)?;
    let done = if found.is_some() { "replaced" } else { "added" };
    context.say(format_args!("{done} `{name}` in {}", file.name()));
    say_changed(args.client, backup.as_deref(), context);
    Ok(Exit::Success)
}

/// Says where the backup of a changed file is, and what to do next.
fn say_changed(client: Client, backup: Option<&Path>, context: &mut Context) {
    if let Some(backup) = backup {
        context.say(format_args!(
            "backup of the file before the change: {}",
            output::sanitize_path(backup)
        ));
    }
    context.say(format_args!("Restart {} to use it.", client.title()));
}

fn remove(args: &Args, path: &Path, context: &mut Context) -> anyhow::Result<Exit> {
    let format = args.client.format();
    let file = read(args, path)?;
    let name = &args.name;
    let Some(found) = find(format, &file, name)? else {
        context.say(format_args!("{} has no `{name}`", file.name()));
        return Ok(Exit::Success);
    };
    let backup = file.backup()?;
    // Nothing changed since the entry was added: then what was there before is known to the byte.
    let was_added_to = |text: &str| match &found.value {
        Value::Object(entry) => format
            .add(text, name, entry)
            .is_ok_and(|text| text == file.text()),
        _ => false,
    };
    match backup {
        Some(backup)
            if matches!(format.find(backup.text(), name), Ok(None))
                && was_added_to(backup.text()) =>
        {
            file.restore(&backup)?;
        }
        None if was_added_to("") => file.delete()?,
        _ => {
            let text = format.remove(file.text(), name);
            file.change(&text.with_context(|| format!("cannot change {}", file.name()))?)?;
        }
    }
    context.say(format_args!("removed `{name}` from {}", file.name()));
    Ok(Exit::Success)
}

/// Puts `entreat wrap` in front of a server, or takes it out again.
fn wrap_server(
    args: &Args,
    name: &str,
    context: &mut Context,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    parsed("wrap", &["--name", "x"], &args.arguments, &["--", "x"])?;
    let format = args.client.format();
    let path = path(args, context.environment())?;
    let shown = output::sanitize(name).into_owned();
    ensure!(
        format.is_edited(),
        "{} is YAML, which is not edited: write `entreat wrap --` in front of the command of \
         `{shown}` yourself",
        output::sanitize_path(&path)
    );
    let file = read(args, &path)?;
    let found = find(format, &file, name)?;
    let found = found.with_context(|| {
        if file.text().trim().is_empty() {
            format!("{} has no servers: add `{shown}` to it first", file.name())
        } else {
            format!("{} has no `{shown}`", file.name())
        }
    })?;
    let Value::Object(entry) = &found.value else {
        bail!("{}: `{shown}` is not an object", file.name());
    };
    let cannot = || format!("cannot change `{shown}` in {}", file.name());
    let is_wrapped = wrap::is_wrapped(entry);
    if args.remove {
        if !is_wrapped {
            let file = file.name();
            context.say(format_args!("`{shown}` in {file} is not wrapped"));
            return Ok(Exit::Success);
        }
        let edit = wrap::unwrap(format, file.text(), name, entry).with_context(cannot)?;
        return unwrap_server(&file, &shown, &edit, context);
    }
    if is_wrapped {
        let file = file.name();
        context.say(format_args!(
            "`{shown}` in {file} is wrapped already; to change how, take it out first with --remove"
        ));
        return Ok(Exit::Success);
    }
    let command = command(args.scope, context.environment())?;
    let options = ["--name".to_owned(), name.to_owned()];
    let wrapper = wrap::Wrapper {
        command: &command,
        options: options
            .into_iter()
            .chain(args.arguments.iter().cloned())
            .collect(),
    };
    let edit = wrap::wrap(format, file.text(), name, entry, &wrapper).with_context(cannot)?;
    if args.print {
        let file = file.name();
        context.say(format_args!("This is what `{shown}` in {file} would be:"));
        out.write_all(format.snippet(name, &edit.entry)?.as_bytes())?;
        return Ok(Exit::Success);
    }
    let backup = file.change(&edit.text)?;
    context.say(format_args!("wrapped `{shown}` in {}", file.name()));
    say_changed(args.client, backup.as_deref(), context);
    Ok(Exit::Success)
}

fn unwrap_server(
    file: &ConfigFile,
    shown: &str,
    edit: &wrap::Edit,
    context: &mut Context,
) -> anyhow::Result<Exit> {
    match file.backup()? {
        // Nothing else was changed since.
        Some(backup) if backup.text() == edit.text => file.restore(&backup)?,
        _ => drop(file.change(&edit.text)?),
    }
    context.say(format_args!("unwrapped `{shown}` in {}", file.name()));
    Ok(Exit::Success)
}

fn read(args: &Args, path: &Path) -> anyhow::Result<ConfigFile> {
    let file = ConfigFile::read(path)?;
    // A project may come from anybody: its links don't lead to other files of the person.
    if args.scope == Scope::Project {
        ensure!(
            file.is_below(Path::new("."))?,
            "{} is a link to a place outside this project",
            file.name()
        );
    }
    Ok(file)
}

fn find(format: Format, file: &ConfigFile, name: &str) -> anyhow::Result<Option<Found>> {
    format
        .find(file.text(), name)
        .with_context(|| format!("{} is not valid", file.name()))
}

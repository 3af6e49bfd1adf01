//! What to call a server that an interpreter or a package runner starts: every one of them is
//! `python` or `npx`.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::output;

/// Options of interpreters and package runners that take a value as the next argument, and do not
/// name the program.
const WITH_VALUE: [&str; 18] = [
    "-W",
    "-X",
    "-r",
    "--require",
    "--import",
    "--loader",
    "--with",
    "--with-requirements",
    "--with-editable",
    "--python",
    "--directory",
    "--project",
    "--env-file",
    "--config",
    "--registry",
    "--allow-net",
    "--cwd",
    "--pip-args",
];
/// Words before the program, such as in `uv run server.py` and `npm exec package`.
const SUBCOMMANDS: [&str; 7] = ["run", "exec", "x", "dlx", "tool", "start", "create"];

/// The script, module or package that a command runs; `None` if it is no known interpreter or
/// package runner.
pub(crate) fn of(program: &OsStr, arguments: &[OsString]) -> Option<String> {
    let runner = Path::new(program).file_stem()?.to_str()?;
    if !is_runner(runner) {
        return None;
    }
    let is_npx = matches!(runner, "npx" | "pnpx" | "npm" | "bunx");
    let has_subcommands =
        !matches!(runner, "npx" | "pnpx" | "bunx" | "uvx") && !is_interpreter(runner);
    let mut arguments = arguments.iter().map(|argument| argument.to_string_lossy());
    while let Some(argument) = arguments.next() {
        match &*argument {
            // A module or a package follows.
            "-m" | "--package" | "--from" | "--spec" => return shown(&arguments.next()?),
            "-p" if is_npx => return shown(&arguments.next()?),
            // Code on the command line has no name.
            "-c" | "-e" | "-p" | "--eval" | "--print" => return None,
            option if WITH_VALUE.contains(&option) || names_an_index(option) => {
                arguments.next();
            }
            option if option.starts_with('-') => {}
            word if has_subcommands && SUBCOMMANDS.contains(&word) => {}
            word => return shown(word),
        }
    }
    None
}

/// Whether an option names a place to get packages from, which is its next word.
fn names_an_index(option: &str) -> bool {
    option.starts_with("--index") && !option.contains('=')
}

fn is_runner(program: &str) -> bool {
    is_interpreter(program)
        || matches!(
            program,
            "npx"
                | "npm"
                | "pnpm"
                | "pnpx"
                | "yarn"
                | "bun"
                | "bunx"
                | "deno"
                | "uv"
                | "uvx"
                | "pipx"
        )
}

/// Whether a program runs the script that is its first argument; its version may be in its name.
fn is_interpreter(program: &str) -> bool {
    let version = |name: &str| {
        let rest = program.strip_prefix(name);
        rest.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == '.'))
    };
    ["python", "pypy", "ruby", "php", "node"]
        .into_iter()
        .any(version)
        || matches!(program, "py" | "tsx" | "ts-node")
}

/// A script by its file's name, a package by its own, without the version.
fn shown(name: &str) -> Option<String> {
    let is_path = name.starts_with(['.', '/', '~'])
        || name.contains('\\')
        || !name.starts_with('@') && name.contains('/');
    let name = if is_path {
        Path::new(name).file_name()?.to_str()?
    } else {
        let version = name.rfind('@').filter(|at| *at > 0);
        &name[..version.unwrap_or(name.len())]
    };
    (!name.is_empty()).then(|| output::sanitize(name).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(command: &str) -> Option<String> {
        let mut words = command.split(' ').map(OsString::from);
        let program = words.next().unwrap();
        of(&program, &words.collect::<Vec<_>>())
    }

    #[test]
    fn a_server_is_called_like_its_script_or_package_and_not_like_its_interpreter() {
        for (command, expected) in [
            ("venv1/bin/python srv/server.py", "server.py"),
            (
                "/usr/bin/python3.11 -u -X dev server.py --port 1",
                "server.py",
            ),
            ("python -m mcp_server_time", "mcp_server_time"),
            ("node --import tsx build/index.js", "index.js"),
            (
                "npx -y @modelcontextprotocol/server-everything",
                "@modelcontextprotocol/server-everything",
            ),
            ("npx -y @scope/package@1.2.3 arg", "@scope/package"),
            ("npx -p package@latest command", "package"),
            ("uvx mcp-server-git", "mcp-server-git"),
            ("uvx --from mcp-server-git@1 run", "mcp-server-git"),
            ("uv run --with mcp server.py", "server.py"),
            ("uv --directory /srv run server.py", "server.py"),
            ("bun run server.ts", "server.ts"),
            ("deno run -A jsr/server.ts", "server.ts"),
        ] {
            assert_eq!(label(command).as_deref(), Some(expected), "{command}");
        }
        for command in [
            "my-server --port 1",
            "python",
            "python -c print(1)",
            "nodemon server.js",
        ] {
            assert_eq!(label(command), None, "{command}");
        }
    }
}

//! `entreat setup`, over the files of each client.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{Run, command, finish};

const PAGE: &str = include_str!("../../../../docs/clients.md");

/// Clients whose files are edited: where, with servers of others in an odd format.
const CLIENTS: [(&str, &str, &str); 8] = [
    (
        "claude-code",
        ".claude.json",
        "{\"numStartups\":34,\"projects\":{\"/p\":{\"mcpServers\":{\"entreat\":{}},\"history\":[]}},\
         \"mcpServers\":{\"github\":{\"type\":\"http\",\"url\":\"https://example.com/mcp\"}}}",
    ),
    (
        "claude-desktop",
        ".config/Claude/claude_desktop_config.json",
        "{\r\n\t\"globalShortcut\": \"\",\r\n\t\"mcpServers\":\r\n\t{\r\n\t\t\"filesystem\": {\r\n\t\t\t\
         \"command\": \"npx\", \"args\": [\"-y\",\r\n\"x\"]\r\n\t\t}\r\n\t}\r\n}\r\n",
    ),
    (
        "vscode",
        ".config/Code/User/mcp.json",
        "{\n    // Mine\n    \"inputs\": [],\n    \"servers\": {\n        \"playwright\": {\n            \
         \"command\": \"npx\", // latest\n            \"args\": [\"-y\", \"@playwright/mcp@latest\"],\n\
         \x20       },\n        /* \"old\": {} */\n    },\n}",
    ),
    (
        "cursor",
        ".cursor/mcp.json",
        "{ \"mcpServers\": { \"a\": { \"url\": \"http://127.0.0.1:1/\" } } }",
    ),
    (
        "zed",
        ".config/zed/settings.json",
        "// Zed settings\n//\n// run `zed: open default settings`\n{\n  \"theme\": \"One Dark\",\n  \
         \"context_servers\": {\n    \"local\": {\n      \"command\": \"some-command\",\n      \
         \"args\": [\"arg-1\"],\n      \"env\": {}\n    } // one\n    // two\n  },\n  \
         \"vim_mode\": true,\n}\n\n",
    ),
    (
        "codex",
        ".codex/config.toml",
        "model = \"gpt\" # the best\n\n[mcp_servers.docs]\ncommand = 'npx'\nargs = [ \"-y\",\n  \"x\" ]\n\
         \n[mcp_servers.docs.env]\nA = \"1\"\n\n[[hooks]]\nrun = \"x\"",
    ),
    (
        "gemini",
        ".gemini/settings.json",
        "\u{feff}{\n  \"theme\": \"GitHub\",\n  \"mcpServers\": {\n    \"x\": {\"httpUrl\": \"u\"}\n  }\n}",
    ),
    (
        "windsurf",
        ".codeium/windsurf/mcp_config.json",
        "{\n  \"mcpServers\": {\n\n    \"x\": {\"serverUrl\": \"u\"}\n\n  }\n}\n",
    ),
];

/// A home folder.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn with(file: &str, text: impl AsRef<[u8]>) -> Self {
        let home = Self::new();
        let path = home.path(file);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("it can be made");
        fs::write(path, text).expect("it can be written");
        home
    }

    fn setup(&self, args: &[&str]) -> Run {
        let mut command = command(&[&["setup"], args].concat());
        command
            .env("HOME", self.0.path())
            .current_dir(self.0.path());
        finish(command, b"")
    }

    /// Runs it, and expects success without data.
    fn done(&self, args: &[&str]) -> String {
        let run = self.setup(args);
        assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{}", run.stderr);
        run.stderr
    }

    fn read(&self, file: &str) -> String {
        String::from_utf8(fs::read(self.path(file)).expect("the file is there")).expect("text")
    }

    /// Every file below the home folder, with its content.
    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        fn collect(folder: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
            for entry in fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    collect(&path, files);
                } else {
                    files.push((path.clone(), fs::read(path).expect("a file")));
                }
            }
        }
        let mut files = Vec::new();
        collect(self.0.path(), &mut files);
        files.sort();
        files
    }
}

fn binary() -> &'static str {
    env!("CARGO_BIN_EXE_entreat")
}

/// The lines of `text` that are not in `before`, which must all be there in order, but for a comma
/// behind the last one.
fn added<'a>(before: &str, text: &'a str) -> Vec<&'a str> {
    let mut old = before.split_inclusive('\n').peekable();
    let mut added = Vec::new();
    for line in text.split_inclusive('\n') {
        let is_old = old.peek().is_some_and(|old| {
            let old = old.trim_end_matches(['\r', '\n']);
            let line = line.trim_end_matches(['\r', '\n']);
            line == old || line.replacen(',', "", 1) == old || line.replacen("},", "}", 1) == old
        });
        if is_old {
            old.next();
        } else {
            added.push(line);
        }
    }
    assert_eq!(old.next(), None, "a line is gone");
    added
}

#[test]
fn the_files_of_every_client_keep_what_else_they_hold() {
    for (client, file, before) in CLIENTS {
        let home = Home::with(file, before);
        let first = home.files();
        let said = home.done(&[client]);
        assert!(said.contains("added `entreat`"), "{said}");
        let after = home.read(file);
        assert!(after.contains(binary()), "{after}");
        if before.contains('\n') {
            let new = added(before, &after);
            assert!((3..12).contains(&new.len()), "{client}: {new:?}");
            // The file's own line ends, and no others.
            let ends = new.iter().filter(|line| line.ends_with("\r\n")).count();
            assert_eq!(ends > 0, before.contains("\r\n"), "{client}: {new:?}");
        }
        // The backup is the file as it was.
        let backup = home.read(&format!("{file}.entreat-backup"));
        assert_eq!(backup, before, "{client}");

        // Again: nothing.
        let second = home.files();
        let said = home.done(&[client]);
        assert!(said.contains("already has `entreat`"), "{said}");
        assert_eq!(home.files(), second, "{client}");

        // And undone, to the byte.
        home.done(&[client, "--remove"]);
        assert_eq!(home.files(), first, "{client}");
        let said = home.done(&[client, "--remove"]);
        assert!(said.contains("has no `entreat`"), "{said}");
    }
}

#[test]
fn files_that_hold_nothing_yet_are_filled_and_undone() {
    for (client, file, _) in CLIENTS {
        let is_toml = client == "codex";
        for before in [
            "",
            "\n",
            "{}",
            "{ }\n",
            "{\r\n}",
            "{\"a\": 1}",
            "\u{feff}{}",
        ] {
            if is_toml && before.contains('{') {
                continue;
            }
            let home = Home::with(file, before);
            let first = home.files();
            home.done(&[client]);
            assert!(home.read(file).contains(binary()));
            home.done(&[client, "--remove"]);
            assert_eq!(home.files(), first, "{client} {before:?}");
        }
        // A file that was not there is not there again.
        let home = Home::new();
        let said = home.done(&[client]);
        assert!(!said.contains("backup of the file"), "{said}");
        home.done(&[client, "--remove"]);
        assert_eq!(home.files(), [], "{client}");
    }
}

#[test]
fn the_entry_starts_the_server_with_the_arguments() {
    let home = Home::new();
    home.done(&[
        "claude-code",
        "--name",
        "people",
        "--",
        "--service",
        "http://127.0.0.1:7171",
    ]);
    let text: Value = serde_json::from_str(&home.read(".claude.json")).unwrap();
    let entry = &text["mcpServers"]["people"];
    let expected = json!({
        "type": "stdio", "command": binary(), "args": ["mcp", "--service", "http://127.0.0.1:7171"],
    });
    assert_eq!(*entry, expected);

    // What would not start is refused here, where somebody sees it.
    for (arguments, why) in [
        (["--srevice", "x"], "unexpected argument '--srevice'"),
        (["--port", "1"], "with --port"),
        (["--help", "x"], "doesn't start with these arguments"),
    ] {
        let run = home.setup(&[&["cursor", "--"], &arguments[..]].concat());
        assert_eq!((run.code, run.stdout.as_str()), (2, ""));
        assert!(run.stderr.contains(why), "{}", run.stderr);
    }
    assert!(!home.path(".cursor").exists());
}

#[cfg(unix)]
#[test]
fn a_link_on_the_path_is_what_clients_run() {
    let home = Home::new();
    let folder = home.path("bin");
    fs::create_dir(&folder).unwrap();
    std::os::unix::fs::symlink(binary(), folder.join("entreat")).unwrap();
    let mut command = command(&["setup", "cursor"]);
    command.env("HOME", home.0.path()).env("PATH", &folder);
    assert_eq!(finish(command, b"").code, 0);
    let text: Value = serde_json::from_str(&home.read(".cursor/mcp.json")).unwrap();
    let expected = folder.join("entreat");
    assert_eq!(
        text["mcpServers"]["entreat"]["command"],
        expected.to_str().unwrap()
    );
}

#[test]
fn a_project_gets_a_command_that_works_on_every_machine() {
    let home = Home::new();
    home.done(&["vscode", "--scope", "project"]);
    let text: Value = serde_json::from_str(&home.read(".vscode/mcp.json")).unwrap();
    assert_eq!(text["servers"]["entreat"]["command"], "entreat");
    let run = home.setup(&["windsurf", "--scope", "project"]);
    assert_eq!(run.code, 2);
    assert_eq!(
        run.stderr,
        "entreat: Windsurf has no configuration for a project\n"
    );
    // Another file, by name.
    home.done(&["zed", "--config", "mine.json"]);
    assert!(home.read("mine.json").contains("context_servers"));
}

#[test]
fn a_different_entry_is_shown_and_replaced_only_by_force() {
    for (client, file, before) in [
        (
            "cursor",
            ".cursor/mcp.json",
            "{\"mcpServers\": {\"entreat\": {\"command\": \"my\u{1b}[2Jown\"}, \"x\": {}}}",
        ),
        (
            "codex",
            ".codex/config.toml",
            "[mcp_servers.entreat]\ncommand = \"my own\"\n[mcp_servers.x]\ncommand = 'x'\n",
        ),
    ] {
        // The escape is not valid JSON as it stands; write it as JSON does.
        let before = before.replace('\u{1b}', "\\u001b");
        let home = Home::with(file, &before);
        let run = home.setup(&[client]);
        assert_eq!((run.code, run.stdout.as_str()), (1, ""));
        assert!(run.stderr.contains("own\"") && run.stderr.contains("--force"));
        assert!(run.stderr.contains(binary()), "{}", run.stderr);
        assert_eq!(home.read(file), before);

        home.done(&[client, "--force"]);
        let after = home.read(file);
        assert!(after.contains(binary()) && !after.contains("own"));
        assert!(after.contains('x'));
        assert_eq!(home.read(&format!("{file}.entreat-backup")), before);
        // The old entry does not come back.
        home.done(&[client, "--remove"]);
        assert!(!home.read(file).contains("entreat"));
    }
}

#[test]
fn changes_since_survive_the_removal() {
    let home = Home::with(
        ".cursor/mcp.json",
        "{\n  \"mcpServers\": {\n    \"a\": {}\n  }\n}\n",
    );
    home.done(&["cursor"]);
    let changed = home
        .read(".cursor/mcp.json")
        .replace("\"a\": {}", "\"b\": {}");
    fs::write(home.path(".cursor/mcp.json"), &changed).unwrap();
    home.done(&["cursor", "--remove"]);
    let expected = "{\n  \"mcpServers\": {\n    \"b\": {}\n  }\n}\n";
    assert_eq!(home.read(".cursor/mcp.json"), expected);
    assert_eq!(home.read(".cursor/mcp.json.entreat-backup"), changed);
}

#[test]
fn a_broken_file_is_named_with_the_place_and_left_alone() {
    for (client, file, before, why) in [
        (
            "cursor",
            ".cursor/mcp.json",
            "{\n  \"a\": 1\n  \"b\": 2}",
            "line 2, column 9",
        ),
        (
            "claude-code",
            ".claude.json",
            "{} // no",
            "line 1, column 4",
        ),
        (
            "codex",
            ".codex/config.toml",
            "a = 1\na = 2\n",
            "line 2, column 1",
        ),
        (
            "vscode",
            ".config/Code/User/mcp.json",
            "{\"servers\": []}",
            "line 1, column 13",
        ),
    ] {
        let home = Home::with(file, before);
        let first = home.files();
        for args in [&[client][..], &[client, "--force"], &[client, "--remove"]] {
            let run = home.setup(args);
            assert_eq!((run.code, run.stdout.as_str()), (2, ""));
            assert!(
                run.stderr.contains(why) && run.stderr.contains(file),
                "{}",
                run.stderr
            );
            assert_eq!(home.files(), first);
        }
    }
    let home = Home::with(".cursor/mcp.json", b"\xff\xfe{\0}\0");
    let run = home.setup(&["cursor"]);
    assert!(
        run.stderr.contains("is not text in UTF-8"),
        "{}",
        run.stderr
    );
}

#[cfg(unix)]
#[test]
fn links_modes_and_folders_stay_what_they_are() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let home = Home::with("dotfiles/mcp.json", "{}");
    let target = home.path("dotfiles/mcp.json");
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir(home.path(".cursor")).unwrap();
    symlink("../dotfiles/mcp.json", home.path(".cursor/mcp.json")).unwrap();
    home.done(&["cursor"]);
    let link = home.path(".cursor/mcp.json");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&target).unwrap().contains(binary()));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&target), 0o640);
    // The backup is beside the link, not in the repository.
    assert_eq!(mode(&home.path(".cursor/mcp.json.entreat-backup")), 0o640);
    assert_eq!(fs::read_dir(home.path("dotfiles")).unwrap().count(), 1);

    fs::set_permissions(&target, fs::Permissions::from_mode(0o440)).unwrap();
    let run = home.setup(&["cursor", "--remove"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("is read-only"), "{}", run.stderr);

    fs::remove_file(&target).unwrap();
    let run = home.setup(&["cursor"]);
    assert!(
        run.stderr
            .contains("symbolic link to a file that doesn't exist")
    );

    // A new file is its owner's.
    home.done(&["zed"]);
    assert_eq!(mode(&home.path(".config/zed/settings.json")), 0o600);
}

#[cfg(unix)]
#[test]
fn the_links_of_a_project_do_not_lead_out_of_it() {
    use std::os::unix::fs::symlink;

    let home = Home::with("settings.json", "{}");
    let project = home.path("project");
    fs::create_dir(&project).unwrap();
    symlink("../settings.json", project.join(".mcp.json")).unwrap();
    symlink("..", project.join(".cursor")).unwrap();
    for client in ["claude-code", "cursor"] {
        for flag in ["--force", "--remove"] {
            let mut command = command(&["setup", client, "--scope", "project", flag]);
            command.env("HOME", home.0.path()).current_dir(&project);
            let run = finish(command, b"");
            assert_eq!(run.code, 2);
            let why = "is a link to a place outside this project";
            assert!(run.stderr.contains(why), "{}", run.stderr);
        }
    }
    assert_eq!(home.read("settings.json"), "{}");
    assert!(!home.path("mcp.json").exists());
}

#[test]
fn goose_is_printed_and_nothing_is_written() {
    let home = Home::new();
    let run = home.setup(&["goose"]);
    assert_eq!(run.code, 1);
    assert!(
        run.stdout.starts_with("extensions:\n  entreat:\n"),
        "{}",
        run.stdout
    );
    assert!(run.stderr.contains("config.yaml") && run.stderr.contains("nothing was changed"));
    assert_eq!(home.setup(&["goose", "--print"]).stdout, run.stdout);
    let run = home.setup(&["goose", "--remove"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr
            .contains("remove `entreat` below `extensions` yourself")
    );
    assert_eq!(home.files(), []);
}

#[test]
fn usage_is_checked_before_anything_is_read() {
    let home = Home::new();
    for args in [
        &["emacs"][..],
        &["cursor", "--name", "a b"],
        &["cursor", "--name", ""],
        &["cursor", "--print", "--remove"],
        &["cursor", "--scope", "project", "--config", "x"],
    ] {
        let run = home.setup(args);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{args:?}");
    }
    assert_eq!(home.files(), []);
}

/// What the page shows is what `--print` prints on Linux.
#[cfg(target_os = "linux")]
#[test]
fn the_page_about_clients_shows_what_is_printed() {
    let home = Home::new();
    let clients = CLIENTS.iter().map(|(client, ..)| *client).chain(["goose"]);
    for client in clients {
        let run = home.setup(&[client, "--print"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let printed = run.stdout.replace(binary(), "/usr/local/bin/entreat");
        assert!(
            PAGE.contains(&format!("\n{printed}```\n")),
            "{client}: {printed}"
        );
        let (_, file) = run
            .stderr
            .split_once("Add this to ")
            .expect("it says where");
        let (file, _) = file.split_once(". If").expect("a sentence ends");
        let file = file.replace(home.0.path().to_str().unwrap(), "~");
        assert!(PAGE.contains(&format!("`{file}`")), "{client}: {file}");
        assert!(
            PAGE.contains(&format!("$ entreat setup {client}\n")),
            "{client}"
        );
    }
}

// ---- in front of servers that a client has

/// The name of the server in each of [`CLIENTS`], and what starts it behind `entreat wrap`.
const WRAPPED: [(&str, &str, &[&str]); 8] = [
    ("claude-code", "github", &["https://example.com/mcp"]),
    ("claude-desktop", "filesystem", &["--", "npx", "-y", "x"]),
    (
        "vscode",
        "playwright",
        &["--", "npx", "-y", "@playwright/mcp@latest"],
    ),
    ("cursor", "a", &["http://127.0.0.1:1/"]),
    ("zed", "local", &["--", "some-command", "arg-1"]),
    ("codex", "docs", &["--", "npx", "-y", "x"]),
    ("gemini", "x", &["u"]),
    ("windsurf", "x", &["u"]),
];

/// The entry of a server, whatever the format of the file.
fn entry(client: &str, text: &str, name: &str) -> Value {
    let text = text.trim_start_matches('\u{feff}');
    if client == "codex" {
        let table: toml::Table = text.parse().expect("TOML");
        return serde_json::to_value(&table["mcp_servers"][name]).expect("JSON");
    }
    let options = jsonc_parser::ParseOptions::default();
    let value: Value = jsonc_parser::parse_to_serde_value(text, &options).expect("JSON");
    let key = ["mcpServers", "servers", "context_servers"];
    let key = key.into_iter().find(|key| value.get(key).is_some());
    value[key.expect("servers")][name].clone()
}

#[test]
fn a_server_of_every_client_is_wrapped_and_restored_to_the_byte() {
    for ((client, file, before), (_, name, started)) in CLIENTS.into_iter().zip(WRAPPED) {
        let home = Home::with(file, before);
        let said = home.done(&[client, "--wrap", name]);
        assert!(said.contains("wrapped"), "{client}: {said}");
        let wrapped = home.read(file);
        let found = entry(client, &wrapped, name);
        assert_eq!(found["command"], binary(), "{client}: {wrapped}");
        let args = [&["wrap", "--name", name], started].concat();
        assert_eq!(found["args"], json!(args), "{client}: {wrapped}");
        assert!(
            found.get("url").is_none() && found.get("httpUrl").is_none(),
            "{wrapped}"
        );

        // Once more changes nothing.
        let files = home.files();
        let said = home.done(&[client, "--wrap", name]);
        assert!(said.contains("wrapped already"), "{said}");
        assert_eq!(home.files(), files, "{client}");

        // Without the backup too, as after another change.
        let backup = home.path(&format!("{file}.entreat-backup"));
        let kept = fs::read(&backup).expect("a backup");
        assert_eq!(kept, before.as_bytes());
        fs::remove_file(&backup).expect("it can be removed");
        home.done(&[client, "--wrap", name, "--remove"]);
        assert_eq!(home.read(file), before, "{client}");
        let said = home.done(&[client, "--wrap", name, "--remove"]);
        assert!(said.contains("is not wrapped"), "{said}");

        // With the backup, nothing is left behind.
        let home = Home::with(file, before);
        let files = home.files();
        home.done(&[client, "--wrap", name]);
        home.done(&[client, "--wrap", name, "--remove"]);
        assert_eq!(home.files(), files, "{client}");
    }
}

#[test]
fn a_wrapped_entry_keeps_its_environment_comments_and_order() {
    let before = "{\n  \"mcpServers\": {\n    // Mine\n    \"files\": {\n      \"env\": {\"A\": \"1\"},\n      \
                  \"command\": \"npx\", // the newest\n      \"args\": [\n        // always\n        \
                  \"-y\", \"files\"\n      ],\n      \"disabled\": false\n    }\n  }\n}\n";
    let home = Home::with(".cursor/mcp.json", before);
    home.done(&["cursor", "--wrap", "files", "--", "--approve", "delete_*"]);
    let wrapped = home.read(".cursor/mcp.json");
    let expected = before
        .replace("\"npx\"", &format!("\"{}\"", binary()))
        .replace(
            "\"-y\"",
            "\"wrap\", \"--name\", \"files\", \"--approve\", \"delete_*\", \"--\", \"npx\", \"-y\"",
        );
    assert_eq!(wrapped, expected);
    // Changes since survive.
    let changed = wrapped.replace("\"disabled\": false", "\"disabled\": true");
    fs::write(home.path(".cursor/mcp.json"), changed).expect("it can be written");
    home.done(&["cursor", "--wrap", "files", "--remove"]);
    let restored = before.replace("\"disabled\": false", "\"disabled\": true");
    assert_eq!(home.read(".cursor/mcp.json"), restored);
}

#[test]
fn a_command_without_arguments_is_wrapped_and_restored() {
    for (client, file, before) in [
        (
            "cursor",
            ".cursor/mcp.json",
            "{\"mcpServers\": {\"s\": {\"command\": \"s\"}}}",
        ),
        (
            "cursor",
            ".cursor/mcp.json",
            "{\r\n\t\"mcpServers\": {\r\n\t\t\"s\": {\r\n\t\t\t\"command\": \"s\", // it\r\n\t\t}\r\n\t}\r\n}",
        ),
        (
            "cursor",
            ".cursor/mcp.json",
            "{\"mcpServers\":{\"s\":{\"args\":[ ],\"command\":\"s\"}}}",
        ),
        (
            "codex",
            ".codex/config.toml",
            "[mcp_servers.s]\ncommand = 's' # it\nenabled = true\n",
        ),
        (
            "codex",
            ".codex/config.toml",
            "mcp_servers.s = { command = \"s\" }",
        ),
        (
            "codex",
            ".codex/config.toml",
            "[mcp_servers.s]\r\ncommand = \"s\"",
        ),
    ] {
        let home = Home::with(file, before);
        home.done(&[client, "--wrap", "s"]);
        let found = entry(client, &home.read(file), "s");
        assert_eq!(
            found["args"],
            json!(["wrap", "--name", "s", "--", "s"]),
            "{before}"
        );
        fs::remove_file(home.path(&format!("{file}.entreat-backup"))).expect("a backup");
        home.done(&[client, "--wrap", "s", "--remove"]);
        assert_eq!(home.read(file), before);
    }
}

#[test]
fn headers_of_a_url_are_no_arguments() {
    let before = "{\"servers\": {\"s\": {\"type\": \"http\", \"url\": \"https://example.com/mcp\",\n\
                  \"headers\": {\"Authorization\": \"Bearer ${input:token}\", \"X-A\": \"1\"}, \"x\": 1}}}";
    let home = Home::with(".config/Code/User/mcp.json", before);
    home.done(&["vscode", "--wrap", "s"]);
    let found = entry("vscode", &home.read(".config/Code/User/mcp.json"), "s");
    assert_eq!(found["type"], "stdio");
    assert_eq!(found["x"], 1);
    assert_eq!(
        found["args"],
        json!([
            "wrap",
            "--name",
            "s",
            "--header-env",
            "WRAPPED_HEADER_1",
            "--header-env",
            "WRAPPED_HEADER_2",
            "https://example.com/mcp"
        ])
    );
    assert_eq!(
        found["env"]["WRAPPED_HEADER_1"],
        "Authorization: Bearer ${input:token}"
    );
    assert_eq!(found["env"]["WRAPPED_HEADER_2"], "X-A: 1");
    fs::remove_file(home.path(".config/Code/User/mcp.json.entreat-backup")).expect("a backup");
    home.done(&["vscode", "--wrap", "s", "--remove"]);
    assert_eq!(home.read(".config/Code/User/mcp.json"), before);
}

#[test]
fn a_wrapped_entry_can_be_printed_instead() {
    let (client, file, before) = CLIENTS[1];
    let home = Home::with(file, before);
    let run = home.setup(&[
        client,
        "--wrap",
        "filesystem",
        "--print",
        "--",
        "--approve-all",
    ]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let printed: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(
        printed["mcpServers"]["filesystem"]["args"],
        json!([
            "wrap",
            "--name",
            "filesystem",
            "--approve-all",
            "--",
            "npx",
            "-y",
            "x"
        ])
    );
    assert_eq!(home.read(file), before);
}

#[test]
fn what_cannot_be_wrapped_is_said_and_left_alone() {
    for (client, file, text, args, expected) in [
        (
            "cursor",
            ".cursor/mcp.json",
            "{}",
            &["--wrap", "s"][..],
            "has no `s`",
        ),
        (
            "cursor",
            ".cursor/mcp.json",
            r#"{"mcpServers": {"s": {"type": "sse", "url": "https://example.com"}}}"#,
            &["--wrap", "s"],
            "HTTP+SSE",
        ),
        (
            "zed",
            ".config/zed/settings.json",
            r#"{"context_servers": {"s": {"command": {"path": "x"}}}}"#,
            &["--wrap", "s"],
            "the `command` of `s` is not a text",
        ),
        (
            "codex",
            ".codex/config.toml",
            "[mcp_servers.s]\nurl = \"https://example.com\"\n",
            &["--wrap", "s"],
            "write the entry yourself",
        ),
        (
            "cursor",
            ".cursor/mcp.json",
            r#"{"mcpServers": {"s": {"command": "s"}}}"#,
            &["--wrap", "s", "--", "--aprove", "x"],
            "`entreat wrap` doesn't start with these arguments",
        ),
        (
            "cursor",
            ".cursor/mcp.json",
            r#"{"mcpServers": {"s": {"command": "entreat", "args": ["wrap", "https://x"]}}}"#,
            &["--wrap", "s", "--remove"],
            "does not say what it was before",
        ),
        (
            "goose",
            ".config/goose/config.yaml",
            "",
            &["--wrap", "s"],
            "YAML",
        ),
    ] {
        let home = Home::with(file, text);
        let files = home.files();
        let run = home.setup(&[&[client], args].concat());
        assert_eq!(run.code, 2, "{client}: {}", run.stderr);
        assert!(run.stderr.contains(expected), "{client}: {}", run.stderr);
        assert_eq!(home.files(), files, "{client}");
    }
}

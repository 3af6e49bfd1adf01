//! The MCP clients that `entreat setup` knows: where each keeps its servers, and in what form.
//!
//! A table, checked against each client's documentation (see docs/clients.md). Opens no file.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::format::Format;
use crate::environment::Environment;

/// An MCP client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Client {
    ClaudeCode,
    ClaudeDesktop,
    #[value(alias = "vs-code")]
    Vscode,
    Cursor,
    Zed,
    Codex,
    #[value(alias = "gemini-cli")]
    Gemini,
    Windsurf,
    Goose,
}

/// Whose configuration of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Scope {
    /// Yours, for every project
    User,
    /// That of the project in this folder, which others may share
    Project,
}

/// The operating systems whose clients differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Platform {
    Linux,
    MacOs,
    Windows,
}

impl Platform {
    pub(super) const HERE: Self = if cfg!(windows) {
        Self::Windows
    } else if cfg!(target_os = "macos") {
        Self::MacOs
    } else {
        Self::Linux
    };
}

/// How long a client may wait for a tool, in seconds. Clients wait a minute or a few by default;
/// a person may be at lunch.
const PATIENCE: u64 = 60 * 60;

/// What `entreat mcp` needs to open pages in the browser and to find its settings. Codex passes
/// few variables on by itself.
const LINUX_VARIABLES: [&str; 8] = [
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "WSL_DISTRO_NAME",
    "XAUTHORITY",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
];

impl Client {
    /// The name that people know.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::ClaudeDesktop => "Claude Desktop",
            Self::Vscode => "VS Code",
            Self::Cursor => "Cursor",
            Self::Zed => "Zed",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Windsurf => "Windsurf",
            Self::Goose => "Goose",
        }
    }

    /// The format of its configuration, and the key that holds its servers.
    pub(super) fn format(self) -> Format {
        match self {
            Self::ClaudeCode | Self::ClaudeDesktop => Format::Json { key: "mcpServers" },
            // These take comments, or may: a file with comments is theirs to judge.
            Self::Cursor | Self::Gemini | Self::Windsurf => Format::Jsonc { key: "mcpServers" },
            Self::Vscode => Format::Jsonc { key: "servers" },
            Self::Zed => Format::Jsonc {
                key: "context_servers",
            },
            Self::Codex => Format::Toml { key: "mcp_servers" },
            Self::Goose => Format::Yaml { key: "extensions" },
        }
    }

    /// The configuration file; `None` if the client has none for this scope, or the home folder is
    /// unknown.
    pub(super) fn file(
        self,
        scope: Scope,
        platform: Platform,
        environment: &Environment,
    ) -> Option<PathBuf> {
        match scope {
            Scope::User => self.user_file(platform, environment),
            Scope::Project => self.project_file().map(PathBuf::from),
        }
    }

    fn user_file(self, platform: Platform, environment: &Environment) -> Option<PathBuf> {
        let home = environment.home.as_deref();
        let in_home = |path: &str| home.map(|home| home.join(path));
        let named = |variable: &str| environment.variable(variable).map(PathBuf::from);
        // Where desktop programs keep their settings.
        let application = |path: &str| {
            let folder = match platform {
                Platform::Linux => environment.config_folder.clone(),
                Platform::MacOs => in_home("Library/Application Support"),
                Platform::Windows => named("APPDATA").or_else(|| in_home("AppData/Roaming")),
            };
            folder.map(|folder| folder.join(path))
        };
        match self {
            Self::ClaudeCode => named("CLAUDE_CONFIG_DIR")
                .or_else(|| home.map(PathBuf::from))
                .map(|folder| folder.join(".claude.json")),
            Self::ClaudeDesktop => application("Claude/claude_desktop_config.json"),
            Self::Vscode => application("Code/User/mcp.json"),
            Self::Cursor => in_home(".cursor/mcp.json"),
            Self::Zed => match platform {
                Platform::MacOs => in_home(".config/zed/settings.json"),
                Platform::Linux => application("zed/settings.json"),
                Platform::Windows => application("Zed/settings.json"),
            },
            Self::Codex => named("CODEX_HOME")
                .or_else(|| in_home(".codex"))
                .map(|folder| folder.join("config.toml")),
            Self::Gemini => in_home(".gemini/settings.json"),
            Self::Windsurf => in_home(".codeium/windsurf/mcp_config.json"),
            Self::Goose => match platform {
                Platform::Windows => application("Block/goose/config/config.yaml"),
                Platform::Linux | Platform::MacOs => in_home(".config/goose/config.yaml"),
            },
        }
    }

    fn project_file(self) -> Option<&'static str> {
        match self {
            Self::ClaudeCode => Some(".mcp.json"),
            Self::Vscode => Some(".vscode/mcp.json"),
            Self::Cursor => Some(".cursor/mcp.json"),
            Self::Zed => Some(".zed/settings.json"),
            Self::Codex => Some(".codex/config.toml"),
            Self::Gemini => Some(".gemini/settings.json"),
            Self::ClaudeDesktop | Self::Windsurf | Self::Goose => None,
        }
    }

    /// The entry for a server that is started by a command.
    pub(super) fn entry(
        self,
        platform: Platform,
        name: &str,
        command: &str,
        arguments: &[String],
    ) -> Map<String, Value> {
        let entry = match self {
            Self::ClaudeCode | Self::Vscode => {
                json!({"type": "stdio", "command": command, "args": arguments})
            }
            Self::ClaudeDesktop | Self::Cursor | Self::Windsurf => {
                json!({"command": command, "args": arguments})
            }
            Self::Zed => json!({"command": command, "args": arguments, "timeout": PATIENCE}),
            Self::Gemini => {
                json!({"command": command, "args": arguments, "timeout": PATIENCE * 1000})
            }
            Self::Codex => {
                let mut entry = json!({
                    "command": command, "args": arguments, "tool_timeout_sec": PATIENCE,
                });
                if platform == Platform::Linux {
                    entry["env_vars"] = json!(LINUX_VARIABLES);
                }
                entry
            }
            Self::Goose => json!({
                "enabled": true, "type": "stdio", "name": name, "cmd": command,
                "args": arguments, "timeout": PATIENCE,
            }),
        };
        match entry {
            Value::Object(entry) => entry,
            _ => Map::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;

    fn files(platform: Platform, scope: Scope, variables: &[(&str, &str)]) -> String {
        let environment = Environment::with(variables);
        let lines = Client::value_variants().iter().map(|client| {
            let file = client.file(scope, platform, &environment);
            let file = file.map_or_else(|| "-".to_owned(), |file| file.display().to_string());
            format!("{}: {file}\n", client.title())
        });
        lines.collect::<Vec<_>>().concat()
    }

    #[cfg(unix)]
    #[test]
    fn each_client_keeps_its_servers_where_its_documentation_says() {
        let home = [("HOME", "/people/ada")];
        insta::assert_snapshot!(files(Platform::Linux, Scope::User, &home), @r"
        Claude Code: /people/ada/.claude.json
        Claude Desktop: /people/ada/.config/Claude/claude_desktop_config.json
        VS Code: /people/ada/.config/Code/User/mcp.json
        Cursor: /people/ada/.cursor/mcp.json
        Zed: /people/ada/.config/zed/settings.json
        Codex: /people/ada/.codex/config.toml
        Gemini CLI: /people/ada/.gemini/settings.json
        Windsurf: /people/ada/.codeium/windsurf/mcp_config.json
        Goose: /people/ada/.config/goose/config.yaml
        ");
        insta::assert_snapshot!(files(Platform::MacOs, Scope::User, &home), @r"
        Claude Code: /people/ada/.claude.json
        Claude Desktop: /people/ada/Library/Application Support/Claude/claude_desktop_config.json
        VS Code: /people/ada/Library/Application Support/Code/User/mcp.json
        Cursor: /people/ada/.cursor/mcp.json
        Zed: /people/ada/.config/zed/settings.json
        Codex: /people/ada/.codex/config.toml
        Gemini CLI: /people/ada/.gemini/settings.json
        Windsurf: /people/ada/.codeium/windsurf/mcp_config.json
        Goose: /people/ada/.config/goose/config.yaml
        ");
        let profile = [
            ("HOME", "/Users/ada"),
            ("APPDATA", "/Users/ada/AppData/Roaming"),
        ];
        insta::assert_snapshot!(files(Platform::Windows, Scope::User, &profile), @r"
        Claude Code: /Users/ada/.claude.json
        Claude Desktop: /Users/ada/AppData/Roaming/Claude/claude_desktop_config.json
        VS Code: /Users/ada/AppData/Roaming/Code/User/mcp.json
        Cursor: /Users/ada/.cursor/mcp.json
        Zed: /Users/ada/AppData/Roaming/Zed/settings.json
        Codex: /Users/ada/.codex/config.toml
        Gemini CLI: /Users/ada/.gemini/settings.json
        Windsurf: /Users/ada/.codeium/windsurf/mcp_config.json
        Goose: /Users/ada/AppData/Roaming/Block/goose/config/config.yaml
        ");
        insta::assert_snapshot!(files(Platform::Linux, Scope::Project, &[]), @r"
        Claude Code: .mcp.json
        Claude Desktop: -
        VS Code: .vscode/mcp.json
        Cursor: .cursor/mcp.json
        Zed: .zed/settings.json
        Codex: .codex/config.toml
        Gemini CLI: .gemini/settings.json
        Windsurf: -
        Goose: -
        ");
    }

    #[cfg(unix)]
    #[test]
    fn clients_are_followed_where_a_variable_moves_them() {
        let environment = Environment::with(&[
            ("HOME", "/h"),
            ("XDG_CONFIG_HOME", "/x"),
            ("CODEX_HOME", "/codex"),
            ("CLAUDE_CONFIG_DIR", "/claude"),
        ]);
        for (client, file) in [
            (Client::ClaudeCode, "/claude/.claude.json"),
            (Client::Codex, "/codex/config.toml"),
            (Client::Vscode, "/x/Code/User/mcp.json"),
            (Client::Zed, "/x/zed/settings.json"),
        ] {
            let found = client.file(Scope::User, Platform::Linux, &environment);
            assert_eq!(found, Some(file.into()));
        }
        let homeless = Environment::default();
        assert_eq!(
            Client::Cursor.file(Scope::User, Platform::Linux, &homeless),
            None
        );
    }
}

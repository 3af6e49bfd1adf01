//! `entreat config`: effective values, their origin, and errors.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{Run, command, finish};

struct Ground(TempDir);

impl Ground {
    fn with(config: &str) -> Self {
        let folder = tempfile::tempdir().expect("there is a place for folders");
        std::fs::write(folder.path().join("entreat.toml"), config).expect("it can be written");
        Self(folder)
    }

    fn run(&self, args: &[&str], environment: &[(&str, &str)]) -> Run {
        let mut command = command(&[&["config"], args].concat());
        command.current_dir(self.0.path()).env("HOME", "/ada");
        command.envs(environment.iter().copied());
        finish(command, b"")
    }

    fn refused(&self, args: &[&str], environment: &[(&str, &str)]) -> String {
        let run = self.run(args, environment);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{}", run.stderr);
        run.stderr
    }
}

fn setting(run: &Run, name: &str) -> Value {
    let document: Value = serde_json::from_str(&run.stdout).expect("it is JSON");
    let settings = document["settings"].as_array().expect("a list").clone();
    let found = settings.into_iter().find(|row| row["name"] == name);
    found.expect("every setting is listed")
}

#[test]
fn everything_has_a_default() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = command(&["config"]);
    command.current_dir(folder.path()).env("HOME", "/ada");
    let run = finish(command, b"");
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    insta::assert_snapshot!("config_defaults", run.stdout);
}

#[test]
fn flags_win_over_the_environment_and_that_over_the_file() {
    let ground = Ground::with("listen = '127.0.0.1:1'\n");
    let listen = |args: &[&str], environment: &[(&str, &str)]| {
        let run = ground.run(&[&["--json"], args].concat(), environment);
        assert_eq!(run.code, 0, "{}", run.stderr);
        setting(&run, "listen")
    };
    let row = |value: &str, source: &str, place: &str| json!({"name": "listen", "value": value, "source": source, "place": place});
    let by_file = row("127.0.0.1:1", "file", "entreat.toml:1");
    assert_eq!(listen(&[], &[]), by_file);
    // Empty variables are ignored.
    assert_eq!(listen(&[], &[("ENTREAT_LISTEN", "")]), by_file);
    let variable = [("ENTREAT_LISTEN", "127.0.0.1:2")];
    let by_variable = row("127.0.0.1:2", "environment", "ENTREAT_LISTEN");
    assert_eq!(listen(&[], &variable), by_variable);
    let by_flag = row("127.0.0.1:3", "flag", "--listen");
    assert_eq!(listen(&["--listen", "127.0.0.1:3"], &variable), by_flag);
}

#[test]
fn a_file_sets_everything_and_keys_are_not_shown() {
    let ground = Ground::with(
        "listen = '0.0.0.0:7171'\nstore = 'data/q.db'\nforms = 'forms'\n\
         public_url = 'https://ask.example.com/'\nlog = 'warn'\nlog_format = 'json'\n\
         retention = '2h'\nretry_limit = 5\nsize_limit = 2_000\n\
         service = 'https://people.example.com/'\nservice_key_file = 'agent.key'\n\
         [limits]\nlive = 7\nlive_in_all = 70\ncreations_per_minute = 'none'\n\
         requests_per_second = 5\n\
         [timeouts.form]\ndefault = '10m'\nmax = '24h'\n[timeouts.url]\nmax = '1m'\n\
         [[asker]]\nname = 'robot'\nkey = 'secret-secret-secret'\nretry_limit = 1\n\
         timeouts.form.max = '48h'\n\
         [[asker]]\nname = 'other'\nkey_env = 'ENTREAT_OTHER_KEY'\n",
    );
    let environment = [("ENTREAT_OTHER_KEY", "hidden-hidden-hidden")];
    let run = ground.run(&[], &environment);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    insta::assert_snapshot!("config_file", run.stdout);
    let json = ground.run(&["--json"], &environment);
    for text in [&run.stdout, &json.stdout] {
        assert!(!text.contains("secret-secret") && !text.contains("hidden-"));
    }
    let document: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(document["askers"][0]["key"]["value"], "…");
}

#[test]
fn the_example_on_the_page_about_approvals_holds() {
    const PAGE: &str = include_str!("../../../../docs/approvals.md");
    let example = PAGE.split("```toml\n").nth(1).unwrap();
    let example = example.split("```").next().unwrap();
    let ground = Ground::with(example);
    let run = ground.run(&["--json"], &[]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    let rules = document["rules"].as_array().unwrap();
    assert_eq!(rules.len(), 3);
    let second: Vec<&str> = rules[1]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        second,
        ["action", "server", "tool", "timeout", "valid", "when"]
    );
    assert_eq!(rules[2][1]["place"], "entreat.toml:15");
    for row in rules.iter().flat_map(|rule| rule.as_array().unwrap()) {
        let name = row["name"].as_str().unwrap();
        assert!(PAGE.contains(&format!("| `{name}` |")), "{name}");
    }
    let shown = ground.run(&[], &[]).stdout;
    assert_eq!(shown.matches("# rule\n").count(), 3, "{shown}");
}

#[test]
fn the_page_about_the_service_knows_every_setting_and_its_example_holds() {
    const PAGE: &str = include_str!("../../../../docs/service.md");
    let example = PAGE.split("```toml\n").nth(1).unwrap();
    let example = example.split("```").next().unwrap();
    let ground = Ground::with(example);
    let key = "0123456789abcdef";
    std::fs::write(ground.0.path().join("night-shift.key"), key.repeat(2)).unwrap();
    let run = ground.run(&["--json"], &[("DEPLOY_ROBOT_KEY", key)]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    for row in document["settings"].as_array().unwrap() {
        let name = row["name"].as_str().unwrap();
        let is_told = PAGE.contains(&format!("| `{name}` |")) || name.starts_with("timeouts.");
        assert!(is_told, "{name}");
    }
}

#[test]
fn the_page_about_limits_knows_every_limit_that_can_be_set() {
    const PAGE: &str = include_str!("../../../../docs/limits.md");
    // These are not limits.
    const OTHERS: [&str; 3] = ["http.heartbeat", "mcp.resource", "uploads.folder"];
    let run = Ground::with("").run(&["--json"], &[]);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    let names = document["settings"].as_array().unwrap().iter();
    let names = names.map(|row| row["name"].as_str().unwrap());
    let is_limit = |name: &&str| {
        let groups = ["gateway.", "http.", "limits.", "mcp.", "uploads."];
        groups.iter().any(|group| name.starts_with(group)) && !OTHERS.contains(name)
    };
    let limits: Vec<&str> = names.filter(is_limit).collect();
    assert!(limits.len() > 20, "{limits:?}");
    for name in limits {
        assert!(PAGE.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn paths_in_a_file_are_relative_to_it() {
    let ground = Ground::with("store = 'q.db'\n");
    let file = ground.0.path().join("entreat.toml");
    let mut command = command(&["config", "--json", "--config", file.to_str().unwrap()]);
    command.current_dir(Path::new("/"));
    let run = finish(command, b"");
    let expected = ground.0.path().join("q.db");
    assert_eq!(setting(&run, "store")["value"], json!(expected));
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn what_is_wrong_is_told_with_its_place() {
    for (config, words) in [
        (
            "\nlistn = 1",
            "entreat.toml:2: there is no setting `listn`; did you mean `listen`?",
        ),
        (
            "[limits]\nlives = 1",
            "entreat.toml:2: there is no setting `limits.lives`; did you mean `limits.live`?",
        ),
        (
            "limits = 1",
            "entreat.toml:1: `limits` is a table: [limits]",
        ),
        (
            "listen = 1.5",
            "entreat.toml:1: `listen` is invalid: it must be a string or a whole number",
        ),
        (
            "listen = 'here'",
            "entreat.toml:1: `listen` is invalid: it must be an IP address",
        ),
        ("a = 1\na = 2", "entreat.toml:2: duplicate key"),
        ("log = 'inof'", "did you mean info?"),
        (
            "log_format = 'xml'",
            "entreat.toml:1: `log_format` is invalid: it must be text",
        ),
        (
            "retention = '1w'",
            "entreat.toml:1: `retention` is invalid: a duration is",
        ),
        ("retry_limit = 256", "a whole number from 1 to 255"),
        ("size_limit = 99999999", "from 1 to 16777216 bytes"),
        ("public_url = 'ask'", "`public_url` is invalid"),
        ("local_without_key = 1", "it must be true or false"),
        (
            "[timeouts.form]\nmin = '10m'\nmax = '5m'",
            "`timeouts.form` is invalid: a default timeout",
        ),
        (
            "[timeouts.form]\nmax_extensions = 101",
            "entreat.toml:2: `timeouts.form.max_extensions` is invalid: it must be a whole \
             number from 0 to 100",
        ),
        (
            "[timeouts.form]\nextension_duration = '999ms'",
            "entreat.toml:2: `timeouts.form.extension_duration` is invalid: an extension takes",
        ),
        (
            "[timeouts.inline]\nwarn_before = '30s'",
            "entreat.toml:2: `timeouts.inline.warn_before` is invalid: it must be below the \
             default timeout, 30s",
        ),
        ("[http]\nconnections = 0", "a whole number from 1"),
        (
            "[asker]\nname = 'a'",
            "entreat.toml:1: define askers in [[asker]] tables",
        ),
        (
            "[[asker]]\nkey = 'k'",
            "entreat.toml:1: this asker has no `name`",
        ),
        (
            "[[asker]]\nname = 'a'",
            "an asker needs exactly one of `key`, `key_file` and `key_env`",
        ),
        (
            "[[asker]]\nname = 'a'\nkey = 'short'",
            "entreat.toml:3: `key` is invalid: a key must have 16",
        ),
        ("[[asker]]\nname = 'local'\nkey = 'k'", "choose another"),
        (
            "[[asker]]\nname = 'a'\nlisten = 'x'",
            "there is no setting `listen`",
        ),
        (
            "[[asker]]\nname = 'a'\nkee = 'x'",
            "there is no setting `kee`; did you mean `key`?",
        ),
        (
            "[[asker]]\nname = 'a'\nkey_env = 'NO_SUCH'",
            "the variable NO_SUCH in `key_env` is not set",
        ),
        (
            "[[asker]]\nname = 'a'\nkey_file = 'nowhere'",
            "cannot read the key in nowhere",
        ),
        (
            "[[asker]]\nname='a'\nkey='0123456789abcdef'\n[[asker]]\nname='b'\nkey='0123456789abcdef'",
            "entreat.toml:4: this asker has the same key as the one at entreat.toml:1",
        ),
        (
            "[[asker]]\nname='a'\nkey='0123456789abcdef'\n[[asker]]\nname='a'\nkey='another-another-'\nretry_limit=1",
            "entreat.toml:4: this asker has the same name as the one at entreat.toml:1",
        ),
        (
            "[rule]\naction = 'ask'",
            "entreat.toml:1: define rules in [[rule]] tables",
        ),
        (
            "[[rule]]\ntool = '*'",
            "entreat.toml:1: this rule has no `action`: ask, allow or deny",
        ),
        (
            "[[rule]]\naction = 'maybe'",
            "entreat.toml:2: `action` is invalid: it must be ask, allow or deny",
        ),
        (
            "[[rule]]\naction = 'ask'\ntol = '*'",
            "entreat.toml:3: there is no setting `tol`; did you mean `tool`?",
        ),
        (
            "[[rule]]\naction = 'ask'\ntool = ''",
            "entreat.toml:3: `tool` is invalid: it is empty",
        ),
        (
            "[[rule]]\naction = 'allow'\ndestructive = true",
            "entreat.toml:3: `destructive` is invalid: what a server says of its tools",
        ),
        (
            "[[rule]]\naction = 'ask'\nvalid = 'always'",
            "entreat.toml:3: `valid` is invalid: it must be \"once\" or a time",
        ),
        (
            "[[rule]]\naction = 'ask'\ntimeout = '0s'",
            "entreat.toml:3: `timeout` is invalid",
        ),
        (
            "[[rule]]\naction = 'ask'\nwhen = {operator = 'likes', field = 'x', value = 1}",
            "entreat.toml:3: `when` is invalid: at /operator: `likes` is not an operator",
        ),
        (
            "[[rule]]\naction = 'ask'\nwhen = 'always'",
            "entreat.toml:3: `when` is invalid",
        ),
    ] {
        let told = Ground::with(config).refused(&[], &[]);
        assert!(told.contains(words), "{config}\n{told}");
    }
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let ground = Ground::with(
        "listn = 1\nretention = '1w'\n[timeouts.form]\nmax = 'x'\ndefault = '10m'\n\
         [timeouts.url]\nwarn_before = '5m'\nextension_duration = '6m'\n\
         [[asker]]\nretry_limit = 0\nkey = 'short'\n\
         [[asker]]\nname = 'a'\nkey = '0123456789abcdef'\ntimeouts.inline.extension_duration = '10m'\n",
    );
    let environment = [("ENTREAT_LIMITS_LIVE", "many"), ("ENTREAT_LOG", "inof")];
    let told = ground.refused(&["--listen", "here"], &environment);
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines[0], "entreat: 12 problems with the settings");
    // In order: the file, the environment, flags. The default of ten minutes being too long is not
    // reported, because its bounds are not known yet.
    let beginnings = [
        "  entreat.toml:1: there is no setting `listn`; did you mean `listen`?",
        "  entreat.toml:2: `retention` is invalid: a duration",
        "  entreat.toml:4: `timeouts.form.max` is invalid: a duration",
        "  entreat.toml:7: `timeouts.url.warn_before` is invalid: it must be below the default \
         timeout, 5m",
        "  entreat.toml:8: `timeouts.url.extension_duration` is invalid: it must be at most the \
         longest timeout, 5m",
        "  entreat.toml:9: this asker has no `name`",
        "  entreat.toml:10: `retry_limit` is invalid",
        "  entreat.toml:11: `key` is invalid",
        "  entreat.toml:12: `timeouts.inline.extension_duration` is invalid",
        "  ENTREAT_LOG: `log` is invalid",
        "  ENTREAT_LIMITS_LIVE: `limits.live` is invalid",
        "  --listen: `listen` is invalid",
    ];
    for (line, beginning) in lines[1..].iter().zip(beginnings) {
        assert!(line.starts_with(beginning), "{line}\n{told}");
    }
    assert_eq!(lines.len(), 1 + beginnings.len(), "{told}");
    assert!(
        !told.contains("short") && !told.contains("0123456789abcdef"),
        "{told}"
    );
}

#[test]
fn a_file_that_is_no_toml_is_told_with_what_else_is_wrong() {
    let ground = Ground::with("a =\nb = 'x\n");
    let told = ground.refused(&["--listen", "here"], &[]);
    for place in ["entreat.toml:1: ", "entreat.toml:2: ", "--listen: "] {
        assert!(told.contains(place), "{told}");
    }
    assert!(!told.contains("there is no setting"), "{told}");
}

#[test]
fn a_key_can_be_replaced_by_two_for_one_asker() {
    let ground = Ground::with(
        "[[asker]]\nname='a'\nkey='0123456789abcdef'\n[[asker]]\nname='a'\nkey='another-another-'\n",
    );
    assert_eq!(ground.run(&[], &[]).code, 0);
}

#[test]
fn names_that_askers_of_our_own_have_are_refused() {
    for (name, why) in [
        ("local", "programs on this machine without a key"),
        ("gateway", "reserved for what the gateway asks"),
    ] {
        let config = format!("[[asker]]\nname='{name}'\nkey='0123456789abcdef'\n");
        let words = Ground::with(&config).refused(&[], &[]);
        assert!(
            words.contains("entreat.toml:2: `name` is invalid")
                && words.contains(why)
                && words.contains("choose another"),
            "{words}"
        );
    }
}

#[test]
fn flags_and_variables_are_told_by_their_names() {
    let ground = Ground::with("");
    let words = ground.refused(&["--log-format", "xml"], &[]);
    assert!(
        words.contains("--log-format: `log_format` is invalid"),
        "{words}"
    );
    let words = ground.refused(&[], &[("ENTREAT_LIMITS_LIVE", "many")]);
    assert!(
        words.contains("ENTREAT_LIMITS_LIVE: `limits.live` is invalid"),
        "{words}"
    );
    let words = ground.refused(&["--config", "no.toml"], &[]);
    assert_eq!(words, "entreat: there is no configuration file no.toml\n");
    let words = ground.refused(&[], &[("ENTREAT_CONFIG", "no.toml")]);
    assert_eq!(words, "entreat: there is no configuration file no.toml\n");
}

#[test]
fn a_variable_that_is_nearly_a_setting_is_pointed_out() {
    let ground = Ground::with("");
    // Container platforms set the second one for the programs of a service.
    let environment = [
        ("ENTREAT_LISTN", "x"),
        ("ENTREAT_PORT", "tcp://10.0.0.1:80"),
    ];
    let run = ground.run(&[], &environment);
    let words = "entreat: ENTREAT_LISTN is not a setting; did you mean ENTREAT_LISTEN?\n";
    assert_eq!((run.code, run.stderr.as_str()), (0, words));
}

#[test]
fn issuers_of_tokens_and_their_resource_are_set_together() {
    let issuer = "[[mcp.issuer]]\nurl = 'https://login.example'\n";
    let resource = "[mcp]\nresource = 'https://ask.example/mcp'\n";
    let same = "[[identity.same]]\nissuer = 'https://login.example'\nclaim = 'oid'\n";
    let run = Ground::with(&format!("{resource}{issuer}{same}")).run(&["--json"], &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let row = setting(&run, "mcp.resource");
    assert_eq!(row["value"], "https://ask.example/mcp");
    for (config, words) in [
        (resource.to_owned(), "name an issuer of tokens"),
        (issuer.to_owned(), "set `mcp.resource`"),
        (
            "[mcp]\nresource = 'http://ask.example/mcp'\n".to_owned(),
            "entreat.toml:2: `mcp.resource` is invalid",
        ),
        (
            format!("{resource}[[mcp.issuer]]\nurl = 'http://login.example'\n"),
            "entreat.toml:4: `url` is invalid",
        ),
        (
            format!("{resource}{issuer}{issuer}"),
            "another table for this issuer",
        ),
        (
            format!("{resource}{issuer}audience = 'x'\n"),
            "there is no setting `audience`",
        ),
        (
            format!("{resource}{issuer}introspection_client_id = 'x'\n"),
            "need both",
        ),
        (
            format!("{resource}{issuer}scopes = 'a\"b'\n"),
            "`scopes` is invalid",
        ),
        (
            "[[identity.same]]\nclaim = 'oid'\n".to_owned(),
            "needs `issuer`",
        ),
        (format!("{same}equals = 'name'\n"), "subject or email"),
        ("[mcp]\nissuer = 'x'\n".to_owned(), "[[mcp.issuer]] tables"),
    ] {
        let refused = Ground::with(&config).refused(&[], &[]);
        assert!(refused.contains(words), "{config}: {refused}");
    }
}

//! The files in `packaging/` use only flags and variables that the binary has.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::serve::{Service, folder};
use crate::{Run, command, entreat, finish};

const UNIT: &str = include_str!("../../../../packaging/entreat.service");
const CONTAINER: &str = include_str!("../../../../packaging/Containerfile");
const CONFIG: &str = include_str!("../../../../packaging/container.toml");
const PAGE: &str = include_str!("../../../../packaging/README.md");

/// Returns the environment variables that a text sets.
fn variables(text: &str) -> BTreeMap<&str, &str> {
    let words = text.split([' ', '\n', '`', '"']);
    let words = words.map(|word| word.trim_start_matches("Environment="));
    let pairs = words.filter_map(|word| word.split_once('='));
    pairs
        .filter(|(name, _)| name.starts_with("ENTREAT_"))
        .collect()
}

/// The values of a key in the unit.
fn unit(key: &str) -> Vec<&'static str> {
    let lines = UNIT.lines().filter_map(|line| line.split_once('='));
    let lines = lines.filter(|(found, _)| *found == key);
    lines.map(|(_, value)| value).collect()
}

/// The list of words after an instruction of the container file.
fn words_of(instruction: &str) -> Vec<String> {
    let lines = CONTAINER.lines().map(str::trim_start);
    let mut lists = lines.filter_map(|line| line.strip_prefix(instruction)?.strip_prefix(' '));
    let list = lists.next_back().expect("the instruction is there");
    serde_json::from_str(list).expect("its words are a list")
}

fn config(environment: &BTreeMap<&str, &str>) -> Run {
    let folder = folder();
    let file = folder.path().join("entreat.toml");
    std::fs::write(&file, CONFIG).expect("it can be written");
    let mut command = command(&["config", "--json"]);
    command.current_dir(folder.path()).envs(environment);
    if environment.contains_key("ENTREAT_CONFIG") {
        command.env("ENTREAT_CONFIG", file);
    } else {
        command.current_dir("/");
    }
    command.env("ROBOT_KEY", "0123456789abcdef");
    finish(command, b"")
}

#[test]
fn every_variable_is_one_that_the_binary_takes() {
    for (text, least) in [(UNIT, 3), (CONTAINER, 4)] {
        let given = variables(text);
        assert!(given.len() >= least, "{given:?}");
        let run = config(&given);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""));
        let document: Value = serde_json::from_str(&run.stdout).unwrap();
        let places = document["settings"].as_array().unwrap().iter();
        let places: Vec<&str> = places.filter_map(|row| row["place"].as_str()).collect();
        for (name, value) in given {
            let is_known = name == "ENTREAT_CONFIG" || places.contains(&name);
            assert!(is_known, "{name}={value}");
        }
    }
    let known = entreat(&["config", "--json"]).stdout;
    for name in variables(PAGE)
        .keys()
        .filter(|name| **name != "ENTREAT_CONFIG")
    {
        let setting = name.trim_start_matches("ENTREAT_").to_lowercase();
        assert!(known.contains(&format!("\"{setting}\"")), "{name}");
    }
}

#[test]
fn every_command_and_flag_is_one_that_the_binary_has() {
    let started = unit("ExecStart").concat();
    let container = [words_of("ENTRYPOINT"), words_of("CMD")].concat().join(" ");
    let typed = PAGE.lines().filter(|line| line.contains("entreat doctor"));
    let mut checked = 0;
    for line in typed.chain([started.as_str(), container.as_str()]) {
        let (_, line) = line.rsplit_once("entreat ").expect("it runs the binary");
        let mut words = line.split_whitespace();
        let name = words.next().expect("it names a command");
        let help = entreat(&[name, "--help"]);
        assert_eq!(help.code, 0, "{name}");
        for flag in words.filter(|word| word.starts_with('-')) {
            let flag = flag.split('=').next().expect("a flag has a name");
            assert!(help.stdout.contains(&format!("{flag} ")), "{name} {flag}");
        }
        checked += 1;
    }
    assert!(checked >= 4, "{checked}");
}

#[test]
fn the_unit_listens_here_and_waits_longer_than_the_service_takes() {
    let given = variables(UNIT);
    assert_eq!(given["ENTREAT_LISTEN"], "127.0.0.1:7171");
    assert_eq!(given["ENTREAT_STORE"], "%S/entreat/entreat.db");
    assert_eq!(unit("KillSignal"), ["SIGTERM"]);
    let patience: u64 = unit("TimeoutStopSec").concat().parse().unwrap();
    assert!(patience > 10);
    // As many as `entreat doctor` recommends.
    let files: u64 = unit("LimitNOFILE").concat().parse().unwrap();
    assert!(files >= 20_000);
}

#[test]
fn the_container_and_its_configuration_have_no_problem_with_who_may_ask() {
    let folder = folder();
    std::fs::write(folder.path().join("entreat.toml"), CONFIG).unwrap();
    let mut command = command(&["doctor", "--json", "--store", "memory"]);
    command.current_dir(folder.path());
    let given = variables(CONTAINER);
    let listen = given["ENTREAT_LISTEN"].replace("7171", "0");
    command.env("ENTREAT_LISTEN", listen);
    command.env("ROBOT_KEY", "0123456789abcdef");
    let run = finish(command, b"");
    assert_eq!(run.code, 0, "{}", run.stdout);
    assert!(CONTAINER.contains("\nEXPOSE 7171\n") && CONTAINER.contains("\nUSER entreat\n"));
    let volume = given["ENTREAT_STORE"].rsplit_once('/').unwrap().0;
    assert!(CONTAINER.contains(&format!("\nVOLUME {volume}\n")));
}

#[test]
fn the_health_check_tells_a_service_from_nobody() {
    // The first list of words after CMD belongs to the health check.
    let lines = CONTAINER.lines().map(str::trim_start);
    let mut lists = lines.filter_map(|line| line.strip_prefix("CMD "));
    let words: Vec<String> = serde_json::from_str(lists.next().unwrap()).unwrap();
    let folder = folder();
    let service = Service::start(folder.path(), &["--store", "memory"]);
    let (_, port) = service.address.rsplit_once(':').unwrap();
    let script = words[2].replace("7171", port);
    let is_healthy = || {
        let mut check = Command::new(&words[0]);
        check.args([&words[1], &script]).stderr(Stdio::null());
        check.status().unwrap().success()
    };
    assert!(is_healthy());
    assert_eq!(service.end().code, 0);
    assert!(!is_healthy());
}

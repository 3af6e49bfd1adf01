//! Checks of settings.

use super::super::files::{Found, Permissions};
use super::super::finding::{Level, levels};
use super::*;

fn here() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 7171))
}

fn everywhere() -> SocketAddr {
    SocketAddr::from(([0, 0, 0, 0], 7171))
}

#[test]
fn a_secret_that_everybody_can_read_is_a_problem() {
    let judge = |mode| {
        let permissions = Permissions {
            mode,
            is_accessible: true,
        };
        let file = Entry {
            path: "entreat.toml".into(),
            found: Found::File(permissions),
        };
        let secret = "the key of robot".to_owned();
        secret_files(&[SecretFile { file, secret }]).remove(0)
    };
    assert_eq!(judge(0o600).level, Level::Ok);
    assert_eq!(judge(0o640).level, Level::Ok);
    assert_eq!(judge(0o602).level, Level::Problem);
    let open = judge(0o644);
    assert_eq!(open.level, Level::Problem);
    let remedy = open.remedy.unwrap();
    assert!(remedy.contains("`chmod o= entreat.toml`"), "{remedy}");
}

#[test]
fn somebody_can_ask_and_elsewhere_only_with_a_key() {
    let reach = |listen| Exposure {
        listen,
        public_url: None,
        speaks_tls: false,
        names_people: false,
    };
    let keys = |askers| Keys {
        askers,
        operators: 0,
    };
    let found = |listen, local, count| levels(&askers(reach(listen), local, keys(count)));
    assert_eq!(found(here(), true, 0), [Level::Ok]);
    assert_eq!(found(here(), false, 1), [Level::Ok]);
    assert_eq!(found(here(), false, 0), [Level::Problem]);
    assert_eq!(found(everywhere(), false, 1), [Level::Ok]);
    assert_eq!(found(everywhere(), false, 0), [Level::Problem]);
    assert_eq!(found(everywhere(), true, 1), [Level::Problem]);
    assert_eq!(found(everywhere(), true, 0), [Level::Problem; 2]);

    let behind_a_proxy = Exposure {
        public_url: Some("https://ask.example.com"),
        ..reach(here())
    };
    let found = |local, count| levels(&askers(behind_a_proxy, local, keys(count)));
    assert_eq!(found(false, 1), [Level::Ok]);
    assert_eq!(found(false, 0), [Level::Problem]);
    assert_eq!(found(true, 1), [Level::Warning]);
    assert_eq!(found(true, 0), [Level::Warning]);
}

#[test]
fn keys_of_askers_and_of_operators_are_counted_apart() {
    let reach = Exposure {
        listen: here(),
        public_url: None,
        speaks_tls: false,
        names_people: false,
    };
    let what = |local, askers, operators| {
        let keys = Keys { askers, operators };
        super::askers(reach, local, keys).remove(0).what
    };
    assert_eq!(what(false, 1, 0), "keys of askers: 1");
    assert_eq!(what(false, 1, 1), "keys of askers: 1; keys of operators: 1");
    let local = "keys of askers: 2, and programs on this machine without one; keys of operators: 1";
    assert_eq!(what(true, 2, 1), local);
    let only = "programs on this machine ask without a key; keys of operators: 1";
    assert_eq!(what(true, 0, 1), only);
}

#[test]
fn a_public_url_is_wanted_elsewhere_and_encrypted() {
    let found = |listen, url: Option<&str>| levels(&public_url(listen, url));
    assert_eq!(found(here(), None), []);
    assert_eq!(found(everywhere(), None), [Level::Warning]);
    let url = Some("https://ask.example.com");
    assert_eq!(found(everywhere(), url), [Level::Ok]);
    let url = Some("http://ask.example.com");
    assert_eq!(found(here(), url), [Level::Warning]);
    for near in ["localhost:1", "a.localhost", "127.0.0.1:80", "[::1]:80"] {
        let url = format!("http://{near}");
        assert_eq!(found(here(), Some(&url)), [Level::Ok], "{near}");
    }
}

#[test]
fn callbacks_are_signed_and_stay_out_of_this_machine() {
    let found = |listen, secret, loopback| callbacks(listen, secret, loopback);
    let unsigned = found(everywhere(), false, true);
    assert_eq!(unsigned.level, Level::Ok);
    assert!(unsigned.what.contains("rejected"), "{}", unsigned.what);
    assert_eq!(found(everywhere(), true, true).level, Level::Warning);
    assert_eq!(found(everywhere(), true, false).level, Level::Ok);
    assert_eq!(found(here(), true, true).level, Level::Ok);
}

#[test]
fn ten_extensions_conform() {
    assert_eq!(extensions(10), None);
    let few = extensions(9).unwrap();
    assert_eq!(few.level, Level::Ok);
    assert!(few.what.contains("WCAG 2.2.1"), "{}", few.what);
}

#[test]
fn a_minute_is_the_least_to_keep_answers() {
    assert_eq!(levels(&retention(SHORT_RETENTION)), []);
    let short = retention(Duration::from_secs(59));
    assert_eq!(levels(&short), [Level::Warning]);
}

#[test]
fn a_configuration_that_does_not_hold_is_a_problem_and_a_remark_a_warning() {
    assert_eq!(refused("entreat.toml:1: no").level, Level::Problem);
    let remarks = ["ENTREAT_LISTN is not a setting".to_owned()];
    let found = levels(&loaded(None, &remarks));
    assert_eq!(found, [Level::Ok, Level::Warning]);
}

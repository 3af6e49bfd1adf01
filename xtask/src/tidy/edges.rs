//! Which crate may use which: the picture of the architecture, as a table.
//!
//! What a crate's users inherit (dependencies and build-dependencies) follows [`PICTURE`] to the
//! letter. Tests see more: they may use all of [`TEST_GROUND`]. They may not see a sibling either,
//! for a test that needs two siblings is a test of the crate where they meet, `entreat`.

use super::Violation;
use super::members::{Dependency, Member, Purpose};

const RULE: &str = "edges";

/// A crate of ours, and which of ours it may use.
const PICTURE: &[(&str, &[&str])] = &[
    ("entreat-derive", &[]),
    // Re-exports the macro; the macro itself knows core's names only as text.
    ("entreat-core", &["entreat-derive"]),
    ("entreat-engine", &["entreat-core"]),
    ("entreat-stores", &["entreat-core", "entreat-engine"]),
    ("entreat-mcp", &["entreat-core", "entreat-engine"]),
    ("entreat-service", &["entreat-core", "entreat-engine"]),
    ("entreat-terminal", &["entreat-core", "entreat-engine"]),
    (
        "entreat",
        &[
            "entreat-core",
            "entreat-engine",
            "entreat-stores",
            "entreat-mcp",
            "entreat-service",
            "entreat-terminal",
        ],
    ),
    ("entreat-testkit", &["entreat-core", "entreat-engine"]),
    // `form sample` shows what the test kit generates.
    (
        "entreat-cli",
        &["entreat", "entreat-core", "entreat-testkit"],
    ),
    ("xtask", &[]),
];

/// What the tests of any crate may use besides.
const TEST_GROUND: &[&str] = &[
    "entreat-derive",
    "entreat-core",
    "entreat-engine",
    "entreat-testkit",
];

/// Crates of others that only these of ours may name, in tests too.
const RESERVED: &[(&str, &[&str], &str)] = &[
    (
        "rmcp",
        &["entreat-mcp"],
        "no type outside `mcp` comes from rmcp",
    ),
    (
        "anyhow",
        &["entreat-cli", "xtask"],
        "libraries return errors that a caller can match",
    ),
];

/// Crates that would bring a runtime, a clock, randomness or the network into the pure core.
const IMPURE: &[&str] = &[
    "async-std",
    "async-trait",
    "axum",
    "chrono",
    "fastrand",
    "futures",
    "futures-util",
    "getrandom",
    "hickory-resolver",
    "hyper",
    "mio",
    "rand",
    "reqwest",
    "rusqlite",
    "smol",
    "socket2",
    "sqlx",
    "tempfile",
    "time",
    "tokio",
    "tokio-util",
    "ureq",
];

/// Compares what the manifests ask for with the picture.
pub(super) fn check(members: &[Member]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for member in members {
        let Some((_, allowed)) = PICTURE.iter().find(|(name, _)| *name == member.name) else {
            let remedy = format!(
                "`{}` is not in the picture: draw it in ARCHITECTURE.md, then add it to xtask's table",
                member.name
            );
            let path = member.manifest.clone();
            violations.push(Violation {
                path,
                line: 1,
                rule: RULE,
                remedy,
            });
            continue;
        };
        for dependency in &member.dependencies {
            let refused = if dependency.local {
                refuse_ours(allowed, dependency)
            } else {
                refuse_theirs(&member.name, dependency)
            };
            violations.extend(refused.map(|reason| Violation {
                path: member.manifest.clone(),
                line: dependency.line,
                rule: RULE,
                remedy: format!(
                    "`{}` may not use `{}`: {reason}",
                    member.name, dependency.name
                ),
            }));
        }
    }
    violations
}

fn refuse_ours(allowed: &[&str], dependency: &Dependency) -> Option<String> {
    let name = dependency.name.as_str();
    let ground = match dependency.purpose {
        Purpose::Product => &[],
        Purpose::Test => TEST_GROUND,
    };
    if allowed.contains(&name) || ground.contains(&name) {
        return None;
    }
    let mut may: Vec<&str> = allowed.iter().chain(ground).copied().collect();
    may.sort_unstable();
    may.dedup();
    Some(if may.is_empty() {
        "it uses no crate of ours".to_owned()
    } else {
        format!("of our crates it may use {} here", may.join(", "))
    })
}

fn refuse_theirs(member: &str, dependency: &Dependency) -> Option<String> {
    let name = dependency.name.as_str();
    let reserved = RESERVED
        .iter()
        .find(|(reserved, users, _)| *reserved == name && !users.contains(&member))
        .map(|(_, users, reason)| format!("{reason}; it is for {}", users.join(" and ")));
    let impure = member == "entreat-core"
        && dependency.purpose == Purpose::Product
        && IMPURE.contains(&name);
    reserved.or_else(|| {
        impure
            .then(|| "core is pure; what needs it belongs in `entreat-engine` or above".to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str, purpose: Purpose, local: bool, dependency: &str) -> Member {
        Member {
            name: name.to_owned(),
            manifest: format!("crates/{name}/Cargo.toml"),
            dependencies: vec![Dependency {
                name: dependency.to_owned(),
                purpose,
                local,
                line: 9,
            }],
        }
    }

    fn ours(name: &str, purpose: Purpose, dependency: &str) -> bool {
        check(&[member(name, purpose, true, dependency)]).is_empty()
    }

    fn theirs(name: &str, purpose: Purpose, dependency: &str) -> bool {
        check(&[member(name, purpose, false, dependency)]).is_empty()
    }

    #[test]
    fn a_sibling_is_refused_with_the_line_of_the_manifest() {
        let found = check(&[member(
            "entreat-service",
            Purpose::Product,
            true,
            "entreat-mcp",
        )]);
        assert_eq!(
            found[0].to_string(),
            "crates/entreat-service/Cargo.toml:9: edges: `entreat-service` may not use \
             `entreat-mcp`: of our crates it may use entreat-core, entreat-engine here"
        );
    }

    #[test]
    fn a_sibling_stays_unseen_in_tests_where_the_test_kit_is_welcome() {
        assert!(!ours("entreat-service", Purpose::Test, "entreat-stores"));
        assert!(!ours("entreat-service", Purpose::Test, "entreat"));
        assert!(ours("entreat-service", Purpose::Test, "entreat-testkit"));
        assert!(!ours(
            "entreat-service",
            Purpose::Product,
            "entreat-testkit"
        ));
    }

    #[test]
    fn the_core_uses_the_macro_and_nothing_above_itself() {
        assert!(ours("entreat-core", Purpose::Product, "entreat-derive"));
        assert!(!ours("entreat-core", Purpose::Product, "entreat-engine"));
        assert!(!ours("entreat-derive", Purpose::Product, "entreat-core"));
        assert!(ours("entreat-derive", Purpose::Test, "entreat-core"));
    }

    #[test]
    fn the_core_stays_pure_but_its_tests_may_do_more() {
        for name in IMPURE {
            assert!(!theirs("entreat-core", Purpose::Product, name), "{name}");
        }
        assert!(theirs("entreat-core", Purpose::Test, "tempfile"));
        assert!(theirs("entreat-core", Purpose::Product, "serde"));
        assert!(theirs("entreat-engine", Purpose::Product, "tokio"));
    }

    #[test]
    fn only_mcp_names_rmcp_and_only_the_programs_name_anyhow() {
        assert!(theirs("entreat-mcp", Purpose::Product, "rmcp"));
        assert!(!theirs("entreat-service", Purpose::Product, "rmcp"));
        assert!(!theirs("entreat-cli", Purpose::Test, "rmcp"));
        assert!(theirs("xtask", Purpose::Product, "anyhow"));
        assert!(!theirs("entreat-engine", Purpose::Product, "anyhow"));
    }

    #[test]
    fn a_crate_outside_the_picture_is_refused() {
        let found = check(&[member("entreat-utils", Purpose::Product, false, "serde")]);
        assert!(
            found[0]
                .remedy
                .starts_with("`entreat-utils` is not in the picture")
        );
    }

    #[test]
    fn every_crate_of_the_picture_is_drawn_itself() {
        for name in PICTURE.iter().flat_map(|(_, may)| *may).chain(TEST_GROUND) {
            assert!(PICTURE.iter().any(|(drawn, _)| drawn == name), "{name}");
        }
    }
}

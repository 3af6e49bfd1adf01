//! Which crate may depend on which: the diagram of the architecture, as a table.
//!
//! Dependencies and build-dependencies follow [`ALLOWED`] exactly. Tests may also use
//! [`ALLOWED_IN_TESTS`], but no sibling: a test that needs two siblings belongs to the crate that
//! joins them, `entreat`.

use super::Violation;
use super::members::{Dependency, Member, Purpose};

const RULE: &str = "edges";

/// Each crate of the workspace, with the workspace crates it may depend on.
const ALLOWED: &[(&str, &[&str])] = &[
    ("entreat-derive", &[]),
    // Re-exports the macro; the macro refers to core only in generated code.
    ("entreat-core", &["entreat-derive"]),
    ("entreat-engine", &["entreat-core"]),
    ("entreat-stores", &["entreat-core", "entreat-engine"]),
    ("entreat-wire", &["entreat-core", "entreat-engine"]),
    (
        "entreat-mcp",
        &["entreat-core", "entreat-engine", "entreat-wire"],
    ),
    (
        "entreat-gateway",
        &["entreat-core", "entreat-engine", "entreat-wire"],
    ),
    (
        "entreat-service",
        &["entreat-core", "entreat-engine", "entreat-wire"],
    ),
    ("entreat-terminal", &["entreat-core", "entreat-engine"]),
    (
        "entreat",
        &[
            "entreat-core",
            "entreat-engine",
            "entreat-stores",
            "entreat-gateway",
            "entreat-mcp",
            "entreat-service",
            "entreat-terminal",
            "entreat-wire",
        ],
    ),
    ("entreat-generate", &["entreat-core"]),
    (
        "entreat-testkit",
        &["entreat-core", "entreat-engine", "entreat-generate"],
    ),
    (
        "entreat-cli",
        &[
            "entreat",
            "entreat-core",
            "entreat-generate",
            "entreat-wire",
        ],
    ),
    ("xtask", &[]),
];

/// What the tests of any crate may use in addition.
const ALLOWED_IN_TESTS: &[&str] = &[
    "entreat-derive",
    "entreat-core",
    "entreat-engine",
    "entreat-testkit",
];

/// Third-party crates reserved for certain workspace crates, in tests too.
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

/// Crates with a runtime, a clock, randomness or I/O, which the pure core must not use.
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

/// Compares the manifests with the table.
pub(super) fn check(members: &[Member]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for member in members {
        let Some((_, allowed)) = ALLOWED.iter().find(|(name, _)| *name == member.name) else {
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
            let rejection = if dependency.local {
                reject_workspace_crate(allowed, dependency)
            } else {
                reject_external_crate(&member.name, dependency)
            };
            violations.extend(rejection.map(|reason| Violation {
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

fn reject_workspace_crate(allowed: &[&str], dependency: &Dependency) -> Option<String> {
    let name = dependency.name.as_str();
    let in_tests = match dependency.purpose {
        Purpose::Product => &[],
        Purpose::Test => ALLOWED_IN_TESTS,
    };
    if allowed.contains(&name) || in_tests.contains(&name) {
        return None;
    }
    let mut usable: Vec<&str> = allowed.iter().chain(in_tests).copied().collect();
    usable.sort_unstable();
    usable.dedup();
    Some(if usable.is_empty() {
        "it uses no crate of ours".to_owned()
    } else {
        format!("of our crates it may use {} here", usable.join(", "))
    })
}

fn reject_external_crate(member: &str, dependency: &Dependency) -> Option<String> {
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
             `entreat-mcp`: of our crates it may use entreat-core, entreat-engine, entreat-wire here"
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
        for name in ALLOWED
            .iter()
            .flat_map(|(_, usable)| *usable)
            .chain(ALLOWED_IN_TESTS)
        {
            assert!(ALLOWED.iter().any(|(drawn, _)| drawn == name), "{name}");
        }
    }
}

//! The cost of a message is linear in its length over every transport, and rejected input is not
//! buffered first.

use serde_json::json;
use tokio::runtime::Builder;

use crate::wire::Wire;
use crate::world::{World, answer};

/// Messages of about this many bytes, each hostile in its own way.
fn hostile(bytes: usize, id: &str) -> Vec<(&'static str, String)> {
    let submit = |responses: String| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"elicitation/submit","params":{{"elicitationId":{id},"partial":true,"responses":{responses}}}}}"#
        )
    };
    let many = |count: usize, item: fn(usize) -> String| {
        let items: Vec<String> = (0..count).map(item).collect();
        items.join(",")
    };
    let keys = many(bytes / 16, |n| format!(r#""{n:08}":0"#));
    let params = |params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"forms/list","params":{{{params}}}}}"#)
    };
    vec![
        ("empty calls", format!("[{}0]", "0,".repeat(bytes / 2))),
        (
            "calls",
            format!(
                "[{}]",
                many(bytes / 64, |n| {
                    format!(r#"{{"jsonrpc":"2.0","id":{n},"method":"no/such/method"}}"#)
                })
            ),
        ),
        ("parameters", params(&keys)),
        (
            "objects in objects",
            params(&format!(
                r#""a":[{}]"#,
                many(bytes / 100, |_| format!(
                    "{}{}",
                    r#"{"a":"#.repeat(19) + "0",
                    "}".repeat(19)
                ))
            )),
        ),
        ("answers", submit(format!("{{{keys}}}"))),
        (
            "values of an answer",
            submit(format!(r#"{{"target":[{}0]}}"#, "0,".repeat(bytes / 2))),
        ),
        (
            "escapes",
            submit(format!(r#"{{"target":"{}"}}"#, r"\u0041".repeat(bytes / 6))),
        ),
        (
            "a long name",
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"{}"}}"#,
                "m".repeat(bytes)
            ),
        ),
        (
            "a long id",
            format!(
                r#"{{"jsonrpc":"2.0","id":"{}","method":"forms/list"}}"#,
                "i".repeat(bytes)
            ),
        ),
        ("no JSON", format!("{}x", " ".repeat(bytes))),
    ]
}

/// CPU time of this thread, in nanoseconds.
#[cfg(target_os = "linux")]
pub(crate) fn thread_time() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    stat.split(' ').next().unwrap().parse().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn four_times_the_message_costs_about_four_times_the_work() {
    // Only the client and the server run on this thread.
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    for name in Wire::NAMES {
        let (world, mut wire, id) = runtime.block_on(async {
            let world = World::new().await;
            let id = world.ask().await;
            let wire = Wire::open(name, &world).await;
            (world, wire, id)
        });
        let mut cost = |bytes: usize, which: usize| {
            let (what, message) = hostile(bytes, &id.to_string()).swap_remove(which);
            let (mut memory, before) = (0, thread_time());
            for _ in 0..4 {
                let mut answer = json!(null);
                let measured = allocation_counter::measure(|| {
                    answer = runtime.block_on(wire.exchange(&message));
                });
                assert!(!answer.is_null(), "{name}: {what}");
                memory = memory.max(measured.bytes_max);
            }
            let time = thread_time() - before;
            (what, time, memory)
        };
        for which in 0..hostile(100, "0").len() {
            let (what, small, small_memory) = cost(512 << 10, which);
            let (_, large, large_memory) = cost(2 << 20, which);
            // Kernels count in ticks.
            let most = 12 * small + 50_000_000;
            assert!(large < most, "{name}: {what}: {small} ns, then {large} ns");
            let most = 12 * small_memory + (1 << 20);
            assert!(
                large_memory < most,
                "{name}: {what}: {small_memory} bytes, then {large_memory} bytes"
            );
        }
        // Others are served as before.
        let asked = json!({"elicitationId": id, "responses": answer()});
        let answered = runtime.block_on(wire.call("elicitation/submit", asked));
        assert_eq!(
            answered["result"]["status"], "completed",
            "{name}: {answered}"
        );
        runtime.block_on(world.engine.shutdown());
    }
}

#[tokio::test]
async fn what_is_refused_is_not_collected_first() {
    let world = World::new().await;
    let keys: Vec<String> = (0..2_000_000).map(|n| format!(r#""{n:07}":0"#)).collect();
    let keys = keys.join(",");
    let few: Vec<String> = (0..5000).map(|n| format!(r#""{n:04}":0"#)).collect();
    let nested = format!(r#"{{{},"n":"#, few.join(",")).repeat(100);
    let nested = format!("{nested}0{}", "}".repeat(100));
    for (what, message) in [
        ("a batch", format!("[{}0]", "0,".repeat(16 << 20))),
        ("a batch of calls", format!("[{}0]", "{},".repeat(300_000))),
        ("an object", format!("{{{keys}}}")),
        ("objects in objects", nested),
        (
            "a long id",
            format!(r#"{{"jsonrpc":"2.0","id":"{}"}}"#, "i".repeat(8 << 20)),
        ),
    ] {
        let mut answered = None;
        let memory = allocation_counter::measure(|| {
            let answering = world.rpc.answer(&world.session, message.as_bytes());
            answered = Some(futures_util::FutureExt::now_or_never(answering).unwrap());
        });
        assert!(!answered.unwrap().is_well_formed, "{what}");
        assert!(
            memory.bytes_max < 12 << 20,
            "{what}: {} bytes",
            memory.bytes_max
        );
    }
}

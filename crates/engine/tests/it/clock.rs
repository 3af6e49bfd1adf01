//! Clocks as callers see them.

use std::sync::Arc;
use std::time::Duration;

use entreat_core::UnixTime;
use entreat_engine::Clock;
use entreat_testkit::VirtualClock;

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn tasks_that_sleep_on_a_virtual_clock_run_when_it_moves() {
    let clock = VirtualClock::new(UnixTime::from_millis(1_000));
    let shared: Arc<dyn Clock> = Arc::new(clock.clone());
    let short = tokio::spawn(shared.sleep(MINUTE));
    let long = tokio::spawn(shared.sleep(MINUTE * 2));
    tokio::task::yield_now().await;
    assert_eq!((clock.sleepers(), clock.next_due()), (2, Some(MINUTE)));

    // A jump of the wall clock doesn't count as time.
    clock.jump_wall(i64::from(u32::MAX));
    tokio::task::yield_now().await;
    assert!(!short.is_finished());

    clock.advance(MINUTE);
    short.await.unwrap();
    assert!(!long.is_finished());
    clock.advance(MINUTE);
    long.await.unwrap();
}

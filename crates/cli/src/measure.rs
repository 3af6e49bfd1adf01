//! Metrics, collected for the page that a monitor reads.

use std::time::Duration;

use anyhow::Context as _;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

/// Bounds of the histograms, in seconds: a store call takes a fraction of a millisecond, a person
/// minutes.
const BUCKETS: &[f64] = &[
    0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 60.0, 120.0, 300.0,
    600.0, 3600.0,
];
/// How often what was measured is put together.
const UPKEEP: Duration = Duration::from_secs(5);

/// Begins to measure, for the rest of the program's life.
pub(crate) fn start() -> anyhow::Result<PrometheusHandle> {
    PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), BUCKETS)
        .and_then(PrometheusBuilder::install_recorder)
        .context("cannot begin to measure")
}

/// Puts together what was measured, now and then; without that, it would pile up while nobody
/// reads it. Never ends by itself.
pub(crate) async fn tend(handle: PrometheusHandle) -> std::convert::Infallible {
    loop {
        tokio::time::sleep(UPKEEP).await;
        handle.run_upkeep();
    }
}

//! The metrics of the service, in the text format of Prometheus.
//!
//! A recorder behind the `metrics` facade, by hand: two dozen series and one set of buckets need
//! none of the summaries, expiry and listeners for which the usual exporter brings eleven crates.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Context as _;
use metrics::{
    Counter, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder, SharedString, Unit,
};
use parking_lot::Mutex;

/// Upper bounds of the buckets of every histogram, in seconds: the gateway adds some microseconds to
/// a call, a store call takes a fraction of a millisecond, a person minutes.
const BUCKETS: [f64; 19] = [
    0.00001, 0.00003, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0,
    60.0, 120.0, 300.0, 600.0, 3600.0,
];

/// Installs a registry for the rest of the process.
pub(crate) fn install() -> anyhow::Result<Registry> {
    let registry = Registry::default();
    metrics::set_global_recorder(registry.clone())
        .context("cannot install the metrics registry")?;
    Ok(registry)
}

/// All metrics of this process.
#[derive(Clone, Default)]
pub(crate) struct Registry(Arc<Mutex<Metrics>>);

#[derive(Default)]
struct Metrics {
    /// By name, and then by labels.
    families: BTreeMap<String, Family>,
    /// What each name means.
    help: BTreeMap<String, SharedString>,
}

/// The series of one metric, by their labels as they are written.
enum Family {
    Counters(BTreeMap<String, Arc<AtomicU64>>),
    /// The bits of an `f64`, as the facade has it.
    Gauges(BTreeMap<String, Arc<AtomicU64>>),
    Histograms(BTreeMap<String, Arc<Buckets>>),
}

/// A histogram. Counts are per bucket; the text format accumulates them.
#[derive(Default)]
struct Buckets {
    counts: [AtomicU64; BUCKETS.len()],
    /// Values above the last bound.
    beyond: AtomicU64,
    /// The bits of an `f64`.
    sum: AtomicU64,
}

impl HistogramFn for Buckets {
    fn record(&self, value: f64) {
        let place = BUCKETS.partition_point(|bound| *bound < value);
        let count = self.counts.get(place).unwrap_or(&self.beyond);
        count.fetch_add(1, Ordering::Relaxed);
        let add = |sum| Some((f64::from_bits(sum) + value).to_bits());
        // Always `Some`, so it cannot fail.
        let _ = self
            .sum
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    }
}

impl Registry {
    /// Everything measured so far, as a monitor reads it.
    pub(crate) fn render(&self) -> String {
        let mut text = String::new();
        let metrics = self.0.lock();
        for (name, family) in &metrics.families {
            // Writing to a string cannot fail.
            if let Some(help) = metrics.help.get(name) {
                let help = help.replace('\\', r"\\").replace('\n', r"\n");
                let _ = writeln!(text, "# HELP {name} {help}");
            }
            let _ = family.write(&mut text, name);
        }
        text
    }

    fn describe(&self, name: &KeyName, help: SharedString) {
        let name = name.as_str().to_owned();
        self.0.lock().help.insert(name, help);
    }

    /// The series of a key, made on first use; `None` if the name belongs to another kind of
    /// metric.
    fn series<S: Default>(
        &self,
        key: &Key,
        empty: Family,
        of: impl FnOnce(&mut Family) -> Option<&mut BTreeMap<String, Arc<S>>>,
    ) -> Option<Arc<S>> {
        let families = &mut self.0.lock().families;
        let series = of(families.entry(key.name().to_owned()).or_insert(empty))?;
        Some(Arc::clone(series.entry(labels(key)).or_default()))
    }
}

impl Recorder for Registry {
    fn describe_counter(&self, name: KeyName, _: Option<Unit>, help: SharedString) {
        self.describe(&name, help);
    }

    fn describe_gauge(&self, name: KeyName, _: Option<Unit>, help: SharedString) {
        self.describe(&name, help);
    }

    fn describe_histogram(&self, name: KeyName, _: Option<Unit>, help: SharedString) {
        self.describe(&name, help);
    }

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        let series = self.series(
            key,
            Family::Counters(BTreeMap::new()),
            |family| match family {
                Family::Counters(series) => Some(series),
                Family::Gauges(_) | Family::Histograms(_) => None,
            },
        );
        series.map_or_else(Counter::noop, Counter::from_arc)
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        let series = self.series(
            key,
            Family::Gauges(BTreeMap::new()),
            |family| match family {
                Family::Gauges(series) => Some(series),
                Family::Counters(_) | Family::Histograms(_) => None,
            },
        );
        series.map_or_else(Gauge::noop, Gauge::from_arc)
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        let series = self.series(
            key,
            Family::Histograms(BTreeMap::new()),
            |family| match family {
                Family::Histograms(series) => Some(series),
                Family::Counters(_) | Family::Gauges(_) => None,
            },
        );
        series.map_or_else(Histogram::noop, Histogram::from_arc)
    }
}

impl Family {
    fn write(&self, out: &mut String, name: &str) -> std::fmt::Result {
        match self {
            Self::Counters(all) => {
                writeln!(out, "# TYPE {name} counter")?;
                for (labels, value) in all {
                    let value = value.load(Ordering::Relaxed);
                    writeln!(out, "{name}{} {value}", in_braces(labels))?;
                }
            }
            Self::Gauges(all) => {
                writeln!(out, "# TYPE {name} gauge")?;
                for (labels, value) in all {
                    let value = f64::from_bits(value.load(Ordering::Relaxed));
                    writeln!(out, "{name}{} {value}", in_braces(labels))?;
                }
            }
            Self::Histograms(all) => {
                writeln!(out, "# TYPE {name} histogram")?;
                for (labels, buckets) in all {
                    buckets.write(out, name, labels)?;
                }
            }
        }
        Ok(())
    }
}

impl Buckets {
    fn write(&self, out: &mut String, name: &str, labels: &str) -> std::fmt::Result {
        let separator = if labels.is_empty() { "" } else { "," };
        let mut count = 0;
        for (bound, bucket) in BUCKETS.iter().zip(&self.counts) {
            count += bucket.load(Ordering::Relaxed);
            writeln!(
                out,
                "{name}_bucket{{{labels}{separator}le=\"{bound}\"}} {count}"
            )?;
        }
        count += self.beyond.load(Ordering::Relaxed);
        let sum = f64::from_bits(self.sum.load(Ordering::Relaxed));
        writeln!(
            out,
            "{name}_bucket{{{labels}{separator}le=\"+Inf\"}} {count}"
        )?;
        writeln!(out, "{name}_sum{} {sum}", in_braces(labels))?;
        writeln!(out, "{name}_count{} {count}", in_braces(labels))
    }
}

fn in_braces(labels: &str) -> String {
    if labels.is_empty() {
        String::new()
    } else {
        format!("{{{labels}}}")
    }
}

/// The labels of a key as the text format has them, without the braces.
fn labels(key: &Key) -> String {
    let escaped = |value: &str| {
        value
            .replace('\\', r"\\")
            .replace('"', "\\\"")
            .replace('\n', r"\n")
    };
    let pairs: Vec<String> = key
        .labels()
        .map(|label| format!("{}=\"{}\"", label.key(), escaped(label.value())))
        .collect();
    pairs.join(",")
}

#[cfg(test)]
mod tests {
    use metrics::with_local_recorder;

    use super::*;

    #[test]
    fn counters_and_gauges_have_a_line_per_set_of_labels() {
        let registry = Registry::default();
        with_local_recorder(&registry, || {
            metrics::describe_counter!("asked_total", "Asked,\nwith \\.");
            metrics::describe_counter!("never_total", "Never counted.");
            metrics::counter!("asked_total", "mode" => "form").increment(2);
            metrics::counter!("asked_total", "mode" => "url").increment(1);
            metrics::counter!("asked_total", "mode" => "form").increment(1);
            metrics::gauge!("live").set(7.0);
            metrics::counter!("said_total", "what" => "a \"quoted\" \\ line\n").increment(1);
        });
        assert_eq!(
            registry.render(),
            "# HELP asked_total Asked,\\nwith \\\\.\n\
             # TYPE asked_total counter\n\
             asked_total{mode=\"form\"} 3\n\
             asked_total{mode=\"url\"} 1\n\
             # TYPE live gauge\n\
             live 7\n\
             # TYPE said_total counter\n\
             said_total{what=\"a \\\"quoted\\\" \\\\ line\\n\"} 1\n"
        );
    }

    #[test]
    fn a_histogram_counts_each_value_in_every_bucket_that_holds_it() {
        let registry = Registry::default();
        with_local_recorder(&registry, || {
            let seconds = metrics::histogram!("took_seconds", "call" => "read");
            for value in [0.0001, 0.0002, 5.0, 9_999.5] {
                seconds.record(value);
            }
        });
        let text = registry.render();
        for line in [
            "# TYPE took_seconds histogram",
            "took_seconds_bucket{call=\"read\",le=\"0.0001\"} 1",
            "took_seconds_bucket{call=\"read\",le=\"0.0003\"} 2",
            "took_seconds_bucket{call=\"read\",le=\"3\"} 2",
            "took_seconds_bucket{call=\"read\",le=\"10\"} 3",
            "took_seconds_bucket{call=\"read\",le=\"3600\"} 3",
            "took_seconds_bucket{call=\"read\",le=\"+Inf\"} 4",
            "took_seconds_count{call=\"read\"} 4",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
        assert!(
            text.contains("took_seconds_sum{call=\"read\"} 10004.5003\n"),
            "{text}"
        );
    }

    #[test]
    fn a_name_that_is_used_for_two_kinds_keeps_the_first() {
        let registry = Registry::default();
        with_local_recorder(&registry, || {
            metrics::counter!("live").increment(1);
            metrics::gauge!("live").set(3.0);
        });
        assert_eq!(registry.render(), "# TYPE live counter\nlive 1\n");
    }
}

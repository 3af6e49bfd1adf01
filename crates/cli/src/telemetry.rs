//! Exports traces to a collector, by OTLP over HTTP.
//!
//! A thread of the exporter collects spans and sends them in batches. Requests never wait for it,
//! and batches that the collector does not accept are lost.

mod client;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{BatchSpanProcessor, SdkTracerProvider, SpanData};
use tokio::task::spawn_blocking;
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

use self::client::OtlpClient;

/// The path for traces below the collector's endpoint.
const PATH: &str = "/v1/traces";
/// The timeout of the last batch.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// The trace exporter.
pub(crate) struct Telemetry(SdkTracerProvider);

impl Telemetry {
    /// Starts the exporter, if a collector is configured. Batches are sent on the current runtime.
    pub(crate) fn start(endpoint: Option<&str>, service: &str) -> anyhow::Result<Option<Self>> {
        let Some(endpoint) = endpoint else {
            return Ok(None);
        };
        let url = format!("{endpoint}{PATH}");
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(OtlpClient::new(&url)?)
            .with_endpoint(url)
            .build()
            .context("cannot send traces")?;
        let resource = Resource::builder().with_service_name(service.to_owned());
        let exporter = LoggingExporter {
            exporter,
            is_down: AtomicBool::new(false),
        };
        let provider = SdkTracerProvider::builder()
            .with_span_processor(BatchSpanProcessor::builder(exporter).build())
            .with_resource(resource.build())
            .build();
        Ok(Some(Self(provider)))
    }

    /// Returns the layer that exports spans. Events go to the log only.
    pub(crate) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        tracing_opentelemetry::layer()
            .with_tracer(self.0.tracer("entreat"))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            .with_filter(filter_fn(|metadata| {
                metadata.is_span() && metadata.target().starts_with("entreat")
            }))
    }

    /// Sends the remaining spans, within a timeout.
    pub(crate) async fn close(self) {
        let closing = spawn_blocking(move || self.0.shutdown_with_timeout(SHUTDOWN_TIMEOUT));
        if let Ok(Err(error)) = closing.await {
            tracing::warn!(%error, "the last traces did not reach the collector");
        }
    }
}

/// An exporter that logs once when the collector goes down, and once when it is back.
#[derive(Debug)]
struct LoggingExporter {
    exporter: SpanExporter,
    is_down: AtomicBool,
}

impl opentelemetry_sdk::trace::SpanExporter for LoggingExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        let exported = self.exporter.export(batch).await;
        let was_down = self.is_down.swap(exported.is_err(), Ordering::Relaxed);
        match exported {
            Ok(()) if was_down => tracing::info!("the collector accepts traces again"),
            Err(error) if !was_down => {
                tracing::warn!(
                    %error,
                    spans,
                    "cannot send traces to the collector; they are dropped"
                );
            }
            Ok(()) | Err(_) => {}
        }
        Ok(())
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

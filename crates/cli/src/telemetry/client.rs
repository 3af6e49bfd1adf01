//! Posts batches to the collector, one connection per batch.

use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use entreat_wire::http::{Client, ClientError};
use http::{Request, Response};
use opentelemetry_http::{HttpClient, HttpError};
use tokio::runtime::Handle;

/// The timeout of one batch, from connecting to the end of the response.
const TIMEOUT: Duration = Duration::from_secs(10);
/// A collector's response is short.
const MAX_RESPONSE_BYTES: usize = 64 << 10;

/// The HTTP client of the exporter, whose thread has no runtime.
#[derive(Debug)]
pub(super) struct OtlpClient {
    runtime: Handle,
    client: Client,
}

impl OtlpClient {
    /// Creates a client of a collector on the current runtime.
    pub(super) fn new(url: &str) -> Result<Self, ClientError> {
        Ok(Self {
            runtime: Handle::current(),
            client: Client::builder(url).build()?,
        })
    }
}

impl HttpClient for OtlpClient {
    fn send_bytes<'client, 'request>(
        &'client self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'request>>
    where
        'client: 'request,
    {
        let (head, body) = request.into_parts();
        let request = self
            .client
            .request(head.method)
            .headers(head.headers)
            .body(body)
            .timeout(TIMEOUT);
        let exchange = self.runtime.spawn(async {
            let answer = request.send().await?;
            let mut response = Response::new(Bytes::new());
            *response.status_mut() = answer.status();
            *response.headers_mut() = answer.headers().clone();
            *response.body_mut() = answer.body(MAX_RESPONSE_BYTES).await?;
            Ok(response)
        });
        Box::pin(async move { exchange.await? })
    }
}

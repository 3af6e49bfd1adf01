//! Runs futures to completion.

use anyhow::Context as _;

/// Runs a future to completion on this thread.
///
/// Does not wait for blocking threads afterwards: one of them may be waiting for input, and cannot
/// be woken.
pub(crate) fn block_on<T>(future: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    run(&mut tokio::runtime::Builder::new_current_thread(), future)
}

/// Runs a future to completion on a multi-threaded runtime.
pub(crate) fn block_on_all<T>(
    future: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<T> {
    run(&mut tokio::runtime::Builder::new_multi_thread(), future)
}

fn run<T>(
    builder: &mut tokio::runtime::Builder,
    future: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<T> {
    let runtime = builder
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let result = runtime.block_on(future);
    runtime.shutdown_background();
    result
}

//! The runtime that a command waits on.

use anyhow::Context as _;

/// Runs a future to its end, on this thread.
///
/// Does not wait for threads that are still blocked when the future has ended: one of them may
/// sit at a prompt, and nothing can wake it.
pub(crate) fn block_on<T>(future: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    run(&mut tokio::runtime::Builder::new_current_thread(), future)
}

/// Runs a future to its end, and what it spawns on all processors.
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

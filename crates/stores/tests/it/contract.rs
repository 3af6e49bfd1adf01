//! The embedded store fulfils the contract of every store, and of a durable one.

use entreat_stores::{EmbeddedOptions, EmbeddedStore};
use entreat_testkit::SharedStore;
use entreat_testkit::store_contract::what_was_acknowledged_is_there_after_a_restart;
use tempfile::TempDir;

fn fresh() -> (EmbeddedStore, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    (
        EmbeddedStore::open(path, EmbeddedOptions::default()).unwrap(),
        folder,
    )
}

entreat_testkit::store_contract!(fresh());

/// Two handles within one process, which share the store that it has opened.
fn handles() -> (
    SharedStore<EmbeddedStore>,
    SharedStore<EmbeddedStore>,
    TempDir,
) {
    let (store, folder) = fresh();
    let one = SharedStore::new(store);
    let other = one.another();
    (one, other, folder)
}

mod of_handles {
    use super::handles;

    entreat_testkit::store_contract_of_handles!(handles());
}

#[tokio::test]
async fn everything_is_there_after_a_close() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let open = async || EmbeddedStore::open(&path, EmbeddedOptions::default()).unwrap();
    let close = async |store: EmbeddedStore| store.close().await;
    what_was_acknowledged_is_there_after_a_restart(open, close).await;
}

#[tokio::test]
async fn everything_is_there_after_a_drop() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let open = async || EmbeddedStore::open(&path, EmbeddedOptions::default()).unwrap();
    let close = async |store: EmbeddedStore| drop(store);
    what_was_acknowledged_is_there_after_a_restart(open, close).await;
}

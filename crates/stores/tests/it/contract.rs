//! The embedded store fulfils the contract of every store, and of a durable one.

use entreat_stores::{EmbeddedOptions, EmbeddedStore};
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

//! The store in memory keeps the promises of every store.

use entreat_engine::MemoryStore;

entreat_testkit::store_contract!((MemoryStore::new(), ()));

//! The memory store fulfils the contract of every store.

use entreat_engine::MemoryStore;

entreat_testkit::store_contract!((MemoryStore::new(), ()));

//! Asks questions and settles each exactly once.
//!
//! The [`Engine`] keeps [elicitations](Elicitation) in a [`Store`], holds them to their deadlines
//! and their askers to their limits, wakes who [waits](Wait), and seals secrets before anything
//! is kept. What may happen to an elicitation is decided by
//! [`Lifecycle`](entreat_core::Lifecycle), without a clock; here the decisions are carried out.
//!
//! Deliberately absent: MCP, HTTP, SQL, configuration files. Time, randomness, DNS and the store
//! are arguments.

mod ask;
mod asker;
mod connection;
mod courier;
mod elicitation;
mod engine;
mod error;
mod links;
mod single_use;
mod snapshot;
mod wait;

mod record;
pub mod shares;
pub mod store;

mod deadlines;
mod events;
mod fair_queue;
mod given;
mod health;
mod limits;
mod observe;
mod payload;
mod room;
mod rotation;
mod step;
mod waiters;

mod clock;
mod entropy;
mod resolver;
mod vault;

pub use ask::{Ask, INLINE_FIELD};
pub use asker::{Asker, AskerSettings, ElicitationPage, MAX_PAGE, MAX_SIZE_LIMIT};
pub use clock::{Clock, SystemClock};
pub use connection::Connection;
pub use courier::{CallbackLimits, Courier, Parcel, Receipt};
pub use elicitation::{Drafted, Elicitation, Extended};
pub use engine::{Builder, Engine, EngineSettings, TimeoutConfig};
pub use entropy::{Entropy, SystemEntropy};
pub use error::{ActError, AskError, Refusal, StartError};
pub use events::{Event, Heard, Subscription};
pub use limits::Limits;
pub use links::{Links, Opening};
pub use record::{
    Channel, Delivery, Entry, Extras, Held, Payload, Principal, Record, Request, Subject, Version,
};
pub use resolver::{
    Cleared, LookUp, ResolveError, Resolver, SystemResolver, Unresolved, UrlError, judge_resolved,
};
pub use room::{AnswerMemory, HeldPlace};
pub use snapshot::Snapshot;
pub use store::{MemoryStore, Store, StoreError, Which};
pub use vault::{KeyLineFault, KeyProof, KeyRing, KeyRingError, Sealed, Secret, Vault, VaultError};
pub use wait::Wait;

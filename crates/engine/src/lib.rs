//! Asks questions and settles each exactly once.
//!
//! The [`Engine`] stores [elicitations](Elicitation) in a [`Store`], enforces deadlines and rate
//! limits, wakes [waiters](Wait), and encrypts secrets before they reach the store. State
//! transitions are decided by [`Lifecycle`](entreat_core::Lifecycle), which is pure; the engine
//! performs them.
//!
//! Deliberately absent: MCP, HTTP, SQL, configuration files. Clock, randomness, DNS and store are
//! injected.

mod ask;
mod asker;
mod callbacks;
mod census;
mod changes;
mod connection;
mod elicitation;
mod engine;
mod error;
mod links;
mod notes;
mod operator;
mod single_use;
mod snapshot;
mod wait;

mod record;
pub mod shares;
pub mod store;

mod answer_memory;
mod deadlines;
mod events;
pub mod fair_queue;
mod health;
mod key_proof;
mod limits;
mod log_throttle;
mod observe;
mod padded;
mod payload;
pub mod rate;
mod refusals;
mod rotation;
mod step;
mod submission;
mod waiters;

mod clock;
mod entropy;
mod resolver;
mod vault;

pub use answer_memory::{AnswerMemory, MemoryPermit};
pub use ask::{Ask, INLINE_FIELD};
pub use asker::{Asker, AskerSettings, ElicitationPage, MAX_PAGE, MAX_SIZE_LIMIT};
pub use callbacks::{CallbackDelivery, CallbackLimits, CallbackSender, DeliveryResult};
pub use clock::{Clock, SystemClock};
pub use connection::Connection;
pub use elicitation::{Drafted, Elicitation, Extended};
pub use engine::{Builder, Engine, EngineSettings, TimeoutConfig};
pub use entropy::{Entropy, SystemEntropy};
pub use error::{ActError, AskError, Refusal, StartError};
pub use events::{Event, Subscription, SubscriptionItem};
pub use limits::Limits;
pub use links::{InboxLink, Links, NoPage, PageUrlFuture};
pub use log_throttle::LogThrottle;
pub use operator::Operator;
pub use rate::{Rate, RateLimiter};
pub use record::{
    ANSWER_KEYS, Actor, AnswerState, Channel, Delivery, Entry, Extras, Payload, Principal, Record,
    Request, RespondentAuth, SetAside, Subject, Unwritten, Version,
};
pub use resolver::{
    Lookup, ResolveError, Resolver, SystemResolver, Unresolved, UrlError, VettedUrl,
    resolve_and_check,
};
pub use snapshot::Snapshot;
pub use store::{MemoryStore, StatusFilter, Store, StoreError};
pub use vault::{KeyLineFault, KeyProof, KeyRing, KeyRingError, Sealed, Secret, Vault, VaultError};
pub use wait::Wait;

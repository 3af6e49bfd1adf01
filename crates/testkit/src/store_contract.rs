//! The contract of stores, as tests.
//!
//! Each function takes an empty store and panics if the store violates the contract.
//! [`store_contract!`](crate::store_contract!) generates a test for each. Durable stores must also
//! pass [`what_was_acknowledged_is_there_after_a_restart`], and stores that can be opened several
//! times at once what [`store_contract_of_handles!`](crate::store_contract_of_handles!) generates.

mod claims;
mod durable;
mod handles;
mod lists;
mod purging;
mod races;
mod steps;
mod timers;

use entreat_core::UnixTime;
use entreat_engine::store::Reply;
use entreat_engine::{Record, Store};

pub use claims::{
    a_claim_keeps_its_first_outcome, a_claim_that_was_taken_over_is_the_new_holders,
    a_claim_without_a_holder_is_kept_as_a_mark, a_released_claim_is_free_and_others_stay,
    expired_claims_are_forgotten_up_to_the_limit, looking_for_a_claim_makes_none,
    of_many_claims_of_one_key_the_first_holds,
};
pub use durable::what_was_acknowledged_is_there_after_a_restart;
pub use handles::{
    a_step_through_another_handle_is_a_conflict, a_value_is_claimed_once_by_all_handles,
    an_idempotency_key_is_used_once_by_all_handles, each_handle_is_told_what_the_other_has_changed,
    no_handle_that_is_open_is_gone, of_many_steps_through_two_handles_one_wins,
    what_one_handle_purges_is_gone_for_the_other, what_one_handle_writes_the_other_reads,
};
pub use lists::{
    lists_are_newest_first_and_come_in_pages, lists_are_those_of_a_person_even_after_a_change,
    lists_are_those_of_an_asker_and_of_a_state, records_of_one_moment_are_told_apart,
    the_census_counts_live_records_alone, the_census_of_principals_counts_live_records_alone,
};
pub use purging::{
    purged_keys_can_be_used_again, purging_stops_at_the_limit,
    purging_takes_what_settled_before_and_nothing_that_is_live,
};
pub use races::{
    a_note_is_replaced_if_it_is_the_expected_one,
    of_many_creations_with_one_key_exactly_one_is_kept, of_many_steps_for_one_version_one_wins,
    steps_of_many_records_do_not_disturb_each_other,
};
pub use steps::{
    a_key_names_the_first_record_of_its_asker, a_large_payload_is_kept,
    a_new_record_is_loaded_as_it_was_kept, a_record_with_everything_is_kept,
    a_sealed_payload_is_kept_bit_by_bit, a_settled_record_takes_further_steps,
    a_step_for_an_unknown_record_is_missing, a_step_for_another_version_changes_nothing,
    a_step_replaces_the_record, a_store_that_works_passes_its_check, an_asker_finds_its_own_record,
    heavy_answers_in_memory_are_named, notes_are_kept_by_name, two_askers_may_use_the_same_key,
};
pub use timers::{
    an_outcome_to_be_delivered_is_due_and_stays, due_records_are_named_up_to_the_limit,
    settled_records_have_no_timer, timers_are_named_in_time_and_never_early,
    timers_behave_like_a_sorted_list,
};

/// Generates a test for every rule of the contract.
///
/// Takes an expression that creates an empty store and whatever must outlive it, such as its
/// folder; it is evaluated for each test. The crate needs `tokio` with the feature `macros`.
///
/// ```
/// mod contract {
///     use entreat_engine::MemoryStore;
///
///     entreat_testkit::store_contract!((MemoryStore::new(), ()));
/// }
/// ```
#[macro_export]
macro_rules! store_contract {
    ($make:expr) => {
        $crate::store_contract! { @ $make =>
            a_claim_keeps_its_first_outcome
            a_claim_that_was_taken_over_is_the_new_holders
            a_claim_without_a_holder_is_kept_as_a_mark
            a_key_names_the_first_record_of_its_asker
            a_large_payload_is_kept
            a_new_record_is_loaded_as_it_was_kept
            a_note_is_replaced_if_it_is_the_expected_one
            a_record_with_everything_is_kept
            a_released_claim_is_free_and_others_stay
            a_sealed_payload_is_kept_bit_by_bit
            a_settled_record_takes_further_steps
            a_step_for_an_unknown_record_is_missing
            a_step_for_another_version_changes_nothing
            a_step_replaces_the_record
            a_store_that_works_passes_its_check
            timers_are_named_in_time_and_never_early
            timers_behave_like_a_sorted_list
            an_asker_finds_its_own_record
            an_outcome_to_be_delivered_is_due_and_stays
            due_records_are_named_up_to_the_limit
            expired_claims_are_forgotten_up_to_the_limit
            heavy_answers_in_memory_are_named
            looking_for_a_claim_makes_none
            lists_are_newest_first_and_come_in_pages
            lists_are_those_of_a_person_even_after_a_change
            lists_are_those_of_an_asker_and_of_a_state
            notes_are_kept_by_name
            of_many_claims_of_one_key_the_first_holds
            of_many_creations_with_one_key_exactly_one_is_kept
            of_many_steps_for_one_version_one_wins
            purged_keys_can_be_used_again
            purging_stops_at_the_limit
            purging_takes_what_settled_before_and_nothing_that_is_live
            records_of_one_moment_are_told_apart
            settled_records_have_no_timer
            steps_of_many_records_do_not_disturb_each_other
            the_census_counts_live_records_alone
            the_census_of_principals_counts_live_records_alone
            two_askers_may_use_the_same_key
        }
    };
    (@ $make:expr => $($promise:ident)*) => {
        $(
            #[tokio::test]
            async fn $promise() {
                let (store, _outlives_it) = $make;
                $crate::store_contract::$promise(std::sync::Arc::new(store)).await;
            }
        )*
    };
}

/// Generates a test for every rule about several handles on one store.
///
/// Takes an expression that creates an empty store and returns two handles on it, and whatever must
/// outlive them.
///
/// ```
/// mod contract {
///     use entreat_engine::MemoryStore;
///     use entreat_testkit::SharedStore;
///
///     fn handles() -> (SharedStore<MemoryStore>, SharedStore<MemoryStore>, ()) {
///         let one = SharedStore::new(MemoryStore::new());
///         let other = one.another();
///         (one, other, ())
///     }
///
///     entreat_testkit::store_contract_of_handles!(handles());
/// }
/// ```
#[macro_export]
macro_rules! store_contract_of_handles {
    ($make:expr) => {
        $crate::store_contract_of_handles! { @ $make =>
            a_step_through_another_handle_is_a_conflict
            a_value_is_claimed_once_by_all_handles
            an_idempotency_key_is_used_once_by_all_handles
            each_handle_is_told_what_the_other_has_changed
            no_handle_that_is_open_is_gone
            of_many_steps_through_two_handles_one_wins
            what_one_handle_purges_is_gone_for_the_other
            what_one_handle_writes_the_other_reads
        }
    };
    (@ $make:expr => $($promise:ident)*) => {
        $(
            #[tokio::test]
            async fn $promise() {
                let (one, other, _outlives_them) = $make;
                let (one, other) = (std::sync::Arc::new(one), std::sync::Arc::new(other));
                $crate::store_contract::$promise(one, other).await;
            }
        )*
    };
}

/// A time relative to the epoch of these tests.
fn at(millis: u64) -> UnixTime {
    UnixTime::from_millis(1_706_889_000_000 + millis)
}

/// Awaits a reply that must not fail.
#[expect(clippy::panic, reason = "a violation of the contract fails the test")]
async fn kept<T: Unpin>(reply: Reply<T>) -> T {
    match reply.await {
        Ok(answer) => answer,
        Err(error) => panic!("the store failed: {error} ({error:?})"),
    }
}

/// Replaces a record, at normal or low priority.
async fn stepped(store: &impl Store, record: Record, low_priority: bool) {
    kept(if low_priority {
        store.commit_low_priority(record)
    } else {
        store.commit(record)
    })
    .await;
}

/// Loads a record that must exist.
async fn loaded(store: &impl Store, record: &Record) -> Record {
    let found = kept(store.load(record.id)).await;
    found.unwrap_or_else(|| broken(&format!("{} does not exist", record.id)))
}

#[expect(clippy::panic, reason = "a violation of the contract fails the test")]
fn broken(what: &str) -> ! {
    panic!("{what}")
}

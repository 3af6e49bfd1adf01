//! Claims on single-use values.

use std::sync::Arc;

use entreat_core::UnixTime;
use entreat_engine::Store;
use entreat_engine::store::{Claim, Holder};
use tokio::task::JoinSet;

use super::{at, broken, kept};

/// A claim with a numbered key and inputs.
pub(super) fn claim(number: u8, inputs: u8, expires: UnixTime) -> Claim {
    Claim {
        key: [number; 24],
        inputs: [inputs; 16],
        expires,
        holder: Some(HOLDER),
        outcome: None,
    }
}

const HOLDER: Holder = Holder { node: 3, epoch: 7 };

/// Of concurrent claims one succeeds, and all others get the first one.
pub async fn of_many_claims_of_one_key_the_first_holds(store: Arc<impl Store>) {
    let mut callers = JoinSet::new();
    for caller in 0..64 {
        let store = store.clone();
        callers.spawn(async move {
            let claim = claim(7, caller, at(1_000));
            (claim.clone(), kept(store.claim(claim)).await)
        });
    }
    let (mut fresh, mut told) = (Vec::new(), Vec::new());
    while let Some(done) = callers.join_next().await {
        match done {
            Ok((claim, None)) => fresh.push(claim),
            Ok((_, Some(first))) => told.push(first),
            Err(error) => broken(&format!("{error}")),
        }
    }
    assert_eq!((fresh.len(), told.len()), (1, 63));
    assert!(told.iter().all(|first| *first == fresh[0]), "{told:?}");
    // Other keys are independent.
    assert_eq!(kept(store.claim(claim(8, 0, at(1_000)))).await, None);
}

/// The outcome of a claim is returned to later claims unchanged, and never replaced.
pub async fn a_claim_keeps_its_first_outcome(store: Arc<impl Store>) {
    let first = claim(1, 1, at(1_000));
    kept(store.claim(first.clone())).await;
    let outcome: Vec<u8> = (0..=255).collect();
    assert!(kept(store.end_claim(first.key, first.holder, outcome.clone())).await);
    assert!(!kept(store.end_claim(first.key, first.holder, b"other".to_vec())).await);
    let found = kept(store.claim(claim(1, 2, at(2_000)))).await;
    let outcome = Some(outcome.into());
    assert_eq!(found, Some(Claim { outcome, ..first }));
    // An outcome without a claim is ignored.
    assert!(!kept(store.end_claim([9; 24], first.holder, b"lost".to_vec())).await);
    assert_eq!(kept(store.claim(claim(9, 1, at(1_000)))).await, None);
}

/// A released claim can be made again, also with other inputs.
pub async fn a_released_claim_is_free_and_others_stay(store: Arc<impl Store>) {
    for number in 1..=3 {
        kept(store.claim(claim(number, 1, at(1_000)))).await;
    }
    kept(store.end_claim([2; 24], Some(HOLDER), b"done".to_vec())).await;
    kept(store.release_claim([1; 24], [1; 16], Some(HOLDER))).await;
    kept(store.release_claim([2; 24], [1; 16], Some(HOLDER))).await;
    kept(store.release_claim([3; 24], [2; 16], Some(HOLDER))).await;
    let mut is_free = Vec::new();
    for number in 1..=3 {
        let found = kept(store.claim(claim(number, 2, at(1_000)))).await;
        is_free.push(found.is_none());
    }
    // The second has an outcome, and the third was made with other inputs.
    assert_eq!(is_free, [true, false, false]);
}

/// A claim without an outcome is given to one new holder, and then the earlier one can neither end
/// nor release it.
pub async fn a_claim_that_was_taken_over_is_the_new_holders(store: Arc<impl Store>) {
    let first = claim(5, 1, at(1_000));
    kept(store.claim(first.clone())).await;
    let later = Some(Holder { epoch: 8, ..HOLDER });
    let taken = Claim {
        holder: later,
        ..first.clone()
    };
    let other_inputs = Claim {
        inputs: [2; 16],
        ..taken.clone()
    };
    assert!(!kept(store.take_over_claim(other_inputs, Some(HOLDER))).await);
    assert!(!kept(store.take_over_claim(taken.clone(), later)).await);
    assert!(!kept(store.take_over_claim(taken.clone(), None)).await);
    let mut takers = JoinSet::new();
    for _ in 0..16 {
        let (store, taken) = (store.clone(), taken.clone());
        takers.spawn(async move { kept(store.take_over_claim(taken, Some(HOLDER))).await });
    }
    let takers = takers.join_all().await;
    assert_eq!(takers.iter().filter(|has_it| **has_it).count(), 1);
    assert_eq!(kept(store.find_claim(first.key)).await, Some(taken.clone()));
    kept(store.release_claim(first.key, first.inputs, Some(HOLDER))).await;
    assert!(!kept(store.end_claim(first.key, Some(HOLDER), b"late".to_vec())).await);
    assert!(kept(store.end_claim(first.key, later, b"done".to_vec())).await);
    assert!(!kept(store.take_over_claim(first.clone(), later)).await);
    let found = kept(store.find_claim(first.key)).await;
    let outcome = Some(b"done"[..].into());
    assert_eq!(found, Some(Claim { outcome, ..taken }));
}

/// A claim that nobody holds is a mark, and is kept as one.
pub async fn a_claim_without_a_holder_is_kept_as_a_mark(store: Arc<impl Store>) {
    let mark = Claim {
        holder: None,
        ..claim(6, 1, at(1_000))
    };
    kept(store.claim(mark.clone())).await;
    assert_eq!(kept(store.find_claim(mark.key)).await, Some(mark.clone()));
    kept(store.release_claim(mark.key, mark.inputs, Some(HOLDER))).await;
    assert_eq!(kept(store.find_claim(mark.key)).await, Some(mark.clone()));
    kept(store.release_claim(mark.key, mark.inputs, None)).await;
    assert_eq!(kept(store.find_claim(mark.key)).await, None);
}

/// A claim can be found without being made.
pub async fn looking_for_a_claim_makes_none(store: Arc<impl Store>) {
    assert_eq!(kept(store.find_claim([4; 24])).await, None);
    let first = claim(4, 1, at(1_000));
    assert_eq!(kept(store.claim(first.clone())).await, None);
    assert_eq!(kept(store.find_claim([4; 24])).await, Some(first.clone()));
    kept(store.end_claim([4; 24], first.holder, b"done".to_vec())).await;
    let outcome = Some(b"done"[..].into());
    let found = kept(store.find_claim([4; 24])).await;
    assert_eq!(found, Some(Claim { outcome, ..first }));
}

/// Claims are purged from their expiry on, in the order of expiry.
pub async fn expired_claims_are_forgotten_up_to_the_limit(store: Arc<impl Store>) {
    for number in 1..=6 {
        let expires = at(10 * (7 - u64::from(number)));
        kept(store.claim(claim(number, 1, expires))).await;
    }
    kept(store.end_claim([6; 24], Some(HOLDER), b"done".to_vec())).await;
    assert_eq!(kept(store.purge_claims(at(9), 10)).await, 0);
    assert_eq!(kept(store.purge_claims(at(40), 3)).await, 3);
    let is_there = async |number| {
        let found = kept(store.claim(claim(number, 2, at(0)))).await;
        found.is_some_and(|first| first.inputs == [1; 16])
    };
    for number in 1..=6 {
        assert_eq!(is_there(number).await, number <= 3, "number {number}");
    }
}

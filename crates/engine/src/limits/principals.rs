//! What the principals of one asker have used up, each of its share.
//!
//! A principal is remembered while it has live elicitations or a rate that has not recovered, and
//! only once the asker's own limits have let it in: whoever can invent principals fills nothing.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use entreat_core::UnixTime;
use governor::{Quota, RateLimiter};
use parking_lot::Mutex;

use super::{LatestCall, Limiter, Limits, check};
use crate::error::AskError;

#[derive(Default)]
pub(super) struct Principals(Mutex<HashMap<Arc<str>, Used>>);

/// What one principal has used up. A rate that it never used has no limiter.
#[derive(Default)]
struct Used {
    live: usize,
    /// Creations that were charged and then came to nothing.
    credit: usize,
    creations: Option<Limiter>,
    requests: Option<Limiter>,
    latest: LatestCall,
}

impl Principals {
    /// Charges a request to a principal and, if it has not used up its share, to its asker.
    pub(super) fn charge_request(
        &self,
        principal: &str,
        limits: &Limits,
        now: UnixTime,
        charge_asker: impl FnOnce() -> Result<(), Duration>,
    ) -> Result<(), Duration> {
        let Some(rate) = share_of_rate(limits.requests_per_second, limits) else {
            return charge_asker();
        };
        let mut known = self.0.lock();
        if let Some(used) = known.get(principal) {
            used.latest.set(now);
            if let Some(limiter) = &used.requests {
                check(limiter, &used.latest)?;
                return charge_asker();
            }
        }
        charge_asker()?;
        let used = known.entry(principal.into()).or_default();
        used.latest.set(now);
        let limiter = used.limiter(Quota::per_second(rate));
        // The first of a rate, which is at least one.
        let charged = check(&limiter, &used.latest);
        used.requests = Some(limiter);
        charged
    }

    /// Takes a place of a principal's share and charges a creation to it, if its asker is let in
    /// as well.
    pub(super) fn admit(
        &self,
        principal: &str,
        limits: &Limits,
        in_all: usize,
        now: UnixTime,
        admit_asker: impl FnOnce() -> Result<(), AskError>,
    ) -> Result<(), AskError> {
        let limit = share_of(limits.live.min(in_all), limits);
        let rate = share_of_rate(limits.creations_per_minute, limits);
        let refused = |retry_after| AskError::RateLimited { retry_after };
        let mut known = self.0.lock();
        let mut is_charged = false;
        if let Some(used) = known.get_mut(principal) {
            used.latest.set(now);
            if used.live >= limit {
                return Err(AskError::TooManyLive { limit });
            }
            is_charged = used.charge_creation(rate).map_err(refused)?;
        }
        if let Err(error) = admit_asker() {
            if let Some(used) = known.get_mut(principal).filter(|_| is_charged) {
                used.credit += 1;
            }
            return Err(error);
        }
        let used = known.entry(principal.into()).or_default();
        used.latest.set(now);
        used.live += 1;
        if let Some(rate) = rate.filter(|_| !is_charged) {
            let limiter = used.limiter(Quota::per_minute(rate));
            check(&limiter, &used.latest).map_err(refused)?;
            used.creations = Some(limiter);
        }
        Ok(())
    }

    /// Takes an admission back that came to nothing.
    pub(super) fn refund(&self, principal: &str) {
        let mut known = self.0.lock();
        if let Some(used) = known.get_mut(principal) {
            used.credit += 1;
        }
        drop(known);
        self.release(principal);
    }

    /// Gives back the place of an elicitation that has settled.
    pub(super) fn release(&self, principal: &str) {
        let mut known = self.0.lock();
        if let Some(used) = known.get_mut(principal) {
            used.live = used.live.saturating_sub(1);
            if used.live == 0 && used.creations.is_none() && used.requests.is_none() {
                known.remove(principal);
            }
        }
    }

    /// Counts elicitations that are live already.
    pub(super) fn count_in(&self, principal: &str, live: usize) {
        self.0.lock().entry(principal.into()).or_default().live += live;
    }

    /// Forgets those whose rates have recovered.
    pub(super) fn close_quiet(&self, recently: UnixTime) {
        let mut known = self.0.lock();
        known.retain(|_, used| used.live > 0 || !used.latest.is_before(recently));
        known.shrink_to_fit();
    }
}

impl Used {
    fn limiter(&self, quota: Quota) -> Limiter {
        RateLimiter::direct_with_clock(quota, self.latest.clone())
    }

    /// Charges a creation; false if the rate was not used before, or there is none.
    fn charge_creation(&mut self, rate: Option<NonZeroU32>) -> Result<bool, Duration> {
        let Some(limiter) = self.creations.as_ref().filter(|_| rate.is_some()) else {
            return Ok(false);
        };
        if self.credit > 0 {
            self.credit -= 1;
        } else {
            check(limiter, &self.latest)?;
        }
        Ok(true)
    }
}

/// A principal's share of a number, at least one.
fn share_of(number: usize, limits: &Limits) -> usize {
    let percent = usize::from(limits.principal_share);
    let share = (number / 100).saturating_mul(percent) + (number % 100 * percent).div_ceil(100);
    share.clamp(1, number.max(1))
}

fn share_of_rate(rate: Option<NonZeroU32>, limits: &Limits) -> Option<NonZeroU32> {
    let share = share_of(rate?.get() as usize, limits);
    NonZeroU32::new(u32::try_from(share).unwrap_or(u32::MAX))
}

//! Usage of one asker's principals, each within its share.
//!
//! A principal has an entry while it has live elicitations or a rate limit that has not recovered,
//! and only after the asker's own limits admitted it: made-up principals cannot fill memory.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use entreat_core::UnixTime;
use parking_lot::Mutex;

use super::{LatestCall, Limits};
use crate::error::AskError;
use crate::rate::{Rate, RateLimiter};

#[derive(Default)]
pub(super) struct Principals(Mutex<HashMap<Arc<str>, Usage>>);

/// The usage of one principal. Limiters are created on first use.
#[derive(Default)]
struct Usage {
    live: usize,
    /// Refunded creations.
    credit: usize,
    creations: Option<RateLimiter>,
    requests: Option<RateLimiter>,
    latest: LatestCall,
}

impl Principals {
    /// Charges a request to a principal and, if it is within its share, to its asker.
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
                limiter.check(now)?;
                return charge_asker();
            }
        }
        charge_asker()?;
        let used = known.entry(principal.into()).or_default();
        used.latest.set(now);
        let limiter = RateLimiter::new(Rate::per_second(rate));
        // Never fails: it is the first of a rate of at least one.
        let charged = limiter.check(now);
        used.requests = Some(limiter);
        charged
    }

    /// Counts a live elicitation and charges a creation to a principal, if its asker is admitted
    /// too.
    pub(super) fn admit(
        &self,
        principal: &str,
        limits: &Limits,
        engine_limit: usize,
        now: UnixTime,
        admit_asker: impl FnOnce() -> Result<(), AskError>,
    ) -> Result<(), AskError> {
        let limit = share_of(limits.live.min(engine_limit), limits);
        let rate = share_of_rate(limits.creations_per_minute, limits);
        let refused = |retry_after| AskError::RateLimited { retry_after };
        let mut known = self.0.lock();
        let mut is_charged = false;
        if let Some(used) = known.get_mut(principal) {
            used.latest.set(now);
            if used.live >= limit {
                return Err(AskError::TooManyLive { limit });
            }
            is_charged = used.charge_creation(rate, now).map_err(refused)?;
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
            let limiter = RateLimiter::new(Rate::per_minute(rate));
            limiter.check(now).map_err(refused)?;
            used.creations = Some(limiter);
        }
        Ok(())
    }

    /// Reverts an admission whose creation failed.
    pub(super) fn refund(&self, principal: &str) {
        let mut known = self.0.lock();
        if let Some(used) = known.get_mut(principal) {
            used.credit += 1;
        }
        drop(known);
        self.release(principal);
    }

    /// Uncounts an elicitation that has settled.
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
    pub(super) fn add_live(&self, principal: &str, live: usize) {
        self.0.lock().entry(principal.into()).or_default().live += live;
    }

    /// Drops idle principals.
    pub(super) fn drop_idle(&self, recently: UnixTime) {
        let mut known = self.0.lock();
        known.retain(|_, used| used.live > 0 || !used.latest.is_before(recently));
        known.shrink_to_fit();
    }
}

impl Usage {
    /// Charges a creation; false if there is no limit, or no limiter yet.
    fn charge_creation(
        &mut self,
        rate: Option<NonZeroU32>,
        now: UnixTime,
    ) -> Result<bool, Duration> {
        let Some(limiter) = self.creations.as_ref().filter(|_| rate.is_some()) else {
            return Ok(false);
        };
        if self.credit > 0 {
            self.credit -= 1;
        } else {
            limiter.check(now)?;
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

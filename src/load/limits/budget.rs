//! Money: set aside before a request, settled after its answer.

use super::Spent;
use crate::chat::Usage;
use crate::units::{Money, Tokens};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// What requests to a target cost. Whoever knows prices hands these over: this module
/// knows none.
#[derive(Clone)]
pub struct Tariff {
    /// What an answer cost; `None` where that cannot be told from what it counts.
    bill: Arc<dyn Fn(&Usage) -> Option<Money> + Send + Sync>,
    /// The most that a request of so many prompt tokens and output tokens can cost.
    most: Arc<dyn Fn(Tokens, Tokens) -> Money + Send + Sync>,
}

impl fmt::Debug for Tariff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tariff")
    }
}

impl Tariff {
    /// With these two rules.
    pub fn new(
        bill: impl Fn(&Usage) -> Option<Money> + Send + Sync + 'static,
        most: impl Fn(Tokens, Tokens) -> Money + Send + Sync + 'static,
    ) -> Self {
        Self {
            bill: Arc::new(bill),
            most: Arc::new(most),
        }
    }

    /// Where nothing costs anything.
    pub fn free() -> Self {
        Self::new(|_| Some(Money(0)), |_, _| Money(0))
    }

    pub(super) fn bill(&self, usage: &Usage) -> Option<Money> {
        (self.bill)(usage)
    }

    pub(super) fn most(&self, prompt: Tokens, output: Tokens) -> Money {
        (self.most)(prompt, output)
    }
}

/// What a whole run may spend, over all of its targets.
///
/// Invariant: what is spent and what is set aside are together never above the limit, as
/// long as no bill is above what was set aside for it.
#[derive(Debug, Default)]
pub struct Budget {
    limit: Option<Money>,
    state: Mutex<Account>,
    /// Held by whoever waits for money, so that a smaller request does not go before it.
    queue: tokio::sync::Mutex<()>,
    /// Told of every bill.
    settled: Notify,
}

#[derive(Debug, Default)]
struct Account {
    spent: Money,
    set_aside: Money,
    /// Once a request did not fit into what is left, none does: a run that goes on with
    /// small requests only would measure something else.
    exhausted: bool,
}

impl Budget {
    /// Of `limit`; `None`: whatever it takes.
    pub fn new(limit: Option<Money>) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }

    fn state(&self) -> MutexGuard<'_, Account> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes into account what was spent before: by the run that this goes on with, or
    /// by what went before its first request.
    pub fn begin_with(&self, spent: Money) {
        let mut account = self.state();
        account.spent = Money(account.spent.0 + spent.0);
    }

    /// What has been spent.
    pub fn spent(&self) -> Money {
        self.state().spent
    }

    /// Sets aside what a request may cost, where that fits beside what is spent and set
    /// aside. `None`: it may fit once requests in flight have been billed.
    ///
    /// # Errors
    ///
    /// [`Spent`] where it does not fit and nothing is in flight, and ever after that.
    pub(super) fn set_aside(self: &Arc<Self>, most: Money) -> Result<Option<Reserved>, Spent> {
        let mut account = self.state();
        let needed = Money(account.spent.0 + account.set_aside.0 + most.0);
        if let Some(limit) = self.limit
            && (account.exhausted || needed > limit)
        {
            if !account.exhausted && account.set_aside > Money(0) {
                return Ok(None);
            }
            account.exhausted = true;
            return Err(Spent(format!(
                "{} of {} USD are spent, and the next request may cost {}",
                account.spent.decimal(),
                limit.decimal(),
                most.decimal()
            )));
        }
        account.set_aside = Money(account.set_aside.0 + most.0);
        Ok(Some(Reserved {
            budget: Arc::clone(self),
            most,
            bill: Money(0),
        }))
    }

    /// The same, and waits for requests in flight where it may fit once they are billed.
    /// Who comes first goes first.
    pub(super) async fn wait_for(self: &Arc<Self>, most: Money) -> Result<Reserved, Spent> {
        let _turn = self.queue.lock().await;
        loop {
            // Before the look at the account, so that no bill is missed in between.
            let settled = self.settled.notified();
            if let Some(reserved) = self.set_aside(most)? {
                return Ok(reserved);
            }
            settled.await;
        }
    }

    /// The same at once; `None` where it has to be waited for.
    pub(super) fn try_set_aside(self: &Arc<Self>, most: Money) -> Result<Option<Reserved>, Spent> {
        match self.queue.try_lock() {
            Ok(_turn) => self.set_aside(most),
            Err(_somebody_waits) => Ok(None),
        }
    }

    fn settle(&self, set_aside: Money, bill: Money) {
        let mut account = self.state();
        account.set_aside = Money(account.set_aside.0 - set_aside.0);
        account.spent = Money(account.spent.0 + bill.0);
        drop(account);
        self.settled.notify_waiters();
    }
}

/// Money that is set aside for one request. Billed when it is dropped, so that nothing
/// stays set aside for a request that nobody waits for any more.
#[derive(Debug)]
pub(super) struct Reserved {
    budget: Arc<Budget>,
    most: Money,
    bill: Money,
}

impl Reserved {
    /// The request is sent: until its bill is known it costs all that was set aside.
    pub(super) fn spend(&mut self) {
        self.bill = self.most;
    }

    /// What was set aside.
    pub(super) fn most(&self) -> Money {
        self.most
    }

    /// It came to this.
    pub(super) fn settle(mut self, bill: Money) {
        self.bill = bill;
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.budget.settle(self.most, self.bill);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(limit: i128) -> Arc<Budget> {
        Arc::new(Budget::new(Some(Money(limit))))
    }

    fn taken(budget: &Arc<Budget>, most: i128) -> Reserved {
        let mut reserved = budget.set_aside(Money(most)).unwrap().unwrap();
        reserved.spend();
        reserved
    }

    #[test]
    fn what_does_not_fit_waits_for_what_is_in_flight_and_ends_the_run_where_nothing_is() {
        let budget = of(100);
        let (first, second) = (taken(&budget, 60), taken(&budget, 40));
        let found = budget.set_aside(Money(51)).unwrap();
        assert!(found.is_none(), "60 + 40 + 51, and both may cost less");
        first.settle(Money(10));
        assert!(
            budget.set_aside(Money(51)).unwrap().is_none(),
            "10 + 40 + 51"
        );
        second.settle(Money(5));
        taken(&budget, 51).settle(Money(20));
        assert!(budget.set_aside(Money(66)).is_err(), "35 + 66");
        assert!(budget.set_aside(Money(1)).is_err(), "and so it stays");
        assert_eq!(budget.spent(), Money(35));
    }

    #[test]
    fn what_nobody_settles_is_billed_whole_once_sent_and_given_back_before() {
        let budget = of(100);
        drop(budget.set_aside(Money(60)).unwrap());
        assert_eq!(budget.spent(), Money(0));
        drop(taken(&budget, 60));
        assert_eq!(budget.spent(), Money(60));
        taken(&budget, 40).settle(Money(40));
        assert_eq!(
            budget.spent(),
            Money(100),
            "not a pico-dollar is left aside"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_for_money_goes_before_a_smaller_request() {
        let budget = of(100);
        let first = taken(&budget, 90);
        let large = budget.wait_for(Money(50));
        let later = async {
            tokio::task::yield_now().await;
            assert!(budget.try_set_aside(Money(5)).unwrap().is_none());
            first.settle(Money(40));
        };
        let (large, ()) = tokio::join!(large, later);
        assert_eq!(large.unwrap().most(), Money(50));
    }

    #[test]
    fn what_was_spent_before_counts() {
        let budget = of(100);
        budget.begin_with(Money(60));
        assert!(budget.set_aside(Money(41)).is_err());
        assert_eq!(budget.spent(), Money(60));
    }

    #[test]
    fn without_a_limit_everything_passes_and_is_summed() {
        let budget = Arc::new(Budget::new(None));
        taken(&budget, i128::from(u64::MAX)).settle(Money(7));
        assert_eq!(budget.spent(), Money(7));
    }
}

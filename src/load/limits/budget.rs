//! Money: set aside before a request, settled after its answer.

use super::Spent;
use crate::chat::Usage;
use crate::units::{Money, Tokens};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
#[derive(Debug, Default)]
pub struct Budget {
    limit: Option<Money>,
    state: Mutex<Account>,
}

#[derive(Debug, Default)]
struct Account {
    spent: Money,
    set_aside: Money,
    /// Once a request did not fit, none does: a run that goes on with small requests
    /// only would measure something else.
    exhausted: bool,
}

impl Budget {
    /// Of `limit`; `None`: whatever it takes.
    pub fn new(limit: Option<Money>) -> Self {
        Self {
            limit,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, Account> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What has been spent.
    pub fn spent(&self) -> Money {
        self.state().spent
    }

    /// Sets aside what a request may cost.
    pub(super) fn set_aside(&self, most: Money) -> Result<(), Spent> {
        let mut account = self.state();
        let needed = Money(account.spent.0 + account.set_aside.0 + most.0);
        if let Some(limit) = self.limit
            && (account.exhausted || needed > limit)
        {
            account.exhausted = true;
            return Err(Spent(format!(
                "{} of {} USD are spent or needed for requests in flight, and the next request may \
                 cost {}",
                Money(account.spent.0 + account.set_aside.0).decimal(),
                limit.decimal(),
                most.decimal()
            )));
        }
        account.set_aside = Money(account.set_aside.0 + most.0);
        Ok(())
    }

    /// What was set aside came to `bill`.
    pub(super) fn settle(&self, set_aside: Money, bill: Money) {
        let mut account = self.state();
        account.set_aside = Money(account.set_aside.0 - set_aside.0);
        account.spent = Money(account.spent.0 + bill.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_never_exceeded_and_nothing_passes_once_it_is_reached() {
        let budget = Budget::new(Some(Money(100)));
        assert_eq!(budget.set_aside(Money(60)), Ok(()));
        assert_eq!(budget.set_aside(Money(40)), Ok(()));
        budget.settle(Money(60), Money(10));
        assert!(budget.set_aside(Money(51)).is_err(), "10 + 40 + 51");
        budget.settle(Money(40), Money(5));
        assert!(
            budget.set_aside(Money(1)).is_err(),
            "exhausted stays exhausted"
        );
        assert_eq!(budget.spent(), Money(15));
    }

    #[test]
    fn without_a_limit_everything_passes_and_is_summed() {
        let budget = Budget::new(None);
        assert_eq!(budget.set_aside(Money(i128::from(u64::MAX))), Ok(()));
        budget.settle(Money(i128::from(u64::MAX)), Money(7));
        assert_eq!(budget.spent(), Money(7));
    }
}

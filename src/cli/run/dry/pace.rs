//! How long cells take that are run one after the other, where quotas hold their targets
//! back: a minute is a target's, not a cell's.

use crate::load::limits::Quotas;
use std::collections::BTreeMap;
use std::time::Duration;

/// What requests take of a target's minutes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) requests: u64,
    /// Tokens, each request with no more than a minute's.
    tokens: u64,
    /// Tokens of the smallest request.
    smallest: Option<u64>,
}

impl Taken {
    /// By `times` requests of each of these sizes.
    pub(super) fn by(sizes: &[u64], times: u64, quotas: Quotas) -> Self {
        if times == 0 {
            return Self::default();
        }
        let most = quotas.tokens_per_minute.unwrap_or(u64::MAX);
        let within = |size: &u64| (*size).min(most);
        let sum = sizes.iter().map(within).fold(0, u64::saturating_add);
        Self {
            requests: (sizes.len() as u64).saturating_mul(times),
            tokens: sum.saturating_mul(times),
            smallest: sizes.iter().map(within).min(),
        }
    }

    /// Both.
    #[must_use]
    pub(super) fn and(self, other: Self) -> Self {
        let both = [self.smallest, other.smallest].into_iter().flatten();
        Self {
            requests: self.requests.saturating_add(other.requests),
            tokens: self.tokens.saturating_add(other.tokens),
            smallest: both.min(),
        }
    }

    /// When the last of them can begin, from the begin of the first.
    fn last(&self, quotas: Quotas) -> Duration {
        // Those of the first minute may all begin at once.
        let full = |a_minute: u64| self.requests.saturating_sub(1) / a_minute.max(1);
        let by_requests = quotas.requests_per_minute.map(full);
        let by_tokens = quotas.tokens_per_minute.map(|most| {
            let most = most.max(1);
            let fit = most / self.smallest.unwrap_or(1).max(1);
            full(fit).max(self.tokens.div_ceil(most).saturating_sub(1))
        });
        let minutes = by_requests.max(by_tokens).unwrap_or(0);
        Duration::from_secs(minutes.saturating_mul(60))
    }

    /// How many of them can begin within `span`, on minutes that nothing else takes.
    pub(super) fn within(&self, span: Duration, quotas: Quotas) -> Option<u64> {
        let minutes = span.as_secs() / 60 + 1;
        let by_tokens = quotas.tokens_per_minute.map(|most| {
            let mean = (self.tokens / self.requests.max(1)).max(1);
            (most / mean).max(1)
        });
        let both = [quotas.requests_per_minute, by_tokens];
        let a_minute = both.into_iter().flatten().min()?;
        Some(a_minute.saturating_mul(minutes))
    }
}

/// The cells so far.
#[derive(Debug, Default)]
pub(super) struct Course {
    now: Duration,
    /// For each target, when its first cell began and what has been taken since.
    targets: BTreeMap<String, (Duration, Taken)>,
}

impl Course {
    /// The next cell: at this target, this long without quotas, and with these requests.
    pub(super) fn cell(&mut self, target: &str, quotas: Quotas, own: Duration, taken: Taken) {
        if taken.requests == 0 {
            return;
        }
        let now = self.now;
        let known = self.targets.entry(target.to_owned());
        let (since, before) = known.or_insert((now, Taken::default()));
        *before = before.and(taken);
        self.now = (now + own).max(*since + before.last(quotas));
    }

    /// When the last of them has ended.
    pub(super) fn end(&self) -> Duration {
        self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quotas(requests: Option<u64>, tokens: Option<u64>) -> Quotas {
        Quotas {
            requests_per_minute: requests,
            tokens_per_minute: tokens,
            in_flight: None,
        }
    }

    fn minutes(cells: &[(&str, u64, u64)], quotas: Quotas) -> u64 {
        let mut course = Course::default();
        for (target, requests, size) in cells {
            let taken = Taken::by(&[*size], *requests, quotas);
            course.cell(target, quotas, Duration::ZERO, taken);
        }
        assert_eq!(course.end().as_secs() % 60, 0);
        course.end().as_secs() / 60
    }

    #[test]
    fn a_minute_is_shared_by_all_cells_of_a_target() {
        let a_minute = quotas(Some(60), None);
        assert_eq!(minutes(&[("a", 60, 1)], a_minute), 0);
        assert_eq!(minutes(&[("a", 61, 1)], a_minute), 1);
        assert_eq!(minutes(&[("a", 50, 1); 5], a_minute), 4, "250 requests");
        let two: Vec<_> = ["a", "b"]
            .repeat(5)
            .into_iter()
            .map(|at| (at, 50, 1))
            .collect();
        assert_eq!(
            minutes(&two, a_minute),
            4,
            "those of another target pass meanwhile"
        );
        let apart = [("a", 121, 1), ("b", 61, 1)];
        assert_eq!(minutes(&apart, a_minute), 3, "b begins when a has ended");
    }

    #[test]
    fn tokens_take_as_many_minutes_as_whole_requests_fit_into() {
        let tokens = quotas(None, Some(1_000));
        assert_eq!(minutes(&[("a", 10, 100)], tokens), 0);
        assert_eq!(minutes(&[("a", 11, 100)], tokens), 1);
        assert_eq!(minutes(&[("a", 400, 300)], tokens), 133, "three in each");
        assert_eq!(minutes(&[("a", 5, 40_000)], tokens), 4, "a minute for each");
        assert_eq!(
            minutes(&[("a", 1, 1), ("a", 100, 500)], tokens),
            50,
            "50,001 tokens"
        );
        let both = quotas(Some(2), Some(1_000));
        assert_eq!(minutes(&[("a", 20, 100)], both), 9, "the tighter one holds");
    }

    #[test]
    fn a_cell_takes_its_own_time_where_that_is_longer() {
        let mut course = Course::default();
        let quotas = quotas(Some(60), None);
        let taken = Taken::by(&[1], 61, quotas);
        course.cell("a", quotas, Duration::from_secs(200), taken);
        course.cell("a", quotas, Duration::from_secs(5), taken);
        assert_eq!(
            course.end(),
            Duration::from_secs(205),
            "122 take two minutes"
        );
        course.cell("a", quotas, Duration::from_mins(15), Taken::default());
        assert_eq!(
            course.end(),
            Duration::from_secs(205),
            "nothing takes no time"
        );
    }

    #[test]
    fn quotas_bound_how_many_requests_begin_within_a_time() {
        let one = Taken::by(&[200, 300], 1, Quotas::default());
        let span = Duration::from_secs(90);
        assert_eq!(one.within(span, Quotas::default()), None);
        assert_eq!(one.within(span, quotas(Some(60), None)), Some(120));
        assert_eq!(one.within(span, quotas(Some(60), Some(1_000))), Some(8));
    }
}

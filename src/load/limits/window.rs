//! Requests and tokens of the last minute.

use std::collections::VecDeque;
use std::time::Duration;

/// What quotas are counted over.
const MINUTE: Duration = Duration::from_mins(1);

/// What has begun within the last minute. Pure: the caller says what time it is.
#[derive(Debug)]
pub(super) struct Window {
    requests: Option<u64>,
    tokens: Option<u64>,
    /// Number, begin and tokens of each, oldest first.
    begun: VecDeque<(u64, Duration, u64)>,
    sum: u64,
    next: u64,
}

impl Window {
    /// With these limits; `None`: none.
    pub(super) fn new(requests: Option<u64>, tokens: Option<u64>) -> Self {
        Self {
            requests,
            tokens,
            begun: VecDeque::new(),
            sum: 0,
            next: 0,
        }
    }

    fn unlimited(&self) -> bool {
        self.requests.is_none() && self.tokens.is_none()
    }

    /// How long to wait at `now` until a request of so many tokens fits; `None`: it
    /// does. One that is larger than the limit fits into an empty minute.
    pub(super) fn wait(&mut self, now: Duration, tokens: u64) -> Option<Duration> {
        while let Some(&(_, at, used)) = self.begun.front() {
            if at + MINUTE > now {
                break;
            }
            self.sum -= used;
            self.begun.pop_front();
        }
        let room = |at: Duration| (at + MINUTE).saturating_sub(now);
        let count = self.begun.len();
        let mut wait = None;
        if let Some(limit) = self.requests {
            let limit = usize::try_from(limit.max(1)).unwrap_or(usize::MAX);
            if count >= limit {
                wait = self.begun.get(count - limit).map(|&(_, at, _)| room(at));
            }
        }
        if let Some(limit) = self.tokens {
            let mut sum = self.sum;
            let mut fits = None;
            for &(_, at, used) in &self.begun {
                if sum.saturating_add(tokens) <= limit {
                    break;
                }
                sum -= used;
                fits = Some(room(at));
            }
            wait = wait.max(fits);
        }
        wait
    }

    /// Notes that a request begins. Returns its number.
    pub(super) fn enter(&mut self, now: Duration, tokens: u64) -> u64 {
        if !self.unlimited() {
            self.begun.push_back((self.next, now, tokens));
            self.sum += tokens;
        }
        self.next += 1;
        self.next - 1
    }

    /// A request turned out to use so many tokens.
    pub(super) fn settle(&mut self, number: u64, tokens: u64) {
        let at = self
            .begun
            .binary_search_by_key(&number, |&(known, ..)| known);
        if let Ok(at) = at {
            let used = &mut self.begun[at].2;
            self.sum = self.sum - *used + tokens;
            *used = tokens;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_next_request_waits_until_the_oldest_is_a_minute_old() {
        let mut window = Window::new(Some(2), None);
        for at in [0, 10] {
            assert_eq!(window.wait(s(at), 1), None);
            window.enter(s(at), 1);
        }
        assert_eq!(window.wait(s(20), 1), Some(s(40)));
        assert_eq!(window.wait(s(59), 1), Some(s(1)));
        assert_eq!(window.wait(s(60), 1), None);
        window.enter(s(60), 1);
        assert_eq!(window.wait(s(60), 1), Some(s(10)));
    }

    #[test]
    fn tokens_are_counted_as_they_turn_out() {
        let mut window = Window::new(None, Some(100));
        let first = window.enter(s(0), 60);
        let second = window.enter(s(5), 30);
        assert_eq!(window.wait(s(10), 20), Some(s(50)));
        window.settle(second, 10);
        assert_eq!(window.wait(s(10), 20), Some(s(50)), "90 of 100");
        window.settle(first, 50);
        assert_eq!(window.wait(s(10), 40), None);
        assert_eq!(window.wait(s(10), 91), Some(s(55)), "both must be gone");
    }

    #[test]
    fn a_request_above_the_limit_gets_a_minute_of_its_own() {
        let mut window = Window::new(None, Some(100));
        assert_eq!(window.wait(s(0), 1_000), None);
        window.enter(s(0), 1_000);
        assert_eq!(window.wait(s(1), 1), Some(s(59)));
        assert_eq!(window.wait(s(60), 1_000), None);
    }

    proptest! {
        #[test]
        fn no_minute_holds_more_than_is_allowed(
            requests in 1_u64..5,
            tokens in 50_u64..200,
            asked in prop::collection::vec((0_u64..30, 1_u64..50), 1..60),
        ) {
            let mut window = Window::new(Some(requests), Some(tokens));
            let (mut now, mut begun) = (Duration::ZERO, Vec::new());
            for (after, size) in asked {
                now += s(after);
                while let Some(wait) = window.wait(now, size) {
                    prop_assert!(wait > Duration::ZERO && wait <= MINUTE);
                    now += wait;
                }
                window.enter(now, size);
                begun.push((now, size));
            }
            for &(from, _) in &begun {
                let within = begun.iter().filter(|(at, _)| (from..from + MINUTE).contains(at));
                let (count, sum) = within.fold((0, 0), |(n, sum), (_, size)| (n + 1, sum + size));
                prop_assert!(count <= requests && sum <= tokens, "{count} {sum}");
            }
        }
    }
}

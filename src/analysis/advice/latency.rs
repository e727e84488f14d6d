//! How much time a computed token took, where that can be told.

use crate::analysis::fits::sums;
use crate::analysis::samples::Sample;
use crate::analysis::stats::{Interval, LineSums, line};

/// Fewest requests that advice on times rests on.
const FEWEST: usize = 10;

/// Time to first token against computed tokens: a straight line's slope, in
/// microseconds a token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    /// The slope.
    pub us_per_token: f64,
    /// Its 95 % interval, over conversations.
    pub interval: Interval,
    /// Requests that it rests on.
    pub n: usize,
}

/// The slope over the counted requests that have a time: that of a report's
/// fits, where it says something.
///
/// `None` below ten requests or six conversations, where all computed equally much, and
/// where the interval holds 0: then these times do not tell what a token costs.
pub fn slope(samples: &[&Sample], seed: u64) -> Option<Slope> {
    told(&sums(samples.iter().copied()), seed)
}

fn told(conversations: &[LineSums], seed: u64) -> Option<Slope> {
    let line = line(conversations, seed)?;
    let interval = line.interval?;
    (line.n >= FEWEST && interval.low > 0.0).then_some(Slope {
        us_per_token: line.slope,
        interval,
        n: line.n,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `n` points on six conversations, near a line of that slope.
    fn points(n: usize, slope: f64) -> Vec<LineSums> {
        let mut conversations = vec![LineSums::default(); 6];
        for at in 0..n {
            let height = slope * at as f64 + f64::from(at % 3 == 0);
            conversations[at % 6].add(at as f64, height);
        }
        conversations
    }

    #[test]
    fn where_nothing_can_be_told_there_is_no_slope() {
        let found = told(&points(20, 5.0), 1).expect("a slope");
        assert!((found.us_per_token - 5.0).abs() < 0.1, "{found:?}");
        assert_eq!((found.n, found.interval.n), (20, 6));
        assert_eq!(told(&points(9, 5.0), 1), None, "too few");
        assert_eq!(told(&points(20, 0.0), 1), None, "flat");
        assert_eq!(told(&points(20, -5.0), 1), None, "falling");
        let mut alike = LineSums::default();
        (0..20).for_each(|_| alike.add(1.0, 1.0));
        assert_eq!(told(&[alike; 6], 1), None, "all alike");
        let one = points(20, 5.0);
        assert_eq!(told(&one[..5], 1), None, "five conversations");
    }
}

//! Axes of numbers: where a value lies, and which values are written.
//!
//! Linear from 0, since lengths are compared; logarithmic where most values
//! would else lie on each other at one end.
//!
//! Invariants: every value has a place within the axis; ticks ascend and lie on
//! it; an axis of no values goes from 0 to 1.

/// How many times the median the largest value must be for a logarithmic axis, usually.
pub(super) const FAR: f64 = 20.0;

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scale {
    /// Whether equal distances are equal ratios.
    pub(super) log: bool,
    low: f64,
    high: f64,
    /// Values that are written on it, ascending.
    pub(super) ticks: Vec<f64>,
}

impl Scale {
    /// An axis for `values`, with about `most` ticks at most; logarithmic where the largest lies
    /// more than `far` times as high as the middle one, and all are above 0.
    pub(super) fn of(values: impl Iterator<Item = f64>, most: usize, far: f64) -> Self {
        let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let (Some(&least), Some(&high)) = (values.first(), values.last()) else {
            return Self::from_zero(1.0, most);
        };
        if least > 0.0 && high > far * values[values.len() / 2] {
            return Self::logarithmic(least, high, most);
        }
        Self::from_zero(high, most)
    }

    /// From 0 to `high` or a little more.
    pub(super) fn from_zero(high: f64, most: usize) -> Self {
        let high = if high.is_finite() && high > 0.0 {
            high
        } else {
            1.0
        };
        let step = step(high / most.max(1) as f64);
        let last = (high / step - 1e-9).ceil().max(1.0);
        let count = last.min(1_000.0);
        let ticks = std::iter::successors(Some(0.0), |at| Some(at + 1.0));
        Self {
            log: false,
            low: 0.0,
            high: last * step,
            ticks: ticks
                .take_while(|at| *at <= count)
                .map(|at| at * step)
                .collect(),
        }
    }

    fn logarithmic(least: f64, high: f64, most: usize) -> Self {
        let first = least.log10().floor();
        let end = (high.log10() - 1e-9).ceil().max(first + 1.0);
        let decades = end - first;
        let factors: &[f64] = if decades * 3.0 < most as f64 {
            &[1.0, 2.0, 5.0]
        } else {
            &[1.0]
        };
        let every = (decades / most.max(1) as f64).ceil().max(1.0);
        let mut ticks = Vec::new();
        let mut decade = first;
        while decade <= end {
            for factor in factors {
                ticks.push(factor * 10.0_f64.powf(decade));
            }
            decade += every;
        }
        // The axis begins and ends at a tick where that is near.
        let low = ticks.iter().rev().copied().find(|tick| *tick <= least);
        let top = ticks.iter().copied().find(|tick| *tick >= high);
        let low = low.unwrap_or_else(|| 10.0_f64.powf(first));
        let top = top.unwrap_or_else(|| 10.0_f64.powf(end));
        ticks.retain(|tick| (low..=top).contains(tick));
        Self {
            log: true,
            low,
            high: top,
            ticks,
        }
    }

    /// The place of `value` between `from` and `to`; what lies outside is put at the end.
    pub(super) fn place(&self, value: f64, from: f64, to: f64) -> f64 {
        let fraction = if self.log {
            let low = self.low.log10();
            (value.max(self.low).log10() - low) / (self.high.log10() - low)
        } else {
            (value - self.low) / (self.high - self.low)
        };
        // A value that is no number is put at the start.
        from + fraction.max(0.0).min(1.0) * (to - from)
    }

    /// The smallest and the largest value that it shows.
    pub(super) fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }
}

/// The smallest of 1, 2, 2.5 and 5 times a power of ten that is not below `least`.
fn step(least: f64) -> f64 {
    let power = 10.0_f64.powf(least.log10().floor());
    let factors = [1.0, 2.0, 2.5, 5.0, 10.0];
    let found = factors
        .into_iter()
        .find(|factor| factor * power >= least * (1.0 - 1e-9));
    found.unwrap_or(10.0) * power
}

/// `12,000`; from a million on `2.5 M`, then `bn` and powers of ten, so that nothing grows too
/// long to be written. What is not whole has as many places as it needs, at most three.
pub(super) fn plain(value: f64) -> String {
    // An empty sum is -0, and nobody wants to read that.
    let value = value + 0.0;
    let short = |value: f64| {
        let text = if value != 0.0 && value.abs() < 0.01 {
            digits(value)
        } else {
            format!("{value:.3}")
        };
        if !text.contains('.') {
            return text;
        }
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    match value.abs() {
        size if size >= 1e12 => format!("{value:.1e}"),
        size if size >= 1e9 => format!("{} bn", short(value / 1e9)),
        size if size >= 1e6 => format!("{} M", short(value / 1e6)),
        size if size >= 1_000.0 => {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "below a million"
            )]
            let whole = size.round() as u64;
            let sign = if value < 0.0 { "-" } else { "" };
            format!("{sign}{}", crate::units::grouped(whole))
        }
        _ => short(value),
    }
}

/// What times are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeUnit {
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
}

impl TimeUnit {
    /// Milliseconds where the longest time is below ten seconds.
    pub(super) fn of(longest_us: f64) -> Self {
        if longest_us < 1e7 {
            Self::Milliseconds
        } else {
            Self::Seconds
        }
    }

    /// `ms` or `s`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
        }
    }

    /// Microseconds in this unit.
    pub(super) fn in_unit(self, us: f64) -> f64 {
        match self {
            Self::Milliseconds => us / 1e3,
            Self::Seconds => us / 1e6,
        }
    }
}

/// A time with its unit and three digits: `2.41 ms`, `187 ms`, `12.5 s`, `3,600 s`.
pub(super) fn time(us: f64) -> String {
    let unit = TimeUnit::of(us);
    format!("{} {}", digits(unit.in_unit(us)), unit.name())
}

/// A number with three digits: `0.0412`, `2.41`, `187`, `3,600`.
pub(super) fn digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return plain(value);
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a logarithm is small; a cast of floating point saturates"
    )]
    let places = (2.0 - value.abs().log10().floor()).clamp(0.0, 12.0) as usize;
    if places == 0 {
        return plain(value.round());
    }
    format!("{value:.places$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_reach_the_largest_value() {
        let cases: [(f64, usize, &[f64]); 6] = [
            (1.0, 4, &[0.0, 0.25, 0.5, 0.75, 1.0]),
            (
                9_758.0,
                5,
                &[0.0, 2_000.0, 4_000.0, 6_000.0, 8_000.0, 10_000.0],
            ),
            (100.0, 4, &[0.0, 25.0, 50.0, 75.0, 100.0]),
            (0.0, 2, &[0.0, 0.5, 1.0]),
            (f64::NAN, 2, &[0.0, 0.5, 1.0]),
            (1e300, 2, &[0.0, 5e299, 1e300]),
        ];
        for (high, most, expected) in cases {
            let found = Scale::from_zero(high, most).ticks;
            assert_eq!(found.len(), expected.len(), "{high}: {found:?}");
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() <= expected * 1e-9, "{high}");
            }
        }
    }

    #[test]
    fn an_axis_is_logarithmic_only_where_a_few_values_lie_far_out() {
        assert!(!Scale::of([10.0, 20.0, 190.0].into_iter(), 5, FAR).log);
        assert!(!Scale::of([0.0, 20.0, 9_000.0].into_iter(), 5, FAR).log);
        let far = Scale::of([12.0, 20.0, 90_000.0].into_iter(), 5, FAR);
        assert!(far.log);
        assert_eq!(far.ends(), (10.0, 100_000.0));
        assert_eq!(far.ticks.len(), 5, "{far:?}");
        assert!((far.place(1_000.0, 0.0, 100.0) - 50.0).abs() < 1e-9);
        assert!(far.place(0.0, 0.0, 100.0).abs() < 1e-9);
        assert_eq!(
            Scale::of(std::iter::empty(), 4, FAR),
            Scale::from_zero(1.0, 4)
        );
    }

    #[test]
    fn a_value_outside_lies_at_an_end_and_one_that_is_no_number_at_the_start() {
        let scale = Scale::from_zero(10.0, 5);
        let places = [-1.0, 0.0, 5.0, 11.0, f64::INFINITY, f64::NAN];
        let found = places.map(|value| scale.place(value, 0.0, 100.0));
        assert_eq!(found, [0.0, 0.0, 50.0, 100.0, 100.0, 0.0]);
    }

    #[test]
    fn numbers_are_written_short() {
        let cases = [
            (0.0, "0"),
            (-0.0, "0"),
            (0.25, "0.25"),
            (0.000_5, "0.0005"),
            (2_000.0, "2,000"),
            (-2_000.0, "-2,000"),
            (2_500_000.0, "2.5 M"),
            (3e9, "3 bn"),
            (1e18, "1.0e18"),
        ];
        for (value, expected) in cases {
            assert_eq!(plain(value), expected);
        }
        let times = [
            (0.0, "0 ms"),
            (2_412.0, "2.41 ms"),
            (187_400.0, "187 ms"),
            (2_500_000.0, "2,500 ms"),
            (12_500_000.0, "12.5 s"),
            (3_600_000_000.0, "3,600 s"),
        ];
        for (us, expected) in times {
            assert_eq!(time(us), expected);
        }
        assert_eq!(digits(0.041_23), "0.0412");
    }
}

//! The order of load levels: those of a kind by their number.

use std::sync::Arc;

/// Where a load level stands among others: `sessions=2` before `sessions=16`, `open=30/min`
/// before `open=2/s`; kinds by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LevelPlace {
    kind: Arc<str>,
    /// Bits of a number that is not negative, which are in its order.
    number: u64,
    name: Arc<str>,
}

impl From<&Arc<str>> for LevelPlace {
    fn from(level: &Arc<str>) -> Self {
        let (kind, number) = parted(level);
        Self {
            kind: Arc::from(kind),
            number: number.to_bits(),
            name: Arc::clone(level),
        }
    }
}

/// What stands before the first number of a level, and that number, a rate as one of a second; 0
/// where there is none.
fn parted(level: &str) -> (&str, f64) {
    let start = level
        .find(|letter: char| letter.is_ascii_digit())
        .unwrap_or(level.len());
    let (kind, rest) = level.split_at(start);
    let end = rest
        .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
        .unwrap_or(rest.len());
    let number: f64 = rest[..end].parse().unwrap_or(0.0);
    let seconds = match rest[end..].strip_prefix('/') {
        Some(unit) if unit.starts_with("min") => 60.0,
        Some(unit) if unit.starts_with('h') => 3_600.0,
        _ => 1.0,
    };
    (kind, number / seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_parted_into_kind_and_number() {
        let cases = [
            ("sessions=16", ("sessions=", 16.0)),
            ("open=2.5/s,poisson", ("open=", 2.5)),
            ("open=30/min,poisson", ("open=", 0.5)),
            ("open=1800/h,even", ("open=", 0.5)),
            ("", ("", 0.0)),
            ("idle", ("idle", 0.0)),
            ("a=1.2.3", ("a=", 0.0)),
        ];
        for (level, expected) in cases {
            assert_eq!(parted(level), expected, "{level}");
        }
    }

    #[test]
    fn levels_stand_in_the_order_of_their_numbers() {
        let ordered = [
            "open=30/min,poisson",
            "open=2/s,poisson",
            "open=10/s,poisson",
            "sessions=1",
            "sessions=4",
            "sessions=16",
        ];
        let places = ordered.map(|level| LevelPlace::from(&Arc::from(level)));
        assert!(places.is_sorted(), "{places:?}");
    }
}

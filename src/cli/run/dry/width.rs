//! How many conversations make an interval of a wanted width.
//!
//! The interval of a cached share is over conversations, so its width falls with the
//! root of their number: `n = (2 z s / w)^2` for a 95 % interval of width `w`, where `s`
//! is the standard deviation of what one conversation adds to the share. A pilot run
//! tells `s`; without one it is at most half of the achievable share, which is what it
//! is when every conversation gets either all of it or nothing.

use super::rows::Row;
use crate::analysis::Samples;
use crate::cli::exit::Failure;
use crate::cli::run::Arguments;
use crate::record::Run;
use crate::units::Share;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// The standard normal distribution's 0.975-quantile.
const Z: f64 = 1.959_964;

/// What stands below a table that has the column.
pub(super) const EXPLAINED: &str = "Needed: conversations for a 95 % interval of that width; with `at most`, as if every \
     conversation got either all that is achievable or nothing (--pilot RUN takes a measured \
     spread).\n";

/// A column for `rows`, where a width is wanted.
///
/// # Errors
///
/// A width that is none, and a pilot that does not read.
pub(super) fn repeats(given: &Arguments, rows: &[Row]) -> Result<Option<Vec<String>>, Failure> {
    let Some(points) = given.width else {
        return Ok(None);
    };
    if !(points > 0.0 && points <= 100.0) {
        return Err(Failure::wrong(
            format!("`--width {points}` is no width"),
            "give percentage points, above 0 and at most 100",
        ));
    }
    let width = points / 100.0;
    let spreads = given.pilot.as_deref().map(spreads).transpose()?;
    let spreads = spreads.unwrap_or_default();
    let cell = |row: &Row| {
        let key = (
            Arc::clone(&row.scenario),
            Arc::from(row.configuration.as_str()),
        );
        match (spreads.get(&key), row.achievable.and_then(Share::fraction)) {
            (Some(spread), _) => needed(*spread, width).to_string(),
            (None, Some(achievable)) => {
                format!("at most {}", needed(achievable / 2.0, width))
            }
            (None, None) => "?".to_owned(),
        }
    };
    Ok(Some(rows.iter().map(cell).collect()))
}

/// Conversations for an interval of `width` where one adds `spread`; at least two.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative; what is too large becomes the largest"
)]
fn needed(spread: f64, width: f64) -> u64 {
    let n = (2.0 * Z * spread / width).powi(2);
    // A hair above a whole number is that number.
    ((n - 1e-9).ceil() as u64).max(2)
}

/// Scenario and configuration.
type Key = (Arc<str>, Arc<str>);

/// What one conversation of each kind adds to the share: standard deviations.
fn spreads(dir: &Path) -> Result<HashMap<Key, f64>, Failure> {
    let unreadable = |error: crate::record::ReadError| {
        Failure::wrong(
            format!("cannot read pilot `{}`: {error}", dir.display()),
            "name the folder of a finished run",
        )
    };
    let run = Run::read(dir).map_err(unreadable)?;
    let (samples, _warnings) = Samples::read(&run).map_err(unreadable)?;
    let mut sums: HashMap<Key, HashMap<Arc<str>, (f64, f64)>> = HashMap::new();
    for sample in samples.list() {
        let Some((total, read)) = sample.counted() else {
            continue;
        };
        let cell = &sample.cell;
        let key = (Arc::clone(&cell.scenario), Arc::clone(&cell.configuration));
        let conversations = sums.entry(key).or_default();
        let sum = conversations
            .entry(Arc::clone(&sample.conversation))
            .or_default();
        sum.0 += read.0 as f64;
        sum.1 += total.0 as f64;
    }
    let spreads = sums.into_iter().filter_map(|(key, conversations)| {
        let pairs: Vec<_> = conversations.into_values().collect();
        Some((key, spread(&pairs)?))
    });
    Ok(spreads.collect())
}

/// Of the pooled ratio of these pairs; `None` below two.
fn spread(pairs: &[(f64, f64)]) -> Option<f64> {
    let n = pairs.len() as f64;
    let (part, whole) = pairs
        .iter()
        .fold((0.0, 0.0), |(a, b), (part, whole)| (a + part, b + whole));
    if pairs.len() < 2 || whole <= 0.0 {
        return None;
    }
    let (ratio, mean) = (part / whole, whole / n);
    let residuals = pairs
        .iter()
        .map(|(part, whole)| ((part - ratio * whole) / mean).powi(2));
    Some((residuals.sum::<f64>() / (n - 1.0)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_the_width_needs_four_times_as_many() {
        // (2 * 1.96 * 0.25 / 0.1)^2 = 96.04
        assert_eq!(needed(0.25, 0.1), 97);
        assert_eq!(needed(0.25, 0.05), 385);
        assert_eq!(needed(0.0, 0.1), 2);
    }

    #[test]
    fn the_spread_is_that_of_the_pooled_ratio() {
        assert_eq!(spread(&[(1.0, 2.0)]), None);
        assert_eq!(spread(&[(1.0, 2.0), (2.0, 4.0)]), Some(0.0));
        // All or nothing, half of the time each: 0.5, with n - 1 below the sum.
        let halves: Vec<(f64, f64)> = (0..100)
            .map(|at| (f64::from(at % 2) * 10.0, 10.0))
            .collect();
        let found = spread(&halves).unwrap();
        assert!((found - 0.502_518_9).abs() < 1e-6, "{found}");
        assert_eq!(spread(&[(0.0, 0.0), (0.0, 0.0)]), None);
    }
}

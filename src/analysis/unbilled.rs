//! Why requests to a target with prices have no bill: storage that is charged, and
//! cannot be reckoned.

use super::samples::Sample;
use crate::units::{Tokens, grouped};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Requests of a target that have no bill.
#[derive(Default)]
struct Missing {
    /// Something was written, and how long it is kept is not known.
    lifetime: u64,
    /// How much was written is not known.
    writes: u64,
}

/// Sentences about targets whose requests have no bill for want of what storage
/// costs, each with the way out; lowercase, without a full stop.
pub(super) fn unbilled(samples: &[Sample]) -> Vec<String> {
    let mut targets: BTreeMap<&Arc<str>, Missing> = BTreeMap::new();
    for sample in samples.iter().filter(|sample| sample.counted().is_some()) {
        let Some((price, moment)) = sample.priced() else {
            continue;
        };
        if price.storage_hour.is_none() {
            continue;
        }
        let missing = targets.entry(&sample.cell.target).or_default();
        match sample.written() {
            None => missing.writes += 1,
            Some(written) if written > Tokens(0) && moment.kept_ms.is_none() => {
                missing.lifetime += 1;
            }
            Some(_) => {}
        }
    }
    let said = targets.iter().flat_map(|(target, missing)| {
        let begin = format!("`{target}` charges by the hour for what its cache keeps, and");
        let lifetime = (missing.lifetime > 0).then(|| {
            format!(
                "{begin} how long it keeps an entry is not known: {} no bill; a run with \
                 `--lifetime SECONDS`, or `lifetime` in the targets file, says it",
                have(missing.lifetime)
            )
        });
        let writes = (missing.writes > 0).then(|| {
            format!(
                "{begin} its answers do not say how much they wrote there: {} no bill; prices \
                 without `storage_hour` leave it out (`report --prices FILE`)",
                have(missing.writes)
            )
        });
        lifetime.into_iter().chain(writes)
    });
    said.collect()
}

fn have(requests: u64) -> String {
    match requests {
        1 => "1 request has".to_owned(),
        requests => format!("{} requests have", grouped(requests)),
    }
}

//! Whether a figure may be used: what is missing must not look like what was saved.

use super::baseline::Found;
use super::metrics::{Kind, Metric, takes};

/// The part of the requests that may lack a count for a share of the others to be
/// judged: above it the share says more of what failed than of the layout.
const MOST_LACKING: f64 = 0.05;

/// A figure's value, or why there is none that may be used. `place` is where it is from:
/// empty, or ` in the baseline`.
pub(super) fn usable(metric: &Metric, found: &Found, place: &str) -> Result<f64, String> {
    match metric.kind {
        Kind::Sum => whole(found, place)?,
        Kind::Mean => mixed(metric, found, place)?,
        Kind::Ratio => counted(metric, found, place)?,
        Kind::Quantile => enough(metric, found, place)?,
        Kind::Tally => {}
    }
    let usable =
        |value: &f64| value.is_finite() || (metric.kind == Kind::Quantile && place.is_empty());
    found
        .value
        .filter(usable)
        .ok_or_else(|| format!("there is no evidence for {}{place}", metric.name))
}

/// Every conversation, from its first request to its last.
fn whole(found: &Found, place: &str) -> Result<(), String> {
    let part = found.conversations - found.whole();
    if part == 0 {
        return Ok(());
    }
    Err(format!(
        "{part} of {} conversations{place} lack requests or counts, and a sum without them would \
         look like a saving",
        found.conversations
    ))
}

/// A whole conversation of every scenario.
fn mixed(metric: &Metric, found: &Found, place: &str) -> Result<(), String> {
    let part = found.conversations - found.whole();
    if found.value.is_some() || part == 0 {
        return Ok(());
    }
    Err(format!(
        "{part} of {} conversations{place} lack requests or counts, among them all of a scenario: \
         {} without it would be one of another mix; choose what is whole, as `scenario=NAME`",
        found.conversations, metric.name
    ))
}

/// Nearly every request.
fn counted(metric: &Metric, found: &Found, place: &str) -> Result<(), String> {
    let lacking = found.failed + found.uncounted + found.apart;
    if found.value.is_none() || lacking as f64 <= MOST_LACKING * found.requests as f64 {
        return Ok(());
    }
    Err(format!(
        "{} of {} requests{place} failed, {} had no usable count, {} are set apart (a warm \
         start, or a gateway's own doing), and {} of the others says little of all: mend that \
         first; up to {:.0} % may lack a count",
        found.failed,
        found.requests,
        found.uncounted,
        found.apart,
        metric.name,
        MOST_LACKING * 100.0
    ))
}

/// Requests enough for the quantile; one that failures make infinite is known without.
fn enough(metric: &Metric, found: &Found, place: &str) -> Result<(), String> {
    let endless = found.value.is_some_and(f64::is_infinite);
    if endless && !place.is_empty() {
        return Err(format!(
            "{} of {} requests{place} failed, so that its {} is infinite",
            found.failed, found.requests, metric.name
        ));
    }
    let Some((least, quantile)) = takes(metric.name) else {
        return Ok(());
    };
    if endless || found.value.is_none() || found.timed >= least {
        return Ok(());
    }
    Err(format!(
        "{quantile} takes {least} requests with a time, and there are {}{place}: run more (`run --repeat`), take \
         configurations or scenarios together, or gate a lower quantile (ttft_p50_us takes 10)",
        found.timed
    ))
}

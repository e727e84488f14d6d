//! Targets side by side: for each configuration, what each of them read from
//! its cache and what it could have read.

use super::frame::{self, percent};
use super::scene::Scene;
use super::share_by_group::{self, Group, bars};
use super::{Chart, Note};
use serde::{Deserialize, Serialize};

/// This chart's line in the list.
pub(super) const CHART: Chart = Chart {
    name: "share-by-target",
    help: "targets side by side: cached share of each configuration on each of them, with the achievable share marked",
};

/// What the chart shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShareByTarget {
    /// The load level, where the run has several; may be empty.
    pub place: String,
    /// The configurations.
    pub configurations: Vec<Configuration>,
    /// What the numbers rest on.
    pub note: Note,
}

/// A configuration on all targets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Configuration {
    /// Its name.
    pub name: String,
    /// A bar for each target.
    pub bars: Vec<Bar>,
}

/// A configuration on a target. Shares are fractions of 1, always of sums.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bar {
    /// The target, and its model where it was asked for several.
    pub target: String,
    /// Cached share; `None` where no request has a count.
    pub share: Option<f64>,
    /// Lower end of the interval, where there are repeats.
    pub low: Option<f64>,
    /// Upper end of the interval, where there are repeats.
    pub high: Option<f64>,
    /// Achievable share; `None` where no bound was computed.
    pub achievable: Option<f64>,
    /// Requests that the share is taken from: those that every target counted.
    pub requests: u64,
    /// All that this target counted.
    pub counted: u64,
}

/// Lays the figure out.
pub(super) fn scene(figure: &ShareByTarget) -> Scene {
    let scene = frame::start(
        &title(figure),
        "Share of prompt tokens read from cache, over the requests that every target counted. Targets count tokens and keep caches in ways of their own: compare each with its mark first.",
    );
    let group = |configuration: &Configuration| Group {
        name: configuration.name.clone(),
        bars: configuration.bars.iter().map(Bar::drawn).collect(),
    };
    let groups: Vec<Group> = figure.configurations.iter().map(group).collect();
    bars(scene, &groups, &figure.note)
}

impl Bar {
    fn drawn(&self) -> share_by_group::Bar {
        share_by_group::Bar {
            configuration: self.target.clone(),
            share: self.share,
            low: self.low,
            high: self.high,
            achievable: self.achievable,
            requests: self.requests,
            of: (self.counted > self.requests).then_some(self.counted),
        }
    }
}

/// The answer: the configuration whose share differs most between targets.
fn title(figure: &ShareByTarget) -> String {
    let widest = figure.configurations.iter().filter_map(|configuration| {
        let known = configuration
            .bars
            .iter()
            .filter_map(|bar| Some((bar.share?, bar)));
        let high = known.clone().reduce(|a, b| if b.0 > a.0 { b } else { a })?;
        let low = known.reduce(|a, b| if b.0 < a.0 { b } else { a })?;
        Some((high.0 - low.0, configuration, high, low))
    });
    let what = match widest.reduce(|a, b| if b.0 > a.0 { b } else { a }) {
        Some((apart, configuration, (high, best), (low, worst))) if apart > 0.0 => format!(
            "{} reads {} of its prompt tokens from cache on {}, {} on {}",
            configuration.name,
            percent(Some(high)),
            best.target,
            percent(Some(low)),
            worst.target
        ),
        Some(_) => "Every configuration reads the same share on every target".to_owned(),
        None => "Share of prompt tokens read from cache by target".to_owned(),
    };
    frame::title(&figure.place, &what)
}

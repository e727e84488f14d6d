//! What `baseline` stands for: another run, or figures kept in a file.
//!
//! A stored baseline is small enough to be read in a review: a row for each
//! configuration, and for each of its groups and scenarios, with every figure.

use super::facts::Facts;
use super::measured::{Measured, Support, Taken};
use super::metrics::{METRICS, Metric};
use super::selection::{Dimension, Pattern, Selection, Wanted};
use crate::analysis::samples::Cell;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use thiserror::Error;

/// Name and version of the form of a stored baseline.
pub const BASELINE_SCHEMA: &str = "prefixbench/baseline/1";

/// What a run or a prediction is compared with.
#[derive(Debug)]
pub struct Baseline {
    facts: Facts,
    kept: Kept,
}

#[derive(Debug)]
enum Kept {
    Measured(Measured),
    Stored(Stored),
}

/// A baseline that cannot be read.
#[derive(Debug, Error)]
pub enum BaselineError {
    /// Not JSON of this form.
    #[error("not a baseline")]
    Form(#[from] serde_json::Error),
    /// Of another version.
    #[error("its form is `{0}`, and this version reads `{BASELINE_SCHEMA}`")]
    Schema(String),
}

/// Figures kept in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stored {
    /// [`BASELINE_SCHEMA`].
    pub schema: String,
    /// Version of the program that wrote it.
    pub program: String,
    /// Whether nothing was sent.
    pub predicted: bool,
    /// Under what it was made.
    pub facts: Facts,
    /// The figures.
    pub rows: Vec<Row>,
}

/// The figures of a configuration over a scenario, a group, or all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    configuration: Arc<str>,
    target: Arc<str>,
    model: Arc<str>,
    load: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    group: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scenario: Option<Arc<str>>,
    /// Whole conversations by scenario.
    whole: Support,
    /// Conversations, whole or not.
    conversations: u64,
    figures: BTreeMap<String, f64>,
}

/// The same of both: a figure's value and what it rests on.
pub(super) struct Found {
    pub(super) value: Option<f64>,
    pub(super) support: Support,
    pub(super) conversations: u64,
    /// Requests, and of these failed ones and those without a count.
    pub(super) requests: u64,
    pub(super) failed: u64,
    pub(super) uncounted: u64,
    /// Those that are set apart though nothing of the scenario says so: of a conversation
    /// that began on a warm cache, or what a gateway did of its own. 0 in a stored baseline,
    /// which does not tell them from waits.
    pub(super) apart: u64,
    /// Requests that have a time to first token, or failed.
    pub(super) timed: u64,
}

impl Stored {
    /// The figures of `measured`, to be kept.
    pub fn of(measured: &Measured, facts: Facts) -> Self {
        let mut places = BTreeSet::new();
        for cell in measured.cells() {
            let key = |group: Option<&Arc<str>>, scenario: Option<&Arc<str>>| Key {
                configuration: Arc::clone(&cell.configuration),
                target: Arc::clone(&cell.target),
                model: Arc::clone(&cell.model),
                load: Arc::clone(&cell.load),
                group: group.cloned(),
                scenario: scenario.cloned(),
            };
            places.insert(key(None, None));
            places.insert(key(Some(&cell.group), None));
            places.insert(key(None, Some(&cell.scenario)));
        }
        Self {
            schema: BASELINE_SCHEMA.to_owned(),
            program: env!("CARGO_PKG_VERSION").to_owned(),
            predicted: measured.is_predicted(),
            facts,
            rows: places
                .into_iter()
                .filter_map(|key| key.row(measured))
                .collect(),
        }
    }

    /// Reads what [`Self::json`] wrote.
    ///
    /// # Errors
    ///
    /// [`BaselineError`]: not such a file, or one of another version.
    pub fn parse(json: &str) -> Result<Self, BaselineError> {
        #[derive(Deserialize)]
        struct Version {
            schema: String,
        }
        let found = serde_json::from_str::<Version>(json)?.schema;
        if found != BASELINE_SCHEMA {
            return Err(BaselineError::Schema(found));
        }
        Ok(serde_json::from_str(json)?)
    }

    /// As indented JSON that ends with a line end.
    ///
    /// # Errors
    ///
    /// What the serializer says; figures as they are made can always be written.
    pub fn json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

/// What a row is about.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    target: Arc<str>,
    model: Arc<str>,
    load: Arc<str>,
    configuration: Arc<str>,
    group: Option<Arc<str>>,
    scenario: Option<Arc<str>>,
}

impl Key {
    fn row(self, measured: &Measured) -> Option<Row> {
        let mut selection = Selection::default();
        let mut only = |dimension, name: Option<&Arc<str>>| {
            if let Some(name) = name {
                selection.set(dimension, Wanted::These(Pattern::Name(Arc::clone(name))));
            }
        };
        only(Dimension::Configuration, Some(&self.configuration));
        only(Dimension::Target, Some(&self.target));
        only(Dimension::Model, Some(&self.model));
        only(Dimension::Load, Some(&self.load));
        only(Dimension::Group, self.group.as_ref());
        only(Dimension::Scenario, self.scenario.as_ref());
        let taken = measured.take(&selection)?;
        let figures = METRICS
            .iter()
            .filter(|metric| metric.predicted || !measured.is_predicted())
            .filter_map(|metric| Some((metric.name.to_owned(), (metric.of)(taken.known())?)))
            .filter(|(_, value)| value.is_finite())
            .collect();
        Some(Row {
            configuration: self.configuration,
            target: self.target,
            model: self.model,
            load: self.load,
            group: self.group,
            scenario: self.scenario,
            conversations: taken.conversations,
            whole: taken.support,
            figures,
        })
    }
}

impl Row {
    /// Whether it is exactly what a selection holds, as far as the row can tell.
    fn is(&self, selection: &Selection) -> bool {
        let cell = Cell {
            group: self.group.clone().unwrap_or_default(),
            scenario: self.scenario.clone().unwrap_or_default(),
            configuration: Arc::clone(&self.configuration),
            target: Arc::clone(&self.target),
            model: Arc::clone(&self.model),
            load: Arc::clone(&self.load),
        };
        let named = |dimension, there: bool| {
            let wanted = selection.get(dimension).filter(|wanted| !is_all(wanted));
            wanted.is_some() == there
        };
        named(Dimension::Group, self.group.is_some())
            && named(Dimension::Scenario, self.scenario.is_some())
            && selection.holds(&cell)
    }
}

fn is_all(wanted: &Wanted) -> bool {
    matches!(wanted, Wanted::These(Pattern::Glob(form)) if form.chars().all(|letter| letter == '*'))
}

impl Baseline {
    /// The requests of a run or a prediction.
    pub fn measured(measured: Measured, facts: Facts) -> Self {
        let kept = Kept::Measured(measured);
        Self { facts, kept }
    }

    /// Figures kept in a file.
    pub fn stored(stored: Stored) -> Self {
        Self {
            facts: stored.facts.clone(),
            kept: Kept::Stored(stored),
        }
    }

    /// Under what it was made.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Whether nothing was sent.
    pub fn is_predicted(&self) -> bool {
        match &self.kept {
            Kept::Measured(measured) => measured.is_predicted(),
            Kept::Stored(stored) => stored.predicted,
        }
    }

    /// The names in a dimension, each once.
    pub(super) fn names(&self, dimension: Dimension) -> BTreeSet<Arc<str>> {
        match &self.kept {
            Kept::Measured(measured) => measured.names(dimension),
            Kept::Stored(stored) => {
                let names = stored.rows.iter().filter_map(|row| row.name(dimension));
                names.collect()
            }
        }
    }

    /// A figure over a selection.
    ///
    /// # Errors
    ///
    /// Why there is none, for a person.
    pub(super) fn find(&self, metric: &Metric, selection: &Selection) -> Result<Found, String> {
        let missing = || format!("the baseline has nothing of {selection}");
        match &self.kept {
            Kept::Measured(measured) => {
                let taken = measured.take(selection).ok_or_else(missing)?;
                Ok(Found::of(metric, taken))
            }
            Kept::Stored(stored) => {
                let mut rows = stored.rows.iter().filter(|row| row.is(selection));
                match (rows.next(), rows.next()) {
                    (Some(row), None) => Ok(Found {
                        value: row.figures.get(metric.name).copied(),
                        conversations: row.conversations,
                        support: row.whole.clone(),
                        requests: row.count("requests"),
                        failed: row.count("failed"),
                        uncounted: row.count("without_count"),
                        apart: 0,
                        timed: row.count("requests"),
                    }),
                    (None, _) => Err(missing()),
                    (Some(_), Some(_)) => Err(format!(
                        "a baseline file has the figures of one configuration over one scenario, \
                         one group or all, and none of {selection}: give a run as the baseline"
                    )),
                }
            }
        }
    }
}

impl Found {
    pub(super) fn of(metric: &Metric, taken: Taken) -> Self {
        Self {
            value: (metric.of)(taken.known()),
            conversations: taken.conversations,
            support: taken.support,
            requests: taken.figures.requests,
            failed: taken.figures.failed,
            uncounted: taken.figures.without_count,
            apart: taken.figures.contaminated.requests + taken.figures.gateway.requests,
            timed: taken.figures.ttft.with_failures.n as u64,
        }
    }

    /// Conversations that are whole.
    pub(super) fn whole(&self) -> u64 {
        self.support.values().sum()
    }
}

impl Row {
    /// A count among the figures; 0 where it is none of them.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cast of a float saturates"
    )]
    fn count(&self, name: &str) -> u64 {
        self.figures.get(name).map_or(0, |count| *count as u64)
    }

    fn name(&self, dimension: Dimension) -> Option<Arc<str>> {
        match dimension {
            Dimension::Configuration => Some(Arc::clone(&self.configuration)),
            Dimension::Target => Some(Arc::clone(&self.target)),
            Dimension::Model => Some(Arc::clone(&self.model)),
            Dimension::Load => Some(Arc::clone(&self.load)),
            Dimension::Group => self.group.clone(),
            Dimension::Scenario => self.scenario.clone(),
        }
    }
}

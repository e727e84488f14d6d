//! Tokens lost behind breaks, by what caused them: a bar for each configuration,
//! a part for each source and step.

use super::frame;
use super::scale::{digits, plain};
use super::scene::Scene;
use super::stacked::{Axis, Part, Row, stacked};
use super::{Chart, Note};
use crate::units::grouped;
use serde::{Deserialize, Serialize};

/// This chart's line in the list.
pub(super) const CHART: Chart = Chart {
    name: "lost-by-cause",
    help: "prompt tokens that each configuration lost behind breaks, by the source and the step that broke the prefix",
};

/// What the chart shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LostByCause {
    /// Target, model and load level, as far as the run has several; may be empty.
    pub place: String,
    /// What broke prefixes; at most twelve have a colour of their own.
    pub causes: Vec<Cause>,
    /// A bar for each configuration.
    pub bars: Vec<Bar>,
    /// What the numbers rest on.
    pub note: Note,
}

/// What broke prefixes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// The source in which the difference was; empty for several.
    pub source: String,
    /// The step that did it.
    pub step: String,
}

/// A configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bar {
    /// Its name.
    pub configuration: String,
    /// Tokens lost by each cause, in their order, over all its conversations.
    pub lost: Vec<u64>,
    /// Breaks.
    pub breaks: u64,
    /// Breaks behind which nothing could count the tokens.
    pub uncounted: u64,
    /// Conversations.
    pub conversations: u64,
}

/// Lays the figure out.
pub(super) fn scene(figure: &LostByCause) -> Scene {
    let mut scene = frame::start(
        &title(figure),
        "Tokens behind the place where a prompt left the path of an earlier one: an unbroken prefix would have kept them.",
    );
    if figure.bars.is_empty() {
        return frame::nothing_because(
            scene,
            &figure.note,
            "Nothing to draw: no request was answered.",
        );
    }
    // A cause of another picture has its colour, and no place in this one's key.
    let lost = |cause: &usize| {
        let mut bars = figure.bars.iter();
        bars.any(|bar| bar.lost.get(*cause).is_some_and(|lost| *lost > 0))
    };
    let all = 0..figure.causes.len();
    let mut used: Vec<usize> = all.clone().filter(lost).collect();
    if used.is_empty() {
        // Nothing was counted.
        used = all.collect();
    }
    let parts = used.iter().map(|&index| Part {
        name: figure.causes[index].says(&figure.causes),
        short: (index + 1).to_string(),
        colour: index,
    });
    let axis = Axis {
        name: "prompt tokens lost for each conversation",
        label: &plain,
        beside: "",
    };
    let rows: Vec<Row> = figure.bars.iter().map(|bar| bar.row(&used)).collect();
    let end = stacked(&mut scene, &rows, &parts.collect::<Vec<_>>(), &axis);
    scene.description = describe(figure);
    frame::finish(scene, end, &figure.note)
}

impl Cause {
    /// What it is called among `all`. Many a step is called by its source, which then need not be
    /// told again, unless the step broke prefixes in other sources too.
    fn says(&self, all: &[Self]) -> String {
        let alone = all.iter().filter(|other| other.step == self.step).count() == 1;
        match (&*self.source, &*self.step) {
            ("", step) => step.to_owned(),
            (source, "") => source.to_owned(),
            (source, step) if alone && step.contains(source) => step.to_owned(),
            (source, step) => format!("{step} (in {source})"),
        }
    }
}

impl Bar {
    /// What a conversation lost by each cause.
    fn means(&self) -> Vec<f64> {
        let conversations = self.conversations.max(1) as f64;
        self.lost
            .iter()
            .map(|lost| *lost as f64 / conversations)
            .collect()
    }

    fn mean(&self) -> f64 {
        self.means().iter().sum()
    }

    /// `used`: the causes that the picture has parts for.
    fn row(&self, used: &[usize]) -> Row {
        let means = self.means();
        let mean = self.mean();
        let whole = if mean < 10.0 {
            digits(mean)
        } else {
            plain(mean.round())
        };
        let value = if self.breaks == self.uncounted && self.breaks > 0 {
            "not counted".to_owned()
        } else {
            format!("{whole} tokens")
        };
        let breaks = if self.breaks == 1 { "break" } else { "breaks" };
        let mut says = vec![
            value,
            format!(
                "{} {breaks} · n {}",
                grouped(self.breaks),
                conversations(self.conversations)
            ),
        ];
        if self.uncounted > 0 {
            says.push(format!("{} without a count", grouped(self.uncounted)));
        }
        Row {
            name: self.configuration.clone(),
            parts: used
                .iter()
                .map(|cause| means.get(*cause).copied().unwrap_or(0.0))
                .collect(),
            beside: None,
            interval: None,
            says,
        }
    }
}

fn conversations(count: u64) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} conversation{plural}", grouped(count))
}

/// The answer: what loses most, and by what.
fn title(figure: &LostByCause) -> String {
    let worst = figure
        .bars
        .iter()
        .reduce(|a, b| if b.mean() > a.mean() { b } else { a });
    let what = match worst {
        Some(bar) if bar.mean() > 0.0 => {
            let most = bar
                .lost
                .iter()
                .enumerate()
                .max_by_key(|(index, lost)| (**lost, usize::MAX - index));
            let cause = most.and_then(|(index, _)| figure.causes.get(index));
            let by = cause.map_or_else(String::new, |cause| {
                format!(", most of all by {}", cause.says(&figure.causes))
            });
            format!(
                "{} loses {} tokens a conversation behind breaks{by}",
                bar.configuration,
                plain(bar.mean().round())
            )
        }
        _ if figure.bars.iter().all(|bar| bar.breaks == 0) => {
            "No configuration breaks its prefix".to_owned()
        }
        _ => "Tokens lost behind breaks".to_owned(),
    };
    frame::title(&figure.place, &what)
}

fn describe(figure: &LostByCause) -> String {
    let of = |bar: &Bar| {
        let parts = bar
            .lost
            .iter()
            .zip(&figure.causes)
            .filter(|(lost, _)| **lost > 0);
        let said: Vec<String> = parts
            .map(|(lost, cause)| format!("{} by {}", grouped(*lost), cause.says(&figure.causes)))
            .collect();
        let by = if said.is_empty() {
            String::new()
        } else {
            format!(": {}", said.join(", "))
        };
        format!(
            "{}: {} breaks in {}, {} tokens lost{by}.",
            bar.configuration,
            grouped(bar.breaks),
            conversations(bar.conversations),
            grouped(bar.lost.iter().sum())
        )
    };
    figure.bars.iter().map(of).collect::<Vec<_>>().join(" ")
}

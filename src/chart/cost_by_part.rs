//! What a conversation costs, by what is billed: plain input, read, written for
//! the short and for the long lifetime, generated; and beside it what it would
//! cost without a cache.

use super::frame;
use super::scale::{digits, plain};
use super::scene::Scene;
use super::stacked::{Axis, Part, Row, stacked};
use super::{Chart, Note};
use crate::units::grouped;
use serde::{Deserialize, Serialize};

/// This chart's line in the list.
pub(super) const CHART: Chart = Chart {
    name: "cost-by-part",
    help: "mean cost of a conversation of each configuration by what is billed, beside what it would cost without a cache",
};

/// What the chart shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CostByPart {
    /// Target, model and load level, as far as the run has several; may be empty.
    pub place: String,
    /// Day and source of the prices; may be empty.
    pub prices: String,
    /// Whether the cheapest and the dearest cannot be told apart, conversation by conversation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untold: bool,
    /// A bar for each configuration.
    pub bars: Vec<Bar>,
    /// What the numbers rest on.
    pub note: Note,
}

/// A configuration. Amounts are dollars a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bar {
    /// Its name.
    pub configuration: String,
    /// Plain input, read, written for the short and for the long lifetime, generated, kept in the
    /// cache; `None` where a scenario has no conversation with a whole bill.
    pub parts: Option<[f64; 6]>,
    /// Lower end of the interval of their sum, where there are repeats.
    pub low: Option<f64>,
    /// Upper end of the interval of their sum, where there are repeats.
    pub high: Option<f64>,
    /// What it would cost without a cache.
    pub uncached: Option<f64>,
    /// Conversations with a whole bill.
    pub conversations: u64,
    /// Conversations without one.
    pub incomplete: u64,
}

/// The parts: what they are, and what is written in them.
const PARTS: [(&str, &str); 6] = [
    ("plain input", "plain"),
    ("read from cache", "read"),
    ("written to cache, short lifetime", "write"),
    ("written to cache, long lifetime", "write long"),
    ("output", "output"),
    ("storage", "storage"),
];

/// Lays the figure out.
pub(super) fn scene(figure: &CostByPart) -> Scene {
    let mut below = "Mean cost of a conversation by what is billed.".to_owned();
    if !figure.prices.is_empty() {
        below.push_str(" Prices: ");
        below.push_str(&figure.prices);
        below.push('.');
    }
    let mut scene = frame::start(&title(figure), &below);
    if figure.bars.iter().all(|bar| bar.parts.is_none()) {
        return frame::nothing_because(
            scene,
            &figure.note,
            "Nothing to draw: no conversation has a whole bill.",
        );
    }
    // A part that nobody pays for needs no place in the key.
    let paid = |part: &usize| {
        figure
            .bars
            .iter()
            .any(|bar| bar.parts.is_some_and(|parts| parts[*part] > 0.0))
    };
    let used: Vec<usize> = (0..PARTS.len()).filter(paid).collect();
    let parts: Vec<Part> = used
        .iter()
        .map(|part| Part {
            name: PARTS[*part].0.to_owned(),
            short: PARTS[*part].1.to_owned(),
            colour: *part,
        })
        .collect();
    let rows: Vec<Row> = figure.bars.iter().map(|bar| bar.row(&used)).collect();
    let axis = Axis {
        name: "cost of a conversation (USD)",
        label: &|amount| format!("${}", plain(amount)),
        beside: "without a cache",
    };
    let end = stacked(&mut scene, &rows, &parts, &axis);
    scene.description = describe(figure);
    frame::finish(scene, end, &figure.note)
}

/// `$0.0123`.
fn dollars(amount: f64) -> String {
    format!("${}", digits(amount))
}

impl Bar {
    fn sum(&self) -> Option<f64> {
        self.parts.map(|parts| parts.iter().sum())
    }

    fn row(&self, used: &[usize]) -> Row {
        let conversations = if self.conversations == 1 {
            "conversation"
        } else {
            "conversations"
        };
        let n = format!("n {} {conversations}", grouped(self.conversations));
        let mut says = match (self.sum(), self.uncached) {
            (None, _) if self.conversations > 0 => {
                vec!["no mean: a scenario has no whole bill".to_owned(), n]
            }
            (None, _) => vec!["no bill".to_owned()],
            (Some(sum), None) => vec![dollars(sum), n],
            (Some(sum), Some(uncached)) => {
                vec![
                    dollars(sum),
                    format!("without a cache {}", dollars(uncached)),
                    n,
                ]
            }
        };
        if self.incomplete > 0 {
            let more = if self.parts.is_some() { " more" } else { "" };
            says.push(format!(
                "{}{more} without a whole bill",
                grouped(self.incomplete)
            ));
        }
        let parts = self.parts.unwrap_or_default();
        Row {
            name: self.configuration.clone(),
            parts: used.iter().map(|part| parts[*part]).collect(),
            beside: self.uncached,
            interval: self.low.zip(self.high),
            says,
        }
    }
}

/// The answer: the cheapest and the dearest configuration.
fn title(figure: &CostByPart) -> String {
    let bars = figure.bars.iter();
    let all = bars.filter_map(|bar| Some((bar.sum()?, bar)));
    let known = all.clone().count();
    let least = all.clone().reduce(|a, b| if b.0 < a.0 { b } else { a });
    let most = all.reduce(|a, b| if b.0 > a.0 { b } else { a });
    let what = match (least, most) {
        (Some((low, cheap)), Some((high, dear))) if low < high => format!(
            "{} costs {} a conversation, {} {}{}",
            cheap.configuration,
            dollars(low),
            dear.configuration,
            dollars(high),
            if figure.untold {
                ": cannot be told apart"
            } else {
                ""
            }
        ),
        (Some((cost, bar)), _) if known == 1 => {
            format!(
                "{} costs {} a conversation",
                bar.configuration,
                dollars(cost)
            )
        }
        _ => "Cost of a conversation".to_owned(),
    };
    frame::title(&figure.place, &what)
}

fn describe(figure: &CostByPart) -> String {
    let of = |bar: &Bar| {
        let Some((parts, sum)) = bar.parts.zip(bar.sum()) else {
            return format!("{}: no whole bill.", bar.configuration);
        };
        let paid = parts.iter().zip(PARTS).filter(|(amount, _)| **amount > 0.0);
        let said: Vec<String> = paid
            .map(|(amount, (name, _))| format!("{name} {}", dollars(*amount)))
            .collect();
        let without = bar.uncached.map_or_else(String::new, |uncached| {
            format!("; without a cache {}", dollars(uncached))
        });
        format!(
            "{}: {} ({}){without}.",
            bar.configuration,
            dollars(sum),
            said.join(", ")
        )
    };
    figure.bars.iter().map(of).collect::<Vec<_>>().join(" ")
}

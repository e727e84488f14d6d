//! What pictures are about: a scenario on one target, model and load level.

use super::words::count;
use crate::analysis::{Cell, Figures, Results, SummaryRow, TargetNote, Total, TotalKey};
use crate::chart::{Note, Source};
use std::sync::Arc;

/// Scenarios that have pictures of their own; a page of more would not be read.
pub(super) const DRAWN_SCENES: usize = 12;

/// Configurations in a picture of turns: as many as there are colours.
pub(super) const DRAWN_CONFIGURATIONS: usize = 10;

/// Numbers that can be compared: same target, model and load level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Arena {
    target: Arc<str>,
    model: Arc<str>,
    load: Arc<str>,
}

impl From<&TotalKey> for Arena {
    fn from(key: &TotalKey) -> Self {
        Self {
            target: Arc::clone(&key.target),
            model: Arc::clone(&key.model),
            load: Arc::clone(&key.load),
        }
    }
}

impl From<&Cell> for Arena {
    fn from(cell: &Cell) -> Self {
        Self::from(&TotalKey::from(cell))
    }
}

impl Arena {
    /// What of it is not the same in the whole run; empty where all is.
    pub(super) fn label(&self, results: &Results) -> String {
        let differs = |name: fn(&TotalKey) -> &Arc<str>| {
            let two = |pair: &[Total]| name(&pair[0].key) != name(&pair[1].key);
            results.totals.windows(2).any(two)
        };
        let parts = [
            (&self.target, differs(|key| &key.target)),
            (&self.model, differs(|key| &key.model)),
            (&self.load, differs(|key| &key.load)),
        ];
        let said = parts.iter().filter(|(_, differs)| *differs);
        said.map(|(name, _)| &***name)
            .collect::<Vec<_>>()
            .join(", ")
    }
}

/// Arenas that have pictures of their own.
pub(super) const DRAWN_ARENAS: usize = 6;

/// An arena, with the totals of its configurations.
pub(super) struct Place<'a> {
    pub(super) arena: Arena,
    /// What of it is not the same in the whole run; empty where all is.
    pub(super) label: String,
    /// At most as many as have a colour.
    pub(super) totals: &'a [Total],
    /// Configurations that are left out for that.
    pub(super) left_out: usize,
}

impl Place<'_> {
    /// Whether the first and the last of the ranked configurations cannot be told apart.
    pub(super) fn untold(&self, results: &Results) -> bool {
        let ranking = self.totals.first();
        let ranking = ranking.and_then(|total| results.ranking(&total.key));
        ranking
            .is_some_and(|one| one.order.len() > 1 && !one.spread.is_some_and(|it| it.is_clear()))
    }
}

/// The arenas of a run that are drawn, in the order of its tables.
pub(super) fn places(results: &Results) -> Vec<Place<'_>> {
    let same = |a: &Total, b: &Total| Arena::from(&a.key) == Arena::from(&b.key);
    let place = |totals| -> Place<'_> {
        let totals: &[Total] = totals;
        let arena = Arena::from(&totals[0].key);
        let drawn = totals.len().min(DRAWN_CONFIGURATIONS);
        Place {
            label: arena.label(results),
            arena,
            totals: &totals[..drawn],
            left_out: totals.len() - drawn,
        }
    };
    let all = results.totals.chunk_by(same);
    all.take(DRAWN_ARENAS).map(place).collect()
}

impl Place<'_> {
    /// What a picture of it rests on.
    pub(super) fn note(&self, results: &Results) -> Note {
        let figures: Vec<&Figures> = self.totals.iter().map(|total| &total.figures).collect();
        note(results, Some(&self.arena), &figures)
    }

    /// Whether the embedded server answered.
    pub(super) fn simulated(&self, results: &Results) -> bool {
        self.target(results).is_some_and(|target| target.simulated)
    }

    /// What it was measured on.
    pub(super) fn target<'r>(&self, results: &'r Results) -> Option<&'r TargetNote> {
        let mut targets = results.targets.iter();
        targets.find(|target| target.name == self.arena.target)
    }

    /// A sentence about configurations that are not drawn; empty where all are.
    pub(super) fn not_drawn(&self) -> String {
        if self.left_out == 0 {
            return String::new();
        }
        let left_out = count(self.left_out as u64, "configuration");
        format!(" Not drawn for want of colours: {left_out}.")
    }
}

/// A scenario in an arena, with a row for each configuration.
pub(super) struct Scene<'a> {
    pub(super) scenario: &'a Arc<str>,
    pub(super) arena: Arena,
    pub(super) rows: &'a [SummaryRow],
}

impl Scene<'_> {
    /// Whether that cell belongs to it.
    pub(super) fn holds(&self, cell: &Cell) -> bool {
        cell.scenario == *self.scenario
            && cell.group == self.rows[0].cell.group
            && Arena::from(cell) == self.arena
    }

    /// The scenario, and where it ran as far as that is not the same everywhere.
    pub(super) fn name(&self, results: &Results) -> String {
        let arena = self.arena.label(results);
        if arena.is_empty() {
            return self.scenario.to_string();
        }
        format!("{} on {arena}", self.scenario)
    }
}

/// All scenes of a run, in the order of its tables.
pub(super) fn scenes(results: &Results) -> Vec<Scene<'_>> {
    let same = |a: &SummaryRow, b: &SummaryRow| {
        a.cell.scenario == b.cell.scenario
            && a.cell.group == b.cell.group
            && Arena::from(&a.cell) == Arena::from(&b.cell)
    };
    let scene = |rows| -> Scene<'_> {
        let rows: &[SummaryRow] = rows;
        Scene {
            scenario: &rows[0].cell.scenario,
            arena: Arena::from(&rows[0].cell),
            rows,
        }
    };
    results.rows.chunk_by(same).map(scene).collect()
}

/// Says how many scenarios are not drawn; empty where all are.
pub(super) fn not_drawn(results: &Results) -> String {
    let all = scenes(results).len();
    if all <= DRAWN_SCENES {
        return String::new();
    }
    format!(
        "{} by turn: the first {DRAWN_SCENES} of {all} are drawn; the tables have them all.",
        count(all as u64, "scenario")
    )
}

/// What a picture rests on.
pub(super) fn note(results: &Results, arena: Option<&Arena>, figures: &[&Figures]) -> Note {
    let mut note = Note {
        requests: 0,
        without_count: 0,
        conversations: 0,
        date: results.date.clone(),
        source: Source::Simulated,
        model: String::new(),
        cache_model: String::new(),
    };
    for figures in figures {
        note.requests += figures.counted;
        note.without_count += figures.without_count;
        note.conversations += figures.conversations;
    }
    let targets: Vec<_> = results
        .targets
        .iter()
        .filter(|target| arena.is_none_or(|arena| arena.target == target.name))
        .collect();
    let joined = |of: &dyn Fn(&TargetNote) -> Arc<str>| {
        let mut names: Vec<Arc<str>> = Vec::new();
        for name in targets.iter().map(|target| of(target)) {
            if !name.is_empty() && !names.contains(&name) {
                names.push(name);
            }
        }
        names.join(", ")
    };
    if targets.iter().any(|target| !target.simulated) {
        let name = |target: &TargetNote| {
            let simulated = if target.simulated { " (simulated)" } else { "" };
            Arc::from(format!("{}{simulated}", target.name))
        };
        note.source = Source::Server(joined(&name));
    }
    note.model = joined(&|target| Arc::clone(&target.model));
    note.cache_model = joined(&|target| target.cache_model.clone().unwrap_or_default());
    note
}

//! The rounds of a run, one after the other, and what becomes of its cells.

use super::place::Place;
use super::progress::Progress;
use super::state::EvictionProbe;
use super::ways_out;
use crate::cli::counters::Watch;
use crate::cli::output;
use crate::load::{Cell, CellEnd, Isolate, Part, Round, Runner, Todo, Writer};
use crate::record::Ending;
use crate::scenario::pace::Until;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What is run, in order, and by whom.
pub(super) struct Rounds<'a> {
    pub(super) order: &'a [Round],
    pub(super) cells: &'a [Arc<Cell>],
    pub(super) places: &'a [Place],
    /// One for each place.
    pub(super) runners: &'a [Runner],
    pub(super) writer: &'a Writer,
    pub(super) progress: &'a Progress,
    pub(super) probe: EvictionProbe,
    pub(super) isolate: Isolate,
    /// Rules of a sweep, where the levels are one.
    pub(super) sweep: Option<&'a [Until]>,
    /// Cells that differ in their load level only stand side by side, so many of them.
    pub(super) levels: usize,
}

/// What has become of the cells so far.
#[derive(Default)]
pub(super) struct Course {
    /// Cells that go no further.
    pub(super) failed: BTreeSet<usize>,
    /// Places that have answered, and those that refuse everything.
    pub(super) answered: BTreeSet<usize>,
    pub(super) hopeless: BTreeSet<usize>,
    /// Sweeps that have ended.
    pub(super) swept: BTreeSet<usize>,
    /// Why the first of the failed ones did.
    pub(super) failure: Option<String>,
}

impl Rounds<'_> {
    /// Runs the rounds one after the other. A cell that fails has no further rounds
    /// and does not stop the others, unless it was refused in a way that all of its
    /// target would be. A sweep has no further levels where one breaks a rule.
    ///
    /// `todos` says what of each cell is to be done.
    pub(super) async fn run(
        &self,
        mut todos: Vec<Todo>,
        watches: &mut BTreeMap<usize, Watch>,
    ) -> Ending {
        let mut course = Course::default();
        self.swept_before(&mut course);
        let mut last: BTreeMap<usize, usize> = BTreeMap::new();
        for (number, round) in self.order.iter().enumerate() {
            last.insert(round.cell, number);
        }
        for (number, round) in self.order.iter().enumerate() {
            let cell = &self.cells[round.cell];
            let of_cell = |place: &Place| Arc::ptr_eq(&place.target, &cell.target);
            let Some(place) = self.places.iter().position(of_cell) else {
                continue;
            };
            if course.failed.contains(&round.cell) {
                // Why has been told.
                continue;
            }
            if course.hopeless.contains(&place) {
                self.progress
                    .give_up(round.cell, "its target refuses everything");
                continue;
            }
            if course.swept.contains(&(round.cell / self.levels)) {
                self.progress
                    .give_up(round.cell, "a lower level of its sweep broke a rule");
                continue;
            }
            let last = last.get(&round.cell) == Some(&number);
            let todo = &mut todos[round.cell];
            match &round.part {
                Part::Repeats(repeats) => todo.go_on_with(repeats.clone()),
                Part::Until(until) => todo.until = Some(*until),
            }
            if !last && !todo.is_left() {
                // The cell's time is over, or it has no conversation left.
                continue;
            }
            self.progress.begin(round.cell);
            let mut ended = self.runners[place].run(cell, todo).await;
            if ended.is_ok() && last && self.probe.asks(&cell.target, self.isolate) {
                ended = self.runners[place].probe(cell).await;
            }
            // An outage may be over by the cell's next round.
            if !last && matches!(ended, Err(CellEnd::Away(_))) {
                ended = Ok(());
            }
            self.writer.flush().await;
            if self.progress.any_ok() {
                course.answered.insert(place);
            }
            self.progress.end(last || ended.is_err());
            if let Some(watch) = watches.get_mut(&place) {
                watch.mark(&cell.name()).await;
            }
            match ended {
                Ok(()) if last => self.cell_ended(round.cell, &mut course),
                Ok(()) => {}
                Err(CellEnd::Stopped) => return Ending::Interrupted,
                Err(end) => {
                    output::warn(&ways_out::of_end(&cell.name(), &end));
                    self.progress.give_up(round.cell, &end.to_string());
                    if let CellEnd::Limit(why) = end {
                        return Ending::Limited(why);
                    }
                    if matches!(end, CellEnd::Refused { .. }) && !course.answered.contains(&place) {
                        course.hopeless.insert(place);
                    }
                    self.judge(round.cell, &mut course);
                    course.failure.get_or_insert(end.to_string());
                    course.failed.insert(round.cell);
                }
            }
        }
        match course.failure {
            None => Ending::Complete,
            Some(why) if course.answered.is_empty() => Ending::Failed(why),
            Some(why) => Ending::Partial(why),
        }
    }

    /// Sweeps that had ended in an earlier session. Their levels that were whole have no
    /// round any more.
    fn swept_before(&self, course: &mut Course) {
        let Some(rules) = self.sweep else { return };
        let open: BTreeSet<usize> = self.order.iter().map(|round| round.cell).collect();
        for number in (0..self.cells.len()).filter(|number| !open.contains(number)) {
            let tally = self.progress.tally_of(number);
            if tally.attempts > 0 && tally.broken(rules).is_some() {
                course.swept.insert(number / self.levels);
            }
        }
    }

    /// A cell has come to its end: what it lost is told, and whether its sweep goes on.
    fn cell_ended(&self, number: usize, course: &mut Course) {
        let name = self.cells[number].name();
        if let Some(lost) = self.progress.lost() {
            output::warn(&ways_out::of_lost(&name, &lost));
        }
        self.judge(number, course);
    }

    /// Whether the sweep of a cell goes on, which has come to its end or failed.
    fn judge(&self, number: usize, course: &mut Course) {
        let name = self.cells[number].name();
        let broken = self
            .sweep
            .and_then(|rules| self.progress.tally().broken(rules));
        if let Some((rule, found)) = broken {
            course.swept.insert(number / self.levels);
            output::tell(&format!(
                "{name}: the sweep ends here: `{rule}`, and it was {found}"
            ));
        }
    }
}

//! Which part of the run this process does.

use super::Arguments;
use super::earlier::{Done, Earlier};
use super::plan::Planned;
use crate::cli::exit::Failure;
use crate::cli::output;
use crate::cli::settings::Settings;
use crate::cli::target::variable;
use crate::load::{self, Cell, Isolate, Part, Round, Todo};
use crate::record::Shard;
use std::sync::Arc;

/// Where Kubernetes says which pod of an Indexed Job this is, from 0.
const INDEX: &str = "JOB_COMPLETION_INDEX";

/// The part that was asked for: by `--shard`, or by `--shards` and the index that
/// Kubernetes gives.
///
/// # Errors
///
/// A part that does not exist, and a number of parts without an index.
pub(super) fn chosen(given: &Arguments, settings: &mut Settings) -> Result<Option<Shard>, Failure> {
    let one = settings.optional("shard", given.shard)?;
    let count = settings.optional("shards", given.shards)?;
    let index = variable(INDEX);
    match (one, count, index) {
        (Some(shard), _, _) => Ok(Some(shard)),
        (None, Some(count), Some(index)) => indexed(count, &index).map(Some),
        (None, Some(count), None) => Err(Failure::wrong(
            format!(
                "`--shards {count}` says in how many parts, and nothing says which one this is"
            ),
            format!("give --shard 1/{count} and so on, or set {INDEX} as an Indexed Job does"),
        )),
        (None, None, Some(_)) => {
            output::warn(&format!(
                "{INDEX} is set and --shards is not: this process runs everything"
            ));
            Ok(None)
        }
        (None, None, None) => Ok(None),
    }
}

fn indexed(count: u32, index: &str) -> Result<Shard, Failure> {
    let number: Option<u32> = index.trim().parse().ok();
    match number {
        Some(index) if index < count => Ok(Shard {
            index: index + 1,
            count,
        }),
        _ => Err(Failure::wrong(
            format!("`{INDEX}` is `{index}`, which is no index of {count} shards"),
            format!(
                "it counts from 0 to {}: as many completions as shards",
                count.saturating_sub(1)
            ),
        )),
    }
}

/// Refuses what would make the parts unlike the whole.
pub(super) fn fits(
    shard: Option<Shard>,
    isolate: Isolate,
    nonce_given: bool,
    sweep: bool,
) -> Result<(), Failure> {
    if shard.is_none() {
        return Ok(());
    }
    if sweep {
        return Err(Failure::wrong(
            "a sweep ends by the results of whole levels, and a shard knows only its own part of them",
            "run it whole, or name the levels by --load",
        ));
    }
    if matches!(isolate, Isolate::Run | Isolate::None) {
        return Err(Failure::wrong(
            format!(
                "with --isolate {isolate} conversations share a cache, and no shard knows what the others put there"
            ),
            "isolate by conversation or cell, or run it whole",
        ));
    }
    if !nonce_given {
        return Err(Failure::wrong(
            "the shards of a run need one nonce, and none is given",
            "give all of them the same --nonce, or --nonce-from a text that is new for every run",
        ));
    }
    Ok(())
}

/// Leaves in `rounds` what this process runs and what was not done `earlier`. Says what of each
/// cell is to be done, where its rounds do not name the conversations.
pub(super) fn narrow(
    rounds: &mut Vec<Round>,
    cells: &[Arc<Cell>],
    planned: &Planned,
    earlier: &Earlier,
) -> Vec<Todo> {
    let none = Done::default();
    let done = |cell: usize| earlier.cells.get(&cell).unwrap_or(&none);
    let left = |number: usize, repeat: u32| {
        let cell = &cells[number];
        let own = planned.shard;
        let own = own.is_none_or(|shard| load::runs(shard, planned.isolate, cell, repeat));
        own && !done(number).finished.contains(&repeat)
    };
    let todos = cells.iter().enumerate().map(|(number, cell)| {
        let Done { begun, passed, .. } = done(number);
        let begun = begun.unwrap_or(0);
        // In a shard any of them may be another's.
        let listed = match planned.shard {
            _ if cell.counted => 0,
            None => begun,
            Some(_) => cell.repeats,
        };
        let rest = if cell.counted { 0 } else { cell.repeats };
        let again = (1..=listed).filter(|&repeat| left(number, repeat));
        let todo = Todo::following(again.collect(), listed + 1..=rest);
        let until = cell.until.filter(|_| cell.ends_by_time());
        todo.until(until).after(begun, *passed)
    });
    let todos: Vec<Todo> = todos.collect();
    for round in rounds.iter_mut() {
        if let Part::Repeats(repeats) = &mut round.part {
            repeats.retain(|&repeat| left(round.cell, repeat));
        }
    }
    rounds.retain(|round| {
        let todo = &todos[round.cell];
        match &round.part {
            Part::Repeats(repeats) => repeats.iter().any(|&repeat| todo.begins(repeat)),
            // What was broken off behind the cell's time goes with its last slice.
            Part::Until(until) if *until > todo.passed => todo.is_left(),
            Part::Until(until) => cells[round.cell].until == Some(*until) && todo.is_left(),
        }
    });
    todos
}

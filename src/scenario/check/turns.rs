//! Turns that steps refer to.

use super::Check;
use crate::scenario::error::{Mistake, ScenarioError};
use crate::scenario::load::values::TurnFile;
use crate::scenario::load::yaml::At;
use crate::scenario::model::TurnRef;
use std::ops::Range;

impl Check {
    pub(super) fn turn_or_last(
        &self,
        at: Option<&At<TurnFile>>,
        place: &Range<usize>,
    ) -> Result<(TurnRef, bool), ScenarioError> {
        match at {
            Some(at) => self.turn_ref(&at.value, &at.place),
            None => self.turn_ref(&TurnFile::Last, place),
        }
    }

    /// A turn of the chat that is open, and whether it has a tool loop.
    pub(super) fn turn_ref(
        &self,
        turn: &TurnFile,
        place: &Range<usize>,
    ) -> Result<(TurnRef, bool), ScenarioError> {
        let world = &self.world;
        let so_far = world.turns.len();
        let (number, reference) = match turn {
            TurnFile::Last => (so_far, Some(TurnRef::Last)),
            TurnFile::Number(number) => (
                usize::try_from(*number).unwrap_or(usize::MAX),
                u32::try_from(*number).ok().map(TurnRef::Number),
            ),
        };
        let why = if world.turns_of_chat() == 0 {
            "cannot be meant: nothing has been sent in this chat yet".to_owned()
        } else if number == 0 {
            "does not exist: turns are counted from 1".to_owned()
        } else if number > so_far {
            format!("has not happened yet: {so_far} so far, edits and regenerations counted")
        } else if number <= world.before_chat {
            "belongs to an earlier chat".to_owned()
        } else if let (Some(reference), Some(rounds)) = (reference, world.turns.get(number - 1)) {
            return Ok((reference, *rounds));
        } else {
            "does not exist".to_owned()
        };
        let turn = match turn {
            TurnFile::Last => "`last`".to_owned(),
            TurnFile::Number(number) => number.to_string(),
        };
        Err(self.error(place, Mistake::NoSuchTurn { turn, why }))
    }
}

/// What an error calls a turn.
pub(super) fn number_of(turn: TurnRef) -> String {
    match turn {
        TurnRef::Number(number) => number.to_string(),
        TurnRef::Last => "`last`".to_owned(),
    }
}

/// What a label calls a turn.
pub(super) fn name_of(turn: TurnRef) -> String {
    match turn {
        TurnRef::Number(number) => format!("turn {number}"),
        TurnRef::Last => "last turn".to_owned(),
    }
}

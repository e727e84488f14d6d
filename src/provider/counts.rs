//! Numbers of a usage object, by the names that servers have for them.
//!
//! Invariants: `null` and a missing field are the same thing and are not 0; where
//! a name is there and its value is no count (a text, a negative number), the
//! object is impossible, since something was said and it cannot be known what.

use super::fields::field;
use crate::units::Tokens;
use serde_json::Value;

/// A place in a usage object, outermost name first.
pub(super) type Path = &'static [&'static str];

/// No prompt and no answer is longer than this; a larger number is nonsense, and
/// sums of numbers below it cannot overflow.
const MOST: u64 = 1_000_000_000;

/// Reads numbers and remembers whether one of them cannot be.
pub(super) struct Reader<'a> {
    object: &'a Value,
    /// Whether a number cannot be, or two that must be the same are not.
    pub(super) impossible: bool,
}

impl<'a> Reader<'a> {
    /// A reader of `object`, which may be anything.
    pub(super) fn new(object: &'a Value) -> Self {
        Self {
            object,
            impossible: false,
        }
    }

    /// The first of `paths` that the server sent.
    pub(super) fn first(&mut self, paths: &[Path]) -> Option<Tokens> {
        let value = paths.iter().find_map(|path| self.at(path))?;
        let count = count(value);
        self.impossible |= count.is_none();
        count
    }

    /// As [`Self::first`], of names for one and the same number: another name with
    /// another number makes the object impossible. They are never added up.
    pub(super) fn agreed(&mut self, names: &[Path]) -> Option<Tokens> {
        self.same(names, |first, other| other == first)
    }

    /// As [`Self::agreed`], of names that gateways write as 0 where they fill another one:
    /// such a 0 behind a count says nothing.
    pub(super) fn filled(&mut self, names: &[Path]) -> Option<Tokens> {
        self.same(names, |first, other| {
            other == first || other == Some(Tokens(0))
        })
    }

    /// The first count of `names`; one behind it with which it does not `agree`, or a value
    /// that is none, makes the object impossible.
    fn same(
        &mut self,
        names: &[Path],
        agree: impl Fn(Option<Tokens>, Option<Tokens>) -> bool,
    ) -> Option<Tokens> {
        let mut counts = names.iter().filter_map(|path| self.at(path)).map(count);
        let first = counts.next()?;
        let agreed = first.is_some() && counts.all(|other| agree(first, other));
        self.impossible |= !agreed;
        first
    }

    /// What stands at `path`, unless it is null.
    pub(super) fn at(&self, path: &[&str]) -> Option<&'a Value> {
        path.iter()
            .try_fold(self.object, |value, name| field(value, name))
            .filter(|value| !value.is_null())
    }
}

/// A count, if `value` is one.
fn count(value: &Value) -> Option<Tokens> {
    whole(value).filter(|&count| count <= MOST).map(Tokens)
}

fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        // `12.0` is how some gateways write 12.
        let number = value.as_f64()?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked to be a whole number within the range just before"
        )]
        (number.fract() == 0.0 && (0.0..=MOST as f64).contains(&number)).then_some(number as u64)
    })
}

/// Whether anything at all stands in `value`.
pub(super) fn holds(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => list.iter().any(holds),
        Value::Object(fields) => fields.values().any(holds),
        Value::Bool(_) | Value::Number(_) => true,
    }
}

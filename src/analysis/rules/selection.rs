//! What a figure is taken over: `(turn-context, scenario=s0*)`.

use crate::analysis::Cell;
use std::fmt::{self, Write as _};
use std::sync::Arc;

/// What requests can be told apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dimension {
    /// The configuration.
    Configuration,
    /// The scenario.
    Scenario,
    /// The scenario's group.
    Group,
    /// The target.
    Target,
    /// The model.
    Model,
    /// The load level.
    Load,
}

impl Dimension {
    /// All of them, in the order in which they are written.
    pub const ALL: [Self; 6] = [
        Self::Configuration,
        Self::Scenario,
        Self::Group,
        Self::Target,
        Self::Model,
        Self::Load,
    ];

    /// As rules write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::Scenario => "scenario",
            Self::Group => "group",
            Self::Target => "target",
            Self::Model => "model",
            Self::Load => "load",
        }
    }

    /// Whether a figure that says nothing of it is one for each, not one of all.
    pub(super) fn is_apart(self) -> bool {
        !matches!(self, Self::Scenario | Self::Group)
    }

    /// The name that a cell has in it.
    pub fn of(self, cell: &Cell) -> &Arc<str> {
        match self {
            Self::Configuration => &cell.configuration,
            Self::Scenario => &cell.scenario,
            Self::Group => &cell.group,
            Self::Target => &cell.target,
            Self::Model => &cell.model,
            Self::Load => &cell.load,
        }
    }
}

/// Names, as a rule writes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// This name.
    Name(Arc<str>),
    /// Every name of this form, where `*` stands for any letters.
    Glob(Arc<str>),
}

impl Pattern {
    /// A pattern as written without quotes.
    pub(super) fn bare(text: &str) -> Self {
        if text.contains('*') {
            Self::Glob(Arc::from(text))
        } else {
            Self::Name(Arc::from(text))
        }
    }

    /// Whether `name` is meant.
    pub fn matches(&self, name: &str) -> bool {
        match self {
            Self::Name(wanted) => **wanted == *name,
            Self::Glob(form) => fits(form, name),
        }
    }
}

/// Whether `name` has the form, where `*` stands for any letters.
fn fits(form: &str, name: &str) -> bool {
    let mut pieces = form.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let mut pieces = pieces.peekable();
    if pieces.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        let Some(at) = rest.find(piece) else {
            return false;
        };
        rest = &rest[at + piece.len()..];
    }
    true
}

/// Letters that a name has to be quoted for.
pub(super) fn needs_quotes(letter: char) -> bool {
    matches!(letter, ',' | '(' | ')' | '"' | '#' | '\\') || letter.is_control()
}

impl Pattern {
    /// Writes it; in quotes where it would else be read as something else.
    fn write(&self, f: &mut fmt::Formatter<'_>, behind_key: bool) -> fmt::Result {
        let name = match self {
            Self::Glob(form) => return f.write_str(form),
            Self::Name(name) => name,
        };
        let plain = !name.is_empty()
            && **name == *name.trim()
            && **name != *EACH
            && !name.contains('*')
            && (behind_key || !name.contains('='))
            && !name.contains(needs_quotes);
        if plain {
            return f.write_str(name);
        }
        f.write_char('"')?;
        for letter in name.chars() {
            if matches!(letter, '"' | '\\') {
                f.write_char('\\')?;
            }
            f.write_char(letter)?;
        }
        f.write_char('"')
    }
}

/// The word for [`Wanted::Each`].
pub(super) const EACH: &str = "each";

/// What a selection says of a dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The rule holds for each name.
    Each,
    /// What fits is taken together.
    These(Pattern),
}

/// What a figure is taken over, as far as a rule says it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    wanted: [Option<Wanted>; 6],
}

impl Selection {
    /// What it says of a dimension.
    pub fn get(&self, dimension: Dimension) -> Option<&Wanted> {
        self.wanted[dimension as usize].as_ref()
    }

    /// Says something of a dimension; gives what it said before.
    pub fn set(&mut self, dimension: Dimension, wanted: Wanted) -> Option<Wanted> {
        self.wanted[dimension as usize].replace(wanted)
    }

    /// Whether it says nothing.
    pub fn is_open(&self) -> bool {
        self.wanted.iter().all(Option::is_none)
    }

    /// Whether requests of `cell` are meant.
    pub fn holds(&self, cell: &Cell) -> bool {
        Dimension::ALL
            .iter()
            .all(|&dimension| match self.get(dimension) {
                Some(Wanted::These(pattern)) => pattern.matches(dimension.of(cell)),
                Some(Wanted::Each) | None => true,
            })
    }
}

impl fmt::Display for Selection {
    /// In parentheses; nothing where it says nothing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut front = "(";
        for dimension in Dimension::ALL {
            let Some(wanted) = self.get(dimension) else {
                continue;
            };
            f.write_str(front)?;
            let keyed = dimension != Dimension::Configuration;
            if keyed {
                write!(f, "{}=", dimension.as_str())?;
            }
            match wanted {
                Wanted::Each => f.write_str(EACH)?,
                Wanted::These(pattern) => pattern.write(f, keyed)?,
            }
            front = ", ";
        }
        if front == ", " {
            f.write_str(")")
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_fits_what_its_stars_allow() {
        let cases = [
            ("*", "", true),
            ("*", "dev", true),
            ("s0*", "s03-new-chat", true),
            ("s0*", "s13", false),
            ("*-chat", "s03-new-chat", true),
            ("s*new*", "s03-new-chat", true),
            ("s*new", "s03-new-chat", false),
            ("a*a", "a", false),
            ("a**b", "ab", true),
            ("ab*b", "ab", false),
        ];
        for (form, name, expected) in cases {
            assert_eq!(Pattern::bare(form).matches(name), expected, "{form} {name}");
        }
    }
}

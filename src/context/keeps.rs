//! Which configurations keep every fact that the sources state.
//!
//! Computed over the scenarios that come with the program by a test
//! (`tests/expectations/facts.rs`), which fails where this table says something
//! else: a layout may compute less than another because it leaves something out,
//! and whoever compares them must see that.

/// Whether every fact of the sources is in every request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeps {
    /// In every request of every scenario that comes with the program.
    All,
    /// Not in all of them; this is what is missing, as the end of a sentence.
    Not(&'static str),
    /// That is up to the user's own builder.
    Yours,
}

impl Keeps {
    /// As `list configurations` and reports show it.
    pub fn shown(self) -> String {
        match self {
            Self::All => "yes".to_owned(),
            Self::Not(reason) => format!("no: not {reason}"),
            Self::Yours => "up to the builder".to_owned(),
        }
    }
}

/// What is known of the strategy of that name; `None` for a name that is no
/// strategy's.
pub fn keeps(strategy: &str) -> Option<Keeps> {
    TABLE
        .iter()
        .find(|(name, _)| *name == strategy)
        .map(|(_, keeps)| *keeps)
}

/// Retrieved text is there for its own message only.
const EARLIER: Keeps = Keeps::Not("what was retrieved for an earlier message");

static TABLE: &[(&str, Keeps)] = &[
    ("inline", Keeps::All),
    ("dev", EARLIER),
    ("lever-off", EARLIER),
    ("parts", EARLIER),
    (
        "turn-context",
        Keeps::Not("an earlier date after travelling west"),
    ),
    ("layered", EARLIER),
    ("copilot-3.1", EARLIER),
    ("copilot-4", EARLIER),
    ("append-only", Keeps::All),
    ("external", Keeps::Yours),
    ("raw", Keeps::Yours),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::STRATEGIES;

    #[test]
    fn every_strategy_is_in_the_table_once() {
        let names: Vec<&str> = TABLE.iter().map(|(name, _)| *name).collect();
        let strategies: Vec<&str> = STRATEGIES.iter().map(|kind| kind.name).collect();
        assert_eq!(names, strategies);
    }
}

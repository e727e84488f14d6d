//! What to change in each configuration, from all of its breaks.

use super::{Change, Finding, changes};
use crate::units::grouped;
use std::sync::Arc;

/// What is to be changed in a configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Advised {
    /// The configuration.
    pub configuration: Arc<str>,
    /// What to change, what keeps most first.
    pub changes: Vec<Change>,
    /// Breaks that could not be looked into for want of a text.
    pub textless: u64,
    /// Breaks that could not be looked into for want of the earlier request.
    pub alone: u64,
}

/// What follows from the breaks of each configuration, in the order in which they come; those
/// for which nothing follows, and in which all is known, are left out.
pub fn advised<'a>(found: impl IntoIterator<Item = (&'a Arc<str>, &'a Finding)>) -> Vec<Advised> {
    let mut all: Vec<(&Arc<str>, Vec<&Finding>)> = Vec::new();
    for (configuration, finding) in found {
        match all.iter_mut().find(|(name, _)| *name == configuration) {
            Some((_, findings)) => findings.push(finding),
            None => all.push((configuration, vec![finding])),
        }
    }
    let advised = all.into_iter().map(|(configuration, findings)| {
        let number =
            |wanted: &Finding| findings.iter().filter(|one| **one == wanted).count() as u64;
        Advised {
            configuration: Arc::clone(configuration),
            changes: changes(findings.iter().filter_map(|finding| finding.kept())),
            textless: number(&Finding::Textless),
            alone: number(&Finding::Alone),
        }
    });
    advised
        .filter(|one| !one.changes.is_empty() || one.textless + one.alone > 0)
        .collect()
}

impl Advised {
    /// A sentence for each change, then for what is not known.
    pub fn sentences(&self) -> Vec<String> {
        let mut said: Vec<String> = self.changes.iter().map(Change::sentence).collect();
        let whys = [
            (
                self.textless,
                "the run keeps no texts of the prompts (`--no-text`)",
            ),
            (
                self.alone,
                "the request that the prefix parts from is not at hand",
            ),
        ];
        for (breaks, why) in whys.into_iter().filter(|(breaks, _)| *breaks > 0) {
            let noun = if breaks == 1 { "break" } else { "breaks" };
            let breaks = grouped(breaks);
            said.push(format!(
                "Of {breaks} {noun} it is not known what a move would keep: {why}."
            ));
        }
        said
    }
}

//! Records that other files of a run speak of and that are not there.
//!
//! A file of records that was cut at a line end looks whole. The ledger says of each
//! conversation how many attempts were recorded, and what was computed afterwards
//! names every attempt: where the records are fewer, a layout may seem cheap, or may
//! not be there at all.

use super::samples::{Cell, Samples, labelled};
use crate::record::{ComputedTable, Ending, Fact, LedgerLine, Manifest, files};
use crate::units::grouped;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Conversations and names that are spelled out; more are only counted.
const NAMED: usize = 3;

impl Samples {
    /// What is missing of a run's records: lowercase sentences without a full stop, none
    /// where nothing is. `label` is that under which the run was added.
    pub fn gaps(
        &self,
        manifest: &Manifest,
        ledger: &[LedgerLine],
        computed: &ComputedTable,
        label: Option<&str>,
    ) -> Vec<String> {
        let found = self.attempts();
        let mut said = expected(ledger);
        for (conversation, attempts) in computed.attempts() {
            let known = said.entry(conversation).or_default();
            *known = (*known).max(attempts);
        }
        let have = |name: &str| found.get(&*labelled(label, name)).copied().unwrap_or(0);
        let short: Vec<(&str, u64)> = said
            .iter()
            .map(|(name, attempts)| (*name, attempts.saturating_sub(have(name))))
            .filter(|(_, missing)| *missing > 0)
            .collect();
        let missing: u64 = short.iter().map(|(_, missing)| missing).sum();
        if missing > 0 {
            let names: Vec<&str> = short.iter().map(|(name, _)| *name).collect();
            let whole: u64 = said.values().sum();
            return vec![format!(
                "`{}` lacks {} of the {} attempts that the run recorded, in {} of {} conversations \
                 ({}): it was cut or changed since, and no figure below is of the whole run",
                files::REQUESTS,
                grouped(missing),
                grouped(whole),
                grouped(short.len() as u64),
                grouped(said.len() as u64),
                listed(&names)
            )];
        }
        self.unseen(manifest, label)
    }

    /// Attempts of each conversation.
    fn attempts(&self) -> HashMap<&str, u64> {
        let mut found: HashMap<&str, u64> = HashMap::new();
        for sample in self.list() {
            *found.entry(&sample.conversation).or_default() += 1;
        }
        found
    }

    /// What a run that came to its end was to measure and has not a single record of.
    fn unseen(&self, manifest: &Manifest, label: Option<&str>) -> Vec<String> {
        // A shard has its part of the conversations, which may be none of a scenario.
        if manifest.ending != Some(Ending::Complete) || manifest.shard.is_some() {
            return Vec::new();
        }
        let own: Vec<String> = manifest
            .targets
            .iter()
            .map(|target| labelled(label, &target.name).into_owned())
            .collect();
        let cells: Vec<_> = self
            .cells()
            .iter()
            .filter(|cell| own.iter().any(|name| **name == *cell.target))
            .collect();
        let seen = |of: fn(&Cell) -> &Arc<str>| -> BTreeSet<&str> {
            cells.iter().map(|cell| &**of(cell)).collect()
        };
        let lacking = |kind: &str, all: Vec<&str>, seen: &BTreeSet<&str>| {
            let unseen: Vec<&str> = all
                .into_iter()
                .filter(|name| !seen.contains(name))
                .collect();
            let said = format!(
                "the run is said to be complete, and `{}` has no record of {kind} {}",
                files::REQUESTS,
                listed(&unseen)
            );
            (!unseen.is_empty()).then_some(said)
        };
        let all = [
            lacking(
                "configuration",
                manifest
                    .configurations
                    .iter()
                    .map(|one| &*one.name)
                    .collect(),
                &seen(|cell| &cell.configuration),
            ),
            lacking(
                "scenario",
                manifest.scenarios.iter().map(|one| &*one.name).collect(),
                &seen(|cell| &cell.scenario),
            ),
            lacking(
                "target",
                own.iter().map(String::as_str).collect(),
                &seen(|cell| &cell.target),
            ),
        ];
        all.into_iter().flatten().collect()
    }
}

/// Attempts of each conversation, by the ledger's last word about it.
fn expected(ledger: &[LedgerLine]) -> BTreeMap<&str, u64> {
    let mut said = BTreeMap::new();
    for line in ledger {
        match &line.fact {
            Fact::Conversation(fact) => {
                said.insert(&*fact.conversation, u64::from(fact.attempts));
            }
            Fact::Superseded(superseded) => {
                for conversation in &superseded.conversations {
                    said.remove(&**conversation);
                }
            }
            Fact::Reset(_) | Fact::WarmUp(_) | Fact::Probe(_) | Fact::Time(_) => {}
        }
    }
    said
}

/// The first few names, and how many more there are.
fn listed(names: &[&str]) -> String {
    let shown = names.iter().take(NAMED).map(|name| format!("`{name}`"));
    let mut said = shown.collect::<Vec<_>>().join(", ");
    if names.len() > NAMED {
        said += &format!(" and {} more", names.len() - NAMED);
    }
    said
}

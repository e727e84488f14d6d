//! What is sent beside what is measured: to warm up, to probe the cache at the end of a
//! cell, and to probe a target before the first one. It counts nowhere, and costs.

use super::assumed::Assumed;
use super::one::{Amounts, One};
use crate::cli::probe::Probed;
use crate::cli::run::place::PROBE_TOKENS;
use crate::cli::run::plan::Planned;
use crate::load::{Before, Isolate};
use crate::units::Tokens;

/// Requests beside those of a cell, each the first of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Beside {
    /// On a cache that gives back at once what it holds.
    pub(super) usual: u64,
    pub(super) most: u64,
}

impl Beside {
    /// Of a cell of so many conversations at this target, over so many processes. Each
    /// that has any of them does once what is done for a cell.
    pub(super) fn of(
        planned: &Planned,
        assumed: &Assumed,
        conversations: u64,
        processes: u32,
    ) -> Self {
        let processes = match planned.isolate {
            // The cell is in one shard.
            Isolate::Cell => conversations.min(1),
            _ => conversations.min(u64::from(processes)),
        };
        let (usual, most) = planned.warm_up.requests(planned.isolate);
        let probe = planned.eviction_probe;
        let probe = u64::from(probe.may_ask(assumed.engine, planned.isolate));
        let sum = |before: Before| {
            let all = before.conversation.saturating_mul(conversations);
            all.saturating_add(processes.saturating_mul(before.cell + probe))
        };
        Self {
            usual: sum(usual),
            most: sum(most),
        }
    }

    /// What they are at most.
    pub(super) fn amounts(self, one: &One) -> Amounts {
        if one.prompts.is_empty() {
            return Amounts::NONE;
        }
        one.first.times(self.most)
    }
}

/// What probing a target before the run takes at most.
pub(super) fn probing(assumed: &Assumed) -> Amounts {
    let requests = Probed::most(PROBE_TOKENS).into_iter();
    requests.fold(Amounts::NONE, |sum, (prompt, output)| {
        sum.and(Amounts {
            requests: 1,
            prompt,
            grown: Tokens(0),
            output,
            cost: assumed.most(prompt, output),
        })
    })
}

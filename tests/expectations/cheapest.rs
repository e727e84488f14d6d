//! Of the layouts that keep all facts, `append-only` computes the fewest tokens.

use super::{facts, predict, scenario_files};
use std::collections::BTreeMap;

/// Tokens of a cache block.
const BLOCK: u64 = 16;

#[test]
fn append_only_computes_the_fewest_tokens_of_those_that_keep_all_facts() {
    // What `turn-context` leaves out (a date, after travelling west) saves it nothing.
    let mut keepers = facts::keepers();
    if !keepers.contains(&"turn-context") {
        keepers.push("turn-context");
    }
    assert!(keepers.len() > 2, "nothing to compare with: {keepers:?}");
    for dialect in ["openai-chat", "anthropic"] {
        let requests = predict(&scenario_files(), &keepers.join(","), dialect);
        let mut computed: BTreeMap<(&str, &str), (u64, u64)> = BTreeMap::new();
        let mut total: BTreeMap<&str, u64> = BTreeMap::new();
        for one in &requests {
            let fresh = one.total_tokens - one.bound_tokens;
            let cell = computed
                .entry((&one.scenario, &one.configuration))
                .or_default();
            cell.0 += fresh;
            cell.1 += 1;
            *total.entry(&one.configuration).or_default() += fresh;
        }
        let ours = total["append-only"];
        assert!(
            total.values().all(|other| ours <= *other),
            "{dialect}: {total:?}"
        );
        let mut behind = Vec::new();
        for ((scenario, configuration), (fresh, _)) in &computed {
            let (own, requests) = computed[&(*scenario, "append-only")];
            if own > fresh + BLOCK * requests {
                behind.push(format!(
                    "{scenario}: {own}, {configuration} {fresh} ({requests} requests)"
                ));
            }
        }
        assert!(
            behind.is_empty(),
            "{dialect}, total {total:?}:\n{}",
            behind.join("\n")
        );
    }
}

//! Of the layouts that keep all facts, `append-only` computes the fewest tokens.

use super::{facts, predict_on, scenario_files};
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
    // Where the tail goes is all that wires differ in here: in the system text
    // (OpenAI, servers of its kind, Gemini), in front of the newest message, or
    // behind it while it is the first. Bedrock's second block is the first again.
    let wires: [&[&str]; 3] = [
        &["--dialect", "openai-chat"],
        &["--dialect", "anthropic"],
        &["--dialect", "openai-chat", "--wire", "openrouter"],
    ];
    for wire in wires {
        let dialect = wire.join(" ");
        let requests = predict_on(&scenario_files(), &keepers.join(","), wire);
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
